"""Warn if the two images are not in the order of the camera.

Two images with different focus do not determine their order. Exchanged images fit a scene mirrored at the plane of
equal blur, ``u -> u_1 + u_2 - u``. Evidence of a wrong order comes from file names and from distances beyond infinity.
Two images with different apertures determine their order: the smaller aperture gives the sharper image.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np

from ..blur.blur_map import Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..images.disk import PathLike
from .camera import Camera
from .depth_map import DepthMap

__all__ = ["depth_order_warnings", "file_order_warnings", "image_order_warnings"]

#: Words in the file names of the image with the nearer focus, and of that with the farther focus.
_NEAR = re.compile(r"(?<![a-z])(near|close|front|foreground|fg)(?![a-z])")
_FAR = re.compile(r"(?<![a-z])(far|back|distant|background|bg)(?![a-z])")

#: Fraction of pixels beyond infinity that causes a warning. Noise puts half of a distant view there, and distant views
#: seldom fill 60 % of a picture.
_MOST_BEYOND = 0.3
#: Distance (m) above which the end of the depth range counts as infinite.
_ENDLESS_M = 1000.0
#: Ratio of the power of fine detail above which one image counts as the sharper.
_CLEARLY_SHARPER = 1.3


def file_order_warnings(files: Sequence[PathLike], camera: Camera) -> list[str]:
    """Warn if the names of (first, second) contradict the focus distances of the camera."""
    one, two = camera.focus_first_m, camera.focus_second_m
    kinds = [_kind_of(os.path.basename(os.fspath(path)).lower()) for path in files]
    if one == two or kinds != (["far", "near"] if one < two else ["near", "far"]):
        return []
    return [
        f"{files[0]} comes first and is called {kinds[0]}, but the camera file focuses the first at {one:g} m and the "
        f"second at {two:g} m: are the two files swapped?"
    ]


def image_order_warnings(pair: ComparablePair, camera: Camera) -> list[str]:
    """Warn if the image with the larger aperture is the sharper (two apertures and one focus only)."""
    sharper = camera.sharper
    if sharper == "auto":
        return []
    usable = pair.usable[1:] & pair.usable[:-1]
    one, two = (float(np.square(np.diff(image, axis=0))[usable].sum()) for image in (pair.first, pair.second))
    measured = "first" if one > _CLEARLY_SHARPER * two else "second" if two > _CLEARLY_SHARPER * one else sharper
    if measured == sharper:
        return []
    return [
        f"the {measured} image is the sharper, but the camera file has the smaller aperture in the {sharper}: "
        "are the two files swapped?"
    ]


def depth_order_warnings(depth_map: DepthMap) -> list[str]:
    """Warn if many pixels of a map have impossible distances."""
    # Filled pixels are included: blur hardly changes at the end of the range, so pixels there are flagged as filled.
    informative = ~has_flag(depth_map.flags, Flag.INVALID | Flag.CLIPPED | Flag.FLAT | Flag.EQUAL)
    with np.errstate(invalid="ignore"):
        endless = has_flag(depth_map.flags, Flag.AT_LIMIT) & (depth_map.depth_m > _ENDLESS_M)
    impossible = has_flag(depth_map.flags, Flag.OUT_OF_RANGE) | endless
    share = float(impossible[informative].mean()) if informative.any() else 0.0
    if share < _MOST_BEYOND:
        return []
    return [
        f"{share:.0%} of the pixels have blur that this camera makes at no distance, as if they lay beyond infinity: "
        f"are the two files swapped? (camera: {depth_map.camera.describe()}, first and second in this order)"
    ]


def _kind_of(name: str) -> str:
    stem = name.rpartition(".")[0] or name
    near, far = bool(_NEAR.search(stem)), bool(_FAR.search(stem))
    return "" if near == far else "near" if near else "far"
