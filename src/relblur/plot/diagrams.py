"""Block diagrams: boxes, pictures, curves and arrows at places in inches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..base._typing import AnyArray, FloatArray
from .figures import new_figure

__all__ = ["DPI", "Diagram", "Place", "add_ellipse"]

DPI = 130
#: Size of letters, points.
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
        self.figure = new_figure(width, height, DPI)
        self._sheet = self.figure.add_axes((0, 0, 1, 1))
        self._sheet.set_xlim(0, width)
        self._sheet.set_ylim(0, height)
        self._sheet.axis("off")

    def box(self, place: Place, text: str) -> Place:
        """Draw a box with a text in its middle."""
        from matplotlib.patches import FancyBboxPatch

        corner = place.x - place.width / 2, place.y - place.height / 2
        look: dict[str, Any] = {"facecolor": "#ececec", "edgecolor": "#808080", "linewidth": 1.4}
        style = "round,pad=0,rounding_size=0.09"
        self._sheet.add_patch(FancyBboxPatch(corner, place.width, place.height, style, **look))
        self.text(place.x, place.y, text, FONT + 1)
        return place

    def text(self, x: float, y: float, text: str, size: float = FONT, colour: str = "black") -> None:
        """Write a line in the middle of a point."""
        self._sheet.text(x, y, text, ha="center", va="center", fontsize=size, color=colour)

    def picture(self, place: Place, image: AnyArray, title: str, **how: Any) -> Place:
        """Show an image or a map under its title; ``how`` goes to imshow."""
        axis = self._axis(place, title)
        axis.imshow(image, aspect=how.pop("aspect", "equal"), interpolation="nearest", **how)
        axis.set_xticks([])
        axis.set_yticks([])
        return place

    def curve(self, place: Place, x: FloatArray, y: FloatArray, title: str, x_label: str = "") -> Any:
        """Draw a curve; the axes are returned for more."""
        axis = self._axis(place, title)
        axis.plot(x, y, color="#2060c0", linewidth=1.3)
        axis.tick_params(labelsize=6.5, pad=1.5, length=2)
        axis.set_xlabel(x_label, fontsize=7.5, labelpad=1)
        return axis

    def arrow(self, start: tuple[float, float], stop: tuple[float, float]) -> None:
        """Draw a straight arrow."""
        look = {"arrowstyle": "-|>", "color": "#606060", "linewidth": 1.2, "shrinkA": 2, "shrinkB": 2}
        self._sheet.annotate("", stop, start, arrowprops=look)

    def _axis(self, place: Place, title: str) -> Any:
        """Return axes with a title above them."""
        self.text(place.x, place.y + place.height / 2 + 0.11 + 0.07 * title.count("\n"), title)
        left, bottom = place.x - place.width / 2, place.y - place.height / 2
        sizes = (left / self.width, bottom / self.height, place.width / self.width, place.height / self.height)
        return self.figure.add_axes(sizes)


def add_ellipse(axis: Any, width: float, height: float, facecolor: str, edgecolor: str) -> None:
    """Draw an ellipse around the origin, below everything else."""
    from matplotlib.patches import Ellipse

    look: dict[str, Any] = {"facecolor": facecolor, "edgecolor": edgecolor, "linewidth": 1.2, "zorder": 0}
    axis.add_patch(Ellipse((0, 0), width, height, **look))
