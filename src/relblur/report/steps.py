"""Pictures of all stages from a pair to its blur map (``--save-steps``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from ..base._typing import FloatArray
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
from ..kernels import choose_engine
from ..plot.colours import look_of
from .panels import Panel, pair_panels, panels_picture, result_panels
from .summary import caption

__all__ = ["STEP_FILES", "write_steps"]

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
    """Write a picture of each stage from the pair to the map into an empty folder.

    ``steps`` contains the intermediate arrays of :func:`relblur.estimate_blur`. Without them, as for other methods than
    ``"refined"``, ``5_inside.png`` shows an estimate in plain windows.
    """
    axis, heading, look = pair.channel_axis, caption(pair, blur_map.settings), look_of(pair)

    def draw(name: str, panels: list[Panel], columns: int = 3) -> None:
        panels_picture(folder / name, panels, columns=columns, heading=heading)

    draw("1_pair.png", pair_panels(pair), 2)
    _draw_local_steps(draw, as_pair(pair.first, pair.second, valid=pair.valid, channel_axis=axis), steps)
    draw("6_result.png", result_panels(blur_map))
    observed = observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis)
    remade = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis)
    difference = np.abs(remade - observed)
    panels = [
        Panel("the blurrier image at each pixel", look(observed)),
        Panel("re-made from the sharper", look(remade)),
        Panel("|difference|", difference.mean(axis=2) if difference.ndim == 3 else difference, "error"),
    ]
    draw("7_remade.png", panels)


def _draw_local_steps(draw: Callable[..., None], pair: Pair, steps: Mapping[str, FloatArray] | None) -> None:
    """Draw local sharpness, the filter bank, the candidate roots, and the stages of the estimator."""
    first, second = grey(pair.first), grey(pair.second)
    noise = max(rounding_noise(pair.first), rounding_noise(pair.second))
    sharp_first, sharp_second = (local_sharpness(image) for image in (first, second))
    limit = float(np.percentile(sharp_first, 99))
    decided = np.sign(sharp_first - sharp_second)
    sharpness = [
        Panel("3x3 standard deviation, first", sharp_first, "grey", limit),
        Panel("3x3 standard deviation, second", sharp_second, "grey", limit),
        Panel("the sharper image", decided, "side"),
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
    """Return two panels: the number of candidate roots, and the chosen root with its sign."""
    engine = choose_engine()
    count, sigma = np.full(sharper.shape, np.nan), np.full(sharper.shape, np.nan)
    for side, both in ((1, images), (-1, images[::-1])):
        here = sharper == side
        roots = estimate_on_grid((both[0], both[1]), filter_bank(grid, engine), window, noise, engine, here)
        count[here], sigma[here] = roots.roots[here], side * roots.sigma[here]
    return [
        Panel("candidate roots, from the sharper image of each pixel", count, "count"),
        Panel("root chosen with the neighbours (px)", sigma, "sigma"),
    ]


def _logarithm(values: FloatArray) -> FloatArray:
    """Return log10 of values clipped to a millionth of the largest."""
    return np.asarray(np.log10(np.maximum(values, 1e-6 * max(float(values.max()), 1e-30))))
