"""Colours of maps (scales, ticks of colour bars, fading, flags), and photographs for display."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..base.pixels import unit_float
from ..base.tone import encode_srgb
from ..blur.blur_map import Flag, flag_name, has_flag
from ..blur.blur_map import flag_shares as shares_of_flags
from ..blur.comparable_pair import ComparablePair
from ..blur.result import MapResult

__all__ = [
    "ColourScale",
    "Kind",
    "MapView",
    "flag_colours",
    "flag_shares",
    "look_of",
    "photo",
    "scale_for",
    "tick_labels",
    "to_look_at",
    "white_of",
]

#: Kinds of maps. "sigma" is signed and has a symmetric scale; "blur" is not negative.
Kind = Literal["photo", "sigma", "blur", "stderr", "flags", "error", "count", "level", "depth"]

NO_ANSWER = "#9a9a9a"
FLAG_COLOURS = {
    "ok": "#f2f2f2",
    "invalid": "#7a0177",
    "clipped": "#e7298a",
    "flat": "#6baed6",
    "equal": "#bdbdbd",
    "no root": "#fd8d3c",
    "at limit": "#d7301f",
    "filled": "#74c476",
    "out of range": "#54278f",
}

#: Knots of scales from the low to the high end (ColorBrewer's RdBu; black to white). The other scales are OpenCV's.
_KNOTS = {
    "blue_red": "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f",
    "grey": "000000 ffffff",
}

#: Stretch images with a maximum of at most this (fraction of the full scale): up to 14 bits in 16-bit files.
DIM = 0.25
#: Percentile of an image with values above 1 that is displayed as white.
BRIGHT = 99.5
#: Percentage of the values beyond each end of a scale, so that outliers do not compress it.
OUTLIERS = 1
#: Minimum number of ticks beside a colour bar.
LEAST_TICKS = 3
#: Standard error (fraction of the colour scale) at which the opacity of a filled pixel is 0.5.
HALF_FADED = 0.1
#: Maximum ratio of the ends of a logarithmic scale: standard errors of uninformative pixels are unbounded.
WIDEST = 1e4
#: Scale depths and frames by the unflagged pixels alone if they are more than this fraction of the pixels with a value.
ENOUGH_UNFLAGGED = 0.05


@dataclass(frozen=True)
class ColourScale:
    """A scale of 256 colours between two values, linear or logarithmic."""

    low: float
    high: float
    name: str
    logarithmic: bool = False

    @property
    def colours(self) -> UInt8Array:
        """The colours as (256, 3) RGB, from the low end to the high one."""
        return _colours(self.name)

    def apply(self, values: AnyArray, opacity: AnyArray | None = None) -> UInt8Array:
        """Return a map as an (H, W, 3) picture; pixels without a value are grey, ``opacity`` < 1 fades to grey."""
        known = np.isfinite(values)
        share = 256 * self.place(np.where(known, values, self.low))
        picture = self.colours[share.clip(0, 255).astype(np.uint8)]
        if opacity is not None:
            grey = np.array(rgb(NO_ANSWER), np.float32)
            picture = np.rint(grey + opacity[:, :, None] * (picture - grey)).astype(np.uint8)
        picture[~known] = rgb(NO_ANSWER)
        return picture

    def place(self, values: AnyArray) -> FloatArray:
        """Return the positions of values on the scale: 0 at its low end, 1 at the high one."""
        if self.logarithmic:
            ratio = np.log(np.maximum(values, 1e-12 * self.high) / self.low)
            return np.asarray(ratio / math.log(self.high / self.low))
        return np.asarray((values - self.low) / (self.high - self.low))

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """Return about ``most`` ticks, at least three if the ends differ enough, as (value, text)."""
        most = max(most, LEAST_TICKS)
        candidates = [tick_labels(self.low, self.high, count) for count in range(most, most + 8)]
        if self.logarithmic and self.high >= 3 * self.low:
            decades = 10.0 ** np.arange(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            sets = (
                np.outer(decades, digits).ravel() for digits in ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 5), (1, 3), (1,))
            )
            inside = [values[(values >= self.low * 0.999) & (values <= self.high * 1.001)] for values in sets]
            enough = [values for values in inside if len(values) >= LEAST_TICKS]
            chosen = next((values for values in enough if len(values) <= most), enough[-1] if enough else inside[-1])
            candidates.insert(0, [(float(value), f"{value:g}") for value in chosen])
        return next((ticks for ticks in candidates if len(ticks) >= LEAST_TICKS), candidates[0])


@dataclass(frozen=True, eq=False)
class MapView:
    """The quantity of a result to display (depth, height, frame or relative blur), with its colour scale."""

    name: str
    unit: str
    kind: Kind
    values: AnyArray
    stderr: AnyArray
    flags: UInt8Array
    scale: ColourScale

    @classmethod
    def of(cls, result: MapResult, limit: float | None = None) -> MapView:
        """Return the view of a result; its scale ends at ``limit``, by default near the largest value."""
        name, unit, values, stderr = result.best
        kinds: dict[str, Kind] = {"m": "depth", "px": "sigma"}
        kind, name = kinds.get(unit, "level"), "relative blur" if unit == "px" else name
        known = np.isfinite(values)
        unflagged = known & (result.flags == 0)
        by_unflagged = kind != "sigma" and unflagged.sum() > ENOUGH_UNFLAGGED * known.sum()
        scale = scale_for(values[unflagged] if by_unflagged else values, kind, limit)
        return cls(name, unit, kind, values, stderr, result.flags, scale)

    @property
    def label(self) -> str:
        """Name, unit and the meaning of the sign."""
        return f"{self.name} ({self.unit}){', positive: second is blurrier' if self.kind == 'sigma' else ''}"

    @property
    def opacity(self) -> AnyArray | None:
        """Opacity of each pixel: 1, or less for filled pixels with a large standard error; None if none is filled.

        It is ``1 / (1 + (e / HALF_FADED)^2)``, where ``e`` is the standard error as a fraction of the scale.
        """
        filled = has_flag(self.flags, Flag.FILLED) & np.isfinite(self.values)
        if not filled.any():
            return None
        with np.errstate(invalid="ignore"):
            low, high = (self.scale.place(self.values + sign * self.stderr) for sign in (-1, 1))
            error = np.nan_to_num(np.abs(high - low) / 2, nan=np.inf, posinf=np.inf)
        return np.asarray(np.where(filled, 1 / (1 + np.square(error / HALF_FADED)), 1.0), np.float32)

    def thinned(self, side_px: int) -> MapView:
        """Return every n-th pixel in both directions, so that no side is longer than ``side_px``."""
        step = -(-max(self.values.shape) // side_px)
        start = min(step // 2, min(self.values.shape) - 1)
        few = {name: getattr(self, name)[start::step, start::step].copy() for name in ("values", "stderr", "flags")}
        return replace(self, **few)


def scale_for(image: AnyArray, kind: Kind, limit: float | None = None) -> ColourScale:
    """Return the colour scale for a map of this kind, up to ``limit`` or the 99th percentile of its values.

    Colours and type of the scale depend only on the kind, so maps of different pairs are comparable.
    """
    known = image[np.isfinite(image)]
    low, high = np.percentile(known, (OUTLIERS, 100 - OUTLIERS)) if known.size else (0.1, 1.0)
    if kind in ("depth", "stderr"):  # logarithmic, because distances and errors are compared by ratios
        high = max(float(limit or high), 1e-12)
        low = min(max(float(low), high / WIDEST), high / 1.02)
        return ColourScale(low, high, "viridis_backwards" if kind == "depth" else "magma", True)
    if kind == "level":
        return ColourScale(float(low), max(float(limit or high), float(low) + 1e-6), "viridis")
    top = limit or (float(np.percentile(np.abs(known), 100 - OUTLIERS)) if known.size else 1.0) or 1e-6
    names = {"sigma": "blue_red", "error": "inferno", "count": "cividis", "blur": "viridis"}
    return ColourScale(-top if kind == "sigma" else 0.0, top, names[kind])


@lru_cache
def _colours(name: str) -> UInt8Array:
    places = np.arange(256)
    if name in _KNOTS:
        knots = np.array([rgb(colour) for colour in _KNOTS[name].split()])
        at = np.linspace(0, 255, len(knots))
        return np.rint(np.stack([np.interp(places, at, channel) for channel in knots.T], axis=1)).astype(np.uint8)
    import cv2

    table, backwards, _ = name.partition("_backwards")
    number = getattr(cv2, f"COLORMAP_{table.upper()}")
    blue_first = cv2.applyColorMap(places.astype(np.uint8)[:, None], number)[:, 0]
    return np.ascontiguousarray(blue_first[:: -1 if backwards else 1, ::-1], dtype=np.uint8)


def tick_labels(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return about ``most`` round values between ``low`` and ``high``, as (value, text).

    The list is empty if the two ends are too close for distinct numbers.
    """
    rough = high / max(most, 1) - low / max(most, 1)
    if not max(1e-12 * max(abs(low), abs(high)), 1e-290) < rough < math.inf:
        return []
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m == 10 or m * power >= rough * (1 - 1e-9))
    values = [step * n for n in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)]
    if not 1e-4 <= step < 1e6:
        return [(value, f"{value:.3g}") for value in values]
    decimals = next(d for d in range(9) if abs(round(step, d) - step) < 1e-6 * step)
    return [(value, f"{value:.{decimals}f}") for value in values]


def photo(image: AnyArray) -> FloatArray:
    """Scale an image of any type for display, 0..1."""
    return to_look_at(np.asarray(image), False)


def white_of(*images: AnyArray) -> float:
    """Return the value to display as white in these images; integers are scaled to 0..1.

    It is 1, or more if many pixels are brighter. For dim images, such as 12 bits stored in 16, it is their maximum.
    """
    values = [unit_float(np.asarray(image), np.float32) for image in images]
    finite = [each[np.isfinite(each)] for each in values]
    top = max((float(each.max()) for each in finite if each.size), default=1.0)
    if 0 < top <= DIM and all(np.asarray(image).dtype != np.uint8 for image in images):
        return top
    return max(1.0, *(float(np.percentile(each, BRIGHT)) for each in finite if each.size)) if top > 1 else 1.0


def to_look_at(image: AnyArray, is_light: bool, white: float | None = None) -> AnyArray:
    """Return an image of light or of stored values for display, 0..1, where ``white`` becomes 1."""
    values = unit_float(np.asarray(image), np.float64 if np.asarray(image).dtype == np.float64 else np.float32)
    shown = np.nan_to_num(values / (white_of(image) if white is None else white)).clip(0, 1)
    return encode_srgb(shown) if is_light else shown


def look_of(pair: ComparablePair) -> Callable[[AnyArray], AnyArray]:
    """Return a function that prepares images of a pair for display, on a common scale."""
    white = white_of(pair.first, pair.second)
    return lambda image: to_look_at(image, pair.is_light, white)


def flag_colours(flags: AnyArray) -> UInt8Array:
    """Return flags as an (H, W, 3) picture; a pixel with several flags has the colour of the last."""
    table = np.empty((256, 3), dtype=np.uint8)
    table[:] = rgb(FLAG_COLOURS["ok"])
    values = np.arange(256, dtype=np.uint8)
    for flag in Flag:
        table[has_flag(values, flag)] = rgb(FLAG_COLOURS[flag_name(flag)])
    return np.asarray(table[flags])


def flag_shares(flags: AnyArray) -> list[tuple[str, str, float]]:
    """Return (name, colour, share of pixels) of unflagged pixels and of each flag, as in :func:`flag_colours`."""
    colours = {**FLAG_COLOURS, "no flag": FLAG_COLOURS["ok"]}
    return [(name, colours[name], share) for name, share in shares_of_flags(flags).items()]


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour of six hexadecimal digits."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
