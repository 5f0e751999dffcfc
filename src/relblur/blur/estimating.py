"""Options of ``estimate_blur``: their defaults and checks, and the request that they become for a pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import __version__
from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.arguments import as_choice, as_noise, as_odd_size, as_positive, as_sigmas
from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.settings import DIRECTIONS, METHODS, PAPER_SIGMA_STEP, SIDES, Method
from ..filters.sharpness import as_tolerance
from ..kernels import ENGINES
from ..kernels.threads import count_workers
from .methods import METHOD_TABLE, MethodEntry, engine_for
from .noise import NoiseModel, noise_at_light
from .request import Answer, Request
from .tiles import run_in_tiles
from .whole_image import smoothed_light

__all__ = ["Estimating", "GivenNoise", "settings_of"]

#: The paper's grid ends below this, px: a list of its steps stays short.
LARGEST_GRID_PX = 1000.0

#: Noise as users state it: of both images, or of each.
GivenNoise = float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel]


@dataclass(frozen=True, kw_only=True)
class Estimating:
    """The options of :func:`relblur.estimate_blur`, which explains them, with its defaults."""

    method: str = "refined"
    sharper: str = "auto"
    sigmas: ArrayLike | Sequence[float] | None = None
    max_sigma: float | None = None
    window: int | None = None
    noise: GivenNoise | None = None
    prefilter: float = 0.0
    engine: str = "auto"
    workers: int | None = None
    direction: str = "deviation"
    everywhere: bool = False
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        """Refuse options that are wrong for any pair, and options that do not go together."""
        as_choice(self.method, "method", METHODS)
        as_choice(self.sharper, "sharper", SIDES)
        as_choice(self.engine, "engine", ENGINES)
        as_choice(self.direction, "direction", DIRECTIONS)
        if self.max_sigma is not None and self.sigmas is not None:
            raise InputError("max_sigma and sigmas both say how far to look; leave one of them out")
        if self.prefilter and not self.entry.takes_prefilter:
            others = " or ".join(f'"{name}"' for name, entry in METHOD_TABLE.items() if entry.takes_prefilter)
            raise InputError(f'prefilter is not part of method="{self.method}"; leave it out or use {others}')
        if self.direction != "deviation" and self.method != "paper":
            raise InputError(
                f'direction is part of method="paper" only; method="{self.method}" goes by the fit: leave it out'
            )
        if as_tolerance(self.tolerance) and (self.method != "paper" or self.direction != "deviation"):
            raise InputError(
                'tolerance compares 3 x 3 deviations, as method="paper" with direction="deviation" does; leave it out'
            )
        self._blurs()
        if self.noise_models() is None:
            self.plain_noise()

    @property
    def kind(self) -> Method:
        """The method, checked."""
        return self.method  # type: ignore[return-value]

    @property
    def entry(self) -> MethodEntry:
        """What is known of the method."""
        return METHOD_TABLE[self.kind]

    def noise_models(self) -> tuple[NoiseModel, NoiseModel] | None:
        """Return a model for each image if the noise given depends on the light; None if it does not."""
        noise = self.noise
        both: Sequence[Any] = noise if isinstance(noise, (tuple, list)) else (noise, noise)
        if not any(isinstance(one, NoiseModel) for one in both):
            return None
        if len(both) != 2:
            raise InputError(f"noise must be one number or two (first, second), got {noise!r}")
        one, two = (one if isinstance(one, NoiseModel) else NoiseModel(as_positive(one, "noise")) for one in both)
        return one, two

    def request(self, raw: RawPair, given_noise: tuple[float, float] | None) -> Request:
        """Return the request for a pair, of which only the form counts."""
        known = self.entry
        window = known.window if self.window is None else self.window
        noise = self.noise if isinstance(self.noise, (tuple, list)) else (self.noise,)
        return Request(
            method=self.kind,
            sharper=self.sharper,  # type: ignore[arg-type]
            sigmas=_check_sigmas(self._blurs(), raw.shape, known.sigmas),
            window=as_odd_size(window, "window", raw.shape),
            given_noise=given_noise,
            noise_repeats=any(isinstance(one, NoiseModel) and one.compressed for one in noise),
            noise_may_differ=isinstance(self.noise, NoiseModel),
            noise_models=self.noise_models(),
            prefilter=_check_prefilter(self.prefilter, raw.shape),
            engine=engine_for(self.engine, self.kind, window),
            workers=count_workers(self.workers),
            direction=self.direction,  # type: ignore[arg-type]
            tolerance=float(self.tolerance),
            everywhere=self.everywhere,
        )

    def answer(
        self, raw: RawPair, progress: Progress, steps: dict[str, FloatArray] | None = None
    ) -> tuple[Request, Answer]:
        """Run the method on a pair in memory."""
        models = self.noise_models()
        given = self.plain_noise() if models is None else None
        if models is not None:
            given, _ = noise_at_light(models[0], models[1], smoothed_light(raw), raw.usable)
        entry = self.entry
        request = entry.measure(raw, replace(self.request(raw, given), steps=steps))
        return request, entry.complete(run_in_tiles(entry.tiling, raw, request, progress))

    def plain_noise(self) -> tuple[float, float] | None:
        """Return the noise of each image as given in numbers."""
        return None if self.noise is None else as_noise(self.noise)  # type: ignore[arg-type]

    def _blurs(self) -> ArrayLike | Sequence[float] | None:
        """Return the blurs to look for, px; None for those of the method."""
        if self.max_sigma is None:
            return self.sigmas
        largest = as_positive(self.max_sigma, "max_sigma", "px")
        if self.method != "paper":
            return [largest]
        if not PAPER_SIGMA_STEP <= largest < LARGEST_GRID_PX:
            raise InputError(
                f"max_sigma must be at least {PAPER_SIGMA_STEP} and below {LARGEST_GRID_PX:g} px for "
                f'method="paper", got {largest:g}'
            )
        return [round(PAPER_SIGMA_STEP * (m + 1), 10) for m in range(math.floor(largest / PAPER_SIGMA_STEP + 1e-9))]


def settings_of(request: Request, notes: Mapping[str, Any], remembered: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a map says of how it was made."""
    return {
        "relblur": __version__,
        "method": request.method,
        "sharper": request.sharper,
        "window": request.window,
        "noise": request.noise,
        "prefilter": request.prefilter,
        "engine": request.engine.name,
        **notes,
        **remembered,
    }


def _check_sigmas(
    sigmas: ArrayLike | Sequence[float] | None, shape: tuple[int, int], usual: tuple[float, ...]
) -> FloatArray:
    if sigmas is None:
        grid = np.array(usual)
        fits = grid[grid <= min(shape) / 2]
        return fits if fits.size else np.array([min(shape) / 2])
    checked = as_sigmas(sigmas)
    if checked[-1] > min(shape) / 2:
        raise InputError(
            f"sigmas go up to {checked[-1]:g} px, more than half the image's shorter side ({min(shape)} px); "
            f"keep them below {min(shape) / 2:g}"
        )
    return checked


def _check_prefilter(prefilter: float, shape: tuple[int, int]) -> float:
    value = 0.0 if prefilter == 0 else as_positive(prefilter, "prefilter", "px")
    if value > min(shape) / 4:
        raise InputError(f"prefilter={value:g} px is too wide for an image of {shape}; 1.5 to 2 is usual")
    return value
