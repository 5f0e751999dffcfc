"""What is asked of a method, and what it answers: the records between ``estimate_blur`` and its methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base._typing import FloatArray, Int8Array, Progress, UInt8Array
from ..base.settings import Direction, Method, Sharper
from ..filters.kernels import BAND_LIMITED_RADIUS, kernel_radius
from ..kernels import Engine
from .noise import NoiseModel
from .whole_image import Intensities, Lights

if TYPE_CHECKING:
    from .dense.whole import Whole

__all__ = ["Answer", "Request", "part_of", "side_of"]


@dataclass(frozen=True)
class Request:
    """Everything a method needs to know beside the images, checked."""

    method: Method
    sharper: Sharper
    sigmas: FloatArray
    window: int
    engine: Engine
    workers: int = 1
    given_noise: tuple[float, float] | None = None
    noise_may_differ: bool = False  #: it is that of the less noisy image (``"refined"`` looks how much the other has)
    relative_variance: FloatArray | None = None  #: of the noise at each pixel, if it depends on the light
    prefilter: float = 0.0
    overall: tuple[Intensities, Intensities] | None = None  #: of the whole images; None for ``"refined"``
    lights: Lights | None = None  #: of the whole images, and the next, for ``"refined"`` only
    whole: Whole | None = None  #: figures that all tiles share; None for an image that is one tile
    noise_models: tuple[NoiseModel, NoiseModel] | None = None  #: of both images, if noise depends on the light
    direction: Direction = "deviation"  #: how ``"paper"`` tells which image is the sharper
    tolerance: float = 0.0  #: difference of deviations that ``"paper"`` takes for none, grey levels of 255
    everywhere: bool = False  #: deprecated; ``"window"`` keeps values of flat and clipped places
    noise_repeats: bool = False  #: from pixel to pixel: compression made a part of it
    steps: dict[str, FloatArray] | None = None  #: to be filled with what ``"refined"`` makes on its way

    @property
    def noise(self) -> float:
        """The least noise that is assumed; 0 where it is estimated."""
        if self.given_noise is not None:
            return max(self.given_noise)
        return max(whole.rounding for whole in self.overall) if self.overall else 0.0

    @property
    def max_sigma(self) -> float:
        """Largest blur looked for, px."""
        return float(self.sigmas[-1])

    @property
    def reach(self) -> int:
        """How far from a pixel its answer looks, px (``"paper"`` and ``"window"``)."""
        blur = max(kernel_radius(self.max_sigma), BAND_LIMITED_RADIUS) + BAND_LIMITED_RADIUS
        before = max(kernel_radius(self.prefilter), BAND_LIMITED_RADIUS) if self.prefilter else 0
        return blur + before + self.window


@dataclass(frozen=True)
class Answer:
    """What a method found; flags that follow from the input are added later."""

    s: FloatArray
    stderr: FloatArray
    flags: UInt8Array
    sharper: Int8Array
    notes: dict[str, Any] = field(default_factory=dict)


def side_of(s: FloatArray, stderr: FloatArray) -> Int8Array:
    """+1 where first is sharper, -1 where second is, 0 where the sign is within the error."""
    return np.where(np.abs(s) > stderr, np.sign(s), 0).astype(np.int8)


def part_of(progress: Progress, index: int, parts: int) -> Progress:
    """Return where part ``index`` of several may report its own share done, 0 to 1."""
    return lambda share: progress((index + share) / parts)
