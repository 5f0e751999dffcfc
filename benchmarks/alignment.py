"""Measure the errors of motion and exposure between images of different blur, on photographs moved by known amounts.

    python benchmarks/alignment.py [--quick]

Each scikit-image photograph is converted to light, blurred, moved, and exposed with gain 1.08 and offset 0.01. The blur
is a ramp from 1 to 2 px, 2 px everywhere, or a ramp from -2 to 2 px. Both images get noise of 0.3 %. They are cut from
a larger picture, so that pixels that enter the frame are real.

motion       distance between the aligned and the true position of a pixel, px: RMS over the frame, and worst corner
exposure     errors of gain and offset from `match_exposure` after that alignment
resampling   blur added by a shift of half a pixel, px^2 of s, beside common interpolators
refusals     pairs of different photographs that are not refused, with their correlation
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

#: name: (matrix about the middle, shift in rows and columns, model)
MOTIONS: dict[str, tuple[list[list[float]], tuple[float, float], str]] = {
    "shift (1.3, -0.7)": ([[1, 0], [0, 1]], (1.3, -0.7), "auto"),
    "shift (-9.6, 12.2)": ([[1, 0], [0, 1]], (-9.6, 12.2), "auto"),
    "scale 1.004, shift": ([[1.004, 0], [0, 1.004]], (1.3, -0.7), "auto"),
    "scale 0.985, shift": ([[0.985, 0], [0, 0.985]], (0.4, 3.1), "auto"),
    "turn 0.4 degrees, shift": ([[0.99998, -0.00698], [0.00698, 0.99998]], (-2.0, 0.5), "auto"),
    "affine": ([[1.004, 0.002], [-0.001, 0.998]], (1.3, -0.7), "affine"),
    "the same, auto": ([[1.004, 0.002], [-0.001, 0.998]], (1.3, -0.7), "auto"),
}
EXPOSED = "scale 1.004, shift"
BLURS = {"1 to 2": (1.0, 2.0), "2": (2.0, 2.0), "-2 to 2": (-2.0, 2.0)}


def light_of(name: str) -> np.ndarray:
    """Return a photograph as grey light that the gain does not clip."""
    light = 0.85 * np.asarray(SRGB.undo(photograph(name)[:512, :512], np.float64))
    return light.mean(axis=2) if light.ndim == 3 else light


def pairs_of(light: np.ndarray, blur: str) -> Iterator[tuple[str, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the motion, the two images and the transform from the first to the second."""
    rng = np.random.default_rng(0)
    shape = (light.shape[0] - 2 * RIM, light.shape[1] - 2 * RIM)
    middle = (np.array(shape) - 1) / 2
    # A lens is never sharper than the pixels: without this, moving the sharper image would itself blur it.
    still, moving = synth.pair(ndimage.gaussian_filter(light, 0.6), synth.ramp(light.shape, *BLURS[blur], axis=1))
    first = still[RIM:-RIM, RIM:-RIM] + NOISE * rng.standard_normal(shape)
    for motion, (matrix, shift, _) in MOTIONS.items():
        offset = middle - np.array(matrix) @ middle + shift
        seen = ndimage.affine_transform(moving, np.array(matrix), offset + RIM, shape, order=5, mode="mirror")
        transform = np.vstack([np.column_stack([matrix, offset]), [0, 0, 1]])
        yield motion, first, GAIN * seen + OFFSET + NOISE * rng.standard_normal(shape), np.linalg.inv(transform)


def apart_px(found: np.ndarray, wanted: np.ndarray, shape: tuple[int, ...]) -> tuple[float, float]:
    """Return the RMS distance over the frame and the largest at its corners."""
    rows, columns = (np.linspace(0, n - 1, 33) for n in shape)
    points = np.stack(np.broadcast_arrays(rows[:, None], columns, 1.0))
    distance = np.hypot(*np.tensordot((found - wanted)[:2], points, 1))
    return float(np.sqrt((distance**2).mean())), float(distance[:: len(rows) - 1, :: len(columns) - 1].max())


def measure(names: list[str], blurs: list[str]) -> dict[str, Any]:
    """Print and return the errors of motion and exposure."""
    motions: dict[str, Any] = {name: {motion: {} for motion in MOTIONS} for name in names}
    exposures: dict[str, Any] = {name: {} for name in names}
    print("\nDistance from the truth, px: RMS over the frame / worst corner, largest over the blurs\n")
    print("| photograph | " + " | ".join(MOTIONS) + " |\n|---|" + "---|" * len(MOTIONS))
    for name in names:
        for blur in blurs:
            for motion, first, second, wanted in pairs_of(light_of(name), blur):
                found = align(first, second, model=MOTIONS[motion][2])
                model = found.motion.model
                motions[name][motion][blur] = (*apart_px(found.motion.transform, wanted, first.shape), model)
                if motion == EXPOSED:
                    exposure = match_exposure(found.first, found.second, valid=found.valid).exposure
                    offset = float(exposure.offset[0]) + OFFSET / GAIN
                    exposures[name][blur] = (float(exposure.gain[0]) * GAIN - 1, offset)
        cells = [[max(each[k] for each in row.values()) for k in (0, 1)] for row in motions[name].values()]
        print(f"| {name} | " + " | ".join(f"{rms:.3f} / {corner:.3f}" for rms, corner in cells) + " |", flush=True)
    print("\nError of gain in % / of offset in 1e-3\n")
    for name, row in exposures.items():
        print(f"| {name} | " + " | ".join(f"{100 * g:+.2f} / {1000 * o:+.2f}" for g, o in row.values()) + " |")
    return {"motion": motions, "exposure": exposures}


def half_a_pixel_on(image: np.ndarray) -> np.ndarray:
    """Return an image moved by half a pixel both ways, exactly: in the Fourier domain, mirrored so that it repeats."""
    wide = np.pad(image, [(0, n) for n in image.shape], mode="symmetric")
    moved = np.fft.ifft2(ndimage.fourier_shift(np.fft.fft2(wide), (0.5, 0.5))).real
    return moved[: image.shape[0], : image.shape[1]]


def by_relblur(image: np.ndarray) -> np.ndarray:
    transform = np.array([[1, 0, 0.5], [0, 1, 0.5], [0, 0, 1.0]])
    return Motion(transform, "translation", 0.7, 1.0).resample(image[:, :, None])[:, :, 0]


def by_splines(order: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda image: ndimage.shift(image, (-0.5, -0.5), order=order, mode="mirror")


RESAMPLERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "relblur": by_relblur,
    "quintic splines": by_splines(5),
    "cubic splines": by_splines(3),
    "linear": by_splines(1),
}


def resampling(names: list[str]) -> dict[str, Any]:
    """Print and return the blur that each interpolator adds: mean of s, weighted by its information."""
    print("\nBlur added by resampling at half a pixel both ways, px^2 of s\n")
    print("| photograph | " + " | ".join(RESAMPLERS) + " |\n|---|" + "---|" * len(RESAMPLERS))
    rows: dict[str, Any] = {name: {} for name in names}
    for name in names:
        light = light_of(name)
        moved = half_a_pixel_on(light)
        for label, resample in RESAMPLERS.items():
            found = estimate_blur(light, resample(moved), method="window", noise=NOISE)
            inner = (slice(RIM, -RIM), slice(RIM, -RIM))
            s, weight = found.variance_difference[inner], found.variance_stderr[inner] ** -2
            known = np.isfinite(s)
            rows[name][label] = float(np.average(s[known], weights=weight[known]))
        print(f"| {name} | " + " | ".join(f"{value:+.4f}" for value in rows[name].values()) + " |", flush=True)
    return rows


def refusals(names: list[str]) -> dict[str, Any]:
    """Print and return the pairs of different photographs that are not refused."""
    accepted = {}
    pairs = list(itertools.combinations(names, 2))
    for one, two in pairs:
        lights = light_of(one), ndimage.gaussian_filter(light_of(two), 2.0)
        rows, columns = (min(sides) for sides in zip(*(light.shape for light in lights), strict=True))
        try:
            accepted[f"{one} and {two}"] = align(*(light[:rows, :columns] for light in lights)).motion.correlation
        except AlignmentError:
            continue
    print(f"\n{len(pairs)} pairs of different photographs, not refused: {accepted}")
    return {"pairs": len(pairs), "accepted": accepted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three photographs, one blur")
    options = parser.parse_args()
    print(machine.describe())
    names, blurs = (list(RAMP_IMAGES)[:3], ["1 to 2"]) if options.quick else (list(RAMP_IMAGES), list(BLURS))
    result = {**measure(names, blurs), "resampling": resampling(names), "refusals": refusals(names)}
    print("\nwritten:", machine.write("alignment", result))


if __name__ == "__main__":
    main()
