"""Pictures and maps for the page: bytes, titles, units, colours and limits.

The page derives sigma and its standard error (px) from ``s`` and its standard error, so only these are sent.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...base._typing import AnyArray, FloatArray, UInt8Array
from ...base.errors import InputError
from ...base.settings import WINDOW_WINDOW
from ...blur.blur_map import BlurMap, Flag, has_flag
from ...blur.result import flag_name
from ...depth.depth_map import DepthMap
from ...plot.colours import FLAG_COLOURS, ColourScale, Kind, MapView, flag_colours, scale_for
from ...stacks.stack_map import StackMap

__all__ = [
    "OPACITY",
    "Plane",
    "Quantity",
    "colour_tables",
    "cut",
    "flag_legend",
    "map_planes",
    "opacity",
    "picture",
    "quantities_of",
    "summary_line",
]

_SCALES = ("blue_red", "viridis", "viridis_backwards", "magma", "cividis", "grey")
#: Factor by which sliders of logarithmic scales extend beyond the limits of the colours.
BEYOND = 30.0
#: Name of the plane of opacities; pages do not list it.
OPACITY = "opacity"
#: Number of pixels from which limits of colours are estimated.
_SAMPLE = 200_000


@dataclass(frozen=True, eq=False)
class Plane:
    """Pixels of a picture or map, and their display."""

    name: str
    title: str
    kind: str  #: "picture", "value", "flags"
    data: AnyArray | None  #: None if the page derives it from ``sources``
    unit: str = ""
    scale: str = ""
    low: float = 0.0
    high: float = 1.0
    least: float = 0.0  #: ends of the sliders
    most: float = 1.0
    signed: bool = False
    ratio: bool = False  #: the colour scale is logarithmic
    sources: tuple[str, ...] = ()
    factor: int = 1  #: pixels of this plane per pixel of the map, on each axis

    def about(self, version: int) -> dict[str, Any]:
        """Return all fields except the pixels, for JSON."""
        about = {name: value for name, value in vars(self).items() if name != "data"}
        shape = (0, 0) if self.data is None else self.data.shape
        return {**about, "version": version, "derived": self.data is None, "width": shape[1], "height": shape[0]}

    def bytes(self, box: tuple[int, int, int, int] | None = None) -> memoryview:
        """Return the pixels, or those of a box (left, top, right, bottom), in row order, little-endian."""
        assert self.data is not None
        part = self.data if box is None else self.data[box[1] : box[3], box[0] : box[2]]
        data = np.ascontiguousarray(part)
        if sys.byteorder == "big" and data.itemsize > 1:
            data = data.byteswap()
        return data.reshape(-1).view(np.uint8).data


def picture(name: str, title: str, data: UInt8Array, factor: int = 1) -> Plane:
    """Return an 8-bit RGB picture."""
    return Plane(name, title, "picture", data, factor=factor)


def cut(blur_map: BlurMap, rows: slice, columns: slice) -> BlurMap:
    """Return part of a map."""
    return BlurMap(
        blur_map.variance_difference[rows, columns],
        blur_map.variance_stderr[rows, columns],
        blur_map.flags[rows, columns],
        blur_map.sharper[rows, columns],
        blur_map.settings,
    )


def map_planes(result: BlurMap | DepthMap | StackMap) -> list[Plane]:
    """Return the planes of a result: its values, their standard errors, its flags."""
    if isinstance(result, BlurMap):
        made = _blur_planes(result)
    elif isinstance(result, DepthMap):
        made = _both("depth", "depth", result.depth_m, result.depth_stderr_m, "depth", "m")
    else:
        made = _both("index", "frame in focus", result.index, result.index_stderr, "level", "frames")
        if result.depth_m is not None and result.depth_stderr_m is not None:
            made += _both("depth", "depth", result.depth_m, result.depth_stderr_m, "depth", "m")
        elif result.height_um is not None and result.height_stderr_um is not None:
            made += _both("height", "height", result.height_um, result.height_stderr_um, "level", "µm")
    return [*made, Plane("flags", "flags", "flags", np.asarray(result.flags, np.uint8))]


def opacity(result: BlurMap | DepthMap | StackMap) -> Plane | None:
    """Return the opacity of each pixel, which decreases with the standard error of filled pixels; None without any."""
    shares = MapView.of(result).opacity
    return None if shares is None else Plane(OPACITY, OPACITY, "flags", np.rint(255 * shares).astype(np.uint8))


def _blur_planes(blur_map: BlurMap) -> list[Plane]:
    step = max(1, int(np.sqrt(blur_map.variance_difference.size / _SAMPLE)))
    sample = cut(blur_map, slice(None, None, step), slice(None, None, step))
    sigma = _value("sigma", "relative blur", sample.sigma, "sigma", "px")
    stderr = _value("stderr", "standard error", sample.sigma_stderr, "stderr", "px")
    return [
        replace(sigma, data=None, sources=("s",)),
        replace(stderr, data=None, sources=("s", "s_stderr")),
        _value("s", "variance difference s", blur_map.variance_difference, "sigma", "px²"),
        _value("s_stderr", "standard error of s", blur_map.variance_stderr, "stderr", "px²"),
    ]


def _both(name: str, title: str, values: FloatArray, stderr: FloatArray, kind: Kind, unit: str) -> list[Plane]:
    error = _value(f"{name}_stderr", f"standard error of {title}", stderr, "stderr", unit)
    return [_value(name, title, values, kind, unit), error]


def _value(name: str, title: str, values: AnyArray, kind: Kind, unit: str) -> Plane:
    """Return a map with its colour scale; the range of the sliders includes all values."""
    data = np.asarray(values, np.float32)
    step = max(1, int(np.sqrt(data.size / _SAMPLE)))
    scale: ColourScale = scale_for(data[::step, ::step], kind)
    known = data[np.isfinite(data)]
    signed = scale.low < 0
    most = float(max(np.abs(known).max() if signed else known.max(), scale.high)) if known.size else scale.high
    least = -most if signed else float(min(scale.low, known.min())) if known.size else scale.low
    if scale.logarithmic:  # zero and infinity have no position on a logarithmic slider
        least, most = max(least, scale.low / BEYOND), min(most, scale.high * BEYOND)
    limits = (scale.low, scale.high, least, most)
    return Plane(name, title, "value", data, unit, scale.name, *limits, signed, scale.logarithmic)


@dataclass(frozen=True)
class Quantity:
    """A map with its standard error, unit and title."""

    values: AnyArray
    stderr: AnyArray
    unit: str
    title: str
    window: int = 1  #: side of the window, px; pixels within it are correlated


def quantities_of(blur_map: BlurMap | None, depth_map: DepthMap | None, stack: StackMap | None) -> dict[str, Quantity]:
    """Return the maps for statistics of boxes and lines."""
    quantities: dict[str, Quantity] = {}
    if stack is not None:
        quantities["index"] = Quantity(stack.index, stack.index_stderr, "frames", "frame in focus")
        quantity, unit, values, stderr = stack.best
        if unit in ("m", "µm"):
            quantities[quantity] = Quantity(values, stderr, unit, quantity)
    if blur_map is not None:
        window = _window(blur_map.settings, 1)
        quantities["sigma"] = Quantity(blur_map.sigma, blur_map.sigma_stderr, "px", "relative blur", window)
        s, stderr = blur_map.variance_difference, blur_map.variance_stderr
        quantities["s"] = Quantity(s, stderr, "px²", "variance difference s", window)
    if depth_map is not None:
        window = _window(depth_map.settings, WINDOW_WINDOW)
        quantities["depth"] = Quantity(depth_map.depth_m, depth_map.depth_stderr_m, "m", "depth", window)
    if not quantities:
        raise InputError("there is no map yet; wait until it is measured")
    return quantities


def _window(settings: Mapping[str, Any], default: int) -> int:
    """Return the window of a map from its settings, or the default without a valid one."""
    value = settings.get("window")
    return value if isinstance(value, int) and 1 <= value < 10_000 else default


def colour_tables() -> dict[str, str]:
    """Return every scale as 256 colours in hexadecimal; ``flags`` has one for each value of the flags."""
    tables = {name: ColourScale(0.0, 1.0, name).colours.tobytes().hex() for name in _SCALES}
    return {**tables, "flags": flag_colours(np.arange(256, dtype=np.uint8)).tobytes().hex()}


def flag_legend(flags: AnyArray | None = None) -> list[dict[str, Any]]:
    """Return bit, name, colour and share of pixels of every flag."""
    counts = np.zeros(256, np.int64) if flags is None else np.bincount(flags.ravel(), minlength=256)
    values = np.arange(256, dtype=np.uint8)
    total = max(1, int(counts.sum()))
    shares = {flag: float(counts[has_flag(values, flag)].sum() / total) for flag in Flag}
    names = {flag: flag_name(flag) for flag in Flag}
    return [
        {"bit": int(flag), "name": name, "colour": FLAG_COLOURS[name], "share": shares[flag]}
        for flag, name in names.items()
    ]


def summary_line(settings: Mapping[str, Any]) -> str:
    """Return method, settings and version of a map in one line."""
    named = {"method": "", "window": "window ", "max_sigma": "σ ≤ ", "prefilter": "prefilter ", "engine": "",
             "decimate": "decimated by ", "psf": "psf "}  # fmt: skip
    parts = []
    for name, before in named.items():
        value = settings.get(name)
        if value is None or (name in ("prefilter", "psf") and not value) or (name == "decimate" and value == 1):
            continue
        parts.append(f"{before}{value:g}" if isinstance(value, float) else f"{before}{value}")
    return " · ".join([*parts, f"relblur {settings.get('relblur', '?')}"])
