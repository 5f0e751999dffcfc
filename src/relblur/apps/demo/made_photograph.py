"""Generate a synthetic photograph: stones of several tints, with texture at every scale like natural surfaces.

It replaces scikit-image's photographs if that package is not installed. The demonstration, the benchmark and the
paper's experiments then run on a plain installation.
"""

from __future__ import annotations

import zlib

import numpy as np

from ...base._typing import FloatArray, UInt8Array

__all__ = ["made_photograph"]

SHAPE, STONES = (512, 640), 90

#: Standard deviation of the texture on a middle-grey stone, as a fraction of full scale. Chosen by eye.
TEXTURE = 0.09


def made_photograph(name: str) -> UInt8Array:
    """Return a synthetic picture, in colour for the name "coffee", else grey; the name is the seed."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    tint = _stones(rng)
    picture = 0.15 + 0.55 * tint + TEXTURE * _texture(rng)[:, :, None] * (0.6 + 0.8 * tint)
    picture += 0.02 * rng.normal(size=tint.shape)
    stored = np.rint(255 * picture.clip(0.02, 0.97)).astype(np.uint8)
    return stored if name == "coffee" else np.ascontiguousarray(stored[:, :, 1])


def _stones(rng: np.random.Generator) -> FloatArray:
    """Return (H, W, 3) tints of stones: each pixel has the tint of the nearest random centre, darker far from it."""
    rows, columns = np.indices(SHAPE, dtype=np.float32)
    centres, sizes = rng.uniform(0, SHAPE, (STONES, 2)), rng.uniform(0.7, 1.4, STONES)
    nearest = np.full(SHAPE, np.inf, dtype=np.float32)
    stone = np.zeros(SHAPE, dtype=np.intp)
    for number, ((row, column), size) in enumerate(zip(centres, sizes, strict=True)):
        distance = size * np.hypot(rows - row, columns - column)
        stone[distance < nearest] = number
        np.minimum(nearest, distance, out=nearest)
    tints = (rng.uniform(0.25, 1.0, (STONES, 1)) * (1 + 0.2 * rng.normal(size=(STONES, 3)))).clip(0, 1)
    return np.asarray(tints[stone] * (1 - 0.5 * (nearest / nearest.max()) ** 2)[:, :, None], dtype=np.float64)


def _texture(rng: np.random.Generator) -> FloatArray:
    """Return noise of variance 1 with an amplitude proportional to 1 / frequency."""
    down, across = np.fft.fftfreq(SHAPE[0])[:, None], np.fft.rfftfreq(SHAPE[1])[None]
    spectrum = np.fft.rfft2(rng.normal(size=SHAPE)) / np.maximum(np.hypot(down, across), 0.01)
    noise = np.fft.irfft2(spectrum, SHAPE)
    return np.asarray((noise - noise.mean()) / noise.std())
