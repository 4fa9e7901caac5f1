// A field with a list of suggestions (<input list>): when what was typed leaves only one, leaving the field, or Enter,
// takes it. The list itself and its arrows are the browser's.
"use strict";

(() => {
  const plegar = (texto) => texto.normalize("NFKD").replace(/[\u0300-\u036f]/g, "").toLowerCase();

  const completar = (campo) => {
    const opciones = [...campo.list.options].map((o) => o.value);
    const palabras = plegar(campo.value).split(/\s+/).filter(Boolean);
    // The list may still be that of what was typed before.
    const posibles = opciones.filter((o) => palabras.every((p) => plegar(o).includes(p)));
    if (palabras.length && posibles.length === 1 && opciones.length === 1) campo.value = posibles[0];
  };

  document.addEventListener("change", (suceso) => {
    if (suceso.target.list) completar(suceso.target);
  }, true);
  // Enter chooses; it does not send a form that is not finished, which would move on to whatever is missing.
  document.addEventListener("keydown", (suceso) => {
    if (suceso.key !== "Enter" || suceso.isComposing || !suceso.target.list) return;
    suceso.preventDefault();
    completar(suceso.target);
  });
  // It arrived when the person had already gone on.
  document.addEventListener("htmx:afterSwap", (suceso) => {
    const campo = document.querySelector(`input[list="${CSS.escape(suceso.target.id)}"]`);
    if (campo && document.activeElement !== campo) {
      completar(campo);
      campo.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
})();
