"""Make Figs. 5 to 7 and Table I: photographed pairs, each image re-made where it is the less sharp one.

As in the paper, stored pixel values are used without undoing the tone curve. ``first`` is I_B, ``second`` is I_F.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray, Progress
from ...blur.blur_map import BlurMap
from ...blur.comparable_pair import ComparablePair
from ...blur.estimate import estimate_blur
from ...blur.evaluate import PairScore, evaluate_pair, observed_blurrier, resynthesize
from ...photo.photograph import read_pair
from ...plot.colours import photo
from ...report.html import Table
from ...report.panels import Panel, panels_picture
from ...report.summary import score_cells, score_columns
from .claims import PAPER_TABLE, Claim, Section
from .data_sets import DATA_SETS, PairFiles, factors

#: Minimum side of the images in Table I, px; smaller ones are left out.
LEAST_SIDE = 16

_BACK, _NEAR = "I_B, focused on the background", "I_F, focused on the foreground"
#: Key, camera and upper row of Figs. 6 and 7, from the left; Fig. 6 begins with I_F.
_FIGURES = {
    "realmff": ("fig6", "Real-MFF, a Lytro Illum", {"second": _NEAR, "first": _BACK}),
    "dpdd": (
        "fig7",
        "DPDD, a Canon 5D Mark IV at f/22 and f/4",
        {"first": "I_B, all in focus (f/22)", "second": "I_F, standard (f/4)"},
    ),
}


@dataclass(frozen=True)
class TableRow:
    """One pair at one resolution; ``score.e_first`` is e_B and ``score.e_second`` is e_F."""

    data_set: str
    pair: str
    resolution: str
    factor: int
    score: PairScore

    def as_dict(self) -> dict[str, Any]:
        """Return the row as one dictionary, with the paper's letters B and F in the names."""
        score = {
            name.replace("first", "b").replace("second", "f"): value for name, value in self.score.as_dict().items()
        }
        return {name: value for name, value in vars(self).items() if name != "score"} | score

    def cells(self) -> tuple[str, ...]:
        """Return the row as text."""
        return self.data_set, self.pair, self.resolution, *score_cells(self.score)


@dataclass(frozen=True)
class ShownPair:
    """A pair with its map and score, for the figures."""

    title: str
    data_set: str
    pair: ComparablePair
    blur_map: BlurMap
    score: PairScore


def rows_of(files: PairFiles, method: str = "paper") -> list[TableRow]:
    """Score a pair at the resolutions of Table I."""
    pair = read_pair(files.background, files.foreground)
    return score_rows(pair, (files.title, files.name), factors(files.data_set, pair.shape[1]), method)


def score_rows(pair: ComparablePair, names: tuple[str, str], chosen: Sequence[int], method: str) -> list[TableRow]:
    """Score a pair at each decimation factor that leaves images of ``LEAST_SIDE``; names: data set and pair."""
    rows = []
    for factor in chosen:
        if factor == 1 or min(pair.shape) >= LEAST_SIDE * factor:
            reduced = pair.decimated(factor)
            score = evaluate_pair(
                reduced.first,
                reduced.second,
                method=method,
                channel_axis=reduced.channel_axis,
                valid=reduced.valid,
                clipped=reduced.clipped_in_either,
            )
            rows.append(TableRow(*names, reduced.size, factor, score))
    return rows


def shown_pair(files: PairFiles) -> ShownPair:
    """Estimate a pair at its largest resolution in Table I."""
    pair = read_pair(files.background, files.foreground)
    pair = pair.decimated(factors(files.data_set, pair.shape[1])[-3])
    blur_map = estimate_blur(pair, method="paper")
    score = evaluate_pair(pair.first, pair.second, blur_map, channel_axis=pair.channel_axis, held_out=False)
    return ShownPair(f"{files.title} {files.name}, {pair.size}", files.data_set, pair, blur_map, score)


def show_architecture(folder: Path, shown: ShownPair) -> Section:
    """Draw Fig. 5 for a pair (I_B, I_F): sharper and less sharp sets, re-made sets, both errors."""
    pair, blur_map, score = shown.pair, shown.blur_map, shown.score
    made = resynthesize(pair.first, pair.second, blur_map, channel_axis=pair.channel_axis).clip(0, 1)
    images = {"B": photo(pair.first), "F": photo(pair.second)}
    panels = []
    for name, other, side in (("B", "F", 1), ("F", "B", -1)):
        here = blur_map.sharper == side
        error, unblurred = ("e_second", "unblurred_e_second") if side == 1 else ("e_first", "unblurred_e_first")
        errors = f"e_{name} {getattr(score, error):.4f}, unblurred {getattr(score, unblurred):.4f}"
        panels += [
            Panel(f"I_{name}", images[name]),
            Panel(f"{name}H: I_{name} where it is the sharper", _only(images[name], here)),
            Panel(f"{name}L: I_{other} at the same points", _only(images[other], here)),
            Panel(f"{name}L re-made from {name}H: {errors}", _only(made, here)),
        ]
    panels_picture(folder / "fig5.png", panels, columns=4, panel_width=3.2)
    one, two = f"{score.e_first:.4f}", f"{score.e_second:.4f}"
    return Section(
        key="fig5",
        title="Fig. 5: the errors e_B and e_F",
        paper_shows="I_B and I_F are compared by their 3 x 3 standard deviations. BH and BL enter 'Estimate BL', FH "
        "and FL enter 'Estimate FL'; I_B and I_F serve as the L-Image of BH and of FH. e_B and e_F are the mean "
        "absolute errors of the less sharp subsets.",
        finding=f"The images between these blocks, for {shown.title}. The paper has two readings. By Fig. 5, its "
        "caption and the first definition of section 6, BH and BL are the points where I_B is the sharper: I_B "
        "re-makes I_F there, and that error is e_B. By the shares that section 6 states (50 % of the points count in "
        "e_F where I_B is sharper in 50 %) and the text on Fig. 6, BL is where I_B is the less sharp, and I_F re-makes "
        "it. Between the two, e_B and e_F change places. The figure follows the first, Table I here the second.",
        pictures=(("fig5.png", "The sets of Fig. 5; points outside a set are white"),),
        claims=(
            Claim("e_B / e_F by Fig. 5", "0.021 / 0.025 (Table I)", f"{two} / {one}", "drawn here"),
            Claim("e_B / e_F by section 6", "the same", f"{one} / {two}", "Table I here"),
            _shares_claim("50% / 23% / 27%", score),
        ),
    )


def _only(image: AnyArray, where: AnyArray) -> AnyArray:
    """Return an image that is white outside a mask."""
    return np.where(where[:, :, None] if image.ndim == 3 else where, image, 1.0)


def _shares_claim(paper: str, score: PairScore) -> Claim:
    shares = (score.first_sharper_fraction, score.equal_fraction, score.second_sharper_fraction)
    ours = " / ".join(f"{share:.0%}" for share in shares)
    return Claim("I_B sharper / equal / I_F sharper", paper, ours, "another photograph; equal to rounding")


def show_pair(folder: Path, shown: ShownPair) -> Section:
    """Draw Fig. 6 or 7 in the paper's layout."""
    pair, blur_map, score = shown.pair, shown.blur_map, shown.score
    (key, camera, top), axis = _FIGURES[shown.data_set], pair.channel_axis
    panels = [Panel(title, getattr(pair, side)) for side, title in top.items()]
    panels += [
        Panel("defocused regions of both", observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)),
        Panel("the same, re-estimated", resynthesize(pair.first, pair.second, blur_map, channel_axis=axis)),
    ]
    panels_picture(folder / f"{key}.png", panels, columns=2)
    stated = next(row for row in PAPER_TABLE if row.data_set == DATA_SETS[shown.data_set])
    errors = [
        Claim(name, f"{paper:.3f}", f"{ours:.4f}", f"without blur: {unblurred:.4f}")
        for name, paper, ours, unblurred in (
            ("e_B", stated.e_b, score.e_first, score.unblurred_e_first),
            ("e_F", stated.e_f, score.e_second, score.unblurred_e_second),
        )
    ]
    shares = f"{stated.b_sharper:.0%} / {stated.equal:.0%} / {stated.f_sharper:.0%}"
    return Section(
        key=key,
        title=f"Fig. {key[-1]}: a pair of {DATA_SETS[shown.data_set]}",
        paper_shows=f"A pair of {camera}. Above the two photographs; below, at each point, the less sharp of them, as "
        "it is (left) and re-estimated from the sharper (right). Where neither is sharper the mean of both.",
        finding=f"{shown.title}, in the same layout. The two lower pictures look alike in the paper and here. In many "
        "places the sharper image itself would look like them, so its error is given for comparison.",
        pictures=((f"{key}.png", shown.title),),
        claims=(*errors, _shares_claim(shares, score)),
    )


def show_table(pairs: Sequence[PairFiles], progress: Progress = lambda _: None) -> Section:
    """Return Table I: the paper's rows, our means over the pairs, and a second table of every pair."""
    rows = []
    for number, files in enumerate(pairs, start=1):
        rows += rows_of(files)
        progress(number / len(pairs))
    note = (
        "Mean absolute errors of grey values on a 0..1 scale, over all points of unequal sharpness. In brackets: the "
        "same error for the sharper image without blur. Held-out: sigma estimated from green, error in red and blue."
    )
    average = means(rows)
    tables = [short_table("Table I, method 'paper', values as stored", average, note)]
    if len(average) < len(rows):
        tables.append(Table("Every pair", tables[0].columns, [row.cells() for row in rows], is_long=True))
    return Section(
        key="table1",
        title="Table I: errors of re-making photographed pairs",
        paper_shows="One pair of each data set at three resolutions, with e_B and e_F between 0.009 and 0.025, which "
        "fall with the resolution in Real-MFF; from this the paper chooses 157x109 and 210x140 as proper resolutions.",
        finding=_finding(rows),
        tables=tuple(tables),
        rows=[row.as_dict() for row in rows],
    )


def short_table(heading: str, rows: Sequence[TableRow], note: str = "") -> Table:
    """Return a table of the rows of the paper, followed by these rows."""
    columns = ("data set", "pair", "resolution", *score_columns("B", "F"))
    stated = []
    for row in PAPER_TABLE:
        shares = (row.b_sharper, row.f_sharper, row.equal, 1 - row.equal)
        cells = (*(f"{share:.0%}" for share in shares), f"{row.e_b:.3f}", f"{row.e_f:.3f}", "-", "-")
        stated.append((row.data_set, "the paper's", row.resolution, *cells))
    return Table(heading, columns, [*stated, *(row.cells() for row in rows)], note, range(len(stated)))


def _finding(rows: Sequence[TableRow]) -> str:
    error, answered, unblurred, unseen = (
        _mean_of(rows, (f"{kind}e_first", f"{kind}e_second")) for kind in ("", "answered_", "unblurred_", "held_out_")
    )
    seen = (
        f" In channels that the estimate does not use it is {unseen:.4f}: much of the smaller error comes from a fit "
        "to the pixel itself, not from blur."
    )
    return (
        f"Over all rows the error is {error:.4f}, against {unblurred:.4f} without blur. Without flat and clipped "
        f"points it is {answered:.4f}.{seen if math.isfinite(unseen) else ''} A lower resolution has less contrast "
        "between pixels, so the error without blurring falls too: no proper resolution follows from a falling error."
    )


def means(rows: Sequence[TableRow]) -> list[TableRow]:
    """Average the rows of each data set and resolution; missing values are left out."""
    groups: dict[tuple[str, str], list[TableRow]] = {}
    for row in rows:
        groups.setdefault((row.data_set, row.resolution), []).append(row)
    averages = []
    for (data_set, resolution), group in groups.items():
        score = PairScore(**{each.name: _mean_of(group, (each.name,)) for each in fields(PairScore)})
        averages.append(TableRow(data_set, f"mean of {len(group)}", resolution, group[0].factor, score))
    return averages


def _mean_of(rows: Sequence[TableRow], names: Sequence[str]) -> float:
    values = np.array([getattr(row.score, name) for row in rows for name in names])
    known = values[np.isfinite(values)]
    return float(known.mean()) if known.size else float("nan")
