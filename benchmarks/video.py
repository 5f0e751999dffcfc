"""Measure the effect of codecs on accuracy, and the speed of ``relblur video``.

    python benchmarks/video.py [--speed] [--codecs]

Codecs: three scikit-image photographs, linearised and blurred in linear light by a ramp from -2 to +2 px,
sensor noise of 0.3 %, panning by 2 px a frame, as 8-bit clips. Prints the share of pixels with a value and no flag,
the median error of sigma, the median standard error, and the coverage of 2 standard errors. Each is measured without
a model of the codec, and as by the command (noise from the quantiser, standard errors widened).

Speed: 640x480, grey FFV1 and H.264. The time of the whole run over that of decoding both clips and of
:class:`relblur.Stream` on the decoded frames; the three alternate in one process.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import machine
from relblur import Stream, synth
from relblur.apps.demo.program import photograph
from relblur.apps.video.clip import Clip, Frame, import_av
from relblur.apps.video.measuring import Settings, VideoMeter
from relblur.apps.video.pairing import pair_by_time
from relblur.apps.video.side_by_side import ClipWriter, add_stream, encode, finish
from relblur.base.tone import SRGB, encode_srgb

IMAGES = ("brick", "camera", "coffee")
NOISE, FRAMES = 0.003, 6

#: name: (codec, suffix, pixel format, options)
CODECS = {
    "FFV1": ("ffv1", ".mkv", "gray", {}),
    "Motion JPEG, q 2": ("mjpeg", ".avi", "yuvj420p", {"qmin": "2", "qmax": "2"}),
    "Motion JPEG, q 5": ("mjpeg", ".avi", "yuvj420p", {"qmin": "5", "qmax": "5"}),
    "H.264, crf 18": ("libx264", ".mp4", "yuv420p", {"crf": "18"}),
    "H.264, crf 23": ("libx264", ".mp4", "yuv420p", {"crf": "23"}),
    "H.264, crf 28": ("libx264", ".mp4", "yuv420p", {"crf": "28"}),
    "H.265, crf 28": ("libx265", ".mp4", "yuv420p", {"crf": "28", "x265-params": "log-level=none"}),
    "MPEG-4, q 4": ("mpeg4", ".mp4", "yuv420p", {"qmin": "4", "qmax": "4"}),
}


def write_clip(path: Path, frames: list[np.ndarray], codec: str, pixel_format: str, options: dict[str, str]) -> None:
    """Write grey frames; codecs of limited range get them scaled to it by FFmpeg."""
    container = import_av().open(str(path), "w")
    stream = add_stream(container, codec, frames[0].shape, 25, options)
    stream.pix_fmt = pixel_format
    if pixel_format == "yuv420p":
        stream.codec_context.color_trc = 13  # sRGB, as the frames are
    for number, frame in enumerate(frames):
        encode(container, stream, frame, number / 25, "gray")
    finish(container, stream)


def clips_of(name: str, rng: np.random.Generator) -> tuple[list[list[np.ndarray]], np.ndarray]:
    """Return the frames of two clips, and the signed blur in px."""
    stored = photograph(name)[:360, :480]
    light = SRGB.undo(stored if stored.ndim == 2 else stored.mean(axis=2).astype(np.uint8), np.float64)
    truth = synth.ramp(light.shape, -2, 2, axis=1)

    def frame(image: np.ndarray, number: int) -> np.ndarray:
        seen = np.roll(image, 2 * number, axis=0) + rng.normal(0, NOISE, image.shape)
        return np.rint(255 * encode_srgb(seen)).astype(np.uint8)

    return [[frame(image, n) for n in range(FRAMES)] for image in synth.pair(light, truth)], truth


def last_map(paths: list[Path], *, codec_known: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return s, its standard error and flags of the last pair but one."""
    meter = VideoMeter(Settings(align="off", exposure="off"))
    with Clip(paths[0]) as near, Clip(paths[1]) as far:
        pairs: Iterator[tuple[Frame, Frame]] = pair_by_time(near, far, 0.02)
        if not codec_known:
            pairs = ((replace(a, noise=1e-3, lossy=False), replace(b, noise=1e-3, lossy=False)) for a, b in pairs)
        for measured in meter.measure(pairs):
            if measured.index == FRAMES - 2:
                kept = measured.blur_map.copy()
    return kept.variance_difference, kept.variance_stderr, kept.flags


def print_codecs() -> list[dict[str, str]]:
    rows = []
    rng = np.random.default_rng(0)
    print(f"{'':10}{'':18}{'codec not known':>38}{'as the command does it':>42}")
    head = "answered  error px  stderr px  within 2"
    print(f"{'':28}  {head}   {head}")
    with tempfile.TemporaryDirectory() as folder:
        for name in IMAGES:
            clips, truth = clips_of(name, rng)
            for label, (codec, suffix, pixel_format, options) in CODECS.items():
                paths = [Path(folder) / f"{side}{suffix}" for side in ("near", "far")]
                for path, frames in zip(paths, clips, strict=True):
                    write_clip(path, frames, codec, pixel_format, options)
                cells = [_score(*last_map(paths, codec_known=known), truth) for known in (False, True)]
                print(f"{name:10}{label:18}  {cells[0]}   {cells[1]}", flush=True)
                rows.append({"image": name, "codec": label, "told_nothing": cells[0], "as_the_command": cells[1]})
    return rows


def _score(s: np.ndarray, stderr: np.ndarray, flags: np.ndarray, truth: np.ndarray) -> str:
    use = (flags == 0) & np.isfinite(s)
    sigma = np.sign(s) * np.sqrt(np.abs(s))
    off = np.abs(s - np.sign(truth) * truth**2)
    error = np.median(np.abs(sigma - truth)[use])
    width = np.median((stderr / (np.abs(sigma) + np.sqrt(np.abs(s) + stderr)))[use])
    return f"{use.mean():8.1%}  {error:8.3f}  {width:9.3f}  {(off <= 2 * stderr)[use].mean():8.1%}"


def print_speed(rounds: int = 3, count: int = 30) -> list[dict[str, Any]]:
    rows = []
    rng = np.random.default_rng(0)
    light = np.pad(SRGB.undo(photograph("brick")[:480], np.float64), ((0, 0), (0, 128)), mode="reflect")
    pair = synth.pair(light, synth.ramp(light.shape, -2, 2, axis=1))
    print(f"640x480, {count} pairs, least of {rounds} rounds, ms of wall / processor time a pair")
    with tempfile.TemporaryDirectory() as folder:
        for label in ("FFV1", "H.264, crf 18"):
            codec, suffix, pixel_format, options = CODECS[label]
            paths = [Path(folder) / f"{side}{suffix}" for side in ("near", "far")]
            for path, image in zip(paths, pair, strict=True):
                shown = [np.roll(image, n, axis=0) + rng.normal(0, NOISE, image.shape) for n in range(count)]
                frames = [np.rint(255 * encode_srgb(each)).astype(np.uint8) for each in shown]
                write_clip(path, frames, codec, pixel_format, options)
            rows.append({"codec": label, **_print_speed_of(label, paths, Path(folder), rounds, count)})
    return rows


def _print_speed_of(label: str, paths: list[Path], folder: Path, rounds: int, count: int) -> dict[str, Any]:
    def decode() -> list[list[np.ndarray]]:
        return [[frame.light for frame in clip] for clip in map(Clip, paths)]

    near, far = decode()

    def stream() -> None:
        for one, two in zip(near, far, strict=True):
            live.process(one, two)

    def whole(output: Path | None = None) -> None:
        with Clip(paths[0]) as a, Clip(paths[1]) as b:
            writer = None if output is None else ClipWriter(output, 25, ("near", "far"))
            for measured in VideoMeter(Settings()).measure(pair_by_time(a, b, 0.02)):
                if writer is not None:
                    writer.put(measured)
            if writer is not None:
                writer.finish()
                writer.close()

    def registration() -> None:
        with Clip(paths[0]) as a, Clip(paths[1]) as b:
            next(VideoMeter(Settings()).measure(pair_by_time(a, b, 0.02)))

    steps = {
        "decoding": decode,
        "Stream": stream,
        "begin": registration,
        "relblur video": whole,
        "with -o .mp4": lambda: whole(folder / "out.mp4"),
    }
    least: dict[str, tuple[float, float]] = dict.fromkeys(steps, (np.inf, np.inf))
    with Stream((480, 640), noise=near[0].dtype.itemsize * 1e-3) as live:
        for _ in range(rounds):
            for name, work in steps.items():
                wall, busy = time.perf_counter(), time.process_time()
                work()
                spent = 1e3 * (time.perf_counter() - wall) / count, 1e3 * (time.process_time() - busy) / count
                least[name] = min(least[name][0], spent[0]), min(least[name][1], spent[1])
    print(f"{label}: " + ", ".join(f"{name} {wall:.1f} / {busy:.1f}" for name, (wall, busy) in least.items()))
    for name in ("relblur video", "with -o .mp4"):
        ratios = [(least[name][i] - least["begin"][i]) / (least["decoding"][i] + least["Stream"][i]) for i in (0, 1)]
        print(f"  {name}, without the first pair, over Stream plus decoding: {ratios[0]:.2f} / {ratios[1]:.2f}")
    return {"ms_wall_and_processor": least}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--codecs", action="store_true")
    args = parser.parse_args()
    print(machine.describe())
    rows: dict[str, Any] = {}
    if args.codecs or not args.speed:
        rows["codecs"] = print_codecs()
    if args.speed or not args.codecs:
        rows["speed"] = print_speed()
    print(machine.write("video", rows))


if __name__ == "__main__":
    main()
