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
from ...filters.bank import gaussian_bank
from ...plot.colours import photo
from ...plot.diagrams import Diagram, Place
from ...plot.figures import write_png
from .ramps import Ramp
from .sections import Claim, Picture, Section

__all__ = ["show_architecture", "show_evaluation"]

#: Blurs shown for M(sigma) in Fig. 4, px.
SHOWN = (1.0, 2.0, 4.0)


def show_evaluation(folder: Path, ramp: Ramp) -> Section:
    """Draw Fig. 4: from the L-Image through M(sigma) and sigma to the R-Image re-made."""
    found = estimate_blur(ramp.sharp, ramp.blurred, sharper="first", method="paper")
    made = resynthesize(ramp.sharp, ramp.blurred, found)
    write_png(folder / "fig4.png", _evaluation_figure(ramp, found, made))
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
    write_png(folder / "fig5.png", _architecture_figure(pair, found, score, made))
    one, two = f"{score.e_first:.4f}", f"{score.e_second:.4f}"
    return Section(
        key="fig5",
        title="Fig. 5: the errors e_B and e_F",
        paper_shows="I_B and I_F are compared by their 3 x 3 standard deviations. BH and BL enter 'Estimate BL', FH "
        "and FL enter 'Estimate FL'; I_B and I_F serve as the L-Image of BH and of FH. e_B and e_F are the mean "
        "absolute errors of the less sharp subsets.",
        finding=f"The same boxes and arrows, with the contents of {title}. Two readings of the paper differ. By Fig. "
        "5, its caption and the first definition of section 6, BH and BL are the points where I_B is the sharper: I_B "
        "re-makes I_F there, and that error is e_B. By the shares that section 6 states (50 % of the points count in "
        "e_F where I_B is sharper in 50 %) and the text on Fig. 6, BL is where I_B is the less sharp, and I_F re-makes "
        "it. Between the two, e_B and e_F change places. The figure follows the first, Table I here the second.",
        pictures=(Picture("fig5.png", "Fig. 5 with its contents; points outside a set are white"),),
        claims=(
            Claim("e_B / e_F as Fig. 5 has them", "0.021 / 0.025 (Table I)", f"{two} / {one}", "drawn here"),
            Claim("e_B / e_F as section 6 has them", "the same", f"{one} / {two}", "Table I here"),
            Claim(
                "I_B sharper / I_F sharper / neither",
                "50 / 27 / 23 % (Fig. 6)",
                f"{score.first_sharper_fraction:.0%} / {score.second_sharper_fraction:.0%} / "
                f"{score.equal_fraction:.0%}",
                "equal means equal to rounding",
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
    """Draw the paper's boxes and arrows; "Estimate BL" has I_B as its L-Image, as the caption says."""
    diagram = Diagram(10.6, 6.6)
    images = photo(pair.first), photo(pair.second)
    size = (1.75, min(1.75 * pair.shape[0] / pair.shape[1], 1.3))
    how = {"cmap": "gray", "vmin": 0, "vmax": 1}
    detect = diagram.box(Place(5.3, 3.5, 1.2, 1.9), "Detect\nSharper")
    names = "B", "F"
    for side, x in enumerate((4.3, 6.3)):
        top = diagram.picture(Place(x, 5.75, *size), images[side], f"$I_{names[side]}$", **how)
        diagram.arrow(top.edge("bottom"), (detect.x + 0.3 * (2 * side - 1), detect.edge("top")[1]))
    errors = score.e_second, score.e_first
    before = score.unblurred_e_second, score.unblurred_e_first
    for side, name in enumerate(names):
        out = 2 * side - 1  # -1: the left half of the figure
        toward, away = ("left", "right") if side == 0 else ("right", "left")
        here = found.sharper == -out
        estimate = diagram.box(Place(5.3 + 4.45 * out, 3.5, 1.1, 1.9), f"Estimate\n{name}L")
        sharp, blurry = f"{name}H: $I_{name}$", f"{name}L: $I_{names[1 - side]}$, same points"
        for y, image, title in ((4.2, images[side], sharp), (2.6, images[1 - side], blurry)):
            part = diagram.picture(Place(5.3 + 2.25 * out, y, *size), _only(image, here), title, **how)
            diagram.arrow((detect.edge(toward)[0], y), part.edge(away))
            diagram.arrow(part.edge(toward), (estimate.edge(away)[0], y))
        remade = Place(5.3 + 4.3 * out, 1.15, *size)
        diagram.picture(remade, _only(np.clip(made, 0, 1), here), f"$\\widehat{{{name}L}}$", **how)
        minus = diagram.box(Place(part.x, 1.15, 0.36, 0.36), "")
        diagram.text(minus.x + 0.2 * out, 1.45, "+", 11)
        diagram.text(minus.x + 0.3 * out, 1.27, "−", 11)
        diagram.arrow(estimate.edge("bottom"), (estimate.x, remade.edge("top")[1] + 0.22))
        diagram.arrow(remade.edge(away), minus.edge(toward))
        diagram.arrow(part.edge("bottom"), minus.edge("top"))
        diagram.arrow(minus.edge("bottom"), (minus.x, 0.62))
        diagram.text(minus.x - 0.25 * out, 0.5, f"$e_{name}$ = {errors[side]:.4f}", 11, "#c02020")
        diagram.text(minus.x - 0.25 * out, 0.25, f"nothing blurred: {before[side]:.4f}", 8)
    diagram.text(5.3, 1.15, "By section 6 and in Table I\n$e_B$ and $e_F$ change places", 8)
    return diagram.figure


def _only(image: AnyArray, where: AnyArray) -> AnyArray:
    """Return an image with white outside some pixels."""
    return np.where(where[:, :, None] if image.ndim == 3 else where, image, 1.0)
