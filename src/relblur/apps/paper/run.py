"""Make figures and tables of the paper, all or some, in one folder, with a page of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ...base._typing import Progress
from ...base.arguments import as_choice
from ...base.errors import InputError
from ...base.settings import METHODS
from ...base.shown import csv_table
from ...images.disk import replacing
from ...images.results import filling, refuse_inputs, refuse_to_replace
from ...report.html import write_document
from .claims import Section, page
from .data_sets import DATA_SETS, FoundSet, PairFiles, find_data_sets
from .pairs import ShownPair, TableRow, means, rows_of, show_architecture, show_pair, show_table, shown_pair
from .ramps import FILES as FIG1_FILES
from .ramps import Ramp, RampRow, load_ramps, make_ramps, show_ramps
from .theory import show_evaluation, show_framework, show_lens

__all__ = ["PARTS", "Reproduced", "Study", "reproduce"]

#: Figures and tables in the order of the page, each with the data sets of which it needs at least one.
PARTS: dict[str, tuple[str, ...]] = {
    "fig1": (),
    "fig2": (),
    "fig3": (),
    "fig4": (),
    "fig5": ("realmff",),
    "table1": tuple(DATA_SETS),
    "fig6": ("realmff",),
    "fig7": ("dpdd",),
}


@dataclass
class Reproduced:
    """Numbers and sections of a run, and the data sets used."""

    ramps: list[RampRow] = field(default_factory=list)
    table: list[TableRow] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    made_from: list[str] = field(default_factory=list)  #: a line for each data set, and one for omitted parts

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain dictionaries."""
        return {
            "made_from": self.made_from,
            "fig1": [asdict(row) for row in self.ramps],
            "table1": [row.as_dict() for row in self.table],
            "table1_means": [row.as_dict() for row in means(self.table)],
            "claims": {each.key: [asdict(claim) for claim in each.claims] for each in self.sections if each.claims},
        }


@dataclass
class Study:
    """The inputs of the paper's experiments.

    Attributes
    ----------
    data : path, optional
        The data sets, in one of the layouts of :mod:`relblur.apps.paper.data_sets`. Figs. 5 to 7 and Table I need it.
    images : one or two paths
        Photographs for Figs. 1, 3 and 4; those of scikit-image by default.
    pairs : sequence of str
        Names of the pairs to show in Figs. 5 to 7; the first of each data set by default.
    limit : int, optional
        Maximum number of pairs of each data set in Table I.
    """

    data: Path | None = None
    images: Sequence[Path] = ()
    pairs: Sequence[str] = ()
    limit: int | None = None
    method: str = "paper"
    sets: dict[str, FoundSet] = field(init=False)
    _chosen: dict[str, PairFiles] = field(init=False)
    _shown: dict[str, ShownPair] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        as_choice(self.method, "method", METHODS)
        if len(self.images) > 2:
            got = len(self.images)
            raise InputError(f"--image is for one or two photographs (the upper and the lower pair), got {got}")
        found = [] if self.data is None else find_data_sets(self.data)
        self.sets = {each.data_set: each for name in DATA_SETS for each in reversed(found) if each.data_set == name}
        self._chosen = _chosen_pairs(self.sets, self.pairs)

    @cached_property
    def ramps(self) -> list[Ramp]:
        """The pairs of Fig. 1."""
        return load_ramps(self.images)

    def shown(self, data_set: str) -> ShownPair:
        """Return the pair of a data set shown in the figures, with its map."""
        if data_set not in self._shown:
            self._shown[data_set] = shown_pair(self._chosen[data_set], self.method)
        return self._shown[data_set]

    def section(self, part: str, folder: Path, done: Reproduced, progress: Progress) -> Section:
        """Make one section of the page, and write its files into the folder."""
        makers: dict[str, Callable[[], Section]] = {
            "fig1": lambda: self._fig1(folder, done, progress),
            "fig2": lambda: show_lens(folder),
            "fig3": lambda: show_framework(folder, self.ramps[0]),
            "fig4": lambda: show_evaluation(folder, self.ramps[0]),
            "fig5": lambda: show_architecture(folder, self.shown("realmff")),
            "table1": lambda: self._table1(done, progress),
            "fig6": lambda: show_pair(folder, self.shown("realmff")),
            "fig7": lambda: show_pair(folder, self.shown("dpdd")),
        }
        return makers[part]()

    def _fig1(self, folder: Path, done: Reproduced, progress: Progress) -> Section:
        results = []
        for number, ramp in enumerate(self.ramps, start=1):
            results.append(make_ramps(ramp))
            progress(number / len(self.ramps))
        done.ramps = [row for rows, _ in results for row in rows]
        return show_ramps(folder, self.ramps, results)

    def _table1(self, done: Reproduced, progress: Progress) -> Section:
        work = [files for found in self.sets.values() for files in found.pairs[: self.limit]]
        for number, files in enumerate(work, start=1):
            done.table += rows_of(files, self.method)
            progress(number / len(work))
        return show_table(done.table, self.method)


def reproduce(
    folder: Path,
    study: Study,
    only: Sequence[str] | None = None,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Reproduced:
    """Write the paper's figures and tables and ``paper.html`` into a folder.

    ``only`` names some of :data:`PARTS`; by default all are made for which there are data.
    """
    parts, left_out = _parts(only, study.sets)
    inputs = [
        path for each in study.sets.values() for pair in each.pairs for path in (pair.foreground, pair.background)
    ]
    names = ["paper.html"]
    for part in parts:
        names += {"fig1": FIG1_FILES, "table1": ("table1.csv",)}.get(part, (f"{part}.png",))
    refuse_inputs((folder / name for name in names), [*inputs, *study.images])
    refuse_to_replace(folder, names, force)
    needed = {name for part in parts for name in PARTS[part]}
    done = Reproduced(made_from=[each.describe() for name, each in study.sets.items() if name in needed] + left_out)
    with filling(folder, force=force) as new:
        for number, part in enumerate(parts):

            def tell(share: float, number: int = number) -> None:
                if progress is not None:
                    progress((number + share) / len(parts))

            done.sections.append(study.section(part, new, done, tell))
            tell(1.0)
        for name, rows in (
            ("fig1", [asdict(row) for row in done.ramps]),
            ("table1", [r.as_dict() for r in done.table]),
        ):
            if rows:
                with replacing(new / f"{name}.csv") as stream:
                    stream.write(csv_table(rows))
        write_document(new / "paper.html", page(new, done.sections, done.made_from))
    return done


def _parts(only: Sequence[str] | None, sets: Mapping[str, FoundSet]) -> tuple[list[str], list[str]]:
    """Return the parts to make in the order of the page, and a line about parts without data."""
    unknown = [part for part in only or () if part not in PARTS]
    if unknown or (only is not None and not only):
        raise InputError(f"--only takes {', '.join(PARTS)}, separated by commas; got {', '.join(unknown) or 'nothing'}")
    chosen = [part for part in PARTS if only is None or part in only]
    missing = [part for part in chosen if PARTS[part] and not any(name in sets for name in PARTS[part])]
    if missing and only is not None:
        needed = " or ".join(DATA_SETS[name] for name in PARTS[missing[0]])
        raise InputError(f"{missing[0]} needs {needed}; add --data DIR, the folder into which it unpacks")
    left_out = [f"left out, without their data set (--data): {', '.join(missing)}"] if missing else []
    return [part for part in chosen if part not in missing], left_out


def _chosen_pairs(sets: Mapping[str, FoundSet], names: Sequence[str]) -> dict[str, PairFiles]:
    """Return the pair of each data set to show: one of ``names``, or the first."""
    chosen = {name: found.pairs[0] for name, found in sets.items()}
    for pair_name in names:
        hits = {name: each for name, found in sets.items() for each in found.pairs if each.name == pair_name}
        if not hits:
            some = ", ".join(each.name for found in sets.values() for each in found.pairs[:3])
            raise InputError(
                f"--pair {pair_name}: no pair has this name; there are {some or 'none without --data'} ..."
            )
        chosen.update(hits)
    return chosen
