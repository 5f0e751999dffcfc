"""Compare focal stacks and fused pictures with the truth, beside rivals in the same run.

    python benchmarks/stacks.py [--data DIR] [--focus-stack PROGRAM] [--only generated made hard fused halo memory]
                               [--every N] [--frames N N] [--megapixels M] [--record]

generated   error of the index, steps: ours, and the largest Laplacian energy with a parabola, at its best window
made        error of the index of unflagged pixels off edges, frames: twelve stacks made from photographs, with noise,
            JPEG 90, or neither; every other one has a disc in front of a smooth surface
hard        mean |z error| off edges of rendered five-frame stacks (JPEG): ours, ours from two images, Laplacian energy
fused       PSNR of the picture that is sharp everywhere, for Real-MFF and stacks made from scikit-image's photographs:
            ours, the largest Laplacian (of the pixel, and averaged over its best window), focus-stack if available
halo        RMS error (of 255) beside bright bristles, on them, and in the background that no frame has in focus; CPU
            time in s: ours, the rivals above, and the maximum of Laplacian pyramids
memory      peak memory and time of fusing frames, by default 8 and 24 of 2 MP: memory must hardly grow with the number

--record writes benchmarks/results/stacks.json and keeps its sections that did not run.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

import machine
import relblur
from macro_scene import make_scene
from relblur import Camera, estimate_depth, estimate_stack, imread, prepare_pair, synth
from relblur.base.tone import encode_srgb

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "stacks.json"
NAMES = ("near", "mid1", "mid2", "mid3", "far")
OFF_EDGES, SIDE = 10, 240  #: px off edges; side of the made stacks
EVERY = 1
FRAMES, MEGAPIXELS = (8, 24), 2.0


def laplacian_energy(image, width):
    fine = cv2.Laplacian(np.asarray(image, np.float64), cv2.CV_64F) ** 2
    return cv2.GaussianBlur(fine, (0, 0), width) if width else fine


def laplacian_index(images, width):
    """Largest Laplacian energy over the frames, with a parabola through its logarithm."""
    energy = np.stack([laplacian_energy(image, width) for image in images])
    best = energy.argmax(axis=0)
    inside = best.clip(1, len(images) - 2)
    before, peak, after = (
        np.log(np.take_along_axis(energy, (inside + o)[None], axis=0)[0] + 1e-12) for o in (-1, 0, 1)
    )
    place = inside + (before - after) / (2 * np.minimum(before - 2 * peak + after, -1e-9))
    return np.where(best == inside, np.clip(place, inside - 1, inside + 1), best)


def generated(data, _program):
    """Index of the generated stacks; the frames are JPEG of quality 75."""
    rows = []
    for number in (1, 2, 3):
        folder = data / f"stacks/generated_{number}"
        files = sorted(folder.glob("*.jpg"))
        truth = np.load(folder / "sharpest_index.npy")
        start = time.process_time()
        found = estimate_stack(files, align="off", exposure="off", fuse=False)
        seconds = time.process_time() - start
        error, stderr = (found.index[20:379, 20:379] - truth), found.index_stderr[20:379, 20:379]
        images = [imread(file, linear=False) for file in files]
        rival = min(rms(laplacian_index(images, width)[20:379, 20:379] - truth) for width in (2.0, 2.75, 3.5))
        row = {
            "stack": number,
            "rms": rms(error),
            "within_1": share(error, stderr),
            "within_2": share(error, 2 * stderr),
        }
        rows.append({**row, "laplacian_rms": rival, "cpu_s": seconds})
        print(rows[-1], flush=True)
    return rows


def made(_data, _program):
    """Index of twelve stacks of 12 to 31 frames made from photographs."""
    from skimage import data as photographs

    names = ("camera", "astronaut", "coffee", "chelsea", "brick", "gravel")
    rows = []
    for number in range(12):
        rng = np.random.default_rng(100 + number)
        sharp = np.atleast_3d(getattr(photographs, names[number % 6])())[..., -2:][..., 0] / 255
        top, left = (rng.integers(0, n - SIDE + 1) for n in sharp.shape)
        sharp, count = sharp[top : top + SIDE, left : left + SIDE], int(rng.choice([12, 16, 24, 31]))
        place, edges = made_surface(rng, number % 2 == 1)
        place = 1.5 + (count - 4) * place
        frames = [synth.blur_with_map(sharp, 5 / count * np.abs(place - k)) for k in range(count)]
        noise = ("noise", "JPEG 90", "none")[number % 3]
        if noise == "noise":
            frames = [frame + rng.normal(0, 0.003, frame.shape) for frame in frames]
        with tempfile.TemporaryDirectory() as folder:
            if noise == "JPEG 90":
                files = [Path(folder) / f"{k:02d}.jpg" for k in range(count)]
                for file, frame in zip(files, frames, strict=True):
                    cv2.imwrite(
                        str(file), np.rint(255 * np.clip(frame, 0, 1)).astype(np.uint8), [cv2.IMWRITE_JPEG_QUALITY, 90]
                    )
                frames = files
            found = estimate_stack(frames, align="off", exposure="off", fuse=False, linear=False)
        error, there = found.index - place, (found.flags == 0) & ~edges
        there[:15] = there[-15:] = there[:, :15] = there[:, -15:] = False
        row = {"stack": number, "frames": count, "noise": noise, "unflagged": float(there.mean())}
        row |= {"rms": rms(error[there]), "median": float(np.median(np.abs(error[there])))}
        rows.append({**row, "within_2": share(error[there], 2 * found.index_stderr[there])})
        print(rows[-1], flush=True)
    return rows


def made_surface(rng, has_disc):
    """Return a smooth surface from 0 to 1, perhaps with a disc in front of it, and the pixels near its edge."""
    y, x = np.mgrid[:SIDE, :SIDE] / SIDE
    waves = zip(rng.uniform(0.3, 1, 3), rng.uniform(-1, 1, 3), rng.uniform(-1, 1, 3), rng.uniform(0, 6, 3), strict=True)
    surface = sum(height * np.sin(2 * np.pi * (across * x + down * y) + phase) for height, across, down, phase in waves)
    surface = (surface - surface.min()) / (surface.max() - surface.min())
    if not has_disc:
        return surface, np.zeros(surface.shape, bool)
    middle = 0.5 + rng.uniform(-0.1, 0.1, 2)
    distance = np.hypot(y - middle[0], x - middle[1]) - 0.25
    return np.where(distance < 0, 1 - 0.5 * surface, 0.6 * surface), np.abs(distance) < OFF_EDGES / SIDE


def hard(data, _program):
    """Depth of rendered stacks of five, with the camera known."""
    rows = []
    for scene in ("street", "leaves"):
        folder = data / "hard" / scene
        meta = json.loads((folder / "META.json").read_text())
        inverse, edge = imread(folder / "inverse_depth.tif"), imread(folder / "edge_distance.tif")
        files, focus = [folder / f"{n}.jpg" for n in NAMES], [meta["focus_m"][n] for n in NAMES]
        camera = Camera(coc_constant_px_m=meta["coc_constant_px_m"], focus_first_m=focus[0], focus_second_m=focus[-1])
        there = (inverse > 0) & (edge > OFF_EDGES)
        truth = 1 / np.where(inverse > 0, inverse, np.nan)
        found = estimate_stack(files, focus_m=focus, camera=camera, align="off", exposure="off", decimate=1, fuse=False)
        pair = prepare_pair(files[0], files[-1], align="off", exposure="off", decimate=1)
        two = estimate_depth(pair, camera, psf="disc")
        images = [imread(file).mean(axis=2) for file in files]
        rivals = []
        for width in (2.0, 4.0):
            u = np.interp(laplacian_index(images, width), range(5), 1 / np.array(focus))
            rivals.append(z_error(1 / u, truth, there))
        errors = (found.depth_m - truth)[there]
        known = np.isfinite(errors)
        stderr = found.depth_stderr_m[there]
        row = {"scene": scene, "mean_abs_z_error": z_error(found.depth_m, truth, there)}
        row |= {"two_images": z_error(two.depth_m, truth, there), "laplacian": min(rivals), "answered": known.mean()}
        row |= {"within_1": share(errors[known], stderr[known]), "within_2": share(errors[known], 2 * stderr[known])}
        rows.append({k: v if isinstance(v, str) else float(v) for k, v in row.items()})
        print(rows[-1], flush=True)
    return rows


def fused(data, program):
    """PSNR of fused pictures, sRGB values, dB."""
    rows = []
    for first in sorted((data / "realmff").glob("*_a.png"))[::EVERY]:
        files = [first, Path(str(first).replace("_a.png", "_b.png"))]
        truth = encode_srgb(imread(str(first).replace("_a.png", "_gt.png")))
        rows.append({"set": "realmff", "name": first.stem, **fused_row(files, truth, program)})
        print(rows[-1], flush=True)
    from skimage import data as photographs

    for name in ("chelsea", "coffee", "astronaut"):
        sharp = getattr(photographs, name)()
        with tempfile.TemporaryDirectory() as folder:
            files, truth = made_stack(np.asarray(sharp)[:240, :320], Path(folder))
            rows.append({"set": "made", "name": name, **fused_row(files, truth, program)})
        print(rows[-1], flush=True)
    for kind in ("realmff", "made"):
        these = [row for row in rows if row["set"] == kind]
        keys = [key for key in these[0] if key not in ("set", "name")]
        rows.append({"set": kind, "name": "mean", **{key: float(np.mean([row[key] for row in these])) for key in keys}})
        print(rows[-1], flush=True)
    return rows


def made_stack(sharp, folder):
    """Write seven JPEG frames of a photograph on a tilted, stepped surface, blurred by up to 5 px."""
    light = np.where(sharp / 255 <= 0.04045, sharp / 255 / 12.92, ((sharp / 255 + 0.055) / 1.055) ** 2.4)
    height, width = sharp.shape[:2]
    place = np.linspace(0.3, 5.0, width)[None, :] + np.where(np.arange(height) < height // 2, 0.0, 1.0)[:, None]
    files = []
    for number in range(7):
        sigma = 0.9 * np.abs(place - number)
        frame = np.dstack([synth.blur_with_map(light[:, :, c], sigma) for c in range(3)])
        files.append(folder / f"{number}.jpg")
        relblur.save(files[-1], np.clip(frame, 0, 1))
    return files, encode_srgb(light)


def fused_row(files, truth, program):
    """PSNR of our picture and of the rivals' for one stack."""
    found = fused_by_all(files, program, {"laplacian_pixel": 0, "laplacian_window": 2.0, "laplacian_wide": 3.0})
    row = {name: psnr(picture, truth) for name, (picture, _) in found.items()}
    row["laplacian_window"] = max(row["laplacian_window"], row.pop("laplacian_wide"))
    return row


def fused_by_all(files, program, widths):
    """Return picture and CPU seconds of ours and of focus-stack, and the largest Laplacian by window."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "fused.png"
        commands = {
            "relblur": [sys.executable, "-m", "relblur", "fuse", *map(str, files), "-o", str(target), "--force"]
        }
        if program:
            options = [f"--output={target}", "--no-opencl", "--align-keep-size"]
            commands["focus_stack"] = [program, *options, *map(str, files)]
        found = {}
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            found[name] = np.asarray(cv2.imread(str(target))[:, :, ::-1], np.float64) / 255, seconds
    images = [encode_srgb(imread(file)) for file in files]
    for name, width in widths.items():
        found[name] = by_laplacian(images, width), None
    return found


def halo(data, program):
    """RMS errors of fused macro stacks (of 255) by zone."""
    from skimage import data as photographs

    pairs = {"coffee, rocket": (photographs.coffee(), photographs.rocket())}
    for one, two in (("059", "233"), ("030", "146")):
        held = [(255 * imread(data / f"realmff/{name}_gt.png", linear=False)).astype(np.uint8) for name in (one, two)]
        pairs[f"Real-MFF {one}, {two}"] = tuple(held)
    rows = []
    for name, (back, front) in pairs.items():
        with tempfile.TemporaryDirectory() as folder:
            scene = make_scene(Path(folder), back, front)
            found = fused_by_all(scene.files, program, {"laplacian_pixel": 0, "laplacian_window": 2.5})
            images = [encode_srgb(imread(file)) for file in scene.files]
        found["maximum_of_pyramids"] = maximum_of_pyramids(images), None
        for method, (picture, seconds) in found.items():
            error = 255 * (picture - scene.truth)
            row = {"scene": name, "method": method, "cpu_s": seconds}
            rows.append({**row, **{zone: rms(error[mask]) for zone, mask in scene.zones.items()}})
            print(rows[-1], flush=True)
    return rows


def maximum_of_pyramids(images, levels=6):
    """Keep at each place and level of Laplacian pyramids the coefficients of the largest window: most stackers do."""
    pyramids = []
    for image in images:
        rest, parts = image.astype(np.float32), []
        for _ in range(levels):
            down = cv2.pyrDown(rest)
            parts.append(rest - cv2.pyrUp(down, dstsize=rest.shape[1::-1]))
            rest = down
        pyramids.append([*parts, rest])
    picture = np.mean([parts[-1] for parts in pyramids], axis=0)
    for level in range(levels - 1, -1, -1):
        parts = np.stack([each[level] for each in pyramids])
        best = np.stack([cv2.GaussianBlur(np.abs(part).sum(axis=2), (0, 0), 1.5) for part in parts]).argmax(axis=0)
        larger = cv2.pyrUp(picture, dstsize=parts.shape[2:0:-1])
        picture = larger + np.take_along_axis(parts, best[None, :, :, None], axis=0)[0]
    return np.clip(picture, 0, 1)


def by_laplacian(images, width):
    energy = np.stack([laplacian_energy(image.mean(axis=2), width) for image in images])
    return np.take_along_axis(np.stack(images), energy.argmax(axis=0)[None, :, :, None], axis=0)[0]


def memory(_data, _program):
    """Peak memory of a stack of large frames, by their number."""
    rows = []
    for count in FRAMES:
        with tempfile.TemporaryDirectory() as folder:
            size = (round((MEGAPIXELS * 0.78e6) ** 0.5), round((MEGAPIXELS * 1.28e6) ** 0.5))
            code = MEMORY.format(folder=folder, count=count, size=size)
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        seconds, peak = (float(word) for word in done.stdout.split())
        rows.append({"frames": count, "megapixels": MEGAPIXELS, "peak_mb": peak, "wall_s": seconds})
        print(rows[-1], flush=True)
    return rows


MEMORY = """
import numpy as np, cv2, resource, time, relblur
from pathlib import Path
rng = np.random.default_rng(0)
sharp = cv2.GaussianBlur(rng.random({size}, np.float32), (0, 0), 1.0)
sharp = (sharp - sharp.min()) / (sharp.max() - sharp.min())
files = []
for i in range({count}):
    frame = cv2.GaussianBlur(sharp, (0, 0), 0.3 + 4 / {count} * abs(i - {count} / 2))
    files.append(str(Path({folder!r}) / f"{{i:02d}}.jpg"))
    cv2.imwrite(files[-1], cv2.cvtColor((255 * frame).astype(np.uint8), cv2.COLOR_GRAY2BGR))
start = time.perf_counter()
relblur.estimate_stack(files, align="off", exposure="off")
print(time.perf_counter() - start)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def rms(values):
    return float(np.sqrt(np.mean(np.square(values))))


def share(error, stderr):
    return float(np.mean(np.abs(error) <= stderr))


def psnr(image, truth):
    return float(-10 * np.log10(np.mean(np.square(image - truth))))


def z_error(z, truth, there):
    error = np.abs(z - truth)[there]
    return float(np.nanmean(error))


SECTIONS = {"generated": generated, "made": made, "hard": hard, "fused": fused, "halo": halo, "memory": memory}


def main():
    global EVERY, FRAMES, MEGAPIXELS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "data")
    parser.add_argument("--focus-stack", default="", help="the program focus-stack, to be compared with")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--every", type=int, default=1, help="take every so manieth Real-MFF pair")
    parser.add_argument("--frames", type=int, nargs="+", default=FRAMES, help="of the memory's stacks")
    parser.add_argument("--megapixels", type=float, default=MEGAPIXELS, help="of each of them")
    parser.add_argument("--record", action="store_true")
    asked = parser.parse_args()
    EVERY, FRAMES, MEGAPIXELS = asked.every, asked.frames, asked.megapixels
    for name in asked.only:
        rows = SECTIONS[name](asked.data, asked.focus_stack)
        if asked.record:
            kept = json.loads(RESULTS.read_text())["rows"] if RESULTS.exists() else {}
            machine.write("stacks", {**kept, name: {"load": os.getloadavg()[0], "rows": rows}})


if __name__ == "__main__":
    main()
