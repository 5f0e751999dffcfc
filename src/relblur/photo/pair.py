"""Two images, from files or arrays, read and checked against each other."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike
from ..base.errors import InputError
from ..base.inputs import check_form
from ..base.pixels import unit_float
from ..blur.comparable_pair import ComparablePair
from ..engines.threads import count_workers
from ..files.disk import PathLike
from ..files.images import StoredImage, read_image
from ..files.shot import smaller_aperture
from .photograph import Photograph, check_gamma, photograph_of, read_photograph

__all__ = ["Source", "read_light_pair", "read_pair"]

#: An image file, or an image.
Source = PathLike | ArrayLike


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

    Arrays are light already unless ``gamma`` says otherwise.
    """
    gamma = check_gamma(gamma, linear)

    def read(named: tuple[str, Any]) -> Photograph:
        name, source = named
        if isinstance(source, (str, os.PathLike)):
            return read_photograph(source, linear=linear, gamma=gamma)
        values = check_form(source, name, channel_axis=channel_axis)
        if np.ma.isMaskedArray(values):
            values = np.ma.filled(unit_float(values), np.nan)
        stored = StoredImage(values if channel_axis is not None else values[:, :, 0], "array", linear=True)
        return photograph_of(stored, linear=linear, gamma=gamma)

    with ThreadPoolExecutor(min(2, count_workers(None))) as pool:
        photographs = list(pool.map(read, (("first", first), ("second", second))))
    one, two = (photograph.light for photograph in photographs)
    names = [str(s) if isinstance(s, (str, os.PathLike)) else n for n, s in (("first", first), ("second", second))]
    _check_alike(one, two, (names[0], names[1]))
    sharper = smaller_aperture(photographs[0].info["shot"], photographs[1].info["shot"])
    roundings = [photograph.rounding for photograph in photographs]
    return ComparablePair(
        one,
        two,
        clipped=(photographs[0].clipped, photographs[1].clipped),
        rounding=None if roundings[0] is None or roundings[1] is None else (roundings[0], roundings[1]),
        is_light=linear,
        notes=_reading_notes(photographs[0], photographs[1], sharper),
        sharper=sharper or "auto",
        names=(os.path.basename(names[0]), os.path.basename(names[1])),
    ).without_bad_pixels()


def _reading_notes(first: Photograph, second: Photograph, sharper: str | None) -> tuple[str, ...]:
    one, two = first.describe(), second.describe()
    notes = (f"light: {one}",) if one == two else (f"light, first: {one}", f"light, second: {two}")
    if sharper is None:
        return notes
    f_numbers = " and ".join(f"f/{photograph.info['shot'].f_number:g}" for photograph in (first, second))
    return (*notes, f"apertures: {f_numbers}, one focus: {sharper} is taken for the sharper everywhere")


def _check_alike(one: AnyArray, two: AnyArray, names: tuple[str, str]) -> None:
    if np.ndim(one) != np.ndim(two):
        grey_one = names[0] if one.ndim == 2 else names[1]
        raise InputError(f"{grey_one} is grey and the other image is colour; convert one of them")
    if one.shape != two.shape:
        raise InputError(
            f"the images differ in size: {names[0]} is {one.shape[1]}x{one.shape[0]}, "
            f"{names[1]} is {two.shape[1]}x{two.shape[0]}; crop or resize them to the same view"
        )
