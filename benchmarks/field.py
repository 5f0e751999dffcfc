"""Measure the solver of all maps: crops with known blur, scenes with true depth, plain walls, cost.

    python benchmarks/field.py [--only SECTION ...] [--quick] [--as NAME] [--against NAME]

crops: four signed fields on eight photographs, 176 x 176 px, as floats, in 8 bits and with noise.
scenes: the rendered scenes of honest.py (--data).
walls: a plain wall beside a texture, in pairs and in depth by equal blur (disc and Gaussian).
cost: processor time and memory of a signed pair of 640 x 480 px, one thread, the readable engine.

Each figure is printed beside that of a reference record (results/before_field.json by default).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hard_scenes
import machine
from honest import ON_WALL, WALL, noisy_walls
from photographs import grey
from relblur import Camera, estimate_blur, estimate_depth, synth

#: Photographs on which constants of the solver were chosen, and others.
TUNED_ON, OTHERS = ("camera", "coffee", "rocket", "astronaut"), ("brick", "coins", "chelsea", "gravel")
#: Corner and side of the crops, px.
CORNER, SIDE = 120, 176
FIELDS = {
    "ramp": lambda shape: synth.ramp(shape, -2, 2, 1),
    "stripes": lambda shape: synth.steps(shape, (1.0, 2.0), 64, 0),
    "disc": lambda shape: synth.disc(shape, 0.8, 2.5),
    "sinusoid": lambda shape: synth.sinusoid(shape, 2.0, 1.0, 176.0),
}
DATA = ("float", "8 bit", "noise 0.005")
SCENE_FIGURES = ("unflagged", "claims", "claims_error", "wrong", "error_in_reach", "ause", "rough")
#: Focus distances and the wall's own, m; noise on a 0..1 scale.
FOCUS, AT, NOISE = (1.0, 2.0), 1.3, 0.005


def crops(quick: bool) -> dict[str, float]:
    """Return the mean relative error of s in % and the share within one standard error, by group, data and field."""
    out: dict[str, float] = {}
    for group, names in {"tuned on": TUNED_ON, "others": OTHERS}.items():
        for data in DATA[1:] if quick else DATA:
            for field in FIELDS:
                scores = [score_crop(name, field, data) for name in names]
                errors, within = zip(*scores, strict=True)
                # A geometric mean: no photograph counts for more because it is harder.
                out[f"{group}, {data}, {field}: error %"] = float(np.exp(np.mean(np.log(errors))))
                out[f"{group}, {data}, {field}: within 1 %"] = float(np.mean(within))
    return out


def score_crop(name: str, field: str, data: str) -> tuple[float, float]:
    part = slice(CORNER, CORNER + SIDE)
    sharp = grey(name)[part, part]
    truth = FIELDS[field](sharp.shape)
    blurs = [np.maximum(-truth, 0), np.maximum(truth, 0)]
    pair = [synth.blur_with_map(sharp, blur, kernel="band_limited") for blur in blurs]
    rng = np.random.default_rng(0)
    if data != "float":
        noise = 0.0 if data == "8 bit" else NOISE
        pair = [synth.degrade(each, noise=noise, bits=8, rng=rng) / 255.0 for each in pair]
    found = estimate_blur(*pair, engine="opencv", workers=1)
    s, wanted = np.nan_to_num(found.variance_difference), truth * np.abs(truth)
    error = np.abs(s - wanted)
    within = 100 * float(np.mean(error <= np.nan_to_num(found.variance_stderr)))
    return 100 * float(error.mean() / np.abs(wanted).mean()), within


def scenes(data: Path, names: tuple[str, ...]) -> dict[str, float]:
    out: dict[str, float] = {}
    for name in names:
        scored = hard_scenes.score(data / name)
        for place in ("off edges", "all"):
            row = hard_scenes.row(scored, place)
            for figure in SCENE_FIGURES:
                out[f"{name}, {place}: {figure}"] = float(row[figure])
            out[f"{name}, {place}: unflagged within 1"] = float(row["coverage_unflagged"][0])
    return out


def walls() -> dict[str, float]:
    first = grey("brick")[:256, :384].copy()
    first[:, WALL:] = 0.5
    out: dict[str, float] = {}
    pair = (first, synth.blur_with_map(first, 2.0))
    for kind, (one, two) in noisy_walls(*pair, NOISE):
        found = estimate_blur(one, two, engine="opencv", workers=1)
        right = np.abs(found.sigma - 2) <= 2 * found.sigma_stderr
        out[f"pair, {kind}: right or flagged"] = float(np.mean((right | (found.flags != 0))[ON_WALL]))
        out[f"pair, {kind}: stderr px"] = float(np.nanmedian(found.sigma_stderr[ON_WALL]))
    for psf in ("disc", "gaussian"):
        for kind, camera, one, two in depth_walls(first, psf):
            depth = estimate_depth(one, two, camera, psf=psf, engine="opencv", workers=1)
            u, error = 1 / depth.depth_m, depth.depth_stderr_m / np.square(depth.depth_m)
            right = np.abs(u - 1 / AT) <= 2 * error
            out[f"depth, {psf}, {kind}: right or flagged"] = float(np.mean((right | (depth.flags != 0))[ON_WALL]))
            out[f"depth, {psf}, {kind}: within 2"] = float(np.mean(right[ON_WALL]))
    return out


def depth_walls(sharp: np.ndarray, psf: str) -> Iterator[tuple[str, Camera, np.ndarray, np.ndarray]]:
    """Yield the two images of a wall beside a texture, both in one plane, under each kind of noise."""
    camera = Camera(coc_constant_px_m=22.0, focus_first_m=FOCUS[0], focus_second_m=FOCUS[1])
    circles = [22.0 * abs(1 / AT - 1 / focus) for focus in FOCUS]
    pair = [blur_by(sharp, circle, psf) for circle in circles]
    for kind, (one, two) in noisy_walls(pair[0], pair[1], NOISE):
        yield kind, camera, one, two


def blur_by(sharp: np.ndarray, circle: float, psf: str) -> np.ndarray:
    from scipy.signal import fftconvolve

    if psf == "gaussian":
        return synth.blur_with_map(sharp, circle / 4)
    reach, fine = math.ceil(circle / 2) + 1, 8
    place = (np.arange((2 * reach + 1) * fine) + 0.5) / fine - reach - 0.5
    inside = np.hypot(place[:, None], place) <= circle / 2
    kernel = inside.reshape(2 * reach + 1, fine, 2 * reach + 1, fine).mean(axis=(1, 3))
    padded = np.pad(sharp, reach, mode="symmetric")
    return np.asarray(fftconvolve(padded, kernel / kernel.sum(), mode="valid"))


COST = """
import time, numpy as np
from photographs import grey
from relblur import estimate_blur, synth
sharp = np.pad(grey("camera"), ((0, 0), (0, 128)), mode="symmetric")[:480, :640]
truth = synth.ramp(sharp.shape, -2, 2, 1)
rng = np.random.default_rng(0)
pair = [synth.degrade(synth.blur_with_map(sharp, b), noise=0.005, bits=8, rng=rng) / 255.0
        for b in (np.maximum(-truth, 0), np.maximum(truth, 0))]
small = [each[:64, :64] for each in pair]
estimate_blur(*small, engine="opencv", workers=1)
def kilobytes(name):
    return int(next(line for line in open("/proc/self/status") if line.startswith(name)).split()[1])
open("/proc/self/clear_refs", "w").write("5")  # the peak counts from here; getrusage's includes the parent's
before = kilobytes("VmRSS")
times = []
for _ in range(3):
    start = time.process_time()
    estimate_blur(*pair, engine="opencv", workers=1)
    times.append(time.process_time() - start)
after = kilobytes("VmHWM")
print(min(times), (after - before) * 1024 / sharp.size)
"""


def cost() -> dict[str, float]:
    """Return processor time and peak memory, measured in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-c", COST], capture_output=True, text=True, check=True, cwd=Path(__file__).parent
    )
    seconds, memory = map(float, run.stdout.split())
    return {"VGA signed pair: CPU s": seconds, "VGA signed pair: bytes a pixel": memory}


def show(found: dict[str, float], before: dict[str, float]) -> None:
    print("| figure | before | now | change |\n|---|---|---|---|")
    for name, value in found.items():
        old = before.get(name)
        change = "" if not old else f"{100 * (value / old - 1):+.0f} %"
        print(f"| {name} | {'' if old is None else f'{old:.4g}'} | {value:.4g} | {change} |")


def main() -> None:
    sections = ("crops", "scenes", "walls", "cost")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--quick", action="store_true", help="crops in 8 bits and noise only")
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data/hard")
    parser.add_argument("--scenes", nargs="+", default=list(hard_scenes.SCENES))
    parser.add_argument("--as", dest="name", help="name of the record to write; none without")
    parser.add_argument("--against", default="before_field", help="name of the record to compare with")
    options = parser.parse_args()
    print(machine.describe(), flush=True)
    record = machine.RESULTS / f"{options.against}.json"
    before = json.loads(record.read_text())["rows"] if record.exists() else {}
    found: dict[str, float] = {}
    for section in options.only:
        if section == "scenes" and not options.data.is_dir():
            print(f"scenes: {options.data} is not there; pass --data DIR")
            continue
        runs: dict[str, Any] = {
            "crops": lambda: crops(options.quick),
            "scenes": lambda: scenes(options.data, tuple(options.scenes)),
            "walls": walls,
            "cost": cost,
        }
        part = runs[section]()
        show(part, before)
        found |= part
        sys.stdout.flush()
    if options.name:
        print("\nwritten:", machine.write(options.name, found))


if __name__ == "__main__":
    main()
