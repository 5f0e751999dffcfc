"""Pieces of HTML that need no other file: pictures as data, colour bars, histograms, tables. All text is escaped.

What a notebook shows (:mod:`relblur.report.notebook`) and what a page holds (:mod:`relblur.report.page`) is put
together from these.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from ..base._typing import AnyArray, UInt8Array
from ..base.shown import percentages
from .colours import NO_ANSWER, ColourScale, flag_colours, flag_shares, photo, rgb

__all__ = [
    "colour_bar",
    "data_address",
    "flag_legend",
    "flag_png",
    "histogram",
    "json_in_html",
    "map_png",
    "photo_jpeg",
    "settings_rows",
    "shown_value",
    "table",
]

#: Index of "no answer" in the palette of a map's picture; the values have 255 colours.
_NO_ANSWER_INDEX = 255

HISTOGRAM_BINS = 48


def map_png(values: AnyArray, scale: ColourScale, most_px: int, most_bytes: int = 10**9) -> bytes:
    """Return a map as a PNG of 256 colours, no side longer than ``most_px``.

    If noise does not let it fit into ``most_bytes`` it gets smaller until it does.
    """
    side = most_px
    while True:
        small = _of_size(values, side)
        known = np.isfinite(small)
        share = 255 * scale.place(np.where(known, small, scale.low))
        index = np.where(known, share.clip(0, 254), _NO_ANSWER_INDEX).astype(np.uint8)
        # 255 places take their colours from 256: the last is that of "no answer".
        palette = scale.colours[np.r_[np.linspace(0, 255, 255).round().astype(int), 255]].copy()
        palette[_NO_ANSWER_INDEX] = rgb(NO_ANSWER)
        picture = _palette_png(index, palette)
        if len(picture) <= most_bytes or side <= 16:
            return picture
        side = side * 4 // 5


def flag_png(flags: AnyArray, most_px: int) -> bytes:
    """Return flags as a PNG, one colour a flag."""
    table_of_colours = flag_colours(np.arange(256, dtype=np.uint8)[None])[0]
    return _palette_png(_of_size(flags, most_px), table_of_colours)


def photo_jpeg(image: AnyArray, most_px: int, quality: int = 82) -> bytes:
    """Return a photograph, as a screen expects its values, as a JPEG with no side longer than ``most_px``."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    picture.thumbnail((most_px, most_px))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def data_address(picture: bytes) -> str:
    """Return a PNG or JPEG as the address of an image."""
    kind = "png" if picture.startswith(b"\x89PNG") else "jpeg"
    return f"data:image/{kind};base64,{base64.b64encode(picture).decode('ascii')}"


def colour_bar(scale: ColourScale, unit: str) -> str:
    """Return a colour bar with ticks, as wide as its place."""
    stops = scale.colours[np.linspace(0, 255, 17).astype(int)]
    colours = ",".join(f"#{r:02x}{g:02x}{b:02x}" for r, g, b in stops)
    ticks = "".join(_tick(100 * float(scale.place(np.asarray(value))), text) for value, text in scale.ticks(5))
    return (
        f'<div class="rb-bar"><div style="background:linear-gradient(to right,{colours})"></div>'
        f'<div class="rb-ticks">{ticks}</div><div class="rb-unit">{escape(unit)}</div></div>'
    )


def _tick(percent: float, text: str) -> str:
    """Return a number below its place; near an end it stays within the bar."""
    shift = ";transform:none" if percent < 5 else ";transform:translateX(-100%)" if percent > 95 else ""
    return f'<span style="left:{percent:.2f}%{shift}">{escape(text)}</span>'


def histogram(values: AnyArray, scale: ColourScale, what: str) -> str:
    """Return how often values occur, over the colour scale, what lies beyond in the outermost bars."""
    known = values[np.isfinite(values)]
    counts, _ = np.histogram(scale.place(known).clip(0, 1), HISTOGRAM_BINS, (0, 1))
    top = max(int(counts.max()), 1)
    bars = "".join(
        f'<rect x="{k}" y="{40 * (1 - count / top):.1f}" width="0.9" height="{40 * count / top:.1f}"/>'
        for k, count in enumerate(counts)
        if count
    )
    return (
        f'<svg class="rb-hist" viewBox="0 0 {HISTOGRAM_BINS} 40" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(what)}">{bars}</svg>'
    )


def flag_legend(flags: AnyArray) -> str:
    """Return the colours of the flags that occur, and their shares."""
    shown = flag_shares(flags)
    shares = percentages([share for _, _, share in shown])
    entries = "".join(
        f'<li><i style="background:{colour}"></i>{escape(name)} {escape(share)}</li>'
        for (name, colour, _), share in zip(shown, shares, strict=True)
    )
    return f'<ul class="rb-flags">{entries}</ul>'


def table(rows: Sequence[Sequence[str]], columns: Sequence[str] = (), kind: str = "rb-rows") -> str:
    """Return a table; the first cell of a row is its name."""
    head = "".join(f'<th scope="col">{escape(column)}</th>' for column in columns)
    body = "".join(
        f'<tr><th scope="row">{escape(row[0])}</th>{"".join(f"<td>{escape(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return f'<table class="{kind}">{f"<thead><tr>{head}</tr></thead>" if head else ""}<tbody>{body}</tbody></table>'


def settings_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return settings as rows of a table, long lists shortened."""
    return [(str(name).replace("_", " "), shown_value(value)) for name, value in settings.items()]


def shown_value(value: Any, longest: int = 120) -> str:
    """Return a value in a few words."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and len(value) > 6:
        return f"{shown_value(value[0])}, {shown_value(value[1])} ... {shown_value(value[-1])} ({len(value)} values)"
    if isinstance(value, (list, tuple)):
        return ", ".join(shown_value(each) for each in value)
    text = str(value)
    return text if len(text) <= longest else f"{text[:longest]} ..."


def json_in_html(text: str) -> str:
    """Return JSON that may stand in a script element: it cannot end it."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _of_size(values: AnyArray, most_px: int) -> AnyArray:
    """Return every so many pixels of a map, so that no side is longer; a small one stays as it is."""
    height, width = values.shape
    share = min(1.0, most_px / max(height, width))
    rows, columns = (
        ((np.arange(count) + 0.5) * length / count).astype(int)
        for length, count in ((length, max(1, round(share * length))) for length in (height, width))
    )
    return np.asarray(values[np.ix_(rows, columns)])


def _palette_png(index: UInt8Array, palette: UInt8Array) -> bytes:
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(index))
    picture = picture.convert("P") if picture.mode != "P" else picture
    picture.putpalette(palette.tobytes())
    stream = io.BytesIO()
    picture.save(stream, "PNG", optimize=False, compress_level=9)
    return stream.getvalue()
