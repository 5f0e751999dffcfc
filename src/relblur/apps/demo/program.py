"""Work of ``relblur demo``: make a pair with known blur, run all methods on it, write pictures and scores."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from ... import synth
from ...base._typing import AnyArray, FloatArray, Progress
from ...base.pixels import as_integers
from ...base.settings import METHODS
from ...base.tone import SRGB, encode_srgb
from ...blur.blur_map import BlurMap
from ...blur.comparable_pair import ComparablePair
from ...blur.estimate import estimate_blur
from ...depth.camera import Camera
from ...depth.defocus import defocused_pair
from ...images.disk import PictureTags, write_image
from ...images.results import filling, refuse_to_replace
from ...report.panels import Panel, panels_picture
from ...report.result_files import BLUR_FILES, write_blur_files
from .made_photograph import made_photograph

__all__ = ["demo_pair", "photograph", "run_demo"]

#: A focus pair and a pair of a flat target, as one camera stores them; input for other commands.
CAMERA_FILES = ("near.png", "far.png", "target_near.png", "target_far.png")
DEMO_FILES = ("first.png", "second.png", *CAMERA_FILES, "comparison.png")
SIZE = (384, 512)

#: Camera of CAMERA_FILES: 50 mm at f/2.8, a sensor 23.6 mm wide, focused at 1 m and 2 m.
DEMO_CAMERA = Camera(
    focal_length_mm=50,
    f_number=2.8,
    pixel_pitch_um=1000 * 23.6 / SIZE[1],
    focus_first_m=1.0,
    focus_second_m=2.0,
    image_width_px=SIZE[1],
)
#: Distance of the flat target, and of the lower and upper edge of the scene, m. The foci enclose half of the scene.
TARGET_M, SCENE_M = 1.2, (0.8, 3.0)


def photograph(name: str = "coffee") -> AnyArray:
    """Return a photograph of scikit-image as stored; without that package, a synthetic one."""
    try:
        from skimage import data
    except ImportError:
        return made_photograph(name)
    image: AnyArray = getattr(data, name)()
    return image[:, :, :3] if image.ndim == 3 else image


def demo_pair() -> tuple[AnyArray, AnyArray, FloatArray]:
    """Return (first, second, true sigma): a colour pair of 8 bits in which each image is sharper in some places.

    Sigma increases from -2 px (first is blurrier) on the left to +2 px on the right, with a disc of +1.5 px.
    """
    image = photograph()[: SIZE[0], : SIZE[1]] / 255.0
    truth = np.where(synth.disc(SIZE, 1, 0) > 0, 1.5, synth.ramp(SIZE, -2.0, 2.0, axis=1))
    first, second = synth.pair(image, truth, channel_axis=-1)
    return synth.degrade(first, bits=8), synth.degrade(second, bits=8), truth


def demo_depth(shape: tuple[int, int]) -> FloatArray:
    """Return distances, m, of a table top that recedes from the camera; 1/z is linear in the row."""
    return 1 / synth.ramp(shape, 1 / SCENE_M[1], 1 / SCENE_M[0], axis=0)


def camera_pairs() -> dict[str, AnyArray]:
    """Return 8-bit sRGB photographs by name: a scene and a flat target, each focused near and far, with disc blur."""
    scene = SRGB.undo(photograph()[: SIZE[0], : SIZE[1]], np.float64)
    target = SRGB.undo(photograph("grass")[: SIZE[0], : SIZE[1]], np.float64)
    light = (
        *defocused_pair(scene, demo_depth(SIZE), DEMO_CAMERA, channel_axis=-1, step_px=0.2),
        *defocused_pair(target, TARGET_M, DEMO_CAMERA),
    )
    return {name: as_integers(encode_srgb(each), np.uint8) for name, each in zip(CAMERA_FILES, light, strict=True)}


def run_demo(folder: Path, *, force: bool = False, progress: Progress | None = None) -> list[dict[str, Any]]:
    """Run every method on the pair, write pictures into a folder, and return the scores of each."""
    refuse_to_replace(folder, [*DEMO_FILES, *(f"refined/{name}" for name in BLUR_FILES)], force)
    first, second, truth = demo_pair()
    pair = ComparablePair(first, second, names=("first.png", "second.png"))
    rows: list[dict[str, Any]] = []
    maps: dict[str, BlurMap] = {}
    for done, method in enumerate(METHODS):
        start = time.perf_counter()
        blur_map = maps[method] = estimate_blur(first, second, method=method, channel_axis=-1, linear=False)
        seconds, error = time.perf_counter() - start, np.abs(blur_map.sigma - truth)
        rows.append(
            {
                "method": method,
                "mean error (px)": float(np.nanmean(error)),
                "median error (px)": float(np.nanmedian(error)),
                "answered": float(np.isfinite(error).mean()),
                "time (s)": seconds,
            }
        )
        if progress is not None:
            progress((done + 1) / len(METHODS))
    with filling(folder, force=force) as new:
        write_image(
            new / "first.png", first, tags=PictureTags(png_gamma=1.0)
        )  # because the blur was applied to these values
        write_image(new / "second.png", second, tags=PictureTags(png_gamma=1.0))
        for name, picture in camera_pairs().items():
            write_image(new / name, picture)
        (new / "refined").mkdir()
        write_blur_files(new / "refined", pair, maps["refined"])
        panels = [Panel("first", first), Panel("second", second), Panel("true blur (px)", truth, "sigma", 2.2)]
        panels += [Panel(f"{name} (px)", blur_map.sigma, "sigma", 2.2) for name, blur_map in maps.items()]
        panels_picture(new / "comparison.png", panels, heading="relblur demo: known blur, 8-bit colour")
    return rows
