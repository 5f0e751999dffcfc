"""Fig. 2: how a lens makes a point a disc (equations 1 to 8), with the paper's two cameras."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ... import optics
from ...plot.diagrams import DPI, add_ellipse
from ...plot.figures import new_figure, write_png
from .claims import CAMERAS, PaperCamera
from .sections import Claim, Picture, Section

__all__ = ["circle_px", "show_lens"]

#: The lens that is drawn, mm: large angles, so that everything can be seen.
FOCAL_LENGTH, APERTURE, FOCUSED, POINT = 50.0, 44.0, 150.0, 230.0


def circle_px(camera: PaperCamera, width_px: int | None = None) -> float:
    """Return C_max of equation 8 in px of an image of some width; with the pitch that the paper gives by default."""
    circle = optics.max_circle_foreground_background_mm(
        camera.focal_length_mm, camera.f_number, camera.foreground_mm, form="far_background"
    )
    pitch = camera.pixel_pitch_um if width_px is None else 1000 * camera.sensor_mm / width_px
    return float(optics.mm_to_px(circle, pitch))


def show_lens(folder: Path) -> Section:
    """Draw Fig. 2 and tell what equation 8 makes of the cameras."""
    write_png(folder / "fig2.png", _figure())
    claims = []
    for camera in CAMERAS:
        claims.append(
            Claim(
                f"C_max of the {camera.name}",
                f"{camera.stated_px:g} px",
                f"{circle_px(camera):.1f} px",
                f"holds for {camera.width_px} px of width",
            )
        )
        claims.append(
            Claim(
                f"... in the image that Table I starts from, {camera.table_width_px} px wide",
                "not stated",
                f"{circle_px(camera, camera.table_width_px):.1f} px",
                "a diameter: a disc's standard deviation along each axis is a quarter of it",
            )
        )
    return Section(
        key="fig2",
        title="Fig. 2: image formation by a thin lens, equations 1 to 8",
        paper_shows="A scene point on the plane in focus and one behind it, the rays of both through the lens, and "
        "the circle of confusion C that the second leaves on the image plane. Equation 8 gives the largest C of two "
        "cameras.",
        finding="Drawn to scale from equations 1 to 4. The paper's 32 and 48 px belong to images four times as wide "
        "as those it measures; it asks for 0.5 to 5 px, which the images of Table I meet after one or two halvings. "
        "Equations 2 and 3 give C the opposite sign of equation 4; here it is positive behind the plane in focus.",
        pictures=(Picture("fig2.png", "Rays of a point in focus (black) and of one behind it (red), to scale"),),
        claims=tuple(claims),
    )


def _figure() -> Any:
    figure = new_figure(8.4, 3.9, DPI)
    axis = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    sensor = float(optics.image_distance_mm(FOCAL_LENGTH, FOCUSED))
    image = float(optics.image_distance_mm(FOCAL_LENGTH, POINT))  # of the point: before the sensor
    half = APERTURE / 2
    radius = half * (sensor - image) / image  # similar triangles, equation 3
    for side in (-1, 1):
        axis.plot([-FOCUSED, 0, sensor], [0, side * half, 0], color="black", linewidth=1.2)
        axis.plot([-POINT, 0, image, sensor], [0, side * half, 0, -side * radius], color="#c02020", linewidth=1.2)
    axis.plot([-POINT - 15, sensor + 25], [0, 0], color="0.6", linewidth=0.7, linestyle="-.")
    axis.plot([sensor, sensor], [-24, 34], color="black", linewidth=2.2)
    axis.plot([-FOCUSED, -FOCUSED], [-26, 26], color="0.5", linewidth=1, linestyle="--")
    add_ellipse(axis, 9, 2 * half + 6, "#cfe4f5", "#4a7da8")
    axis.plot([-FOCUSED], [0], "o", color="black", markersize=5)
    axis.plot([-POINT], [0], "o", color="#c02020", markersize=5)
    axis.plot([FOCAL_LENGTH], [0], "x", color="#2060c0", markersize=6)
    axis.text(FOCAL_LENGTH, -5.5, "f", color="#2060c0", ha="center", fontsize=11)
    axis.plot([sensor + 4, sensor + 4], [-radius, radius], color="#c02020", linewidth=3)
    axis.text(sensor + 7, 0.5, "C", color="#c02020", fontsize=12, va="bottom")
    axis.text(-4, half + 4, "A", fontsize=12, ha="right")
    axis.text(sensor, 37, "image plane", ha="center", fontsize=10)
    axis.text(-FOCUSED, 29, "plane in focus", ha="center", fontsize=10, color="0.3")
    _measure(axis, -FOCUSED, 0, -32, r"$d_f$")
    _measure(axis, -POINT, -FOCUSED, -32, r"$\Delta d_f$", "#c02020")
    _measure(axis, 0, sensor, -40, r"$d_i$")
    _measure(axis, image, sensor, -28, r"$|\Delta d_i|$", "#c02020")
    axis.set_xlim(-POINT - 18, sensor + 28)
    axis.set_ylim(-48, 46)
    axis.axis("off")
    return figure


def _measure(axis: Any, start: float, stop: float, height: float, text: str, colour: str = "black") -> None:
    style = {"arrowstyle": "<->", "color": colour, "linewidth": 0.9}
    axis.annotate("", (start, height), (stop, height), arrowprops=style)
    axis.text((start + stop) / 2, height - 1.5, text, ha="center", va="top", fontsize=11, color=colour)
