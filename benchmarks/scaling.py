"""Measure data sets on several processes, and pictures larger than memory (docs/evidence/scaling.md).

    python benchmarks/scaling.py --pairs 16                    # 1 and 2 worker processes
    python benchmarks/scaling.py --slide 20000 --methods window,refined   # a pair made chunk by chunk: time and memory

Pairs are generated, 625 x 433 in colour, 8 bits.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import machine

SHAPE = (433, 625)
CELL = 1024
SHARP_PX = 0.8
#: Rows of the slide are blurred in bands by these, px.
BANDS_PX = (0.6, 1.0, 1.5, 2.2, 3.0)


def make_set(folder: Path, count: int) -> None:
    """Write pairs as Real-MFF lies on a disk."""
    import cv2

    from relblur import synth

    for side in "AB":
        (folder / f"image{side}").mkdir(parents=True, exist_ok=True)
    for number in range(count):
        rng = np.random.default_rng(number)
        image = synth.blur_with_map(rng.random((*SHAPE, 3)), 1.0, channel_axis=-1)
        truth = synth.ramp(SHAPE, -1.5, 2.0, axis=number % 2)
        for side, field in (("A", np.maximum(-truth, 0)), ("B", np.maximum(truth, 0))):
            made = synth.blur_with_map(image, field, channel_axis=-1) + 0.003 * rng.standard_normal(image.shape)
            stored = np.rint(made.clip(0, 1) * 255).astype(np.uint8)
            cv2.imwrite(str(folder / f"image{side}" / f"{number:03d}_{side}.png"), stored)


def run_pairs(data: Path, count: int, workers: int, method: str) -> dict[str, float]:
    """Measure a set with so many workers; the first pairs, which load and compile, do not count."""
    from relblur.apps.cluster.batch import run_data_set

    with tempfile.TemporaryDirectory() as folder:
        ends = []
        outcomes, rows = run_data_set(
            data,
            Path(folder) / "out",
            method,
            workers=workers,
            tell=lambda *_: ends.append(time.perf_counter()),
        )
    assert all(each.state == "done" for each in outcomes), outcomes
    warm = 2 * workers
    if len(ends) < 2 * warm:
        sys.exit(f"{count} pairs are too few for {workers} workers: the first {warm} do not count; take 8 or more")
    seconds = (ends[-1] - ends[warm - 1]) / (len(ends) - warm)
    compute = sum(row.seconds for row in rows) / count
    print(f"{workers} workers: {seconds:.2f} s a pair, of which scores {compute:.2f} s", flush=True)
    return {"workers": workers, "seconds_per_pair": seconds, "compute_per_pair": compute}


def pairs(count: int, method: str) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        make_set(Path(folder), count)
        print(f"{count} pairs of {SHAPE[1]}x{SHAPE[0]}, method {method}, at three resolutions, with held-out channels")
        return [run_pairs(Path(folder), count, workers, method) for workers in (1, 2, 1, 2)]


def _noise(row: int, column: int) -> np.ndarray:
    return np.random.default_rng((row + 1, column + 1)).standard_normal((CELL, CELL), np.float32)


def _band(row: int, side: int) -> float:
    """Return by how much a row of cells is blurred, px."""
    return BANDS_PX[min(int((row + 0.5) * CELL / side * len(BANDS_PX)), len(BANDS_PX) - 1)]


def make_slide(folder: Path, side: int) -> None:
    """Write a float32 pair chunk by chunk; of neither image more than nine chunks are held."""
    import cv2
    import zarr

    around = 32
    arrays = [
        zarr.create_array(folder / f"{name}.zarr", shape=(side, side), chunks=(CELL, CELL), dtype="f4", overwrite=True)
        for name in ("first", "second")
    ]
    cells = -(-side // CELL)
    for row in range(cells):
        for column in range(cells):
            block = np.block([[_noise(row + r, column + c) for c in (-1, 0, 1)] for r in (-1, 0, 1)])
            outer = slice(CELL - around, 2 * CELL + around)
            inner = slice(around, around + CELL)
            blur = _band(row, side)
            for array, sigma in zip(arrays, (SHARP_PX, (SHARP_PX**2 + blur**2) ** 0.5), strict=True):
                made = 0.5 + 0.2 * cv2.GaussianBlur(block[outer, outer], (0, 0), sigma)[inner, inner]
                grain = np.random.default_rng((row, column, round(1e6 * sigma))).standard_normal(made.shape, np.float32)
                place = (
                    slice(row * CELL, min((row + 1) * CELL, side)),
                    slice(column * CELL, min((column + 1) * CELL, side)),
                )
                size = tuple(each.stop - each.start for each in place)
                array[place] = (made + np.float32(0.001) * grain)[: size[0], : size[1]]


def slide_error(path: Path, side: int) -> float:
    """Return the median relative error of sigma on every 64th pixel inside the bands."""
    import relblur

    found = relblur.load(path)
    factor = found.settings["decimate"]
    sigma = found.sigma[:: max(1, 64 // factor), :: max(1, 64 // factor)].compute() * factor
    rows = np.arange(sigma.shape[0]) * max(1, 64 // factor) * factor
    inside = np.abs(rows % CELL - CELL / 2) < CELL / 2 - 100  # away from where bands meet
    truth = np.array([_band(row // CELL, side) for row in rows])[:, None]
    return float(np.nanmedian(np.abs(sigma / truth - 1)[inside]))


def slide(side: int, methods: list[str], folder: Path) -> list[dict[str, float]]:
    if not (folder / "second.zarr").exists():
        make_slide(folder, side)
    rows = []
    for method in methods:
        output = folder / f"{method}.zarr"
        command = ["estimate", folder / "first.zarr", folder / "second.zarr", "-o", output, "--json", "--force"]
        command += ["-m", method, "--decimate", "auto" if method == "refined" else "1"]
        code = (
            "import json, resource, subprocess, sys\n"
            "done = subprocess.run([sys.executable, '-m', 'relblur', *sys.argv[1:]], capture_output=True, check=True)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "print(json.dumps([json.loads(done.stdout)['settings'], used.ru_maxrss, used.ru_utime + used.ru_stime]))"
        )
        ran = subprocess.run([sys.executable, "-c", code, *map(str, command)], capture_output=True, check=True)
        settings, peak, cpu = json.loads(ran.stdout)
        about = {"chunks": settings["chunks"], "decimate": settings["decimate"], "error": slide_error(output, side)}
        rows.append({"method": method, "side": side, "cpu_s": cpu, "peak_gb": peak / 1e6, **about})
        print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--method", default="refined")
    parser.add_argument("--slide", type=int, default=0)
    parser.add_argument("--methods", default="window,refined")
    parser.add_argument("--folder", type=Path, help="where the slide is made and kept; otherwise it is thrown away")
    options = parser.parse_args()
    if options.pairs:
        print(f"record: {machine.write('scaling_pairs', pairs(options.pairs, options.method))}")
    if options.slide:
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            rows = slide(options.slide, options.methods.split(","), folder)
        print(f"record: {machine.write('scaling_slide', rows)}")


if __name__ == "__main__":
    main()
