"""Choices of options, and numbers that several packages share."""

from __future__ import annotations

from typing import Final, Literal, get_args

__all__ = ["METHODS", "SIDES", "Align", "Exposure", "Method", "Sharper", "SideOfFocus", "paper_sigmas"]

Method = Literal["paper", "window", "refined"]
Sharper = Literal["auto", "first", "second"]

#: Models of the motion between the images; "off": no registration.
Align = Literal["auto", "translation", "similarity", "affine", "bent", "off"]
#: Models of the exposure gain: one number, or a smooth field for vignetting.
Exposure = Literal["auto", "gain", "field", "off"]
#: Two apertures, one focus: the side of the focal plane on which the scene lies.
SideOfFocus = Literal["behind", "front"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)
SIDES: Final[tuple[Sharper, ...]] = get_args(Sharper)
ALIGN_MODELS: Final[tuple[Align, ...]] = tuple(model for model in get_args(Align) if model != "off")
EXPOSURES: Final[tuple[Exposure, ...]] = get_args(Exposure)
#: Shapes of blur that have a name.
PSF_NAMES: Final = ("gaussian", "disc")
#: Surfaces that a fused picture may show at outlines, where two depths are visible.
PREFERENCES: Final = ("any", "near", "far")

# The paper's dimensions: N = 100 radii up to r_N = 5, M = 50 sigmas 0.1 ... 5, a local image of 51 x 51 pixels.
PAPER_N_RADII: Final = 100
PAPER_RADIUS_LIMIT: Final = 5.0
PAPER_SIGMA_STEP: Final = 0.1
PAPER_N_SIGMAS: Final = 50

#: Radius of kernels, standard deviations (r_N of the paper): the tail beyond is 4e-6.
TRUNCATE: Final = 5.0

#: Default of the largest relative blur of the search, px (sigma_M of the paper).
MAX_SIGMA: Final = 5.0

#: Side of the square window of neighbours, by method, px.
PAPER_WINDOW: Final = 9
WINDOW_WINDOW: Final = 9

#: Side of the window of the paper's sharpness measure, px.
SHARPNESS_SIZE: Final = 3

#: Relative standard error of the blur above which a window counts as flat.
FLAT_ABOVE: Final = 0.5

#: Half-width L (taps) and Kaiser parameter beta of the decimation filter, equation 25.
DECIMATE_HALF_WIDTH: Final = 8
DECIMATE_BETA: Final = 10.0

#: Standard deviation of a uniform disc along one axis over its diameter: kappa of an uncalibrated camera.
DISC_BLUR_CONSTANT: Final = 0.25

#: Blur of both images before the depth from Gaussian blur, px: it makes disc-like blur more Gaussian.
DEPTH_PREFILTER: Final = 1.6

#: Standard error of s assumed for the depth resolution of a camera, px^2: that of a textured 8-bit photograph.
ASSUMED_STDERR_PX2: Final = 0.05

#: Range of the largest circle of confusion for real-time work, diameter in px (end of the paper's section 3).
RECOMMENDED_BLUR_PX: Final = (0.5, 5.0)

#: Viewer: memory of each of its two worker processes, GB; 12 megapixels in colour need 3.
VIEW_MEMORY_GB: Final = 6.0
#: Viewer: time between the closing of its last page and its own end, minutes.
VIEW_EXPIRE_MINUTES: Final = 30.0


def paper_sigmas() -> tuple[float, ...]:
    """Return the paper's grid of standard deviations, 0.1, 0.2, ... 5.0 px."""
    return tuple(round(PAPER_SIGMA_STEP * (m + 1), 10) for m in range(PAPER_N_SIGMAS))
