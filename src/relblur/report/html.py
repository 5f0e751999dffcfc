"""HTML of pages and notebooks: elements, tables, and the frame of a page.

:func:`element` escapes every text that is not :class:`Html`. No other module writes tags. A page is one file that
includes ``style.css``. Its Content-Security-Policy forbids loading from any address.
"""

from __future__ import annotations

import base64
from collections.abc import Container, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files

from .. import __version__
from ..images.disk import PathLike, replacing

__all__ = [
    "Html",
    "Table",
    "bullets",
    "details",
    "document",
    "element",
    "fragment",
    "image",
    "join",
    "resource",
    "table",
    "tiles",
    "titled_table",
    "write_document",
]

#: Elements without an end tag.
_VOID = ("br", "img", "meta")

#: Length (characters) above which the text of a table cell may wrap.
_LONG_CELL = 40

_SCRIPTS = "; script-src 'unsafe-inline'"
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


class Html(str):
    """HTML text, which :func:`element` and :func:`join` do not escape."""

    __slots__ = ()


@dataclass(frozen=True)
class Table:
    """A table with a heading; ``stated`` contains the indices of the rows from other sources."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""
    stated: Container[int] = ()
    is_long: bool = False  #: collapsed until the reader opens it


def join(*parts: object) -> Html:
    """Return the concatenated parts; text that is not :class:`Html` is escaped."""
    return Html("".join(part if isinstance(part, Html) else escape(str(part)) for part in parts))


def element(tag: str, /, *inside: object, **attributes: object) -> Html:
    """Return an element with its content.

    In names of attributes "_" becomes "-", and a trailing "_" is removed. None and False omit an attribute. True writes
    it without a value.
    """
    written = ""
    for key, value in attributes.items():
        if value is not None and value is not False:
            key, text = key.rstrip("_").replace("_", "-"), escape(str(value), quote=False).replace('"', "&quot;")
            written += f" {key}" if value is True else f' {key}="{text}"'
    start = f"<{tag}{written}>"
    return Html(start if tag in _VOID else f"{start}{join(*inside)}</{tag}>")


def image(picture: bytes, alt: str, **attributes: object) -> Html:
    """Return an image element that contains the PNG, JPEG, WebP or SVG data."""
    starts = {b"\x89PNG": "png", b"\xff\xd8": "jpeg", b"RIFF": "webp"}
    kind = next((name for start, name in starts.items() if picture.startswith(start)), "svg+xml")
    data = base64.b64encode(picture).decode("ascii")
    return element("img", alt=alt, **attributes, src=f"data:image/{kind};base64,{data}")


def table(rows: Sequence[Sequence[str]], columns: Sequence[str] = (), stated: Container[int] = ()) -> Html:
    """Return a table; the first cell of each row is its heading."""
    head = element("thead", element("tr", *(element("th", each, scope="col") for each in columns))) if columns else ""
    body = [
        element("tr", element("th", first, scope="row"), *map(_cell, rest), class_="stated" if n in stated else None)
        for n, (first, *rest) in enumerate(rows)
    ]
    return element("table", head, element("tbody", *body), class_="grid" if columns else "rows")


def _cell(text: str) -> Html:
    return element("td", text, class_="long" if len(text) > _LONG_CELL and not isinstance(text, Html) else None)


def titled_table(each: Table) -> Html:
    """Return a table with its heading above and its note below."""
    rows = element("div", table(each.rows, each.columns, each.stated), class_="wide")
    inside = join(rows, element("p", each.note, class_="note") if each.note else "")
    return details(each.heading, inside) if each.is_long else join(element("h3", each.heading), inside)


def tiles(figures: Sequence[tuple[str, str]]) -> Html:
    """Return (name, value) pairs as cards."""
    cards = [element("div", element("dt", name), element("dd", value)) for name, value in figures]
    return element("dl", *cards, class_="tiles")


def bullets(texts: Sequence[str], heading: str = "") -> Html:
    """Return a bullet list with a heading; empty HTML for an empty list."""
    items = element("ul", *(element("li", text) for text in texts))
    return join(element("h3", heading) if heading else "", items) if texts else Html()


def details(summary: str, inside: Html, is_open: bool = False) -> Html:
    """Return content that collapses below a heading."""
    return element("details", element("summary", summary), inside, open=is_open)


def document(title: str, *body: Html, after: Html | str = "", script: str = "") -> str:
    """Return a page as text; ``after`` and the script are placed at the end of its body."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="generator", content=f"relblur {__version__}"),
        element("meta", http_equiv="Content-Security-Policy", content=_POLICY + (_SCRIPTS if script else "")),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Html(resource("style.css"))),
    )
    foot = element("footer", f"Made by relblur {__version__}. This page is one file and loads no other.")
    end = element("script", Html(script)) if script else ""
    top = element("header", element("h1", title))
    page = element("body", top, element("main", *body), foot, after, end, class_="rb page")
    return f"<!DOCTYPE html>\n{element('html', head, page, lang='en')}\n"


def fragment(plain: str, title: str, left: Html, right: Html) -> str:
    """Return the view for a notebook; ``plain`` is the text for viewers without style sheets."""
    columns = element("div", element("div", left), element("div", right), class_="columns")
    view = element("div", element("h3", title), columns, class_="rb cell", style="display:none")
    return element("div", element("style", Html(resource("style.css"))), element("pre", plain, class_="rb-plain"), view)


def write_document(path: PathLike, text: str) -> None:
    """Write a page as UTF-8; bytes of file names that are not text are escaped."""
    with replacing(path) as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))


def resource(name: str) -> str:
    """Return the content of a file of this package."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
