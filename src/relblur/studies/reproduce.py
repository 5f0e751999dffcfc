"""The paper's experiments: Fig. 1 (synthetic ramps), Figs. 6 and 7 and Table I (real pairs).

The paper's own photographs are not published. Fig. 1 is run on two of scikit-image's that
resemble them, a brick wall and a night launch; Table I on a folder with the data sets'
layout: ``realmff/NNN_a.png`` (near focus) and ``NNN_b.png`` (far), ``dpdd*/NN_f4.png`` and
``NN_f22.png``. As in the paper, pixel values are used as stored.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

from .. import synth
from ..base._typing import Progress
from ..base.errors import InputError
from ..base.inputs import as_image
from ..base.pixels import unit_float
from ..blur.blur_map import PairScore
from ..blur.comparable_pair import ComparablePair
from ..blur.estimate import estimate_blur
from ..blur.evaluate import evaluate_pair, observed_blurrier, resynthesize
from ..files.disk import replacing
from ..files.staging import filling
from ..files.targets import refuse_inputs, refuse_to_replace
from ..photo.pair import read_pair
from ..report.panels import Panel, panels_picture
from .data_sets import LAYOUTS, find_pairs
from .demo import photograph

__all__ = ["RampRow", "TableRow", "reproduce"]

#: (data set, resolution, share of I_B sharper, share of I_F sharper, e_B, e_F): Table I.
PAPER_TABLE = (
    ("Real MFF", "625x433", 0.50, 0.27, 0.021, 0.025),
    ("Real MFF", "313x217", 0.43, 0.39, 0.016, 0.012),
    ("Real MFF", "157x109", 0.44, 0.46, 0.014, 0.009),
    ("DPDD", "420x280", 0.76, 0.24, 0.023, 0.014),
    ("DPDD", "210x140", 0.67, 0.33, 0.018, 0.010),
    ("DPDD", "105x70", 0.58, 0.42, 0.017, 0.016),
)
#: Mean relative error of sigma on Fig. 1: top to bottom, left to right (text and caption differ).
PAPER_FIG1 = {"top to bottom": "1.4 %", "left to right": "1.47 % (caption) or 1.7 % (text)"}

DATA_SETS = {"realmff": ("Real MFF", (1, 2, 4)), "dpdd": ("DPDD", (2, 4, 8))}

RAMPS = (("brick", 0, "top to bottom"), ("rocket", 1, "left to right"))


@dataclass(frozen=True)
class RampRow:
    """One synthetic ramp of Fig. 1."""

    image: str
    direction: str
    method: str
    mean_relative_error: float
    remade_error: float
    flat_fraction: float


@dataclass(frozen=True)
class TableRow:
    """One pair at one resolution, in the columns of Table I; B = far or sharp, F = near or blurry."""

    data_set: str
    pair: str
    resolution: str
    b_sharper: float
    f_sharper: float
    e_b: float
    e_f: float
    unblurred_e_b: float
    unblurred_e_f: float
    scored_fraction: float
    seconds: float


def reproduce(
    folder: Path,
    data: Path | None = None,
    *,
    method: str = "paper",
    limit: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[list[RampRow], list[TableRow]]:
    """Run the experiments and write ``fig1_*.png``, ``fig6.png``, ``fig7.png``, ``table.md``, ``table.csv``."""
    names = ("fig1_brick.png", "fig1_rocket.png", "fig6.png", "fig7.png", "table.md", "table.csv")
    work = list(_pairs(data, limit)) if data is not None else []
    refuse_inputs((folder / name for name in names), (path for _, _, *both in work for path in both))
    refuse_to_replace(folder, names, force)
    with filling(folder, force=force) as new:
        return _run(new, work, method, progress)


def _run(
    folder: Path, work: list[tuple[str, str, Path, Path]], method: str, progress: Progress | None
) -> tuple[list[RampRow], list[TableRow]]:
    ramps: list[RampRow] = []
    total = len(RAMPS) + len(work)
    for done, (name, axis, direction) in enumerate(RAMPS):
        ramps += _ramp(folder, name, axis, direction)
        if progress is not None:
            progress((done + 1) / total)
    table: list[TableRow] = []
    drawn: set[str] = set()
    for done, (layout, name, near, far) in enumerate(work):
        figure = None
        if layout not in drawn:
            figure = folder / ("fig6.png" if layout == "realmff" else "fig7.png")
            drawn.add(layout)
        table += _real_pair(layout, name, grey_pair(read_pair(far, near)), method, figure)
        if progress is not None:
            progress((len(RAMPS) + done + 1) / total)
    _write_tables(folder, ramps, table, method)
    return ramps, table


def means(rows: list[TableRow]) -> list[TableRow]:
    """Average the rows of each data set and resolution."""
    groups: dict[tuple[str, str], list[TableRow]] = {}
    for row in rows:
        groups.setdefault((row.data_set, row.resolution), []).append(row)
    numbers = [f.name for f in fields(TableRow) if f.name not in ("data_set", "pair", "resolution")]
    return [
        TableRow(
            data_set,
            f"mean of {len(group)}",
            resolution,
            **{name: float(np.nanmean([getattr(row, name) for row in group])) for name in numbers},
        )
        for (data_set, resolution), group in groups.items()
    ]


def _pairs(data: Path, limit: int | None) -> Iterator[tuple[str, str, Path, Path]]:
    if not data.is_dir():
        raise InputError(f"--data {data} is not a folder; it should hold realmff/ and dpdd*/")
    found = False
    for layout in LAYOUTS:
        folders = [folder for folder in (data, *sorted(data.glob(f"{layout}*"))) if folder.is_dir()]
        pairs = [pair for folder in folders for pair in find_pairs(folder, layout)]
        for name, near, far in pairs[:limit]:
            found = True
            yield layout, name, near, far
    if not found:
        raise InputError(f"no pairs in {data}; expected realmff/NNN_a.png + NNN_b.png or dpdd*/NN_f4.png + NN_f22.png")


def _ramp(folder: Path, name: str, axis: int, direction: str) -> list[RampRow]:
    stored = photograph(name)
    image = as_image(stored if stored.ndim == 2 else stored.mean(axis=2) / 255.0)
    truth = synth.ramp((image.shape[0], image.shape[1]), 1.0, 2.0, axis)
    blurred = synth.blur_with_map(image, truth)
    rows, panels = (
        [],
        [
            Panel("L-Image", image),
            Panel("R-Image, blur 1 to 2 px", blurred),
            Panel("true sigma (px)", truth, "sigma", 2.0),
        ],
    )
    for method in ("paper", "refined"):
        found = estimate_blur(image, blurred, sharper="first", method=method)
        known = np.isfinite(found.sigma)
        relative = np.abs(found.sigma - truth) / truth
        made = resynthesize(image, blurred, found)
        error = float(relative[known].mean())
        remade = float(np.abs(made - blurred)[known].mean())
        rows.append(RampRow(name, direction, method, error, remade, float(1 - known.mean())))
        panels.append(Panel(f"{method}: {100 * error:.3g} % mean error", found.sigma, "sigma", 2.0))
    panels_picture(folder / f"fig1_{name}.png", panels, heading=f"Fig. 1: sigma from 1 to 2 px, {direction}")
    return rows


def grey_pair(pair: ComparablePair) -> ComparablePair:
    """Return a pair as grey floats with the usual luma weights."""
    if pair.first.ndim == 2:
        return pair
    luma = np.array([0.2989, 0.5870, 0.1140])
    first, second = (unit_float(image) @ luma for image in (pair.first, pair.second))
    return ComparablePair(first, second, pair.valid)


def _real_pair(layout: str, name: str, pair: ComparablePair, method: str, figure: Path | None) -> Iterator[TableRow]:
    """Score a pair at the resolutions of Table I; ``first`` is I_B, ``second`` is I_F."""
    title, factors = DATA_SETS[layout]
    for factor in factors:
        reduced = pair.decimated(factor)
        start = time.perf_counter()
        found = estimate_blur(reduced.first, reduced.second, method=method, valid=reduced.valid)
        seconds = time.perf_counter() - start
        score = evaluate_pair(reduced.first, reduced.second, found, held_out=False)
        if figure is not None and factor == factors[0]:
            number = 6 if layout == "realmff" else 7
            wanted = observed_blurrier(reduced.first, reduced.second, found)
            made = resynthesize(reduced.first, reduced.second, found)
            panels = [
                Panel("I_F", reduced.second),
                Panel("I_B", reduced.first),
                Panel("defocused regions of both", wanted),
                Panel("the same, re-estimated from the sharper image", made),
            ]
            heading = (
                f"Fig. {number}: {title} {name}, {reduced.size}; e_B {score.e_first:.4f}, e_F {score.e_second:.4f}"
            )
            panels_picture(figure, panels, columns=2, heading=heading)
        yield _table_row(title, name, reduced.size, score, seconds)


def _table_row(data_set: str, name: str, size: str, score: PairScore, seconds: float) -> TableRow:
    return TableRow(
        data_set=data_set,
        pair=name,
        resolution=size,
        b_sharper=score.first_sharper_fraction,
        f_sharper=score.second_sharper_fraction,
        e_b=score.e_first,
        e_f=score.e_second,
        unblurred_e_b=score.unblurred_e_first,
        unblurred_e_f=score.unblurred_e_second,
        scored_fraction=score.scored_fraction,
        seconds=seconds,
    )


def _write_tables(folder: Path, ramps: list[RampRow], table: list[TableRow], method: str) -> None:
    text = io.StringIO()
    text.write("# The paper's experiments, run by relblur\n\n## Fig. 1: synthetic ramps, sigma 1 to 2 px, float\n\n")
    text.write("| image | direction | method | mean relative error | re-made MAE | no answer | the paper |\n")
    text.write("|---|---|---|---|---|---|---|\n")
    for ramp in ramps:
        paper = PAPER_FIG1[ramp.direction] if ramp.method == "paper" else ""
        text.write(
            f"| {ramp.image} | {ramp.direction} | {ramp.method} | {100 * ramp.mean_relative_error:.3f} % "
            f"| {ramp.remade_error:.6f} | {ramp.flat_fraction:.2%} | {paper} |\n"
        )
    if table:
        text.write(f"\n## Table I: real pairs, method {method!r}\n\n")
        text.write("Unblurred: the same error if the sharper image is taken as it is.\n\n")
        text.write(
            "| data set | pair | resolution | I_B sharper | I_F sharper | e_B | e_F | unblurred e_B | unblurred e_F |\n"
        )
        text.write("|---|---|---|---|---|---|---|---|---|\n")
        for name, size, b, f, e_b, e_f in PAPER_TABLE:
            text.write(f"| {name} | the paper's | {size} | {b:.0%} | {f:.0%} | {e_b:.3f} | {e_f:.3f} | | |\n")
        for row in [*means(table), *table]:
            text.write(
                f"| {row.data_set} | {row.pair} | {row.resolution} | {row.b_sharper:.0%} | {row.f_sharper:.0%} "
                f"| {row.e_b:.4f} | {row.e_f:.4f} | {row.unblurred_e_b:.4f} | {row.unblurred_e_f:.4f} |\n"
            )
    with replacing(folder / "table.md") as stream:
        stream.write(text.getvalue().encode())
    if table:
        sheet = io.StringIO()
        writer = csv.DictWriter(sheet, [f.name for f in fields(TableRow)])
        writer.writeheader()
        writer.writerows(asdict(row) for row in table)
        with replacing(folder / "table.csv") as stream:
            stream.write(sheet.getvalue().encode())
