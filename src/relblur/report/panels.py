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

__all__ = [
    "Panel",
    "contact_sheet",
    "map_picture",
    "pair_panels",
    "panels_picture",
    "result_panels",
]

#: Pixels per inch of pictures with a given panel width. In other pictures the data determine the resolution.
DPI = 110
#: Maximum width (px) of a panel whose data determine its width.
MOST_PX = 840

#: Lengths in inches: width of a panel, room beside it (colour bar, list of flags, neither), room above it, and margin
#: of the sheet.
PANEL_WIDTH = 3.9
BAR_ROOM, LIST_ROOM, NO_ROOM = 0.96, 1.06, 0.16
TITLE_ROOM = 0.34
MARGIN = 0.12

#: Font sizes (points).
HEADING_SIZE, TITLE_SIZE, LEAST_TITLE_SIZE, TICK_SIZE, LEGEND_SIZE = 12.0, 10.0, 6.0, 8.5, 8.0

#: Largest enlargement of a photograph with interpolation. Larger ones show its pixels.
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

    @property
    def room(self) -> float:
        """Room beside the picture, inches."""
        return NO_ROOM if self.kind == "photo" else LIST_ROOM if self.kind == "flags" else BAR_ROOM


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
    def right(self) -> int:
        return self.left + self.width

    @property
    def frame(self) -> tuple[int, int, int, int]:
        """The line around the rectangle, which keeps a picture of one pixel height visible."""
        return self.left - 1, self.top - 1, self.left + self.width, self.top + self.height

    def fitted(self, shape: tuple[int, ...]) -> _Place:
        """Return the largest centred rectangle within this one that has the proportions of an image."""
        scale = min(self.width / shape[1], self.height / shape[0])
        width, height = max(1, round(scale * shape[1])), max(1, round(scale * shape[0]))
        return _Place(self.left + (self.width - width) // 2, self.top + (self.height - height) // 2, width, height)


def pair_panels(pair: ComparablePair) -> list[Panel]:
    """Return both photographs of a pair as panels."""
    look, images = look_of(pair), (pair.first, pair.second)
    return [Panel(title, look(image)) for title, image in zip(photo_titles(pair), images, strict=True)]


def panels_picture(
    path: PathLike,
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    heading: str = "",
    panel_width: float | None = None,
) -> None:
    """Write a figure of several panels to a PNG file.

    ``panel_width`` is the width of a panel in inches of 110 px. The default is the width of the data in the first
    panel, within 429 to 840 px. The heading may have several lines.
    """
    sheet = _Sheet(panels, min(columns, len(panels)), heading, panel_width)
    sheet.draw_all()
    write_image(path, np.asarray(sheet.picture), {})


def result_panels(result: MapResult) -> list[Panel]:
    """Return a map, its standard error and its flags as panels."""
    view = MapView.of(result)
    return [
        _panel_of(view, view.label),
        Panel(f"standard error ({view.unit})", view.stderr, "stderr"),
        Panel("flags", view.flags, "flags"),
    ]


def _panel_of(view: MapView, title: str) -> Panel:
    return Panel(title, view.values, view.kind, scale=view.scale, opacity=view.opacity)


def map_picture(path: PathLike, panel: Panel, heading: str = "") -> None:
    """Write one map with its legend, at about the resolution of the map."""
    panels_picture(path, [panel], heading=heading, panel_width=min(max(panel.image.shape[1] / DPI, 5.0), 12.0))


def contact_sheet(path: Path, maps: Iterable[tuple[str, MapResult]], heading: str) -> None:
    """Write a contact sheet of the first 120 (name, map), with a common colour scale."""
    views = [(name, MapView.of(result).thinned(SHEET_PX)) for name, result in islice(maps, SHEET_MAPS)]
    kind = views[0][1].kind
    scale = scale_for(np.concatenate([view.values.ravel() for _, view in views])[None], kind)
    panels = [_panel_of(replace(view, scale=scale), name) for name, view in views]
    panels_picture(path, panels, columns=SHEET_COLUMNS, heading=heading, panel_width=SHEET_WIDTH)


class _Sheet:
    """A white sheet on which panels are laid out in rows."""

    def __init__(self, panels: Sequence[Panel], columns: int, heading: str, panel_width: float | None) -> None:
        from PIL import Image, ImageDraw

        self.panels, self.columns, self.heading = panels, columns, heading.splitlines()
        self.dpi = DPI if panel_width else _dpi_for(panels)
        self.width = panel_width or PANEL_WIDTH
        self.rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
        self.heights = [_row_height(row[0], self.width) for row in self.rows]
        rooms = [max(panel.room for panel in panels[column::columns]) for column in range(columns)]
        self.lefts = np.cumsum([MARGIN, *(self.width + room for room in rooms)])
        above = 0.1 + len(self.heading) * 1.5 * HEADING_SIZE / 72
        self.tops = np.cumsum([above, *(height + TITLE_ROOM for height in self.heights)])
        self.size = (self.px(float(self.lefts[-1]) + MARGIN), self.px(float(self.tops[-1]) + MARGIN))
        self.picture = Image.new("RGB", self.size, "white")
        self.draw = ImageDraw.Draw(self.picture)

    def px(self, inches: float) -> int:
        return round(inches * self.dpi)

    def font(self, points: float) -> Any:
        return _font(points * self.dpi / 72)

    def draw_all(self) -> None:
        """Draw every panel and the heading."""
        for index, panel in enumerate(self.panels):
            row, column = divmod(index, self.columns)
            corner = self.px(float(self.lefts[column])), self.px(float(self.tops[row]) + TITLE_ROOM)
            place = _Place(*corner, self.px(self.width), self.px(self.heights[row]))
            # A title may extend above its colour bar, but not into the title of the next panel.
            widest = self.px(float(self.lefts[column + 1] - self.lefts[column])) - 6
            if column == 0:
                widest = min(widest, 2 * place.left + place.width - 4)
            self.write_centred(
                place.left + place.width // 2, place.top - self.px(0.07), panel.title, TITLE_SIZE, widest
            )
            self.draw_panel(place, panel)
        for number, line in enumerate(self.heading):
            size = HEADING_SIZE if number == 0 else TITLE_SIZE
            baseline = self.px(0.1 + (1.5 * number + 1) * HEADING_SIZE / 72)
            self.write_centred(self.size[0] // 2, baseline, line, size, self.size[0] - 8)

    def draw_panel(self, place: _Place, panel: Panel) -> None:
        from PIL import Image

        here = place.fitted(panel.image.shape)
        if panel.kind == "photo":
            self.picture.paste(_photo_of_size(panel.image, here), here.corner)
        elif panel.kind == "flags":
            self.picture.paste(Image.fromarray(flag_colours(_nearest(panel.image, here))), here.corner)
            self.draw_flag_list(here, panel.image)
        else:
            scale = panel.scale or scale_for(panel.image, panel.kind, panel.limit)
            faded = None if panel.opacity is None else _nearest(panel.opacity, here)
            self.picture.paste(Image.fromarray(scale.apply(_nearest(panel.image, here), faded)), here.corner)
            self.draw_bar(here, panel, scale)
        self.draw.rectangle(here.frame, outline="black")

    def draw_bar(self, beside: _Place, panel: Panel, scale: ColourScale) -> None:
        """Draw the colour bar with ticks, a pointed end where values exceed the scale, and the legend of greys."""
        from PIL import Image

        known = panel.image[np.isfinite(panel.image)]
        greys = ["no answer"] if known.size < panel.image.size else []
        greys += ["faded: filled"] if panel.opacity is not None else []
        point, line = self.px(0.1), self.px(0.2)
        room = beside.height - 2 * point - line * len(greys)
        bar = _Place(beside.right + self.px(0.08), beside.top + point, self.px(0.14), max(room, 1))
        along = (255 - np.arange(bar.height) * 256 // bar.height).clip(0, 255)
        colours = np.repeat(scale.colours[along][:, None], bar.width, axis=1)
        self.picture.paste(Image.fromarray(colours), bar.corner)
        self.draw.rectangle(bar.frame, outline="black")
        middle, below = bar.left + bar.width // 2, bar.top + bar.height
        slack = 1e-9 * (scale.high - scale.low)
        if known.size and float(known.max()) > scale.high + slack and room > 4 * point:
            corners = [(bar.left - 1, bar.top - 1), (bar.right, bar.top - 1), (middle, bar.top - point)]
            self.draw.polygon(corners, fill=tuple(scale.colours[255]), outline="black")
        if known.size and float(known.min()) < scale.low - slack and room > 4 * point:
            corners = [(bar.left - 1, below), (bar.right, below), (middle, below + point)]
            self.draw.polygon(corners, fill=tuple(scale.colours[0]), outline="black")
        ticks = scale.ticks(round(bar.height / self.px(0.35)))
        if panel.kind == "side":
            ticks = [(-1.0, "second"), (0.0, "neither"), (1.0, "first")]
        for value, text in ticks:
            y = bar.top + round((1 - float(scale.place(np.asarray(value)))) * (bar.height - 1))
            self.draw.line((bar.right, y, bar.right + self.px(0.04), y), fill="black")
            self.write_left(bar.right + self.px(0.065), y, text, TICK_SIZE)
        for number, text in enumerate(greys if room > 0 else []):
            y = beside.top + beside.height - line * (len(greys) - number) + line // 2
            colour = NO_ANSWER if text == "no answer" else _half_faded(scale)
            self.draw_swatch(bar.left, y, bar.width, colour)
            self.write_left(bar.right + self.px(0.065), y, text, LEGEND_SIZE)

    def draw_flag_list(self, beside: _Place, flags: AnyArray) -> None:
        """Draw names, colours and shares of the flags beside the map."""
        entries = flag_shares(flags)
        shares = percentages([share for _, _, share in entries])
        line, left = self.px(0.36), beside.right + self.px(0.08)
        for number, ((name, colour, _), share) in enumerate(zip(entries, shares, strict=True)):
            y = beside.top + line * number + self.px(0.08)
            self.draw_swatch(left, y, self.px(0.14), colour)
            self.write_left(left + self.px(0.2), y, name, LEGEND_SIZE)
            self.write_left(left + self.px(0.2), y + self.px(0.14), share, LEGEND_SIZE)

    def draw_swatch(self, left: int, middle: int, width: int, colour: str) -> None:
        half = self.px(0.05)
        self.draw.rectangle((left, middle - half, left + width, middle + half), fill=colour, outline="#666666")

    def write_left(self, left: int, middle: int, text: str, points: float) -> None:
        self.draw.text((left, middle), text, fill="black", font=self.font(points), anchor="lm")

    def write_centred(self, middle: int, baseline: int, text: str, points: float, widest: int) -> None:
        """Write a centred line; reduce its font size, then shorten it, to fit ``widest`` px."""
        text = visible(text)
        while points > LEAST_TITLE_SIZE and self.font(points).getlength(text) > widest:
            points -= 0.5
        font = self.font(points)
        if font.getlength(text) > widest:
            kept = len(text) - 2
            while kept > 2 and font.getlength(_shortened(text, kept)) > widest:
                kept -= 2
            text = _shortened(text, kept)
        self.draw.text((middle, baseline), text, fill="black", font=font, anchor="ms")


def _half_faded(scale: ColourScale) -> str:
    """Return a colour of the scale at an opacity of 0.5."""
    mixed = (scale.colours[192].astype(int) + rgb(NO_ANSWER)) // 2
    return "#" + bytes(mixed.tolist()).hex()


def _shortened(text: str, kept: int) -> str:
    """Return a text without its middle, because file names differ at their ends."""
    return f"{text[: kept - kept // 2]}…{text[len(text) - kept // 2 :]}"


def _dpi_for(panels: Sequence[Panel]) -> float:
    """Return the resolution (px per inch) at which the first panel shows each pixel of its data, up to a limit."""
    return max(DPI, min(panels[0].image.shape[1], MOST_PX) / PANEL_WIDTH)


def _row_height(panel: Panel, width: float) -> float:
    """Return the height of a row of panels in inches, from the first panel of the row."""
    rows, columns = panel.image.shape[:2]
    return min(max(width * rows / columns, 0.3 * width), 2.0 * width)


def _photo_of_size(image: AnyArray, place: _Place) -> Any:
    """Return a photograph resampled to the size of its place."""
    from PIL import Image

    picture = Image.fromarray(np.rint(255 * photo(image)).astype(np.uint8)).convert("RGB")
    size = (place.width, place.height)
    enlarged = place.width / image.shape[1]
    smoothly = Image.Resampling.LANCZOS if enlarged < 1 else Image.Resampling.BICUBIC
    return picture.resize(size, Image.Resampling.NEAREST if enlarged > MOST_SMOOTHED else smoothly)


def _nearest(values: AnyArray, place: _Place) -> AnyArray:
    """Return a map resampled to the size of its place by nearest neighbours."""
    rows = (np.arange(place.height) + 0.5) * values.shape[0] / place.height
    columns = (np.arange(place.width) + 0.5) * values.shape[1] / place.width
    return np.asarray(values[np.ix_(rows.astype(int), columns.astype(int))])


@lru_cache
def _font(size_px: float) -> Any:
    from PIL import ImageFont

    # The font of matplotlib covers the letters of most languages, which file names may contain.
    package = find_spec("matplotlib")
    if package is not None and package.origin is not None:
        with suppress(OSError):
            return ImageFont.truetype(Path(package.origin).with_name("mpl-data") / "fonts/ttf/DejaVuSans.ttf", size_px)
    return ImageFont.load_default(size_px)
