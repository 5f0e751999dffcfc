"""Compare standard errors and flags with the truth, also where the images contain no information.

    python benchmarks/honest.py [--only SECTION ...] [--data DIR] [--figures DIR]

scenes: rendered scenes with true depth, stored as by a camera (JPEG 95), measured with the command's defaults.
walls: a plain wall beside a texture blurred by 2 px, with several kinds of noise: values and flags of the wall.
jpeg: ramps of 1 to 2 px in linear light, noise 0.3 %, 8-bit sRGB, stored as PNG and JPEG.
signs: pairs of two apertures; the image of the wider one is nowhere the sharper, so that sign of s is wrong.
turns: a pair exchanged, mirrored, transposed: changes of the result.

scenes and signs need photographs (--data). --figures draws reliability and sparsification of the scenes.
"""

from __future__ import annotations

import argparse
import io
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import hard_scenes
import machine
from calibration import Sparsification, coverage, draw_reliability, draw_sparsification
from photographs import grey
from relblur import estimate_blur, prepare_pair, synth
from relblur.apps.demo.program import photograph
from relblur.base.tone import SRGB, encode_srgb

Pair = tuple[np.ndarray, np.ndarray]
COLOURED = ("camera", "astronaut", "coffee", "chelsea", "rocket")
SCENE_COLUMNS = (
    "scene",
    "place",
    "answered, unflagged",
    "claim <= 0.25 px: share, mean error",
    "unflagged and wrong",
    "unflagged within 1, 2, 3",
    "all within 1, 2, 3",
    "in reach",
    "of these within 1, 2, 3",
    "roughness",
    "AUSE, AURG",
    "mean error (in reach)",
)
#: Noise on a 0..1 scale, the texture's blur in px, where the wall begins, and what is looked at of either.
NOISES, WALL_BLUR, WALL = (0.002, 0.005, 0.02), 2.0, 160
ON_WALL, ON_TEXTURE = np.s_[20:-20, 200:360], np.s_[:, 20:140]
#: Set: (wider, narrower) aperture in the files' names.
APERTURES = {"dfd_carvalho": ("f2p8.jpg", "f8.jpg"), "dpdd_gif": ("f4.png", "f22.png")}
#: How a pair may be turned, each its own inverse, and the standard errors by which the answer may move.
TURNS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "upside down": lambda image: image[::-1],
    "left on the right": lambda image: image[:, ::-1],
    "transposed": lambda image: image.swapaxes(0, 1),
}
MAY_MOVE = 0.3


def head(*columns: str) -> None:
    print("\n| " + " | ".join(columns) + " |\n|" + "---|" * len(columns))


def line(*cells: str) -> None:
    print("| " + " | ".join(cells) + " |", flush=True)


def percent(shares: Iterable[float]) -> str:
    return ", ".join(f"{100 * share:.0f}" for share in shares) + " %"


def scenes(data: Path, figures: Path | None) -> list[dict[str, Any]]:
    scored = {name: hard_scenes.score(data / "hard" / name) for name in hard_scenes.SCENES}
    rows = [
        {"scene": name, **hard_scenes.row(one, place)} for place in ("off edges", "all") for name, one in scored.items()
    ]
    scenes_table(rows)
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        draw(figures, scored)
    return rows


def scenes_table(rows: list[dict[str, Any]]) -> None:
    head(*SCENE_COLUMNS)
    for r in rows:
        line(
            r["scene"],
            r["place"],
            f"{100 * r['answered']:.0f} %, {100 * r['unflagged']:.0f} %",
            f"{100 * r['claims']:.0f} %, {r['claims_error']:.3f} px",
            f"{100 * r['wrong']:.2f} %",
            percent(r["coverage_unflagged"]),
            percent(r["coverage"]),
            f"{100 * r['in_reach']:.0f} %",
            percent(r["coverage_in_reach"]),
            f"{r['rough']:.3f} px",
            f"{r['ause']:.3f}, {r['aurg']:.3f} px",
            f"{r['error']:.2f} ({r['error_in_reach']:.2f}) px",
        )


def draw(figures: Path, scored: dict[str, hard_scenes.Scored]) -> None:
    unflagged, every, curves = {}, {}, {}
    for name, one in scored.items():
        seen = one.answered("off edges")
        unflagged[name] = one.s_error_in_bars[seen & one.unflagged]
        every[name] = one.s_error_in_bars[seen]
        curves[name] = Sparsification.of(one.error[seen], one.stderr[seen])
    draw_reliability(figures / "reliability.png", {"unflagged": unflagged, "all, filled ones included": every})
    draw_sparsification(figures / "sparsification.png", curves)


def noisy_walls(first: np.ndarray, second: np.ndarray, noise: float) -> Iterator[tuple[str, Pair]]:
    """Yield the pair under each kind of noise."""
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(0)

    def white(times: float = 1.0) -> np.ndarray:
        return rng.normal(0, times * noise, first.shape)

    def soft(width: float) -> np.ndarray:
        return gaussian_filter(white(), width, mode="wrap")

    yield "white, equal", (first + white(), second + white())
    for width in (0.5, 0.7, 1.0):
        yield f"correlated over {width} px", (first + soft(width), second + soft(width))
    for times in (1.1, 1.3, 2.0):
        yield f"second {times} times as noisy", (first + white(), second + white(times))
        yield f"first {times} times as noisy", (first + white(times), second + white())
    gradient = np.linspace(0, 0.1, first.shape[1])
    yield "gain off by 1 % on a gradient", (first + gradient + white(), 1.01 * (second + gradient + white()))
    for quality in (95, 85):
        yield f"JPEG {quality}, as arrays", (as_jpeg(first + white(), quality), as_jpeg(second + white(), quality))
    shared = soft(0.7)
    yield "half shared by both", (first + shared + white(0.7), second + shared + white(0.7))


def as_jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(synth.degrade(image, bits=8)).save(stream, "JPEG", quality=quality)
    return np.asarray(Image.open(stream)) / 255.0


def walls() -> list[dict[str, Any]]:
    first = grey("brick")[:256, :384].copy()
    first[:, WALL:] = 0.5
    second = synth.blur_with_map(first, WALL_BLUR)
    cases = {noise: dict(noisy_walls(first, second, noise)) for noise in NOISES}
    head("noise on the pair", *(f"{noise}: within 2; wall; texture" for noise in NOISES))
    rows = []
    for kind in cases[NOISES[0]]:
        cells = []
        for noise in NOISES:
            found = estimate_blur(*cases[noise][kind])
            sigma, stderr = found.sigma[ON_WALL], found.sigma_stderr[ON_WALL]
            low, high = np.nanpercentile(sigma, (5, 95))
            row = {
                "kind": kind,
                "noise": noise,
                "within_2": float(np.mean(np.abs(sigma - WALL_BLUR) <= 2 * stderr)),
                "sigma_5_95": [float(low), float(high)],
                "median_stderr": float(np.nanmedian(stderr)),
                "texture": float(np.nanmedian(found.sigma[ON_TEXTURE])),
            }
            rows.append(row)
            cells.append(
                f"{100 * row['within_2']:.0f} %; {low:.1f} to {high:.1f} +- {row['median_stderr']:.1f}; "
                f"{row['texture']:.3f}"
            )
        line(kind, *cells)
    return rows


def jpeg() -> list[dict[str, Any]]:
    kinds = {"PNG": None, "JPEG 95": 95, "JPEG 85": 85, "JPEG 75": 75}
    head("photograph", "pixels", *(f"{kind}: mean error, within 1, 2" for kind in kinds))
    rows = []
    for index, name in enumerate(COLOURED):
        light = np.asarray(SRGB.undo(photograph(name)[:512, :512], np.float64))
        truth = synth.ramp(light.shape[:2], 1.0, 2.0)
        rng = np.random.default_rng(index)
        pair = synth.pair(light, truth, channel_axis=-1 if light.ndim == 3 else None)
        stored = [synth.degrade(encode_srgb(synth.degrade(one, noise=0.003, rng=rng)), bits=8) for one in pair]
        of_photograph = [
            {"photograph": name, "kind": kind, **row}
            for kind, quality in kinds.items()
            for row in score_stored(stored, quality, truth)
        ]
        rows += of_photograph
        for pixels in ("all", "unflagged"):
            line(name, pixels, *(jpeg_cell([r]) for r in of_photograph if r["pixels"] == pixels))
    for pixels in ("all", "unflagged"):
        of_kind = [[r for r in rows if (r["kind"], r["pixels"]) == (kind, pixels)] for kind in kinds]
        line("**mean**", pixels, *(f"**{jpeg_cell(of)}**" for of in of_kind))
    return rows


def score_stored(stored: list[np.ndarray], quality: int | None, truth: np.ndarray) -> Iterator[dict[str, Any]]:
    """Yield the errors of a pair of 8-bit images stored at a quality (None: as PNG): all pixels, and unflagged ones."""
    from PIL import Image

    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{side}.{'png' if quality is None else 'jpg'}") for side in ("first", "second")]
        for path, image in zip(paths, stored, strict=True):
            Image.fromarray(image).save(path, **({} if quality is None else {"quality": quality}))
        pair = prepare_pair(*paths)
        found = estimate_blur(pair)
    middles = slice(pair.factor // 2, None, pair.factor)
    ramp = truth[middles, middles][: found.shape[0], : found.shape[1]] / pair.factor
    sigma, stderr, flags = (a[: ramp.shape[0], : ramp.shape[1]] for a in (found.sigma, found.sigma_stderr, found.flags))
    error, known = np.abs(sigma - ramp), np.isfinite(sigma)
    for pixels, where in (("all", known), ("unflagged", known & (flags == 0))):
        yield {
            "pixels": pixels,
            "share": float(where.mean()),
            "error": 100 * float((error / ramp)[where].mean()),
            "within": list(coverage((error / stderr)[where], (1, 2))),
            "decimated_by": pair.factor,
        }


def jpeg_cell(rows: list[dict[str, Any]]) -> str:
    """Return the mean of some rows' figures."""
    within = np.mean([r["within"] for r in rows], axis=0)
    return f"{np.mean([r['error'] for r in rows]):.2f} %; {percent(within)}"


def signs(data: Path) -> list[dict[str, Any]]:
    head("set", "pairs", "wider aperture sharper, unflagged, beyond 3 standard errors: mean", "worst pair", "unflagged")
    rows = []
    for name, (wide, narrow) in APERTURES.items():
        of_set = []
        for path in sorted((data / name).glob(f"*_{wide}")):
            pair = prepare_pair(path.with_name(path.name.replace(wide, narrow)), path)
            found = estimate_blur(replace(pair, sharper="auto"))  # what the files may say of it is not used
            unflagged = found.flags == 0
            impossible = unflagged & (found.variance_difference < -3 * found.variance_stderr)
            shares = {"impossible": float(impossible.mean()), "unflagged": float(unflagged.mean())}
            of_set.append({"set": name, "pair": path.name.partition("_")[0], **shares})
        if not of_set:
            continue
        rows += of_set
        worst = max(of_set, key=lambda r: r["impossible"])
        mean, unflagged = (np.mean([r[key] for r in of_set]) for key in ("impossible", "unflagged"))
        line(name, str(len(of_set)), f"{100 * mean:.2f} %", f"{worst['pair']}: {100 * worst['impossible']:.2f} %",
             f"{100 * unflagged:.0f} %")  # fmt: skip
    return rows


def turns() -> list[dict[str, Any]]:
    head("photograph", "exchanged", *TURNS)
    rows = []
    for index, name in enumerate(COLOURED):
        sharp = grey(name)[:256, :256]
        truth = np.broadcast_to(2 * np.sin(np.arange(sharp.shape[0])[:, None] / 25), sharp.shape)
        rng = np.random.default_rng(index)
        first, second = (synth.degrade(image, noise=0.005, rng=rng) for image in synth.pair(sharp, truth))
        found = estimate_blur(first, second)
        others = {"exchanged": -estimate_blur(second, first).variance_difference}
        for turn, apply in TURNS.items():
            others[turn] = apply(estimate_blur(apply(first), apply(second)).variance_difference)
        allowed = MAY_MOVE * found.variance_stderr
        moved = {t: float(np.mean(np.abs(s - found.variance_difference) > allowed)) for t, s in others.items()}
        rows.append({"photograph": name, **moved})
        line(name, *(f"{100 * share:.2f} %" for share in moved.values()))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = ("scenes", "walls", "jpeg", "signs", "turns")
    parser.add_argument("--only", nargs="+", choices=sections, default=list(sections))
    parser.add_argument("--data", type=Path, default=Path(__file__).parents[1] / "../shared/data")
    parser.add_argument("--figures", type=Path)
    options = parser.parse_args()
    print(machine.describe())
    result: dict[str, Any] = {}
    for section in options.only:
        if section in ("scenes", "signs") and not options.data.is_dir():
            print(f"\n{section}: {options.data} is not there; pass --data DIR")
        elif section == "scenes":
            result[section] = scenes(options.data, options.figures)
        elif section == "signs":
            result[section] = signs(options.data)
        else:
            result[section] = {"walls": walls, "jpeg": jpeg, "turns": turns}[section]()
    print("\nwritten:", machine.write("honest", result))


if __name__ == "__main__":
    main()
