"""One photograph read from a file as linear light, with a record of what was done to it.

The tone curve follows the one rule of :func:`~relblur.photo.tone_curves.choose_curve`. A file that states none is
taken for sRGB if it has 8 bits (cameras, phones and the web store that) and for light if it has 16 bits or floats
(instruments and renderers store that; editors that write encoded 16-bit files embed a profile).
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ..base._typing import AnyArray, BoolArray
from ..base.arguments import as_positive
from ..base.errors import InputError
from ..base.options import Reading
from ..base.pixels import full_scale
from ..blur.noise import NoiseModel
from ..images.compression import BLOCK, JpegTable, find_traces
from ..images.disk import PathLike
from ..images.images import StoredImage, read_stored
from ..images.reading import Plane
from .picture_form import PictureForm
from .tone_curves import LINEAR, SRGB, choose_curve

__all__ = ["Photograph", "check_gamma", "photograph_of", "read_photograph"]

#: Sensors of fewer bits store their own full scale in 16-bit files.
_SENSOR_TOPS = (1023, 4095, 16383)


#: An area is crushed to black where more than this share of a window this wide is zero.
_CRUSHED_SHARE = 0.15
_CRUSHED_WINDOW = 7
#: ... and its brightest channel below this share of the full scale on average.
_CRUSHED_BELOW = 0.2


#: Points of quality by which an earlier compression must have been stronger than the one that the file tells of.
CLEARLY_LOWER = 3

#: Pixels looked at together: memory that is used again is much faster than fresh one.
_BAND_PIXELS = 200_000


@dataclass(frozen=True, eq=False)
class Photograph:
    """A photograph as light, and how it came to be so.

    Attributes
    ----------
    light : (H, W) or (H, W, 3) array
        Linear light; 0..1 for integer files, whatever was stored for float files.
    clipped : (H, W) bool
        Where a channel sits at the top of the file's range (the light was at least this much),
        and dark areas that are cut off at black.
    rounding : NoiseModel or None
        The noise that rounding to integers, and JPEG, left in the light; None for floats.
    jpeg : JpegTable or None
        How it was compressed, if it is light of the sRGB curve whose blocks begin in its first corner.
    info : mapping
        ``format``, ``bits``, ``curve`` (what was undone), ``because`` (who says so),
        ``changes`` (rotation, white balance and the like), ``jpeg_quality`` (None if it is none), ``once_jpeg``
        (quality of an earlier compression that shows in the pixels, None if none does),
        ``shot`` (aperture and focus, if EXIF has both).
    form : PictureForm
        How a picture made from it is to be written.
    """

    light: AnyArray
    clipped: BoolArray
    rounding: NoiseModel | None
    jpeg: JpegTable | None
    info: Mapping[str, Any]
    form: PictureForm

    def describe(self) -> str:
        """Return what was done, in one line."""
        done = "taken as linear" if self.info["curve"] == LINEAR.name else f"{self.info['curve']} undone"
        changes = "".join(f"; {change}" for change in self.info["changes"])
        depth = f"{self.info['bits']}-bit" if self.info["bits"] else "float"
        kind = self.info["format"]
        if self.info["jpeg_quality"] is not None:
            kind += f" of quality {self.info['jpeg_quality']}"
        if self.info["once_jpeg"] is not None:
            kind += f", once a JPEG of quality about {self.info['once_jpeg']}"
        return f"{depth} {kind}, {done} ({self.info['because']}){changes}"


def read_photograph(
    path: PathLike,
    *,
    linear: bool = Reading.linear,
    gamma: float | None = Reading.gamma,
    dtype: type | None = None,
) -> Photograph:
    """Read an image file as linear light, with its tone curve, clipped pixels and noise.

    :func:`relblur.imread` returns the light alone.

    Parameters
    ----------
    linear : bool
        False leaves the tone curve as it is; integers still become 0..1.
    gamma : float, optional
        Undo ``stored = light ** (1 / gamma)``, whatever the file says; 1 takes it as linear.
    dtype : numpy.float32 or numpy.float64, optional
        Of the light; by default single precision for integer files, which is far finer than
        their rounding and takes half the memory.
    """
    gamma = check_gamma(gamma, linear)
    stored = read_stored(path)
    if np.iscomplexobj(stored.values) or not np.issubdtype(stored.values.dtype, np.number):
        raise InputError(f"{path} holds {stored.values.dtype}; an image is made of real numbers")
    found = photograph_of(stored, linear=linear, gamma=gamma, dtype=dtype)
    name = path.name if isinstance(path, Plane) else os.path.basename(os.fspath(path))
    return replace(found, form=replace(found.form, name=name))


def check_gamma(gamma: float | None, linear: bool) -> float | None:
    """Check the exponent of a tone curve against the wish not to undo any."""
    if gamma is None:
        return None
    if not linear:
        raise InputError("gamma says how to linearise and linear=False not to; leave one of them out")
    return as_positive(gamma, "gamma")


def photograph_of(
    stored: StoredImage, *, linear: bool = True, gamma: float | None = None, dtype: type | None = None
) -> Photograph:
    """Return numbers and what is said about them as light, as :func:`read_photograph` does."""
    values = stored.values
    curve, because = choose_curve(stored, linear=linear, gamma=gamma)
    top = full_scale(values.dtype)
    light = curve.undo(values, dtype or (np.float64 if top is None else np.float32))
    rounding = None if top is None else NoiseModel(*_root(curve.rounding_variance(top)))
    compression = _compression(stored)
    if rounding is not None and compression.table is not None:
        # Rounding has a variance of 1/12 of a squared level.
        more = 1 + 12 * compression.table.noise**2
        rounding = NoiseModel(rounding.read * math.sqrt(more), rounding.shot * more, compressed=True)
    elif rounding is not None and stored.lossy:  # nobody says by how much
        rounding = replace(rounding, compressed=True)
    info = {
        "format": stored.format,
        "bits": stored.bits,
        "curve": curve.name,
        "because": because,
        "changes": list(stored.changes),
        "shot": stored.shot,
        "jpeg_quality": None if stored.jpeg is None else stored.jpeg.quality,
        "once_jpeg": compression.table.quality if compression.earlier and compression.table else None,
    }
    jpeg = compression.table if curve is SRGB and compression.in_place else None
    return Photograph(light, _clipped(values), rounding, jpeg, info, PictureForm.of(stored, linear, gamma))


@dataclass(frozen=True)
class _Compression:
    """How a picture was compressed, whether its blocks begin in its corner, and whether only its pixels tell."""

    table: JpegTable | None
    in_place: bool
    earlier: bool


def _compression(stored: StoredImage) -> _Compression:
    """Return what the file says of compression, or what the pixels show of a stronger one before."""
    own, traces = stored.jpeg, find_traces(stored.values)
    if traces is not None and (own is None or traces.table.quality < own.quality - CLEARLY_LOWER):
        table = traces.table if own is None else traces.table.coarser(own)
        return _Compression(table, traces.corner == (0, 0), earlier=True)
    # Turning a picture moves the corner at which its blocks begin, unless they fill it.
    in_place = not stored.changes or not any(n % BLOCK for n in stored.values.shape[:2])
    return _Compression(own, in_place, earlier=False)


def _clipped(values: AnyArray) -> BoolArray:
    top = full_scale(values.dtype)
    if top is None:
        return np.zeros(values.shape[:2], dtype=bool)
    if values.dtype.itemsize == 2 and (highest := int(values.max())) in _SENSOR_TOPS:
        top = highest
    height, width = values.shape[:2]
    rows, around = max(_CRUSHED_WINDOW, _BAND_PIXELS // width), _CRUSHED_WINDOW // 2
    clipped = np.empty((height, width), dtype=bool)
    for start in range(0, height, rows):
        above = min(start, around)
        band = values[start - above : start + rows + around]
        planes = [np.ascontiguousarray(band[:, :, c]) for c in range(band.shape[2])] if band.ndim == 3 else [band]
        brightest = reduce(np.maximum, planes)
        found = (brightest >= top) | _crushed(planes, brightest)
        clipped[start : start + rows] = found[above : above + rows]
    return clipped


def _crushed(planes: Sequence[AnyArray], brightest: AnyArray) -> BoolArray:
    """Return dark areas that were cut off at black.

    Noise around black loses its lower half there: the mean rises, by another amount than in
    the other photograph. A lone zero in a dark texture is no such area, nor is a bright one
    without any blue.
    """
    if all(plane.min() > 0 for plane in planes):
        return np.zeros(brightest.shape, dtype=bool)
    import cv2

    def mean_around(plane: AnyArray) -> AnyArray:
        size = (_CRUSHED_WINDOW, _CRUSHED_WINDOW)
        plane = plane if plane.dtype.itemsize <= 2 else plane.astype(np.float32)
        return np.asarray(cv2.boxFilter(plane, cv2.CV_32F, size, borderType=cv2.BORDER_REFLECT))

    dark = mean_around(brightest) < _CRUSHED_BELOW * np.iinfo(brightest.dtype).max
    if not dark.any():
        return np.asarray(dark)
    black = [mean_around((plane == 0).view(np.uint8)) for plane in planes]
    return np.asarray(dark & (reduce(np.maximum, black) > _CRUSHED_SHARE))


def _root(variance: tuple[float, float]) -> tuple[float, float]:
    """Return (read, shot) of a variance ``a + b * light``."""
    return float(np.sqrt(variance[0])), variance[1]
