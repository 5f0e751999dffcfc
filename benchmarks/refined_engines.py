"""The engines of ``method="refined"``: time, and how far apart their maps are.

    python benchmarks/refined_engines.py [--size 512] [--repeat 5] [--images brick,camera]

Differences are in standard errors, at the pixel that 999 of 1000 do not exceed. The control changes every residual by
1e-7 of itself, about the last digit of float32: no two orders of the same sums can be expected to agree better.
Prints Markdown tables and writes benchmarks/results/refined_engines.json.
"""

from __future__ import annotations

import argparse
import time
from importlib import import_module
from unittest.mock import patch

import numpy as np

import machine
from photographs import grey
from relblur import BlurMap, estimate_blur, synth

refine = import_module("relblur.blur.refined.refine")


def pairs(image: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    rows, columns = np.indices(image.shape)
    inside = np.hypot(rows - image.shape[0] / 2, columns - image.shape[1] / 2) < min(image.shape) / 4
    clean = {
        "ramp": (image, synth.blur_with_map(image, synth.ramp(image.shape, 1, 2))),
        "disc": (image, synth.blur_with_map(image, np.where(inside, 2.5, 1.0))),
        "both signs": synth.pair(image, synth.ramp(image.shape, -1.5, 1.5, axis=1)),
    }
    rng = np.random.default_rng(0)
    out = {}
    for name, pair in clean.items():
        out[f"{name}, float"] = pair
        out[f"{name}, 8 bits"] = tuple(synth.degrade(one, bits=8) / 255 for one in pair)
        out[f"{name}, noise"] = tuple(synth.degrade(one, noise=0.01, rng=rng) for one in pair)
    return out


def shaken(*args: object, **options: object) -> object:
    stack = build_stack(*args, **options)
    stack.residuals[...] *= 1 + 1e-7 * np.random.default_rng(1).standard_normal(stack.residuals.shape)
    return stack


build_stack = refine.build_stack


def apart(found: BlurMap, wanted: BlurMap) -> float:
    difference = np.abs(found.variance_difference - wanted.variance_difference) / wanted.variance_stderr
    return float(np.percentile(difference, 99.9))


def agreement(images: list[str]) -> list[dict[str, object]]:
    print("| image | pair | sharper | numba - opencv | control |\n|---|---|---|---|---|")
    rows = []
    for name in images:
        for kind, pair in pairs(grey(name)[:256, :256]).items():
            for sharper in ("auto",) if "signs" in kind else ("first", "auto"):
                wanted = estimate_blur(*pair, sharper=sharper, engine="opencv")
                found = estimate_blur(*pair, sharper=sharper, engine="numba")
                with patch.object(refine, "build_stack", shaken):
                    control = estimate_blur(*pair, sharper=sharper, engine="opencv")
                row = {"image": name, "pair": kind, "sharper": sharper}
                row |= {"numba": apart(found, wanted), "control": apart(control, wanted)}
                rows.append(row)
                print(f"| {name} | {kind} | {sharper} | {row['numba']:.2g} | {row['control']:.2g} |", flush=True)
    return rows


def times(name: str, size: int, repeat: int) -> list[dict[str, object]]:
    print("\n| engine | sharper | least wall (s) | least CPU (s) |\n|---|---|---|---|")
    image = grey(name)[:size, :size]
    pair = (image, synth.blur_with_map(image, synth.ramp(image.shape, 1, 2)))
    rows = []
    for sharper in ("first", "auto"):
        for engine in ("opencv", "numba"):
            estimate_blur(*pair, sharper=sharper, engine=engine)
            wall, cpu = [], []
            for _ in range(repeat):
                start, start_cpu = time.perf_counter(), time.process_time()
                estimate_blur(*pair, sharper=sharper, engine=engine)
                wall.append(time.perf_counter() - start)
                cpu.append(time.process_time() - start_cpu)
            rows.append({"engine": engine, "sharper": sharper, "wall": min(wall), "cpu": min(cpu)})
            print(f"| {engine} | {sharper} | {min(wall):.2f} | {min(cpu):.2f} |", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--images", default="brick,camera")
    args = parser.parse_args()
    print(machine.describe())
    images = args.images.split(",")
    rows = {"agreement": agreement(images), "times": times(images[0], args.size, args.repeat)}
    print("\nwritten:", machine.write("refined_engines", rows))


if __name__ == "__main__":
    main()
