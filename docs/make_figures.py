"""Make the pictures in docs/images with the program itself: ``make figures``."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from relblur import Camera, estimate_blur, estimate_depth, estimate_stack, plot, prepare_pair, synth
from relblur.apps.demo.program import demo_pair, photograph, run_demo
from relblur.blur.blur_map import signed_sigma
from relblur.blur.comparable_pair import ComparablePair
from relblur.blur.evaluate import observed_blurrier, resynthesize
from relblur.blur.pixel_curve import pixel_curve
from relblur.depth.defocus import defocused_pair
from relblur.report.panels import Panel, pair_panels, panels_picture, result_panels

IMAGES = Path(__file__).parent / "images"
STEPS = ("1_pair", "5_inside", "6_result", "7_remade")


def photograph_case(folder: Path) -> None:
    """Draw the demonstration's near and far photographs, their map and the picture that ``relblur fuse`` makes."""
    from PIL import Image

    near, far, sharp = (folder / f"{name}.png" for name in ("near", "far", "sharp"))
    subprocess.run([sys.executable, "-m", "relblur", "fuse", near, far, "-o", sharp], check=True)
    found = estimate_blur(prepare_pair(near, far))
    pictures = [np.asarray(Image.open(path).convert("RGB")) for path in (near, far, sharp)]
    panels = [
        Panel("near.png: the front is sharp", pictures[0]),
        Panel("far.png: the back is sharp", pictures[1]),
        Panel("relative blur (px), positive: far.png is blurrier", found.sigma, "sigma"),
        Panel("relblur fuse: sharp everywhere", pictures[2]),
    ]
    panels_picture(folder / "photograph.png", panels, columns=2)


def worst_case(path: Path) -> None:
    """Draw a case with a sky: pair, truth, map, error and standard error on one scale."""
    sharp = photograph("rocket")[:512, :512].mean(axis=2) / 255.0
    truth = synth.sinusoid(sharp.shape)
    rng = np.random.default_rng(0)
    pair = [synth.degrade(i, noise=0.01, bits=8, rng=rng) for i in (sharp, synth.blur_with_map(sharp, truth))]
    found = estimate_blur(*(i / 255.0 for i in pair), sharper="first")
    error = np.abs(found.sigma - truth)
    panels = [
        Panel("first", pair[0]),
        Panel("second", pair[1]),
        Panel("true sigma (px)", truth, "blur", 3.0),
        Panel(f"refined (px): {100 * (error / truth).mean():.2g} % mean error", found.sigma, "blur", 3.0),
        Panel("|error| (px)", error, "error", 0.5),
        Panel("standard error (px)", found.sigma_stderr, "stderr", 0.5),
    ]
    heading = "rocket, true blur 1 to 3 px, noise 0.01, 8 bits: the sky has no texture"
    panels_picture(path, panels, heading=heading)


def depth_case(path: Path) -> None:
    """Draw a made-up scene as a made-up camera sees it: two slopes and a nearer disc, disc blur, noise, 16 bits."""
    sharp = photograph("coffee")[:384, :512] / 255.0
    height, width = sharp.shape[:2]
    y, x = np.indices((height, width))
    inverse = 0.55 + 0.12 * x / width + 0.18 * y / height
    inverse = np.where((x - 0.3 * width) ** 2 + (y - 0.55 * height) ** 2 < (0.22 * height) ** 2, 0.95, inverse)
    inverse = np.where((x > 0.62 * width) & (y > 0.25 * height), 0.6 + 0.25 * (x / width - 0.62), inverse)
    camera = Camera(
        focal_length_mm=50, f_number=2.8, pixel_pitch_um=48, focus_first_m=1.0, focus_second_m=2.0, image_width_px=width
    )
    pair = defocused_pair(sharp, 1 / inverse, camera, channel_axis=-1)
    rng = np.random.default_rng(0)
    first, second = (synth.degrade(image, noise=0.002, bits=16, rng=rng) for image in pair)
    found = estimate_depth(first, second, camera, psf="disc", depth_range_m=(0.9, 2.2), channel_axis=-1)
    error = 100 * np.abs(found.depth_m * inverse - 1)
    heading = (
        f"Depth from two focus settings (1 m and 2 m): {np.median(error):.2g} % median error, {error.mean():.2g} % mean"
    )
    panels_picture(path, [*pair_panels(ComparablePair(first, second)), *result_panels(found)], heading=heading)


def plots_case(path: Path) -> None:
    """Draw four figures of ``relblur.plot`` for the demonstration's pair."""
    from matplotlib.figure import Figure

    first, second, truth = demo_pair()
    found = estimate_blur(first, second, channel_axis=-1)
    figure = Figure(figsize=(11, 7.6), layout="constrained")
    axes = figure.subplots(2, 2)
    found.plot(ax=axes[0, 0])
    plot.pixel_curve(pixel_curve(first, second, 60, 120, blur_map=found, channel_axis=-1), ax=axes[0, 1])
    plot.profile(found, (30, 0), (300, 511), truth=truth, label="refined", ax=axes[1, 0])
    axes[1, 0].legend(fontsize="small")
    plot.reliability(found, truth, ax=axes[1, 1])
    figure.savefig(path, dpi=80)


def steps_case(folder: Path) -> None:
    """Draw the stages of an estimate of the demonstration's pair."""
    first, second, _ = demo_pair()
    found = estimate_blur(first, second, channel_axis=-1, steps=True, linear=False)
    steps = found.steps
    inside = [
        Panel("start: the labelling (px)", signed_sigma(steps["start"]), "sigma"),
        Panel("information of each pixel, log10 (1 / px^4)", np.log10(np.maximum(steps["information"], 1)), "level"),
        Panel("misfit of the best blur (of the pair's contrast)", np.sqrt(steps["misfit"]), "error"),
        Panel("stiffness of the prior, log10", np.log10(steps["mu"]), "level"),
    ]
    remade, observed = (make(first, second, found, channel_axis=-1) for make in (resynthesize, observed_blurrier))
    pictures = [Panel("the blurrier image at each pixel", observed), Panel("re-made from the sharper", remade)]
    error = Panel("|difference|", np.abs(remade - observed).mean(axis=2), "error")
    stages = {"1_pair": pair_panels(ComparablePair(first, second)), "5_inside": inside}
    for name, panels in (stages | {"6_result": result_panels(found), "7_remade": [*pictures, error]}).items():
        panels_picture(folder / f"{name}.png", panels, columns=3 if len(panels) == 3 else 2)


def stack_case(path: Path) -> None:
    """Draw a stack of nine: a slope with a step and a nearer disc, blurred by up to 6 px, noise, 8 bits."""
    sharp = photograph("coffee")[:320, :448] / 255.0 * 0.95
    height, width = sharp.shape[:2]
    y, x = np.indices((height, width))
    index = 1 + 5 * x / width + np.where(y > 0.5 * height, 1.0, 0.0)
    index = np.where((x - 0.45 * width) ** 2 + (y - 0.5 * height) ** 2 < (0.2 * height) ** 2, 1.5, index)
    rng = np.random.default_rng(0)
    frames = []
    for number in range(9):
        planes = [synth.blur_with_map(sharp[:, :, c], 0.8 * np.abs(index - number)) for c in range(3)]
        frames.append(synth.degrade(np.dstack(planes), noise=0.004, bits=8, rng=rng))
    found = estimate_stack(frames, channel_axis=-1, align="off", exposure="off", linear=False)
    error = np.abs(found.index - index)
    panels = [
        Panel("frame 1 of nine", frames[1]),
        Panel("frame 6", frames[6]),
        Panel("sharp everywhere", np.clip(found.fused, 0, 1)),
        Panel(f"frame in best focus: {np.median(error):.2g} frames median error", found.index, "level"),
        Panel("|error| (frames)", error, "error", 0.5),
        Panel("standard error (frames)", found.index_stderr, "stderr", 0.5),
    ]
    panels_picture(path, panels)


def halo_case(folder: Path) -> None:
    """Draw crops of a macro stack: a frame, a maximum of Laplacian pyramids, the fused picture, the truth."""
    from PIL import Image

    sys.path.append(str(IMAGES.parents[1] / "benchmarks"))
    from macro_scene import make_scene
    from stacks import maximum_of_pyramids

    scene = make_scene(folder, photograph("coffee"), photograph("rocket"))
    fused = folder / "fused.png"
    subprocess.run([sys.executable, "-m", "relblur", "fuse", *scene.files, "-o", fused], check=True)
    frames = [np.asarray(Image.open(file), np.float32) / 255 for file in scene.files]
    pictures = {"one of twelve frames": frames[6], "maximum of Laplacian pyramids": maximum_of_pyramids(frames)}
    pictures |= {"relblur fuse": np.asarray(Image.open(fused)) / 255, "truth": scene.truth}
    crop = np.s_[50:290, 180:500]
    panels_picture(folder / "halo.png", [Panel(title, image[crop]) for title, image in pictures.items()], columns=2)


def main() -> None:
    """Draw everything."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_demo(folder, force=True)
        steps_case(folder)
        drawn = ["comparison.png", "refined/overview.png", *(f"{step}.png" for step in STEPS)]
        photograph_case(folder)
        worst_case(folder / "worst.png")
        depth_case(folder / "depth.png")
        plots_case(folder / "plots.png")
        stack_case(folder / "stack.png")
        halo_case(folder)
        for picture in (*drawn, "photograph.png", "worst.png", "depth.png", "stack.png", "halo.png"):
            _as_jpeg(folder / picture)
        (IMAGES / "plots.png").write_bytes((folder / "plots.png").read_bytes())
    print(*sorted(IMAGES.iterdir()), sep="\n")


def _as_jpeg(picture: Path) -> None:
    """Write a picture to the folder of images as a JPEG of full colour resolution, a third of the size of a PNG."""
    from PIL import Image

    with Image.open(picture) as opened:
        opened.convert("RGB").save(IMAGES / f"{picture.stem}.jpg", quality=90, subsampling=0, optimize=True)


if __name__ == "__main__":
    main()
