"""Which pairs a data set holds: in the layouts of the paper's two sets, or in a list.

A list is a CSV with the columns ``first`` and ``second`` (files, counted from where the list lies) and, if you like,
``name`` and ``data_set``.
"""

from __future__ import annotations

import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from ..base.errors import FileError, InputError
from ..report.batch import Job
from ..studies.paper.data_sets import LAYOUTS, factors, find_data_sets

__all__ = ["DataPair", "find_pairs"]

#: What a list that names no data set is called.
UNNAMED = "pairs"


@dataclass(frozen=True)
class DataPair:
    """A pair of a data set; ``first`` is the paper's I_B, ``second`` its I_F."""

    data_set: str
    name: str
    first: Path
    second: Path
    layout: str  #: a key of the paper's data sets, or "list"

    def factors(self, width: int) -> tuple[int, ...]:
        """Return the factors by which it is decimated: those of Table I, or none."""
        return factors(self.layout, width) if self.layout != "list" else (1,)

    @property
    def job(self) -> Job:
        """The pair as one of many, with the name of its results."""
        return Job(re.sub(r"[^\w.-]+", "_", f"{self.data_set}_{self.name}"), self.first, self.second)


def find_pairs(data: Path) -> list[DataPair]:
    """Find the pairs of a folder or of a list."""
    if data.is_file():
        pairs = _from_list(data)
    elif data.is_dir() and (data / "pairs.csv").is_file() and (listed := _from_list(data / "pairs.csv")):
        pairs = listed
    else:
        pairs = []
    pairs = pairs or [
        DataPair(files.title, files.name, files.background, files.foreground, found.data_set)
        for found in find_data_sets(data)
        for files in found.pairs
    ]
    names: dict[str, DataPair] = {}
    for pair in pairs:
        if pair.job.name in names:
            raise InputError(f"two pairs are called {pair.name!r}: {names[pair.job.name].first} and {pair.first}")
        names[pair.job.name] = pair
    return pairs


def _from_list(path: Path) -> list[DataPair]:
    """Read a list; nothing if its columns are those of the paper's sets, which ``find_data_sets`` reads."""
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8-sig"))))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FileError(f"{path} cannot be read as a list of pairs: {error}") from None
    columns = set(rows[0]) if rows else set()
    if {"foreground", "background"} <= columns:
        return []
    if not {"first", "second"} <= columns:
        layouts = " ".join(LAYOUTS.split())
        raise InputError(f"{path} must have the columns first,second (and name, data_set if you like); or {layouts}")
    pairs = []
    for number, row in enumerate(rows, start=2):
        one, two = (path.parent / (row[column] or "") for column in ("first", "second"))
        for file in (one, two):
            if not file.is_file():
                raise FileError(f"{path}, line {number}: there is no file {file}")
        pairs.append(DataPair(row.get("data_set") or UNNAMED, row.get("name") or one.stem, one, two, "list"))
    return pairs
