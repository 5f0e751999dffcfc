"""Print a digest of all bytes of the maps of ten pairs, to compare before and after moving code.

    python benchmarks/fingerprints.py [--engines opencv,compiled]

The pairs are made from scikit-image's photographs. Digests of two versions are comparable on one machine with the same
installed libraries.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Iterator

import numpy as np

from photographs import RAMP_IMAGES
from relblur import BlurMap, Camera, estimate_blur, estimate_depth, synth
from relblur.apps.demo.program import photograph

METHODS = ("refined", "window", "paper")


def pairs() -> Iterator[tuple[str, np.ndarray, np.ndarray, int | None]]:
    """Yield one pair a photograph: colour and grey, signed and not, float, 8 bits and noise in turn."""
    rng = np.random.default_rng(0)
    for number, name in enumerate(RAMP_IMAGES):
        image = photograph(name)[:200, :240] / 255.0
        axis = -1 if image.ndim == 3 else None
        start, stop = (1, 2) if number % 2 else (-1.5, 1.5)
        first, second = synth.pair(image, synth.ramp(image.shape[:2], start, stop, axis=number % 2), channel_axis=axis)
        if number % 3:
            options = {"bits": 8} if number % 3 == 1 else {"noise": 0.01, "rng": rng}
            first, second = (synth.degrade(one, **options) for one in (first, second))
        yield name, first, second, axis


def digest(*arrays: np.ndarray) -> str:
    """Return the first digits of a hash of all bytes."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:12]


def of_map(found: BlurMap) -> str:
    return digest(found.variance_difference, found.variance_stderr, found.flags, found.sharper)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", default="opencv,compiled")
    engines = parser.parse_args().engines.split(",")
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, blur_constant=0.25)
    print(f"| pair | engine | {' | '.join(METHODS)} |\n|---|---|---|---|---|")
    for name, first, second, axis in pairs():
        for engine in engines:
            found = [
                of_map(estimate_blur(first, second, method=method, channel_axis=axis, engine=engine))
                for method in METHODS
            ]
            print(f"| {name} | {engine} | {' | '.join(found)} |", flush=True)
    for psf in ("gaussian", "disc"):
        depth = estimate_depth(first, second, camera, psf=psf, channel_axis=axis)
        print(f"depth, {psf}: {digest(depth.depth_m, depth.depth_stderr_m, depth.flags)}", flush=True)


if __name__ == "__main__":
    main()
