"""The whole paper, or some of it, into one folder: figures, tables, and the page that leads through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
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
from .data_sets import DATA_SETS, FoundSet, PairFiles, find_data_sets
from .flow import show_architecture, show_evaluation
from .lens import show_lens
from .matrices import show_framework
from .pairs import ShownPair, TableRow, means, rows_of, show_pair, show_table, shown_pair
from .ramps import FILES as FIG1_FILES
from .ramps import RampRow, load_ramps, make_ramps, show_ramps
from .sections import Section, page
from .stand_ins import STAND_INS, make_stand_in

__all__ = ["PARTS", "Reproduced", "Wanted", "reproduce"]

#: What can be asked for, in the order of the page.
PARTS = ("fig1", "fig2", "fig3", "fig4", "fig5", "table1", "fig6", "fig7")


@dataclass(frozen=True)
class Wanted:
    """Which parts of the paper, and from which images.

    Attributes
    ----------
    only : sequence of PARTS
        Figures and tables to make.
    images : one or two paths
        Photographs for Fig. 1 (and 3 and 4); scikit-image's by default.
    pairs : sequence of str
        Names of the pairs to show in Figs. 5 to 7; the first of each data set by default.
    limit : int, optional
        At most this many pairs of each data set in Table I.
    """

    only: Sequence[str] = PARTS
    images: Sequence[Path] = ()
    pairs: Sequence[str] = ()
    limit: int | None = None

    def parts(self) -> list[str]:
        """Return the parts in the order of the page, checked."""
        unknown = [part for part in self.only if part not in PARTS]
        if unknown or not self.only:
            got = ", ".join(unknown) or "nothing"
            raise InputError(f"--only takes {', '.join(PARTS)}, separated by commas; got {got}")
        if len(self.images) > 2:
            got = str(len(self.images))
            raise InputError(f"--image is for one or two photographs (the upper and the lower pair), got {got}")
        return [part for part in PARTS if part in self.only]


@dataclass(frozen=True)
class Reproduced:
    """What came out, beside the files."""

    ramps: list[RampRow]
    table: list[TableRow]
    sections: list[Section]
    made_from: list[str]  #: data sets and stand-ins, a line each

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
class _Study:
    """One run: what it looks at, and what it has so far."""

    folder: Path
    method: str
    wanted: Wanted
    sets: Mapping[str, FoundSet]
    shown: Mapping[str, PairFiles]
    ramp_rows: list[RampRow] = field(default_factory=list)
    table: list[TableRow] = field(default_factory=list)

    def section(self, part: str, progress: Progress) -> Section:
        """Make one part of the page."""
        if part == "fig2":
            return show_lens(self.folder)
        if part == "table1":
            return self._table(progress)
        if part in ("fig6", "fig7"):
            data_set = "realmff" if part == "fig6" else "dpdd"
            return show_pair(self.folder, self._shown(data_set))
        if part == "fig5":
            shown = self._shown("realmff")
            return show_architecture(self.folder, shown.title, shown.pair, shown.blur_map, shown.score)
        ramps = load_ramps(self.wanted.images)
        if part == "fig3":
            return show_framework(self.folder, ramps[0])
        if part == "fig4":
            return show_evaluation(self.folder, ramps[0])
        results = []
        for done, ramp in enumerate(ramps):
            results.append(make_ramps(ramp))
            progress((done + 1) / len(ramps))
        self.ramp_rows = [row for rows, _ in results for row in rows]
        return show_ramps(self.folder, ramps, results)

    def _shown(self, data_set: str) -> ShownPair:
        return shown_pair(self.shown[data_set], self.method)

    def _table(self, progress: Progress) -> Section:
        work = [files for found in self.sets.values() for files in found.pairs[: self.wanted.limit]]
        for done, files in enumerate(work):
            self.table += rows_of(files, self.method)
            progress((done + 1) / len(work))
        return show_table(self.table, self.method)


def reproduce(
    folder: Path,
    data: Path | None = None,
    wanted: Wanted = Wanted(),
    *,
    method: str = "paper",
    force: bool = False,
    progress: Progress | None = None,
) -> Reproduced:
    """Write the paper's figures and tables and ``paper.html`` into a folder.

    Parameters
    ----------
    data : path, optional
        The data sets (:mod:`relblur.apps.paper.data_sets` knows the layouts). What is missing is
        replaced by stand-ins, which are written to ``stand_ins`` in the folder.
    wanted : Wanted
        The whole paper by default.
    """
    as_choice(method, "method", METHODS)
    parts = wanted.parts()
    given = {} if data is None else _by_data_set(find_data_sets(data))
    needed = _needed_sets(parts)
    missing = tuple(name for name in needed if name not in given)
    if wanted.pairs:
        _choose_pairs(given, wanted.pairs)  # before the work: a name that is not there
    inputs = [path for found in given.values() for each in found.pairs for path in (each.foreground, each.background)]
    names = _file_names(parts)
    refuse_inputs((folder / name for name in names), [*inputs, *wanted.images])
    refuse_to_replace(folder, [*names, *([STAND_INS] if missing else [])], force)
    with filling(folder, force=force) as new:
        sets = {**given, **{name: make_stand_in(new, name) for name in missing}}
        chosen = {name: sets[name] for name in needed}
        study = _Study(new, method, wanted, chosen, _choose_pairs(chosen, wanted.pairs, strict=False))
        return _write(new, parts, study, [found.describe() for found in chosen.values()], progress)


def _write(
    folder: Path, parts: Sequence[str], study: _Study, made_from: list[str], progress: Progress | None
) -> Reproduced:
    sections = []
    for done, part in enumerate(parts):
        sections.append(study.section(part, _share_of(progress, done, len(parts))))
        _share_of(progress, done, len(parts))(1.0)
    result = Reproduced(study.ramp_rows, study.table, sections, made_from)
    _write_csv(folder / "fig1.csv", [asdict(row) for row in result.ramps])
    _write_csv(folder / "table1.csv", [row.as_dict() for row in result.table])
    write_document(folder / "paper.html", page(folder, sections, made_from))
    return result


def _share_of(progress: Progress | None, index: int, parts: int) -> Callable[[float], None]:
    return lambda share: progress((index + share) / parts) if progress is not None else None


def _needed_sets(parts: Sequence[str]) -> tuple[str, ...]:
    if "table1" in parts:
        return tuple(DATA_SETS)
    by_part = {"fig5": "realmff", "fig6": "realmff", "fig7": "dpdd"}
    return tuple(dict.fromkeys(by_part[part] for part in parts if part in by_part))


def _by_data_set(found: Sequence[FoundSet]) -> dict[str, FoundSet]:
    """Return the first place of each data set that was found."""
    sets: dict[str, FoundSet] = {}
    for each in found:
        sets.setdefault(each.data_set, each)
    return sets


def _choose_pairs(sets: Mapping[str, FoundSet], names: Sequence[str], strict: bool = True) -> dict[str, PairFiles]:
    """Return the pair to show of each data set: one that is named, or the first."""
    chosen = {name: found.pairs[0] for name, found in sets.items()}
    for wanted in names:
        hits = {name: each for name, found in sets.items() for each in found.pairs if each.name == wanted}
        if strict and not hits:
            some = ", ".join(each.name for found in sets.values() for each in found.pairs[:3])
            raise InputError(f"--pair {wanted}: no pair has this name; there are {some or 'none without --data'} ...")
        chosen.update(hits)
    return chosen


def _file_names(parts: Sequence[str]) -> list[str]:
    names = ["paper.html"]
    for part in parts:
        names += {"fig1": FIG1_FILES, "table1": ("table1.csv",)}.get(part, (f"{part}.png",))
    return names


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    if not rows:
        return
    with replacing(path) as stream:
        stream.write(csv_table(rows))
