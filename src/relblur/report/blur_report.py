"""What ``relblur estimate`` leaves in a folder: maps, exports, pictures, a summary, the steps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import FloatArray
from ..base.inputs import Pair, as_pair
from ..base.pixels import grey
from ..base.settings import PAPER_WINDOW, paper_sigmas
from ..blur.blur_map import BlurMap, Flag, has_flag, signed_sigma
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import observed_blurrier, resynthesize
from ..blur.noise import rounding_noise
from ..blur.paper.method import estimate_on_grid, filter_bank
from ..blur.window.method import estimate_in_windows, signed_nodes
from ..engines import choose_engine
from ..files.disk import replacing, write_image
from ..files.map_formats import write_16_bit
from ..filters.bank import gaussian_bank
from ..filters.sharpness import local_sharpness
from ..photo.picture_form import FOR_SCREENS
from .captions import caption, photo_titles
from .colours import flag_shares, look_of, white_of
from .panels import SIGMA_TITLE, Panel, colour_map_picture, map_picture, panels_picture

__all__ = ["summarise", "write_report", "write_steps"]

REPORT_FILES = (
    "overview.png",
    "sigma_colour.png",
    "stderr.png",
    "sharper.png",
    "flags.png",
    "remade.png",
    "sigma.png",
    "sigma.tif",
    "blur_map.npz",
    "summary.json",
)


def summarise(blur_map: BlurMap) -> dict[str, Any]:
    """Return the figures a person wants to see first."""
    sigma, stderr = blur_map.sigma, blur_map.sigma_stderr
    known = np.isfinite(sigma)
    height, width = blur_map.shape
    summary: dict[str, Any] = {
        "width": width,
        "height": height,
        "answered_fraction": float(known.mean()),
        "first_sharper_fraction": float((blur_map.sharper == 1).mean()),
        "second_sharper_fraction": float((blur_map.sharper == -1).mean()),
        "neither_sharper_fraction": float((blur_map.sharper == 0).mean()),
        "sigma_px_percentiles": None,
        "median_stderr_px": None,
        "flagged_fraction": {str(flag.name).lower(): float(has_flag(blur_map.flags, flag).mean()) for flag in Flag},
        # Each pixel counts once here, and they add up to 1.
        "flag_shares": {name: share for name, _, share in flag_shares(blur_map.flags)},
        "settings": dict(blur_map.settings),
    }
    if known.any():
        low, middle, high = np.percentile(sigma[known], (5, 50, 95))
        summary["sigma_px_percentiles"] = {"5": float(low), "50": float(middle), "95": float(high)}
        summary["median_stderr_px"] = float(np.median(stderr[known]))
    return summary


def write_report(folder: Path, pair: ComparablePair, blur_map: BlurMap) -> dict[str, Any]:
    """Write everything about a map into a fresh folder and return its summary."""
    axis = pair.channel_axis
    with ThreadPoolExecutor(1) as beside:  # arithmetic on one core, files and drawing on the other
        remaking = beside.submit(resynthesize, pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
        heading = caption(pair, blur_map.settings)
        _write_maps(folder, blur_map, heading)
        made = remaking.result()
        writing = beside.submit(write_remade, folder / "remade.png", made, pair)
        error = np.abs(made - observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis))
        error = error.mean(axis=2) if error.ndim == 3 else error
        error[~np.isfinite(blur_map.sigma)] = np.nan
        titles, look = photo_titles(pair), look_of(pair)
        overview = [
            Panel(titles[0], look(pair.first)),
            Panel(titles[1], look(pair.second)),
            Panel(SIGMA_TITLE, blur_map.sigma, "sigma"),
            Panel("standard error (px)", blur_map.sigma_stderr, "stderr"),
            Panel("flags", blur_map.flags, "flags"),
            Panel("the blurrier image re-made: |error|, of the full scale", error, "error"),
        ]
        panels_picture(folder / "overview.png", overview, heading=heading)
        writing.result()
    summary = summarise(blur_map)
    summary["notes"] = list(pair.notes)
    summary["remade_mean_absolute_error"] = float(np.nanmean(error)) if np.isfinite(error).any() else None
    with replacing(folder / "summary.json") as stream:
        stream.write(json.dumps(summary, indent=2).encode())
    return summary


def write_remade(path: Path, made: FloatArray, pair: ComparablePair) -> None:
    """Write the blurrier image, re-made, for screens, with the profile and the EXIF data of the first photograph."""
    light = np.nan_to_num(made) / white_of(pair.first, pair.second)
    form = FOR_SCREENS if pair.form is None else pair.form.for_screens()
    form.write(path, light, "the blurrier image at each pixel, re-made from the sharper")


def _write_maps(folder: Path, blur_map: BlurMap, heading: str) -> None:
    blur_map.save(folder / "blur_map.npz")
    blur_map.save(folder / "sigma.tif")
    blur_map.save(folder / "sigma.png")
    colour_map_picture(folder / "sigma_colour.png", blur_map, heading)
    meaning = "standard error of sigma in px = offset_px + scale_px * value; 0 = none"
    write_16_bit(folder / "stderr.png", blur_map.sigma_stderr, meaning)
    # Plain pictures for other programs: 255 = first is sharper, 0 = second, 128 = neither.
    write_image(folder / "sharper.png", np.choose(blur_map.sharper + 1, [0, 128, 255]).astype(np.uint8), {})
    map_picture(folder / "flags.png", Panel("flags", blur_map.flags, "flags"), heading)


STEP_FILES = (
    "1_pair.png",
    "2_sharpness.png",
    "3_bank.png",
    "4_candidates.png",
    "5_inside.png",
    "6_result.png",
    "7_remade.png",
)


def write_steps(
    folder: Path, pair: ComparablePair, blur_map: BlurMap, steps: Mapping[str, FloatArray] | None = None
) -> None:
    """Write a picture of every stage between the pair and the map into a fresh folder.

    ``steps`` are those that :func:`relblur.estimate_blur` gave. Without them, as with other methods than
    ``"refined"``, a plain window is shown in their place.
    """
    axis = pair.channel_axis
    titles, heading, look = photo_titles(pair), caption(pair, blur_map.settings), look_of(pair)
    both = [
        Panel(titles[0], look(pair.first)),
        Panel(titles[1], look(pair.second)),
    ]
    panels_picture(folder / "1_pair.png", both, columns=2, heading=heading)
    _write_local_steps(folder, as_pair(pair.first, pair.second, valid=pair.valid, channel_axis=axis), steps, heading)
    panels_picture(
        folder / "6_result.png",
        [
            Panel(f"method {blur_map.settings.get('method')!r} (px)", blur_map.sigma, "sigma"),
            Panel("standard error (px)", blur_map.sigma_stderr, "stderr"),
            Panel("flags", blur_map.flags, "flags"),
        ],
        heading=heading,
    )
    wanted = observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)
    made = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis)
    difference = np.abs(made - wanted)
    panels_picture(
        folder / "7_remade.png",
        [
            Panel("the blurrier image at each pixel", look(wanted)),
            Panel("re-made from the sharper", look(made)),
            Panel("|difference|", difference.mean(axis=2) if difference.ndim == 3 else difference, "error"),
        ],
        heading=heading,
    )


def _write_local_steps(folder: Path, pair: Pair, steps: Mapping[str, FloatArray] | None, heading: str) -> None:
    """Write sharpness, the filter bank, the paper's roots, and what the estimator made on its way."""
    first, second = grey(pair.first), grey(pair.second)
    noise = max(rounding_noise(pair.first), rounding_noise(pair.second))
    sharp_first, sharp_second = (local_sharpness(image) for image in (first, second))
    limit = float(np.percentile(sharp_first, 99))
    decided = np.sign(sharp_first - sharp_second)
    panels_picture(
        folder / "2_sharpness.png",
        [
            Panel("3x3 standard deviation, first", sharp_first, "grey", limit),
            Panel("3x3 standard deviation, second", sharp_second, "grey", limit),
            Panel("which is the sharper", decided, "side"),
        ],
        heading=heading,
    )
    levels = [0.5, 1.0, 1.5, 2.0, 3.0, 5.0]
    levels = [level for level in levels if level <= min(first.shape) / 2]
    bank = gaussian_bank(first, levels)
    panels_picture(
        folder / "3_bank.png",
        [Panel(f"first blurred by {level:g} px", image) for level, image in zip(levels, bank, strict=True)],
        heading=heading,
    )
    grid = np.array([sigma for sigma in paper_sigmas() if sigma <= min(first.shape) / 2])
    window = min(PAPER_WINDOW, min(first.shape) - 1 + min(first.shape) % 2)
    engine = choose_engine()
    candidates = _candidates((first, second), decided, grid, window, noise)
    panels_picture(folder / "4_candidates.png", candidates, columns=2, heading=heading)
    if steps:
        panels_picture(folder / "5_inside.png", _inside(steps), columns=2, heading=heading)
    else:
        fit = estimate_in_windows((pair.first, pair.second), signed_nodes(float(grid[-1])), window, noise, engine)
        local = Panel(f"{window}x{window} window, signed (px)", signed_sigma(fit.s), "sigma")
        panels_picture(folder / "5_inside.png", [local], heading=heading)


def _candidates(
    images: tuple[FloatArray, FloatArray], sharper: FloatArray, grid: FloatArray, window: int, noise: float
) -> list[Panel]:
    """Return how many roots each pixel has from the side of its sharper image, and the one that is kept, signed."""
    engine = choose_engine()
    count, sigma = np.full(sharper.shape, np.nan), np.full(sharper.shape, np.nan)
    for side, both in ((1, images), (-1, images[::-1])):
        here = sharper == side
        roots = estimate_on_grid((both[0], both[1]), filter_bank(grid, engine), window, noise, engine, here)
        count[here], sigma[here] = roots.roots[here], side * roots.sigma[here]
    return [
        Panel("candidate roots, from the sharper image of each pixel", count, "count"),
        Panel("the root that the neighbours support (px)", sigma, "sigma"),
    ]


def _inside(steps: Mapping[str, FloatArray]) -> list[Panel]:
    """Return what the refined estimator made on its way to the map."""
    misfit = np.sqrt(steps["misfit"])
    return [
        Panel("start: the labelling (px)", signed_sigma(steps["start"]), "sigma"),
        Panel("information of each pixel, log10 (1 / px^4)", _logarithm(steps["information"]), "level"),
        Panel("misfit of the best blur (of the pair's contrast)", misfit, "error"),
        Panel("stiffness of the prior, log10", _logarithm(steps["mu"]), "level"),
    ]


def _logarithm(values: FloatArray) -> FloatArray:
    """Return log10, with what is next to nothing at a thousandth of a thousandth of the largest."""
    return np.asarray(np.log10(np.maximum(values, 1e-6 * max(float(values.max()), 1e-30))))
