"""Pictures of several panels (photographs and maps), drawn with Pillow.

Every map has a legend beside it: a colour bar with the colour of "no answer", or a list of flags. Filled pixels are
faded by their standard error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.shown import percentages, visible
from ..blur.comparable_pair import ComparablePair
from ..blur.result import MapResult
from ..images.disk import PathLike, write_image
from ..plot.colours import (
    NO_ANSWER,
    ColourScale,
    Kind,
    MapView,
    flag_colours,
    flag_shares,
    look_of,
    photo,
    rgb,
    scale_for,
)
from .summary import photo_titles

__all__ = ["Panel", "contact_sheet", "map_picture", "pair_panels", "panels_picture", "result_panels"]

#: Pixels per inch of pictures with a given panel width.
DPI = 110
#: Smallest and largest width (px) of a panel whose data determine its width. Text grows with it.
LEAST_PX, MOST_PX = 430, 840

#: Lengths in px at the smallest width: title, line of a heading, margin, room beside maps and photographs.
TITLE, HEADING, MARGIN, ROOMS, NO_ROOM = 28, 26, 14, {"flags": 118, "photo": 18}, 106
#: Font sizes in px at the smallest width: heading, title, legend.
HEADING_SIZE, TITLE_SIZE, LEGEND_SIZE = 18.0, 15.0, 12.5

#: Maximum height of a panel, and minimum height of its area, as multiples of its width.
HIGHEST, LOWEST = 2.0, 0.3
#: Maximum enlargement of a photograph with interpolation; above it, pixels are shown as squares.
MOST_SMOOTHED = 3

#: Contact sheet: longest side of a map (px), number of maps on the sheet and in a row, width of a map (inches).
SHEET_PX, SHEET_MAPS, SHEET_COLUMNS, SHEET_WIDTH = 320, 120, 5, 2.4


@dataclass(frozen=True)
class Panel:
    """One photograph or map of a figure, with its title and colour scale.

    ``limit`` sets the end of the colour scale, ``scale`` the whole scale, which makes panels comparable. ``opacity``
    fades pixels towards the grey of "no answer".
    """

    title: str
    image: AnyArray
    kind: Kind = "photo"
    limit: float | None = None
    scale: ColourScale | None = None
    opacity: AnyArray | None = None


def pair_panels(pair: ComparablePair) -> list[Panel]:
    """Return both photographs of a pair as panels."""
    look, images = look_of(pair), (pair.first, pair.second)
    return [Panel(title, look(image)) for title, image in zip(photo_titles(pair), images, strict=True)]


def result_panels(result: MapResult) -> list[Panel]:
    """Return a map, its standard error and its flags as panels."""
    view = MapView.of(result)
    stderr = Panel(f"standard error ({view.unit})", view.stderr, "stderr")
    return [_panel_of(view, view.label), stderr, Panel("flags", view.flags, "flags")]


def _panel_of(view: MapView, title: str) -> Panel:
    return Panel(title, view.values, view.kind, scale=view.scale, opacity=view.opacity)


def map_picture(path: PathLike, panel: Panel, heading: str = "") -> None:
    """Write one map with its legend, at about the resolution of the map."""
    panels_picture(path, [panel], heading=heading, panel_width=min(max(panel.image.shape[1] / DPI, 5.0), 12.0))


def contact_sheet(path: Path, maps: Iterable[tuple[str, MapResult]], heading: str) -> None:
    """Write a contact sheet of the first 120 (name, map), with a common colour scale."""
    views = [(name, MapView.of(result).thinned(SHEET_PX)) for name, result in islice(maps, SHEET_MAPS)]
    scale = scale_for(np.concatenate([view.values.ravel() for _, view in views]), views[0][1].kind)
    panels = [_panel_of(replace(view, scale=scale), name) for name, view in views]
    panels_picture(path, panels, columns=SHEET_COLUMNS, heading=heading, panel_width=SHEET_WIDTH)


def panels_picture(
    path: PathLike, panels: Sequence[Panel], *, columns: int = 3, heading: str = "", panel_width: float | None = None
) -> None:
    """Write a figure of several panels to a PNG file.

    ``panel_width`` is the width of a panel in inches of 110 px. The default is the width of the data in the first
    panel, within 430 to 840 px. The heading may have several lines.
    """
    from PIL import Image

    columns = min(columns, len(panels))
    width = round(DPI * panel_width) if panel_width else min(max(panels[0].image.shape[1], LEAST_PX), MOST_PX)
    unit = 1.0 if panel_width else width / LEAST_PX
    tiles = [_Tile(panel, width, unit).picture for panel in panels]
    rows = [tiles[start : start + columns] for start in range(0, len(tiles), columns)]
    widths = [max(tile.width for tile in tiles[column::columns]) for column in range(columns)]
    heights = [max(tile.height for tile in row) for row in rows]
    lines, margin, line = heading.splitlines(), round(MARGIN * unit), round(HEADING * unit)
    top = margin + line * len(lines)
    sheet = Image.new("RGB", (sum(widths) + 2 * margin, top + sum(heights) + margin), "white")
    for number, text in enumerate(lines):
        size = unit * (TITLE_SIZE if number else HEADING_SIZE)
        _write(sheet, (margin, margin + line * number), text, size, sheet.width - 2 * margin)
    for row, height in zip(rows, heights, strict=True):
        for column, tile in enumerate(row):
            sheet.paste(tile, (margin + sum(widths[:column]), top))
        top += height
    write_image(path, np.asarray(sheet), {})


class _Tile:
    """A panel with its title above and its legend beside it; lengths are multiplied by ``unit``."""

    def __init__(self, panel: Panel, width: int, unit: float) -> None:
        from PIL import Image, ImageDraw

        self.panel, self.unit = panel, unit
        scale = min(width / panel.image.shape[1], HIGHEST * width / panel.image.shape[0])
        self.height, self.width = (max(1, round(scale * side)) for side in panel.image.shape[:2])
        self.top, self.right = self.px(TITLE), self.width + 1
        size = width + self.px(ROOMS.get(panel.kind, NO_ROOM)), max(self.height, round(LOWEST * width))
        self.picture = Image.new("RGB", (size[0], self.top + size[1] + self.px(MARGIN)), "white")
        self.draw = ImageDraw.Draw(self.picture)
        _write(self.picture, (1, self.px(6)), panel.title, unit * TITLE_SIZE, size[0] - self.px(8))
        if panel.kind == "photo":
            shown = _resized(panel.image, self.width, self.height)
        elif panel.kind == "flags":
            shown = flag_colours(self.nearest(panel.image))
            self.draw_flags()
        else:
            colours = panel.scale or scale_for(panel.image, panel.kind, panel.limit)
            shown = colours.apply(self.nearest(panel.image), self.nearest(panel.opacity))
            self.draw_bar(colours)
        self.picture.paste(Image.fromarray(shown), (1, self.top))
        self.draw.rectangle((0, self.top - 1, self.right, self.top + self.height), outline="black")

    def px(self, length: float) -> int:
        return round(length * self.unit)

    def nearest(self, values: AnyArray | None) -> Any:
        """Return a map at the size of the picture, by nearest neighbours."""
        if values is None:
            return None
        rows = (np.arange(self.height) + 0.5) * values.shape[0] / self.height
        columns = (np.arange(self.width) + 0.5) * values.shape[1] / self.width
        return values[np.ix_(rows.astype(int), columns.astype(int))]

    def draw_bar(self, scale: ColourScale) -> None:
        """Draw the colour bar with ticks, and below it the colours of "no answer" and of filled pixels."""
        from PIL import Image

        panel, left, line = self.panel, self.right + self.px(8), self.px(22)
        greys = [("no answer", rgb(NO_ANSWER))] if np.isnan(panel.image).any() else []
        if panel.opacity is not None:
            faded = (scale.colours[192].astype(int) + rgb(NO_ANSWER)) // 2
            greys.append(("faded: filled", tuple(faded.tolist())))
        width, height = self.px(15), max(self.height, self.px(90)) - line * len(greys) - self.px(12)
        top, right = self.top + self.px(6), left + width + self.px(7)
        along = scale.colours[255 - np.arange(height) * 256 // height]
        self.picture.paste(Image.fromarray(np.repeat(along[:, None], width, axis=1)), (left, top))
        self.draw.rectangle((left - 1, top - 1, left + width, top + height), outline="black")
        for value, text in scale.ticks(round(height / self.px(38))):
            y = top + round((1 - float(scale.place(np.asarray(value)))) * (height - 1))
            self.draw.line((left + width, y, left + width + self.px(4), y), fill="black")
            self.write(right, y, text)
        for number, (text, colour) in enumerate(greys):
            self.draw_entry(left, top + height + self.px(6) + line * number, text, colour)

    def draw_flags(self) -> None:
        """Draw colours, names and shares of the flags beside the map."""
        entries = flag_shares(self.panel.image)
        shares = percentages([share for _, _, share in entries])
        for number, ((name, colour, _), share) in enumerate(zip(entries, shares, strict=True)):
            y = self.top + self.px(40) * number
            self.draw_entry(self.right + self.px(8), y, name, rgb(colour))
            self.write(self.right + self.px(30), y + self.px(24), share)

    def draw_entry(self, left: int, top: int, text: str, colour: tuple[int, ...]) -> None:
        box = (left, top + self.px(3), left + self.px(15), top + self.px(14))
        self.draw.rectangle(box, fill=colour, outline="#666666")
        self.write(left + self.px(22), top + self.px(9), text)

    def write(self, left: int, middle: int, text: str) -> None:
        self.draw.text((left, middle), text, fill="black", font=_font(LEGEND_SIZE * self.unit), anchor="lm")


def _write(picture: Any, corner: tuple[int, int], text: str, size: float, widest: int) -> None:
    """Write a line of text; shorten a long one in the middle, because file names differ at their ends."""
    from PIL import ImageDraw

    whole, font = visible(text), _font(size)
    shown, kept = whole, (len(whole) + 1) // 2
    while font.getlength(shown) > widest and kept > 1:
        kept -= 1
        shown = f"{whole[:kept]}…{whole[-kept:]}"
    ImageDraw.Draw(picture).text(corner, shown, fill="black", font=font)


def _resized(image: AnyArray, width: int, height: int) -> AnyArray:
    """Return a photograph at the size of its panel, 8-bit RGB."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    enlarged = width / image.shape[1]
    smoothly = Image.Resampling.LANCZOS if enlarged < 1 else Image.Resampling.BICUBIC
    return np.asarray(
        picture.resize((width, height), Image.Resampling.NEAREST if enlarged > MOST_SMOOTHED else smoothly)
    )


@lru_cache
def _font(size_px: float) -> Any:
    from PIL import ImageFont

    # The font of matplotlib covers the letters of most languages, which file names may contain.
    package = find_spec("matplotlib")
    if package is not None and package.origin is not None:
        with suppress(OSError):
            return ImageFont.truetype(Path(package.origin).with_name("mpl-data") / "fonts/ttf/DejaVuSans.ttf", size_px)
    return ImageFont.load_default(size_px)
