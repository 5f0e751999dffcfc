"""Maps in pages and notebooks: small PNG and JPEG files, colour bars, histograms, legends."""

from __future__ import annotations

import io

import numpy as np

from ..base._typing import AnyArray, UInt8Array
from ..base.shown import percentages
from ..plot.colours import NO_ANSWER, ColourScale, flag_colours, flag_shares, photo, rgb
from .html import Html, element, join

__all__ = ["colour_bar", "flag_legend", "flag_png", "histogram", "map_png", "photo_jpeg"]

#: Index of "no answer" in the palette of a map's picture; the values have 255 colours.
_NO_ANSWER_INDEX = 255

#: Opacities to which pixels of a map fade; each takes its share of the 255 colours.
FADING = (1.0, 0.7, 0.4, 0.1)

HISTOGRAM_BINS = 48


def map_png(
    values: AnyArray, scale: ColourScale, most_px: int, most_bytes: int = 10**9, opacity: AnyArray | None = None
) -> bytes:
    """Return a map as a PNG of 256 colours, no side longer than ``most_px``, faded by ``opacity``.

    A noisy map is made smaller until it fits into ``most_bytes``.
    """
    shares = np.array(FADING[:1] if opacity is None else FADING)
    count = _NO_ANSWER_INDEX // len(shares)
    colours = scale.colours[np.linspace(0, 255, count).round().astype(int)].astype(np.float64)
    grey = np.array(rgb(NO_ANSWER), np.float64)
    palette = np.tile(grey, (256, 1))
    for level, share in enumerate(shares):
        palette[level * count : (level + 1) * count] = grey + share * (colours - grey)
    while True:
        small = _of_size(values, most_px)
        known = np.isfinite(small)
        index = (count * scale.place(np.where(known, small, scale.low))).clip(0, count - 1).astype(np.intp)
        if opacity is not None:
            index += count * np.abs(_of_size(opacity, most_px)[:, :, None] - shares).argmin(axis=2)
        picture = _palette_png(np.where(known, index, _NO_ANSWER_INDEX).astype(np.uint8), np.rint(palette))
        if len(picture) <= most_bytes or most_px <= 16:
            return picture
        most_px = most_px * 4 // 5


def flag_png(flags: AnyArray, most_px: int) -> bytes:
    """Return flags as a PNG, one colour a flag."""
    palette = flag_colours(np.arange(256, dtype=np.uint8)[None])[0]
    return _palette_png(_of_size(flags, most_px), palette)


def photo_jpeg(image: AnyArray, most_px: int, quality: int = 82) -> bytes:
    """Return a photograph, as a screen expects its values, as a JPEG with no side longer than ``most_px``."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    picture.thumbnail((most_px, most_px))
    stream = io.BytesIO()
    picture.save(stream, "JPEG", quality=quality)
    return stream.getvalue()


def colour_bar(scale: ColourScale, unit: str) -> Html:
    """Return a colour bar with ticks, as wide as its place."""
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
    """Return a number below its place; near an end it stays within the bar."""
    shift = ";transform:none" if percent < 5 else ";transform:translateX(-100%)" if percent > 95 else ""
    return element("span", text, style=f"left:{percent:.2f}%{shift}")


def histogram(values: AnyArray, scale: ColourScale, name: str) -> Html:
    """Return the frequency of values over the colour scale; the outermost bars hold all beyond it."""
    known = values[np.isfinite(values)]
    counts, _ = np.histogram(scale.place(known).clip(0, 1), HISTOGRAM_BINS, (0, 1))
    heights = 40 * counts / max(int(counts.max()), 1)
    bars = [
        element("rect", x=k, y=f"{40 - height:.1f}", width=0.9, height=f"{height:.1f}")
        for k, height in enumerate(heights)
        if height
    ]
    label, box = f"how often each value of {name} occurs", f"0 0 {HISTOGRAM_BINS} 40"
    return element("svg", *bars, class_="hist", viewBox=box, preserveAspectRatio="none", role="img", aria_label=label)


def flag_legend(flags: AnyArray) -> Html:
    """Return the colours of the flags that occur, and their shares."""
    shown = flag_shares(flags)
    shares = percentages([share for _, _, share in shown])
    items = [
        element("li", element("i", style=f"background:{colour}"), join(name, " ", share))
        for (name, colour, _), share in zip(shown, shares, strict=True)
    ]
    return element("ul", *items, class_="flags")


def _of_size(values: AnyArray, most_px: int) -> AnyArray:
    """Return every so many pixels of a map, so that no side is longer; a small one stays as it is."""
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
