"""Pages of one or several results.

``page.js`` shows the values of the pixel under the pointer, which the arrow keys also move. The values are embedded if
the page stays below :data:`MOST_BYTES`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..images.disk import PathLike
from .embedded import ReadOut, pack
from .html import (
    NOTHING,
    Html,
    Table,
    bullets,
    details,
    document,
    element,
    image,
    join,
    resource,
    table,
    tiles,
    titled_table,
    write_document,
)
from .summary import settings_rows

__all__ = ["MOST_BYTES", "PAGE_FILE", "About", "Figure", "ResultPage", "Space", "make_page", "write_page"]

#: Name of the page in a folder of results.
PAGE_FILE = "report.html"

#: Size of a page (bytes) above which values of pixels are omitted, and the part reserved for its frame.
MOST_BYTES, _FRAME_BYTES = 5_000_000, 5_000

#: Longest side of a picture (px) on the page of a single result, and on that of several.
PICTURE_PX, SMALL_PICTURE_PX = 1000, 480

_HINT = "Point at a map, or move over it with the arrow keys."
_SPACE_HINT = "Drag or arrow keys turn it, the wheel zooms."


@dataclass(frozen=True)
class About:
    """Title and origin of a result."""

    title: str
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    provenance: Sequence[tuple[str, str]] = ()
    is_one_of_many: bool = False

    @property
    def picture_px(self) -> int:
        """Longest side of a picture, px."""
        return SMALL_PICTURE_PX if self.is_one_of_many else PICTURE_PX


@dataclass(frozen=True)
class Figure:
    """A picture with its title, and its colour bar or legend below."""

    title: str
    picture: bytes
    shape: tuple[int, int]  #: rows and columns of the map
    below: Html = NOTHING
    has_pixels: bool = True  #: the pointer over it selects a pixel of the map


@dataclass(frozen=True)
class Space:
    """A 3-D view of a depth map; the first layer of the read-out is the distance of every pixel."""

    focal_px: float | None  #: None if the camera has no focal length


@dataclass(frozen=True)
class ResultPage:
    """The content of a page about one result."""

    about: About
    subtitle: str
    key_figures: Sequence[tuple[str, str]]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    warnings: Sequence[str] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    read_out: ReadOut | None = None
    space: Space | None = None  #: requires a read-out
    thumbnail: bytes = b""


def write_page(
    path: PathLike, results: Sequence[ResultPage], title: str = "", failures: Sequence[tuple[str, str]] = ()
) -> None:
    """Write a page of one or several results."""
    write_document(path, make_page(results, title, failures))


def make_page(results: Sequence[ResultPage], title: str = "", failures: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page of one result, or of several below an overview; ``failures`` are (name, reason)."""
    is_one = len(results) == 1 and not failures
    title = title or (results[0].about.title if is_one else f"{len(results)} results")
    bodies = [_result(each, f"r{number}", not is_one) for number, each in enumerate(results)]
    overview = NOTHING if is_one else _overview(results)
    if failures:
        failed = titled_table(Table("Without a result", ("pair", "reason"), failures))
        overview = join(overview, element("div", failed, class_="wrap"))
    script = resource("page.js")
    if any(each.space is not None for each in results):
        script = resource("points.js").replace("export ", "") + script  # modules cannot be loaded from a file
    used = sum(len(text.encode("utf-8", "replace")) for text in (*bodies, overview, script, resource("style.css")))
    room = MOST_BYTES - used - _FRAME_BYTES
    remaining = sum(each.read_out is not None for each in results)
    data = []
    for number, each in enumerate(results):
        if each.read_out is None:
            continue
        packed = pack(each.read_out, room // remaining - _FRAME_BYTES)
        remaining -= 1
        if packed is None:
            bodies[number] = _result(replace(each, read_out=None), f"r{number}", not is_one)
        else:
            text = Html(json.dumps(packed).replace("<", "\\u003c"))  # "<" must not end the element
            room -= len(text)
            data.append(element("script", text, type="application/json", data_for=f"r{number}"))
    return document(title, overview, *bodies, after=join(*data), script=script)


def _overview(results: Sequence[ResultPage]) -> Html:
    """Return a table with a row for each result: name, picture, key figures."""
    names = list(dict.fromkeys(name for each in results for name, _ in each.key_figures))
    rows = []
    for number, each in enumerate(results):
        known = dict(each.key_figures)
        picture = image(each.thumbnail, "", loading="lazy", class_="thumb") if each.thumbnail else NOTHING
        link = element("a", each.about.title, href=f"#r{number}")
        rows.append((link, picture, *(known.get(name, "-") for name in names)))
    return element("section", element("div", table(rows, ("result", "", *names)), class_="wide"))


def _result(result: ResultPage, key: str, is_one_of_many: bool) -> Html:
    parts = [element("h2", result.about.title)] if is_one_of_many else []
    parts.append(element("p", result.subtitle, class_="sub"))
    if warnings := [*result.about.warnings, *result.warnings]:
        parts.append(element("div", element("b", "Warnings"), bullets(warnings), class_="warn"))
    parts.append(tiles(result.key_figures))
    if result.figures:
        parts.append(element("div", *(_figure(each, is_one_of_many) for each in result.figures), class_="figures"))
    if result.read_out is not None:
        parts.append(element("output", _HINT, class_="readout", aria_live="polite"))
        if result.space is not None:
            parts.append(_space(result.space))
    parts += [titled_table(each) for each in result.tables]
    parts.append(bullets(result.about.notes, "Preparation"))
    for name, rows in (("Settings", settings_rows(result.settings)), ("Provenance", result.about.provenance)):
        if rows:
            parts.append(details(name, table(rows), not is_one_of_many))
    return element("section", *parts, id=key)


def _figure(figure: Figure, is_one_of_many: bool) -> Html:
    rows, columns = figure.shape
    size = {"class_": "small" if max(rows, columns) < 300 else None, "loading": "lazy" if is_one_of_many else None}
    picture = image(figure.picture, figure.title, width=columns, height=rows, **size)
    # No picture is higher than a screen, even if it is narrow.
    style = f"max-width:max(1.5rem,{40 * columns / rows:.3f}rem)"
    label = f"{figure.title}: arrow keys move over the pixels"
    focusable = {"tabindex": 0, "role": "application", "aria_label": label} if figure.has_pixels else {}
    pane = element("div", picture, class_="pane" if figure.has_pixels else "picture", style=style, **focusable)
    return element("figure", element("figcaption", figure.title), pane, figure.below)


def _space(space: Space) -> Html:
    label = f"Every pixel with a distance as a point. {_SPACE_HINT}"
    canvas = element("canvas", tabindex=0, role="img", aria_label=label)
    colours = element("select", element("option", "photograph", value=0), element("option", "distance", value=1))
    rock = element("button", "Rock", type="button", aria_pressed="false")
    hint = _SPACE_HINT if space.focal_px is not None else f"{_SPACE_HINT} The angle of view is assumed."
    note = element("p", element("label", "colour ", colours), " ", rock, " ", hint, class_="note")
    focal = None if space.focal_px is None else f"{space.focal_px:.6g}"
    stage = element("div", canvas, class_="stage")
    return element("div", element("h3", "In space"), stage, note, class_="space", data_focal=focal)
