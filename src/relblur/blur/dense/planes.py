"""Two images of any kind as stacks of planes on one working scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from ...field import fill

__all__ = ["Planes", "colour_directions", "in_colours", "intensity_range", "prepare"]

Array = NDArray[np.float32]

#: Least share of the texture in the selected colour directions.
ENOUGH_TEXTURE = 0.7


@dataclass(frozen=True)
class Planes:
    """Two (channels, H, W) images centred on 0, contrast about 1, and the distance of pixels from unusable ones.

    ``unit`` is the intensity range that is scaled to 1, so that results do not depend on the intensity scale.
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
    """Normalise a pair, and fill its unusable pixels.

    The unit is the range between the 0.5 % and 99.5 % quantiles of both images, or the given limits.  Invalid and
    non-finite pixels are replaced by a smooth continuation of the valid ones around them. They are excluded
    later, with the pixels that they reach.
    """
    images = [np.asarray(image, np.float64) for image in (first, second)]
    images = [image[..., None] if image.ndim == 2 else image for image in images]
    usable = np.ones(images[0].shape[:2], bool) if valid is None else np.asarray(valid, bool)
    usable = usable & np.isfinite(images[0]).all(axis=-1) & np.isfinite(images[1]).all(axis=-1)
    low, high = limits or intensity_range([image[usable] for image in images])
    unit = float(high - low)
    if not unit > 1e-12 * max(abs(low), abs(high)):  # without contrast any unit is valid
        unit = max(abs(float(low)), abs(float(high))) or 1.0
    planes = [
        np.ascontiguousarray(
            np.where(usable[..., None], (image - (low + high) / 2) / unit, 0).astype(np.float32).transpose(2, 0, 1)
        )
        for image in images
    ]
    if usable.all():
        return Planes(planes[0], planes[1], usable, None, unit)
    for plane in (*planes[0], *planes[1]):
        plane[~usable] = fill(plane, usable.astype(np.float32))[~usable]
    distance = cv2.distanceTransform(usable.astype(np.uint8), cv2.DIST_L2, 5)
    return Planes(planes[0], planes[1], usable, np.asarray(distance), unit)


def intensity_range(images: list[NDArray[Any]]) -> tuple[float, float]:
    """Return the 0.5 % and 99.5 % quantiles of the values of some images."""
    values = np.concatenate(images)
    if values.size == 0:
        return 0.0, 0.0
    low, high = np.percentile(values, [0.5, 99.5])
    return float(low), float(high)


def in_colours(image: Array, directions: Array | None) -> Array:
    """Return a (channels, H, W) image in some colour directions, (components, H, W)."""
    return image if directions is None else np.ascontiguousarray(np.tensordot(directions, image, axes=1))


def colour_directions(pairs: Sequence[tuple[Array, Array]]) -> Array | None:
    """Return the few colour directions with most of the texture of some (channels, H, W) pairs; None for grey.

    The channels of a photograph are strongly correlated.  The leading principal directions of the differences between
    neighbouring pixels contain 70 % of the texture: mostly one, sometimes two of three. The rest is largely noise. The
    rotation does not change white noise.
    """
    channels = pairs[0][0].shape[0]
    if channels == 1:
        return None
    gram = np.zeros((channels, channels))
    for image in (image for pair in pairs for image in pair):
        for axis in (1, 2):
            steps = np.diff(image, axis=axis).reshape(channels, -1)
            gram += np.einsum("in,jn->ij", steps, steps, dtype=np.float64)
    power, directions = np.linalg.eigh(gram)
    share = np.cumsum(power[::-1]) / max(float(power.sum()), 1e-30)
    count = min(int(np.searchsorted(share, ENOUGH_TEXTURE)) + 1, channels)
    leading = directions[:, ::-1][:, :count].T.astype(np.float32)
    # The sign is fixed, so that results do not depend on the linear algebra library.
    return np.asarray(leading * np.sign(leading.sum(axis=1, keepdims=True) + np.float32(1e-9)))
