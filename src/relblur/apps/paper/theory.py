"""Make Figs. 2 to 4: the lens (equations 1 to 8), the framework (equations 9 to 24), and the evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ... import optics
from ...base._typing import FloatArray
from ...blur.estimate import estimate_blur
from ...blur.evaluate import resynthesize
from ...blur.paper.framework import Framework
from ...filters.bank import gaussian_bank
from ...plot.figures import as_png, new_figure
from ...report.panels import Panel, panels_picture
from .claims import CAMERAS, Claim, PaperCamera, Section
from .ramps import Ramp

__all__ = ["circle_px", "show_evaluation", "show_framework", "show_lens"]

#: Lens of Fig. 2: focal length, aperture, distance in focus, distance of the point, mm. Large angles are legible.
FOCAL_LENGTH, APERTURE, FOCUSED, POINT = 50.0, 44.0, 150.0, 230.0
#: Blurs shown for M(sigma) in Fig. 4, px.
SHOWN = (1.0, 2.0, 4.0)
RED = "#c02020"


def circle_px(camera: PaperCamera, width_px: int | None = None) -> float:
    """Return C_max of equation 8, px, in an image of the given width, or with the pixel pitch stated in the paper."""
    circle = optics.max_circle_foreground_background_mm(
        camera.focal_length_mm, camera.f_number, camera.foreground_mm, form="far_background"
    )
    pitch = camera.pixel_pitch_um if width_px is None else 1000 * camera.sensor_mm / width_px
    return float(optics.mm_to_px(circle, pitch))


def show_lens(folder: Path) -> Section:
    """Draw Fig. 2 and evaluate equation 8 for the cameras."""
    (folder / "fig2.png").write_bytes(as_png(_lens()))
    claims = []
    for camera in CAMERAS:
        stated, ours = f"{camera.stated_px:g} px", f"{circle_px(camera):.1f} px"
        claims.append(Claim(f"C_max of the {camera.name}", stated, ours, f"in an image {camera.width_px} px wide"))
        what = f"... in the largest image of Table I, {camera.table_width_px} px wide"
        remark = "a diameter: the standard deviation of a disc along each axis is a quarter of it"
        claims.append(Claim(what, "not stated", f"{circle_px(camera, camera.table_width_px):.1f} px", remark))
    return Section(
        key="fig2",
        title="Fig. 2: image formation by a thin lens, equations 1 to 8",
        paper_shows="A scene point on the plane in focus and one behind it, the rays of both through the lens, and "
        "the circle of confusion C of the second point on the image plane. Equation 8 gives the largest C of two "
        "cameras.",
        finding="Drawn to scale from equations 1 to 4. The paper's 32 and 48 px belong to images four times as wide "
        "as those it measures. It proposes 0.5 to 5 px, which the images of Table I reach after one or two halvings. "
        "Equations 2 and 3 give C the opposite sign of equation 4. Here C is positive behind the plane in focus.",
        pictures=(("fig2.png", "Rays of a point in focus (black) and of one behind it (red), to scale"),),
        claims=tuple(claims),
    )


def _lens() -> Any:
    figure = new_figure(8.4, 3.9, 130)
    axis = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    sensor = float(optics.image_distance_mm(FOCAL_LENGTH, FOCUSED))
    image = float(optics.image_distance_mm(FOCAL_LENGTH, POINT))  # of the point, in front of the sensor
    half = APERTURE / 2
    radius = half * (sensor - image) / image  # similar triangles, equation 3
    for side in (-half, half):
        axis.plot([-FOCUSED, 0, sensor], [0, side, 0], color="black")
        axis.plot([-POINT, 0, image, sensor], [0, side, 0, -radius * side / half], color=RED)
    axis.plot([-POINT - 15, sensor + 25], [0, 0], color="0.6", linewidth=0.7, linestyle="-.")
    axis.plot([0, 0], [-half - 3, half + 3], color="#4a7da8", linewidth=6, alpha=0.5)
    axis.plot([sensor, sensor], [-24, 34], color="black", linewidth=2.2)
    axis.plot([-FOCUSED, -FOCUSED], [-26, 26], color="0.5", linewidth=1, linestyle="--")
    axis.plot([sensor + 4, sensor + 4], [-radius, radius], color=RED, linewidth=3)
    axis.plot([FOCAL_LENGTH], [0], "x", color="#2060c0")
    for x, y, text, colour in (
        (FOCAL_LENGTH, -7, "f", "#2060c0"),
        (sensor + 11, 1, "C", RED),
        (-7, half + 5, "A", "black"),
        (sensor, 37, "image plane", "black"),
        (-FOCUSED, 29, "plane in focus", "0.3"),
    ):
        axis.text(x, y, text, color=colour, ha="center", fontsize=11)
    for start, stop, height, text, colour in (
        (-FOCUSED, 0, -32, r"$d_f$", "black"),
        (-POINT, -FOCUSED, -32, r"$\Delta d_f$", RED),
        (0, sensor, -40, r"$d_i$", "black"),
        (image, sensor, -28, r"$|\Delta d_i|$", RED),
    ):
        axis.annotate("", (start, height), (stop, height), arrowprops={"arrowstyle": "<->", "color": colour})
        axis.text((start + stop) / 2, height - 1.5, text, ha="center", va="top", fontsize=11, color=colour)
    axis.set(xlim=(-POINT - 18, sensor + 28), ylim=(-48, 46))
    axis.axis("off")
    return figure


def show_framework(folder: Path, ramp: Ramp) -> Section:
    """Draw Fig. 3 with the content of every block at the central pixel of an L-Image; compare it with the bank."""
    framework = Framework()
    half = framework.window_size // 2
    row, column = (n // 2 for n in ramp.sharp.shape)
    patch = ramp.sharp[row - half : row + half + 1, column - half : column + half + 1]
    response = framework.respond(patch)
    (folder / "fig3.png").write_bytes(as_png(_blocks(framework, patch, response, float(ramp.blurred[row, column]))))
    bank = gaussian_bank(ramp.sharp, framework.sigmas)[:, row, column]
    printed = Framework(weights="literal", normalise=False)
    at_2_px = int(np.argmin(np.abs(framework.sigmas - 2)))
    literal, right = printed.respond(patch)[at_2_px], response[at_2_px]
    claims = (
        Claim("W", "5000 x 2601", f"{framework.W.shape[0]} x {framework.W.shape[1]}"),
        Claim("F", "100 x 1", f"{framework.F.size} x 1"),
        Claim("local image", "51 x 51", f"{framework.window_size} x {framework.window_size}"),
        Claim(
            "different rows of W",
            "5000",
            str(len(np.unique(framework.W, axis=0))),
            "M rows, each N times: w_mnl does not depend on n, as equation 22 shows",
        ),
        Claim("sum of F (equation 22)", "1", f"{printed.F.sum():.5f}", "a Riemann sum with N = 100; normalised here"),
        Claim(
            "M(2 px) by equation 24 as printed",
            "the intensity",
            f"{literal:.6f} for {right:.4f}",
            f"too small by {right / literal:.0f}, about R_s^2",
        ),
        Claim("two layers against M separable filters", "-", f"{np.abs(response - bank).max():.1e} apart at most"),
    )
    return Section(
        key="fig3",
        title="Fig. 3: the framework, equations 9 to 24",
        paper_shows="A local image as a vector, multiplied by W, folded to M x N, multiplied by F: the intensities "
        "M(sigma) that its middle would have after each of M blurs.",
        finding="The contents of the blocks at the central pixel. Normalised, the two layers are a bank of M separable "
        "filters, which is fast enough for real time. As two matrices the framework takes 3.5e12 multiply-adds for an "
        "image of Table I, minutes of processor time. The bank takes 1/4800 of them. Stream uses 13 filters with "
        "parabolas between them and takes about a quarter of the bank's.",
        pictures=(("fig3.png", "The contents of every block at the central pixel of the L-Image of Fig. 1"),),
        claims=claims,
    )


def _blocks(framework: Framework, patch: FloatArray, response: FloatArray, observed: float) -> Any:
    """Draw the blocks in the order of the computation: local image, W, their product, F, M(sigma)."""
    m, n = framework.sigmas.size, framework.n_radii
    # Weights below a thousandth of the largest would be invisible on a linear scale.
    weights = np.log10(np.maximum(framework.W[: 2 * m], 1e-6))
    figure = new_figure(13.0, 2.9, 110, layout="constrained")
    axes = figure.subplots(1, 5, width_ratios=(1, 1.3, 1.3, 1.1, 1.6))
    grey = {"cmap": "gray", "vmin": 0, "vmax": max(1.0, float(patch.max()))}
    axes[0].imshow(patch, **grey)
    axes[1].imshow(weights, aspect="auto", cmap="viridis", interpolation="nearest")
    axes[2].imshow((framework.W @ patch.ravel(order="F")).reshape(n, m).T, aspect="auto", **grey)
    axes[3].plot(framework.radii, framework.F)
    axes[4].plot(framework.sigmas, response)
    axes[4].axhline(observed, color=RED, linewidth=1)
    titles = (
        "local image of L\n51 x 51",
        "W: 100 of 5000 rows, log10\n5000 x 2601",
        "ivec(W vec(L))\nM x N = 50 x 100",
        "F(r)\n100 x 1",
        "M(σ), 50 x 1; σ in px\nred: intensity of the R-Image",
    )
    for axis, title in zip(axes, titles, strict=True):
        axis.set_title(title, fontsize=9)
        axis.tick_params(labelsize=7)
    return figure


def show_evaluation(folder: Path, ramp: Ramp) -> Section:
    """Draw Fig. 4: from the L-Image through M(sigma) and sigma to the R-Image re-made."""
    blur_map = estimate_blur(ramp.sharp, ramp.blurred, sharper="first", method="paper")
    made = resynthesize(ramp.sharp, ramp.blurred, blur_map)
    error = np.abs(made - ramp.blurred)
    panels = [
        Panel("L-Image", ramp.sharp),
        *(Panel(f"M({s:g} px)", each) for s, each in zip(SHOWN, gaussian_bank(ramp.sharp, SHOWN), strict=True)),
        Panel("R-Image", ramp.blurred),
        Panel("R-Image re-made: L-Image * sigma", made),
        Panel("sigma estimated (px)", blur_map.sigma, "blur", 2.0),
        Panel(f"|R - R re-made|, mean {error.mean():.6f}", error, "error"),
    ]
    panels_picture(folder / "fig4.png", panels, columns=4, panel_width=2.6)
    unblurred = float(np.abs(ramp.sharp - ramp.blurred).mean())
    return Section(
        key="fig4",
        title="Fig. 4: evaluation of an estimate",
        paper_shows="The framework makes M(sigma) of the L-Image; comparison with the R-Image gives sigma at each "
        "pixel; the L-Image convolved with each pixel's own Gaussian is the R-Image estimated, to be compared with "
        "the real one.",
        finding="The images between these blocks, for the upper pair of Fig. 1. The comparison is circular: a root "
        "taken at a pixel fits that pixel by construction. Table I here therefore also has the error in channels that "
        "the estimate does not use.",
        pictures=(("fig4.png", "From the L-Image to the R-Image re-made"),),
        claims=(Claim("mean |R - R estimated|", "below 0.0002", f"{error.mean():.6f}", f"unblurred: {unblurred:.4f}"),),
    )
