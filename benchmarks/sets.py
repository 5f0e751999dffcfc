"""Run the whole chain on photographed pairs of seven data sets, and measure the gain of each step.

    python benchmarks/sets.py [--data DIR] [--quick] [--whole] [--side PX] [--ablate N] [--sets NAME ...]
    python benchmarks/sets.py --command [--sheets DIR] [--data DIR] [--quick] [--sets NAME ...]

The first form prints `explained` for colour pairs, with all steps on and with each step off: the share of the
differences in red and blue explained by sigma from green. Every column is scored on the same aligned and
exposure-matched light; a step is off for the estimate only. A refusal counts as no map, not as zero. Only the
middle 256 x 256 pixels (--side) are used unless --whole is given. --ablate N scores N pairs of a set, spread
evenly over it, because each pair takes six estimates.

The second form runs every pair as `relblur estimate` does without options, including its files. It prints the
size, the decimation, the blur, the share of pixels with a value and the time, or the refusal. --sheets writes a
picture of the photographs and maps of each set.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import typer

import machine
from relblur import BlurMap, RelblurError, estimate_blur, imread, load, resynthesize
from relblur.apps.cli.estimate import estimate
from relblur.blur.comparable_pair import ComparablePair
from relblur.blur.evaluate import observed_blurrier
from relblur.photo.photograph import read_light_pair
from relblur.photo.pipeline import match_pair, noise_of
from relblur.report.panels import Panel, panels_picture

#: set: (pattern of the first image, what becomes the second, decimation)
SETS = {
    "realmff": ("realmff/*_a.png", ("_a.", "_b."), 1),
    "dpdd_gif": ("dpdd_gif/*_f4.png", ("_f4.", "_f22."), 1),
    "lytro": ("lytro/*_a.png", ("_a.", "_b."), 1),
    "gray_classic": ("gray_classic/*_a.png", ("_a.", "_b."), 1),
    "mffw": ("mffw/*_a.jpg", ("_a.", "_b."), 1),
    "pixel4_dp": ("pixel4_dp/*_blur.png", ("_blur.", "_sharp_gt."), 4),
    "dfd_carvalho": ("dfd_carvalho/*_f2p8.jpg", ("_f2p8.", "_f8."), 1),
    "dfd unaligned": ("dfd_carvalho/unaligned/*_f2p8.jpg", ("_f2p8.", "_f8."), 1),
}
ROWS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "not linear": {"linear": False},
    "not aligned": {"align": "off"},
    "exposure not matched": {"exposure": "off"},
    "nothing": {"linear": False, "align": "off", "exposure": "off"},
}


def pairs_of(data: Path, name: str, quick: bool) -> Iterator[tuple[str, Path, Path]]:
    pattern, (one, two), _ = SETS[name]
    found = sorted(data.glob(pattern))
    for first in found[:2] if quick else found:
        yield first.stem.split("_")[0], first, first.with_name(first.name.replace(one, two))


def middle(pair: ComparablePair, side: int) -> ComparablePair:
    """Return the middle of a pair."""
    top, left = (max(0, (n - side) // 2) for n in pair.first.shape[:2])
    cut = (slice(top, top + side), slice(left, left + side))
    valid = None if pair.valid is None else pair.valid[cut]
    clipped = None if pair.clipped is None else (pair.clipped[0][cut], pair.clipped[1][cut])
    return replace(pair, first=pair.first[cut], second=pair.second[cut], valid=valid, clipped=clipped)


def prepared(first: Path, second: Path, factor: int, options: dict[str, Any], side: int) -> ComparablePair:
    pair = read_light_pair(first, second, linear=options.get("linear", True)).decimated(factor)
    pair = middle(pair, side)
    return match_pair(pair, align=options.get("align", "auto"), exposure=options.get("exposure", "auto"))


def estimated(pair: ComparablePair, green: bool = False) -> BlurMap:
    alone = replace(pair, first=pair.first[:, :, 1], second=pair.second[:, :, 1]) if green else pair
    return estimate_blur(
        alone.first,
        alone.second,
        noise=noise_of(alone),
        valid=alone.valid,
        clipped=alone.clipped_in_either,
        channel_axis=alone.channel_axis,
    )


def explained(green: BlurMap, pair: ComparablePair) -> float:
    """Share of the red and blue differences that a map explains, over pixels usable in the pair."""
    images = pair.first[:, :, [0, 2]].astype(np.float64), pair.second[:, :, [0, 2]].astype(np.float64)
    difference = np.abs(images[0] - images[1])
    left = np.abs(resynthesize(*images, green, channel_axis=-1) - observed_blurrier(*images, green, channel_axis=-1))
    use = np.ones(pair.first.shape[:2], bool) if pair.valid is None else pair.valid.copy()
    if pair.clipped_in_either is not None:
        use &= ~pair.clipped_in_either
    known = np.isfinite(green.variance_difference)[:, :, None]
    return float(1 - np.where(known, left, difference)[use].sum() / difference[use].sum())


def as_the_command(first: Path, second: Path, folder: Path) -> dict[str, Any]:
    """Run `relblur estimate FIRST SECOND -o FOLDER` in this process: its summary, or why it refused."""
    said, result = io.StringIO(), io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(result):
        try:
            estimate(first, second, folder, as_json=True)
        except typer.Exit as end:
            return {"refused": said.getvalue().strip().splitlines()[-1], "exit": end.exit_code}
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


def run_set(data: Path, name: str, quick: bool, side: int, ablate: int) -> list[dict[str, Any]]:
    factor = SETS[name][2]
    pairs: list[dict[str, Any]] = []
    found_pairs = list(pairs_of(data, name, quick))
    some = np.unique(np.linspace(0, len(found_pairs) - 1, min(ablate, len(found_pairs))).round().astype(int))
    for label, first, second in (found_pairs[index] for index in some):
        row: dict[str, Any] = {"pair": label, "explained": {}}
        pairs.append(row)
        try:
            whole = prepared(first, second, factor, {}, side)
            found = estimated(whole)
        except RelblurError as error:
            row["refused"] = str(error)
            print(f"{name} {label}: refused: {error}", flush=True)
            continue
        row |= {"notes": whole.notes, "answered": float(np.isfinite(found.sigma).mean())}
        row["median_sigma"] = float(np.nanmedian(np.abs(found.sigma)))
        print(f"{name} {label}: {'; '.join(whole.notes[1:])}; answered {row['answered']:.0%}", flush=True)
        if whole.first.ndim != 3:
            continue
        for step, options in ROWS.items():
            pair = prepared(first, second, factor, options, side) if options else whole
            row["explained"][step] = explained(estimated(pair, green=True), whole)
        print(
            "    explained: " + ", ".join(f"{step} {value:.3f}" for step, value in row["explained"].items()), flush=True
        )
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--quick", action="store_true", help="two pairs of each set")
    parser.add_argument("--whole", action="store_true", help="whole pictures instead of their middles")
    parser.add_argument("--side", type=int, default=256, help="side of the middles, px")
    parser.add_argument("--ablate", type=int, default=10**9, help="pairs of each set to score, spread over it")
    parser.add_argument("--command", action="store_true", help="every pair as the command line runs it")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--sheets", type=Path, help="with --command: folder for pictures (not to be committed)")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no photographed pairs: {options.data} is not there; pass --data DIR")
        return
    warnings.simplefilter("ignore")
    print(machine.describe())
    if options.command:
        rows = run_commands(options.data, options.sets, options.quick, options.sheets)
        print("\nwritten:", machine.write("sets_command", rows))
        return
    side = 10**9 if options.whole else options.side
    result = {}
    table = ["| set | pairs | maps | refused | scored | " + " | ".join(ROWS) + " |", "|---|" + "---|" * (len(ROWS) + 4)]
    for name in options.sets:
        rows = result[name] = run_set(options.data, name, options.quick, side, options.ablate)
        refused = sum("refused" in row for row in rows)
        scored = [row["explained"] for row in rows if row["explained"]]
        cells = [f"{np.mean([one[step] for one in scored]):.3f}" if scored else "-" for step in ROWS]
        counts = [len(rows), len(rows) - refused, refused, len(scored)]
        table.append(f"| {name} | " + " | ".join([*map(str, counts), *cells]) + " |")
        print("\n" + "\n".join(table) + "\n", flush=True)
    print("\nwritten:", machine.write("sets", result))


if __name__ == "__main__":
    main()
