"""Maps inside pages and notebooks: small pictures, colour bars, histograms, legends, and the values of the pixels."""

from __future__ import annotations

import base64
import io
import math
import zlib
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.shown import percentages
from ..blur.result import Flag, flag_name
from ..plot.colours import ColourScale, MapView, flag_colours, flag_shares, photo
from .html import Html, element, join

__all__ = ["colour_bar", "flag_legend", "flag_webp", "map_webp", "pack", "photo_jpeg", "view_html"]

HISTOGRAM_BINS = 48
#: Bits of the mantissa of embedded values and standard errors: relative steps of 0.02 and 3 %.
VALUE_BITS, STDERR_BITS = 12, 5
_FLOAT32_MANTISSA = 23


def map_webp(
    values: AnyArray, scale: ColourScale, most_px: int, most_bytes: int, opacity: AnyArray | None = None
) -> bytes:
    """Return a map as a lossless WebP; ``opacity`` fades pixels.

    No side is longer than ``most_px``. The picture is reduced until the file has at most ``most_bytes``.
    """
    while True:
        # Tenths of the opacity: fewer colours make a smaller file.
        faded = None if opacity is None else np.round(_subsampled(opacity, most_px), 1)
        picture = _webp(scale.apply(_subsampled(values, most_px), faded))
        if len(picture) <= most_bytes or most_px <= 16:
            return picture
        most_px = most_px * 4 // 5


def flag_webp(flags: AnyArray, most_px: int) -> bytes:
    """Return flags as a lossless WebP with one colour for each flag."""
    return _webp(flag_colours(_subsampled(flags, most_px)))


def _webp(picture: AnyArray) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "WEBP", lossless=True, method=2, quality=30)
    return stream.getvalue()


def _subsampled(values: AnyArray, most_px: int) -> AnyArray:
    """Return a map with no side longer than ``most_px``; a smaller map is returned unchanged."""
    share = min(1.0, most_px / max(values.shape))
    places = (
        ((np.arange(count) + 0.5) * length / count).astype(int)
        for length, count in ((length, max(1, round(share * length))) for length in values.shape)
    )
    return np.asarray(values[np.ix_(*places)])


def photo_jpeg(image: AnyArray, most_px: int) -> bytes:
    """Return a photograph in display values as a JPEG with no side longer than ``most_px``."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    picture.thumbnail((most_px, most_px))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=82)
    return stream.getvalue()


def view_html(view: MapView) -> Html:
    """Return the histogram and the colour bar of a map."""
    unit = view.unit + (", positive: second is blurrier" if view.kind == "sigma" else "")
    faded = "" if view.opacity is None else element("div", "faded: filled, by standard error", class_="unit")
    return join(_histogram(view), colour_bar(view.scale, unit), faded)


def colour_bar(scale: ColourScale, unit: str) -> Html:
    """Return a colour bar with ticks, as wide as its container."""
    stops = scale.colours[np.linspace(0, 255, 17).astype(int)]
    colours = ",".join(f"#{bytes(stop).hex()}" for stop in stops)
    bar = element("div", style=f"background:linear-gradient(to right,{colours})")
    ticks = [_tick(100 * float(scale.place(np.asarray(value))), text) for value, text in scale.ticks(5)]
    return element(
        "div", bar, element("div", *ticks, class_="ticks"), element("div", unit, class_="unit"), class_="bar"
    )


def _tick(percent: float, text: str) -> Html:
    """Return the label of a tick; near an end it is shifted to stay within the bar."""
    shift = ";transform:none" if percent < 5 else ";transform:translateX(-100%)" if percent > 95 else ""
    return element("span", text, style=f"left:{percent:.2f}%{shift}")


def _histogram(view: MapView) -> Html:
    """Return a histogram over the colour scale; the outermost bars include all values outside the scale."""
    known = view.values[np.isfinite(view.values)]
    counts, _ = np.histogram(view.scale.place(known).clip(0, 1), HISTOGRAM_BINS, (0, 1))
    heights = 40 * counts / max(int(counts.max()), 1)
    bars = [
        element("rect", x=k, y=f"{40 - height:.1f}", width=0.9, height=f"{height:.1f}")
        for k, height in enumerate(heights)
    ]
    size = {"viewBox": f"0 0 {HISTOGRAM_BINS} 40", "preserveAspectRatio": "none"}
    return element("svg", *bars, class_="hist", **size, role="img", aria_label=f"histogram of {view.name}")


def flag_legend(flags: AnyArray) -> Html:
    """Return the legend of the flags that occur: colour, name, share of pixels."""
    shown = flag_shares(flags)
    shares = percentages([share for _, _, share in shown])
    items = [
        element("li", element("i", style=f"background:{colour}"), f"{name} {share}")
        for (name, colour, _), share in zip(shown, shares, strict=True)
    ]
    return element("ul", *items, class_="flags")


def pack(view: MapView, most_bytes: int) -> dict[str, Any]:
    """Return values, standard errors and flags of a map for ``page.js``, as plain values for JSON.

    Every n-th pixel in both directions is taken, with the smallest n for which the data fit ``most_bytes``.
    """
    every = 1
    while True:
        values, stderr, flags = (each[::every, ::every] for each in (view.values, view.stderr, view.flags))
        planes = (*_float_planes(values, VALUE_BITS), *_float_planes(stderr, STDERR_BITS), flags.astype(np.uint8))
        data = base64.b64encode(zlib.compress(b"".join(plane.tobytes() for plane in planes), 6)).decode("ascii")
        if len(data) <= most_bytes or every >= max(view.values.shape):
            break
        every = math.ceil(every * math.sqrt(len(data) / most_bytes))
    height, width = view.values.shape
    about = {"name": view.name, "unit": view.unit, "signed": view.kind == "sigma", "flags": list(map(flag_name, Flag))}
    return {"height": height, "width": width, "every": every, **about, "data": data}


def _float_planes(values: AnyArray, mantissa_bits: int) -> AnyArray:
    """Return the four bytes of float32 values as planes, lowest first; a shorter mantissa compresses better."""
    dropped = _FLOAT32_MANTISSA - mantissa_bits
    bits = np.ascontiguousarray(values, "<f4").view("<u4")
    rounded = (bits + (1 << (dropped - 1))) >> dropped << dropped
    return rounded.view(np.uint8).reshape(-1, 4).T
