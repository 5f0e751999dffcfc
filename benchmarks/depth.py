"""Measure depth in metres: rendered pairs beside rival programs, hard scenes, real aperture pairs, time.

    python benchmarks/depth.py [--data DIR] [--sheets DIR] [--skip-renders] [--skip-hard] [--skip-real] [--skip-time]

Rendered pairs (near 1 m, far 2 m, disc blur, occlusion, 640x480 grey): mean |z error| / z in %, over all pixels and
over those more than 8 px from depth edges. Every method may use that the scene lies within 0.9 to 2.2 m. A pixel
without value counts as 1/z = 0.75. kappa of the Gaussian is calibrated on `plane` alone, with its true depth. "Within"
is the share of pixels whose error is below one `depth_stderr_m`. The rows of rival programs are earlier measurements on
the same files.

Hard scenes (noise, plain walls, sky, gloss; JPEG and float TIFF), prepared as by `relblur depth`: share of pixels
without a flag, their mean and median |1/z error| in 1/m, and their share within one and three standard errors.

Real aperture pairs (f/2.8 and f/8, one focus, depth camera as truth): kappa is taken from the rendered plane. Focus
distance and offset are calibrated on the first two pairs, and the others are scored: median |z error| / z over 0.8 to
3.4 m without flagged points, and the share of points without a flag. Estimates are limited to 0.5 to 5 m.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import machine
from real import SCENES, load_scene
from relblur import Camera, DepthMap, blur_to_depth, calibrate, estimate_blur, estimate_depth, imread
from relblur.base.settings import DEPTH_PREFILTER
from relblur.photo.photograph import read_light_pair
from relblur.photo.pipeline import match_pair, prepare_pair
from relblur.report.panels import Panel, panels_picture

SPAN_M = (0.9, 2.2)
REAL_SPAN_M = (0.5, 5.0)
RIVALS = {
    "EstBETDFD, given the disc, 9x9, 64 labels": ((0.55, 0.55), (1.01, 0.63), (8.34, 3.00), 2.20),
    "BlurEqualisationTechnique, 64 levels": ((0.92, 0.92), (1.10, 0.73), (8.54, 3.46), 2.44),
    "EstRelBlurDFD, Gaussian, 9x9": ((1.17, 1.17), (2.63, 2.41), (9.35, 4.77), 4.70),
    "S-transform, 1.5 px prefilter": ((0.94, 0.94), (2.51, 2.29), (9.87, 5.71), 0.01),
    "the paper, per pixel": ((8.06, 8.06), (11.43, 11.3), (14.94, float("nan")), 0.39),
}
Estimator = Callable[[dict[str, Any]], DepthMap]


def relative_error(found: DepthMap, depth: np.ndarray) -> np.ndarray:
    z = np.where(found.known, found.depth_m, 1 / 0.75).clip(*SPAN_M)
    return np.abs(z - depth) / depth


def renders(data: Path, sheets: Path | None) -> tuple[list[dict[str, Any]], float]:
    scenes = {name: load_scene(data / "render" / name) for name in SCENES}
    plane = scenes["plane"]
    sheet = Camera(coc_constant_px_m=plane["constant"], focus_first_m=plane["near_m"], focus_second_m=plane["far_m"])
    on_plane = estimate_blur(plane["near"], plane["far"], prefilter=DEPTH_PREFILTER)
    fitted = calibrate(on_plane, sheet, depth_m=plane["depth"])
    kappa = fitted.values["blur_constant"]
    print(f"\nkappa calibrated on plane: {kappa:.5f} +- {fitted.stderr['blur_constant']:.1g}")

    def matched(scene: dict[str, Any]) -> DepthMap:
        return estimate_depth(scene["near"], scene["far"], sheet, psf="disc", depth_range_m=SPAN_M)

    def gaussian(scene: dict[str, Any]) -> DepthMap:
        return estimate_depth(scene["near"], scene["far"], fitted.camera, depth_range_m=SPAN_M)

    def from_blur(scene: dict[str, Any]) -> DepthMap:
        return blur_to_depth(estimate_blur(scene["near"], scene["far"], prefilter=DEPTH_PREFILTER), fitted.camera)

    methods: dict[str, Estimator] = {
        'estimate_depth, psf="disc"': matched,
        'estimate_depth, psf="gaussian"': gaussian,
        "blur_to_depth(estimate_blur)": from_blur,
    }
    print("\n| method | " + " | ".join(f"{n} (off edges)" for n in SCENES) + " | within, plane | RMS, plane | CPU s |")
    print("|---|" + "---|" * (len(SCENES) + 3))
    rows = []
    panels: list[Panel] = []
    for name, estimate in methods.items():
        cells, within, rms, seconds = [], 0.0, 0.0, []
        for scene_name, scene in scenes.items():
            start = time.process_time()
            found = estimate(scene)
            seconds.append(time.process_time() - start)
            error = 100 * relative_error(found, scene["depth"])
            row = {"method": name, "scene": scene_name, "cpu_seconds": seconds[-1]}
            row |= {"all": float(error.mean()), "off_edges": float(error[scene["off_edges"]].mean())}
            row |= {"median": float(np.median(error)), "rms": float(np.sqrt(np.mean(error**2)))}
            row["within"] = float((np.abs(found.depth_m - scene["depth"]) < found.depth_stderr_m).mean())
            rows.append(row)
            cells.append(f"{row['all']:.3g} ({row['off_edges']:.3g})")
            if scene_name == "plane":
                within, rms = row["within"], row["rms"]
            if sheets is not None:
                title = f"{scene_name}, {name}"
                panels += [Panel(title, found.depth_m, "depth"), Panel("|error| (%)", error, "error", 10)]
                panels += [Panel("standard error (m)", found.depth_stderr_m, "stderr", 0.05)]
        line = " | ".join(cells)
        print(f"| {name} | {line} | {within:.0%} | {rms:.2g} | {min(seconds):.1f} |", flush=True)
    for name, (*scores, seconds_taken) in RIVALS.items():
        line = " | ".join(f"{a:.3g} ({b:.3g})" for a, b in scores)
        print(f"| {name} | {line} | | | {seconds_taken:.2f} |")
    if sheets is not None:
        panels_picture(sheets / "renders.png", panels, columns=6, panel_width=2.6)
    return rows, kappa


def hard_scenes(data: Path, kappa: float) -> list[dict[str, Any]]:
    """Disc and Gaussian where much of the picture says nothing."""
    sheet = Camera(coc_constant_px_m=21.98, focus_first_m=1, focus_second_m=2)
    cameras = {"disc": sheet, "gaussian": replace(sheet, blur_constant=kappa)}
    print("\n| hard scene | psf | no flag | mean, median error (1/m) | within 1, 3 standard errors | all pixels |")
    print("|---|---|---|---|---|---|")
    rows = []
    for folder in sorted((data / "hard").iterdir()):
        truth = imread(folder / "inverse_depth.tif").astype(np.float64)
        for suffix in ("jpg", "tif"):
            pair = prepare_pair(folder / f"near.{suffix}", folder / f"far.{suffix}", decimate=1)
            for psf, camera in cameras.items():
                found = estimate_depth(pair, camera, psf=psf)
                known = found.known & (truth > 0)
                error, stderr = np.abs(1 / found.depth_m - truth), found.depth_stderr_m / found.depth_m**2
                good = known & (found.flags == 0)
                row: dict[str, Any] = {"scene": f"{folder.name}.{suffix}", "psf": psf, "unflagged": float(good.mean())}
                row |= {"mean": float(error[good].mean()), "median": float(np.median(error[good]))}
                row |= {f"within_{n}": float((error < n * stderr)[good].mean()) for n in (1, 3)}
                row["all"] = float(error[known].mean())
                rows.append(row)
                print(
                    f"| {row['scene']} | {psf} | {row['unflagged']:.0%} | {row['mean']:.4f}, {row['median']:.4f} | "
                    f"{row['within_1']:.0%}, {row['within_3']:.0%} | {row['all']:.4f} |",
                    flush=True,
                )
    return rows


def aperture_pairs(data: Path, sheets: Path | None, kappa: float) -> dict[str, Any]:
    folder = data / "dfd_carvalho"
    names = [path.name.removesuffix("_f8.jpg") for path in sorted(folder.glob("*_f8.jpg"))]
    sheet = Camera(
        focal_length_mm=35,
        f_number=(8, 2.8),
        pixel_pitch_um=36,
        focus_first_m=1.7,
        focus_second_m=1.7,
        blur_constant=kappa,
    )
    blur, truth, shown = {}, {}, {}
    for name in names:
        pair = match_pair(read_light_pair(folder / f"{name}_f8.jpg", folder / f"{name}_f2p8.jpg"))
        blur[name] = estimate_blur(
            pair.first,
            pair.second,
            sharper="first",
            prefilter=DEPTH_PREFILTER,
            valid=pair.valid,
            clipped=pair.clipped_in_either,
            channel_axis=-1,
        )
        depth = 65.535 * imread(folder / f"{name}_depth_mm.png")
        truth[name] = np.where((depth >= 0.8) & (depth <= 3.4), depth, np.nan)
        shown[name] = pair.second
    teachers, scored = names[:2], names[2:]
    fit = ("focus_first_m", "variance_offset_px2")
    camera = _calibrated_on(sheet, [blur[n] for n in teachers], [truth[n] for n in teachers], fit)
    print(f"\naperture pairs, calibrated on {' and '.join(teachers)}: {camera.as_dict()}")
    print("\n| pair | unflagged | behind focus | front | nearer of both (side known) | constant 2.2 m |")
    print("|---|---|---|---|---|---|")
    rows, panels = [], []
    for name in scored:
        front, behind = (blur_to_depth(blur[name], camera, side=side) for side in ("front", "behind"))
        z = truth[name]
        use = np.isfinite(z) & (behind.flags == 0)
        errors = [np.abs(found.depth_m.clip(*REAL_SPAN_M) / z - 1) for found in (behind, front)]
        errors += [np.fmin(*errors), np.abs(2.2 / z - 1)]
        medians = [float(np.nanmedian(e[use])) if use.any() else float("nan") for e in errors]
        share = float((use & np.isfinite(z)).sum() / max(int(np.isfinite(z).sum()), 1))
        rows.append({"pair": name, "unflagged": share, "medians": medians})
        print(f"| {name} | {share:.0%} | " + " | ".join(f"{100 * m:.1f}" for m in medians) + " |", flush=True)
        panels += [Panel(name, shown[name]), Panel("true depth (m)", z, "depth")]
        panels += [Panel("behind", behind.depth_m.clip(*REAL_SPAN_M), "depth")]
        panels += [Panel("front", front.depth_m.clip(*REAL_SPAN_M), "depth"), Panel("flags", behind.flags, "flags")]
    mean = np.nanmean([[row["unflagged"], *row["medians"]] for row in rows], axis=0)
    print(f"| **mean** | {mean[0]:.0%} | " + " | ".join(f"{100 * m:.1f}" for m in mean[1:]) + " |")
    if sheets is not None:
        panels_picture(sheets / "aperture_pairs.png", panels, columns=5, panel_width=2.6)
    return {"camera": camera.as_dict(), "rows": rows}


def _calibrated_on(camera: Camera, maps: list[Any], depths: list[np.ndarray], fit: tuple[str, ...]) -> Camera:
    """Calibrate on several pairs at once: one tall map."""
    from relblur import BlurMap

    names = ("variance_difference", "variance_stderr", "flags", "sharper")
    tall = BlurMap(*(np.concatenate([getattr(m, name) for m in maps]) for name in names))
    return calibrate(tall, camera, depth_m=np.concatenate(depths), fit=fit).camera


def times(data: Path) -> dict[str, float]:
    """CPU and wall seconds at 640x480, the least of three, second use."""
    scene = load_scene(data / "render" / "stairs")
    pair = scene["near"], scene["far"]
    camera = Camera(coc_constant_px_m=scene["constant"], focus_first_m=1, focus_second_m=2)
    runs: dict[str, Callable[[], Any]] = {
        "estimate_blur": lambda: estimate_blur(*pair),
        'estimate_depth, "gaussian"': lambda: estimate_depth(*pair, camera, psf="gaussian"),
        'estimate_depth, "disc", 0.9 to 2.2 m': lambda: estimate_depth(*pair, camera, psf="disc", depth_range_m=SPAN_M),
        'estimate_depth, "disc", any distance': lambda: estimate_depth(*pair, camera, psf="disc"),
    }
    print("\n| 640x480 | CPU s | times estimate_blur |\n|---|---|---|")
    result = {}
    for name, run in runs.items():
        best = np.inf
        for _ in range(3):
            start = time.process_time()
            run()
            best = min(best, time.process_time() - start)
        result[name] = best
        print(f"| {name} | {best:.2f} | {best / result['estimate_blur']:.2f} |", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--sheets", type=Path, help="folder for pictures to look at (not to be committed)")
    parser.add_argument("--skip-renders", action="store_true", help="kappa is then taken for 0.2686")
    parser.add_argument("--skip-hard", action="store_true")
    parser.add_argument("--skip-real", action="store_true")
    parser.add_argument("--skip-time", action="store_true")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no rendered or real pairs: {options.data} is not there; pass --data DIR")
        return
    print(machine.describe())
    if options.sheets is not None:
        options.sheets.mkdir(parents=True, exist_ok=True)
    result: dict[str, Any] = {}
    kappa = 0.2686
    if not options.skip_renders:
        result["renders"], kappa = renders(options.data, options.sheets)
    if not options.skip_hard:
        result["hard"] = hard_scenes(options.data, kappa)
    if not options.skip_real:
        result["aperture_pairs"] = aperture_pairs(options.data, options.sheets, kappa)
    if not options.skip_time:
        result["cpu_seconds"] = times(options.data)
    print("\nwritten:", machine.write("depth", result))


if __name__ == "__main__":
    main()
