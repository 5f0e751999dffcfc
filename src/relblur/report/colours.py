"""Maps to colours: which scale suits which kind of map, and the numbers beside its colour bar."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from ..base._typing import AnyArray, FloatArray, UInt8Array
from ..base.pixels import unit_float
from ..blur.blur_map import Flag, has_flag
from ..photo.tone_curves import encode_srgb

__all__ = ["ColourScale", "Kind", "flag_colours", "flag_shares", "photo", "scale_for", "tick_labels", "to_look_at"]

Kind = Literal["photo", "sigma", "stderr", "side", "flags", "error", "count", "grey", "level", "depth", "points"]

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

#: ColorBrewer's diverging scales, from the low to the high end; the other names are OpenCV's.
_DIVERGING = {
    "blue_red": "053061 2166ac 4393c3 92c5de d1e5f0 f7f7f7 fddbc7 f4a582 d6604d b2182b 67001f",
    "pink_green": "8e0152 c51b7d de77ae f1b6da fde0ef f7f7f7 e6f5d0 b8e186 7fbc41 4d9221 276419",
}


@dataclass(frozen=True)
class ColourScale:
    """256 colours between two values."""

    low: float
    high: float
    name: str

    @property
    def colours(self) -> UInt8Array:
        """The colours as (256, 3) RGB, from the low end to the high one."""
        return _colours(self.name)

    def apply(self, values: AnyArray) -> UInt8Array:
        """Return a map as an (H, W, 3) picture, grey where it has no answer."""
        known = np.isfinite(values)
        share = (np.where(known, values, self.low) - self.low) * (256 / (self.high - self.low))
        picture = self.colours[share.clip(0, 255).astype(np.uint8)]
        picture[~known] = rgb(NO_ANSWER)
        return picture


def scale_for(image: AnyArray, kind: Kind, limit: float | None = None) -> ColourScale:
    """Return the colours for a map of this kind, up to ``limit`` or nearly all of its values."""
    known = image[np.isfinite(image)]
    # The last percent belongs to outliers; they should not flatten the rest.
    top = limit or (float(np.percentile(np.abs(known), 99)) if known.size else 1.0) or 1e-6
    if kind == "side":
        return ColourScale(-1.0, 1.0, "pink_green")
    if kind in ("depth", "level"):  # zero means nothing to them
        low, high = np.percentile(known, (1, 99)) if known.size else (0.0, 1.0)
        name = "viridis_backwards" if kind == "depth" else "cividis"
        return ColourScale(float(low), max(float(high), float(low) + 1e-6), name)
    if kind == "sigma":
        signed = bool(known.size) and float(np.percentile(known, 1)) < -0.02 * top < 0
        return ColourScale(-top, top, "blue_red") if signed else ColourScale(0.0, top, "viridis")
    names = {"grey": "grey", "stderr": "magma", "error": "inferno", "count": "cividis"}
    return ColourScale(0.0, top, names[kind])


@lru_cache
def _colours(name: str) -> UInt8Array:
    places = np.arange(256)
    if name == "grey":
        return np.repeat(places[:, None], 3, axis=1).astype(np.uint8)
    if name in _DIVERGING:
        knots = np.array([rgb(colour) for colour in _DIVERGING[name].split()])
        at = np.linspace(0, 255, len(knots))
        return np.rint(np.stack([np.interp(places, at, knots[:, c]) for c in range(3)], axis=1)).astype(np.uint8)
    import cv2

    numbers = {
        "viridis": cv2.COLORMAP_VIRIDIS,
        "magma": cv2.COLORMAP_MAGMA,
        "inferno": cv2.COLORMAP_INFERNO,
        "cividis": cv2.COLORMAP_CIVIDIS,
    }
    blue_first = cv2.applyColorMap(places.astype(np.uint8)[:, None], numbers[name.removesuffix("_backwards")])[:, 0]
    return np.ascontiguousarray(blue_first[:: -1 if name.endswith("_backwards") else 1, ::-1], dtype=np.uint8)


def tick_labels(low: float, high: float, most: int) -> list[tuple[float, str]]:
    """Return round values between two others, at most about ``most`` of them, as they are to be written.

    None where there is nothing between them that a number could tell apart from its neighbours.
    """
    rough = high / max(most, 1) - low / max(most, 1)
    if not max(1e-12 * max(abs(low), abs(high)), 1e-290) < rough < math.inf:
        return []
    power = math.floor(math.log10(rough))
    step = next((m * 10.0**power for m in (1, 2, 2.5, 5) if m * 10.0**power >= rough * (1 - 1e-9)), 10.0 ** (power + 1))
    values = [step * n for n in range(math.ceil(low / step - 1e-6), math.floor(high / step + 1e-6) + 1)]
    if not 1e-4 <= step < 1e6:
        return [(value, f"{value:.3g}") for value in values]
    decimals = next(d for d in range(9) if abs(round(step, d) - step) < 1e-6 * step)
    return [(value, f"{value:.{decimals}f}") for value in values]


def photo(image: AnyArray) -> FloatArray:
    """Scale an image of any type for display, 0..1."""
    shown = unit_float(np.asarray(image))
    if np.issubdtype(np.asarray(image).dtype, np.integer):
        return shown
    finite = shown[np.isfinite(shown)]
    top = max(1.0, float(finite.max())) if finite.size else 1.0
    return np.nan_to_num(shown / top).clip(0, 1)


def to_look_at(image: AnyArray, is_light: bool) -> AnyArray:
    """Return light as a screen expects it; stored values as they are."""
    if not is_light:
        return image
    finite = np.nan_to_num(image)
    return encode_srgb(finite / max(1.0, float(np.percentile(finite, 99.5))))


def flag_colours(flags: AnyArray) -> UInt8Array:
    """Return flags as an (H, W, 3) picture, one colour a flag; the later of two flags shows."""
    table = np.empty((256, 3), dtype=np.uint8)
    table[:] = rgb(FLAG_COLOURS["ok"])
    values = np.arange(256, dtype=np.uint8)
    for flag in Flag:
        table[has_flag(values, flag)] = rgb(FLAG_COLOURS[_flag_name(flag)])
    return np.asarray(table[flags])


def flag_shares(flags: AnyArray) -> list[tuple[str, str, float]]:
    """Return (name, colour, share of pixels) of no flag and of every flag that occurs."""
    counts = np.bincount(flags.ravel(), minlength=256)
    values = np.arange(256)
    shares = [("no flag", FLAG_COLOURS["ok"], counts[0] / flags.size)]
    for flag in Flag:
        name = _flag_name(flag)
        shares.append((name, FLAG_COLOURS[name], counts[(values & int(flag)) != 0].sum() / flags.size))
    return [(name, colour, float(share)) for name, colour, share in shares if share > 0]


def _flag_name(flag: Flag) -> str:
    return str(flag.name).lower().replace("_", " ")


def rgb(colour: str) -> tuple[int, int, int]:
    """Return the three numbers of a colour written as six hexadecimal digits."""
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
