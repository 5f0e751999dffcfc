"""Run the whole chain on simulated camera photographs, leaving out each step in turn.

    python benchmarks/chain.py [--quick] [--images NAME ...] [--steps NAME ...]

Each scikit-image photograph is linearised and blurred in linear light by a ramp from 1 to 2 px, which is the
truth. The blurred image is moved by (1.3, -0.7) px, magnified by 1.004, and exposed with gain 1.08 and offset
0.01. Both images get noise of 0.3 % and are stored as 8-bit sRGB. Prints the mean relative error of sigma in %
over all pixels with a value inside both frames, with the defaults of the command line and with each step off.
`light` shows the effect of linearising alone on an aligned pair.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import machine
from photographs import RAMP_IMAGES
from relblur import estimate_blur, save, synth
from relblur.apps.demo.program import photograph
from relblur.base.tone import SRGB, encode_srgb
from relblur.photo.photograph import read_light_pair
from relblur.photo.pipeline import match_pair, noise_of

SHIFT, SCALE, GAIN, OFFSET, NOISE = (1.3, -0.7), 1.004, 1.08, 0.01, 0.003

#: name: (reading, matching)
STEPS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "defaults": ({}, {}),
    "no linear light": ({"linear": False}, {}),
    "no alignment": ({}, {"align": "off"}),
    "translation only": ({}, {"align": "translation"}),
    "no exposure": ({}, {"exposure": "off"}),
    "nothing": ({"linear": False}, {"align": "off", "exposure": "off"}),
}


def light_of(name: str, most: int) -> np.ndarray:
    """Return a photograph as linear light, dimmed a little so that the gain does not clip it."""
    stored = photograph(name)[:most, :most]
    return 0.85 * np.asarray(SRGB.undo(stored, np.float64))


def moved(image: np.ndarray, shift: tuple[float, float], scale: float) -> np.ndarray:
    """Magnify about the middle, then shift (rows, columns); quintic splines on an image that is blurred already."""
    from scipy import ndimage

    shape = np.array(image.shape[:2])
    middle = (shape - 1) / 2
    offset = middle - (middle + np.array(shift)) / scale
    planes = [image] if image.ndim == 2 else [image[:, :, c] for c in range(image.shape[2])]
    out = [ndimage.affine_transform(p, np.eye(2) / scale, offset, order=5, mode="mirror") for p in planes]
    return out[0] if image.ndim == 2 else np.stack(out, axis=2)


def make_pair(folder: Path, light: np.ndarray, truth: np.ndarray, rng: np.random.Generator, still: bool) -> list[Path]:
    """Write the pair as a camera would and return the two files."""
    first, second = synth.pair(light, truth, channel_axis=-1 if light.ndim == 3 else None)
    if not still:
        second = GAIN * moved(second, SHIFT, SCALE) + OFFSET
    paths = [folder / "first.png", folder / "second.png"]
    for path, image in zip(paths, (first, second), strict=True):
        noisy = synth.degrade(image, noise=NOISE, rng=rng)
        save(path, synth.degrade(encode_srgb(noisy), bits=8))
    return paths


def score(paths: list[Path], truth: np.ndarray, step: str, method: str = "refined") -> dict[str, float]:
    reading, matching = STEPS[step]
    start = time.process_time()
    try:
        pair = match_pair(read_light_pair(paths[0], paths[1], **reading), **matching)
    except ValueError as error:
        print(f"{step}: {error}")
        return {"error": float("nan"), "answered": 0.0, "seconds": 0.0}
    found = estimate_blur(
        pair.first,
        pair.second,
        method=method,
        noise=noise_of(pair),
        valid=pair.valid,
        clipped=pair.clipped_in_either,
        channel_axis=pair.channel_axis,
    )
    seconds = time.process_time() - start
    relative = np.abs(found.sigma - truth) / truth
    known = np.isfinite(relative)
    good = known & (np.abs(found.sigma - truth) < 2 * found.sigma_stderr)
    return {
        "error": 100 * float(relative[known].mean()),
        "median": 100 * float(np.median(relative[known])),
        "within_2_stderr": float(good.sum() / known.sum()),
        "answered": float(known.mean()),
        "seconds": seconds,
    }


def table(title: str, names: list[str], steps: list[str], still: bool, most: int) -> dict[str, Any]:
    print(f"\n{title}\n\n| photograph | " + " | ".join(steps) + " | CPU s |\n|---|" + "---|" * (len(steps) + 1))
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for index, name in enumerate(names):
            light = light_of(name, most)
            truth = synth.ramp(light.shape[:2], 1.0, 2.0)
            paths = make_pair(Path(folder), light, truth, np.random.default_rng(index), still)
            rows[name] = {step: score(paths, truth, step) for step in steps}
            cells = [f"{rows[name][step]['error']:.2f}" for step in steps]
            print(f"| {name} | " + " | ".join(cells) + f" | {rows[name][steps[0]]['seconds']:.1f} |", flush=True)
    for label, take in (("mean", np.mean), ("median", np.median)):
        cells = [f"{take([rows[name][step]['error'] for name in names]):.2f}" for step in steps]
        print(f"| **{label}** | " + " | ".join(cells) + " | |")
    inside = np.mean([rows[name][steps[0]]["within_2_stderr"] for name in names])
    print(f"\n{steps[0]}: {inside:.0%} of pixels within two standard errors (95 % if all is right)")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three photographs of at most 256 x 256")
    parser.add_argument("--images", nargs="+", default=list(RAMP_IMAGES))
    parser.add_argument("--steps", nargs="+", default=list(STEPS), choices=list(STEPS))
    options = parser.parse_args()
    print(machine.describe())
    names, most = (options.images[:3], 256) if options.quick else (options.images, 512)
    result: dict[str, Any] = {
        "chain": table(
            "Mean relative error of sigma, %: moved, exposed, noisy, 8-bit sRGB", names, options.steps, False, most
        ),
    }
    if options.steps == list(STEPS):
        title = "What linear light alone changes: aligned, equally exposed, noisy, 8-bit sRGB"
        result["light"] = table(title, names, ["defaults", "no linear light"], True, most)
    print("\nwritten:", machine.write("chain", result))


if __name__ == "__main__":
    main()
