"""Find the pairs of the paper's two data sets on a disk: as unpacked, in a flat folder, or listed in a file.

A pair is (I_F, I_B). In Real-MFF these are the images focused on the foreground and on the background; in DPDD the
image at f/4 and the all-in-focus image at f/22.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import FileError, InputError

__all__ = ["DATA_SETS", "FoundSet", "PairFiles", "factors", "find_data_sets"]

#: Names of the data sets in the paper.
DATA_SETS = {"realmff": "Real MFF", "dpdd": "DPDD"}

#: Width of the largest DPDD image in Table I, px; the other two have a half and a quarter of it.
DPDD_WIDTH = 420

#: Suffixes of the files of DPDD, in lower case.
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".tif", ".tiff")

CSV_COLUMNS = ("data_set", "name", "foreground", "background")

LAYOUTS = """known layouts:
  Real-MFF as it unpacks  imageA/001_A.png (foreground) + imageB/001_B.png (background)
  Real-MFF flat           realmff*/001_a.png + 001_b.png
  DPDD as it unpacks      test_c/source/1P0A0917.png (f/4) + test_c/target/1P0A0916.png (f/22), in sorted order
  DPDD flat               dpdd*/00_f4.png + 00_f22.png
  a list                  pairs.csv with the columns data_set (realmff or dpdd),name,foreground,background"""


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


@dataclass(frozen=True)
class FoundSet:
    """Pairs of one data set in one folder or list."""

    data_set: str
    layout: str
    folder: Path
    pairs: tuple[PairFiles, ...]

    def describe(self) -> str:
        """Return the number of pairs and their place in one line."""
        count = "1 pair" if len(self.pairs) == 1 else f"{len(self.pairs)} pairs"
        return f"{DATA_SETS[self.data_set]}: {count} in {self.folder} ({self.layout})"


def factors(data_set: str, width: int) -> tuple[int, ...]:
    """Return the decimation factors of a data set's images for Table I.

    Real-MFF is used at full size, a half and a quarter. DPDD is used at full size and at widths of 420, 210 and 105 px;
    the published images, 1680 px wide, are decimated by 4, 8 and 16.
    """
    if data_set == "realmff":
        return 1, 2, 4
    base = max(1, round(width / DPDD_WIDTH))
    return tuple(sorted({1, base, 2 * base, 4 * base}))


def find_data_sets(data: Path) -> list[FoundSet]:
    """Find pairs in a folder, its subfolders, or a list; an error lists the known layouts."""
    if data.is_file():
        found = _from_list(data)
    elif data.is_dir():
        found = [each for folder in _folders(data) for each in _in_folder(folder, is_root=folder == data)]
        _refuse_broken_sets(data, {each.data_set for each in found})
    else:
        raise InputError(f"--data {data} is neither a folder nor a list of pairs; {_on_one_line(LAYOUTS)}")
    if not found:
        raise InputError(f"no pairs in {data}; {_on_one_line(LAYOUTS)}")
    return found


def _folders(data: Path) -> Iterator[Path]:
    """Yield the folder and its subfolders to a depth of two, because archives often unpack into a folder."""
    yield data
    for depth in ("*", "*/*"):
        yield from sorted(path for path in data.glob(depth) if path.is_dir())


def _in_folder(folder: Path, is_root: bool) -> Iterator[FoundSet]:
    listed = folder / "pairs.csv"
    if listed.is_file():
        yield from _from_list(listed)
        return
    for data_set, layout, find in _FINDERS:
        # Names that end in _a and _b are common, so a subfolder must have the name of the data set.
        if layout == "flat" and not (is_root or _is_named(folder, data_set)):
            continue
        pairs = tuple(PairFiles(data_set, *each) for each in find(folder))
        if pairs:
            yield FoundSet(data_set, layout, folder, pairs)


def _real_mff(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    for near in sorted((folder / "imageA").glob("*_A.*")):
        name = near.stem.removesuffix("_A")
        far = folder / "imageB" / f"{name}_B{near.suffix}"
        if far.is_file():
            yield name, near, far


def _dpdd(folder: Path) -> Iterator[tuple[str, Path, Path]]:
    """Pair files by equal names, or in sorted order if no names are equal, as in the published set."""
    source, target = (_images(folder / "test_c" / side) for side in ("source", "target"))
    by_name = {sharp.stem: sharp for sharp in target}
    if any(blurry.stem in by_name for blurry in source):
        for blurry in source:
            if blurry.stem in by_name:
                yield blurry.stem, blurry, by_name[blurry.stem]
    elif len(source) == len(target):
        for blurry, sharp in zip(source, target, strict=True):
            yield blurry.stem, blurry, sharp


def _flat(near_end: str, far_end: str) -> Callable[[Path], Iterator[tuple[str, Path, Path]]]:
    def find(folder: Path) -> Iterator[tuple[str, Path, Path]]:
        for near in sorted(folder.glob(f"*{near_end}")):
            name = near.name.removesuffix(near_end)
            far = near.with_name(name + far_end)
            if far.is_file():
                yield name, near, far

    return find


_FINDERS: tuple[tuple[str, str, Callable[[Path], Iterator[tuple[str, Path, Path]]]], ...] = (
    ("realmff", "as it unpacks", _real_mff),
    ("realmff", "flat", _flat("_a.png", "_b.png")),
    ("dpdd", "as it unpacks", _dpdd),
    ("dpdd", "flat", _flat("_f4.png", "_f22.png")),
)


def _images(folder: Path) -> list[Path]:
    """Return the image files in a folder, sorted by name."""
    return sorted(path for path in folder.glob("*") if path.suffix.lower() in IMAGE_SUFFIXES)


def _is_named(folder: Path, data_set: str) -> bool:
    return folder.name.lower().replace("-", "").replace("_", "").startswith(data_set)


def _refuse_broken_sets(data: Path, found: set[str]) -> None:
    """Refuse a folder with the layout of a data set if no pair of that set was found."""
    for folder in _folders(data):
        for data_set, parts in (("realmff", ("imageA", "imageB")), ("dpdd", ("test_c/source", "test_c/target"))):
            flat = _is_named(folder, data_set) and _images(folder)
            if data_set in found or not (flat or (folder / Path(parts[0]).parts[0]).is_dir()):
                continue
            counts = " and ".join(f"{len(_images(folder / part))} images in {part}" for part in parts)
            raise InputError(
                f"{folder} looks like {DATA_SETS[data_set]}, but its files do not form pairs ({counts}); "
                f"{_on_one_line(LAYOUTS)}"
            )


def _from_list(path: Path) -> list[FoundSet]:
    """Read the pairs of a list; paths are relative to its folder."""
    rows = read_list(path)
    if not rows or not set(CSV_COLUMNS) <= set(rows[0]):
        raise InputError(f"{path} must have the columns {','.join(CSV_COLUMNS)} and at least one row")
    pairs: dict[str, list[PairFiles]] = {}
    for number, row in enumerate(rows, start=2):
        data_set = (row["data_set"] or "").lower().replace("-", "").replace(" ", "")
        if data_set not in DATA_SETS:
            raise InputError(f"{path}, line {number}: data_set must be realmff or dpdd, got {row['data_set']!r}")
        near, far = listed_files(path, number, row, ("foreground", "background"))
        pairs.setdefault(data_set, []).append(PairFiles(data_set, row["name"] or near.stem, near, far))
    return [FoundSet(data_set, "a list", path, tuple(listed)) for data_set, listed in pairs.items()]


def read_list(path: Path) -> list[dict[str, str]]:
    """Return the rows of a list of pairs."""
    try:
        return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} cannot be read as a list of pairs: {error}; {_on_one_line(LAYOUTS)}") from None


def listed_files(path: Path, line: int, row: Mapping[str, str], columns: tuple[str, str]) -> tuple[Path, Path]:
    """Return the two files of a line of a list; paths are relative to the folder of the list."""
    one, two = (path.parent / (row[column] or "") for column in columns)
    for file in (one, two):
        if not file.is_file():
            raise FileError(f"{path}, line {line}: there is no file {file}")
    return one, two


def _on_one_line(text: str) -> str:
    return " ".join(text.replace("\n", ";").replace(":;", ":").split())
