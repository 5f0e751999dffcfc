"""Pictures of several panels, photographs and maps, drawn with Pillow and written whole.

Matplotlib would take longer to load than all of them take to draw; it draws line plots and views in space
(:mod:`relblur.report.plots`).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..blur.blur_map import BlurMap
from ..files.disk import PathLike, replacing
from .colours import Kind, flag_colours, flag_shares, photo, scale_for, tick_labels

__all__ = ["Panel", "colour_map_picture", "panels_picture"]

DPI = 110

#: Inches: a picture's width, and the room beside it for a colour bar, above it for a title, around all.
PANEL_WIDTH = 3.9
BAR_ROOM = 0.74
TITLE_ROOM = 0.34
MARGIN = 0.12

#: Kinds of panels that have no colour bar beside them.
WITHOUT_BAR = ("photo", "flags", "points")

#: Letters, points.
HEADING_SIZE, TITLE_SIZE, LEAST_TITLE_SIZE, TICK_SIZE, LEGEND_SIZE = 12.0, 10.0, 6.0, 8.0, 7.0

#: A photograph enlarged more than this shows its pixels.
MOST_SMOOTHED = 3


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: what is shown, under which title, in which manner.

    ``limit`` fixes the colour scale, so that panels can be compared.
    """

    title: str
    image: AnyArray
    kind: Kind = "photo"
    limit: float | None = None


@dataclass(frozen=True)
class _Place:
    """A rectangle of the sheet, px."""

    left: int
    top: int
    width: int
    height: int

    @property
    def corner(self) -> tuple[int, int]:
        return self.left, self.top

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """The line around it: even a picture one pixel high is seen."""
        return self.left - 1, self.top - 1, self.left + self.width, self.top + self.height

    def holding(self, shape: tuple[int, ...]) -> _Place:
        """Return the largest rectangle in the middle of this one with the proportions of an image."""
        scale = min(self.width / shape[1], self.height / shape[0])
        width, height = max(1, round(scale * shape[1])), max(1, round(scale * shape[0]))
        return _Place(self.left + (self.width - width) // 2, self.top + (self.height - height) // 2, width, height)


def panels_picture(
    path: PathLike, panels: Sequence[Panel], *, columns: int = 3, heading: str = "", panel_width: float = PANEL_WIDTH
) -> None:
    """Write a figure of several panels to a PNG file; ``panel_width`` is a picture's width in inches."""
    from PIL import Image, ImageDraw

    columns = min(columns, len(panels))
    heights = [_row_height(panels[start], panel_width) for start in range(0, len(panels), columns)]
    tops = np.cumsum([0.45 if heading else 0.1, *(height + TITLE_ROOM for height in heights)])
    cell_width = panel_width + (BAR_ROOM if any(panel.kind not in WITHOUT_BAR for panel in panels) else MARGIN)
    size = (_px(columns * cell_width + MARGIN), _px(float(tops[-1]) + MARGIN))
    sheet = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(sheet)
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        corner = _px(MARGIN + column * cell_width), _px(float(tops[row]) + TITLE_ROOM)
        place = _Place(*corner, _px(panel_width), _px(heights[row]))
        # A title may stand over its neighbour's room, but not over its title.
        widest = _px(cell_width) - 6
        if column == 0:
            widest = min(widest, 2 * (place.left + place.width // 2) - 4)
        _write_centred(draw, place.left + place.width // 2, place.top - 8, panel.title, TITLE_SIZE, widest)
        _draw(sheet, draw, place, panel)
    if heading:
        _write_centred(draw, size[0] // 2, _px(0.12 + HEADING_SIZE / 72), heading, HEADING_SIZE, size[0] - 8)
    stream = io.BytesIO()
    sheet.save(stream, "PNG", compress_level=3)
    with replacing(path) as target:
        target.write(stream.getvalue())


def _row_height(panel: Panel, width: float) -> float:
    """Return the height of a row of panels, inches, from the image that it begins with."""
    rows, columns = panel.image.shape[:2]
    return min(max(width * rows / columns, 0.3 * width), 2.0 * width)


def colour_map_picture(path: PathLike, blur_map: BlurMap) -> None:
    """Write sigma in colours with a colour bar, at about the map's resolution."""
    panel_width = min(max(blur_map.shape[1] / DPI, 4.0), 12.0)
    panels_picture(path, [Panel("relative blur (px)", blur_map.sigma, "sigma")], panel_width=panel_width)


def _draw(sheet: Any, draw: Any, place: _Place, panel: Panel) -> None:
    from PIL import Image

    if panel.kind == "points":
        from .plots import view_of_points

        sheet.paste(Image.fromarray(view_of_points(panel.image, place.width, place.height, DPI)), place.corner)
        return
    here = place.holding(panel.image.shape)
    if panel.kind == "photo":
        sheet.paste(_photo_of_size(panel.image, here), here.corner)
    elif panel.kind == "flags":
        sheet.paste(Image.fromarray(flag_colours(_nearest(panel.image, here))), here.corner)
        _draw_legend(draw, here, panel.image)
    else:
        scale = scale_for(panel.image, panel.kind, panel.limit)
        sheet.paste(Image.fromarray(scale.apply(_nearest(panel.image, here))), here.corner)
        bar = _Place(here.left + here.width + _px(0.08), here.top, _px(0.14), here.height)
        along = (255 - np.arange(bar.height) * 256 // bar.height).clip(0, 255)
        colours = np.repeat(scale.colours[along][:, None], bar.width, axis=1)
        sheet.paste(Image.fromarray(colours), bar.corner)
        draw.rectangle(bar.frame, outline="black")
        ticks = tick_labels(scale.low, scale.high, round(bar.height / _px(0.35)))
        if panel.kind == "side":
            ticks = [(-1.0, "second"), (0.0, "neither"), (1.0, "first")]
        for value, text in ticks:
            y = bar.top + round((scale.high - value) / (scale.high - scale.low) * (bar.height - 1))
            draw.line((bar.left + bar.width, y, bar.left + bar.width + 4, y), fill="black")
            draw.text((bar.left + bar.width + 7, y), text, fill="black", font=_font(TICK_SIZE), anchor="lm")
    draw.rectangle(here.frame, outline="black")


def _draw_legend(draw: Any, place: _Place, flags: AnyArray) -> None:
    """Say what the colours of the flags mean, in the lower right corner."""
    font, line, swatch = _font(LEGEND_SIZE), _px(0.16), _px(0.2)
    entries = [(f"{name} {share:.1%}", colour) for name, colour, share in flag_shares(flags)]
    width = swatch + 20 + max(round(font.getlength(text)) for text, _ in entries)
    height = line * len(entries) + 8
    right, bottom = place.left + place.width - 5, place.top + place.height - 5
    left, top = right - width, bottom - height
    draw.rounded_rectangle((left, top, right, bottom), 3, fill="#fdfdfd", outline="#cccccc")
    for index, (text, colour) in enumerate(entries):
        middle = top + 4 + line * index + line // 2
        draw.rectangle((left + 6, middle - 4, left + 6 + swatch, middle + 4), fill=colour, outline="#666666")
        draw.text((left + 12 + swatch, middle), text, fill="black", font=font, anchor="lm")


def _photo_of_size(image: AnyArray, place: _Place) -> Any:
    """Return a photograph in the size in which it will be seen."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    size = (place.width, place.height)
    enlarged = place.width / image.shape[1]
    smoothly = Image.Resampling.LANCZOS if enlarged < 1 else Image.Resampling.BICUBIC
    return picture.resize(size, Image.Resampling.NEAREST if enlarged > MOST_SMOOTHED else smoothly)


def _nearest(values: AnyArray, place: _Place) -> AnyArray:
    """Return those values of a map that will be seen."""
    rows = (np.arange(place.height) + 0.5) * values.shape[0] / place.height
    columns = (np.arange(place.width) + 0.5) * values.shape[1] / place.width
    return np.asarray(values[np.ix_(rows.astype(int), columns.astype(int))])


def _write_centred(draw: Any, middle: int, baseline: int, text: str, points: float, widest: int) -> None:
    """Write a line, in smaller letters if it would be too wide."""
    while points > LEAST_TITLE_SIZE and _font(points).getlength(text) > widest:
        points -= 0.5
    draw.text((middle, baseline), text, fill="black", font=_font(points), anchor="ms")


@lru_cache
def _font(points: float) -> Any:
    from PIL import ImageFont

    size = points * DPI / 72
    # Matplotlib brings a font with the letters of most languages: names of files may need them.
    package = find_spec("matplotlib")
    if package is not None and package.origin is not None:
        with suppress(OSError):
            return ImageFont.truetype(Path(package.origin).with_name("mpl-data") / "fonts/ttf/DejaVuSans.ttf", size)
    return ImageFont.load_default(size)


def _px(inches: float) -> int:
    return round(inches * DPI)
