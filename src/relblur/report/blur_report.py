"""The files of ``relblur estimate``: maps, exports, pictures, a summary, the steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.inputs import Pair, as_pair
from ..base.pixels import grey
from ..base.settings import PAPER_WINDOW, paper_sigmas
from ..blur.blur_map import BlurMap, signed_sigma
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import observed_blurrier, resynthesize
from ..blur.noise import rounding_noise
from ..blur.paper.method import estimate_on_grid, filter_bank
from ..blur.window.method import estimate_in_windows, signed_nodes
from ..filters.bank import gaussian_bank
from ..filters.sharpness import local_sharpness
from ..images.disk import write_image
from ..images.map_formats import write_16_bit
from ..kernels import choose_engine
from ..photo.picture_form import FOR_SCREENS
from ..plot.colours import look_of, white_of
from .panels import Panel, colour_map_picture, map_picture, pair_panels, panels_picture, sigma_panel
from .summary import caption, summarise, write_summary

__all__ = ["REPORT_FILES", "STEP_FILES", "write_report", "write_steps"]

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


def write_report(folder: Path, pair: ComparablePair, blur_map: BlurMap) -> dict[str, Any]:
    """Write everything about a map into a fresh folder and return its summary."""
    axis = pair.channel_axis
    with ThreadPoolExecutor(1) as beside:  # arithmetic on one core, files and drawing on the other
        remaking = beside.submit(resynthesize, pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
        heading = caption(pair, blur_map.settings)
        _write_maps(folder, blur_map, heading)
        made = remaking.result()
        writing = beside.submit(write_remade, folder / "remade.png", made, pair)
        error = _grey(np.abs(made - observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)))
        error[~np.isfinite(blur_map.sigma)] = np.nan
        overview = [
            *pair_panels(pair),
            sigma_panel(blur_map),
            Panel("standard error (px)", blur_map.sigma_stderr, "stderr"),
            Panel("flags", blur_map.flags, "flags"),
            Panel("the blurrier image re-made: |error|, of the full scale", error, "error"),
        ]
        panels_picture(folder / "overview.png", overview, heading=heading)
        writing.result()
    summary = summarise(blur_map)
    summary["notes"] = list(pair.notes)
    summary["remade_mean_absolute_error"] = float(np.nanmean(error)) if np.isfinite(error).any() else None
    write_summary(folder, summary)
    return summary


def _grey(error: AnyArray) -> AnyArray:
    return error.mean(axis=2) if error.ndim == 3 else error


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
    axis, heading, look = pair.channel_axis, caption(pair, blur_map.settings), look_of(pair)

    def draw(name: str, panels: list[Panel], columns: int = 3) -> None:
        panels_picture(folder / name, panels, columns=columns, heading=heading)

    draw("1_pair.png", pair_panels(pair), 2)
    _draw_local_steps(draw, as_pair(pair.first, pair.second, valid=pair.valid, channel_axis=axis), steps)
    result = [
        Panel(f"method {blur_map.settings.get('method')!r} (px)", blur_map.sigma, "sigma"),
        Panel("standard error (px)", blur_map.sigma_stderr, "stderr"),
        Panel("flags", blur_map.flags, "flags"),
    ]
    draw("6_result.png", result)
    wanted = observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)
    made = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis)
    remade = [
        Panel("the blurrier image at each pixel", look(wanted)),
        Panel("re-made from the sharper", look(made)),
        Panel("|difference|", _grey(np.abs(made - wanted)), "error"),
    ]
    draw("7_remade.png", remade)


def _draw_local_steps(draw: Callable[..., None], pair: Pair, steps: Mapping[str, FloatArray] | None) -> None:
    """Draw sharpness, the filter bank, the paper's roots, and the stages of the estimator."""
    first, second = grey(pair.first), grey(pair.second)
    noise = max(rounding_noise(pair.first), rounding_noise(pair.second))
    sharp_first, sharp_second = (local_sharpness(image) for image in (first, second))
    limit = float(np.percentile(sharp_first, 99))
    decided = np.sign(sharp_first - sharp_second)
    sharpness = [
        Panel("3x3 standard deviation, first", sharp_first, "grey", limit),
        Panel("3x3 standard deviation, second", sharp_second, "grey", limit),
        Panel("which is the sharper", decided, "side"),
    ]
    draw("2_sharpness.png", sharpness)
    largest = min(first.shape) / 2
    levels = [level for level in (0.5, 1.0, 1.5, 2.0, 3.0, 5.0) if level <= largest]
    bank = zip(levels, gaussian_bank(first, levels), strict=True)
    draw("3_bank.png", [Panel(f"first blurred by {level:g} px", image) for level, image in bank])
    grid = np.array([sigma for sigma in paper_sigmas() if sigma <= largest])
    window = min(PAPER_WINDOW, min(first.shape) - 1 + min(first.shape) % 2)
    draw("4_candidates.png", _candidates((first, second), decided, grid, window, noise), 2)
    if steps:
        inside = [
            Panel("start: the labelling (px)", signed_sigma(steps["start"]), "sigma"),
            Panel("information of each pixel, log10 (1 / px^4)", _logarithm(steps["information"]), "level"),
            Panel("misfit of the best blur (of the pair's contrast)", np.sqrt(steps["misfit"]), "error"),
            Panel("stiffness of the prior, log10", _logarithm(steps["mu"]), "level"),
        ]
    else:
        nodes = signed_nodes(float(grid[-1]))
        fit = estimate_in_windows((pair.first, pair.second), nodes, window, noise, choose_engine())
        inside = [Panel(f"{window}x{window} window, signed (px)", signed_sigma(fit.s), "sigma")]
    draw("5_inside.png", inside, 2)


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


def _logarithm(values: FloatArray) -> FloatArray:
    """Return log10, with what is next to nothing at a thousandth of a thousandth of the largest."""
    return np.asarray(np.log10(np.maximum(values, 1e-6 * max(float(values.max()), 1e-30))))
