"""Measure the speed of relblur beside its rivals in alternating runs, with accuracy, memory and start-up.

    python benchmarks/speed.py [--quick] [--sizes 480x640 1080x1920] [--repeats 15]

Rivals: Y1 (OpenCV bank of 50 levels and argmin, written plainly), Y1t (the same tuned: shorter kernels,
threads over levels, no allocation; once with kernels of 3 sigma, once cut at 5 sigma as in the paper),
Y2 (the same with SciPy), Y3 (the paper's literal matrix W, batched matrix products, extrapolated
from 256 pixels), S (Subbarao's S-transform). The rivals are in rivals.py. OpenCV and Stream have two
threads each. Prints least and median of wall and CPU time, and the project's targets with the results.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import machine
import rivals
from relblur import Stream, estimate_blur, synth
from relblur.apps.demo.speed import Timing, interleave, scene
from relblur.base.settings import paper_sigmas
from relblur.paper import Framework

THREADS = 2


def scipy_bank(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Y2: scipy.ndimage.gaussian_filter at 50 levels, argmin."""
    from scipy.ndimage import gaussian_filter

    best = np.full(first.shape, np.inf, dtype=np.float32)
    sigma = np.zeros(first.shape, dtype=np.float32)
    for level in paper_sigmas():
        difference = np.abs(gaussian_filter(first, level, truncate=3.0) - second)
        better = difference < best
        sigma[better] = level
        np.minimum(best, difference, out=best)
    return sigma


def literal_seconds(first: np.ndarray, batch: int = 256) -> float:
    """Y3: seconds for the whole image, from one batch of local images times W."""
    framework = Framework()
    size = framework.window_size
    w = np.ascontiguousarray(framework.W, dtype=np.float32)
    padded = np.pad(first, size // 2, mode="symmetric")
    patches = np.lib.stride_tricks.sliding_window_view(padded, (size, size))
    columns = np.ascontiguousarray(patches[100, :batch].reshape(batch, -1).T)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        w @ columns
        seconds.append(time.perf_counter() - start)
    return min(seconds) * first.size / batch


def one_size(shape: tuple[int, int], repeats: int, slow: bool) -> dict[str, Timing]:
    first, second, truth = scene(shape)
    noise = np.random.default_rng(0).random(shape, dtype=np.float32)
    bytes_ = [np.rint(255 * image).clip(0, 254).astype(np.uint8) for image in (first, second)]
    short, long = rivals.TunedBank(shape, THREADS), rivals.TunedBank(shape, THREADS, truncate=5.0)

    def threads(count: int, run: Any) -> Any:
        def call() -> Any:
            cv2.setNumThreads(count)
            return run()

        return call

    streams = {(side, n): Stream(shape, sharper=side, workers=n) for side in ("first", "auto") for n in (1, 2)}
    runs: dict[str, Any] = {
        "Y1": threads(THREADS, lambda: rivals.opencv_bank(first, second)),
        "Y1t, 3 sigma": threads(1, lambda: short(first, second)),
        "Y1t, 5 sigma": threads(1, lambda: long(first, second)),
        "S": threads(THREADS, lambda: rivals.s_transform(first, second)),
        "Stream, first": lambda: streams["first", 2].process(first, second),
        "Stream, auto": lambda: streams["auto", 2].process(first, second),
        "Stream, first, 1 thread": lambda: streams["first", 1].process(first, second),
        "Stream, auto, 1 thread": lambda: streams["auto", 1].process(first, second),
        "Stream, first, uint8": lambda: streams["first", 2].process(*bytes_),
        "Stream, first, noise": lambda: streams["first", 2].process(first, noise) and None,
        "Stream, auto, noise": lambda: streams["auto", 2].process(first, noise) and None,
    }
    times = interleave(runs, repeats, truth)
    if slow:
        estimates: dict[str, Any] = {"Y2": lambda: scipy_bank(first, second)}
        engines = {
            "window": ("opencv", "compiled"),
            "refined": ("opencv", "compiled"),
            "paper": ("opencv",),
        }
        for method, those in engines.items():
            for engine in those:
                estimates[f"estimate_blur {method}, {engine}"] = lambda m=method, e=engine: estimate_blur(
                    first, second, sharper="first", method=m, engine=e
                )
        times |= interleave(estimates, min(repeats, 3), truth)
    print(f"\n{shape[0]}x{shape[1]}: ms wall least / median, CPU least / median; times Y1 (wall least, median); error")
    y1 = times["Y1"]
    for name, t in times.items():
        print(
            f"  {name:32s} {t.wall_least:9.1f} {t.wall_median:9.1f}  {t.cpu_least:9.1f} {t.cpu_median:9.1f}  "
            f"{y1.wall_least / t.wall_least:6.1f} {y1.wall_median / t.wall_median:6.1f}  {t.error_percent:8.3f} %"
        )
    return times


def guard() -> dict[str, float]:
    """Mean relative error on the ramp of 1 to 2 px, texture by texture."""
    found = {}
    for name in ("brick", "gravel", "grass"):
        first, second, truth = scene((433, 625), (name,))
        with Stream(first.shape, sharper="first") as stream:
            found[name] = float(100 * np.nanmean(np.abs(stream.process(first, second).sigma / truth - 1)))
    print("\nerror of Stream, ramp 1 to 2 px, 433x625:", ", ".join(f"{k} {v:.3f} %" for k, v in found.items()))
    return found


MEMORY = """
import resource
import numpy as np
from relblur import Stream
small = np.zeros((64, 64), np.float32)
Stream((64, 64)).process(small, small)
first = np.random.default_rng(0).random((4000, 3000), dtype=np.float32)
second = first[::-1].copy()
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
stream = Stream(first.shape, sharper={side!r}, workers=2)
for _ in range(2):
    stream.process(first, second)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before) / first.size)
"""


def memory() -> dict[str, float]:
    """Bytes a pixel that Stream adds at 4000x3000."""
    found = {}
    for side in ("first", "auto"):
        code = MEMORY.format(side=side)
        out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        found[side] = float(out)
    print("\nbytes a pixel added at 4000x3000:", ", ".join(f"{k} {v:.1f}" for k, v in found.items()))
    return found


def seconds_of(command: list[str], **env: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env={**os.environ, **env})
    return time.perf_counter() - start


def start_up(quick: bool) -> dict[str, float]:
    """Import, a whole `relblur estimate` with cold caches, the first frame of a Stream."""
    found = {"import relblur": min(seconds_of([sys.executable, "-c", "import relblur"]) for _ in range(3))}
    found["import relblur"] -= min(seconds_of([sys.executable, "-c", "pass"]) for _ in range(3))
    program = str(Path(sys.executable).with_name("relblur"))
    use = "import numpy as np, relblur; x = np.zeros((64, 64), np.float32); relblur.Stream((64, 64)).process(x, x)"
    with tempfile.TemporaryDirectory() as folder:
        first, second, _ = scene((433, 625))
        for name, image in (("a", first), ("b", second)):
            cv2.imwrite(f"{folder}/{name}.png", cv2.merge([np.rint(255 * image).astype(np.uint8)] * 3))
        command = [program, "estimate", f"{folder}/a.png", f"{folder}/b.png", "-o", f"{folder}/out", "--force"]
        cold = {"MPLCONFIGDIR": f"{folder}/mpl"}
        # pip leaves bytecode behind, some other installers do not: every package is then compiled by the first run.
        found["relblur estimate, 625x433, cold"] = min(seconds_of(command, **cold) for _ in range(3))
        found["relblur estimate, 625x433, cold, no bytecode"] = seconds_of(command, **cold, PYTHONPYCACHEPREFIX=folder)
        found["relblur estimate, 625x433"] = min(seconds_of(command) for _ in range(3))
        found["first Stream frame, import included"] = min(seconds_of([sys.executable, "-c", use]) for _ in range(3))
    print("\nseconds:", ", ".join(f"{k} {v:.2f}" for k, v in found.items()))
    return found


def maps() -> dict[str, dict[str, float]]:
    """Return the least wall and CPU seconds of estimate_blur on a signed pair with noise."""
    found = {}
    for shape in ((480, 640), (1080, 1920)):
        sharp = scene(shape)[0].astype(np.float64)
        rng = np.random.default_rng(0)
        pair = [image + rng.normal(0, 0.003, shape) for image in synth.pair(sharp, synth.ramp(shape, -2, 2, axis=1))]
        wall, cpu = [], []
        for _ in range(3):
            before = time.perf_counter(), time.process_time()
            estimate_blur(*pair)
            wall.append(time.perf_counter() - before[0])
            cpu.append(time.process_time() - before[1])
        found[f"{shape[0]}x{shape[1]}"] = {"wall_s": min(wall), "cpu_s": min(cpu)}
    return found


def verdict(sizes: dict[str, dict[str, Timing]], report: dict[str, Any]) -> None:
    """Print each target beside what was reached (by least wall time, or CPU time where named)."""
    print("\ntarget, reached")

    def row(text: str, value: float, met: bool) -> None:
        print(f"  {'met   ' if met else 'MISSED'} {text}: {value:.3g}")

    for name, t in sizes.items():
        ours = t["Stream, first"]
        for rival, least in (("Y1", 25), ("Y1t, 3 sigma", 15), ("Y1t, 5 sigma", 15)):
            ratio = t[rival].wall_least / ours.wall_least
            row(f"{name} times {rival} >= {least}", ratio, ratio >= least)
        ratio = t["Y1"].cpu_least / t["Stream, first, 1 thread"].cpu_least
        row(f"{name} times Y1, CPU, one thread >= 15", ratio, ratio >= 15)
        ratio = t["Stream, auto"].wall_least / ours.wall_least
        row(f"{name} two-sided / one-sided <= 1.6", ratio, ratio <= 1.6)
        y3 = report["literal_s"].get(name)
        if y3:
            row(f"{name} times Y3 >= 5000", 1e3 * y3 / ours.wall_least, 1e3 * y3 / ours.wall_least >= 5000)
    worst = max(report["guard"].values())
    row("error, worst texture, % <= 0.2", worst, worst <= 0.2)
    if "memory" in report:
        worst = max(report["memory"].values())
        row("bytes a pixel at 4000x3000 <= 25", worst, worst <= 25)
    start = report["start_up"]
    row("import relblur, s < 0.3", start["import relblur"], start["import relblur"] < 0.3)
    first = start["first Stream frame, import included"]
    row("import and first Stream frame, s < 0.3", first, first < 0.3)
    small, large = report["maps"]["480x640"]["cpu_s"], report["maps"]["1080x1920"]["wall_s"]
    row("estimate_blur 480x640, CPU, s <= 0.7", small, small <= 0.7)
    row("estimate_blur 1080x1920, s <= 3", large, large <= 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", default=["433x625", "480x640", "1080x1920", "4000x3000"])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="480x640 only, no memory, no estimate_blur")
    args = parser.parse_args()
    if args.quick:
        args.sizes = ["480x640"]
    print(machine.describe())
    report: dict[str, Any] = {"guard": guard(), "literal_s": {}}
    if not args.quick:
        report["memory"] = memory()
    sizes = {}
    for text in args.sizes:
        rows, columns = (int(n) for n in text.split("x"))
        repeats = args.repeats if rows * columns < 5e6 else 3
        sizes[text] = one_size((rows, columns), repeats, slow=not args.quick and rows * columns < 1e6)
        if rows * columns < 5e6:
            report["literal_s"][text] = literal_seconds(scene((rows, columns))[0])
            print(f"  Y3, extrapolated: {report['literal_s'][text]:.0f} s")
    report["maps"] = maps()
    report["start_up"] = start_up(args.quick)
    verdict(sizes, report)
    report["sizes"] = {name: {k: vars(t) for k, t in times.items()} for name, times in sizes.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\nload {os.getloadavg()[0]:.1f}, peak {peak:.0f} MB; wrote {machine.write('speed', report)}")


if __name__ == "__main__":
    main()
