"""The numbers behind a picture, small enough to travel in a page: a value for every pixel, to about four digits.

A layer is quantised to 16 bits over its own range, by value or (distances: one pixel at infinity must not take the
digits of all others) by ratio; or to 8 bits by ratio for what only has a size (standard errors: steps of some per
cent). 0 stands for "no answer". All layers are packed together, high bytes apart from low ones, and deflated;
``page.js`` unpacks them.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..base._typing import AnyArray

__all__ = ["Layer", "ReadOut", "pack"]


@dataclass(frozen=True)
class Layer:
    """One quantity: its values, what it is called, how its numbers are written."""

    name: str
    unit: str
    values: AnyArray
    coding: Literal["linear", "ratio", "log", "flags"] = "linear"
    signed: bool = False


@dataclass(frozen=True)
class ReadOut:
    """What a page can tell of every pixel."""

    layers: Sequence[Layer]
    flag_names: Sequence[str] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        height, width = self.layers[0].values.shape
        return int(height), int(width)


def pack(read_out: ReadOut, most_bytes: int) -> dict[str, Any] | None:
    """Return a read-out as plain values for JSON, of every pixel or, to fit, of every second, third ...

    None if not even every tenth in both directions fits.
    """
    for every in range(1, 11):
        described, planes = [], []
        for layer in read_out.layers:
            about, codes = _coded(layer, layer.values[::every, ::every])
            described.append({"name": layer.name, "unit": layer.unit, "signed": layer.signed, **about})
            planes += [codes & 255] if about["bytes"] == 1 else [codes >> 8, codes & 255]
        raw = np.stack(planes).astype(np.uint8).tobytes()
        data = base64.b64encode(zlib.compress(raw, 6)).decode("ascii")
        if len(data) <= most_bytes:
            height, width = read_out.shape
            return {
                "height": height,
                "width": width,
                "every": every,
                "flags": list(read_out.flag_names),
                "layers": described,
                "data": data,
            }
    return None


def _coded(layer: Layer, values: AnyArray) -> tuple[dict[str, Any], AnyArray]:
    """Return how to read a layer's codes (value = offset + scale * code, or its exponential), and the codes."""
    if layer.coding == "flags":
        return {"coding": "flags", "bytes": 1}, values.astype(np.uint16)
    known = np.isfinite(values)
    numbers = np.where(known, values, 0.0).astype(np.float64)
    top = 255 if layer.coding == "log" else 65535
    if layer.coding != "linear":
        positive = numbers[known & (numbers > 0)]
        least = float(positive.min()) if positive.size else 1.0
        numbers = np.log(np.maximum(numbers, least))
    low, high = (float(numbers[known].min()), float(numbers[known].max())) if known.any() else (0.0, 1.0)
    scale = (high - low) / (top - 1)
    if layer.coding == "linear" and scale > 0:  # no finer than anybody reads: what is rounded packs better
        scale = max(scale, 10.0 ** (math.floor(math.log10(max(abs(low), abs(high)))) - 4))
    scale = scale or 1.0
    codes = np.where(known, np.rint((numbers - low) / scale).clip(0, top - 1) + 1, 0).astype(np.uint16)
    about = {"coding": layer.coding, "bytes": 2 if top > 255 else 1, "offset": low - scale, "scale": scale}
    return about, codes
