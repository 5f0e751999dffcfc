"""Boxes, pictures, curves and arrows between them: the paper's block diagrams with real contents."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

from ...base._typing import AnyArray, FloatArray

__all__ = ["Diagram", "Place", "as_png", "new_figure"]

DPI = 130
FONT = 9


@dataclass(frozen=True)
class Place:
    """A rectangle in inches: its middle and its size."""

    x: float
    y: float
    width: float
    height: float

    def edge(self, side: str) -> tuple[float, float]:
        """Return the middle of the left, right, top or bottom edge."""
        dx = {"left": -0.5, "right": 0.5}.get(side, 0.0)
        dy = {"bottom": -0.5, "top": 0.5}.get(side, 0.0)
        return self.x + dx * self.width, self.y + dy * self.height


class Diagram:
    """A drawing of some inches; every method that draws something returns its place."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.figure = new_figure(width, height)
        self._sheet = self.figure.add_axes((0, 0, 1, 1))
        self._sheet.set_xlim(0, width)
        self._sheet.set_ylim(0, height)
        self._sheet.axis("off")

    def box(self, place: Place, text: str) -> Place:
        """Draw a block of the paper's diagrams."""
        from matplotlib.patches import FancyBboxPatch

        left, bottom = place.x - place.width / 2, place.y - place.height / 2
        style = "round,pad=0,rounding_size=0.09"
        self._sheet.add_patch(
            FancyBboxPatch(
                (left, bottom),
                place.width,
                place.height,
                style,
                facecolor="#ececec",
                edgecolor="#808080",
                linewidth=1.4,
            )
        )
        self.text(place.x, place.y, text, FONT + 1)
        return place

    def text(self, x: float, y: float, text: str, size: float = FONT, colour: str = "black") -> None:
        """Write a line in the middle of a point."""
        self._sheet.text(x, y, text, ha="center", va="center", fontsize=size, color=colour)

    def picture(self, place: Place, image: AnyArray, title: str, **how: Any) -> Place:
        """Show an image or a map under its title; ``how`` goes to imshow."""
        axis = self._axis(place)
        axis.imshow(image, aspect=how.pop("aspect", "equal"), interpolation="nearest", **how)
        axis.set_xticks([])
        axis.set_yticks([])
        self._title(place, title)
        return place

    def curve(self, place: Place, x: FloatArray, y: FloatArray, title: str, x_label: str = "") -> Any:
        """Draw a curve; the axes are returned for more."""
        axis = self._axis(place)
        axis.plot(x, y, color="#2060c0", linewidth=1.3)
        axis.tick_params(labelsize=6.5, pad=1.5, length=2)
        axis.set_xlabel(x_label, fontsize=7.5, labelpad=1)
        self._title(place, title)
        return axis

    def arrow(self, start: tuple[float, float], stop: tuple[float, float]) -> None:
        """Draw a straight arrow."""
        look = {"arrowstyle": "-|>", "color": "#606060", "linewidth": 1.2, "shrinkA": 2, "shrinkB": 2}
        self._sheet.annotate("", stop, start, arrowprops=look)

    def _axis(self, place: Place) -> Any:
        left, bottom = place.x - place.width / 2, place.y - place.height / 2
        return self.figure.add_axes(
            (left / self.width, bottom / self.height, place.width / self.width, place.height / self.height)
        )

    def _title(self, place: Place, title: str) -> None:
        lines = title.count("\n")
        self.text(place.x, place.y + place.height / 2 + 0.11 + 0.07 * lines, title)


def new_figure(width: float, height: float) -> Any:
    """Return an empty white figure of some inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI, facecolor="white")


def as_png(figure: Any) -> bytes:
    """Return a figure as the bytes of a PNG file."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", pil_kwargs={"compress_level": 4})
    return stream.getvalue()
