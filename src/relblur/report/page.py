"""One result, or several, as one page: HTML that needs no other file and no network.

The page forbids itself any address (Content-Security-Policy): pictures, style and script are inside. With a pointer or
the arrow keys over a map it tells the numbers of a pixel, from data that are embedded as long as the whole stays below
:data:`MOST_BYTES`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib.resources import files

from .. import __version__
from ..files.disk import PathLike, replacing
from .html import data_address, json_in_html, table
from .read_out import ReadOut, pack

__all__ = [
    "MOST_BYTES",
    "PAGE_FILE",
    "Figure",
    "ResultPage",
    "Space",
    "Table",
    "is_our_page",
    "make_page",
    "write_page",
]

#: Name of the page in a folder of results.
PAGE_FILE = "report.html"

#: A page is never larger, as far as leaving out pixels' numbers can help.
MOST_BYTES = 5_000_000

_GENERATOR = '<meta name="generator" content="relblur '

#: Bytes of what stands around numbers and results in a page, at most.
_AROUND = 5_000

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Figure:
    """A picture with its title and what explains it: colour bar or legend, as HTML."""

    title: str
    picture: bytes
    shape: tuple[int, int]  #: rows and columns of what is shown
    below: str = ""
    has_pixels: bool = True  #: it shows the pixels of the map, so that they can be pointed at


@dataclass(frozen=True)
class Table:
    """A table with a heading."""

    heading: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""


@dataclass(frozen=True)
class Space:
    """A result that can be turned in space: the first layer of its numbers is the distance of every pixel."""

    focal_px: float | None  #: None where the camera does not tell


@dataclass(frozen=True)
class ResultPage:
    """Everything that a page says about one result."""

    title: str
    subtitle: str
    key_figures: Sequence[tuple[str, str]]
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    warnings: Sequence[str] = ()
    notes: Sequence[str] = ()
    settings: Sequence[tuple[str, str]] = ()
    provenance: Sequence[tuple[str, str]] = ()
    read_out: ReadOut | None = None
    space: Space | None = None  #: shown where the numbers are in the page
    thumbnail: bytes = b""


def write_page(
    path: PathLike, results: Sequence[ResultPage], title: str = "", failures: Sequence[tuple[str, str]] = ()
) -> None:
    """Write results to one page."""
    text = make_page(results, title, failures)
    with replacing(path) as stream:
        stream.write(_encoded(text))


def make_page(results: Sequence[ResultPage], title: str = "", failures: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page of one result, or of several with a table of all at the top; ``failures`` have none, and why."""
    is_one = len(results) == 1 and not failures
    title = title or (results[0].title if is_one else f"{len(results)} results")
    bodies = [_result(each, f"r{number}", not is_one) for number, each in enumerate(results)]
    overview = "" if is_one else _overview(results)
    if failures:
        overview += f'<div class="wrap">{_table(Table("Without a result", ("pair", "why"), failures))}</div>'
    here = files(__package__)
    style, script = (here.joinpath(name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    if any(each.space is not None for each in results):
        points = here.joinpath("points.js").read_text(encoding="utf-8")
        script = points.replace("export ", "") + script  # modules cannot be opened from a disk
    used = sum(len(_encoded(text)) for text in (*bodies, overview, style, script))
    data = []
    for number, packed in enumerate(_packed(results, MOST_BYTES - used - _AROUND)):
        if packed:
            data.append(f'<script type="application/json" data-for="r{number}">{packed}</script>\n')
        else:
            bodies[number] = _result(replace(results[number], read_out=None), f"r{number}", not is_one)
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">{_GENERATOR}{escape(__version__)}">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style></head><body>\n"
        f"<header><h1>{escape(title)}</h1></header>\n<main>\n{overview}{''.join(bodies)}</main>\n"
        f"<footer>Made by relblur {escape(__version__)}. This page is one file and asks for no other.</footer>\n"
        f"{''.join(data)}<script>{script}</script>\n</body></html>\n"
    )


def _encoded(text: str) -> bytes:
    """Return UTF-8; names of files may hold what is no text, and are then written out."""
    return text.encode("utf-8", "backslashreplace")


def _packed(results: Sequence[ResultPage], room: int) -> list[str]:
    """Return the numbers behind each result as JSON, together no longer than ``room``; empty where there are none."""
    asking = sum(each.read_out is not None for each in results)
    texts = []
    for each in results:
        if each.read_out is None:
            texts.append("")
            continue
        packed = pack(each.read_out, room // asking - _AROUND)
        texts.append("" if packed is None else json_in_html(json.dumps(packed)))
        room, asking = room - len(texts[-1]), asking - 1
    return texts


def is_our_page(path: PathLike) -> bool:
    """Tell whether a file is a page that relblur made: such may be replaced by a newer one."""
    try:
        with open(path, "rb") as stream:
            return _GENERATOR.encode() in stream.read(500)
    except OSError:
        return False


def _overview(results: Sequence[ResultPage]) -> str:
    """Return a row a result: picture, name, key figures."""
    names = list(dict.fromkeys(name for each in results for name, _ in each.key_figures))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    rows = []
    for number, each in enumerate(results):
        known = dict(each.key_figures)
        picture = f'<img alt="" loading="lazy" src="{data_address(each.thumbnail)}">' if each.thumbnail else ""
        cells = "".join(f"<td>{escape(known.get(name, '-'))}</td>" for name in names)
        link = f'<a href="#r{number}">{escape(each.title)}</a>'
        rows.append(f'<tr><td class="thumb">{picture}</td><th scope="row">{link}</th>{cells}</tr>')
    return (
        '<section class="all"><div class="wide"><table class="grid"><thead><tr><th></th><th scope="col">result</th>'
        f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div></section>\n"
    )


def _result(result: ResultPage, key: str, has_title: bool) -> str:
    heading = f"<h2>{escape(result.title)}</h2>" if has_title else ""
    tiles = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in result.key_figures)
    parts = [f'<section class="result" id="{key}">{heading}<p class="sub">{escape(result.subtitle)}</p>']
    if result.warnings:
        items = "".join(f"<li>{escape(text)}</li>" for text in result.warnings)
        parts.append(f'<div class="warn" role="note"><b>Look at this first</b><ul>{items}</ul></div>')
    if tiles:
        parts.append(f'<dl class="tiles">{tiles}</dl>')
    if result.figures:
        figures = "".join(_figure(figure, has_title) for figure in result.figures)
        point = (
            '<output class="readout" aria-live="polite">Point at a map, or move over it with the arrow keys.</output>'
            if result.read_out is not None
            else ""
        )
        parts.append(f'<div class="figures">{figures}</div>{point}')
        if result.space is not None and result.read_out is not None:
            parts.append(_space(result.space))
    parts += [_table(each) for each in result.tables]
    if result.notes:
        items = "".join(f"<li>{escape(text)}</li>" for text in result.notes)
        parts.append(f"<h3>What was done</h3><ul>{items}</ul>")
    for name, rows in (("Settings", result.settings), ("Provenance", result.provenance)):
        if rows:
            parts.append(f"<details{' open' if not has_title else ''}><summary>{name}</summary>{table(rows)}</details>")
    return "".join(parts) + "</section>\n"


def _figure(figure: Figure, is_one_of_many: bool) -> str:
    rows, columns = figure.shape
    lazily = ' loading="lazy"' if is_one_of_many else ""
    pane = ' class="pane" tabindex="0" role="application"' if figure.has_pixels else ' class="picture"'
    label = f' aria-label="{escape(figure.title)}: arrow keys move over the pixels"' if figure.has_pixels else ""
    small = ' class="small"' if max(rows, columns) < 300 else ""
    # No picture higher than a screen, however narrow it is.
    widest = f' style="max-width:max(1.5rem,{40 * columns / rows:.3f}rem)"'
    return (
        f"<figure><figcaption>{escape(figure.title)}</figcaption><div{pane}{label}{widest}>"
        f'<img alt="{escape(figure.title)}" width="{columns}" height="{rows}"{small}{lazily} '
        f'src="{data_address(figure.picture)}"></div>{figure.below}</figure>'
    )


def _space(space: Space) -> str:
    focal = "" if space.focal_px is None else f' data-focal="{space.focal_px:.6g}"'
    assumed = "" if space.focal_px is not None else " The angle of view is assumed: the camera does not tell it."
    return (
        f'<div class="space"{focal}><h3>In space</h3><div class="stage"><canvas tabindex="0" role="img" '
        'aria-label="Every pixel with a distance as a point. Drag or arrow keys turn it, the wheel zooms."></canvas>'
        "</div>"
        '<p class="note"><label>colour <select><option value="0">photograph</option><option value="1">distance</option>'
        '</select></label> <button type="button" aria-pressed="false">Rock</button> Drag or arrow keys turn it, the '
        f"wheel zooms.{assumed}</p></div>"
    )


def _table(each: Table) -> str:
    note = f'<p class="note">{escape(each.note)}</p>' if each.note else ""
    return f'<h3>{escape(each.heading)}</h3><div class="wide">{table(each.rows, each.columns, "grid")}</div>{note}'
