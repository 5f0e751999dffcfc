"""List the constants that affect results, in a table made from the code, and scan those of the solver.

    python benchmarks/constants.py            # write constants.md
    python benchmarks/constants.py --scan [NAME] [--side 160]

The table contains every number with a name in capitals in the modules of MODULES, and the comment above it. The scan
halves and doubles the constants of the solver and its builders of volumes. It records the change of the mean relative
error of s, and that of the share of pixels within one standard error in percentage points. A constant is *flat* if
neither value changes the error by 2 % or the share by a point, *steep* if one of them increases the error by 10 %, and
*fixed* if the code cannot work with the value. Whole numbers are rounded, odd ones stay odd.

The scan uses ramps, stripes and signed blur on photographs, in 8 bits and in noise, and a wall beside a texture. No
published figure uses these crops.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import machine
from accuracy import SIGNED, make_pair
from relblur import estimate_blur, synth

SOURCE = Path(__file__).parents[1] / "src" / "relblur"
TABLE = Path(__file__).with_name("constants.md")
#: The solver and its builders, all of whose constants are scanned.
SOLVER = ("field", "blur/dense", "depth/equal_blur", "stacks/few", "stacks/many", "stacks/plate", "stacks/law")
#: Other modules with constants that shape an answer.
OTHERS = (
    "base/settings", "base/pixels", "filters/kernels", "filters/discs", "filters/sharpness", "filters/guided",
    "blur/result", "blur/model_warnings", "blur/noise", "blur/whole_image", "blur/paper",
    "blur/window",
    "photo", "depth/calibration", "depth/camera", "depth/order", "depth/refocus", "depth/relation", "stacks/estimate",
    "stacks/frames", "stacks/fuse", "stacks/order", "stacks/topography",
)  # fmt: skip
#: Numbers that cost time or memory only: they are not listed.
ONLY_COST = {"BAND", "SIDES", "GRID", "ROWS", "TILE", "BLOCK_ROWS"}
#: Numbers of the solver and its builders that do not shape an answer: sizes of samples, tables and steps of iterations,
#: and guards of arithmetic. They are listed apart.
COST = {
    "field.grid": {"CUT", "WINDOWS"},
    "field.energy": {"LEAST_MISFIT"},
    "field.multigrid": {"DAMPING", "COARSEST", "SWEEPS"},
    "field.noise": {"FINER"},
    "field.solve": {"STEPS", "SETTLED"},
    "field.start": {"TIE"},
    "field.surface": {"LEAST", "SOLVER_STEPS"},
    "field.uncertainty": {"INTERPOLATION"},
    "blur.dense.coherence": {"_ARITHMETIC", "_VARIANCES"},
    "blur.dense.family": {"_STRIDE", "_SQUARES", "_SQUARE"},
    "blur.dense.noise": {"ROUNDING", "MOST_NOISE", "BAND_ROWS", "EVERY"},
    "blur.dense.residuals": {"_FREQUENCIES"},
    "blur.dense.run": {"MARGIN", "BLEND_WIDTH", "PATCHES", "PATCH"},
    "depth.equal_blur.candidates": {"CIRCLE_STEP_PX", "LEAST_LEVELS", "MOST_LEVELS"},
    "depth.equal_blur.edges": {"_PASSES"},
    "stacks.few": {"MOST_BYTES", "LEAST_LEVELS", "MOST_LEVELS"},
    "stacks.many": {"ROUNDS", "_CHECKED", "_PART"},
    "stacks.plate": {"_TINY", "_SOLVER_STEPS", "_SOLVED", "_CONDITIONED"},
}
#: Photograph, field, data, and the corner of the crop.
CASES = (
    ("coffee", "ramp 1-2 right", "8 bit", 100),
    ("brick", "stripes", "noise 0.01", 0),
    ("camera", "disc", "8 bit", 120),
    ("grass", "signed", "noise 0.005", 0),
    ("astronaut", "stripes", "8 bit", 120),
    ("astronaut", "signed", "noise 0.01", 120),
)
FLAT, STEEP, POINTS = 2.0, 10.0, 1.0
RECORD = machine.RESULTS / "constants_scan.json"


class Constant(NamedTuple):
    """A number in the code: where it is, its value as written, and the comment above it."""

    name: str
    value: str
    comment: str


def modules(names: tuple[str, ...]) -> list[str]:
    """Modules of packages and modules, in order."""
    found = []
    for name in names:
        place = SOURCE / name
        files = sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
        found += [file.relative_to(SOURCE).with_suffix("").as_posix() for file in files if file.name != "__init__.py"]
    return found


def constants(module: str) -> list[Constant]:
    """Constants of a module."""
    text = (SOURCE / f"{module}.py").read_text()
    lines, home, found = text.splitlines(), module.replace("/", "."), []
    held = vars(importlib.import_module(f"relblur.{home}"))
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if targets[0] is None:
            continue
        for target in [each for each in ast.walk(ast.Tuple(targets)) if isinstance(each, ast.Name)]:
            if target.id.isupper() and target.id.strip("_") not in ONLY_COST and is_number(held[target.id]):
                found.append(Constant(f"{home}.{target.id}", shown(held[target.id]), comment_above(lines, node.lineno)))
    return found


def comment_above(lines: list[str], number: int) -> str:
    """The ``#:`` comment that ends above a line, or above the block of assignments that the line is in."""
    row = number - 2
    while row >= 0 and lines[row] and not lines[row].startswith("#:"):
        row -= 1
    words: list[str] = []
    while row >= 0 and lines[row].startswith("#:"):
        words.insert(0, lines[row][2:].strip())
        row -= 1
    return " ".join(words)


def is_number(value: Any) -> bool:
    """Whether a value is a number, or a tuple or dictionary of numbers."""
    if isinstance(value, (tuple, dict)) and value:
        return all(is_number(each) for each in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def shown(value: Any) -> str:
    """A value as a reader wants to see it."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {shown(each)}" for key, each in value.items())
    if isinstance(value, tuple):
        return ", ".join(shown(each) for each in value)
    return f"{float(value):.6g}"


def table() -> str:
    """The whole page."""
    record = json.loads(RECORD.read_text())["rows"] if RECORD.exists() else []
    scans = {row["constant"]: row for row in record}
    found = [each for module in modules(SOLVER) for each in constants(module)]
    cost = [each for each in found if is_cost(each)]
    solver = [each for each in found if not is_cost(each)]
    parts = [
        "# Constants that shape an answer\n",
        "Made by `python benchmarks/constants.py` from the comments in the code, and from",
        "`benchmarks/results/constants_scan.json`: what half and twice the value do to the error of s (%)",
        "and to the share within one standard error (points), on crops that no published figure uses.\n",
        f"## The solver and its builders of volumes: {len(solver)}\n",
        "| constant | value | meaning and reason | half | twice | |",
        "|---|---|---|---|---|---|",
    ]
    for each in solver:
        row = scans.get(each.name, {"cells": ["", ""], "shape": "not scanned"})
        parts.append(f"| `{each.name}` | {each.value} | {each.comment} | {' | '.join(row['cells'])} | {row['shape']} |")
    parts += [
        f"\n## Cost and arithmetic of the solver: {len(cost)}\n",
        "| constant | value | meaning |",
        "|---|---|---|",
    ]
    parts += [f"| `{each.name}` | {each.value} | {each.comment} |" for each in cost]
    parts += ["\n## Others\n", "| constant | value | meaning and reason |", "|---|---|---|"]
    for module in modules(OTHERS):
        parts += [f"| `{each.name}` | {each.value} | {each.comment} |" for each in constants(module)]
    return "\n".join(parts) + "\n"


def is_cost(constant: Constant) -> bool:
    """Whether a constant does not shape an answer."""
    home, name = constant.name.rsplit(".", 1)
    return name in COST.get(home, ())


def scaled(value: Any, factor: float) -> Any:
    """Return a constant times a factor, of the same type and parity."""
    if isinstance(value, dict):
        return {key: scaled(each, factor) for key, each in value.items()}
    if isinstance(value, tuple):
        return tuple(scaled(each, factor) for each in value)
    if isinstance(value, int):
        whole = max(round(value * factor), 1)
        return whole + (value % 2 == 1 and whole % 2 == 0 and value > 3)
    return type(value)(value * factor)


@contextmanager
def changed(name: str, factor: float) -> Iterator[None]:
    """Change a constant wherever it has been imported to."""
    home, constant = f"relblur.{name}".rsplit(".", 1)
    old = getattr(importlib.import_module(home), constant)
    holders = [each for key, each in sys.modules.items() if key.startswith("relblur.")]
    holders = [each for each in holders if each.__name__ == home or _imports(each, home, constant)]
    try:
        for each in holders:
            setattr(each, constant, scaled(old, factor))
        yield
    finally:
        for each in holders:
            setattr(each, constant, old)


def _imports(module: Any, home: str, constant: str) -> bool:
    if constant not in vars(module) or not getattr(module, "__file__", None):
        return False
    text = Path(module.__file__).read_text()
    return bool(re.search(rf"from \S*\b{home.rsplit('.', 1)[1]} import [^)]*?\b{constant}\b", text))


def scan_pairs(side: int) -> list[tuple[str, Any, Any, Any]]:
    """Field, first, second and the true sigma of the crops."""
    pairs = []
    for image, field, data, corner in CASES:
        first, second, truth = make_pair(image, field, data)
        part = (slice(corner, corner + side), slice(corner, corner + side))
        pairs.append((field, first[part], second[part], truth[part]))
    first = pairs[1][1].copy()
    first[:, side // 2 :] = 0.5
    rng = np.random.default_rng(4)
    noisy = [image + 0.005 * rng.standard_normal(first.shape) for image in (first, synth.blur_with_map(first, 1.5))]
    return [*pairs, ("wall", *noisy, np.full(first.shape, 1.5))]


def measure(pairs: list[tuple[str, Any, Any, Any]]) -> tuple[float, float]:
    """Return the mean relative error of s in % and the share within one standard error in %, means over the pairs."""
    errors, within = [], []
    for field, first, second, truth in pairs:
        sharper = "auto" if field in SIGNED or field == "wall" else "first"
        found = estimate_blur(first, second, sharper=sharper, engine="opencv", workers=1)
        s, wanted = np.nan_to_num(found.variance_difference), truth * np.abs(truth)
        errors.append(100 * np.abs(s - wanted).mean() / np.abs(wanted).mean())
        within.append(100 * np.mean(np.abs(s - wanted) < np.nan_to_num(found.variance_stderr)))
    # A geometric mean: no pair counts for more because it is harder.
    return float(np.exp(np.mean(np.log(errors)))), float(np.mean(within))


def shape_of(changes: list[tuple[float, float]]) -> str:
    """Flat, steep or between, from the changes at half and twice the value."""
    if all(abs(error) < FLAT and abs(share) < POINTS for error, share in changes):
        return "flat"
    return "steep" if max(error for error, _ in changes) > STEEP else "mild"


def scan(only: str, side: int) -> None:
    """Scan the constants of pairs; those of depth and stacks do not change these figures."""
    pairs = scan_pairs(side)
    usual = measure(pairs)
    print(f"error {usual[0]:.3f} %, within one standard error {usual[1]:.1f} %", flush=True)
    rows = json.loads(RECORD.read_text())["rows"] if only and RECORD.exists() else []
    for each in [each for module in modules(SOLVER[:2]) for each in constants(module)]:
        if only not in each.name or is_cost(each):
            continue
        changes, cells = [], []
        for factor in (0.5, 2.0):
            try:
                with changed(each.name, factor):
                    error, share = measure(pairs)
            except Exception as reason:  # a value that the code cannot work with says so
                cells.append(type(reason).__name__)
                continue
            changes.append((100 * (error / usual[0] - 1), share - usual[1]))
            cells.append(f"{changes[-1][0]:+.1f}, {changes[-1][1]:+.1f}")
        shape = shape_of(changes) if len(changes) == 2 else "fixed"
        rows = [row for row in rows if row["constant"] != each.name]
        rows.append({"constant": each.name, "cells": cells, "shape": shape})
        print(f"{each.name}: {' | '.join(cells)} {shape}", flush=True)
    machine.write("constants_scan", rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scan", nargs="?", const="", help="scan the constants whose name has this in it")
    parser.add_argument("--side", type=int, default=160)
    options = parser.parse_args()
    if options.scan is not None:
        scan(options.scan, options.side)
    TABLE.write_text(table())
    print("written:", TABLE.name)


if __name__ == "__main__":
    main()
