"""Measure the accuracy of every method on synthetic pairs with known blur.

    python benchmarks/accuracy.py [--quick] [--images ...] [--fields ...] [--data ...] [--methods ...] [--as NAME]
    python benchmarks/accuracy.py --data "noise 0.002/0.01,noise 0.01/0.002" --methods refined --as unequal

Cases are all combinations of fields, degradations, images and methods. Columns: the mean relative error of sigma over
all pixels in % (signed field: mean |s error| / mean |s|; pixels without a value count as s = 0), the share of errors
within one standard error, and CPU time in s. Writes results/accuracy.json, or results/NAME.json.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

import machine
import rivals
from photographs import RAMP_IMAGES, grey
from relblur import estimate_blur, synth

#: Photographs on which constants were chosen; the others had no part in the choice.
TUNED_ON = ("brick", "coffee", "camera")

FIELDS: dict[str, Callable[[tuple[int, int]], np.ndarray]] = {
    "ramp 1-2 down": lambda shape: synth.ramp(shape, 1, 2, 0),
    "ramp 1-2 right": lambda shape: synth.ramp(shape, 1, 2, 1),
    "ramp 0.5-4": lambda shape: synth.ramp(shape, 0.5, 4, 0),
    "stripes": lambda shape: synth.steps(shape, (1.0, 2.0), 64, 0),
    "disc": lambda shape: synth.disc(shape, 0.8, 2.5),
    "sinusoid": lambda shape: synth.sinusoid(shape, 2.0, 1.0, 256.0),
    "signed": lambda shape: synth.ramp(shape, -2, 2, 1),
    "signed sampled": lambda shape: synth.ramp(shape, -2, 2, 1),
}
#: Either image is the blurrier somewhere. Light is blurred by the first one's kernels, programs use the second one's.
SIGNED = {"signed": "band_limited", "signed sampled": "sampled"}
#: Noise of the first and the second image. One image may be the noisier: these are run if --data names them.
NOISE = {"float": (0.0, 0.0), "8 bit": (0.0, 0.0), "noise 0.005": (0.005, 0.005), "noise 0.01": (0.01, 0.01)}
UNEQUAL = {"noise 0.002/0.01": (0.002, 0.01), "noise 0.01/0.002": (0.01, 0.002)}
METHODS = ("paper", "box 9", "window", "refined", "refined auto")


def make_pair(image: str, field: str, data: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return (first, second, signed sigma) of one case; floats on a 0..1 scale."""
    sharp = grey(image)
    truth = FIELDS[field](sharp.shape)
    blurs = [np.maximum(-truth, 0), np.maximum(truth, 0)]
    first, second = (synth.blur_with_map(sharp, blur, kernel=SIGNED.get(field, "sampled")) for blur in blurs)
    if data == "float":
        return first, second, truth
    if data == "8 bit":
        if field in SIGNED:  # either image is the blurred one somewhere
            first = synth.degrade(first, bits=8) / 255.0
        return first, synth.degrade(second, bits=8) / 255.0, truth
    rng = np.random.default_rng(0)
    levels = (NOISE | UNEQUAL)[data]
    noisy = [
        synth.degrade(each, noise=n, bits=8, rng=rng) / 255.0 for each, n in zip((first, second), levels, strict=True)
    ]
    return noisy[0], noisy[1], truth


def run_case(case: tuple[str, str, str, tuple[str, ...]]) -> list[dict[str, Any]]:
    image, field, data, methods = case
    first, second, truth = make_pair(image, field, data)
    rows = []
    for method in methods:
        side = "auto" if field in SIGNED or method.endswith("auto") else "first"
        if field in SIGNED and method == "refined auto":
            continue
        start = time.process_time()
        s, stderr = _estimate(method, first, second, side)
        seconds = time.process_time() - start
        rows.append({"image": image, "field": field, "data": data, "method": method, "cpu_s": seconds})
        rows[-1] |= _score(s, stderr, truth, field)
    return rows


def _estimate(method: str, first: np.ndarray, second: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray | None]:
    if method == "box 9":
        search = rivals.box_on_grid if side == "first" else rivals.signed_box_on_grid
        sigma = search(first, second)
        return np.sign(sigma) * sigma**2, None
    found = estimate_blur(first, second, method=method.split()[0], sharper=side, workers=1)
    return np.nan_to_num(found.variance_difference), found.variance_stderr


def _score(s: np.ndarray, stderr: np.ndarray | None, truth: np.ndarray, field: str) -> dict[str, Any]:
    true_s = np.sign(truth) * truth**2
    if field in SIGNED:
        error = float(np.abs(s - true_s).mean() / np.abs(true_s).mean())
    else:
        error = float((np.abs(np.sign(s) * np.sqrt(np.abs(s)) - truth) / truth).mean())
    known = stderr is not None and np.isfinite(stderr)
    coverage = float((np.abs(s - true_s) <= stderr)[known].mean()) if stderr is not None else None
    return {"error_percent": 100 * error, "coverage_percent": None if coverage is None else 100 * coverage}


def _mean_coverage(rows: list[dict[str, Any]], method: str) -> float:
    chosen = [r for r in rows if r["method"] == (method if r["field"] not in SIGNED else "refined")]
    fields = {r["field"] for r in chosen}
    return float(np.mean([np.mean([r["coverage_percent"] for r in chosen if r["field"] == field]) for field in fields]))


def print_table(rows: list[dict[str, Any]], images: tuple[str, ...], title: str) -> None:
    """Print mean (worst) over images for every field and kind of data, one block a method."""
    here = [row for row in rows if row["image"] in images]
    if not here:
        return
    print(f"\n## {title}: {', '.join(images)}\n")
    methods = list(dict.fromkeys(row["method"] for row in here))
    print("| data | field | " + " | ".join(methods) + " | within 1 stderr |")
    print("|---|---|" + "---|" * (len(methods) + 1))
    for data in dict.fromkeys(row["data"] for row in here):
        for field in dict.fromkeys(row["field"] for row in here):
            cells = []
            for method in methods:
                errors = [
                    r["error_percent"] for r in here if (r["method"], r["data"], r["field"]) == (method, data, field)
                ]
                cells.append(f"{np.mean(errors):.3g} ({np.max(errors):.3g})" if errors else "")
            cover = [
                r["coverage_percent"] for r in here if (r["method"], r["data"], r["field"]) == ("refined", data, field)
            ]
            print(f"| {data} | {field} | " + " | ".join(cells) + f" | {np.mean(cover):.0f} |" if cover else "")
    for method in [one for one in methods if one.startswith("refined")]:
        # Signed fields are signed whatever is stated: they belong to both.
        means = [
            f"{data} {_mean_coverage([r for r in here if r['data'] == data], method):.0f}"
            for data in dict.fromkeys(row["data"] for row in here)
        ]
        print(f"\nWithin 1 stderr, {method}, mean over the fields: " + ", ".join(means))
    print(
        "\nCPU seconds, mean: "
        + ", ".join(
            f"{method} {np.mean([r['cpu_s'] for r in here if r['method'] == method]):.2f}" for method in methods
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", default=",".join(RAMP_IMAGES))
    parser.add_argument("--fields", default=",".join(FIELDS))
    parser.add_argument("--data", default=",".join(NOISE))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--quick", action="store_true", help="brick, chelsea and rocket, refined and window only")
    parser.add_argument("--as", dest="name", default="accuracy", help="name of the file of results")
    options = parser.parse_args()
    if options.quick:
        options.images, options.methods = "brick,chelsea,rocket", "window,refined"
    lists = (options.images, options.fields, options.data, options.methods)
    images, fields, data, methods = (tuple(text.split(",")) for text in lists)
    cases = [(image, field, kind, methods) for kind in data for field in fields for image in images]
    print(machine.describe(), flush=True)
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(2) as pool:
        for done, part in enumerate(pool.map(run_case, cases), 1):
            rows += part
            if done % 20 == 0:
                print(f"{done} of {len(cases)} cases", flush=True)
    print_table(rows, tuple(i for i in images if i not in TUNED_ON), "Images not used for choosing constants")
    print_table(rows, tuple(i for i in images if i in TUNED_ON), "Images used for choosing constants")
    print("\nwritten:", machine.write(options.name, rows))


if __name__ == "__main__":
    main()
