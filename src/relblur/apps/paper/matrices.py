"""Fig. 3: the framework with every weight, run on one pixel, and beside the filter bank that stands for it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import FloatArray
from ...blur.estimate import estimate_blur
from ...blur.paper.framework import Framework
from ...filters.bank import gaussian_bank
from ...plot.diagrams import Diagram, Place
from ...plot.figures import write_png
from .ramps import Ramp
from .sections import Claim, Picture, Section

__all__ = ["show_framework"]

#: Side of the piece that is estimated by matrices, px: three seconds.
PIECE = 40

#: A pixel to show is looked for this far from the middle of the image, px.
SEARCHED = 80


def show_framework(folder: Path, ramp: Ramp) -> Section:
    """Draw Fig. 3 with the contents of every block at one pixel of an L-Image; compare with the bank."""
    framework = Framework()
    row, column = _telling_pixel(ramp, framework)
    half = framework.window_size // 2
    patch = ramp.sharp[row - half : row + half + 1, column - half : column + half + 1]
    response = framework.respond(patch)
    write_png(folder / "fig3.png", _figure(framework, patch, response, float(ramp.blurred[row, column])))
    bank = gaussian_bank(ramp.sharp, framework.sigmas)[:, row, column]
    printed = Framework(weights="literal", normalise=False).respond(patch)
    at_2_px = int(np.argmin(np.abs(framework.sigmas - 2)))
    gain = float(Framework(normalise=False).F.sum())
    claims = (
        Claim("W", "5000 x 2601", f"{framework.W.shape[0]} x {framework.W.shape[1]}"),
        Claim("F", "100 x 1", f"{framework.F.size} x 1"),
        Claim("local image", "51 x 51", f"{framework.window_size} x {framework.window_size}"),
        Claim(
            "different rows of W",
            "5000",
            str(len(np.unique(framework.W, axis=0))),
            "M rows, each N times: w_mnl does not depend on n, as equation 22 says itself",
        ),
        Claim("sum of F (equation 22)", "1", f"{gain:.5f}", "a Riemann sum with N = 100; normalised here"),
        Claim(
            "M(2 px) by equation 24 as printed",
            "the intensity",
            f"{printed[at_2_px]:.6f} for {response[at_2_px]:.4f}",
            f"too small by {response[at_2_px] / printed[at_2_px]:.0f}, about R_s^2",
        ),
        Claim("two layers against M separable filters", "-", f"{np.abs(response - bank).max():.1e} apart at most"),
        _identity(ramp, framework),
    )
    return Section(
        key="fig3",
        title="Fig. 3: the framework, equations 9 to 24",
        paper_shows="A local image as a vector, multiplied by W, folded to M x N, multiplied by F: the intensities "
        "M(sigma) that its middle would have after each of M blurs.",
        finding="The same blocks with what is in them at one pixel. Normalised, the two layers are a bank of M "
        "Gaussian filters to 4e-6, the share of a Gaussian beyond 5 sigma; that identity makes the method fast. "
        "Where M(sigma) crosses the intensity of the R-Image there is a candidate, and a pixel may have several. The "
        "paper calls the framework fit for real time. As two matrices it takes 3.5e12 multiply-adds an image of Table "
        "I, minutes of a processor. The bank takes a 4800th of them, and Stream, which has 13 filters and parabolas "
        "between them, about a quarter of the bank's.",
        pictures=(Picture("fig3.png", "Every block with its contents at one pixel of the L-Image of Fig. 1"),),
        claims=claims,
    )


def _identity(ramp: Ramp, framework: Framework) -> Claim:
    """Estimate a piece by matrices and by filters."""
    rows, columns = (slice((n - PIECE) // 2, (n - PIECE) // 2 + PIECE) for n in ramp.sharp.shape)
    pair = ramp.sharp[rows, columns], ramp.blurred[rows, columns]
    by_matrices = framework.estimate(*pair, sharper="first").sigma
    by_filters = estimate_blur(*pair, sharper="first", method="paper").sigma
    same = (by_matrices == by_filters) | (np.isnan(by_matrices) & np.isnan(by_filters))
    return Claim(
        f"sigma of {PIECE} x {PIECE} px by W and F, and by filters",
        "-",
        f"the same at {same.mean():.1%} of pixels",
        "Framework.estimate and estimate_blur(method='paper')",
    )


def _telling_pixel(ramp: Ramp, framework: Framework) -> tuple[int, int]:
    """Return the pixel near the middle at which M(sigma) crosses the R-Image's intensity twice most clearly."""
    half = framework.window_size // 2
    middle = [slice(max(0, n // 2 - SEARCHED), n // 2 + SEARCHED) for n in ramp.sharp.shape]
    sharp, blurred = ramp.sharp[tuple(middle)], ramp.blurred[tuple(middle)]
    misfit = gaussian_bank(sharp, framework.sigmas) - blurred
    twice = (misfit[:-1] * misfit[1:] < 0).sum(axis=0) == 2
    clear = np.median(np.abs(misfit), axis=0)
    merit = (clear * np.where(twice, 1.0, 1e-3))[half:-half, half:-half]
    row, column = np.unravel_index(int(merit.argmax()), merit.shape)
    return int(row) + half + middle[0].start, int(column) + half + middle[1].start


def _figure(framework: Framework, patch: FloatArray, response: FloatArray, observed: float) -> Any:
    diagram = Diagram(10.6, 4.3)
    m, n = framework.sigmas.size, framework.n_radii
    circles = (framework.W @ patch.ravel(order="F")).reshape(n, m).T
    grey = {"cmap": "gray", "vmin": 0, "vmax": max(1.0, float(patch.max()))}
    local = diagram.picture(Place(0.95, 2.95, 1.3, 1.3), patch, "L-Image\n$R_s \\times R_s$ = 51 x 51", **grey)
    vector = diagram.picture(
        Place(2.35, 2.95, 0.22, 1.3), patch.ravel(order="F")[:, None], "vec()\n2601 x 1", aspect="auto", **grey
    )
    times = diagram.box(Place(3.35, 2.95, 0.42, 0.42), "×")
    folded = diagram.picture(
        Place(5.05, 2.95, 1.7, 1.0), circles, "ivec()\n$M \\times N$ = 50 x 100", aspect="auto", **grey
    )
    again = diagram.box(Place(6.75, 2.95, 0.42, 0.42), "×")
    # Weights below a thousandth of the largest are dark; the rest would not be seen on a linear scale.
    weights = np.log10(np.maximum(framework.W[: 2 * m], 1e-6))
    matrix = diagram.picture(
        Place(3.35, 0.95, 2.3, 0.95), weights, "W: the first 100 of 5000 rows, log scale", aspect="auto", cmap="viridis"
    )
    second = diagram.curve(Place(6.75, 0.95, 1.35, 0.75), framework.radii, framework.F, "$F(r)$, 100 x 1", "r")
    second.set_ylim(0, None)
    out = Place(9.1, 2.65, 2.35, 1.9)
    axis = diagram.curve(out, framework.sigmas, response, "$\\mathcal{M}(\\sigma)$, 50 x 1", "sigma (px)")
    axis.axhline(observed, color="#c02020", linewidth=1)
    for place, root in enumerate(_crossings(framework.sigmas, response - observed)):
        axis.plot([root], [observed], "o", color="#c02020", markersize=4)
        above = (4, 5 if place % 2 == 0 else -10)  # neighbours do not cover each other
        axis.annotate(f"{root:.2f} px", (root, observed), above, textcoords="offset points", fontsize=7)
    diagram.text(9.1, 1.05, "red: the R-Image's intensity; dots: candidates", 7.5, "#c02020")
    chain = (local, vector, times, folded, again)
    for one, two in pairwise(chain):
        diagram.arrow(one.edge("right"), two.edge("left"))
    diagram.arrow(again.edge("right"), (out.x - out.width / 2 - 0.3, again.y))
    diagram.arrow((3.35, matrix.edge("top")[1] + 0.2), times.edge("bottom"))
    diagram.arrow((6.75, 1.55), again.edge("bottom"))
    return diagram.figure


def _crossings(x: FloatArray, y: FloatArray) -> list[float]:
    places = np.flatnonzero(y[:-1] * y[1:] < 0)
    return [float(x[i] - y[i] * (x[i + 1] - x[i]) / (y[i + 1] - y[i])) for i in places]
