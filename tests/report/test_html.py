"""The one HTML writer: everything is escaped, and nobody else writes a tag."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import relblur
from relblur.report.html import Html, Table, bullets, document, element, image, table, tiles, titled_table

SOURCE = Path(relblur.__file__).parent
BAD = "</style><script>alert(1)</script> & \"'"


def test_text_and_attributes_are_escaped_and_html_is_not():
    made = element("p", BAD, element("b", "bold"), title=BAD, hidden=True, id=None, data_for="x", class_="y")
    assert made.count("<") == 4
    assert made.startswith('<p title="&lt;/style&gt;')
    assert '&quot;\'" hidden data-for="x" class="y">' in made
    assert made.endswith("<b>bold</b></p>")
    assert element("img", alt="a") == '<img alt="a">'


@pytest.mark.parametrize(
    "made",
    [
        table([(BAD, BAD)], (BAD, BAD)),
        titled_table(Table(BAD, (BAD,), [(BAD,)], BAD, is_long=True)),
        tiles([(BAD, BAD)]),
        bullets([BAD], BAD),
        image(b"<svg/>", BAD),
        document(BAD, element("p", BAD)),
    ],
)
def test_no_text_becomes_a_tag(made):
    assert "<script" not in made
    assert "&lt;script" in made


def test_a_page_without_a_script_forbids_scripts():
    assert "script-src" not in document("x", Html("<p>y</p>"))
    assert "default-src 'none'" in document("x", script="1")
    assert "script-src" in document("x", script="1")


def test_no_other_module_writes_a_tag():
    tag = re.compile(r"<(?:!DOCTYPE|/?(?:div|p|pre|b|i|a|span|img|table|t[rdh]|ul|li|h[1-6]|svg|script|style))\b[^>]*>")
    found = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and tag.search(node.value):
                found.add(path.relative_to(SOURCE).as_posix())
    assert found == {"report/html.py"}
