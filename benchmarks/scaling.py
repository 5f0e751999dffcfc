"""Measure several processes, and pictures larger than memory: speed-up, overhead, memory (docs/evidence/scaling.md).

    python benchmarks/scaling.py --pairs 16                    # 1 and 2 worker processes, overhead, the simulation
    python benchmarks/scaling.py --slide 20000 --methods window,refined   # a pair made chunk by chunk: time and memory
    python benchmarks/scaling.py --overhead                    # in processor time, which hardly depends on other load
    python benchmarks/scaling.py --memory                      # peak memory against size

Pairs are generated, 625 x 433 in colour, 8 bits. The speed-up of plain arithmetic by a second process is measured in
the same run, before and after. On a busy or shared machine it is less than 2.
"""

from __future__ import annotations

import argparse
import heapq
import json
import multiprocessing
import os
import resource
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

#: Time of a Dask scheduler per task, s, from its documentation; here it is measured as part of the overhead.
SCHEDULER_S = 1e-3


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


def arithmetic(_: int = 0) -> float:
    """Return the seconds that a fixed amount of plain arithmetic takes."""
    start = time.perf_counter()
    values = np.full(1000, 1.0000001)
    for _ in range(60_000):
        values *= 1.0000001
    return time.perf_counter() - start


def second_core() -> float:
    """Return how many times the arithmetic of one process two do."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(2) as pool:
        pool.map(arithmetic, range(2), chunksize=1)  # started and warm
        start = time.perf_counter()
        pool.apply(arithmetic)
        pool.apply(arithmetic)
        one = time.perf_counter() - start
        start = time.perf_counter()
        pool.map(arithmetic, range(2), chunksize=1)
        return one / (time.perf_counter() - start)


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
    compute = sum(row["seconds"] for row in rows) / count
    print(f"{workers} workers: {seconds:.2f} s a pair, of which scores {compute:.2f} s", flush=True)
    return {"workers": workers, "seconds_per_pair": seconds, "compute_per_pair": compute}


def pairs(count: int, method: str) -> list[dict[str, float]]:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        make_set(data, count)
        before = second_core()
        found = [run_pairs(data, count, workers, method) for workers in (1, 2, 1, 2)]
        after = second_core()
    one, two = (min(each["seconds_per_pair"] for each in found if each["workers"] == n) for n in (1, 2))
    compute = min(each["compute_per_pair"] for each in found if each["workers"] == 1)
    print(f"{count} pairs of {SHAPE[1]}x{SHAPE[0]}, method {method}, at three resolutions, with held-out channels")
    print(f"plain arithmetic, two processes against one: {before:.2f} before, {after:.2f} after")
    print(f"one worker {one:.2f} s a pair, two {two:.2f} s: {one / two:.2f} times")
    overhead = one / compute - 1
    print(f"scores alone {compute:.2f} s a pair: scheduler, files and pictures add {overhead:.1%}")
    simulate(one, chunk_seconds=None)
    return [*found, {"arithmetic_before": before, "arithmetic_after": after, "ratio": one / two, "overhead": overhead}]


def _nothing(number: int) -> int:
    return number


def overhead(method: str) -> list[dict[str, float]]:
    """Print what a pair takes beside its scores, and a task beside its work, in processor time."""
    from relblur.apps.cluster.batch import Score
    from relblur.apps.cluster.pairs import find_pairs
    from relblur.apps.cluster.runners import started
    from relblur.report.batch import run_batch

    with tempfile.TemporaryDirectory() as folder:
        make_set(Path(folder), 1)
        found = find_pairs(Path(folder))
        work = Score({pair.first: pair for pair in found}, method)
        scoring = 0.0

        def timed(*args: object) -> object:
            nonlocal scoring
            start = time.process_time()
            row = score_row(*args)
            scoring += time.process_time() - start
            return row

        from relblur.apps.paper import pairs

        score_row, pairs.score_row = pairs.score_row, timed
        totals = []
        for attempt in range(2):  # the first loads what is needed
            scoring, start = 0.0, time.process_time()
            run_batch([pair.job for pair in found], Path(folder) / f"out{attempt}", {}, work)
            totals.append(time.process_time() - start)
        pairs.score_row = score_row
    with started(1) as runner:
        list(runner.stream(_nothing, range(20), _nothing))
        start, cpu = time.perf_counter(), time.process_time()
        list(runner.stream(_nothing, range(300), _nothing))
        wall, cpu = (time.perf_counter() - start) / 300, (time.process_time() - cpu) / 300
    share = (totals[1] + cpu) / scoring - 1
    print(f"method {method}, {SHAPE[1]}x{SHAPE[0]} at three resolutions: scores {scoring:.2f} s of processor time, ")
    print(f"with reading, pictures and files {totals[1]:.2f} s; scheduler and client {1000 * cpu:.1f} ms a task")
    print(f"(an empty task takes {1000 * wall:.1f} ms there and back): {share:.1%} beside the scores")
    return [{"scores_s": scoring, "pair_s": totals[1], "task_cpu_s": cpu, "task_wall_s": wall, "overhead": share}]


def chunk_overhead() -> list[dict[str, float]]:
    """Print what a chunk of a slide takes to read, estimate and write, in processor time, by ``window``."""
    import dask

    from relblur.apps.cluster.large import MapStore
    from relblur.apps.cluster.slides import SlidePair, open_store
    from relblur.blur.chunked import ChunkedEstimate
    from relblur.blur.estimating import Estimating

    with tempfile.TemporaryDirectory() as name:
        folder, side = Path(name), 2 * CELL
        make_slide(folder, side)
        pair = SlidePair(open_store(folder / "first.zarr"), open_store(folder / "second.zarr"))
        options = Estimating(method="window", engine="compiled", workers=1)
        start = time.process_time()
        made = ChunkedEstimate.of(pair, options, CELL)
        look = time.process_time() - start
        tiles, halo_px = made.tiles, made.statistics.request.reach
        store = MapStore(folder / "stage" / "new" / "out.zarr", (side, side), (CELL, CELL), "")
        store.begin()
        spent = np.zeros((len(tiles), 3))
        for number, tile in enumerate(tiles):
            clock = [time.process_time()]
            pair.part(tile.outer)
            clock.append(time.process_time())
            (planes,) = dask.compute(*made.planes([number]), scheduler="synchronous")
            clock.append(time.process_time())
            store.write(tile, planes)
            clock.append(time.process_time())
            spent[number] = np.diff(clock) - [0.0, clock[1] - clock[0], 0.0]  # the task reads its part itself
    read, estimate, write = spent[1:].mean(axis=0)  # the first loads compiled code
    halo = np.prod([each.stop - each.start for each in tiles[0].outer]) / CELL**2 - 1
    print(f"a chunk of {CELL}x{CELL}: looked through {look / len(tiles):.2f} s, read {read:.2f} s,")
    files = (read + write + look / len(tiles)) / estimate
    print(f"estimated {estimate:.2f} s, written {write:.2f} s; files {files:.1%} of the estimate")
    print(f"what lies around it is {halo:.0%} in a corner, {(1 + 2 * halo_px / CELL) ** 2 - 1:.0%} inside")
    return [{"look_s": look / len(tiles), "read_s": read, "estimate_s": estimate, "write_s": write}]


def simulated(tasks: int, seconds: float, workers: int, spread: float = 0.3) -> float:
    """Return how long a scheduler that hands out one task a millisecond keeps workers busy, s."""
    rng = np.random.default_rng(0)
    free = [0.0] * workers
    heapq.heapify(free)
    clock = 0.0
    end = 0.0
    for length in seconds * rng.lognormal(-(spread**2) / 2, spread, tasks):
        clock = max(clock + SCHEDULER_S, heapq.heappop(free))
        heapq.heappush(free, clock + length)
        end = max(end, clock + length)
    return end


def simulate(pair_seconds: float, chunk_seconds: float | None) -> list[dict[str, float]]:
    """Print the arithmetic for many workers beside the simulation."""
    cases = [("10 000 pairs", 10_000, pair_seconds)]
    if chunk_seconds is not None:
        cases.append(("10-gigapixel slide, window", 9604, chunk_seconds))
    rows = []
    for what, tasks, seconds in cases:
        print(f"{what}, {seconds:.2f} s a task, scheduler {1000 * SCHEDULER_S:g} ms a task:")
        for workers in (1, 4, 8, 16, 32, 64, 256, 1024):
            plain, found = tasks * seconds / workers, simulated(tasks, seconds, workers)
            rows.append({"what": what, "workers": workers, "arithmetic_s": plain, "simulated_s": found})
            print(f"  {workers:5d} workers: {plain / 3600:8.3f} h by arithmetic, {found / 3600:8.3f} h simulated")
    return rows


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
        start = time.perf_counter()
        make_slide(folder, side)
        print(f"made {side}x{side} float32 twice in {time.perf_counter() - start:.0f} s", flush=True)
    rows = []
    for method in methods:
        output = folder / f"{method}.zarr"
        decimate = "auto" if method == "refined" else "1"
        command = [
            sys.executable,
            "-m",
            "relblur",
            "estimate",
            folder / "first.zarr",
            folder / "second.zarr",
            "-o",
            output,
        ]
        command += ["-m", method, "--decimate", decimate, "--json", "--force"]
        code = (
            "import json, resource, subprocess, sys\n"
            "done = subprocess.run(json.loads(sys.argv[1]), capture_output=True, text=True)\n"
            "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
            "cpu = used.ru_utime + used.ru_stime\n"
            "print(json.dumps([done.returncode, done.stdout, done.stderr, used.ru_maxrss, cpu]))"
        )
        start = time.perf_counter()
        ran = subprocess.run(
            [sys.executable, "-c", code, json.dumps([str(each) for each in command])],
            capture_output=True,
            text=True,
            check=True,
        )
        wall = time.perf_counter() - start
        status, printed, said, peak, cpu = json.loads(ran.stdout)
        if status:
            print(f"{method}: failed: {said}")
            continue
        summary = json.loads(printed)
        row = {
            "method": method,
            "side": side,
            "wall_s": wall,
            "cpu_s": cpu,
            "peak_gb": peak / 1e6,
            "chunks": summary["chunks"],
            "decimate": summary["settings"]["decimate"],
            "error": slide_error(output, side),
        }
        rows.append(row)
        print(
            f"{method}, decimated by {row['decimate']}: {wall:.0f} s wall, {cpu:.0f} s processor, "
            f"{row['peak_gb']:.2f} GB at the peak, {row['chunks']} chunks, "
            f"{cpu / row['chunks']:.2f} s each, median error {row['error']:.2%}",
            flush=True,
        )
        if method == "window":
            simulate(1.0, cpu / row["chunks"])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--method", default="refined")
    parser.add_argument("--slide", type=int, default=0)
    parser.add_argument("--methods", default="window,refined")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--overhead", action="store_true")
    parser.add_argument("--simulate", type=float, nargs=2, metavar=("PAIR_S", "CHUNK_S"), help="the simulation alone")
    parser.add_argument("--folder", type=Path, help="where the slide is made and kept; otherwise it is thrown away")
    asked = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    rows: list[dict[str, float]] = []
    if asked.pairs:
        rows += pairs(asked.pairs, asked.method)
    if asked.overhead:
        rows += chunk_overhead() + overhead(asked.method)
    if asked.simulate:
        rows += simulate(*asked.simulate)
    sides = [1000, 2000, 4000, 8000] if asked.memory else []
    for side in [*sides, *([asked.slide] if asked.slide else [])]:
        with tempfile.TemporaryDirectory() as temporary:
            folder = asked.folder or Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            rows += slide(side, asked.methods.split(","), folder)
    if rows:
        kinds = {"pairs": asked.pairs, "overhead": asked.overhead, "simulation": asked.simulate, "slide": True}
        kind = next(name for name, there in kinds.items() if there)
        print(f"record: {machine.write(f'scaling_{kind}', rows)}")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"load {os.getloadavg()[0]:.1f}; this process at most {peak:.2f} GB")


if __name__ == "__main__":
    main()
