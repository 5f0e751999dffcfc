"""Find the pairs of a data set: in the layouts of the paper's two sets, or in a list.

A list is a CSV with the columns ``first`` and ``second`` (paths relative to the list) and optionally ``name`` and
``data_set``.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import FileError, InputError
from ...report.batch import Job
from ..paper.data_sets import factors, find_data_sets

__all__ = ["DataPair", "find_pairs"]

#: Name of the data set of a list without the column ``data_set``.
UNNAMED = "pairs"


@dataclass(frozen=True)
class DataPair:
    """A pair of a data set; ``first`` is the paper's I_B, ``second`` its I_F."""

    data_set: str
    name: str
    first: Path
    second: Path
    layout: str = ""  #: a key of the paper's data sets; "" for a list

    def factors(self, width: int) -> tuple[int, ...]:
        """Return the decimation factors of the pair: those of Table I, or 1 for a list."""
        return factors(self.layout, width) if self.layout else (1,)

    @property
    def job(self) -> Job:
        """Job of the pair; in the name of its result folder only letters, digits, dots and dashes remain."""
        return Job(re.sub(r"[^\w.-]+", "_", f"{self.data_set}_{self.name}"), self.first, self.second)


def find_pairs(data: Path) -> list[DataPair]:
    """Return the pairs of a folder or a list."""
    listed = data / "pairs.csv" if data.is_dir() else data
    if listed.is_file():
        return _from_list(listed.absolute())
    return [
        DataPair(files.title, files.name, files.background, files.foreground, files.data_set)
        for files in find_data_sets(data.absolute())
    ]


def _from_list(path: Path) -> list[DataPair]:
    """Return the pairs of a list."""
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} cannot be read as a list of pairs: {error}") from None
    if not rows or not {"first", "second"} <= set(rows[0]):
        raise InputError(
            f"{path} must have the columns first,second (name, data_set are optional) and at least one row"
        )
    pairs = []
    for number, row in enumerate(rows, start=2):
        one, two = (path.parent / (row[column] or "") for column in ("first", "second"))
        for file in (one, two):
            if not file.is_file():
                raise FileError(f"{path}, line {number}: there is no file {file}")
        pairs.append(DataPair(row.get("data_set") or UNNAMED, row.get("name") or one.stem, one, two))
    return pairs
