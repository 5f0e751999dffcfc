"""Measure the errors of motion and exposure between images of different blur, on photographs moved by known amounts.

    python benchmarks/alignment.py [--quick] [--images NAME ...] [--parts motion resampling refusals]

Each scikit-image photograph is converted to light, blurred, moved, and exposed with gain 1.08 and offset 0.01. The blur
is a ramp from 1 to 2 px, 2 px everywhere, or a ramp from -2 to 2 px. Both images get noise of 0.3 %. They are cut from
a larger picture, so that pixels that enter the frame are real.

motion       distance between the aligned and the true position of a pixel, px: RMS over the frame, and worst corner
exposure     (with motion) errors of gain and offset from `match_exposure` after that alignment
resampling   blur added by a shift of half a pixel, px^2 of s, beside common interpolators
refusals     refused pairs of different photographs, and wrongly refused pairs of the same photograph
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import ndimage

import machine
from photographs import RAMP_IMAGES
from relblur import AlignmentError, align, estimate_blur, match_exposure, synth
from relblur.apps.demo.program import photograph
from relblur.base.tone import SRGB
from relblur.photo.alignment import Motion

GAIN, OFFSET, NOISE, RIM = 1.08, 0.01, 0.003, 24

#: name: (matrix about the middle, shift in rows and columns, model asked for)
MOTIONS: dict[str, tuple[list[list[float]], tuple[float, float], str]] = {
    "shift (1.3, -0.7)": ([[1, 0], [0, 1]], (1.3, -0.7), "auto"),
    "shift (-9.6, 12.2)": ([[1, 0], [0, 1]], (-9.6, 12.2), "auto"),
    "scale 1.004, shift": ([[1.004, 0], [0, 1.004]], (1.3, -0.7), "auto"),
    "scale 0.985, shift": ([[0.985, 0], [0, 0.985]], (0.4, 3.1), "auto"),
    "turn 0.4 degrees, shift": ([[0.99998, -0.00698], [0.00698, 0.99998]], (-2.0, 0.5), "auto"),
    "affine": ([[1.004, 0.002], [-0.001, 0.998]], (1.3, -0.7), "affine"),
    "the same, auto": ([[1.004, 0.002], [-0.001, 0.998]], (1.3, -0.7), "auto"),
}
BLURS = {"1 to 2": (1.0, 2.0), "2": (2.0, 2.0), "-2 to 2": (-2.0, 2.0)}


def light_of(name: str) -> np.ndarray:
    """Return a photograph as grey light that the gain does not clip."""
    light = 0.85 * np.asarray(SRGB.undo(photograph(name)[:512, :512], np.float64))
    return light.mean(axis=2) if light.ndim == 3 else light


def about_the_middle(matrix: list[list[float]], shift: tuple[float, float], shape: tuple[int, int]) -> np.ndarray:
    """Return the 3 x 3 transform of (row, column, 1) in the frame."""
    middle = (np.array(shape) - 1) / 2
    return np.vstack([np.column_stack([matrix, middle - np.array(matrix) @ middle + shift]), [0, 0, 1]])


def seen(scene: np.ndarray, transform: np.ndarray) -> np.ndarray:
    """Return the frame of a camera in which pixel p shows the scene at ``transform`` p."""
    shape = (scene.shape[0] - 2 * RIM, scene.shape[1] - 2 * RIM)
    offset = transform[:2, 2] + RIM
    return ndimage.affine_transform(scene, transform[:2, :2], offset, output_shape=shape, order=5, mode="mirror")


def pairs_of(
    light: np.ndarray, blurs: list[str], motions: list[str]
) -> Iterator[tuple[str, str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield blur, motion, the two images and the transform from the first to the second."""
    rng = np.random.default_rng(0)
    shape = (light.shape[0] - 2 * RIM, light.shape[1] - 2 * RIM)
    # A lens is never sharper than the pixels: without this, moving the sharper image would itself blur it.
    light = ndimage.gaussian_filter(light, 0.6)
    for blur in blurs:
        still, moving = synth.pair(light, synth.ramp(light.shape, *BLURS[blur], axis=1))
        first = seen(still, np.eye(3))
        first = first + NOISE * rng.standard_normal(shape)
        for motion in motions:
            matrix, shift, _ = MOTIONS[motion]
            transform = about_the_middle(matrix, shift, shape)
            second = GAIN * seen(moving, transform) + OFFSET + NOISE * rng.standard_normal(shape)
            yield blur, motion, first, second, np.linalg.inv(transform)


def apart_px(found: np.ndarray, wanted: np.ndarray, shape: tuple[int, int]) -> tuple[float, float]:
    """Return the RMS distance over the frame and the largest at its corners."""
    grids = (
        np.mgrid[0 : shape[0] - 1 : 33j, 0 : shape[1] - 1 : 33j],
        np.mgrid[0 : shape[0] - 1 : 2j, 0 : shape[1] - 1 : 2j],
    )
    inner, corners = (
        np.hypot(*((found - wanted) @ np.stack([g[0].ravel(), g[1].ravel(), np.ones(g[0].size)]))[:2]) for g in grids
    )
    return float(np.sqrt((inner**2).mean())), float(corners.max())


def measure(names: list[str], blurs: list[str]) -> tuple[dict[str, Any], dict[str, Any], int]:
    """Print the tables of motion and exposure; return their rows and how many pairs were refused."""
    motion_rows: dict[str, Any] = {}
    exposure_rows: dict[str, Any] = {}
    refused = 0
    print(
        "\nDistance from the truth, px: RMS over the frame / worst corner, largest over the blurs " + ", ".join(blurs)
    )
    print("\n| photograph | " + " | ".join(MOTIONS) + " |\n|---|" + "---|" * len(MOTIONS))
    for name in names:
        motions: dict[str, Any] = {motion: {} for motion in MOTIONS}
        exposures: dict[str, Any] = {}
        for blur, motion, first, second, wanted in pairs_of(light_of(name), blurs, list(MOTIONS)):
            try:
                found = align(first, second, model=MOTIONS[motion][2])
            except AlignmentError as error:
                print(f"{name}, {motion}, blur {blur}: refused: {error}")
                motions[motion][blur] = (np.inf, np.inf, "refused")
                refused += 1
                continue
            shape = (first.shape[0], first.shape[1])
            motions[motion][blur] = (*apart_px(found.motion.transform, wanted, shape), found.motion.model)
            if motion == "scale 1.004, shift":
                exposure = match_exposure(found.first, found.second, valid=found.valid).exposure
                exposures[blur] = (float(exposure.gain[0]) * GAIN - 1, float(exposure.offset[0]) + OFFSET / GAIN)
        cells = [f"{max(x[0] for x in m.values()):.3f} / {max(x[1] for x in m.values()):.3f}" for m in motions.values()]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
        motion_rows[name], exposure_rows[name] = motions, exposures
    largest = [
        f"{max(x[0] for m in motion_rows.values() for x in m[motion].values()):.3f} / "
        f"{max(x[1] for m in motion_rows.values() for x in m[motion].values()):.3f}"
        for motion in MOTIONS
    ]
    print("| **largest** | " + " | ".join(largest) + " |")
    print(
        f"\nExposure found after alignment (gain {GAIN:g}, offset {OFFSET:g}): error of gain in % / of offset in 1e-3\n"
    )
    print("| photograph | " + " | ".join(f"blur {b}" for b in blurs) + " |\n|---|" + "---|" * len(blurs))
    for name, row in exposure_rows.items():
        cells = [f"{100 * row[b][0]:+.2f} / {1000 * row[b][1]:+.2f}" if b in row else "refused" for b in blurs]
        print(f"| {name} | " + " | ".join(cells) + " |")
    return motion_rows, exposure_rows, refused


def half_a_pixel_on(image: np.ndarray) -> np.ndarray:
    """Return an image moved by half a pixel both ways, exactly: in the Fourier domain, mirrored so that it repeats."""
    wide = np.pad(image, [(0, n) for n in image.shape], mode="symmetric")
    moved = np.fft.ifft2(ndimage.fourier_shift(np.fft.fft2(wide), (0.5, 0.5))).real
    return moved[: image.shape[0], : image.shape[1]]


def lanczos(image: np.ndarray) -> np.ndarray:
    import cv2

    warp = np.array([[1, 0, 0.5], [0, 1, 0.5]])
    flags = cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP
    return cv2.warpAffine(image, warp, image.shape[::-1], flags=flags, borderMode=cv2.BORDER_REFLECT)


def back_by_half(image: np.ndarray) -> np.ndarray:
    transform = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1.0]])
    return Motion(transform, "translation", 0.7, 1.0).resample(image[:, :, None])[:, :, 0]


RESAMPLERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relblur": back_by_half,
    "quintic splines": lambda image: ndimage.shift(image, (-0.5, -0.5), order=5, mode="mirror"),
    "cubic splines": lambda image: ndimage.shift(image, (-0.5, -0.5), order=3, mode="mirror"),
    "Lanczos": lanczos,
    "linear": lambda image: ndimage.shift(image, (-0.5, -0.5), order=1, mode="mirror"),
}


def resampling(names: list[str]) -> dict[str, Any]:
    """Print the blur that each interpolator adds: mean of s, weighted by its information."""
    print("\nBlur added by resampling at half a pixel both ways, px^2 of s\n")
    print("| photograph | " + " | ".join(RESAMPLERS) + " |\n|---|" + "---|" * len(RESAMPLERS))
    rows: dict[str, Any] = {}
    for name in names:
        light = light_of(name)
        moved = half_a_pixel_on(light)
        rows[name] = {}
        for label, resample in RESAMPLERS.items():
            found = estimate_blur(light, resample(moved), method="window", noise=NOISE)
            inner = (slice(RIM, -RIM), slice(RIM, -RIM))
            s, weight = found.variance_difference[inner], found.variance_stderr[inner] ** -2
            known = np.isfinite(s)
            rows[name][label] = float(np.average(s[known], weights=weight[known]))
        print(f"| {name} | " + " | ".join(f"{value:+.4f}" for value in rows[name].values()) + " |", flush=True)
    return rows


def refusals(names: list[str]) -> dict[str, Any]:
    """Print how many pairs of different photographs are refused."""
    lights = {name: light_of(name) for name in names}
    accepted = {}
    pairs = list(itertools.combinations(names, 2))
    for one, two in pairs:
        rows, columns = (min(a, b) for a, b in zip(lights[one].shape, lights[two].shape, strict=True))
        first, second = lights[one][:rows, :columns], ndimage.gaussian_filter(lights[two], 2.0)[:rows, :columns]
        try:
            accepted[f"{one} and {two}"] = align(first, second).motion.correlation
        except AlignmentError:
            continue
    print(f"\n{len(pairs)} pairs of different photographs: {len(pairs) - len(accepted)} refused")
    for pair, correlation in accepted.items():
        print(f"not refused: {pair}, correlation {correlation:.2f}")
    return {"pairs": len(pairs), "accepted": accepted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three photographs, one blur")
    parser.add_argument("--images", nargs="+", default=list(RAMP_IMAGES))
    parts = ["motion", "resampling", "refusals"]
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts, help="motion includes exposure")
    options = parser.parse_args()
    print(machine.describe())
    names, blurs = (options.images[:3], ["1 to 2"]) if options.quick else (options.images, list(BLURS))
    result: dict[str, Any] = {}
    if "motion" in options.parts:
        result["motion"], result["exposure"], refused = measure(names, blurs)
        print(f"\n{len(names) * len(blurs) * len(MOTIONS)} pairs of one scene: {refused} wrongly refused")
    if "resampling" in options.parts:
        result["resampling"] = resampling(names)
    if "refusals" in options.parts:
        result["refusals"] = refusals(names)
    print("\nwritten:", machine.write("alignment", result))


if __name__ == "__main__":
    main()
