"""Run the command on photographed pairs of seven data sets.

    python benchmarks/sets.py [--data DIR] [--sheets DIR] [--quick] [--sets NAME ...]

Every pair is run as `relblur estimate` does without options, including its files. Prints the size, the decimation, the
blur, the share of pixels with a value and the time, or the refusal. --sheets writes a picture of the photographs and
maps of each set.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import machine
from relblur import RelblurError, imread, load
from relblur.apps.cli.estimate import estimate
from relblur.base.options import Estimating, Preparing
from relblur.report.panels import Panel, panels_picture

#: set: (pattern of the first image, what becomes the second)
SETS = {
    "realmff": ("realmff/*_a.png", ("_a.", "_b.")),
    "dpdd_gif": ("dpdd_gif/*_f4.png", ("_f4.", "_f22.")),
    "lytro": ("lytro/*_a.png", ("_a.", "_b.")),
    "gray_classic": ("gray_classic/*_a.png", ("_a.", "_b.")),
    "mffw": ("mffw/*_a.jpg", ("_a.", "_b.")),
    "pixel4_dp": ("pixel4_dp/*_blur.png", ("_blur.", "_sharp_gt.")),
    "dfd_carvalho": ("dfd_carvalho/*_f2p8.jpg", ("_f2p8.", "_f8.")),
    "dfd unaligned": ("dfd_carvalho/unaligned/*_f2p8.jpg", ("_f2p8.", "_f8.")),
}


def pairs_of(data: Path, name: str, quick: bool) -> Iterator[tuple[str, Path, Path]]:
    pattern, (one, two) = SETS[name]
    found = sorted(data.glob(pattern))
    for first in found[:2] if quick else found:
        yield first.stem.split("_")[0], first, first.with_name(first.name.replace(one, two))


def as_the_command(first: Path, second: Path, folder: Path) -> dict[str, Any]:
    """Run `relblur estimate FIRST SECOND -o FOLDER` in this process: its summary, or why it refused."""
    said, result = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(result):
        try:
            estimate(first, second, folder, Estimating(), Preparing(), as_json=True)
        except RelblurError as error:
            return {"refused": str(error)}
    return json.loads(result.getvalue())


def command_row(label: str, summary: dict[str, Any]) -> list[str]:
    """Return the cells of one pair."""
    if "refused" in summary:
        return [label, "refused", "", summary["refused"], "", "", ""]
    notes = {kind.strip(): text.strip() for kind, _, text in (note.partition(":") for note in summary["notes"])}
    settings = summary["settings"]
    percentiles = summary["sigma_px_percentiles"] or {}
    blur = "/".join(f"{value:+.1f}" for value in percentiles.values())
    found = f"{notes.get('alignment', '')}; {notes.get('exposure', '')}"
    answered = f"{summary['answered_fraction']:.0%}"
    return [label, settings["full_size"], str(settings["decimate"]), found, blur, answered, f"{summary['seconds']:.1f}"]


def run_commands(data: Path, names: list[str], quick: bool, sheets: Path | None) -> dict[str, Any]:
    """Run every pair of the sets as the command line does."""
    result: dict[str, Any] = {}
    for name in names:
        print(f"\n{name}\n\n| pair | size | decimated by | found | sigma, px (5/50/95 %) | answered | s |")
        print("|---|---|---|---|---|---|---|")
        rows = result[name] = {}
        panels: list[Panel] = []
        for label, first, second in pairs_of(data, name, quick):
            with tempfile.TemporaryDirectory() as folder:
                rows[label] = as_the_command(first, second, Path(folder))
                print("| " + " | ".join(command_row(label, rows[label])) + " |", flush=True)
                if sheets is not None and "refused" not in rows[label]:
                    found = load(Path(folder) / "blur_map.npz")
                    pictures = [imread(path, linear=False) for path in (first, second)]
                    panels += [
                        Panel(f"{name} {label}{end}", _thumbnail(p)) for p, end in zip(pictures, "ab", strict=True)
                    ]
                    panels.append(Panel("sigma (px)", _thumbnail(found.sigma), "sigma"))
        refused = sum("refused" in row for row in rows.values())
        print(f"\n{name}: {len(rows)} pairs, {len(rows) - refused} maps, {refused} refused", flush=True)
        if sheets is not None and panels:
            sheets.mkdir(parents=True, exist_ok=True)
            panels_picture(sheets / f"{name.replace(' ', '_')}.png", panels, columns=9, panel_width=2.0)
    return result


def _thumbnail(image: np.ndarray) -> np.ndarray:
    step = max(1, max(image.shape[:2]) // 400)
    return image[::step, ::step]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--quick", action="store_true", help="two pairs of each set")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--sheets", type=Path, help="folder for pictures (not to be committed)")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no photographed pairs: {options.data} is not there; pass --data DIR")
        return
    warnings.simplefilter("ignore")
    print(machine.describe())
    rows = run_commands(options.data, options.sets, options.quick, options.sheets)
    print("\nwritten:", machine.write("sets_command", rows))


if __name__ == "__main__":
    main()
