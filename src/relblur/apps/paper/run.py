"""Make all or selected figures and tables of the paper in one folder, with a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path

from ...base._typing import Progress
from ...base.errors import InputError
from ...base.shown import csv_table
from ...blur.request import part_of
from ...images.disk import replacing
from ...images.results import filling, refuse_inputs, refuse_to_replace
from ...report.html import write_document
from .claims import Section, page
from .data_sets import DATA_SETS, find_data_sets
from .pairs import ShownPair, show_architecture, show_pair, show_table, shown_pair
from .ramps import Ramp, load_ramps, show_ramps
from .theory import show_evaluation, show_framework, show_lens

__all__ = ["PARTS", "Inputs", "reproduce"]

#: Figures and tables in the order of the page; each needs at least one of its data sets.
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
#: Files of the parts that write more than one picture.
_FILES = {"fig1": ("fig1.png", "fig1_maps.png", "fig1.csv"), "table1": ("table1.csv",)}


class Inputs:
    """Photographs of the experiments.

    ``data`` is the folder with the data sets. One or two ``images`` replace the photographs of Figs. 1, 3 and 4.
    ``names`` select the pairs of Figs. 5 to 7; by default the first of each data set.
    """

    def __init__(self, data: Path | None = None, images: Sequence[Path] = (), names: Sequence[str] = ()) -> None:
        self.images, self.pairs = images, [] if data is None else find_data_sets(data)
        if len(images) > 2:
            raise InputError(f"--image is for one or two photographs (the upper and the lower pair), got {len(images)}")
        if unknown := set(names) - {pair.name for pair in self.pairs}:
            some = ", ".join(pair.name for pair in self.pairs[:6])
            raise InputError(f"no pair is named {', '.join(unknown)}; there are {some or 'none without --data'} ...")
        named = [*(pair for pair in self.pairs if pair.name in names), *self.pairs]
        self.chosen = {pair.data_set: pair for pair in reversed(named)}
        self._shown: dict[str, ShownPair] = {}

    @cached_property
    def ramps(self) -> list[Ramp]:
        """The pairs of Fig. 1."""
        return load_ramps(self.images)

    def shown(self, data_set: str) -> ShownPair:
        """Return the pair of a data set shown in the figures, with its map."""
        if data_set not in self._shown:
            self._shown[data_set] = shown_pair(self.chosen[data_set])
        return self._shown[data_set]


def reproduce(
    folder: Path,
    inputs: Inputs,
    only: Sequence[str] | None = None,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[list[Section], list[str]]:
    """Write the paper's figures and tables and ``paper.html`` into a folder; return the sections and notes.

    ``only`` selects :data:`PARTS`; the default is all parts whose data exist.
    """
    parts, notes = _parts(only, inputs)
    names = ["paper.html", *(name for part in parts for name in _FILES.get(part, (f"{part}.png",)))]
    read = [path for pair in inputs.pairs for path in (pair.foreground, pair.background)]
    refuse_inputs((folder / name for name in names), [*read, *inputs.images])
    refuse_to_replace(folder, names, force)
    sections = []
    with filling(folder, force=force) as new:
        makers: dict[str, Callable[[Progress], Section]] = {
            "fig1": lambda share: show_ramps(new, inputs.ramps, share),
            "fig2": lambda _: show_lens(new),
            "fig3": lambda _: show_framework(new, inputs.ramps[0]),
            "fig4": lambda _: show_evaluation(new, inputs.ramps[0]),
            "fig5": lambda _: show_architecture(new, inputs.shown("realmff")),
            "table1": lambda share: show_table(inputs.pairs, share),
            "fig6": lambda _: show_pair(new, inputs.shown("realmff")),
            "fig7": lambda _: show_pair(new, inputs.shown("dpdd")),
        }
        for number, part in enumerate(parts):
            share = part_of(progress or (lambda _: None), number, len(parts))
            section = makers[part](share)
            sections.append(section)
            if section.rows:
                with replacing(new / f"{part}.csv") as stream:
                    stream.write(csv_table(section.rows))
            share(1.0)
        write_document(new / "paper.html", page(new, sections, notes))
    return sections, notes


def _parts(only: Sequence[str] | None, inputs: Inputs) -> tuple[list[str], list[str]]:
    """Return the parts to make in the order of the page, and lines about the data sets."""
    unknown = [part for part in only or () if part not in PARTS]
    if unknown or (only is not None and not only):
        raise InputError(f"--only takes {', '.join(PARTS)}, separated by commas; got {', '.join(unknown) or 'nothing'}")
    chosen = [part for part in PARTS if only is None or part in only]
    missing = [part for part in chosen if PARTS[part] and not any(name in inputs.chosen for name in PARTS[part])]
    if missing and only is not None:
        needed = " or ".join(DATA_SETS[name] for name in PARTS[missing[0]])
        raise InputError(f"{missing[0]} needs {needed}; add --data DIR, the folder into which it unpacks")
    counts = {name: sum(pair.data_set == name for pair in inputs.pairs) for name in inputs.chosen}
    notes = [f"{DATA_SETS[name]}: {count} pair{'s' if count > 1 else ''}" for name, count in counts.items()]
    notes += [f"left out, without their data set (--data): {', '.join(missing)}"] if missing else []
    return [part for part in chosen if part not in missing], notes
