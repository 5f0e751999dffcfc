"""``Request`` and ``Answer``: the records between ``estimate_blur`` and its methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base._typing import FloatArray, Int8Array, Progress, UInt8Array
from ..base.settings import Method, Sharper
from ..filters.kernels import BAND_LIMITED_RADIUS, kernel_radius
from .noise import NoiseModel
from .whole_image import Intensities, Lights

if TYPE_CHECKING:
    from .dense.whole import Whole

__all__ = ["Answer", "Request", "no_progress", "part_of", "side_of"]


@dataclass(frozen=True)
class Request:
    """Checked options and global statistics: all inputs of a method beside the images."""

    method: Method
    sharper: Sharper
    sigmas: FloatArray
    window: int
    engine: str
    workers: int = 1
    given_noise: tuple[float, float] | None = None
    noise_may_differ: bool = False  #: whether ``given_noise`` is that of the less noisy image only
    noise_repeats: bool = False  #: whether noise is correlated between neighbouring pixels, as after compression
    noise_models: tuple[NoiseModel, NoiseModel] | None = None  #: of both images, if noise depends on the light
    relative_variance: FloatArray | None = None  #: noise variance of each pixel over its mean, if it depends on light
    prefilter: float = 0.0
    overall: tuple[Intensities, Intensities] | None = None  #: statistics of the whole images; None for ``"refined"``
    lights: Lights | None = None  #: ranges of the values without bright lights, for ``"refined"``
    whole: Whole | None = None  #: statistics that all tiles share; None for an image of one tile
    steps: dict[str, FloatArray] | None = None  #: receives the intermediate maps of ``"refined"``

    @property
    def noise(self) -> float:
        """Lower limit of the noise; 0 where it is estimated."""
        if self.given_noise is not None:
            return max(self.given_noise)
        return max(whole.rounding for whole in self.overall) if self.overall else 0.0

    @property
    def max_sigma(self) -> float:
        """Largest blur of the search, px."""
        return float(self.sigmas[-1])

    @property
    def reach(self) -> int:
        """Radius of the pixels that influence an estimate, px (``"paper"`` and ``"window"``)."""
        blur = max(kernel_radius(self.max_sigma), BAND_LIMITED_RADIUS) + BAND_LIMITED_RADIUS
        prefilter = max(kernel_radius(self.prefilter), BAND_LIMITED_RADIUS) if self.prefilter else 0
        return blur + prefilter + self.window


@dataclass(frozen=True)
class Answer:
    """Maps of a method; flags that follow from the input are added later."""

    s: FloatArray
    stderr: FloatArray
    flags: UInt8Array
    sharper: Int8Array
    notes: dict[str, Any] = field(default_factory=dict)


def side_of(s: FloatArray, stderr: FloatArray) -> Int8Array:
    """Return +1 where first is sharper, -1 where second is, 0 where the sign is within the error."""
    return np.where(np.abs(s) > stderr, np.sign(s), 0).astype(np.int8)


def part_of(progress: Progress, index: int, parts: int) -> Progress:
    """Return the progress function of part ``index`` of several."""
    return lambda share: progress((index + share) / parts)


def no_progress(_share: float) -> None:
    """Ignore the progress."""
