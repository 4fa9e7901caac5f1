// Nothing that is typed is lost: docs/decisiones/0006-borradores.md.
//
// A form with `data-borrador` is kept in this tab (sessionStorage) as it is typed, under the person, the path of the
// page and the supplier its address asks for, until a page says that it was saved. Nothing of it is sent anywhere.
//   data-borrador="nuevo"    as the server gives it: a draft, if there is one, is put back
//   data-borrador="enviado"  as it was sent: what is on the page is the draft
"use strict";

(() => {
  const PREFIJO = "borrador:";
  const usuario = document.currentScript.dataset.usuario;
  const mio = `${PREFIJO}${usuario}:`;
  // What was being written of one supplier is not put into a page that was opened for another.
  const pedido = new URLSearchParams(location.search).get("proveedor");
  const clave = mio + location.pathname + (pedido ? `?proveedor=${encodeURIComponent(pedido)}` : "");

  // A tab may refuse (cookies blocked) or be full: then there are no drafts, and all the rest works.
  const guardar = (nombre, valor) => {
    try {
      sessionStorage.setItem(nombre, JSON.stringify(valor));
    } catch { /* see above */ }
  };
  const leer = (nombre) => {
    try {
      return JSON.parse(sessionStorage.getItem(nombre));
    } catch {
      return null;
    }
  };
  const borrar = (cuales) => {
    try {
      Object.keys(sessionStorage).filter((n) => n.startsWith(PREFIJO) && cuales(n)).forEach((n) => sessionStorage.removeItem(n));
    } catch { /* see above */ }
  };

  // Of one sending of one form. Not randomUUID: that needs HTTPS.
  const nuevoNombre = () =>
    [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");

  // What somebody else left in this tab is not for whoever sits here now.
  borrar((n) => !n.startsWith(mio));

  const preparar = () => {
    // The page may say that something was saved: what it names goes, and only if nothing was typed since.
    for (const dicho of document.querySelectorAll(".messagelist .borrador-guardado")) {
      borrar((n) => dicho.classList.contains(`envio-${leer(n)?.enviado}`));
    }
    document.getElementById("salir")?.addEventListener("submit", () => borrar(() => true));
    const formulario = document.querySelector("form[data-borrador]");
    if (formulario) {
      cuidar(formulario);
    }
  };

  const cuidar = (formulario) => {
    const nota = formulario.querySelector("[data-borrador-nota]");
    // Not the mark against forgery, which is of the session, nor what was shown to be confirmed.
    const suyos = () => [...formulario.elements].filter((c) =>
      c.name && !["csrfmiddlewaretoken", "envio", "identificadores_vistos", "iguales_vistos"].includes(c.name)
      && !["submit", "button", "file", "password"].includes(c.type));
    const valor = (c) => (c.type === "checkbox" || c.type === "radio" ? c.checked : c.value);
    const estado = () => suyos().map((c) => [c.name, c.type === "radio" ? c.value : "", valor(c)]);
    const poner = (guardado) => {
      for (const [nombre, opcion, dicho] of guardado) {
        const campo = suyos().find((c) => c.name === nombre && (c.type !== "radio" || c.value === opcion));
        if (!campo) continue;
        if (typeof dicho === "boolean") campo.checked = dicho;
        else campo.value = dicho;
      }
    };
    // Hidden fields are not typed: a new key each time is no difference.
    const escrito = (de) => {
      const ocultos = new Set(suyos().filter((c) => c.type === "hidden").map((c) => c.name));
      return JSON.stringify(de.filter(([nombre]) => !ocultos.has(nombre)));
    };

    const alAbrir = estado();
    let sinGuardar = formulario.dataset.borrador === "enviado";
    let enviando = false;
    // The last time it was sent: by what name, and what it said.
    let envio = { nombre: null, campos: null };
    const anotar = () => {
      const campos = estado();
      guardar(clave, { campos, enviado: JSON.stringify(campos) === envio.campos ? envio.nombre : null });
    };

    const borrador = leer(clave);
    if (sinGuardar) {
      anotar();
    } else if (borrador) {
      // The supplier of the address, when there is one, is who the page is about: another that was typed here comes
      // back only if it was being saved.
      const fijo = pedido && !borrador.enviado && alAbrir.find(([nombre, , dicho]) => nombre === "proveedor" && dicho);
      poner(fijo ? borrador.campos.filter(([nombre]) => nombre !== "proveedor") : borrador.campos);
      if (escrito(estado()) === escrito(alAbrir)) {
        poner(alAbrir);
        borrar((n) => n === clave);
      } else {
        sinGuardar = true;
        envio = { nombre: borrador.enviado, campos: JSON.stringify(estado()) };
        anotar();
        if (nota) nota.hidden = false;
      }
    }

    const alEscribir = (suceso) => {
      // A script that completes a field of what has been sent (sugerencias.js) is nobody typing.
      if (enviando && !suceso.isTrusted) return;
      sinGuardar = escrito(estado()) !== escrito(alAbrir) || formulario.dataset.borrador === "enviado";
      if (sinGuardar) anotar();
      else borrar((n) => n === clave);
    };
    formulario.addEventListener("input", alEscribir);
    formulario.addEventListener("change", alEscribir);
    formulario.addEventListener("submit", () => {
      envio = { nombre: nuevoNombre(), campos: JSON.stringify(estado()) };
      let campo = formulario.elements.namedItem("envio");
      if (!campo) {
        campo = document.createElement("input");
        campo.type = "hidden";
        campo.name = "envio";
        formulario.append(campo);
      }
      campo.value = envio.nombre;
      anotar();
      enviando = true;
    });
    // Back to a page the browser had kept, or a save that never left: it may be left unsaved again.
    window.addEventListener("pageshow", () => { enviando = false; });
    window.addEventListener("beforeunload", (suceso) => {
      if (sinGuardar && !enviando) suceso.preventDefault();
    });
    // "Volver sin guardar" is to want none of it: once that is confirmed, nothing of it is left.
    for (const enlace of formulario.querySelectorAll(".acciones a.boton")) {
      enlace.addEventListener("click", (suceso) => {
        if (!sinGuardar || suceso.ctrlKey || suceso.metaKey || suceso.shiftKey) return;
        if (!confirm(nota.dataset.borradorPregunta)) {
          suceso.preventDefault();
          return;
        }
        sinGuardar = false;
        borrar((n) => n === clave);
      });
    }
    formulario.querySelector("[data-borrador-descartar]")?.addEventListener("click", () => {
      poner(alAbrir);
      sinGuardar = false;
      borrar((n) => n === clave);
      nota.hidden = true;
      (formulario.querySelector("[autofocus]") || suyos().find((c) => c.type !== "hidden"))?.focus();
    });
  };

  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", preparar);
  else preparar();
})();
