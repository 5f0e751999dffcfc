"""How the answer changes if a constant of ``blur/refined`` is halved or doubled.

    python benchmarks/constants_scan.py [--only likelihood.sensor] [--side 160]

The constants are those of constants.md. Pairs are small: ramps, stripes and signed blur on four photographs, in
8 bits and in noise. For each constant and both values: the change of the mean relative error of sigma (on the signed
field of |s|) in %, and of the share of pixels within one standard error in percentage points. A constant is *flat* if
neither value changes the error by 2 % or the share by a point, *steep* if one makes the error worse by 10 %.
Whole numbers are rounded, odd ones stay odd. Tables that several modules read are changed in all of them.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import machine
from accuracy import SIGNED, make_pair
from relblur import estimate_blur

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


def constants() -> list[str]:
    """Names in constants.md that belong to the refined estimator."""
    text = Path(__file__).with_name("constants.md").read_text()
    return re.findall(r"^\| `(blur\.refined\.[\w.]+)` \|", text, re.MULTILINE)


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
    home, constant, field = name, "", ""
    home, constant = f"relblur.{home}".rsplit(".", 1)
    if home.rsplit(".", 1)[1].isupper():  # a field of a record
        (home, constant), field = home.rsplit(".", 1), constant
    old = getattr(importlib.import_module(home), constant)
    new = replace(old, **{field: scaled(getattr(old, field), factor)}) if is_dataclass(old) else scaled(old, factor)
    refined = [each for key, each in sys.modules.items() if key.startswith("relblur.blur.refined")]
    holders = [each for each in refined if vars(each).get(constant) is old]
    # Small numbers are one object wherever they stand: only those who import it from there hold the same constant.
    holders = [each for each in holders if each.__name__ == home or _imports(each, home, constant)]
    try:
        for each in holders:
            setattr(each, constant, new)
        yield
    finally:
        for each in holders:
            setattr(each, constant, old)


def _imports(module: Any, home: str, constant: str) -> bool:
    text = Path(module.__file__).read_text()
    return bool(re.search(rf"from \S*\b{home.rsplit('.', 1)[1]} import .*\b{constant}\b", text))


def measure(pairs: list[tuple[str, Any, Any, Any]]) -> tuple[float, float]:
    """Return the mean relative error in % and the share within one standard error in %, means over the pairs."""
    errors, within = [], []
    for field, first, second, truth in pairs:
        found = estimate_blur(first, second, sharper="auto" if field in SIGNED else "first", engine="opencv")
        s = np.nan_to_num(found.variance_difference)
        wanted = truth * np.abs(truth)
        if field in SIGNED:
            errors.append(100 * np.abs(s - wanted).mean() / np.abs(wanted).mean())
        else:
            errors.append(100 * np.mean(np.abs(np.sqrt(np.maximum(s, 0)) - truth) / truth))
        within.append(100 * np.mean(np.abs(s - wanted) < np.nan_to_num(found.variance_stderr)))
    # A geometric mean: no pair counts for more because it is harder.
    return float(np.exp(np.mean(np.log(errors)))), float(np.mean(within))


def shape_of(changes: list[tuple[float, float]]) -> str:
    """Flat, steep or between, from the changes at half and twice the value."""
    if all(abs(error) < FLAT and abs(share) < POINTS for error, share in changes):
        return "flat"
    return "steep" if max(error for error, _ in changes) > STEEP else "mild"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="constants whose name has this in it")
    parser.add_argument("--side", type=int, default=160)
    options = parser.parse_args()
    pairs = []
    for image, field, data, corner in CASES:
        first, second, truth = make_pair(image, field, data)
        part = (slice(corner, corner + options.side), slice(corner, corner + options.side))
        pairs.append((field, first[part], second[part], truth[part]))
    usual = measure(pairs)
    print(f"error {usual[0]:.3f} %, within one standard error {usual[1]:.1f} %\n")
    print("| constant | half: error %, within | twice: error %, within | |\n|---|---|---|---|", flush=True)
    rows = []
    for name in constants():
        if options.only not in name:
            continue
        changes, cells = [], []
        for factor in (0.5, 2.0):
            try:
                with changed(name, factor):
                    error, share = measure(pairs)
            except Exception as reason:  # a value that the code cannot work with says so
                cells.append(type(reason).__name__)
                continue
            changes.append((100 * (error / usual[0] - 1), share - usual[1]))
            cells.append(f"{changes[-1][0]:+.1f}, {changes[-1][1]:+.1f}")
        shape = shape_of(changes) if len(changes) == 2 else "fixed"
        rows.append({"constant": name, "changes": changes, "shape": shape})
        print(f"| `{name}` | {' | '.join(cells)} | {shape} |", flush=True)
    machine.write("_".join(["constants_scan", *filter(None, [options.only])]), rows)


if __name__ == "__main__":
    main()
