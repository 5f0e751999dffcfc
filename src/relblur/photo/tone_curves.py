"""From stored numbers to light: the tone curves of photographs, undone.

Defocus adds light, so relative blur is a Gaussian in *linear* light only; a photograph's
file holds light after a tone curve (sRGB's, a power, a table in an ICC profile). A
:class:`Curve` knows the way back, per channel where a profile's channels differ.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.pixels import unit_float

__all__ = ["LINEAR", "SRGB", "Curve", "curve_of_icc_profile", "encode_srgb", "power_curve"]

Decoder = Callable[[FloatArray], FloatArray]

#: The exponent of Adobe RGB, 2 + 51/256.
ADOBE_RGB_GAMMA = 2.19921875


@dataclass(frozen=True)
class Curve:
    """How stored values on a 0..1 scale become light on a 0..1 scale.

    ``decoders`` holds one function for all channels, or one for each.
    """

    name: str
    decoders: tuple[Decoder, ...]

    @property
    def is_linear(self) -> bool:
        """True if stored values are light already."""
        return self is LINEAR

    def undo(self, stored: AnyArray, dtype: type = np.float32) -> AnyArray:
        """Return the light in stored values: integers of full scale, or floats.

        Negative floats (noise around black) go through the curve mirrored.
        """
        if self.is_linear:
            return unit_float(stored, dtype)
        if len(self.decoders) > 1 and stored.ndim == 3:
            planes = [self._undo(stored[:, :, c], self.decoders[c], dtype) for c in range(stored.shape[2])]
            return np.stack(planes, axis=2)
        return self._undo(stored, self.decoders[0], dtype)

    def _undo(self, stored: AnyArray, decode: Decoder, dtype: type) -> AnyArray:
        if stored.dtype in (np.uint8, np.uint16):
            table: AnyArray = decode(np.linspace(0, 1, np.iinfo(stored.dtype).max + 1)).astype(dtype)
            if stored.dtype != np.uint8 or not stored.size:
                return table[stored]
            import cv2

            return np.asarray(cv2.LUT(np.ascontiguousarray(stored), table)).reshape(stored.shape)
        values = unit_float(stored)
        return np.where(values < 0, -decode(-values.clip(max=0)), decode(values.clip(min=0))).astype(dtype)

    def rounding_variance(self, steps: int) -> tuple[float, float]:
        """Return (a, b): rounding to ``steps`` steps adds noise of variance ``a + b * light``.

        Rounding in stored values is uniform; in light it grows with the curve's slope. For a
        power near 2 the squared slope is nearly proportional to the light itself, so the
        straight line is a good description: it looks like photon noise.
        """
        stored = np.linspace(0, 1, 1025)
        light = np.mean([decode(stored) for decode in self.decoders], axis=0)
        slope = np.diff(light) / np.diff(stored)
        middle = (light[1:] + light[:-1]) / 2
        b, a = np.polyfit(middle, slope**2, 1, w=1 / np.sqrt(slope**2 + 1e-3)) if np.ptp(slope) > 1e-9 else (0.0, 1.0)
        a, b = max(float(a), float(slope[0] ** 2), 1e-3), max(float(b), 0.0)
        unit = 1 / (12 * steps**2)
        return a * unit, b * unit


def _srgb(stored: FloatArray) -> FloatArray:
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4)


LINEAR = Curve("linear", (lambda stored: stored,))
SRGB = Curve("sRGB curve", (_srgb,))


def power_curve(gamma: float) -> Curve:
    """Return the curve ``light = stored ** gamma``."""
    return LINEAR if gamma == 1 else Curve(f"gamma {gamma:g}", (lambda stored: stored**gamma,))


def encode_srgb(light: FloatArray) -> FloatArray:
    """Return the stored values, 0..1, of light within 0..1 under the sRGB curve."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def curve_of_icc_profile(profile: bytes) -> Curve | None:
    """Return the tone curve of a grey or matrix ICC profile, None if it has none that is plain.

    Profiles that work by look-up tables in several dimensions (printers, some scanners) have
    no tone curve; damaged ones neither.
    """
    try:
        tags = _icc_tags(profile)
        if tags.get(b"kTRC"):
            entries = [tags[b"kTRC"]]
        elif all(name in tags for name in (b"rTRC", b"gTRC", b"bTRC")):
            entries = [tags[name] for name in (b"rTRC", b"gTRC", b"bTRC")]
        else:
            return None
        if len(set(entries)) == 1:
            entries = entries[:1]
        decoders = tuple(_icc_decoder(entry) for entry in entries)
    except (struct.error, ValueError, IndexError):
        return None
    at = np.linspace(0, 1, 257)
    values = [decoder(at) for decoder in decoders]
    if not all(np.isfinite(v).all() and (np.diff(v) >= 0).all() and v[-1] > v[0] for v in values):
        return None
    if all(np.abs(v - at).max() < 1e-4 for v in values):
        return LINEAR
    if all(np.abs(v - _srgb(at)).max() < 2e-3 for v in values):
        return SRGB
    return Curve("profile's tone curve", decoders)


def _icc_tags(profile: bytes) -> dict[bytes, bytes]:
    """Return the tag table of a profile: signature -> content (ICC.1, section 7.3)."""
    (count,) = struct.unpack_from(">I", profile, 128)
    if count > 1000:
        raise ValueError("too many tags")
    tags = {}
    for index in range(count):
        name, offset, size = struct.unpack_from(">4sII", profile, 132 + 12 * index)
        content = profile[offset : offset + size]
        if len(content) != size:
            raise ValueError("a tag reaches beyond the profile")
        tags[name] = content
    return tags


def _icc_decoder(entry: bytes) -> Decoder:
    """Return the function of a ``curv`` (10.6) or ``para`` (10.18) element."""
    if entry[:4] == b"curv":
        (count,) = struct.unpack_from(">I", entry, 8)
        if count == 0:
            return lambda stored: stored
        table = np.frombuffer(entry, ">u2", count, 12).astype(np.float64)
        if count == 1:
            gamma = float(table[0]) / 256
            return lambda stored: stored**gamma
        at = np.linspace(0, 1, count)
        return lambda stored: np.interp(stored, at, table / 65535)
    if entry[:4] == b"para":
        (kind,) = struct.unpack_from(">H", entry, 8)
        sizes = {0: 1, 1: 3, 2: 4, 3: 5, 4: 7}
        if kind not in sizes:
            raise ValueError("unknown kind of parametric curve")
        p = [n / 65536 for n in struct.unpack_from(f">{sizes[kind]}i", entry, 12)]
        return _parametric(kind, p)
    raise ValueError("unknown kind of curve")


def _parametric(kind: int, p: list[float]) -> Decoder:
    """Return table 68's functions as one form: ``(a x + b)^g + e`` from d on, ``c x + f`` below."""
    g = p[0]
    a, b = (p[1], p[2]) if kind >= 1 else (1.0, 0.0)
    if kind >= 1 and a == 0:
        raise ValueError("the curve is constant")
    c = e = f = 0.0
    d = -np.inf
    if kind in (1, 2):
        d = -b / a
        e = f = p[3] if kind == 2 else 0.0
    elif kind >= 3:
        c, d = p[3], p[4]
        e, f = (p[5], p[6]) if kind == 4 else (0.0, 0.0)
    return lambda x: np.where(x >= d, np.maximum(a * x + b, 0) ** g + e, c * x + f)
