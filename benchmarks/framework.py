"""Measure the errors of the paper's Fig. 1: ramps of known blur on ten photographs.

    python benchmarks/framework.py [--images camera,brick]

Prints Markdown tables and writes benchmarks/results/framework.json. ``relblur paper reproduce`` measures Table I.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from time import perf_counter

import numpy as np

import machine
from photographs import RAMP_IMAGES, grey
from relblur import Flag, estimate_blur, resynthesize, synth


def pairs(images: list[str]) -> Iterator[tuple[dict[str, object], np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the name and direction of each pair of Fig. 1, its two images, and the true blur, px."""
    for name, (axis, direction) in product(images, ((0, "down"), (1, "right"))):
        image = grey(name)
        truth = synth.ramp(image.shape, 1.0, 2.0, axis)
        yield {"image": name, "ramp": direction}, image, synth.blur_with_map(image, truth), truth


def ramps(images: list[str]) -> list[dict[str, object]]:
    """Measure every method on floats with the sharper image stated; flat pixels do not count."""
    rows: list[dict[str, object]] = []
    print("| image | ramp | method | mean relative error | re-made MAE | flagged flat | time (s) |")
    print("|---|---|---|---|---|---|---|")
    for place, image, blurred, truth in pairs(images):
        for method in ("paper", "window", "refined"):
            start = perf_counter()
            found = estimate_blur(image, blurred, sharper="first", method=method)
            seconds = perf_counter() - start
            known = np.isfinite(found.sigma) & ((found.flags & np.uint8(Flag.FILLED)) == 0)
            figures = {
                "error": float((np.abs(found.sigma - truth) / truth)[known].mean()),
                "remade": float(np.abs(resynthesize(image, blurred, found) - blurred)[known].mean()),
                "flagged": float(1 - known.mean()),
            }
            rows.append({**place, "method": method, **figures, "seconds": seconds})
            cells = [*place.values(), method, *(f"{value:.6f}" for value in figures.values()), f"{seconds:.2f}"]
            print("|", " | ".join(map(str, cells)), "|", flush=True)
    return rows


def harder_ramps(images: list[str]) -> list[dict[str, object]]:
    """Measure the paper's method on values of 8 bits, and without a statement of the sharper image."""
    rows: list[dict[str, object]] = []
    columns = ("image", "ramp", "bits", "sharper", "own answer", "filled", "error there", "wrong sign", "all")
    print(f"\n| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for (place, image, blurred, truth), bits, sharper in product(pairs(images), (None, 8), ("first", "auto")):
        pair = [image, blurred] if bits is None else [synth.degrade(each, bits=bits) for each in (image, blurred)]
        found = estimate_blur(*pair, sharper=sharper, method="paper", linear=False)
        error = np.abs(np.abs(found.sigma) - truth) / truth
        filled = (found.flags & np.uint8(Flag.FILLED)) != 0
        figures = {
            "own_answer_error": float(error[np.isfinite(error) & ~filled].mean()),
            "filled": float(filled.mean()),
            "filled_error": float(error[filled].mean()) if filled.any() else float("nan"),
            "wrong_sign": float((found.sigma < 0).mean()),
            "error": float(np.nanmean(error)),
        }
        rows.append({**place, "bits": bits or "float", "sharper": sharper, **figures})
        cells = [*place.values(), bits or "float", sharper, *(f"{value:.1%}" for value in figures.values())]
        print("|", " | ".join(map(str, cells)), "|", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", default=",".join(RAMP_IMAGES))
    images = parser.parse_args().images.split(",")
    print(machine.describe(), "\n")
    result = {"ramps": ramps(images), "harder_ramps": harder_ramps(images)}
    print("\nwritten:", machine.write("framework", result))


if __name__ == "__main__":
    main()
