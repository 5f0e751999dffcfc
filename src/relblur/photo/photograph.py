"""Photographs as linear light: single photographs, and pairs with their checks.

:func:`~relblur.photo.tone_curves.choose_curve` chooses the tone curve. A file that states none counts as sRGB if it has
8 bits, as cameras, phones and the web store it. It counts as light if it has 16 bits or floats, as instruments and
renderers store it. Editors that write encoded 16-bit files embed a profile.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray
from ..base.arguments import as_positive, colour_axis, plain_array
from ..base.errors import InputError
from ..base.inputs import check_form
from ..base.options import Reading
from ..base.pixels import full_scale
from ..base.tone import LINEAR, SRGB
from ..blur.comparable_pair import ComparablePair
from ..blur.noise import NoiseModel
from ..images.compression import BLOCK, JpegTable, find_traces
from ..images.disk import PathLike
from ..images.exif import smaller_aperture
from ..images.images import StoredImage, read_image, read_stored
from ..images.reading import Plane
from ..kernels.threads import count_workers
from .picture_form import PictureForm
from .tone_curves import choose_curve

__all__ = [
    "Photograph",
    "Source",
    "check_gamma",
    "photograph_of",
    "read_light_pair",
    "read_pair",
    "read_photograph",
    "stored_array",
]

#: Full scale of sensors of 10, 12 and 14 bits in 16-bit files.
_SENSOR_TOPS = (1023, 4095, 16383)

#: Minimum fraction of zeros, in a window of this side (px), in an area that is clipped at black.
_CRUSHED_SHARE = 0.15
_CRUSHED_WINDOW = 7
#: Largest mean of the brightest channel in such an area (fraction of the full scale).
_CRUSHED_BELOW = 0.2

#: Minimum drop in JPEG quality, from the value that the file states, for an earlier compression to count.
CLEARLY_LOWER = 3


@dataclass(frozen=True, eq=False)
class Photograph:
    """A photograph as linear light, with a record of its conversion.

    Attributes
    ----------
    light : (H, W) or (H, W, 3) array
        Linear light; 0..1 for integer files, the stored values for float files.
    clipped : (H, W) bool
        True where a channel is at the top of the range of the file, and in dark areas that are clipped at black.
    rounding : NoiseModel or None
        Noise from rounding to integers and from JPEG; None for floats.
    jpeg : JpegTable or None
        The JPEG compression, for pictures with the sRGB curve whose blocks start at the top left corner.
    info : mapping
        ``format``, ``bits``, ``curve`` (tone curve that was undone), ``because`` (source of the curve), ``changes``
        (rotation, white balance and similar), ``jpeg_quality`` (or None), ``once_jpeg`` (quality of an earlier
        compression that the pixels show, or None), ``shot`` (aperture and focus, if EXIF has both).
    form : PictureForm
        Format of pictures made from the photograph.
    """

    light: AnyArray
    clipped: BoolArray
    rounding: NoiseModel | None
    jpeg: JpegTable | None
    info: Mapping[str, Any]
    form: PictureForm

    def describe(self) -> str:
        """Return the conversion in one line."""
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
        False keeps the tone curve. Integers become 0..1 in any case.
    gamma : float, optional
        Undo ``stored = light ** (1 / gamma)`` instead of the curve of the file. 1 means that the values are light.
    dtype : numpy.float32 or numpy.float64, optional
        Type of the light. The default for integer files is single precision, which is far finer than their rounding.
    """
    gamma = check_gamma(gamma, linear)
    stored = read_stored(path)
    return photograph_of(stored, linear=linear, gamma=gamma, dtype=dtype)


def check_gamma(gamma: float | None, linear: bool) -> float | None:
    """Check the exponent of a tone curve; refuse it together with ``linear=False``."""
    if gamma is None:
        return None
    if not linear:
        raise InputError("gamma and linear=False exclude each other; leave one of them out")
    return as_positive(gamma, "gamma")


def photograph_of(
    stored: StoredImage, *, linear: bool = True, gamma: float | None = None, dtype: type | None = None
) -> Photograph:
    """Return stored values as light, as :func:`read_photograph` does."""
    values = stored.values
    curve, because = choose_curve(stored, linear=linear, gamma=gamma)
    top = full_scale(values.dtype)
    light = curve.undo(values, dtype or (np.float64 if top is None else np.float32))
    rounding = None
    if top is not None:
        constant, growth = curve.rounding_variance(top)
        rounding = NoiseModel(math.sqrt(constant), growth)
    compression = _compression(stored)
    if rounding is not None and compression.table is not None:
        # The variance of rounding is 1/12, in squared levels.
        more = 1 + 12 * compression.table.noise**2
        rounding = NoiseModel(rounding.read * math.sqrt(more), rounding.shot * more, compressed=True)
    elif rounding is not None and stored.lossy:  # compression of unknown strength
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
    """JPEG table of a picture, whether its blocks start at the corner, and whether it was found in the pixels."""

    table: JpegTable | None
    in_place: bool
    earlier: bool


def _compression(stored: StoredImage) -> _Compression:
    """Return the compression that the file states, or a stronger earlier one detected in the pixels."""
    own, traces = stored.jpeg, find_traces(stored.values)
    # Rotation moves the corner at which the blocks start, unless whole blocks fill the picture.
    in_place = not stored.changes or not any(n % BLOCK for n in stored.values.shape[:2])
    if traces is not None and (own is None or traces[0].quality < own.quality - CLEARLY_LOWER):
        table, corner = traces
        return _Compression(table if own is None else table.coarser(own), corner == (0, 0), earlier=True)
    return _Compression(own, in_place, earlier=False)


def _clipped(values: AnyArray) -> BoolArray:
    top = full_scale(values.dtype)
    if top is None:
        return np.zeros(values.shape[:2], dtype=bool)
    if values.dtype.itemsize == 2 and (highest := int(values.max())) in _SENSOR_TOPS:
        top = highest
    planes = [values] if values.ndim == 2 else [np.ascontiguousarray(values[:, :, c]) for c in range(values.shape[2])]
    brightest = reduce(np.maximum, planes)
    return np.asarray((brightest >= top) | _crushed(planes, brightest))


def _crushed(planes: Sequence[AnyArray], brightest: AnyArray) -> BoolArray:
    """Return a mask of dark areas that are clipped at black.

    Clipping removes the lower half of the noise, which raises the mean by different amounts in the two photographs. A
    single zero in a dark texture does not count, nor does a bright area without blue.
    """
    if all(plane.min() > 0 for plane in planes):
        return np.zeros(brightest.shape, dtype=bool)
    import cv2

    def mean_around(plane: AnyArray) -> AnyArray:  # integers save memory
        return np.asarray(cv2.boxFilter(plane, -1, (_CRUSHED_WINDOW,) * 2, borderType=cv2.BORDER_REFLECT))

    dark = mean_around(brightest) < _CRUSHED_BELOW * np.iinfo(brightest.dtype).max
    black = reduce(np.maximum, (mean_around(255 * (plane == 0).view(np.uint8)) for plane in planes))
    return np.asarray(dark & (black > 255 * _CRUSHED_SHARE))


#: An image file, or an image as an array.
Source = PathLike | ArrayLike


def read_pair(first: PathLike, second: PathLike) -> ComparablePair:
    """Read two image files as a pair of stored values."""
    one, two = read_image(first), read_image(second)
    _check_alike(one, two, (str(first), str(second)))
    return ComparablePair(one, two).without_bad_pixels()


def read_light_pair(
    first: Source,
    second: Source,
    *,
    linear: bool = True,
    gamma: float | None = None,
    channel_axis: int | None = None,
) -> ComparablePair:
    """Read two images as linear light, with their clipped pixels and notes on the conversion.

    Arrays of bytes are sRGB, as in files. All other arrays are light. ``gamma`` overrides both.
    """
    gamma = check_gamma(gamma, linear)
    _refuse_one_file_twice(first, second)

    def read(named: tuple[str, Any]) -> tuple[Photograph, BoolArray | None]:
        name, source = named
        if isinstance(source, (str, os.PathLike)):
            return read_photograph(source, linear=linear, gamma=gamma), None
        stored, valid = stored_array(source, name, channel_axis)
        return photograph_of(stored, linear=linear, gamma=gamma), valid

    with ThreadPoolExecutor(min(2, count_workers(None))) as pool:
        results = list(pool.map(read, (("first", first), ("second", second))))
    photographs = [photograph for photograph, _ in results]
    masks = [valid for _, valid in results if valid is not None]
    names = [str(s) if isinstance(s, (str, os.PathLike)) else n for n, s in (("first", first), ("second", second))]
    one, two = (photograph.light for photograph in photographs)
    _check_alike(one, two, (names[0], names[1]))
    sharper = smaller_aperture(photographs[0].info["shot"], photographs[1].info["shot"])
    roundings = [photograph.rounding for photograph in photographs]
    return ComparablePair(
        one,
        two,
        valid=np.logical_and.reduce(masks) if masks else None,
        clipped=(photographs[0].clipped, photographs[1].clipped),
        rounding=None if roundings[0] is None or roundings[1] is None else (roundings[0], roundings[1]),
        is_light=linear,
        notes=_reading_notes(photographs[0], photographs[1], sharper),
        sharper=sharper or "auto",
        names=(os.path.basename(names[0]), os.path.basename(names[1])),
        jpeg=(photographs[0].jpeg, photographs[1].jpeg),
        form=photographs[0].form,
    ).without_bad_pixels()


def _reading_notes(first: Photograph, second: Photograph, sharper: str | None) -> tuple[str, ...]:
    one, two = first.describe(), second.describe()
    notes = (f"light: {one}",) if one == two else (f"light, first: {one}", f"light, second: {two}")
    if sharper is None:
        return notes
    f_numbers = " and ".join(f"f/{photograph.info['shot'].f_number:g}" for photograph in (first, second))
    return (*notes, f"apertures: {f_numbers}, one focus: {sharper} counts as the sharper everywhere")


def _refuse_one_file_twice(first: Source, second: Source) -> None:
    paths = [each for each in (first, second) if isinstance(each, (str, os.PathLike))]
    if len(paths) < 2:
        return
    try:
        same = paths[0] == paths[1] if isinstance(first, Plane) else os.path.samefile(*paths)
    except (OSError, ValueError):  # missing or not a valid name: read_photograph raises the error
        return
    if same:
        raise InputError(f"first and second are one file, {paths[0]}; name the two photographs of the pair")


def stored_array(source: Any, name: str, channel_axis: int | None) -> tuple[StoredImage, BoolArray | None]:
    """Return an array in the form of file contents, and its valid mask (None if no pixel is masked)."""
    array = plain_array(source, name)
    axis = colour_axis(array, channel_axis)
    stacked = check_form(array, name, channel_axis=axis)
    valid = np.asarray(~np.ma.getmaskarray(stacked).any(axis=2)) if np.ma.is_masked(stacked) else None
    values = np.ma.getdata(stacked)
    if values.shape[2] in (2, 4):
        warnings.warn(f"{name}: the last of {values.shape[2]} channels counts as alpha and is omitted", stacklevel=2)
        values = values[:, :, :-1]
    values = values[:, :, 0] if values.shape[2] == 1 else values
    return StoredImage(np.ascontiguousarray(values), "array", linear=values.dtype != np.uint8), valid


def _check_alike(one: AnyArray, two: AnyArray, names: tuple[str, str]) -> None:
    if np.ndim(one) != np.ndim(two) and one.shape[:2] == two.shape[:2]:
        grey_one = names[0] if one.ndim == 2 else names[1]
        raise InputError(f"{grey_one} is grey and the other image is colour; convert one of them")
    if one.shape != two.shape:
        raise InputError(
            f"the images differ in size: {names[0]} is {one.shape[1]}x{one.shape[0]}, "
            f"{names[1]} is {two.shape[1]}x{two.shape[0]}; crop or resize them to the same view"
        )
