"""From whatever arrays came in to two stacks of planes on one working scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]


#: Share of the texture that the colour directions in use must hold.
ENOUGH_TEXTURE = 0.7


@dataclass(frozen=True)
class Planes:
    """Two (channels, H, W) images centred on 0 with contrast about 1, and how far each pixel is from invalid ones.

    ``unit`` is the intensity that became 1: everything after it is free of the intensity scale.
    """

    first: Array
    second: Array
    usable: NDArray[np.bool_]
    distance: Array | None
    unit: float


def prepare(
    first: NDArray[Any],
    second: NDArray[Any],
    valid: NDArray[np.bool_] | None,
    limits: tuple[float, float] | None = None,
) -> Planes:
    """Normalise a pair and take out what must not be used.

    The unit is the range between the 0.5 % and 99.5 % quantiles of both images, or the given limits.  Invalid and
    non-finite pixels are replaced by a smooth continuation of the valid ones around them, so that blurring spreads
    nothing strange; their data are excluded later, with their reach.
    """
    images = [np.asarray(image, np.float64) for image in (first, second)]
    images = [image[..., None] if image.ndim == 2 else image for image in images]
    usable = np.ones(images[0].shape[:2], bool) if valid is None else np.asarray(valid, bool)
    usable = usable & np.isfinite(images[0]).all(axis=-1) & np.isfinite(images[1]).all(axis=-1)
    if limits is None:
        limits = intensity_range([image[usable] for image in images])
    low, high = limits
    unit = float(high - low)
    if not unit > 1e-12 * max(abs(low), abs(high)):  # no contrast: any unit will do
        unit = max(abs(float(low)), abs(float(high))) or 1.0
    planes: list[Array] = []
    for image in images:
        scaled = np.where(usable[..., None], (image - (low + high) / 2) / unit, 0.0).astype(np.float32)
        planes.append(np.ascontiguousarray(scaled.transpose(2, 0, 1)))
    if usable.all():
        return Planes(planes[0], planes[1], usable, None, unit)
    for stack in planes:
        for plane in stack:
            _continue(plane, usable)
    distance = cv2.distanceTransform(usable.astype(np.uint8), cv2.DIST_L2, 5)
    return Planes(planes[0], planes[1], usable, np.asarray(distance), unit)


def intensity_range(images: list[NDArray[Any]]) -> tuple[float, float]:
    """Return the 0.5 % and 99.5 % quantiles of the usable pixels of both images."""
    values = np.concatenate(images)
    if values.size == 0:
        return 0.0, 0.0
    low, high = np.percentile(values, [0.5, 99.5])
    return float(low), float(high)


def leading_colours(first: Array, second: Array, directions: Array | None = None) -> tuple[Array, Array]:
    """Return the pair in the few colour directions that hold its texture, (components, H, W)."""
    leading = colour_directions([(first, second)]) if directions is None else directions
    if leading is None:
        return first, second
    rotated = [np.ascontiguousarray(np.tensordot(leading, image, axes=1)) for image in (first, second)]
    return rotated[0], rotated[1]


def colour_directions(pairs: Sequence[tuple[Array, Array]]) -> Array | None:
    """Return the colour directions that hold the texture of some (channels, H, W) pairs; None for grey.

    The channels of a photograph say nearly the same: their principal directions (of differences between neighbouring
    pixels, where the information on blur is) are taken in turn until 70 % of the texture is held, mostly one,
    sometimes two of three: the rest is largely noise. The rotation keeps noise white and of equal strength, so nothing
    else has to know.
    """
    channels = pairs[0][0].shape[0]
    if channels == 1:
        return None
    gram = np.zeros((channels, channels))
    for pair in pairs:
        steps = np.concatenate(
            [np.diff(image, axis=axis).reshape(channels, -1) for image in pair for axis in (1, 2)], axis=1
        )
        gram += np.einsum("in,jn->ij", steps, steps, dtype=np.float64)
    power, directions = np.linalg.eigh(gram)
    held = np.cumsum(power[::-1]) / max(float(power.sum()), 1e-30)
    count = min(int(np.searchsorted(held, ENOUGH_TEXTURE)) + 1, channels)
    leading = directions[:, ::-1][:, :count].T.astype(np.float32)
    # The sign of a direction is arbitrary; fix it so that results do not depend on the linear algebra library.
    return np.asarray(leading * np.sign(leading.sum(axis=1, keepdims=True) + np.float32(1e-9)))


def _continue(plane: Array, usable: NDArray[np.bool_]) -> None:
    """Overwrite unusable pixels by normalised averages over windows that double until they contain a usable one."""
    known = usable.astype(np.float32)
    todo = ~usable
    size = 5
    while todo.any() and size < 4 * max(plane.shape):
        window = (min(size, 2 * plane.shape[1] - 1), min(size, 2 * plane.shape[0] - 1))
        mass = cv2.blur(known, window, borderType=cv2.BORDER_REFLECT)
        mean = cv2.blur(plane * known, window, borderType=cv2.BORDER_REFLECT) / np.maximum(mass, np.float32(1e-9))
        reached = todo & (mass > 0.5 / (size * size))
        plane[reached] = mean[reached]
        todo &= ~reached
        size = 2 * size + 1
