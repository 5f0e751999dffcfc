"""Photographed pairs of seven data sets through the whole chain, and whether each step pays for itself.

    python benchmarks/sets.py [--data DIR] [--quick] [--whole] [--ablate N] [--sets NAME ...] [--sheets DIR]

Every pair is run with the defaults of the command line; it gives a map or a refusal, which is
printed. For colour pairs `explained` is printed: sigma from green, the share of the red and blue
differences explained, with every step on, and with each off. The score is taken on the aligned,
exposure-matched light in every column, so that they compare the same thing: a step that is off is
off for the estimate only. A refusal counts as no map, not as a zero. Only the middle 256 x 256
pixels are used unless --whole is given, and --ablate N switches steps off for the first N pairs of a
set only: six estimates a pair take time.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import machine
from relblur import BlurMap, RelblurError, estimate_blur, resynthesize
from relblur.comparable import match_pair, noise_of
from relblur.evaluate import observed_blurrier
from relblur.pairs import FilePair, read_light_pair
from relblur.pictures import Panel, panels_picture

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


def middle(pair: FilePair, side: int) -> FilePair:
    """Return the middle of a pair."""
    top, left = (max(0, (n - side) // 2) for n in pair.first.shape[:2])
    cut = (slice(top, top + side), slice(left, left + side))
    valid = None if pair.valid is None else pair.valid[cut]
    clipped = None if pair.clipped is None else (pair.clipped[0][cut], pair.clipped[1][cut])
    return replace(pair, first=pair.first[cut], second=pair.second[cut], valid=valid, clipped=clipped)


def prepared(first: Path, second: Path, factor: int, options: dict[str, Any], side: int) -> FilePair:
    pair = read_light_pair(first, second, linear=options.get("linear", True)).decimated(factor)
    pair = middle(pair, side)
    return match_pair(pair, align=options.get("align", "auto"), exposure=options.get("exposure", "auto"))


def estimated(pair: FilePair, green: bool = False) -> BlurMap:
    alone = replace(pair, first=pair.first[:, :, 1], second=pair.second[:, :, 1]) if green else pair
    return estimate_blur(
        alone.first,
        alone.second,
        noise=noise_of(alone),
        valid=alone.valid,
        clipped=alone.clipped_in_either,
        channel_axis=alone.channel_axis,
    )


def explained(green: BlurMap, pair: FilePair) -> float:
    """Share of the red and blue differences that a map explains, over pixels usable in the pair."""
    images = pair.first[:, :, [0, 2]].astype(np.float64), pair.second[:, :, [0, 2]].astype(np.float64)
    difference = np.abs(images[0] - images[1])
    left = np.abs(resynthesize(*images, green, channel_axis=-1) - observed_blurrier(*images, green, channel_axis=-1))
    use = np.ones(pair.first.shape[:2], bool) if pair.valid is None else pair.valid.copy()
    if pair.clipped_in_either is not None:
        use &= ~pair.clipped_in_either
    known = np.isfinite(green.variance_difference)[:, :, None]
    return float(1 - np.where(known, left, difference)[use].sum() / difference[use].sum())


def run_set(data: Path, name: str, quick: bool, sheets: Path | None, side: int, ablate: int) -> dict[str, Any]:
    factor = SETS[name][2]
    pairs: list[dict[str, Any]] = []
    panels: list[Panel] = []
    for label, first, second in pairs_of(data, name, quick):
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
        if sheets is not None:
            panels += [Panel(f"{name} {label}", whole.first), Panel("sigma (px)", found.sigma, "sigma", 4.0)]
        if whole.first.ndim != 3 or len(pairs) > ablate:
            continue
        for step, options in ROWS.items():
            pair = prepared(first, second, factor, options, side) if options else whole
            row["explained"][step] = explained(estimated(pair, green=True), whole)
    if sheets is not None and panels:
        sheets.mkdir(parents=True, exist_ok=True)
        panels_picture(sheets / f"{name.replace(' ', '_')}.png", panels[:24], columns=6)
    return {"pairs": pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--quick", action="store_true", help="two pairs of each set")
    parser.add_argument("--whole", action="store_true", help="whole pictures instead of their middles")
    parser.add_argument("--ablate", type=int, default=10**9, help="pairs of each set to switch steps off for")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--sheets", type=Path, help="folder for contact sheets (not to be committed)")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no photographed pairs: {options.data} is not there; pass --data DIR")
        return
    warnings.simplefilter("ignore")
    print(machine.describe())
    side = 10**9 if options.whole else 256
    result = {}
    table = ["| set | pairs | maps | refused | scored | " + " | ".join(ROWS) + " |", "|---|" + "---|" * (len(ROWS) + 4)]
    for name in options.sets:
        rows = result[name] = run_set(options.data, name, options.quick, options.sheets, side, options.ablate)["pairs"]
        refused = sum("refused" in row for row in rows)
        scored = [row["explained"] for row in rows if row["explained"]]
        cells = [f"{np.mean([one[step] for one in scored]):.3f}" if scored else "-" for step in ROWS]
        counts = [len(rows), len(rows) - refused, refused, len(scored)]
        table.append(f"| {name} | " + " | ".join([*map(str, counts), *cells]) + " |")
        print("\n" + "\n".join(table) + "\n", flush=True)
    print("\nwritten:", machine.write("sets", result))


if __name__ == "__main__":
    main()
