"""Whatever a document says, its page runs nothing, loads nothing and leads nowhere it should not."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoria.documentos.render import CELDAS_MAXIMAS, ESQUEMAS, ETIQUETAS, a_html

ATAQUES = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src=https://malo.example></iframe>",
    "<style>*{display:none}</style>",
    "<a href='javascript:alert(1)'>x</a>",
    "<form action=https://malo.example><input name=q></form>",
    "<base href=https://malo.example>",
    "<meta http-equiv=refresh content='0;url=https://malo.example'>",
    "<math><mi xlink:href='javascript:alert(1)'>x</mi></math>",
    "<!-- --!><img src=x onerror=alert(1)> -->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<div style='background:url(https://malo.example)' id=x class=y>x</div>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java\tscript:alert(1))",
    "[x](&#106;avascript:alert(1))",
    "[x](javascript&colon;alert(1))",
    "[x]( javascript:alert(1))",
    "[x](\x01javascript:alert(1))",
    "[x](vbscript:msgbox(1))",
    "[x](data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==)",
    "[x](data:image/png;base64,iVBORw0KGgo=)",
    "[x](file:///etc/passwd)",
    "[x](//malo.example/a)",
    "[x](/admin/logout/)",
    "[x](?q=1)",
    "[x](\\\\malo.example\\a)",
    "<javascript:alert(1)>",
    "<data:text/html,x>",
    "[x]: javascript:alert(1)\n\n[x]",
    "[x](https://malo.example 'onmouseover=alert(1)')",
    "[x](https://malo.example/\"onmouseover=alert(1))",
    "![x](https://malo.example/pixel.png)",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+)",
    "![x\"onerror=\"alert(1)](x)",
    "[![x](https://malo.example/p.png)](javascript:alert(1))",
    "```\n</code></pre><script>alert(1)</script>\n```",
    "```js\" onmouseover=alert(1)\nx\n```",
    "`</code><script>alert(1)</script>`",
    "| a |\n| :-: |\n| <img src=x onerror=alert(1)> |",
    "# <script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "**<b onclick=alert(1)>x</b>**",
    "<a\nhref=\"jav&#x0A;ascript:alert(1)\">x</a>",
    "<https://malo.example/'onclick=alert(1)>",
]  # fmt: skip


class Lector(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.etiquetas: list[tuple[str, dict[str, str | None]]] = []
        self.comentarios: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.etiquetas.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.comentarios.append(data)

    unknown_decl = handle_comment


def comprobar(html: str) -> None:
    leido = Lector(html)
    assert leido.comentarios == []
    for etiqueta, atributos in leido.etiquetas:
        assert etiqueta in ETIQUETAS
        assert set(atributos) <= ({"href", "title", "rel"} if etiqueta == "a" else {"start"})
        if "href" in atributos:
            assert re.match(rf"(?:{'|'.join(ESQUEMAS)}):", atributos["href"] or "")
            assert atributos["rel"] == "noopener noreferrer nofollow"


@pytest.mark.parametrize("ataque", ATAQUES)
def test_attacks(ataque: str) -> None:
    comprobar(a_html(ataque))
    comprobar(a_html(f"texto\n\n> - {ataque}\n\n{ataque}"))


MEZCLA = st.lists(st.sampled_from(ATAQUES) | st.text(max_size=8), max_size=4).map("".join)


@given(st.text(max_size=80) | MEZCLA)
def test_whatever_is_written(texto: str) -> None:
    comprobar(a_html(texto))


def test_what_is_written_is_seen() -> None:
    html = a_html("# Uno\n\n**a** *b* ~~c~~ `d`\n\n1. x\n\n| a |\n|--:|\n| b |\n\n> cita\n\n<b>crudo</b>")
    for trozo in (
        "<h2>Uno</h2>",
        "<strong>a</strong> <em>b</em> <s>c</s> <code>d</code>",
        "<ol>",
        "<td>b</td>",
        "<blockquote>",
        "&lt;b&gt;crudo&lt;/b&gt;",
    ):
        assert trozo in html


def test_no_level_of_heading_is_left_out() -> None:
    html = a_html("### A\n\n###### B\n\n### C\n\n# D\n\n## E")
    assert re.findall(r"<(h\d)>(\w)", html) == [
        ("h2", "A"),
        ("h3", "B"),
        ("h2", "C"),
        ("h2", "D"),
        ("h3", "E"),
    ]


def test_an_image_is_told_and_not_loaded() -> None:
    html = a_html("![El muelle <b>](https://malo.example/p.png)")
    assert "[imagen: El muelle &lt;b&gt;]" in html
    assert "malo.example" not in html


@pytest.mark.parametrize(
    ("destino", "pedida"),
    [
        ("plazos.md", "acuerdos/plazos.md"),
        ("./plazos.md#uno", "acuerdos/plazos.md"),
        ("../portes.md", "portes.md"),
        ("/portes.md", "portes.md"),
        ("a%C3%B1o.md", "acuerdos/año.md"),
        ("../../fuera.md", None),
        ("..%2F..%2Ffuera.md", None),
        ("plazos.html", None),
        ("", None),
    ],
)
def test_a_link_to_another_document_leads_to_its_page(destino: str, pedida: str | None) -> None:
    pedidas: list[set[str]] = []

    def enlazar(rutas: set[str]) -> dict[str, str]:
        pedidas.append(rutas)
        return dict.fromkeys(rutas, "/memoria/documentos/compras/7/")

    html = a_html(f"[x]({destino}) [y](https://ejemplo.es)", desde="acuerdos/indice.md", enlazar=enlazar)
    assert pedidas == [{pedida} if pedida else set()]
    assert ('href="/memoria/documentos/compras/7/"' in html) is bool(pedida)
    assert 'href="https://ejemplo.es"' in html


def test_one_that_does_not_exist_leads_nowhere() -> None:
    assert "href" not in a_html("[x](no-existe.md)", enlazar=lambda _rutas: {})


def _tabla(columnas: int, filas: int, fila: str) -> str:
    return "\n".join(["|x" * columnas + "|", "|-" * columnas + "|", *[fila] * filas])


@pytest.mark.parametrize(
    ("columnas", "filas", "fila"), [(500, 500, "|"), (80, 1_000, "|a" * 80 + "|"), (50_000, 1, "|")]
)
def test_a_page_is_no_longer_than_what_was_written_by_much(columnas: int, filas: int, fila: str) -> None:
    """Rows are filled up to the heading: three kilobytes were 650. Past the bound, it is seen as written."""
    texto = _tabla(columnas, filas, fila)
    html = a_html(f"antes\n\n{texto}\n\ndespués")
    assert len(html) < len(texto) + 30 * CELDAS_MAXIMAS
    assert f"<pre><code>{texto}</code></pre>" in html
    assert html.rstrip().endswith("<p>después</p>")


def test_all_the_tables_of_a_document_count_and_an_ordinary_one_is_a_table() -> None:
    lista = _tabla(8, 900, "|a" * 8 + "|")
    assert a_html(lista).count("<td>") == 7_200
    html = a_html("\n\n".join([lista] * 3))
    assert (html.count("<table>"), html.count("<pre>")) == (1, 2)
    citada = a_html("\n".join(f"> {linea}" for linea in _tabla(500, 500, "|").split("\n")))
    assert citada.startswith("<blockquote>")
    assert (citada.count("<table>"), citada.count("<pre>")) == (0, 1)
