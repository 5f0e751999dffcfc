"""Where the paper errs, each slip with the number that shows it, computed when the page is made."""

from __future__ import annotations

import math

import numpy as np

from ...base._typing import FloatArray
from ...blur.paper.framework import Framework
from ...filters.kernels import kernel_radius
from .claims import CAMERAS, PAPER_TABLE
from .lens import circle_px
from .sections import Section, Table

__all__ = ["kaiser_side_lobe_db", "rounding_errors", "show_slips", "slips"]

#: L and beta of equation 25.
HALF_WIDTH, BETA = 8, 10.0


def kaiser_side_lobe_db(half_width: int = HALF_WIDTH, beta: float = BETA) -> float:
    """Return the highest side lobe of a Kaiser window, relative to its main lobe."""
    spectrum = np.abs(np.fft.rfft(np.kaiser(2 * half_width + 1, beta), 1 << 16))
    first_zero = int(np.argmax(np.diff(spectrum) > 0))
    return float(20 * np.log10(spectrum[first_zero:].max() / spectrum[0]))


def rounding_errors() -> FloatArray:
    """Return what rounding to 0.1 px costs a ramp from 1 to 2 px: relative, by the mean, by the largest sigma."""
    truth = np.linspace(1, 2, 100_001)
    error = np.abs(np.round(10 * truth) / 10 - truth)
    return np.array([(error / truth).mean(), error.mean() / truth.mean(), error.mean() / truth.max()])


def _side_tap(sigma: float) -> float:
    """Return the weight of a pixel's neighbour in a sampled Gaussian, relative to its own."""
    return math.exp(-0.5 / sigma**2)


def slips() -> tuple[tuple[str, str, str], ...]:
    """Return (where, what the paper says, what is so)."""
    return (*_in_equations(), *_in_experiments())


def _in_equations() -> tuple[tuple[str, str, str], ...]:
    window = 2 * kernel_radius(5.0) + 1
    gain = float(Framework(normalise=False).F.sum())
    return (
        (
            "equation 24",
            "w = H / R_s^2",
            f"intensities come out {window**2} times too small; each row of W must sum to one",
        ),
        (
            "equations 18 to 22",
            "W has 5000 rows",
            "w does not depend on n, so they are 50 rows, each repeated 100 times: the framework is a bank of 50 "
            "filters",
        ),
        (
            "equation 22",
            "the sum of F is 1",
            f"it is {gain:.5f} with N = 100; left so, the error of Fig. 1 is five times as large (see there)",
        ),
        ("equations 2, 3 and 4", "one C", "2 and 3 together give C the opposite sign of 4"),
        (
            "equation 8",
            "focusing on the background gives the identical result",
            "true of the two approximations, not of the exact form",
        ),
        (
            "equation 14",
            "the tail beyond 5 sigma is exp(-12.5) / 2 = 1.86e-6",
            f"the factor 1/2 is stray: {math.exp(-12.5):.2e}",
        ),
        (
            "equation 25",
            "g(k) as printed",
            "its gain is not 1, and L = 8 suits D = 2 only; both are mended in decimate()",
        ),
        (
            "after equation 25",
            "side lobes of -47.1 dB",
            f"a Kaiser window with L = 8 and beta = 10 has {kaiser_side_lobe_db():.1f} dB",
        ),
    )


def _in_experiments() -> tuple[tuple[str, str, str], ...]:
    relative, by_mean, by_largest = rounding_errors()
    largest = max(max(row.e_b, row.e_f) for row in PAPER_TABLE)
    lytro, canon = CAMERAS
    here = [circle_px(camera, camera.table_width_px) for camera in CAMERAS]
    return (
        (
            "the grid of sigma",
            "starts at 0.1 px",
            f"a sampled Gaussian of 0.2 px is the identity (side tap {_side_tap(0.2):.0e}): no information below 0.3 "
            "px",
        ),
        (
            "Fig. 1",
            "errors of 1.4 to 1.7 % show high precision",
            f"rounding to the grid makes {relative:.2%} (relative), {by_mean:.2%} (by the mean sigma) or "
            f"{by_largest:.2%} (by the largest), whatever the estimator; the paper does not say which it means",
        ),
        ("Fig. 1", "1.47 % in the caption", "1.7 % in the text"),
        (
            "abstract, conclusions",
            "discrepancies stay under 2 %",
            f"Table I has up to {largest:.3f}",
        ),
        ("section 6", "'maximum absolute errors' of (0.021, 0.025)", "they are the means of Table I"),
        (
            "section 6, Fig. 5",
            "BL is where I_F is less sharp than I_B; in Fig. 5 BH and BL enter one block, with I_B as the L-Image",
            "by the shares stated two paragraphs on, and on Fig. 6, it is where I_B is less sharp than I_F: e_B and "
            "e_F change places",
        ),
        ("section 6", "the image has 433 x 635 pixels", "625 x 433, as Table I says"),
        (
            "section 6",
            f"C_max is {lytro.stated_px:g} and {canon.stated_px:g} px",
            f"in images of {lytro.width_px} and {canon.width_px} px of width; in those it measures, of "
            f"{lytro.table_width_px} and {canon.table_width_px} px, it is {here[0]:.1f} and {here[1]:.1f}",
        ),
        (
            "section 3",
            "a relative size of 0.5 to 5 is proposed",
            "of a circle's diameter C: sigma from 0.125 to 1.25 px, of which the lower fifth cannot be seen on pixels, "
            "while its grid of sigma goes to 5 px (C = 20)",
        ),
        (
            "conclusions",
            "errors grow a hundredfold from synthetic to real",
            "neither says how well blur is known: a root taken at a pixel fits it by construction, and not blurring "
            "at all leaves 0.002 to 0.04 on Real-MFF",
        ),
    )


def show_slips() -> Section:
    """Return the slips as the last part of the page."""
    return Section(
        key="slips",
        title="Where the paper errs",
        paper_shows="Equations, figures and numbers as published.",
        finding="None of this touches the idea, which works. But who builds it as printed builds it wrong.",
        tables=(Table("", ("where", "the paper says", "what is so"), slips()),),
    )
