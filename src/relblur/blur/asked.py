"""What a user asks of ``estimate_blur`` beside the images, and the request that it becomes once they are known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import __version__
from ..base._typing import ArrayLike, FloatArray, Progress
from ..base.arguments import as_choice, as_noise, as_odd_size, as_positive, as_sigmas
from ..base.errors import InputError
from ..base.inputs import RawPair
from ..base.settings import DIRECTIONS, METHODS, PAPER_SIGMA_STEP, SIDES, Method
from ..engines import ENGINES
from ..engines.threads import count_workers
from ..filters.sharpness import as_tolerance
from .methods import METHOD_TABLE, MethodEntry, engine_for
from .noise import NoiseModel, noise_at_light
from .request import Answer, Request
from .whole_image import Intensities, smoothed_light, survey

__all__ = ["Asked", "GivenNoise", "settings_of", "up_to"]

#: The paper's grid ends below this, px: a list of its steps stays short.
LARGEST_GRID_PX = 1000.0

#: Noise as users state it: of both images, or of each.
GivenNoise = float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel]


@dataclass(frozen=True)
class Asked:
    """The options of ``estimate_blur``; those that can be checked without the images are, when it is made."""

    method: str
    sharper: str
    sigmas: ArrayLike | Sequence[float] | None
    window: int | None
    noise: GivenNoise | None
    prefilter: float
    engine: str
    workers: int | None
    direction: str
    everywhere: bool
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        as_choice(self.method, "method", METHODS)
        as_choice(self.sharper, "sharper", SIDES)
        as_choice(self.engine, "engine", ENGINES)

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

    def check(self) -> None:
        """Refuse options that do not go together."""
        known, method = self.entry, self.method
        if self.prefilter and not known.takes_prefilter:
            others = " or ".join(f'"{name}"' for name, entry in METHOD_TABLE.items() if entry.takes_prefilter)
            raise InputError(f'prefilter is not part of method="{method}"; leave it out or use {others}')
        as_choice(self.direction, "direction", DIRECTIONS)
        if self.direction != "deviation" and self.kind != "paper":
            raise InputError(
                f'direction is part of method="paper" only; method="{method}" goes by the fit: leave it out'
            )
        if as_tolerance(self.tolerance) and (self.kind != "paper" or self.direction != "deviation"):
            raise InputError(
                'tolerance compares 3 x 3 deviations, as method="paper" with direction="deviation" does; leave it out'
            )

    def request(
        self,
        raw: RawPair,
        *,
        given_noise: tuple[float, float] | None,
        relative_variance: FloatArray | None = None,
        overall: tuple[Intensities, Intensities] | None = None,
        steps: dict[str, FloatArray] | None = None,
    ) -> Request:
        """Return the request for a pair, of which only the form counts."""
        known = self.entry
        window = known.window if self.window is None else self.window
        noise = self.noise if isinstance(self.noise, (tuple, list)) else (self.noise,)
        return Request(
            method=self.kind,
            sharper=self.sharper,  # type: ignore[arg-type]
            sigmas=_check_sigmas(self.sigmas, raw.shape, known.sigmas),
            window=as_odd_size(window, "window", raw.shape),
            given_noise=given_noise,
            noise_repeats=any(isinstance(one, NoiseModel) and one.compressed for one in noise),
            noise_may_differ=isinstance(self.noise, NoiseModel),
            relative_variance=relative_variance,
            prefilter=_check_prefilter(self.prefilter, raw.shape),
            engine=engine_for(self.engine, self.kind, window),
            workers=count_workers(self.workers),
            overall=overall,
            direction=self.direction,  # type: ignore[arg-type]
            tolerance=float(self.tolerance),
            everywhere=self.everywhere,
            steps=steps,
        )

    def answer(
        self, raw: RawPair, progress: Progress, steps: dict[str, FloatArray] | None = None
    ) -> tuple[Request, Answer]:
        """Run the method on a pair in memory."""
        self.check()
        models = self.noise_models()
        given, relative = self.plain_noise() if models is None else None, None
        if models is not None:
            given, relative = noise_at_light(models[0], models[1], smoothed_light(raw), raw.usable)
        request = self.request(
            raw,
            given_noise=given,
            relative_variance=relative,
            overall=(survey(raw.first, raw.finite), survey(raw.second, raw.finite)) if self.entry.surveys else None,
            steps=steps,
        )
        return request, self.entry.complete(self.entry.run(raw, request, progress))

    def plain_noise(self) -> tuple[float, float] | None:
        """Return the noise of each image as given in numbers."""
        return None if self.noise is None else as_noise(self.noise)  # type: ignore[arg-type]


def up_to(
    max_sigma: float | None, sigmas: ArrayLike | Sequence[float] | None, method: str
) -> ArrayLike | Sequence[float] | None:
    """Return the blurs to look for, px, by whichever of the two arguments says it."""
    if max_sigma is None:
        return sigmas
    if sigmas is not None:
        raise InputError("max_sigma and sigmas both say how far to look; leave one of them out")
    largest = as_positive(max_sigma, "max_sigma", "px")
    if method != "paper":
        return [largest]
    if not PAPER_SIGMA_STEP <= largest < LARGEST_GRID_PX:
        raise InputError(
            f'max_sigma must be at least {PAPER_SIGMA_STEP} and below {LARGEST_GRID_PX:g} px for method="paper", '
            f"got {largest:g}"
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
