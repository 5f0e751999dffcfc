"""Figs. 4 and 5: how an estimate is judged, drawn with what flows through the blocks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray, FloatArray
from ...blur.blur_map import BlurMap, PairScore
from ...blur.comparable_pair import ComparablePair
from ...blur.estimate import estimate_blur
from ...blur.evaluate import resynthesize
from ...files.disk import replacing
from ...filters.bank import gaussian_bank
from ...report.colours import photo
from .diagrams import Diagram, Place, as_png
from .ramps import Ramp
from .sections import Claim, Picture, Section

__all__ = ["show_architecture", "show_evaluation"]

#: Blurs shown for M(sigma) in Fig. 4, px.
SHOWN = (1.0, 2.0, 4.0)


def show_evaluation(folder: Path, ramp: Ramp) -> Section:
    """Draw Fig. 4: from the L-Image through M(sigma) and sigma to the R-Image re-made."""
    found = estimate_blur(ramp.sharp, ramp.blurred, sharper="first", method="paper")
    made = resynthesize(ramp.sharp, ramp.blurred, found)
    with replacing(folder / "fig4.png") as stream:
        stream.write(as_png(_evaluation_figure(ramp, found, made)))
    left = float(np.abs(made - ramp.blurred).mean())
    before = float(np.abs(ramp.sharp - ramp.blurred).mean())
    return Section(
        key="fig4",
        title="Fig. 4: how an estimate is judged",
        paper_shows="The framework makes M(sigma) of the L-Image; comparison with the R-Image gives sigma at each "
        "pixel; the L-Image convolved with each pixel's own Gaussian is the R-Image estimated, to be compared with "
        "the real one.",
        finding="The same blocks with what flows through them, for the upper pair of Fig. 1. The comparison is "
        "circular: a root taken at a pixel fits that pixel by construction. So Table I here also has an error on "
        "channels that the estimate has not seen.",
        pictures=(Picture("fig4.png", "Fig. 4 with its contents"),),
        claims=(Claim("mean |R - R estimated|", "below 0.0002", f"{left:.6f}", f"without any blur: {before:.4f}"),),
    )


def show_architecture(folder: Path, title: str, pair: ComparablePair, found: BlurMap, score: PairScore) -> Section:
    """Draw Fig. 5 for a pair (I_B, I_F): who is sharper where, what is re-made, and both errors."""
    made = resynthesize(pair.first, pair.second, found, channel_axis=pair.channel_axis)
    with replacing(folder / "fig5.png") as stream:
        stream.write(as_png(_architecture_figure(pair, found, score, made)))
    equal = score.equal_fraction
    return Section(
        key="fig5",
        title="Fig. 5: the errors e_B and e_F",
        paper_shows="I_B and I_F are compared by their 3 x 3 standard deviations. Where I_F is the sharper (FH) it "
        "serves to re-make the less sharp points of I_B (BL), and where I_B is (BH) those of I_F (FL). e_B and e_F "
        "are the mean absolute errors.",
        finding=f"The same on {title}. The text defines BL first as the points where I_F is the less sharp, then as "
        "those where I_B is; the second agrees with the figure and with the shares it states, and is used here.",
        pictures=(Picture("fig5.png", "Fig. 5 with its contents; points outside a set are white"),),
        claims=(
            Claim(
                "points that count in e_F / e_B / neither",
                "50 / 27 / 23 % (Fig. 6)",
                f"{score.first_sharper_fraction:.0%} / {score.second_sharper_fraction:.0%} / {equal:.0%}",
                "equal means equal to rounding; the paper does not say within what",
            ),
        ),
    )


def _evaluation_figure(ramp: Ramp, found: BlurMap, made: FloatArray) -> Any:
    diagram = Diagram(10.6, 4.9)
    grey = {"cmap": "gray", "vmin": 0, "vmax": max(1.0, float(ramp.sharp.max()))}
    size = (1.45, 1.45)
    left = diagram.picture(Place(1.0, 1.35, *size), ramp.sharp, "L-Image", **grey)
    frame = diagram.box(Place(1.0, 3.75, 1.35, 0.55), "Comp. Frame.")
    bank = gaussian_bank(ramp.sharp, SHOWN)
    for place, (sigma, image) in enumerate(zip(SHOWN, bank, strict=True)):
        at = Place(2.85 + 0.85 * place, 3.75, 0.78, 0.78)
        diagram.picture(at, image, f"$\\mathcal{{M}}$({sigma:g} px)", **grey)
    sigma_map = diagram.picture(
        Place(6.65, 3.65, *size), found.sigma, "Estimate sigma (1 to 2 px)", cmap="viridis", vmin=0, vmax=2.0
    )
    right = diagram.picture(Place(9.3, 3.65, *size), ramp.blurred, "R-Image", **grey)
    convolve = diagram.box(Place(6.65, 1.35, 1.2, 0.55), "Convolve")
    remade = diagram.picture(Place(9.3, 1.35, *size), made, "$\\hat{R}$-Image", **grey)
    error = float(np.abs(made - ramp.blurred).mean())
    diagram.text(9.3, 0.35, f"mean |R - $\\hat{{R}}$| = {error:.6f}", 9, "#c02020")
    diagram.arrow((left.x, left.edge("top")[1] + 0.2), frame.edge("bottom"))
    diagram.arrow(frame.edge("right"), (2.42, 3.75))
    diagram.arrow((4.98, 3.75), (sigma_map.edge("left")[0], 3.75))
    diagram.arrow(right.edge("left"), sigma_map.edge("right"))
    diagram.arrow(sigma_map.edge("bottom"), convolve.edge("top"))
    diagram.arrow(left.edge("right"), convolve.edge("left"))
    diagram.arrow(convolve.edge("right"), remade.edge("left"))
    return diagram.figure


def _architecture_figure(pair: ComparablePair, found: BlurMap, score: PairScore, made: AnyArray) -> Any:
    diagram = Diagram(10.6, 6.3)
    first, second, remade = photo(pair.first), photo(pair.second), np.clip(made, 0, 1)
    ratio = pair.shape[0] / pair.shape[1]
    size = (2.0, min(2.0 * ratio, 1.7))
    how = {"cmap": "gray", "vmin": 0, "vmax": 1}
    b_sharper, f_sharper = found.sharper == 1, found.sharper == -1
    top = diagram.picture(Place(4.0, 5.3, *size), first, "$I_B$", **how)
    other = diagram.picture(Place(6.6, 5.3, *size), second, "$I_F$", **how)
    diagram.box(Place(5.3, 3.85, 1.4, 0.6), "Detect\nSharper")
    bl = diagram.picture(Place(3.0, 2.95, *size), _only(first, f_sharper), "BL: $I_B$ where $I_F$ is sharper", **how)
    fl = diagram.picture(Place(7.6, 2.95, *size), _only(second, b_sharper), "FL: $I_F$ where $I_B$ is sharper", **how)
    bl_hat = diagram.picture(Place(1.25, 0.95, *size), _only(remade, f_sharper), "$\\widehat{BL}$, from FH", **how)
    fl_hat = diagram.picture(Place(9.35, 0.95, *size), _only(remade, b_sharper), "$\\widehat{FL}$, from BH", **how)
    minus_b = diagram.box(Place(3.3, 0.95, 0.42, 0.42), "−")
    minus_f = diagram.box(Place(7.3, 0.95, 0.42, 0.42), "−")
    diagram.text(4.35, 0.95, f"$e_B$ = {score.e_first:.4f}", 11, "#c02020")
    diagram.text(6.25, 0.95, f"$e_F$ = {score.e_second:.4f}", 11, "#c02020")
    diagram.text(5.3, 0.4, f"nothing blurred: {score.unblurred_e_first:.4f} and {score.unblurred_e_second:.4f}", 8)
    diagram.arrow(top.edge("bottom"), (5.0, 4.15))
    diagram.arrow(other.edge("bottom"), (5.6, 4.15))
    diagram.arrow((4.6, 3.7), (bl.edge("right")[0], 3.3))
    diagram.arrow((6.0, 3.7), (fl.edge("left")[0], 3.3))
    diagram.arrow((3.3, bl.edge("bottom")[1]), minus_b.edge("top"))
    diagram.arrow((7.3, fl.edge("bottom")[1]), minus_f.edge("top"))
    diagram.arrow(bl_hat.edge("right"), minus_b.edge("left"))
    diagram.arrow(fl_hat.edge("left"), minus_f.edge("right"))
    return diagram.figure


def _only(image: AnyArray, where: AnyArray) -> AnyArray:
    """Return an image with white outside some pixels."""
    return np.where(where[:, :, None] if image.ndim == 3 else where, image, 1.0)
