"""A pair of our own in place of a data set of the paper that is not there.

A photograph of scikit-image is blurred by Gaussians of known size, in light, with a little noise, and stored as 8-bit
sRGB. The folder has the flat layout of the data set (:mod:`.data_sets`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ... import synth
from ...base._typing import FloatArray
from ...images.disk import write_image
from ...photo.tone_curves import SRGB, encode_srgb
from ..demo.program import photograph
from .data_sets import FoundSet, PairFiles

__all__ = ["STAND_INS", "make_stand_in"]

#: Folder of the stand-ins in the output folder; it can be given as --data.
STAND_INS = "stand_ins"

#: Photograph, and the files of I_F and I_B.
PAIRS = {"realmff": ("coffee", ("001_a.png", "001_b.png")), "dpdd": ("rocket", ("001_f4.png", "001_f22.png"))}

#: Standard deviation of the noise, of full scale: an 8-bit photograph's.
NOISE = 0.003


def make_stand_in(folder: Path, data_set: str) -> FoundSet:
    """Write a pair into its folder in an output folder, and return it."""
    name, files = PAIRS[data_set]
    near, far = (folder / STAND_INS / data_set / file for file in files)
    near.parent.mkdir(parents=True)
    sharp = photograph(name)
    blur = _blur_of_foreground(data_set, (sharp.shape[0], sharp.shape[1]))
    rng = np.random.default_rng(0)
    for path, light in zip((far, near), synth.pair(SRGB.undo(sharp), blur, channel_axis=-1), strict=True):
        write_image(path, synth.degrade(encode_srgb(light.clip(0, 1)), noise=NOISE, bits=8, rng=rng))
    pair = PairFiles(data_set, "001", near, far, is_stand_in=True)
    layout = "a stand-in of relblur's own; give the data set with --data"
    return FoundSet(data_set, layout, Path(STAND_INS, data_set), (pair,))


def _blur_of_foreground(data_set: str, shape: tuple[int, int]) -> FloatArray:
    """Return signed blur, px, positive where I_F is the blurrier; it is in proportion to the width.

    Real-MFF: a near disc before a far plane. DPDD: f/22 is sharp everywhere, f/4 at the lower edge only.
    """
    scale = shape[1] / 640
    if data_set == "realmff":
        return synth.disc(shape, -1.8 * scale, 2.4 * scale)
    return synth.ramp(shape, 6.0 * scale, 0.4 * scale, axis=0)
