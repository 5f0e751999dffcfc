"""Generate a synthetic photograph: stones of several tints, with texture at every scale like natural surfaces.

It replaces scikit-image's photographs if that package is not installed. The demonstration, the benchmark and the
paper's experiments then run on a plain installation.
"""

from __future__ import annotations

import zlib

import numpy as np

from ...base._typing import FloatArray, UInt8Array

__all__ = ["made_photograph"]

#: Shapes of the photographs in colour, px; all others are grey.
COLOURED = {"coffee": (400, 600), "astronaut": (512, 512), "chelsea": (300, 451), "rocket": (427, 640)}
GREY_SHAPE = (512, 512)

STONES = 90

#: Standard deviation of the texture on a middle-grey stone, as a fraction of full scale. Chosen by eye.
TEXTURE = 0.09


def made_photograph(name: str) -> UInt8Array:
    """Return a synthetic picture with the size and channels of a scikit-image photograph; the name is the seed."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    shape = COLOURED.get(name, GREY_SHAPE)
    tint = _stones(shape, rng)
    fine = _texture(shape, rng)[:, :, None] * (0.6 + 0.8 * tint)
    picture = 0.15 + 0.55 * tint + TEXTURE * fine + 0.02 * rng.normal(size=tint.shape)
    stored = np.rint(255 * picture.clip(0.02, 0.97)).astype(np.uint8)
    return stored if name in COLOURED else np.ascontiguousarray(stored[:, :, 1])


def _stones(shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Return (H, W, 3) tints of stones: each pixel has the tint of the nearest random centre, darker far from it."""
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(np.float32)
    nearest = np.full(shape, np.inf, dtype=np.float32)
    stone = np.zeros(shape, dtype=np.intp)
    for number in range(STONES):
        row, column = rng.uniform(0, shape[0]), rng.uniform(0, shape[1])
        distance = np.hypot(rows - row, columns - column) * rng.uniform(0.7, 1.4)
        nearer = distance < nearest
        nearest[nearer], stone[nearer] = distance[nearer], number
    grey = rng.uniform(0.25, 1.0, (STONES, 1))
    tints = (grey * (1 + 0.2 * rng.normal(size=(STONES, 3)))).clip(0, 1)
    relief = 1 - 0.5 * (nearest / nearest.max()) ** 2
    return np.asarray(tints[stone] * relief[:, :, None], dtype=np.float64)


def _texture(shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Return noise of variance 1 with an amplitude proportional to 1 / frequency."""
    down, across = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None]
    spectrum = np.fft.rfft2(rng.normal(size=shape)) / np.maximum(np.hypot(down, across), 0.01)
    noise = np.fft.irfft2(spectrum, shape)
    return np.asarray((noise - noise.mean()) / noise.std())
