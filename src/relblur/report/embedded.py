"""Maps inside pages and notebooks: small pictures, colour bars, histograms, legends, and the values of the pixels.

The values are embedded as integer codes. A layer is quantised to 16 bits over its range, linearly. Distances are
quantised logarithmically, so a single far pixel does not reduce the precision of the others. Standard errors have 8
bits on a logarithmic scale, in steps of a few percent. Code 0 means no value. High and low bytes are stored
separately, and all layers are deflated together. ``page.js`` decodes them.
"""

from __future__ import annotations

import base64
import io
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..base._typing import AnyArray, UInt8Array
from ..base.shown import percentages
from ..plot.colours import NO_ANSWER, ColourScale, MapView, flag_colours, flag_shares, photo, rgb
from .html import Html, element, join

__all__ = [
    "Layer",
    "ReadOut",
    "colour_bar",
    "flag_legend",
    "flag_png",
    "histogram",
    "map_png",
    "pack",
    "photo_jpeg",
    "view_html",
]

#: Opacities in the palette of a map, and the number of colours for each. The last of 256 colours is "no answer".
FADING, FADING_COLOURS = (1.0, 0.7, 0.4, 0.1), (159, 32, 32, 32)
_NO_ANSWER_INDEX = 255
HISTOGRAM_BINS = 48
#: Largest step between the pixels of a read-out, px in each direction.
MOST_EVERY = 10


def map_png(
    values: AnyArray, scale: ColourScale, most_px: int, most_bytes: int = 10**9, opacity: AnyArray | None = None
) -> bytes:
    """Return a map as a PNG of 256 colours, no side longer than ``most_px``; ``opacity`` fades pixels.

    The picture is reduced until the file has at most ``most_bytes``.
    """
    shares, counts = (np.array(FADING), np.array(FADING_COLOURS))
    if opacity is None:
        shares, counts = shares[:1], np.array([_NO_ANSWER_INDEX])
    starts = np.cumsum(counts) - counts
    grey = np.array(rgb(NO_ANSWER), np.float64)
    palette = np.tile(grey, (256, 1))
    for start, count, share in zip(starts, counts, shares, strict=True):
        colours = scale.colours[np.linspace(0, 255, count).round().astype(int)]
        palette[start : start + count] = grey + share * (colours - grey)
    while True:
        small = _subsampled(values, most_px)
        known = np.isfinite(small)
        faded: Any = 0
        if opacity is not None:
            faded = np.abs(_subsampled(opacity, most_px)[:, :, None] - shares).argmin(axis=2)
        place = counts[faded] * scale.place(np.where(known, small, scale.low))
        index = starts[faded] + place.clip(0, counts[faded] - 1).astype(np.intp)
        picture = _palette_png(np.where(known, index, _NO_ANSWER_INDEX).astype(np.uint8), np.rint(palette))
        if len(picture) <= most_bytes or most_px <= 16:
            return picture
        most_px = most_px * 4 // 5


def flag_png(flags: AnyArray, most_px: int) -> bytes:
    """Return flags as a PNG with one colour for each flag."""
    palette = flag_colours(np.arange(256, dtype=np.uint8)[None])[0]
    return _palette_png(_subsampled(flags, most_px), palette)


def photo_jpeg(image: AnyArray, most_px: int, quality: int = 82) -> bytes:
    """Return a photograph in display values as a JPEG with no side longer than ``most_px``."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    picture.thumbnail((most_px, most_px))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def view_html(view: MapView) -> Html:
    """Return the histogram and the colour bar of a map."""
    unit = view.unit + (", positive: second is blurrier" if view.kind == "sigma" else "")
    faded = element("div", "faded: filled pixels, by their standard error", class_="unit")
    faded = faded if view.opacity is not None else Html()
    return join(histogram(view.values, view.scale, view.name), colour_bar(view.scale, unit), faded)


def colour_bar(scale: ColourScale, unit: str) -> Html:
    """Return a colour bar with ticks, as wide as its container."""
    stops = scale.colours[np.linspace(0, 255, 17).astype(int)]
    colours = ",".join(f"#{r:02x}{g:02x}{b:02x}" for r, g, b in stops)
    ticks = [_tick(100 * float(scale.place(np.asarray(value))), text) for value, text in scale.ticks(5)]
    return element(
        "div",
        element("div", style=f"background:linear-gradient(to right,{colours})"),
        element("div", *ticks, class_="ticks"),
        element("div", unit, class_="unit"),
        class_="bar",
    )


def _tick(percent: float, text: str) -> Html:
    """Return the label of a tick; near an end it is shifted to stay within the bar."""
    shift = ";transform:none" if percent < 5 else ";transform:translateX(-100%)" if percent > 95 else ""
    return element("span", text, style=f"left:{percent:.2f}%{shift}")


def histogram(values: AnyArray, scale: ColourScale, name: str) -> Html:
    """Return a histogram over the colour scale; the outermost bars include all values outside the scale."""
    known = values[np.isfinite(values)]
    counts, _ = np.histogram(scale.place(known).clip(0, 1), HISTOGRAM_BINS, (0, 1))
    heights = 40 * counts / max(int(counts.max()), 1)
    bars = [
        element("rect", x=k, y=f"{40 - height:.1f}", width=0.9, height=f"{height:.1f}")
        for k, height in enumerate(heights)
        if height
    ]
    label, box = f"histogram of {name}", f"0 0 {HISTOGRAM_BINS} 40"
    return element("svg", *bars, class_="hist", viewBox=box, preserveAspectRatio="none", role="img", aria_label=label)


def flag_legend(flags: AnyArray) -> Html:
    """Return the legend of the flags that occur: colour, name, share of pixels."""
    shown = flag_shares(flags)
    shares = percentages([share for _, _, share in shown])
    items = [
        element("li", element("i", style=f"background:{colour}"), join(name, " ", share))
        for (name, colour, _), share in zip(shown, shares, strict=True)
    ]
    return element("ul", *items, class_="flags")


def _subsampled(values: AnyArray, most_px: int) -> AnyArray:
    """Return a map subsampled so that no side is longer than ``most_px``; a smaller map is returned unchanged."""
    share = min(1.0, most_px / max(values.shape))
    places = (
        ((np.arange(count) + 0.5) * length / count).astype(int)
        for length, count in ((length, max(1, round(share * length))) for length in values.shape)
    )
    return np.asarray(values[np.ix_(*places)])


def _palette_png(index: UInt8Array, palette: AnyArray) -> bytes:
    from PIL import Image

    picture = Image.fromarray(np.ascontiguousarray(index))
    picture = picture.convert("P") if picture.mode != "P" else picture
    picture.putpalette(palette.astype(np.uint8).tobytes())
    stream = io.BytesIO()
    picture.save(stream, "PNG", optimize=False, compress_level=9)
    return stream.getvalue()


@dataclass(frozen=True)
class Layer:
    """One quantity of a read-out: values, name, unit, and the coding of its numbers."""

    name: str
    unit: str
    values: AnyArray
    coding: Literal["linear", "ratio", "log", "flags"] = "linear"  #: "ratio": log with 16 bits, "log": with 8
    signed: bool = False


@dataclass(frozen=True)
class ReadOut:
    """The values of the pixels that a page contains."""

    layers: Sequence[Layer]
    flag_names: Sequence[str] = ()


def pack(read_out: ReadOut, most_bytes: int) -> dict[str, Any] | None:
    """Return a read-out as plain values for JSON, with the smallest step between pixels that fits ``most_bytes``.

    The step is 1 to 10 px in both directions. None if even 10 px do not fit.
    """
    height, width = read_out.layers[0].values.shape
    for every in range(1, MOST_EVERY + 1):
        described, planes = [], []
        for layer in read_out.layers:
            about, codes = _coded(layer, layer.values[::every, ::every])
            described.append({"name": layer.name, "unit": layer.unit, "signed": layer.signed, **about})
            planes += [codes & 255] if about["bytes"] == 1 else [codes >> 8, codes & 255]
        raw = np.stack(planes).astype(np.uint8).tobytes()
        data = base64.b64encode(zlib.compress(raw, 6)).decode("ascii")
        if len(data) <= most_bytes:
            size = {"height": int(height), "width": int(width), "every": every}
            return {**size, "flags": list(read_out.flag_names), "layers": described, "data": data}
    return None


def _coded(layer: Layer, values: AnyArray) -> tuple[dict[str, Any], AnyArray]:
    """Return the decoding of a layer (value = offset + scale * code, or its exponential), and the codes."""
    if layer.coding == "flags":
        return {"coding": "flags", "bytes": 1}, values.astype(np.uint16)
    known = np.isfinite(values)
    numbers = np.where(known, values, 0.0).astype(np.float64)
    top = 255 if layer.coding == "log" else 65535
    if layer.coding != "linear":
        positive = numbers[known & (numbers > 0)]
        numbers = np.log(np.maximum(numbers, float(positive.min()) if positive.size else 1.0))
    low, high = (float(numbers[known].min()), float(numbers[known].max())) if known.any() else (0.0, 1.0)
    scale = (high - low) / (top - 1)
    if layer.coding == "linear" and scale > 0:  # keep four to five digits: coarser steps compress better
        scale = max(scale, 10.0 ** (math.floor(math.log10(max(abs(low), abs(high)))) - 4))
    scale = scale or 1.0
    codes = np.where(known, np.rint((numbers - low) / scale).clip(0, top - 1) + 1, 0).astype(np.uint16)
    about = {"coding": layer.coding, "bytes": 2 if top > 255 else 1, "offset": low - scale, "scale": scale}
    return about, codes
