"""Make the pictures in docs/images with the program itself: ``make figures``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from relblur import estimate_blur, synth
from relblur.demo import photograph, run_demo
from relblur.pictures import Panel, panels_picture
from relblur.report import STEP_FILES

IMAGES = Path(__file__).parent / "images"


def accuracy_case(path: Path, name: str, truth_of: object, noise: float, heading: str) -> None:
    """Draw one synthetic case: pair, truth, map, error and standard error on one scale."""
    image = photograph(name)[:512, :512]
    sharp = (image.mean(axis=2) if image.ndim == 3 else image) / 255.0
    truth = truth_of(sharp.shape)  # type: ignore[operator]
    rng = np.random.default_rng(0)
    pair = [synth.degrade(i, noise=noise, bits=8, rng=rng) for i in (sharp, synth.blur_with_map(sharp, truth))]
    found = estimate_blur(*(i / 255.0 for i in pair), sharper="first")
    error = np.abs(found.sigma - truth)
    panels = [
        Panel("first", pair[0]),
        Panel("second", pair[1]),
        Panel("true sigma (px)", truth, "sigma", 3.0),
        Panel(f"refined (px): {100 * (error / truth).mean():.2g} % mean error", found.sigma, "sigma", 3.0),
        Panel("|error| (px)", error, "error", 0.5),
        Panel("standard error (px)", found.sigma_stderr, "stderr", 0.5),
    ]
    panels_picture(path, panels, heading=heading)


def main() -> None:
    """Draw everything."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run_demo(folder, force=True)
        drawn = ["comparison.png", "profile.png", "refined/overview.png", *(f"steps/{step}" for step in STEP_FILES)]
        accuracy_case(
            folder / "good.png",
            "gravel",
            synth.disc,
            0.005,
            "A good case: gravel, a disc of 0.8 in 2.5 px, noise 0.005, 8 bits",
        )
        accuracy_case(
            folder / "worst.png",
            "rocket",
            synth.sinusoid,
            0.01,
            "The worst case: rocket, a sinusoid, noise 0.01, 8 bits: the sky says nothing about blur",
        )
        for picture in (*drawn, "good.png", "worst.png"):
            _shrink(folder / picture, IMAGES / Path(picture).name)
    print(*sorted(IMAGES.glob("*.png")), sep="\n")


def _shrink(source: Path, target: Path) -> None:
    """Keep all colours, spend time on packing them."""
    from PIL import Image

    with Image.open(source) as picture:
        picture.convert("RGB").save(target, optimize=True)


if __name__ == "__main__":
    main()
