"""The sharpest frame of a stack at each pixel, by its detail.

The energy of the Laplacian is averaged over a small window at each level of a pyramid. The logarithm of the ratio of
two frames is their log odds of being in focus, above the noise. A coarser level has weight only where the finer ones
contain noise alone. So the finest level selects the frame at an outline, and not the blur of bright detail beside it.
On a smooth surface the coarse levels follow the slow shading. Evidence is added from fine to coarse levels and back, so
that plain areas have the frame of the detail around them. Without detail all frames have the same weight, and their
average has the least noise.
"""

from __future__ import annotations

import numpy as np

from ..base._typing import AnyArray

__all__ = ["detail_of", "log_odds", "sampling_step"]

#: Standard deviation of the window by level, px of the level, the last for all coarser ones. Wider windows of coarse
#: levels select the halo of an outline, a narrower one of the finest level selects noise.
_WINDOWS = (2.0, 1.0, 0.7)
#: Least shorter side of the coarsest level, px.
_COARSEST_SIDE = 24
#: Energy over noise at which the weight of a level is half. Below 100 JPEG noise in plain areas selects the frame.
_CLEAR = 150.0
#: Factor of the noise energy added to the energy of a frame, and the percentile of the least energy that is noise.
_NOISE, _NOISE_PERCENT = 2.0, 10.0
#: Least noise energy of a picture of range 1: that of a hundredth of an 8-bit step.
_LEAST = 1e-9
#: Exponent of the ratio of energies in the weight of a frame. From 5 to 12 the pictures differ by 2 %.
_POWER = 8.0
#: Weight of finer levels on a coarser one, and of coarser levels on a finer one. With a smaller pull noise selects the
#: frame of plain areas, a larger one moves outlines.
_SPREAD, _PULL = 0.3, 1.0
#: Weight of equal odds of all frames, relative to clear detail.
_NO_EVIDENCE = 1e-3
#: Weights of larger images (px) and of stacks of more values are computed at every second, fourth, ... pixel.
_MOST_PIXELS, _MOST_VALUES = 1_000_000, 50_000_000


def sampling_step(shape: tuple[int, int], count: int) -> int:
    """Return the distance between the pixels at which weights are computed, a power of two."""
    pixels, step = shape[0] * shape[1], 1
    while (step == 1 and pixels > _MOST_PIXELS) or pixels * count > _MOST_VALUES * step**2:
        step *= 2
    return step


def detail_of(light: AnyArray, top: float, step: int) -> list[AnyArray]:
    """Return the energy of (H, W, C) light whose white is ``top``, at each level; fine levels are sampled.

    The square root of light has about the same noise in dark and bright areas.
    """
    import cv2

    image = np.maximum(light, 0)
    image *= np.float32(1 / top)
    image = cv2.sqrt(image, dst=image).reshape(light.shape)
    levels: list[AnyArray] = []
    scale = 1
    while True:
        fine = cv2.Laplacian(image, cv2.CV_32F, borderType=cv2.BORDER_REFLECT)
        np.square(fine, out=fine)
        energy = cv2.transform(fine, np.ones((1, fine.shape[2]))) if fine.ndim == 3 else fine
        del fine
        width = _WINDOWS[min(len(levels), len(_WINDOWS) - 1)]
        energy = cv2.GaussianBlur(energy, (0, 0), width, borderType=cv2.BORDER_REFLECT)
        stride = max(1, step // scale)
        levels.append(np.ascontiguousarray(energy[::stride, ::stride]))
        if min(image.shape[:2]) < 2 * _COARSEST_SIDE:
            return levels
        image, scale = cv2.pyrDown(image, borderType=cv2.BORDER_REFLECT), 2 * scale


def log_odds(levels: list[AnyArray]) -> AnyArray:
    """Return the logarithm of the weight of every frame, (N, h, w) float32, up to a term common to all frames.

    ``levels`` are the energies of all frames, (N, h, w), from fine to coarse. They are overwritten.
    """
    import cv2

    undecided = np.ones(levels[0].shape[1:], np.float32)
    masses: list[AnyArray] = []
    for number, level in enumerate(levels):
        noise = max(float(np.percentile(level.min(axis=0)[::2, ::2], _NOISE_PERCENT)), _LEAST)
        undecided = _resized(undecided, level.shape[1:])
        noise_share = 1 / (1 + np.square(level.max(axis=0) * np.float32(1 / (_CLEAR * noise))))
        level += np.float32(_NOISE * noise)
        flat = level.reshape(len(level), -1)
        cv2.log(flat, dst=flat)
        level -= level.mean(axis=0)
        mass = undecided * (1 - noise_share)
        level *= mass
        if number:  # evidence of finer levels around
            for each, finer in zip(level, levels[number - 1], strict=True):
                each += np.float32(_SPREAD) * _resized(finer, mass.shape)
            mass += np.float32(_SPREAD) * _resized(masses[-1], mass.shape)
        undecided = undecided * noise_share
        masses.append(mass)
    total, mass = levels[-1], masses[-1]
    for level, own in zip(levels[-2::-1], masses[-2::-1], strict=True):
        for each, coarser in zip(level, total, strict=True):
            each += np.float32(_PULL) * _resized(coarser, own.shape)
        total, mass = level, own + np.float32(_PULL) * _resized(mass, own.shape)
    total *= np.float32(_POWER) / (mass + np.float32(_NO_EVIDENCE))
    return np.asarray(total)


def _resized(image: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    import cv2

    if image.shape == shape:
        return image
    smaller = image.shape[0] > shape[0]
    return np.asarray(
        cv2.resize(image, (shape[1], shape[0]), interpolation=cv2.INTER_AREA if smaller else cv2.INTER_LINEAR)
    )
