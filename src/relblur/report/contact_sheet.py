"""Many pairs on one sheet: a photograph and a map of each, all maps in the same colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import RelblurError
from ..base.pixels import as_integers
from ..blur.comparable_pair import ComparablePair
from ..files.disk import write_image
from ..files.images import read_image
from ..plot.colours import Kind, look_of, photo, scale_for
from .panels import Panel, panels_picture

__all__ = ["SheetEntry", "contact_sheet", "read_thumbnail", "thinned", "write_thumbnails"]

#: Longest side of a thumbnail, px, and what it is called in a pair's folder.
SIDE = 320
THUMBNAILS = ("thumbnail_first.png", "thumbnail_second.png")

#: Pairs on a sheet, and in a row of it; inches of a picture.
MOST_PAIRS = 120
PAIRS_IN_ROW = 3
WIDTH = 2.4


@dataclass(frozen=True)
class SheetEntry:
    """A pair on the sheet: photograph and map with what stands above them."""

    name: str
    photograph: AnyArray
    note: str
    shown: AnyArray


def write_thumbnails(folder: Path, pair: ComparablePair) -> None:
    """Leave small photographs of a pair in its folder."""
    look = look_of(pair)
    for name, image in zip(THUMBNAILS, (pair.first, pair.second), strict=True):
        small = thinned(photo(look(image)), smooth=True)
        write_image(folder / name, as_integers(small, np.uint8))


def read_thumbnail(folder: Path, which: int = 0) -> AnyArray:
    """Return a photograph that :func:`write_thumbnails` left; grey if it is gone."""
    try:
        return read_image(folder / THUMBNAILS[which])
    except RelblurError:
        return np.full((3, 4), 0.6)


def thinned(image: AnyArray, *, smooth: bool = False) -> AnyArray:
    """Return an image or a map of at most 320 px a side: averaged if ``smooth``, else some of its values."""
    step = -(-max(image.shape[:2]) // SIDE)
    if step == 1:
        return image
    if not smooth:
        return image[step // 2 :: step, step // 2 :: step] if min(image.shape[:2]) > step else image[::step, ::step]
    import cv2

    size = (max(1, image.shape[1] // step), max(1, image.shape[0] // step))
    return np.asarray(cv2.resize(np.ascontiguousarray(image), size, interpolation=cv2.INTER_AREA))


def contact_sheet(path: Path, entries: Sequence[SheetEntry], kind: Kind, heading: str) -> None:
    """Write a sheet of pairs; maps of ``kind`` share one scale, which robust limits of all of them together give."""
    shown = entries[:MOST_PAIRS]
    if len(shown) < len(entries):
        heading += f"\nthe first {len(shown)} of {len(entries)} pairs"
    scale = None if kind == "photo" else scale_for(_together([entry.shown for entry in shown]), kind)
    panels = []
    for entry in shown:
        panels += [Panel(entry.name, entry.photograph), Panel(entry.note, entry.shown, kind, scale=scale)]
    panels_picture(path, panels, columns=2 * PAIRS_IN_ROW, heading=heading, panel_width=WIDTH)


def _together(maps: Sequence[AnyArray]) -> FloatArray:
    """Return all values of all maps in one row."""
    return np.concatenate([np.asarray(each, np.float64).ravel() for each in maps])[None]
