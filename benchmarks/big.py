"""Measure time and peak memory of large pictures, each run in its own process.

    python benchmarks/big.py                 # 12 MP: the command, with and without pictures of full size (blur map,
                                             # fused picture, relative depth), and each method at full resolution
    python benchmarks/big.py --megapixels 60 --methods refined

Prints wall and processor time, peak resident memory (including the pair), the number of tiles or the
decimation factor, and the mean relative error of sigma. The pair is colour, 8 bits, made from an enlarged
scikit-image photograph with fine grain. The blur grows in bands from 2 to 8 px.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

#: Rows that run the command, and its options.
OPTIONS: dict[str, list[str]] = {"command": [], "full size": ["--full-size"]}
BLURS_PX = (2.0, 3.0, 4.0, 5.0, 6.5, 8.0)


def make_pair(folder: Path, megapixels: float, blurs: tuple[float, ...]) -> None:
    import cv2
    from skimage import data

    width = round((megapixels * 1e6 * 4 / 3) ** 0.5)
    height = round(width * 3 / 4)
    image = cv2.resize(data.astronaut(), (width, height), interpolation=cv2.INTER_CUBIC).astype(np.float32)
    rng = np.random.default_rng(0)
    for channel in range(3):
        for grain_px, strength in ((1.5, 25.0), (6.0, 60.0)):
            grain = cv2.GaussianBlur(rng.standard_normal((height, width), np.float32), (0, 0), grain_px)
            image[:, :, channel] += strength * grain
    from relblur.base.tone import encode_srgb

    np.clip(image, 5, 250, out=image)
    image = (image / 255) ** 2  # as light
    second = np.empty_like(image)
    edges = np.linspace(0, height, len(blurs) + 1).astype(int)
    for top, bottom, blur in zip(edges[:-1], edges[1:], blurs, strict=True):
        start, stop = max(top - 50, 0), min(bottom + 50, height)
        second[top:bottom] = cv2.GaussianBlur(image[start:stop], (0, 0), blur)[top - start : bottom - start]
    for name, picture in (("first", image), ("second", second)):
        picture += np.float32(0.002) * rng.standard_normal(picture.shape, np.float32)
        stored = np.rint(encode_srgb(picture.clip(0, 1)) * 255).astype(np.uint8)
        cv2.imwrite(str(folder / f"{name}.png"), stored[:, :, ::-1])


def error_of(blur_map, factor: int, blurs: tuple[float, ...]) -> float:
    """Mean relative error of sigma over the inner half of each band."""
    height = blur_map.shape[0]
    edges = np.linspace(0, height, len(blurs) + 1).astype(int)
    errors = []
    for top, bottom, blur in zip(edges[:-1], edges[1:], blurs, strict=True):
        quarter = (bottom - top) // 4
        sigma = blur_map.sigma[top + quarter : bottom - quarter] * factor
        errors.append(float(np.nanmean(np.abs(sigma - blur))) / blur)
    return float(np.mean(errors))


def run_method(folder: Path, method: str, blurs: tuple[float, ...]) -> dict[str, object]:
    from relblur.blur.estimate import estimate_blur
    from relblur.photo.photograph import read_photograph

    first, second = (read_photograph(folder / f"{name}.png").light for name in ("first", "second"))
    seen: list[float] = []
    start, before = time.perf_counter(), time.process_time()
    found = estimate_blur(first, second, method=method, channel_axis=-1, progress=seen.append)
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # before the scoring
    result = {"seconds": seconds, "processor_seconds": processor, "peak_gb": peak / 1e9, "reports": len(seen)}
    return {**result, "how": f"{found.settings.get('tiles', 1)} tiles", "error": error_of(found, 1, blurs)}


def run_command(folder: Path, options: list[str]) -> dict[str, object]:
    """Run ``relblur estimate`` as a user does, start and files included."""
    out = folder / "out"
    command = [sys.executable, "-m", "relblur.apps.cli.app", "estimate", str(folder / "first.png")]
    command += [str(folder / "second.png"), "-o", str(out), "--force", "--json", *options]
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds = time.perf_counter() - start
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    settings = json.loads(done.stdout)["settings"]
    from relblur import load

    found = load(out / "blur_map.npz")
    return {
        "seconds": seconds,
        "processor_seconds": usage.ru_utime + usage.ru_stime,
        "peak_gb": usage.ru_maxrss * 1024 / 1e9,
        "how": settings["decimate_because"],
        "error": error_of(found, settings["decimate"], BLURS_PX),
    }


def in_a_process(*arguments: str) -> dict[str, object]:
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megapixels", type=float, default=12.0)
    parser.add_argument("--methods", default="window,refined", help="At full resolution; '' for none.")
    parser.add_argument("--only", nargs=2, metavar=("WHAT", "FOLDER"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    # At full resolution the widest bands would be beyond the 5 px that are looked for.
    narrow = tuple(blur / 2 for blur in BLURS_PX)
    if asked.only:
        what, folder = asked.only
        if what == "make":
            make_pair(Path(folder), asked.megapixels, BLURS_PX)
            result: dict[str, object] = {}
        elif what == "make narrow":
            make_pair(Path(folder), asked.megapixels, narrow)
            result = {}
        elif what in OPTIONS:
            result = run_command(Path(folder), OPTIONS[what])
        else:
            result = run_method(Path(folder), what, narrow)
        print(json.dumps(result))
        return
    print(f"{asked.megapixels:g} MP, colour, 8 bits")
    print(f"{'':10}  seconds  processor  peak GB  mean error  how")
    with tempfile.TemporaryDirectory() as name:
        size = ("--megapixels", str(asked.megapixels))
        in_a_process(*size, "--only", "make", name)
        for what in [*OPTIONS, *filter(None, asked.methods.split(","))]:
            if what not in OPTIONS and what == asked.methods.split(",")[0]:
                in_a_process(*size, "--only", "make narrow", name)
            row = in_a_process(*size, "--only", what, name)
            figures = f"{row['seconds']:8.1f} {row['processor_seconds']:10.1f} {row['peak_gb']:8.2f}"
            print(f"{what:10} {figures} {row['error']:11.2%}  {row['how']}", flush=True)


if __name__ == "__main__":
    main()
