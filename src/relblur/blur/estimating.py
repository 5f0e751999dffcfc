"""Options of ``estimate_blur``: their checks, and the request that is made of them for a pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import __version__
from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.arguments import as_choice, as_noise, as_odd_size, as_positive, as_sigmas
from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.options import Estimating
from ..base.settings import PAPER_SIGMA_STEP
from ..filters.sharpness import as_tolerance
from ..kernels import ENGINES
from ..kernels.threads import count_workers
from .methods import METHOD_TABLE, MethodEntry, engine_for
from .noise import NoiseModel, noise_at_light
from .request import Answer, Request
from .tiles import run_in_tiles
from .whole_image import smoothed_light

__all__ = [
    "Estimating",
    "GivenNoise",
    "answer_of",
    "check_estimating",
    "noise_models",
    "plain_noise",
    "request_of",
    "settings_of",
]

#: Upper limit of the paper's grid, px: it keeps the list of steps short.
LARGEST_GRID_PX = 1000.0

#: Noise as users give it: of both images, or of each.
GivenNoise = float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel]


def check_estimating(options: Estimating) -> MethodEntry:
    """Refuse options that are wrong for any pair, or that contradict each other; return the entry of the method."""
    entry, method = METHOD_TABLE[options.method], options.method
    as_choice(options.engine, "engine", ENGINES)
    if options.max_sigma is not None and options.sigmas is not None:
        raise InputError("max_sigma and sigmas both limit the search; leave one of them out")
    if options.prefilter and not entry.takes_prefilter:
        others = " or ".join(f'"{name}"' for name, each in METHOD_TABLE.items() if each.takes_prefilter)
        raise InputError(f'prefilter is not part of method="{method}"; leave it out or use {others}')
    if options.direction != "deviation" and method != "paper":
        raise InputError(
            f'direction is part of method="paper" only; method="{method}" takes the better fit: leave it out'
        )
    if as_tolerance(options.tolerance) and (method != "paper" or options.direction != "deviation"):
        raise InputError(
            'tolerance compares 3 x 3 deviations, as method="paper" with direction="deviation" does; leave it out'
        )
    _blurs(options)
    if noise_models(options) is None:
        plain_noise(options)
    return entry


def noise_models(options: Estimating) -> tuple[NoiseModel, NoiseModel] | None:
    """Return a model for each image if the given noise depends on the light, else None."""
    noise = options.noise
    both: Sequence[Any] = noise if isinstance(noise, (tuple, list)) else (noise, noise)
    if not any(isinstance(one, NoiseModel) for one in both):
        return None
    if len(both) != 2:
        raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
    one, two = (one if isinstance(one, NoiseModel) else NoiseModel(as_positive(one, "noise")) for one in both)
    return one, two


def plain_noise(options: Estimating) -> tuple[float, float] | None:
    """Return the noise of each image that was given as numbers; None if it was not given."""
    return None if options.noise is None else as_noise(options.noise)  # type: ignore[arg-type]


def request_of(options: Estimating, raw: RawPair, given_noise: tuple[float, float] | None) -> Request:
    """Return the request for a pair; only its shape and types are used."""
    entry = METHOD_TABLE[options.method]
    window = entry.window if options.window is None else options.window
    noise = options.noise if isinstance(options.noise, (tuple, list)) else (options.noise,)
    return Request(
        method=options.method,  # type: ignore[arg-type]
        sharper=options.sharper,  # type: ignore[arg-type]
        sigmas=_check_sigmas(options, raw.shape, entry.sigmas),
        window=as_odd_size(window, "window", raw.shape),
        given_noise=given_noise,
        noise_repeats=any(isinstance(one, NoiseModel) and one.compressed for one in noise),
        noise_may_differ=isinstance(options.noise, NoiseModel),
        noise_models=noise_models(options),
        prefilter=_check_prefilter(options.prefilter, raw.shape),
        engine=engine_for(options.engine, options.method, window),
        workers=count_workers(options.workers),
        direction=options.direction,  # type: ignore[arg-type]
        tolerance=float(options.tolerance),
        everywhere=options.everywhere,
    )


def answer_of(
    options: Estimating, raw: RawPair, progress: Progress, steps: dict[str, FloatArray] | None = None
) -> tuple[Request, Answer]:
    """Run the method on a pair in memory; write its intermediate maps to ``steps``."""
    models = noise_models(options)
    given = plain_noise(options) if models is None else None
    if models is not None:
        given, _ = noise_at_light(models[0], models[1], smoothed_light(raw), raw.usable)
    entry = METHOD_TABLE[options.method]
    request = entry.measure(raw, replace(request_of(options, raw, given), steps=steps))
    return request, entry.complete(run_in_tiles(entry.tiling, raw, request, progress))


def _blurs(options: Estimating) -> ArrayLike | Sequence[float] | None:
    """Return the requested blurs of the search, px; None for the default of the method."""
    if options.max_sigma is None:
        return options.sigmas
    largest = as_positive(options.max_sigma, "max_sigma", "px")
    if options.method != "paper":
        return [largest]
    if not PAPER_SIGMA_STEP <= largest < LARGEST_GRID_PX:
        raise InputError(
            f"max_sigma must be at least {PAPER_SIGMA_STEP} and below {LARGEST_GRID_PX:g} px for "
            f'method="paper", got {largest:g}'
        )
    return [round(PAPER_SIGMA_STEP * (m + 1), 10) for m in range(math.floor(largest / PAPER_SIGMA_STEP + 1e-9))]


def settings_of(request: Request, notes: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a map: method, options, engine, version."""
    return {
        "relblur": __version__,
        "method": request.method,
        "sharper": request.sharper,
        "window": request.window,
        "noise": request.noise,
        "prefilter": request.prefilter,
        "engine": request.engine.name,
        **notes,
        **further,
    }


def _check_sigmas(options: Estimating, shape: tuple[int, int], usual: tuple[float, ...]) -> FloatArray:
    """Return the grid of blurs, or the largest blur, px, limited to half the shorter side of the image."""
    sigmas = _blurs(options)
    if sigmas is None:
        grid = np.array(usual)
        fits = grid[grid <= min(shape) / 2]
        return fits if fits.size else np.array([min(shape) / 2])
    checked = as_sigmas(sigmas)
    if checked[-1] > min(shape) / 2:
        given = "sigmas go up to" if options.max_sigma is None else "max_sigma is"
        raise InputError(
            f"{given} {checked[-1]:g} px, more than half the image's shorter side ({min(shape)} px); "
            f"keep {'them' if options.max_sigma is None else 'it'} below {min(shape) / 2:g}"
        )
    return checked


def _check_prefilter(prefilter: float, shape: tuple[int, int]) -> float:
    value = 0.0 if prefilter == 0 else as_positive(prefilter, "prefilter", "px")
    if value > min(shape) / 4:
        raise InputError(f"prefilter={value:g} px is too wide for an image of {shape}; 1.5 to 2 is usual")
    return value
