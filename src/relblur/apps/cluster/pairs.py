"""Find the pairs of a data set: in the layouts of the paper's two sets, or in a list.

A list is a CSV with the columns ``first`` and ``second`` (paths relative to the list) and optionally ``name`` and
``data_set``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ...base.errors import InputError
from ...report.batch import Job
from ..paper.data_sets import LAYOUTS, factors, find_data_sets, listed_files, read_list

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
    return (_from_list(listed.absolute()) if listed.is_file() else None) or [
        DataPair(files.title, files.name, files.background, files.foreground, found.data_set)
        for found in find_data_sets(data.absolute())
        for files in found.pairs
    ]


def _from_list(path: Path) -> list[DataPair]:
    """Return the pairs of a list; none if it has the columns of the paper's sets, which ``find_data_sets`` reads."""
    rows = read_list(path)
    columns = set(rows[0]) if rows else set()
    if {"foreground", "background"} <= columns:
        return []
    if not {"first", "second"} <= columns:
        layouts = " ".join(LAYOUTS.split())
        raise InputError(f"{path} must have the columns first,second (name, data_set are optional); or {layouts}")
    pairs = []
    for number, row in enumerate(rows, start=2):
        one, two = listed_files(path, number, row, ("first", "second"))
        pairs.append(DataPair(row.get("data_set") or UNNAMED, row.get("name") or one.stem, one, two))
    return pairs
