"""Find the pairs of the paper's two data sets in a folder, as they unpack or in flat folders.

A pair is (I_F, I_B). In Real-MFF these are the images focused on the foreground and on the background; in DPDD the
image at f/4 and the all-in-focus image at f/22.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import InputError

__all__ = ["DATA_SETS", "LAYOUTS", "PairFiles", "factors", "find_data_sets"]

#: Names of the data sets in the paper.
DATA_SETS = {"realmff": "Real MFF", "dpdd": "DPDD"}

#: Width of the largest DPDD image in Table I, px; the other two are half and a quarter as wide.
DPDD_WIDTH = 420

LAYOUTS = (
    "Real-MFF has imageA/001_A.png (foreground) and imageB/001_B.png, or flat realmff*/001_a.png and 001_b.png; DPDD "
    "has test_c/source/*.png (f/4) and test_c/target/*.png (f/22) in sorted order, or flat dpdd*/00_f4.png and "
    "00_f22.png"
)

#: Data set, pattern of the foreground images, and the parts of their names that differ in the background images.
_NAMES = (
    ("realmff", "imageA/*_A.*", (("imageA/", "imageB/"), ("_A.", "_B."))),
    ("realmff", "*_a.png", (("_a.", "_b."),)),
    ("dpdd", "*_f4.png", (("_f4.", "_f22."),)),
)
#: Suffixes of the files of DPDD, in lower case.
_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")


@dataclass(frozen=True)
class PairFiles:
    """The two files of a pair."""

    data_set: str  #: a key of DATA_SETS
    name: str
    foreground: Path  #: I_F
    background: Path  #: I_B

    @property
    def title(self) -> str:
        """The paper's name of the data set."""
        return DATA_SETS[self.data_set]


def factors(data_set: str, width: int) -> tuple[int, ...]:
    """Return the decimation factors of a data set's images for Table I.

    Real-MFF is used at full size, a half and a quarter. DPDD is used at full size and at widths of 420, 210 and 105 px;
    the published images, 1680 px wide, are decimated by 4, 8 and 16.
    """
    if data_set == "realmff":
        return 1, 2, 4
    base = max(1, round(width / DPDD_WIDTH))
    return tuple(sorted({1, base, 2 * base, 4 * base}))


def find_data_sets(data: Path) -> list[PairFiles]:
    """Return the pairs in a folder and two levels of subfolders; an error lists the supported layouts."""
    folders = (data, *sorted(data.glob("*/")), *sorted(data.glob("*/*/")))
    pairs = [pair for folder in folders for pair in _in_folder(folder, is_root=folder == data)]
    if not pairs:
        raise InputError(f"no pairs of the paper's data sets in {data}: {LAYOUTS}")
    return pairs


def _in_folder(folder: Path, is_root: bool) -> Iterator[PairFiles]:
    for data_set, pattern, changes in _NAMES:
        # Names that end in _a and _b are common, so a flat subfolder must have the name of the data set.
        is_named = folder.name.lower().replace("-", "").replace("_", "").startswith(data_set)
        for near in sorted(folder.glob(pattern)) if is_root or is_named or "/" in pattern else ():
            far = near.relative_to(folder).as_posix()
            for old, new in changes:
                far = far.replace(old, new)
            if (folder / far).is_file():
                yield PairFiles(data_set, near.stem.rpartition("_")[0], near, folder / far)
    source, target = (
        sorted(path for path in (folder / "test_c" / side).glob("*") if path.suffix.lower() in _SUFFIXES)
        for side in ("source", "target")
    )
    if len(source) == len(target):
        for near, sharp in zip(source, target, strict=True):
            yield PairFiles("dpdd", near.stem, near, sharp)
