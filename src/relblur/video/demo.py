"""Two clips whose relative blur is known at every pixel of every frame, made from nothing but random numbers.

A textured wall, sharper in the first clip, and a textured disc before it that wanders, sharper in the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..base._typing import FloatArray
from ..filters.bank import gaussian_bank
from ..photo.tone_curves import encode_srgb
from .writing import write_lossless

__all__ = ["DemoClips", "make_clips"]

SHAPE, RATE = (240, 320), 25.0

#: Relative blur of wall and disc, px: positive where the second clip is the blurrier.
WALL_PX, DISC_PX = 1.8, -1.2

#: Standard deviation of the noise, in light on a scale of 0..1: a small sensor in daylight.
NOISE = 0.002

_SEED = 20260118


@dataclass(frozen=True)
class DemoClips:
    """The clips on disk and the truth."""

    near: Path
    far: Path
    centres: list[tuple[float, float]]

    def truth(self, number: int) -> FloatArray:
        """Return the signed blur of a frame in px, NaN at the edge of the disc, where two blurs meet."""
        distance = _distance(self.centres[number])
        field = np.where(distance < 0, DISC_PX, WALL_PX)
        return np.where(np.abs(distance) < 10, np.nan, field)


def make_clips(folder: Path, frames: int = 50) -> DemoClips:
    """Write ``near.mkv`` and ``far.mkv`` (FFV1, grey) into a folder."""
    rng = np.random.default_rng(_SEED)
    wall, disc = (_texture(rng, tone) for tone in ((0.12, 0.5), (0.2, 0.8)))
    blurred = {
        "near": (wall, gaussian_bank(disc, [abs(DISC_PX)])[0]),
        "far": (gaussian_bank(wall, [WALL_PX])[0], disc),
    }
    angles = 2 * np.pi * np.arange(frames) / max(frames, 1)
    centres = [(SHAPE[0] * (0.5 + 0.12 * np.sin(a)), SHAPE[1] * (0.5 + 0.2 * np.cos(a))) for a in angles]
    for name, (behind, before) in blurred.items():
        pictures = []
        for centre in centres:
            cover = np.clip(0.5 - _distance(centre), 0, 1)
            light = cover * before + (1 - cover) * behind + rng.normal(0, NOISE, SHAPE)
            pictures.append(np.rint(255 * encode_srgb(light)).astype(np.uint8))
        write_lossless(folder / f"{name}.mkv", pictures, RATE)
    return DemoClips(folder / "near.mkv", folder / "far.mkv", [(float(y), float(x)) for y, x in centres])


def _texture(rng: np.random.Generator, tone: tuple[float, float]) -> FloatArray:
    """Return light with detail of all sizes, as natural scenes have it: amplitudes fall as 1/f."""
    y, x = np.fft.fftfreq(SHAPE[0])[:, None], np.fft.rfftfreq(SHAPE[1])[None, :]
    frequency = np.hypot(y, x)
    frequency[0, 0] = 1
    spectrum = np.fft.rfft2(rng.normal(size=SHAPE)) / frequency**0.8
    spectrum[0, 0] = 0
    field = np.fft.irfft2(spectrum, SHAPE)
    low, high = tone
    return np.clip((low + high) / 2 + (high - low) / 6 * field / field.std(), 0.02, 0.95)


def _distance(centre: tuple[float, float]) -> FloatArray:
    """Return the distance from the edge of the disc, px; negative inside."""
    y, x = np.indices(SHAPE)
    return np.hypot(y - centre[0], x - centre[1]) - 0.27 * SHAPE[0]
