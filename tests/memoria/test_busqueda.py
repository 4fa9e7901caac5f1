"""Notice search: the right supplier only, by words and by meaning, and nothing when there is no answer."""

from __future__ import annotations

import csv
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langgraph.store.base import PutOp
from langgraph.store.memory import InMemoryStore

import memoria
from memoria.almacen import AlmacenMemoria
from memoria.busqueda import buscar_avisos, hallar_avisos, normalizada, palabras
from memoria.embeddings import ModeloEmbeddings, RespuestaInesperada
from memoria.politica import PoliticaIncumplida, espacio

GUIONES = Path(memoria.__file__).parent / "sql"
DATOS = Path(__file__).resolve().parents[2] / "benchmarks" / "datos" / "avisos.csv"


@pytest.fixture
def con_avisos(almacen_compras: AlmacenMemoria) -> AlmacenMemoria:
    with DATOS.open(encoding="utf-8", newline="") as fichero:
        almacen_compras.batch(
            PutOp(
                espacio("proveedores", f["proveedor_id"]),
                f["aviso_id"],
                {"texto": f["texto"], "fecha": f["fecha"]},
            )
            for f in csv.DictReader(fichero)
        )
    return almacen_compras


@pytest.mark.parametrize(
    ("consulta", "esperado"),
    [
        ("vacaciones de verano de la fábrica", "A101-01"),  # by meaning
        ("PEDIDO MINIMO EN EUROS", "A101-04"),  # case and accents
        ("la serie Brisa", "A101-05"),  # a name
    ],
)
def test_the_right_notice_is_among_the_three(
    con_avisos: AlmacenMemoria, consulta: str, esperado: str
) -> None:
    hallados = buscar_avisos(con_avisos, "P101", consulta)
    assert esperado in [a.key for a in hallados]
    assert len(hallados) <= 3
    assert all(a.score is not None and -1 <= a.score <= 1 for a in hallados)


def test_a_code_matches_only_itself(con_avisos: AlmacenMemoria) -> None:
    assert buscar_avisos(con_avisos, "P102", "TX-18")[0].key == "A102-03"


def test_no_notice_of_another_supplier(con_avisos: AlmacenMemoria) -> None:
    for proveedor in ("P101", "P10", "P1", "P_01", "p101"):
        for aviso in buscar_avisos(con_avisos, proveedor, "taladros retrasos pedido fábrica", limite=50):
            assert aviso.namespace == ("proveedores", proveedor)
            assert aviso.key.startswith("A101-")
    assert buscar_avisos(con_avisos, "P10", "pedido") == []


def test_what_has_expired_is_not_found(con_avisos: AlmacenMemoria, propietario: psycopg.Connection) -> None:
    assert buscar_avisos(con_avisos, "P101", "pedido mínimo")
    propietario.execute("UPDATE langgraph.store SET expires_at = now() - interval '1 second'")
    assert buscar_avisos(con_avisos, "P101", "pedido mínimo") == []


def test_searching_renews_nothing(con_avisos: AlmacenMemoria, propietario: psycopg.Connection) -> None:
    propietario.execute("UPDATE langgraph.store SET expires_at = now() + interval '3 days'")
    antes = propietario.execute("SELECT prefix, key, expires_at, xmin::text FROM langgraph.store").fetchall()
    buscar_avisos(con_avisos, "P101", "pedido mínimo")
    despues = propietario.execute(
        "SELECT prefix, key, expires_at, xmin::text FROM langgraph.store"
    ).fetchall()
    assert despues == antes


def test_without_vectors_the_words_still_find(
    con_avisos: AlmacenMemoria, propietario: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(con_avisos, "modelo", None)
    hallados = buscar_avisos(con_avisos, "P101", "pedido minimo")
    assert "A101-04" in [a.key for a in hallados]
    assert hallados[0].score is None
    assert buscar_avisos(con_avisos, "P101", "zzzz") == []


class Estropeado(ModeloEmbeddings):
    """A model whose endpoint answers something else, as a gateway's page of errors."""

    nombre, dims, umbral = "estropeado", 512, 0.2

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise RespuestaInesperada("No se entiende.")

    def embed_query(self, text: str) -> list[float]:
        raise RespuestaInesperada("No se entiende.")


def test_with_an_endpoint_that_answers_something_else_too(
    con_avisos: AlmacenMemoria, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(con_avisos, "modelo", Estropeado())
    assert "A101-04" in [a.key for a in buscar_avisos(con_avisos, "P101", "pedido minimo")]
    assert "sin vectores" in caplog.text


def test_the_words_that_say_nothing_are_no_slips_of_others(
    con_avisos: AlmacenMemoria, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or "sobre" is looked for as "sobro", which finds nothing and costs a second search."""
    consultas: list[str] = []

    def consultar(almacen: AlmacenMemoria, consulta: str, parametros: Any) -> Any:
        consultas.append(consulta)
        return original(almacen, consulta, parametros)

    original = AlmacenMemoria.consultar
    monkeypatch.setattr(AlmacenMemoria, "consultar", consultar)
    hallar_avisos(con_avisos, "P101", "sobre el pedido mínimo entre tiendas", limite=3)
    assert len(consultas) == len(set(consultas)), "searched twice"


@pytest.mark.parametrize(
    "consulta", ["", "   ", "\x00", "' OR 1=1 --", "a & | ! :* ('", "%", "x" * 10_000, "¿?", "pedido \ud800"]
)
def test_any_question_is_only_a_question(con_avisos: AlmacenMemoria, consulta: str) -> None:
    assert len(buscar_avisos(con_avisos, "P101", consulta)) <= 3


def test_no_supplier_is_no_question(con_avisos: AlmacenMemoria) -> None:
    with pytest.raises(PoliticaIncumplida):
        buscar_avisos(con_avisos, "", "pedido")


def test_twenty_own_notices_among_five_thousand_foreign_ones(
    con_avisos: AlmacenMemoria, propietario: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pgvector#671 (M13): a filtered approximate index would return too few; an exact one does not."""
    propietario.execute(
        """
        INSERT INTO langgraph.store (prefix, key, value, expires_at, ttl_minutes)
        SELECT 'proveedores.OTRO' || n % 50, 'k' || n, '{"texto": "otro", "fecha": "2026-01-01"}',
               now() + interval '1 day', 1440 FROM generate_series(1, 5000) n
        """
    )
    propietario.execute(
        """
        INSERT INTO langgraph.store_vectors (prefix, key, field_name, embedding)
        SELECT s.prefix, s.key, 'texto', (SELECT embedding FROM langgraph.store_vectors LIMIT 1)
        FROM langgraph.store s WHERE s.prefix LIKE 'proveedores.OTRO%'
        """
    )
    assert con_avisos.modelo
    exactos = [
        clave
        for (clave,) in propietario.execute(
            "SELECT key FROM langgraph.store_vectors WHERE prefix = 'proveedores.P101'"
            " ORDER BY embedding <=> %s::vector",
            [str(con_avisos.modelo.embed_query("tazas"))],
        )
    ]
    assert len(exactos) == 14
    monkeypatch.setattr(con_avisos.modelo, "umbral", -1.0)
    hallados = buscar_avisos(con_avisos, "P101", "tazas", limite=50)
    por_similitud = sorted(hallados, key=lambda a: -(a.score or 0))
    assert [a.key for a in por_similitud] == exactos


def test_a_store_of_langgraph_answers_too() -> None:
    almacen = InMemoryStore()
    almacen.put(espacio("proveedores", "P1"), "a", {"texto": "uno", "fecha": "2026-01-01"})
    assert [a.key for a in buscar_avisos(almacen, "P1", "uno")] == ["a"]
    assert buscar_avisos(almacen, "P2", "uno") == []
    with pytest.raises(ValueError, match="filtros"):
        hallar_avisos(almacen, "P1", "uno", limite=3, importancia="alta")


# -- words: accents, plurals, slips, codes ----------------------------------------------------------

TEXTOS = {
    "minimo": "El pedido mínimo pasa a 900 €.",
    "tx": "Los taladros TX-18 traen un cargador equivocado, lote L0926.",
    "logrono": "La tienda de Logroño se queda sin reparto los martes.",
    "garantia": "La garantía será de tres años.",
    "cierre": "Del 3 al 24 de agosto paran los hornos.",
}


@pytest.fixture
def con_textos(almacen_compras: AlmacenMemoria) -> AlmacenMemoria:
    for clave, texto in TEXTOS.items():
        almacen_compras.put(espacio("proveedores", "P9"), clave, {"texto": texto, "fecha": "2026-11-01"})
    return almacen_compras


@pytest.mark.parametrize(
    ("consulta", "esperado", "marcado"),
    [
        ("minimos", ["minimo"], ["mínimo"]),  # plural and no accent
        ("MÍNIMA", ["minimo"], ["mínimo"]),
        ("logrono", ["logrono"], ["Logroño"]),  # a place
        ("tx18", ["tx"], ["TX-18"]),
        ("TX-18", ["tx"], ["TX-18"]),
        ("tx 18", ["tx"], ["TX-18"]),
        ("l0926", ["tx"], ["L0926"]),
        ("garntía", ["garantia"], ["garantía"]),  # a slip
        ("graantia", ["garantia"], ["garantía"]),  # letters swapped
        ("taladrso", ["tx"], ["taladros"]),
        ("bacaciones", [], []),  # the first letter too: another word
        ("vacasiones", ["cierre"], ["agosto", "paran"]),  # a slip of a word of the trade that is not there
        ("vacaciones de verano", ["cierre"], ["agosto", "paran"]),
        ("TX-19", [], []),  # another code
        ("18", ["tx"], ["18"]),
        ("0926", ["tx"], ["0926"]),
        ("retirada de un lote", ["tx"], ["lote"]),
    ],
)
def test_how_a_word_may_be_written(
    con_textos: AlmacenMemoria, consulta: str, esperado: list[str], marcado: list[str]
) -> None:
    hallados = hallar_avisos(con_textos, "P9", consulta, limite=10)
    assert [h.key for h in hallados if h.marcas][:1] == esperado[:1]
    if esperado:
        assert hallados[0].key == esperado[0]
        assert {t for t, marcada in hallados[0].trozos() if marcada} >= set(marcado) - {"agosto", "paran"}


def test_the_pieces_are_the_text_and_no_markup(almacen_compras: AlmacenMemoria) -> None:
    texto = "<b>Subida</b> & «subidas» de Ñandú: SUBEN\tlas İ ﬁchas ½ y ＴＸ１８ 🚚 "
    almacen_compras.put(espacio("proveedores", "P9"), "a", {"texto": texto, "fecha": "2026-11-01"})
    (hallado,) = hallar_avisos(almacen_compras, "P9", "subida fichas TX-18", limite=3)
    assert "".join(trozo for trozo, _ in hallado.trozos()) == texto
    assert [t for t, marcado in hallado.trozos() if marcado] == [
        "Subida",
        "subidas",
        "SUBEN",
        "ﬁchas",
        "ＴＸ１８",
    ]


@given(
    texto=st.text(
        # Not what this Python's Unicode does not know (Cn): a newer PostgreSQL may know it for a letter.
        st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Cn"])
        | st.sampled_from("aeiosñÁü1809-./ "),
        max_size=80,
    )
)
@settings(max_examples=150)
def test_python_and_the_database_count_the_same_words(texto: str, propietario: psycopg.Connection) -> None:
    """Or the words marked would be others. 'simple': a stop word has its place but no lexeme."""
    consulta = f"SELECT to_tsvector('pg_catalog.simple', {normalizada('%(texto)s::text')})::text"
    fila = propietario.execute(consulta, {"texto": texto}).fetchone()
    assert fila
    de_la_base: dict[int, str] = {}
    for lexema in fila[0].split():
        palabra, _, posiciones = lexema.rpartition(":")
        de_la_base |= {int(p): palabra.strip("'") for p in posiciones.split(",")}
    nuestras = {
        n: p.texto.removesuffix("s") if len(p.texto) > 3 else p.texto
        for n, p in enumerate(palabras(texto), start=1)
    }
    assert nuestras == de_la_base


def test_the_column_is_made_as_the_questions(
    con_textos: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    fila = propietario.execute(
        f"""
        SELECT count(*) FILTER (WHERE lexemas = to_tsvector('pg_catalog.spanish',
                   {normalizada("(value ->> 'texto') || ' ' || coalesce(value ->> 'asunto', '')")})), count(*)
        FROM langgraph.store WHERE starts_with(prefix, 'proveedores.')
        """
    ).fetchone()
    assert fila == (len(TEXTOS), len(TEXTOS))


def test_the_subject_of_a_notice_is_searched_too(almacen_compras: AlmacenMemoria) -> None:
    almacen_compras.put(
        espacio("proveedores", "P9"),
        "a",
        {"texto": "Llamar antes del martes.", "fecha": "2026-11-01", "asunto": "Tornillería zincada"},
    )
    (hallado,) = hallar_avisos(almacen_compras, "P9", "zincada", limite=3)
    assert hallado.marcas == ()


# -- nothing when there is no answer ----------------------------------------------------------------


@pytest.mark.parametrize(
    "consulta", ["huelga", "¿hay que pagar algún anticipo?", "fraude", "zzzz", "¿?", "el de la"]
)
def test_what_nobody_wrote_about_gets_nothing(con_textos: AlmacenMemoria, consulta: str) -> None:
    assert buscar_avisos(con_textos, "P9", consulta) == []


def test_a_word_that_is_there_is_found_however_common(con_textos: AlmacenMemoria) -> None:
    assert [h.key for h in buscar_avisos(con_textos, "P9", "pedido", limite=1)] == ["minimo"]


# -- what only tells apart what is as good ----------------------------------------------------------


def _poner(almacen: AlmacenMemoria, clave: str, texto: str, fecha: str = "2026-11-01", **mas: str) -> None:
    almacen.put(espacio("proveedores", "P9"), clave, {"texto": texto, "fecha": fecha, **mas})


def test_of_two_as_good_the_recent_the_important_and_the_valid_first(almacen_compras: AlmacenMemoria) -> None:
    hoy = datetime.now(tz=UTC).date()
    texto = "Los portes van a nuestro cargo."
    _poner(almacen_compras, "d-vieja", texto, str(hoy - timedelta(days=700)))
    _poner(almacen_compras, "c-hoy", texto, str(hoy))
    _poner(almacen_compras, "b-alta", texto, str(hoy), importancia="alta")
    _poner(almacen_compras, "e-pasada", texto, str(hoy), valido_hasta=str(hoy - timedelta(days=1)))
    hallados = [h.key for h in buscar_avisos(almacen_compras, "P9", "portes", limite=10)]
    assert hallados[:2] == ["b-alta", "c-hoy"]
    assert set(hallados) == {"b-alta", "c-hoy", "d-vieja", "e-pasada"}


def _hace(meses: int) -> str:
    """The 15th of the month so many months ago."""
    hoy = datetime.now(tz=UTC).date()
    anno, mes = divmod(hoy.year * 12 + hoy.month - 1 - meses, 12)
    return f"{anno}-{mes + 1:02}-15"


def test_recency_fades_over_a_year_and_not_at_once(almacen_compras: AlmacenMemoria) -> None:
    """The keys go against it: where recency says nothing, the last key comes first."""
    texto = "Los portes van a nuestro cargo."
    for clave, meses in (("a", 2), ("b", 5), ("c", 8), ("d", 10), ("e", 14), ("f", 40)):
        _poner(almacen_compras, clave, texto, _hace(meses))
    hallados = [h.key for h in buscar_avisos(almacen_compras, "P9", "portes", limite=10)]
    assert hallados == ["a", "b", "c", "d", "f", "e"]


def test_recency_weighs_as_much_as_importance_and_validity_at_most(almacen_compras: AlmacenMemoria) -> None:
    texto = "Los portes van a nuestro cargo."
    _poner(almacen_compras, "z-importante", texto, _hace(9), importancia="alta")
    _poner(almacen_compras, "a-de-hoy", texto, _hace(0))
    _poner(almacen_compras, "m-importante-vieja", texto, _hace(30), importancia="alta")
    _poner(almacen_compras, "n-pasada", texto, _hace(3), valido_hasta=_hace(1))
    hallados = [h.key for h in buscar_avisos(almacen_compras, "P9", "portes", limite=10)]
    # 1.25, 1 and 1 (the last key first), 0.75 - 1
    assert hallados == ["z-importante", "m-importante-vieja", "a-de-hoy", "n-pasada"]


def test_a_clearly_better_one_is_never_buried(almacen_compras: AlmacenMemoria) -> None:
    hoy = datetime.now(tz=UTC).date()
    _poner(almacen_compras, "buena", "Plazo de entrega de las cerraduras: nueve semanas.", "2019-01-01")
    for n in range(5):
        _poner(
            almacen_compras, f"otra{n}", "Las cerraduras vienen en caja nueva.", str(hoy), importancia="alta"
        )
    assert buscar_avisos(almacen_compras, "P9", "plazo de entrega de las cerraduras")[0].key == "buena"


def test_a_date_that_is_none_breaks_nothing(
    con_textos: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    propietario.execute(
        """UPDATE langgraph.store SET value = value || '{"fecha": "2026-99-99", "valido_hasta": 3}'"""
    )
    assert buscar_avisos(con_textos, "P9", "garantía")[0].key == "garantia"


def test_filters(almacen_compras: AlmacenMemoria) -> None:
    _poner(almacen_compras, "a", "Portes a nuestro cargo", "2026-01-10", importancia="alta", autor="7")
    _poner(almacen_compras, "b", "Portes a su cargo", "2026-02-10", autor="8")
    casos: list[tuple[dict[str, Any], set[str]]] = [
        ({}, {"a", "b"}),
        ({"desde": date(2026, 2, 10)}, {"b"}),
        ({"hasta": date(2026, 1, 10)}, {"a"}),
        ({"desde": date(2026, 1, 11), "hasta": date(2026, 2, 9)}, set()),
        ({"importancia": "alta"}, {"a"}),
        ({"importancia": "normal"}, {"b"}),
        ({"autor": "8"}, {"b"}),
    ]
    for filtros, esperados in casos:
        assert {
            h.key for h in hallar_avisos(almacen_compras, "P9", "portes", limite=5, **filtros)
        } == esperados


def test_why_it_matched(con_textos: AlmacenMemoria) -> None:
    por_palabras = hallar_avisos(con_textos, "P9", "mínimo", limite=1)[0]
    assert por_palabras.marcas == ((10, 16),)
    assert not por_palabras.por_significado or (por_palabras.score or 0) >= 0.2


@pytest.mark.parametrize(
    ("proveedor", "consulta"),
    [
        ("P102", "huelga"),
        ("P101", "pedidos"),
        ("P101", "vacaciones de verano de la fábrica"),
        ("P103", "peligro de quedarnos sin género"),
        ("P105", "descuentos y gangas"),
        ("P106", "productos que no pueden ir en el mismo camión"),
    ],
)
def test_each_one_comes_by_a_word_or_by_its_meaning(
    con_avisos: AlmacenMemoria, proveedor: str, consulta: str
) -> None:
    """None is there to fill the answer up, or said to be near in meaning when it is under the threshold."""
    assert con_avisos.modelo
    hallados = hallar_avisos(con_avisos, proveedor, consulta, limite=50)
    assert 0 < len(hallados) < 14
    for h in hallados:
        assert h.score is not None
        assert h.por_significado == (h.score >= con_avisos.modelo.umbral)
        assert h.marcas or h.por_significado


def test_a_word_that_says_nothing_brings_no_notice(almacen_compras: AlmacenMemoria) -> None:
    """ "producto" is in both; what is asked is the strike."""
    _poner(almacen_compras, "huelga", "Huelga en su planta: sin producto dos días.")
    _poner(almacen_compras, "tapones", "El producto lleva tapón verde.")
    hallados = hallar_avisos(almacen_compras, "P9", "producto huelga", limite=10)
    assert [h.key for h in hallados if not h.por_significado] in ([], ["huelga"])
    assert "huelga" in [h.key for h in hallados]
    # Alone, it is what is asked.
    assert {h.key for h in hallar_avisos(almacen_compras, "P9", "producto", limite=10)} == {
        "huelga",
        "tapones",
    }


def test_the_gate_does_not_depend_on_how_many_are_asked_for(con_avisos: AlmacenMemoria) -> None:
    for consulta in ("artículos defectuosos", "tazas", "¿a quién llamo si tengo una duda?"):
        todos = [h.key for h in buscar_avisos(con_avisos, "P101", consulta, limite=50)]
        assert [h.key for h in buscar_avisos(con_avisos, "P101", consulta, limite=1)] == todos[:1]


# -- what cannot be asked ---------------------------------------------------------------------------


@pytest.mark.parametrize("codigo", ["P1\x00", "\x00", "P\ud800"])
def test_a_code_that_nothing_can_hold_is_a_sentence(con_avisos: AlmacenMemoria, codigo: str) -> None:
    with pytest.raises(PoliticaIncumplida, match="código del proveedor"):
        buscar_avisos(con_avisos, codigo, "pedido")


@pytest.mark.parametrize("limite", [0, -1])
def test_a_limit_of_none_is_a_sentence(con_avisos: AlmacenMemoria, limite: int) -> None:
    with pytest.raises(ValueError, match="límite"):
        buscar_avisos(con_avisos, "P101", "pedido", limite=limite)


# -- the column of an earlier version ----------------------------------------------------------------


def test_preparing_again_remakes_an_old_column_and_only_that(
    con_textos: AlmacenMemoria, propietario: psycopg.Connection
) -> None:
    guion = (GUIONES / "busqueda.sql").read_text(encoding="utf-8")
    antes = propietario.execute(
        "SELECT key, xmin::text, lexemas::text FROM langgraph.store ORDER BY key"
    ).fetchall()
    propietario.execute(guion)
    assert (
        propietario.execute(
            "SELECT key, xmin::text, lexemas::text FROM langgraph.store ORDER BY key"
        ).fetchall()
        == antes
    )
    propietario.execute("COMMENT ON COLUMN langgraph.store.lexemas IS NULL")  # as the first version left it
    propietario.execute("CREATE INDEX store_lexemas_idx ON langgraph.store USING gin (lexemas)")
    propietario.execute(guion)
    assert [
        f[2] for f in propietario.execute("SELECT key, 1, lexemas::text FROM langgraph.store ORDER BY key")
    ] == [f[2] for f in antes]
    fila = propietario.execute("SELECT to_regclass('langgraph.store_lexemas_idx') IS NULL").fetchone()
    assert fila == (True,)
    assert buscar_avisos(con_textos, "P9", "garantía")
    # Its index went with the column: other tests look at it.
    propietario.execute((GUIONES / "indices_busqueda.sql").read_text(encoding="utf-8"))
