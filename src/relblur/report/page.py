"""Pages of one or several maps: pictures, key figures, warnings, settings, provenance, and the value of every pixel.

``page.js`` shows the values of the pixel under the pointer, which the arrow keys also move.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..blur.blur_map import Flag, has_flag
from ..blur.result import MapResult
from ..depth.depth_map import DepthMap
from ..images.disk import PathLike
from ..plot.colours import MapView, scale_for
from ..stacks.stack_map import StackMap
from .embedded import colour_bar, flag_legend, flag_webp, map_webp, pack, photo_jpeg, view_html
from .html import (
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
from .summary import key_figures, percent, settings_rows

__all__ = ["PAGE_FILE", "Entry", "make_page", "write_page"]

#: Name of the page in a folder of results.
PAGE_FILE = "report.html"

#: Longest side of a picture (px): alone on a page, one of many, in the overview of many.
PICTURE_PX, SMALL_PICTURE_PX, THUMBNAIL_PX = 1000, 480, 120
#: Maximum size of a map's picture, and of the values of the pixels of all maps of a page (bytes).
MAP_BYTES, VALUE_BYTES = 700_000, 3_000_000

#: Fractions of pixels at the limit, without a value, and clipped, above which a page contains a warning.
MANY_AT_LIMIT, MANY_UNANSWERED, MANY_CLIPPED = 0.02, 0.3, 0.1

#: Number of frames above which their table is collapsed.
MANY_FRAMES = 12

_HINT = "Point at a map, or move over it with the arrow keys."
#: Settings that appear elsewhere on the page.
_WARNINGS = ("model_warnings", "doubts")
_SHOWN_ELSEWHERE = ("notes", "images", *_WARNINGS)


@dataclass(frozen=True)
class Entry:
    """A map, and the other content of its page."""

    title: str
    result: MapResult
    pictures: Sequence[tuple[str, AnyArray]] = ()  #: photographs in display values, by name
    summary: Mapping[str, Any] = field(default_factory=dict)  #: content of ``summary.json``
    warnings: Sequence[str] = ()
    provenance: Sequence[tuple[str, str]] = ()


def write_page(
    path: PathLike, entries: Sequence[Entry], title: str = "", failures: Sequence[tuple[str, str]] = ()
) -> None:
    """Write a page of one or several maps."""
    write_document(path, make_page(entries, title, failures))


def make_page(entries: Sequence[Entry], title: str = "", failures: Sequence[tuple[str, str]] = ()) -> str:
    """Return the page of one map, or of several below an overview; ``failures`` are (name, reason)."""
    is_one = len(entries) == 1 and not failures
    sections, data = [], []
    for number, entry in enumerate(entries):
        view = MapView.of(entry.result)
        sections.append(_section(entry, view, f"r{number}", is_one))
        packed = json.dumps(pack(view, VALUE_BYTES // len(entries)))
        text = Html(packed.replace("<", "\\u003c"))  # a "<" could end the element
        data.append(element("script", text, type="application/json", data_for=f"r{number}"))
    if not is_one:
        sections.insert(0, _overview(entries, failures))
    title = title or (entries[0].title if is_one else f"{len(entries)} results")
    return document(title, *sections, after=join(*data), script=resource("page.js"))


def _overview(entries: Sequence[Entry], failures: Sequence[tuple[str, str]]) -> Html:
    """Return a table with a row for each result (name, picture, key figures), and a table of the failures."""
    figures = [dict(key_figures(each.result)) for each in entries]
    names = list(dict.fromkeys(name for each in figures for name in each))
    rows = []
    for number, (entry, known) in enumerate(zip(entries, figures, strict=True)):
        view = MapView.of(entry.result)
        small = map_webp(view.values, view.scale, THUMBNAIL_PX, MAP_BYTES, view.opacity)
        link = element("a", entry.title, href=f"#r{number}")
        picture = image(small, "", loading="lazy", class_="thumb")
        rows.append((link, picture, *(known.get(name, "-") for name in names)))
    failed = titled_table(Table("Without a result", ("pair", "reason"), failures)) if failures else ""
    results = element("div", table(rows, ("result", "", *names)), class_="wide") if rows else ""
    return element("section", results, element("div", failed, class_="wrap"))


def _section(entry: Entry, view: MapView, key: str, is_one: bool) -> Html:
    result, summary = entry.result, entry.summary
    camera = result.camera.as_dict() if isinstance(result, DepthMap) else {}
    settings = {name: value for name, value in result.settings.items() if name not in _SHOWN_ELSEWHERE}
    notes = summary.get("notes") or result.settings.get("notes") or ()
    warnings = [*entry.warnings, *_model_warnings(result, summary), *_pixel_warnings(view)]
    parts = [] if is_one else [element("h2", entry.title)]
    parts.append(element("p", _subtitle(result, view), class_="sub"))
    if warnings:
        parts.append(element("div", element("b", "Warnings"), bullets(warnings), class_="warn"))
    parts.append(tiles([*key_figures(result), *_figures_of(summary)]))
    parts.append(element("div", *_pictures(entry, view, is_one), class_="figures"))
    parts.append(element("output", _HINT, class_="readout", aria_live="polite"))
    if isinstance(result, StackMap):
        columns = ("order", "image", "in focus at", "SHA-256")
        frames = element("div", table(_frames(result, summary), columns), class_="wide")
        parts.append(details("Frames", frames, len(result.order) <= MANY_FRAMES))
    parts.append(bullets(_texts(notes), "Preparation"))
    for name, rows in (("Settings", settings_rows({**camera, **settings})), ("Provenance", entry.provenance)):
        if rows:
            parts.append(details(name, table(rows), is_one))
    return element("section", *parts, id=key)


def _subtitle(result: MapResult, view: MapView) -> str:
    what = "Depth along the optical axis" if view.unit == "m" else view.name.capitalize()
    frames = f", {len(result.places)} frames" if isinstance(result, StackMap) else ""
    method = f", method {result.settings['method']}" if "method" in result.settings else ""
    sign = ". Positive: the second image is the blurrier" if view.kind == "sigma" else ""
    return f"{what}, {result.shape[1]} x {result.shape[0]} px{frames}{method}{sign}."


def _pictures(entry: Entry, view: MapView, is_one: bool) -> list[Html]:
    """Return the figures of the photographs, the map, its standard error and its flags."""
    shape, most_px = entry.result.shape, PICTURE_PX if is_one else SMALL_PICTURE_PX
    stderr = scale_for(view.stderr, "stderr")
    figures = [(name, photo_jpeg(picture, most_px), Html()) for name, picture in entry.pictures]
    value = map_webp(view.values, view.scale, most_px, MAP_BYTES, view.opacity)
    figures.append((view.name, value, view_html(view)))
    error = map_webp(view.stderr, stderr, most_px, MAP_BYTES)
    figures.append(("standard error", error, colour_bar(stderr, view.unit)))
    figures.append(("flags", flag_webp(view.flags, most_px), flag_legend(view.flags)))
    return [_figure(*figure, shape, is_one) for figure in figures]


def _figure(title: str, picture: bytes, below: Html, shape: tuple[int, int], is_one: bool) -> Html:
    rows, columns = shape
    look = {"class_": "small" if max(shape) < 300 else None, "loading": None if is_one else "lazy"}
    shown = image(picture, title, width=columns, height=rows, **look)
    # No picture is higher than a screen, even if it is narrow.
    style = f"max-width:max(1.5rem,{40 * columns / rows:.3f}rem)"
    label = f"{title}: arrow keys move over the pixels"
    pane = element("div", shown, class_="pane", style=style, tabindex=0, role="application", aria_label=label)
    return element("figure", element("figcaption", title), pane, below)


def _figures_of(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the key figures of a summary: the error of the re-made image, the roughness of a surface."""
    try:
        heights = summary.get("topography") or {}
        level = ", tilt removed" if heights.get("tilt_removed_um_per_px") else ""
        figures = [
            (f"{name}{level}", f"{heights[f'{key}_um']:.4g} ± {heights[f'{key}_stderr_um']:.2g} µm")
            for name, key in ((("Sa", "sa"), ("Sq", "sq")) if heights else ())
        ]
        error, base = (summary.get(f"{name}_mean_absolute_error") for name in ("remade", "unblurred"))
        if error is not None and base is not None:
            figures.append(("re-made image, error (unblurred)", f"{error:.4f} ({base:.4f})"))
        return figures
    except (AttributeError, KeyError, TypeError, ValueError):  # the file was edited
        return []


def _frames(stack: StackMap, summary: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return a row for each frame in order of focus."""
    listed = summary.get("files")
    files = {str(each.get("name")): each for each in _list(listed) if isinstance(each, dict)}
    names, distances = stack.settings.get("images", ()), stack.settings.get("focus_m")
    rows: list[tuple[str, ...]] = []
    for place, number in enumerate(stack.order):
        name = str(names[number]) if number < len(names) else f"images[{number}]"
        focus = f"{distances[place]:g} m" if distances else "-"
        rows.append((str(place), name, focus, str(files.get(name.partition("[")[0], {}).get("sha256") or "-")))
    return rows


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, (list, tuple)) else ()


def _texts(value: Any) -> list[str]:
    return [str(each) for each in _list(value)]


def _model_warnings(result: MapResult, summary: Mapping[str, Any]) -> list[str]:
    """Return the warnings about the whole map, the frames that were left out, and the files that were not written."""
    warnings = [f"{text.rstrip('.')}." for name in _WARNINGS for text in _texts(result.settings.get(name))]
    left_out = _texts(summary.get("left_out"))
    if isinstance(result, StackMap):
        left_out += [f"{each['name']}, {each['why']}" for each in result.summary()["dropped"]]
    return [*warnings, *(f"left out: {text}" for text in left_out)]


def _pixel_warnings(view: MapView) -> list[str]:
    """Return warnings about many pixels without a value, at the limit or clipped, with the remedy."""
    at_limit, clipped = (float(has_flag(view.flags, flag).mean()) for flag in (Flag.AT_LIMIT, Flag.CLIPPED))
    shares = (
        (float(np.isnan(view.values).mean()), MANY_UNANSWERED, "have no value: see the flags."),
        (
            at_limit,
            MANY_AT_LIMIT,
            "are at the end of the search range: enlarge it (--max-sigma, --range), or decimate.",
        ),
        (clipped, MANY_CLIPPED, "are clipped or near clipped pixels: reduce the exposure."),
    )
    return [f"{percent(share)} of the pixels {text}" for share, most, text in shares if share > most]
