"""Warnings that the two images are not in the order of the camera.

Two images with different focus do not determine their order. Exchanged images fit a scene mirrored at the plane of
equal blur, ``u -> u_1 + u_2 - u``. Evidence of a wrong order comes from file names, EXIF data and distances beyond
infinity. Two images with different apertures determine their order: the smaller aperture gives the sharper image.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

import numpy as np

from ..base.errors import RelblurError
from ..blur.blur_map import Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..blur.estimate import estimate_blur
from ..filters.decimation import grey_block_means, whole_blocks
from ..images.disk import PathLike
from .camera import Camera
from .camera_file import camera_fields_from_exif
from .depth_map import DepthMap

__all__ = ["depth_order_warnings", "file_order_warnings", "image_order_warnings"]

#: Words in file names that mark the image focused on the nearer and on the farther distance.
_NEAR = re.compile(r"(?<![a-z])(near|close|front|foreground|fg)(?![a-z])")
_FAR = re.compile(r"(?<![a-z])(far|back|distant|background|bg)(?![a-z])")

#: Fraction of pixels beyond infinity that causes a warning. Noise puts half of a distant view there, and distant views
#: seldom fill 60 % of a picture.
_MOST_BEYOND = 0.3
#: Distance (m) above which the end of the depth range counts as infinite.
_ENDLESS_M = 1000.0
#: Fraction of the pixels with a sharper image that must favour one image to decide which image is the sharper.
_CONTRADICTING = 0.7
#: Size (pixels) of the decimated copy that shows which image is the sharper.
_ENOUGH_PIXELS = 250_000


def file_order_warnings(files: Sequence[PathLike], camera: Camera) -> list[str]:
    """Warn if the names or EXIF data of (first, second) contradict the focus distances of the camera."""
    one, two = camera.focus_first_m, camera.focus_second_m
    if one == two:
        return []
    names = [os.path.basename(os.fspath(path)).lower() for path in files]
    order = "near" if one < two else "far", "far" if one < two else "near"
    planes = f"the camera file focuses the first at {one:g} m and the second at {two:g} m"
    kinds = [_kind_of(name) for name in names]
    if kinds == [order[1], order[0]]:
        return [f"{files[0]} comes first and is called {kinds[0]}, but {planes}: are the two files swapped?"]
    try:
        found = camera_fields_from_exif(files[0], files[1], None)
    except RelblurError:  # no readable EXIF data: nothing to compare
        return []
    near, far = found.get("focus_first_m"), found.get("focus_second_m")
    if near is None or far is None or near == far or (near < far) == (one < two):
        return []
    return [f"EXIF has {near:g} m for the first and {far:g} m for the second, but {planes}: are they swapped?"]


def image_order_warnings(pair: ComparablePair, camera: Camera) -> list[str]:
    """Warn if the image with the larger aperture is the sharper (two apertures and one focus only)."""
    if camera.kind != "aperture":
        return []
    one, two = camera.circle_constants_px_m
    sharper = "first" if one < two else "second"
    found = pair.sharper if pair.sharper != "auto" else _sharper_image(pair)
    if found in ("", sharper):
        return []
    return [
        f"the {found} image is the sharper, but the camera file has the smaller aperture in the {sharper}: "
        "are the two files swapped?"
    ]


def depth_order_warnings(found: DepthMap) -> list[str]:
    """Warn if many pixels of a map have impossible distances."""
    # Filled pixels are included: blur hardly changes at the end of the range, so pixels there are flagged as filled.
    informative = ~has_flag(found.flags, Flag.INVALID | Flag.CLIPPED | Flag.FLAT | Flag.EQUAL)
    with np.errstate(invalid="ignore"):
        endless = has_flag(found.flags, Flag.AT_LIMIT) & (found.depth_m > _ENDLESS_M)
    impossible = has_flag(found.flags, Flag.OUT_OF_RANGE) | endless
    share = float(impossible[informative].mean()) if informative.any() else 0.0
    if share < _MOST_BEYOND:
        return []
    planes = (
        "FIRST is the image focused at "
        f"{found.camera.focus_first_m:g} m, SECOND that at {found.camera.focus_second_m:g} m"
        if found.camera.kind != "aperture"
        else "FIRST and SECOND in the order of the camera file's two f-numbers"
    )
    return [
        f"{share:.0%} of the pixels have blur that this camera makes at no distance, as if they lay "
        f"beyond infinity: are the two files swapped? ({planes})"
    ]


def _kind_of(name: str) -> str:
    stem = name.rpartition(".")[0] or name
    near, far = bool(_NEAR.search(stem)), bool(_FAR.search(stem))
    return "" if near == far else "near" if near else "far"


def _sharper_image(pair: ComparablePair) -> str:
    """Return which image is the sharper at most pixels of a decimated copy; an empty string if neither is."""
    height, width = pair.shape
    step = max(1, round(np.sqrt(height * width / _ENOUGH_PIXELS)))
    one, two = (grey_block_means(image, step) for image in (pair.first, pair.second))
    if min(one.shape) < 16:
        return ""
    usable = np.asarray(whole_blocks(pair.usable, step).all(axis=(1, 3)))
    found = estimate_blur(one, two, method="window", valid=usable, engine="opencv")
    first, second = int((found.sharper == 1).sum()), int((found.sharper == -1).sum())
    if max(first, second) < max(_CONTRADICTING * (first + second), 50):
        return ""
    return "first" if first > second else "second"
