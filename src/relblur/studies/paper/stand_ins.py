"""Small data sets of our own in the layouts of the published ones, so that every experiment runs without them.

Photographs of scikit-image are blurred by Gaussians of light whose size is known, with a little
noise, and stored with 8 bits as sRGB, as cameras do.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from ... import synth
from ...base._typing import AnyArray, FloatArray
from ...base.arguments import as_choice
from ...files.disk import write_image
from ...photo.tone_curves import SRGB, encode_srgb
from ..demo import photograph
from .data_sets import CSV_COLUMNS

__all__ = ["LAYOUT_NAMES", "make_data_set"]

LAYOUT_NAMES = ("realmff", "realmff flat", "dpdd", "dpdd flat", "list")

#: Photographs in colour, one a pair, again from the first when they are used up.
PHOTOGRAPHS = {"realmff": ("coffee", "astronaut", "chelsea"), "dpdd": ("rocket", "coffee", "astronaut")}

#: Standard deviation of the noise, of full scale: an 8-bit photograph's.
NOISE = 0.003


def make_data_set(
    folder: Path, layout: str, *, pairs: int = 1, shape: tuple[int, int] | None = None, light: bool = True
) -> list[FloatArray]:
    """Write pairs into a folder in a layout; return the signed blur of each, positive where I_F is blurrier.

    Parameters
    ----------
    layout : {"realmff", "realmff flat", "dpdd", "dpdd flat", "list"}
        ``"list"`` is a ``pairs.csv`` with one pair of each data set.
    shape : (rows, columns), optional
        Cut from the middle of the photographs; their own size by default.
    light : bool
        Blur light, as a lens does. False: stored values, as the paper assumes.
    """
    as_choice(layout, "layout", LAYOUT_NAMES)
    truths, listed = [], []
    for number in range(pairs):
        for data_set in ("realmff", "dpdd") if layout == "list" else (layout.split()[0],):
            sharp = _middle(photograph(PHOTOGRAPHS[data_set][number % 3]), shape)
            truth = _field(data_set, (sharp.shape[0], sharp.shape[1]), number)
            background, foreground = _photographs(sharp, truth, number, light)
            names = _names(layout, data_set, number + 1)
            for name, image in zip(names, (foreground, background, sharp), strict=False):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                write_image(folder / name, image)
            truths.append(truth)
            listed.append((data_set, f"{number + 1:03}", *names[:2]))
    if layout == "list":
        with open(folder / "pairs.csv", "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([CSV_COLUMNS, *listed])
    return truths


def _names(layout: str, data_set: str, number: int) -> tuple[str, ...]:
    """Return the files of I_F, I_B and, if the data set has it, the image that is sharp everywhere."""
    if layout == "realmff":
        return f"imageA/{number:03}_A.png", f"imageB/{number:03}_B.png", f"Fusion/{number:03}_F.png"
    if layout == "dpdd":
        # As published, no name stands in both folders.
        return f"test_c/source/1P0A{2 * number - 1:04}.png", f"test_c/target/1P0A{2 * number:04}.png"
    if layout == "realmff flat":
        return f"{number:03}_a.png", f"{number:03}_b.png"
    if layout == "dpdd flat":
        return f"{number:02}_f4.png", f"{number:02}_f22.png"
    return f"files/{data_set}_{number}_near.png", f"files/{data_set}_{number}_far.png"


def _field(data_set: str, shape: tuple[int, int], number: int) -> FloatArray:
    """Blur that grows with the size of the picture, so that Table I's resolutions see the paper's range.

    Real-MFF: a near disc before a far plane. DPDD: f/22 is sharp everywhere, f/4 at the lower edge only.
    """
    scale = shape[1] / 640
    if data_set == "realmff":
        return synth.disc(shape, -1.8 * scale, (2.4 + 0.3 * number) * scale)
    return synth.ramp(shape, 6.0 * scale, 0.4 * scale, axis=0)


def _photographs(sharp: AnyArray, truth: FloatArray, number: int, light: bool) -> list[AnyArray]:
    values = SRGB.undo(sharp) if light else sharp / 255.0
    rng = np.random.default_rng(number)
    stored = []
    for image in synth.pair(values, truth, channel_axis=-1):
        encoded = encode_srgb(image.clip(0, 1)) if light else image
        stored.append(synth.degrade(encoded, noise=NOISE, bits=8, rng=rng))
    return stored


def _middle(image: AnyArray, shape: tuple[int, int] | None) -> AnyArray:
    if shape is None:
        return image
    top, left = ((n - m) // 2 for n, m in zip(image.shape, shape, strict=False))
    return image[top : top + shape[0], left : left + shape[1]]
