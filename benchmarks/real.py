"""Measure pairs that differ from the Gaussian model: rendered disc blur with true depth, and photographs.

    python benchmarks/real.py [--data DIR] [--skip-realmff]

Rendered pairs: mean |z error| / z in %, over all pixels and over those more than 8 px from depth edges. Depth follows
from s by u = (u_1 + u_2) / 2 + s / (2 k^2 (u_1 - u_2)), k = kappa * 21.98 px m, with kappa fitted on `plane` only.
Real-MFF: `explained` in linear light, map from green, error in red and blue. The upper limit is the share
explained by the map that fits red and blue themselves best in every 9 x 9 window.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

import machine
import rivals
from relblur import estimate_blur, imread, resynthesize
from relblur.apps.paper.data_sets import find_data_sets
from relblur.base.settings import DEPTH_PREFILTER, MAX_SIGMA
from relblur.blur.blur_map import BlurMap
from relblur.blur.dense.residuals import build_residuals
from relblur.blur.evaluate import observed_blurrier
from relblur.field import Loops

SCENES = ("plane", "stairs", "poles")
Estimator = Callable[[np.ndarray, np.ndarray], np.ndarray]


def depth_error(s: np.ndarray, scene: dict[str, Any], kappa: float) -> np.ndarray:
    """Return |z error| / z; estimates are held within 0.9 to 2.2 m, no answer counts as 1/z = 0.75."""
    u_1, u_2 = 1 / scene["near_m"], 1 / scene["far_m"]
    k = kappa * scene["constant"]
    u = (u_1 + u_2) / 2 + s / (2 * k**2 * (u_1 - u_2))
    z = 1 / np.where(np.isfinite(u), u, 0.75).clip(1 / 2.2, 1 / 0.9)
    return np.abs(z - scene["depth"]) / scene["depth"]


def load_scene(folder: Path) -> dict[str, Any]:
    meta = json.loads((folder / "META.json").read_text())
    return {
        "near": imread(folder / "near.tif").mean(axis=2),
        "far": imread(folder / "far.tif").mean(axis=2),
        "depth": imread(folder / "depth.tif"),
        "off_edges": imread(folder / "edge_distance.tif") > 8,
        "near_m": meta["focus_near_m"],
        "far_m": meta["focus_far_m"],
        "constant": meta["coc_constant_px_m"],
    }


def renders(data: Path, estimators: dict[str, Estimator]) -> list[dict[str, Any]]:
    scenes = {name: load_scene(data / "render" / name) for name in SCENES}
    print("\n| method | kappa | " + " | ".join(f"{n} (off edges)" for n in SCENES) + " | seconds, plane |")
    print("|---|---|" + "---|" * (len(SCENES) + 1))
    rows = []
    for name, estimate in estimators.items():
        maps, seconds = {}, {}
        for scene_name, scene in scenes.items():
            start = time.perf_counter()
            maps[scene_name] = estimate(scene["near"], scene["far"])
            seconds[scene_name] = time.perf_counter() - start
        grid = np.arange(0.24, 0.32, 0.0005)
        kappa = float(min(grid, key=lambda k: depth_error(maps["plane"], scenes["plane"], k).mean()))
        cells = []
        for scene_name, scene in scenes.items():
            error = 100 * depth_error(maps[scene_name], scene, kappa)
            row = {"method": name, "scene": scene_name, "kappa": kappa, "seconds": seconds[scene_name]}
            row |= {"all": float(error.mean()), "off_edges": float(error[scene["off_edges"]].mean())}
            rows.append(row)
            cells.append(f"{row['all']:.3g} ({row['off_edges']:.3g})")
        print(f"| {name} | {kappa:.4f} | " + " | ".join(cells) + f" | {seconds['plane']:.2f} |", flush=True)
    return rows


def real_mff(data: Path, options: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    columns = [*options, "seen"]
    print("\n| pair | " + " | ".join(columns) + " |\n|---|" + "---|" * len(columns))
    rows = []
    for pair in find_data_sets(data / "realmff"):
        name, first, second = pair.name, imread(pair.foreground), imread(pair.background)
        row: dict[str, Any] = {"pair": name}
        for method, choice in options.items():
            green = estimate_blur(first[:, :, 1], second[:, :, 1], **choice)
            row[method] = explained(green, first, second)
        row["seen"] = explained_if_seen(first, second)
        rows.append(row)
        print(f"| {name} | " + " | ".join(f"{row[m]:.3f}" for m in columns) + " |", flush=True)
    print("| **mean** | " + " | ".join(f"{np.mean([r[m] for r in rows]):.3f}" for m in columns) + " |")
    return rows


def explained_if_seen(first: np.ndarray, second: np.ndarray) -> float:
    """Share of the red and blue differences explained by the Gaussian that fits them best in every 9 x 9 window."""
    planes = [np.ascontiguousarray(np.moveaxis(image[:, :, [0, 2]], 2, 0), np.float32) for image in (first, second)]
    found = build_residuals(
        *planes, lowest=-(MAX_SIGMA**2), highest=MAX_SIGMA**2, family="band_limited", prefilter=0, loops=Loops()
    )
    left = np.abs(found.planes).sum(axis=0)
    best = np.stack([cv2.blur(level, (9, 9)) for level in left]).argmin(axis=0)
    return float(1 - np.take_along_axis(left, best[None], 0).sum() / np.abs(planes[0] - planes[1]).sum())


def explained(green: BlurMap, first: np.ndarray, second: np.ndarray) -> float:
    """Share of the red and blue differences that a map from green explains; no answer explains nothing."""
    pair = first[:, :, [0, 2]], second[:, :, [0, 2]]
    difference = np.abs(pair[0] - pair[1])
    made = resynthesize(*pair, green, channel_axis=-1)
    left = np.abs(made - observed_blurrier(*pair, green, channel_axis=-1))
    known = np.isfinite(green.variance_difference)[:, :, None]
    return float(1 - np.where(known, left, difference).sum() / difference.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--skip-realmff", action="store_true")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no rendered or real pairs: {options.data} is not there; pass --data DIR")
        return
    print(machine.describe())

    def ours(**choice: Any) -> Estimator:
        return lambda near, far: estimate_blur(near, far, **choice).variance_difference

    def box(near: np.ndarray, far: np.ndarray) -> np.ndarray:
        sigma = rivals.signed_box_on_grid(near, far)
        return np.sign(sigma) * sigma**2

    methods: dict[str, Estimator] = {
        "paper": ours(method="paper"),
        "9x9 box, 50 levels, lower cost": box,
        "window": ours(method="window"),
        "refined": ours(),
        f"refined, prefilter {DEPTH_PREFILTER}": ours(prefilter=DEPTH_PREFILTER),
    }
    result: dict[str, Any] = {"renders": renders(options.data, methods)}
    if not options.skip_realmff:
        choices = {"window 5": {"method": "window", "window": 5}, "window 9": {"method": "window"}, "refined": {}}
        result["realmff_explained"] = real_mff(options.data, choices)
    print("\nwritten:", machine.write("real", result))


if __name__ == "__main__":
    main()
