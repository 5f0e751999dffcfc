"""Synthetic defocused pairs of a scene with known depth, for tests of depth estimators.

Each pixel is blurred with the circle of confusion of its own depth (the gather model of equation 9, with any shape of
blur). Occlusion is not modelled: each pixel gathers light from its neighbours as if they had its own depth.
"""

from __future__ import annotations

import math

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.errors import InputError
from ..base.inputs import as_image
from .camera import Camera
from .psf import Psf, PsfLike, as_psf

__all__ = ["defocused_pair"]

#: Step of the circle diameter (px) between blurred versions: exact to a few millionths of the contrast.
STEP_PX = 0.05


def defocused_pair(
    image: ArrayLike,
    depth_m: ArrayLike,
    camera: Camera,
    *,
    psf: PsfLike = "disc",
    channel_axis: int | None = None,
    step_px: float = STEP_PX,
) -> tuple[FloatArray, FloatArray]:
    """Return (first, second): the two images that a camera makes of a sharp picture at ``depth_m``.

    Parameters
    ----------
    image : (H, W) array, or colour with ``channel_axis``
        A sharp image, in linear light.
    depth_m : number or (H, W) array
        Distance of each pixel, finite and > 0.
    psf
        Shape of the blur, as for :func:`relblur.estimate_depth`.
    step_px : float
        Step of the circle diameter between blurred versions. Circles in between are interpolated linearly.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import Camera
    >>> camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    >>> sharp = np.random.default_rng(0).random((32, 32))
    >>> first, second = defocused_pair(sharp, 1.0, camera)
    >>> bool(np.allclose(first, sharp)), bool(second.std() < first.std())
    (True, True)
    """
    array = as_image(image, channel_axis=channel_axis)
    try:
        depth = np.broadcast_to(np.asarray(depth_m, dtype=np.float64), array.shape[:2])
    except ValueError:
        raise InputError(
            f"depth_m has shape {np.shape(depth_m)}; it must be a number or match the image, {array.shape[:2]}"
        ) from None
    if not np.isfinite(depth).all() or (depth <= 0).any():
        raise InputError("depth_m must be finite and > 0 m everywhere")
    shape = as_psf(psf, camera.blur_constant)
    planes = array[None] if array.ndim == 2 else np.moveaxis(array, -1, 0)
    first, second = (_blur_by_circle(planes, circle, shape, step_px) for circle in camera.circle_px(depth))
    if array.ndim == 2:
        return first[0], second[0]
    return np.ascontiguousarray(np.moveaxis(first, 0, -1)), np.ascontiguousarray(np.moveaxis(second, 0, -1))


def _blur_by_circle(planes: FloatArray, circle: FloatArray, psf: Psf, step_px: float) -> FloatArray:
    """Blur (C, H, W) planes with a map of signed diameters."""
    height, width = circle.shape
    reach = min(math.ceil(float(np.abs(circle).max())) + 8, height, width)
    padded = np.pad(planes, ((0, 0), (reach, reach), (reach, reach)), mode="symmetric")
    spectrum = np.fft.rfft2(padded)
    transfer = psf.transfer_on(np.fft.fftfreq(padded.shape[1]), np.fft.rfftfreq(padded.shape[2]))
    place = circle / step_px
    out = np.zeros_like(planes)
    lowest = math.floor(float(place.min()))
    for level in range(lowest, math.ceil(float(place.max())) + 1):
        share = np.maximum(1 - np.abs(place - level), 0)
        if not share.any():
            continue
        blurred = np.fft.irfft2(spectrum * transfer(level * step_px), s=padded.shape[1:])
        out += share * blurred[:, reach : reach + height, reach : reach + width]
    return out
