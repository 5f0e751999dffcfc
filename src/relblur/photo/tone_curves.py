"""The choice of the tone curve of a file, a clip or an array, and the curves of ICC profiles.

Every reader uses :func:`choose_curve`; docs/photographs.md has its table. The curves are defined in
:mod:`relblur.base.tone`.
"""

from __future__ import annotations

import struct

import numpy as np

from ..base._typing import FloatArray
from ..base.tone import LINEAR, SRGB, Curve, Decoder, decode_srgb, power_curve
from ..images.stored import StoredImage

__all__ = ["ADOBE_RGB_GAMMA", "BT709", "choose_curve", "curve_of_icc_profile"]

#: The exponent of Adobe RGB, 2 + 51/256.
ADOBE_RGB_GAMMA = 2.19921875


def _bt709(stored: FloatArray) -> FloatArray:
    return np.where(stored < 0.081, stored / 4.5, ((stored + 0.099) / 1.099) ** (1 / 0.45))


BT709 = Curve("BT.709 curve", (_bt709,))

#: Tone curve for each number of the transfer characteristics (ITU-T H.273).
_TRANSFERS = {
    **dict.fromkeys((1, 6, 7, 11, 12, 14, 15), BT709),
    4: power_curve(2.2),
    5: power_curve(2.8),
    8: LINEAR,
    13: SRGB,
}


def choose_curve(stored: StoredImage, *, linear: bool = True, gamma: float | None = None) -> tuple[Curve, str]:
    """Return the tone curve of stored values and its source.

    Sources in order of precedence: the caller, the format, the tags of the file (profile, PNG chunk, transfer
    characteristics), EXIF, the convention of the container. Of ``stored.values`` only the type is used.
    """
    if not linear:
        return LINEAR, "requested"
    if gamma is not None:
        return power_curve(gamma), "requested"
    if stored.linear:
        return LINEAR, f"{stored.format} holds light"
    profile = curve_of_icc_profile(stored.icc_profile) if stored.icc_profile is not None else None
    if profile is not None:
        return profile, "from its ICC profile"
    if stored.srgb:
        return SRGB, "stated in the file"
    if stored.transfer in _TRANSFERS:
        return _TRANSFERS[stored.transfer], "stated in the file"
    if stored.png_gamma:
        return power_curve(round(1 / stored.png_gamma, 3)), "from its gAMA chunk"
    if space := stored.exif.space:
        return SRGB if space == "sRGB" else power_curve(ADOBE_RGB_GAMMA), f"{space} in EXIF"
    return _usual_curve(stored)


def _usual_curve(stored: StoredImage) -> tuple[Curve, str]:
    """Return the conventional tone curve of the container, for files that state none."""
    if stored.luma:
        return (BT709, "usual for video") if stored.luma == "limited" else (SRGB, "usual for full range")
    if stored.bits == 8 and stored.format != "NPY":
        return SRGB, "usual for 8 bits; gamma=1 if it is light" if stored.format == "array" else "usual for 8 bits"
    return LINEAR, "usual for floats" if stored.bits is None else f"usual for {stored.format} of {stored.bits} bits"


def curve_of_icc_profile(profile: bytes) -> Curve | None:
    """Return the tone curve of a grey or matrix ICC profile.

    None for damaged profiles and for multi-dimensional look-up tables (printers, some scanners).
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
    except (struct.error, ValueError, IndexError, ZeroDivisionError):
        return None
    at = np.linspace(0, 1, 257)
    values = [decoder(at) for decoder in decoders]
    if not all(np.isfinite(v).all() and (np.diff(v) >= 0).all() and v[-1] > v[0] for v in values):
        return None
    if all(np.abs(v - at).max() < 1e-4 for v in values):
        return LINEAR
    if all(np.abs(v - decode_srgb(at)).max() < 2e-3 for v in values):
        return SRGB
    gamma = float(np.log(values[0][128]) / np.log(at[128])) if values[0][128] > 0 else 0.0
    is_power = len(values) == 1 and gamma > 0 and np.abs(values[0] - at**gamma).max() < 1e-9
    return Curve("profile's tone curve", decoders, power_curve(gamma).encoder if is_power else None)


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
        return _parametric(kind, [n / 65536 for n in struct.unpack_from(f">{sizes[kind]}i", entry, 12)])
    raise ValueError("unknown kind of curve")


def _parametric(kind: int, p: list[float]) -> Decoder:
    """Return a function of table 68: ``(a x + b)^g + e`` for x >= d, ``c x + f`` for x < d."""
    if kind in (1, 2):
        p = [*p[:3], 0.0, -p[2] / p[1], *(2 * p[3:])]
    g, a, b, c, d, e, f = [*p, *(1.0, 1.0, 0.0, 0.0, -np.inf, 0.0, 0.0)[len(p) :]]
    return lambda x: np.where(x >= d, np.maximum(a * x + b, 0) ** g + e, c * x + f)
