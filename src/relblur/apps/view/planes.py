"""What the page draws: pictures and maps as bytes, with titles, units, colours and limits that suit them.

Blur and its standard error in px follow from ``s`` and its own; the page works them out, so that a map travels once.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...base._typing import AnyArray, UInt8Array
from ...blur.blur_map import BlurMap, Flag, has_flag
from ...depth.depth_map import DepthMap
from ...plot.colours import FLAG_COLOURS, ColourScale, flag_colours, scale_for

__all__ = ["Plane", "blur_planes", "colour_tables", "cut", "depth_planes", "flag_legend", "picture"]

_SCALES = ("blue_red", "viridis", "viridis_backwards", "magma", "cividis", "grey")
#: Sliders of colours that go by ratio reach so many times beyond them.
BEYOND = 30.0
#: Limits of colours are looked for in about so many pixels.
_SAMPLE = 200_000


@dataclass(frozen=True, eq=False)
class Plane:
    """Bytes of one picture or map, and how to show them."""

    name: str
    title: str
    kind: str  #: "picture", "value", "flags"
    data: AnyArray | None  #: None: the page derives it from ``sources``
    unit: str = ""
    scale: str = ""
    low: float = 0.0
    high: float = 1.0
    least: float = 0.0  #: ends of the sliders
    most: float = 1.0
    signed: bool = False
    ratio: bool = False  #: colours go by ratio
    sources: tuple[str, ...] = ()

    def about(self, version: int) -> dict[str, Any]:
        """Return all but the bytes, as JSON has it."""
        names = ("name", "title", "kind", "unit", "scale", "low", "high", "least", "most", "signed", "ratio", "sources")
        about = {name: getattr(self, name) for name in names}
        return {**about, "version": version, "derived": self.data is None}

    def bytes(self) -> memoryview:
        """Return the values in row order, little-endian."""
        assert self.data is not None
        data = np.ascontiguousarray(self.data, np.uint8 if self.kind == "flags" else None)
        if sys.byteorder == "big" and data.itemsize > 1:
            data = data.byteswap()
        return data.reshape(-1).view(np.uint8).data


def picture(name: str, title: str, data: UInt8Array) -> Plane:
    """Return an 8-bit RGB picture."""
    return Plane(name, title, "picture", data)


def cut(blur_map: BlurMap, rows: slice, columns: slice) -> BlurMap:
    """Return some rows and columns of a map."""
    return BlurMap(
        blur_map.variance_difference[rows, columns],
        blur_map.variance_stderr[rows, columns],
        blur_map.flags[rows, columns],
        blur_map.sharper[rows, columns],
        blur_map.settings,
    )


def blur_planes(blur_map: BlurMap) -> list[Plane]:
    """Return the planes of a blur map: s and its standard error, the same in px, and the flags."""
    step = max(1, int(np.sqrt(blur_map.variance_difference.size / _SAMPLE)))
    s = np.asarray(blur_map.variance_difference, np.float32)
    stderr = np.asarray(blur_map.variance_stderr, np.float32)
    few = cut(blur_map, slice(None, None, step), slice(None, None, step))
    return [
        _value("sigma", "relative blur", None, few.sigma, "sigma", "px", sources=("s",)),
        _value("stderr", "standard error", None, few.sigma_stderr, "stderr", "px", sources=("s", "s_stderr")),
        _value("s", "variance difference s", s, few.variance_difference, "sigma", "px²"),
        _value("s_stderr", "standard error of s", stderr, few.variance_stderr, "stderr", "px²"),
        Plane("flags", "flags", "flags", np.asarray(blur_map.flags, np.uint8)),
    ]


def depth_planes(depth_map: DepthMap) -> list[Plane]:
    """Return depth and its standard error."""
    depth = np.asarray(depth_map.depth_m, np.float32)
    stderr = np.asarray(depth_map.depth_stderr_m, np.float32)
    return [
        _value("depth", "depth", depth, depth, "depth", "m"),
        _value("depth_stderr", "standard error of depth", stderr, stderr, "stderr", "m"),
    ]


def _value(
    name: str, title: str, data: AnyArray | None, sample: AnyArray, kind: Any, unit: str, sources: tuple[str, ...] = ()
) -> Plane:
    scale: ColourScale = scale_for(sample, kind)
    known = sample[np.isfinite(sample)]
    signed = scale.low < 0
    most = float(max(np.abs(known).max() if signed else known.max(), scale.high)) if known.size else scale.high
    least = -most if signed else float(min(scale.low, known.min())) if known.size else scale.low
    if scale.logarithmic:  # a slider cannot reach zero, nor the distance of a point that is at infinity
        least, most = max(least, scale.low / BEYOND), min(most, scale.high * BEYOND)
    return Plane(
        name,
        title,
        "value",
        data,
        unit,
        scale.name,
        scale.low,
        scale.high,
        least,
        most,
        signed,
        scale.logarithmic,
        sources,
    )


def colour_tables() -> dict[str, str]:
    """Return every scale as 256 colours in hexadecimal, one after the other; ``flags`` has one for each value."""
    tables = {name: ColourScale(0.0, 1.0, name).colours.tobytes().hex() for name in _SCALES}
    return {**tables, "flags": flag_colours(np.arange(256, dtype=np.uint8)).tobytes().hex()}


def flag_legend(flags: AnyArray | None = None) -> list[dict[str, Any]]:
    """Return bit, name, colour and share of pixels of every flag."""
    counts = np.zeros(256, np.int64) if flags is None else np.bincount(flags.ravel(), minlength=256)
    values = np.arange(256, dtype=np.uint8)
    rows = []
    for flag in Flag:
        name = str(flag.name).lower().replace("_", " ")
        share = float(counts[has_flag(values, flag)].sum() / max(1, counts.sum()))
        rows.append({"bit": int(flag), "name": name, "colour": FLAG_COLOURS[name], "share": share})
    return rows


def summary_line(settings: Mapping[str, Any]) -> str:
    """Return in one line what made a map: method, settings, version."""
    shown = {
        "method": "",
        "window": "window ",
        "max_sigma": "σ ≤ ",
        "prefilter": "prefilter ",
        "engine": "",
        "decimate": "decimated by ",
    }
    parts = []
    for name, before in shown.items():
        value = settings.get(name)
        if value is None or (name == "prefilter" and not value) or (name == "decimate" and value == 1):
            continue
        parts.append(f"{before}{value:g}" if isinstance(value, float) else f"{before}{value}")
    if settings.get("psf"):
        parts.append(f"psf {settings['psf']}")
    return " · ".join([*parts, f"relblur {settings.get('relblur', '?')}"])
