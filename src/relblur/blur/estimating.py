"""Options of ``estimate_blur``: checks, and the request for a pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import __version__
from ..base._typing import FloatArray, Progress
from ..base.arguments import as_choice, as_noise, as_odd_size, as_positive, as_sigmas
from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.options import Estimating
from ..base.settings import PAPER_SIGMA_STEP
from ..kernels import ENGINES, resolve_engine
from ..kernels.threads import count_workers
from .methods import METHOD_TABLE, MethodEntry
from .noise import NoiseModel, noise_at_light
from .request import Answer, Request
from .tiles import run_in_tiles
from .whole_image import smoothed_light

__all__ = [
    "Estimating",
    "NoiseArgument",
    "answer_of",
    "check_estimating",
    "noise_models",
    "plain_noise",
    "request_of",
    "settings_of",
]

#: Upper limit of the paper's grid, px; it limits the number of steps.
LARGEST_GRID_PX = 1000.0

#: Noise of both images, or of each.
NoiseArgument = float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel]


def check_estimating(options: Estimating) -> MethodEntry:
    """Raise an error for invalid or contradictory options; return the entry of the method."""
    as_choice(options.engine, "engine", ENGINES)
    if options.method == "paper" and options.prefilter:
        raise InputError('prefilter is not part of method="paper"; leave it out')
    if options.method != "paper" and options.sigmas is not None:
        raise InputError('sigmas is part of method="paper" only; pass max_sigma')
    _sigmas(options)
    if noise_models(options) is None:
        plain_noise(options)
    return METHOD_TABLE[options.method]


def noise_models(options: Estimating) -> tuple[NoiseModel, NoiseModel] | None:
    """Return a noise model for each image if the option contains a model, else None."""
    noise = options.noise
    both: Sequence[Any] = noise if isinstance(noise, (tuple, list)) else (noise, noise)
    if not any(isinstance(one, NoiseModel) for one in both):
        return None
    if len(both) != 2:
        raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
    one, two = (one if isinstance(one, NoiseModel) else NoiseModel(as_positive(one, "noise")) for one in both)
    return one, two


def plain_noise(options: Estimating) -> tuple[float, float] | None:
    """Return the noise of each image if the option contains numbers; None without the option."""
    return None if options.noise is None else as_noise(options.noise)  # type: ignore[arg-type]


def request_of(options: Estimating, raw: RawPair, given_noise: tuple[float, float] | None) -> Request:
    """Return the request for a pair; only its shape and types are used."""
    entry, half = METHOD_TABLE[options.method], min(raw.shape) / 2
    window = as_odd_size(entry.window if options.window is None else options.window, "window", raw.shape)
    noise = options.noise if isinstance(options.noise, (tuple, list)) else (options.noise,)
    prefilter = 0.0 if options.prefilter == 0 else as_positive(options.prefilter, "prefilter", "px")
    if prefilter > half / 2:
        raise InputError(f"prefilter={prefilter:g} px is too wide for an image of {raw.shape}; 1.5 to 2 is usual")
    return Request(
        method=options.method,  # type: ignore[arg-type]
        sharper=options.sharper,  # type: ignore[arg-type]
        sigmas=_sigmas(options, half),
        window=window,
        given_noise=given_noise,
        noise_repeats=any(isinstance(one, NoiseModel) and one.compressed for one in noise),
        noise_may_differ=isinstance(options.noise, NoiseModel),
        noise_models=noise_models(options),
        prefilter=prefilter,
        engine=resolve_engine(options.engine, entry.has_compiled and window > 1),
        workers=count_workers(options.workers),
    )


def answer_of(
    options: Estimating, raw: RawPair, progress: Progress, steps: dict[str, FloatArray] | None = None
) -> tuple[Request, Answer]:
    """Run the method on a pair in memory; write its intermediate maps to ``steps``."""
    models = noise_models(options)
    given = plain_noise(options) if models is None else None
    if models is not None:
        given, _ = noise_at_light(*models, smoothed_light(raw), raw.usable)
    entry = METHOD_TABLE[options.method]
    request = entry.measure(raw, replace(request_of(options, raw, given), steps=steps))
    return request, entry.complete(run_in_tiles(entry.tiling, raw, request, progress))


def settings_of(request: Request, notes: Mapping[str, Any], further: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a map: method, options, engine, version."""
    return {
        "relblur": __version__,
        "method": request.method,
        "sharper": request.sharper,
        "window": request.window,
        "noise": request.noise,
        "prefilter": request.prefilter,
        "engine": request.engine,
        **notes,
        **further,
    }


def _sigmas(options: Estimating, half: float = math.inf) -> FloatArray:
    """Return the grid of ``"paper"``, or the largest blur of the search, px; both are at most ``half``."""
    if options.sigmas is not None and options.max_sigma is not None:
        raise InputError("max_sigma and sigmas both limit the search; leave one of them out")
    if options.sigmas is None and options.max_sigma is None:
        usual = np.array(METHOD_TABLE[options.method].sigmas)
        fits = usual[usual <= half]
        return fits if fits.size else np.array([half])
    if options.sigmas is not None:
        name, sigmas = "sigmas", as_sigmas(options.sigmas)
    else:
        name, sigmas = "max_sigma", np.array([as_positive(options.max_sigma, "max_sigma", "px")])  # type: ignore[arg-type]
        if options.method == "paper":
            if not PAPER_SIGMA_STEP <= sigmas[0] < LARGEST_GRID_PX:
                raise InputError(
                    f"max_sigma must be at least {PAPER_SIGMA_STEP} and below {LARGEST_GRID_PX:g} px for "
                    f'method="paper", got {sigmas[0]:g}'
                )
            count = math.floor(sigmas[0] / PAPER_SIGMA_STEP + 1e-9)
            sigmas = np.round(PAPER_SIGMA_STEP * np.arange(1, count + 1), 10)
    if sigmas[-1] > half:
        raise InputError(
            f"{name} is {sigmas[-1]:g} px, more than half the image's shorter side; use {half:g} px or less"
        )
    return sigmas
