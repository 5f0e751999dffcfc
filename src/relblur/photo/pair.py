"""Two images, from files or arrays, read and checked against each other."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.arguments import colour_axis, plain_array
from ..base.errors import InputError
from ..base.inputs import check_form
from ..blur.comparable_pair import ComparablePair
from ..filters.decimation import block_means
from ..images.disk import PathLike
from ..images.exif import smaller_aperture
from ..images.images import StoredImage, read_image
from ..images.reading import Plane
from ..kernels.threads import count_workers
from .photograph import Photograph, check_gamma, photograph_of, read_photograph

__all__ = ["Source", "read_light_pair", "read_pair", "stored_array"]

#: An image file, or an image.
Source = PathLike | ArrayLike

#: Side of the blocks over which a grey image is compared with the channels of another, px; and at least so many.
GREY_BLOCK_PX, LEAST_BLOCKS = 16, 4


def read_pair(first: PathLike, second: PathLike) -> ComparablePair:
    """Read two image files with their stored values."""
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
    """Read two images as linear light, with their clipped pixels and what was done.

    Arrays are light already, unless they are bytes, which are stored as files are, or ``gamma`` says otherwise.
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
        found = list(pool.map(read, (("first", first), ("second", second))))
    photographs = [photograph for photograph, _ in found]
    masks = [valid for _, valid in found if valid is not None]
    names = [str(s) if isinstance(s, (str, os.PathLike)) else n for n, s in (("first", first), ("second", second))]
    one, two, shares = _of_one_kind(photographs[0].light, photographs[1].light)
    _check_alike(one, two, (names[0], names[1]))
    sharper = smaller_aperture(photographs[0].info["shot"], photographs[1].info["shot"])
    mixed = () if shares is None else (_mixing_note(photographs[0].light.ndim == 3, names, shares),)
    roundings = [photograph.rounding for photograph in photographs]
    return ComparablePair(
        one,
        two,
        valid=np.logical_and.reduce(masks) if masks else None,
        clipped=(photographs[0].clipped, photographs[1].clipped),
        rounding=None if roundings[0] is None or roundings[1] is None else (roundings[0], roundings[1]),
        is_light=linear,
        notes=(*_reading_notes(photographs[0], photographs[1], sharper), *mixed),
        sharper=sharper or "auto",
        names=(os.path.basename(names[0]), os.path.basename(names[1])),
        shares=shares,
        jpeg=(photographs[0].jpeg, photographs[1].jpeg) if shares is None else (None, None),
        form=photographs[0].form,
    ).without_bad_pixels()


def _reading_notes(first: Photograph, second: Photograph, sharper: str | None) -> tuple[str, ...]:
    one, two = first.describe(), second.describe()
    notes = (f"light: {one}",) if one == two else (f"light, first: {one}", f"light, second: {two}")
    if sharper is None:
        return notes
    f_numbers = " and ".join(f"f/{photograph.info['shot'].f_number:g}" for photograph in (first, second))
    return (*notes, f"apertures: {f_numbers}, one focus: {sharper} is taken for the sharper everywhere")


def _refuse_one_file_twice(first: Source, second: Source) -> None:
    if not (isinstance(first, (str, os.PathLike)) and isinstance(second, (str, os.PathLike))):
        return
    if isinstance(first, Plane) and isinstance(second, Plane) and first != second:
        return
    try:
        same = os.path.samefile(first, second)
    except (OSError, ValueError):  # not there, or no name: told when it is read
        return
    if same:
        raise InputError(f"first and second are one file, {first}; name the two photographs of the pair")


def stored_array(source: Any, name: str, channel_axis: int | None) -> tuple[StoredImage, BoolArray | None]:
    """Return an array as if it came from a file, and which of its pixels no mask hides."""
    array = plain_array(source, name)
    axis = colour_axis(array, channel_axis)
    stacked = check_form(array, name, channel_axis=axis)
    valid = np.asarray(~np.ma.getmaskarray(stacked).any(axis=2)) if np.ma.is_masked(stacked) else None
    values = np.ma.getdata(stacked)
    if values.shape[2] in (2, 4):
        warnings.warn(f"{name}: the last of {values.shape[2]} channels is taken for alpha and left out", stacklevel=2)
        values = values[:, :, :-1]
    values = values[:, :, 0] if values.shape[2] == 1 else values
    return StoredImage(np.ascontiguousarray(values), "array", linear=values.dtype != np.uint8), valid


def _of_one_kind(one: AnyArray, two: AnyArray) -> tuple[AnyArray, AnyArray, FloatArray | None]:
    """Return two images of which a colour one was made grey if the other is, and in which parts of its channels."""
    if {one.ndim, two.ndim} != {2, 3} or one.shape[:2] != two.shape[:2]:
        return one, two, None
    colour, grey = (one, two) if one.ndim == 3 else (two, one)
    shares = grey_shares(colour, grey)
    mixed = (colour @ shares.astype(colour.dtype)).astype(colour.dtype)
    return (mixed, two, shares) if one.ndim == 3 else (one, mixed, shares)


def _mixing_note(first_is_colour: bool, names: list[str], shares: FloatArray) -> str:
    told = "/".join(f"{share:.0%}" for share in shares)
    return f"colour: {names[int(first_is_colour)]} is grey; the channels of the other are mixed to it, {told}"


def grey_shares(colour: AnyArray, grey: AnyArray) -> FloatArray:
    """Return in which parts the channels of a colour image make up a grey one of the same scene.

    Fitted to means over blocks, where blur hardly counts: a sensor without colours weighs them in another way than the
    program that made a colour picture grey. Equal parts if the pair cannot tell.
    """
    from scipy.optimize import nnls

    height, width = grey.shape
    factor = max(1, min(GREY_BLOCK_PX, height // LEAST_BLOCKS, width // LEAST_BLOCKS))
    good = np.isfinite(grey) & np.isfinite(colour).all(axis=2)
    planes = [np.where(good, plane, 0) for plane in (*np.moveaxis(colour, 2, 0), grey)]
    *columns, wanted = (block_means(np.asarray(plane, np.float64), factor).ravel() for plane in planes)
    shares, _ = nnls(np.stack(columns, axis=1), wanted)
    equal = np.full(colour.shape[2], 1 / colour.shape[2])
    return shares / shares.sum() if shares.sum() > 0 else equal


def _check_alike(one: AnyArray, two: AnyArray, names: tuple[str, str]) -> None:
    if np.ndim(one) != np.ndim(two) and one.shape[:2] == two.shape[:2]:
        grey_one = names[0] if one.ndim == 2 else names[1]
        raise InputError(f"{grey_one} is grey and the other image is colour; convert one of them")
    if one.shape != two.shape:
        raise InputError(
            f"the images differ in size: {names[0]} is {one.shape[1]}x{one.shape[0]}, "
            f"{names[1]} is {two.shape[1]}x{two.shape[0]}; crop or resize them to the same view"
        )
