"""Measure pairs that violate the assumptions of the estimator: unflagged errors beyond three standard errors, warnings.

    python benchmarks/violations.py [--only KIND ...] [--quick]

Six photographs of 256 x 256 px are blurred by an affine, a constant or a signed s, then degraded in one way each.
Prints the share of pixels without a flag, the share of these with an error above 1 and 3 standard errors (mean over the
photographs, and the worst), and the number of photographs with a warning (``settings["model_warnings"]``).
--quick takes two photographs.
"""

from __future__ import annotations

import argparse
import io
import warnings
from collections.abc import Callable
from typing import NamedTuple

import cv2
import numpy as np

import machine
from photographs import grey
from relblur import estimate_blur, synth
from relblur.base.tone import SRGB, encode_srgb
from relblur.blur.blur_map import signed_sigma

SIDE = 256
ROWS, COLUMNS = np.mgrid[:SIDE, :SIDE].astype(np.float64)
#: s in px^2: from 0.5 to 4, of both signs, and 2.25 everywhere.
AFFINE, SIGNED, CONSTANT = 0.5 + 3.5 * COLUMNS / SIDE, -3 + 6 * COLUMNS / SIDE, np.full((SIDE, SIDE), 2.25)
#: Photograph: its upper left corner.
PLACES = {"camera": (128, 128), "brick": (0, 0), "coins": (20, 60), "gravel": (0, 0), "astronaut": (60, 100)}
PLACES |= {"chelsea": (20, 100)}


class Spoiled(NamedTuple):
    """A pair, the true s, and where that is asked."""

    first: np.ndarray
    second: np.ndarray
    s: np.ndarray
    where: np.ndarray | None = None


Kind = Callable[[np.ndarray, np.random.Generator], Spoiled]


def blurred(light: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return synth.pair(light, signed_sigma(s))


def stored(
    pair: tuple[np.ndarray, np.ndarray], rng: np.random.Generator, noise: tuple[float, float] = (0.003, 0.003)
) -> tuple[np.ndarray, np.ndarray]:
    """Return a pair with noise, in 8 bits."""
    first, second = (synth.degrade(one, noise=n, bits=8, rng=rng) for one, n in zip(pair, noise, strict=True))
    return first, second


def with_noise(pair: tuple[np.ndarray, np.ndarray], rng: np.random.Generator, noise: float) -> list[np.ndarray]:
    return [one + rng.normal(0, noise, one.shape) for one in pair]


def disc(image: np.ndarray, radius: float) -> np.ndarray:
    """Blur by a disc, each pixel of it by the part that it covers."""
    fine, reach = 8, int(np.ceil(radius)) + 1
    place = (np.arange((2 * reach + 1) * fine) + 0.5) / fine - reach - 0.5
    inside = (np.hypot(place[:, None], place) <= radius).astype(float)
    kernel = inside.reshape(2 * reach + 1, fine, 2 * reach + 1, fine).mean(axis=(1, 3))
    return cv2.filter2D(image, -1, kernel / kernel.sum(), borderType=cv2.BORDER_REFLECT)


def jpeg(light: np.ndarray, quality: int) -> np.ndarray:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.rint(255 * encode_srgb(light)).astype(np.uint8)).save(file, "JPEG", quality=quality)
    return np.asarray(SRGB.undo(np.asarray(Image.open(file)), np.float64))


def moved(image: np.ndarray, matrix: list[list[float]]) -> np.ndarray:
    return cv2.warpAffine(
        image, np.array(matrix), (SIDE, SIDE), flags=cv2.INTER_LANCZOS4, borderMode=cv2.BORDER_REFLECT
    )


def with_lights(light: np.ndarray) -> np.ndarray:
    """Return a picture with forty small lights, twenty times white."""
    rng, out = np.random.default_rng(3), light.copy()
    for row, column in rng.integers(5, SIDE - 6, (40, 2)):
        out[row : row + 2, column : column + 2] += 20
    return out


def occluded(light: np.ndarray, rng: np.random.Generator) -> Spoiled:
    """A disc in front, sharp in the second image only, over what is sharp in the first only."""
    front = np.roll(light[::-1], 40, axis=0)
    mask = (np.hypot(COLUMNS - 128, ROWS - 128) < 60).astype(float)
    soft = [cv2.GaussianBlur(one, (0, 0), 2.5) for one in (mask, front * mask)]
    pair = light * (1 - soft[0]) + soft[1], cv2.GaussianBlur(light, (0, 0), 3) * (1 - mask) + front * mask
    return Spoiled(*stored(pair, rng), np.where(mask > 0.5, -(2.5**2), 9.0))


def something_moved(light: np.ndarray, rng: np.random.Generator) -> Spoiled:
    first, second = blurred(light, CONSTANT)
    where = (np.abs(COLUMNS - 128) < 30) & (np.abs(ROWS - 128) < 30)
    second = np.where(where, np.roll(second, (3, 6), (0, 1)), second)
    return Spoiled(*stored((first, second), rng), CONSTANT, where)


def sharpened(light: np.ndarray, rng: np.random.Generator) -> Spoiled:
    pair = [one + 0.6 * (one - cv2.GaussianBlur(one, (0, 0), 1)) for one in blurred(light, CONSTANT)]
    return Spoiled(*stored((pair[0], pair[1]), rng), CONSTANT)


def correlated(light: np.ndarray, rng: np.random.Generator) -> Spoiled:
    noise = [cv2.GaussianBlur(rng.normal(0, 1, light.shape), (0, 0), 0.8) for _ in range(2)]
    first, second = (one + 0.01 * n / n.std() for one, n in zip(blurred(light, AFFINE), noise, strict=True))
    return Spoiled(first, second, AFFINE)


def shaded(light: np.ndarray, rng: np.random.Generator) -> Spoiled:
    first, second = blurred(light, CONSTANT)
    fall = 1 - 0.3 * ((COLUMNS - 128) ** 2 + (ROWS - 128) ** 2) / (2 * 128**2)
    return Spoiled(*stored((first, second * fall), rng), CONSTANT)


def changed(s: np.ndarray, change: Callable[[np.ndarray], np.ndarray]) -> Kind:
    """Return what changes the second image of a pair before it is stored."""

    def make(light: np.ndarray, rng: np.random.Generator) -> Spoiled:
        first, second = blurred(light, s)
        return Spoiled(*stored((first, change(second)), rng), s)

    return make


KINDS: dict[str, Kind] = {
    "nothing, constant": lambda light, rng: Spoiled(*stored(blurred(light, CONSTANT), rng), CONSTANT),
    "nothing, affine": lambda light, rng: Spoiled(*stored(blurred(light, AFFINE), rng), AFFINE),
    "nothing, both signs": lambda light, rng: Spoiled(*stored(blurred(light, SIGNED), rng), SIGNED),
    "discs of 2 and 4 px, second moments": lambda light, rng: Spoiled(
        *stored((disc(light, 2.0), disc(light, 4.0)), rng), np.full_like(light, 3.0)
    ),
    "motion by 7 px": lambda light, rng: Spoiled(
        *stored((light, cv2.blur(light, (7, 1), borderType=cv2.BORDER_REFLECT)), rng), np.full_like(light, 2.0)
    ),
    "occlusion": occluded,
    "lights, clipped": lambda light, rng: Spoiled(*stored(blurred(with_lights(light), AFFINE), rng), AFFINE),
    "lights, floats": lambda light, rng: Spoiled(*with_noise(blurred(with_lights(light), AFFINE), rng, 0.003), AFFINE),
    "JPEG 50, as arrays": lambda light, rng: Spoiled(*(jpeg(one, 50) for one in blurred(light, AFFINE)), AFFINE),
    "JPEG 90, as arrays": lambda light, rng: Spoiled(*(jpeg(one, 90) for one in blurred(light, AFFINE)), AFFINE),
    "sharper ten times as noisy": lambda light, rng: Spoiled(
        *stored(blurred(light, AFFINE), rng, (0.02, 0.002)), AFFINE
    ),
    "blurrier ten times as noisy": lambda light, rng: Spoiled(
        *stored(blurred(light, AFFINE), rng, (0.002, 0.02)), AFFINE
    ),
    "correlated noise": correlated,
    "photon noise": lambda light, rng: Spoiled(
        *(rng.poisson(np.maximum(one, 0) * 2000) / 2000 for one in blurred(light, AFFINE)), AFFINE
    ),
    "something moved (there)": something_moved,
    "tone curve left in": lambda light, rng: Spoiled(
        *stored(tuple(encode_srgb(one) for one in blurred(light, AFFINE)), rng),
        AFFINE,  # type: ignore[arg-type]
    ),
    "shifted by 0.5 px": changed(CONSTANT, lambda image: moved(image, [[1, 0, 0.5], [0, 1, 0]])),
    "turned by 0.25 degrees": changed(
        CONSTANT, lambda image: moved(image, cv2.getRotationMatrix2D((127.5, 127.5), 0.25, 1).tolist())
    ),
    "exposure 0.9": changed(CONSTANT, lambda image: 0.9 * image),
    "vignetting of 0.3": shaded,
    "haze": changed(CONSTANT, lambda image: 0.9 * image + 0.05),
    "both sharpened": sharpened,
    "another scene": lambda light, rng: Spoiled(
        *stored((light, cv2.GaussianBlur(light[::-1, ::-1].copy(), (0, 0), 1.5)), rng), CONSTANT
    ),
    "blur of 7 px, looked for up to 5": changed(np.full((SIDE, SIDE), 49.0), lambda image: image),
}


def score(kind: str, names: list[str]) -> dict[str, object]:
    """Estimate a kind on some photographs."""
    unflagged, beyond, doubted = [], [], 0
    for index, name in enumerate(names):
        top, left = PLACES[name]
        light = np.asarray(SRGB.undo(grey(name)[top : top + SIDE, left : left + SIDE], np.float64))
        spoiled = KINDS[kind](light, np.random.default_rng(index))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # bytes are taken as they are here, and that is told
            found = estimate_blur(spoiled.first, spoiled.second)
        asked = np.ones(found.shape, bool) if spoiled.where is None else spoiled.where
        good = asked & (found.flags == 0)
        unflagged.append(good.sum() / asked.sum())
        bars = (np.abs(found.variance_difference - spoiled.s) / found.variance_stderr)[good]
        if bars.size:
            beyond.append([np.mean(bars > 1), np.mean(bars > 3)])
        doubted += bool(found.settings.get("model_warnings"))
    shares = np.array(beyond) if beyond else np.zeros((1, 2))
    return {
        "kind": kind,
        "unflagged": float(np.mean(unflagged)),
        "beyond_1": float(shares[:, 0].mean()),
        "beyond_3": float(shares[:, 1].mean()),
        "worst_beyond_3": float(shares[:, 1].max()),
        "doubted": doubted,
        "of": len(names),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(KINDS), default=list(KINDS), metavar="KIND")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    print(machine.describe())
    names = list(PLACES)[:2] if options.quick else list(PLACES)
    print("\n| what is wrong | unflagged | of these beyond 1, 3 standard errors | worst, beyond 3 | doubted in words |")
    print("|---|---|---|---|---|")
    rows = []
    for kind in options.only:
        row = score(kind, names)
        rows.append(row)
        print(
            f"| {kind} | {row['unflagged']:.0%} | {row['beyond_1']:.1%}, {row['beyond_3']:.1%} | "
            f"{row['worst_beyond_3']:.1%} | {row['doubted']} of {row['of']} |",
            flush=True,
        )
    print(f"\nwritten: {machine.write('violations', rows)}")


if __name__ == "__main__":
    main()
