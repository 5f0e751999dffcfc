"""A frame of the side-by-side clip: first, second, relative blur with its scale, and which frames they are."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...base._typing import AnyArray, UInt8Array
from ...blur.blur_map import signed_sigma
from ...photo.tone_curves import encode_srgb
from ...plot.colours import NO_ANSWER, ColourScale, rgb, tick_labels, white_of
from .light import TOP
from .measuring import MeasuredFrame

__all__ = ["SideBySide"]

#: The three panels together are no wider than this, px: what a screen shows.
MOST_WIDTH = 1920
#: A panel is enlarged, by a whole factor, until it is about this wide: letters need room.
LEAST_PANEL = 240

STRIP, GAP, BAR, BAR_ROOM = 26, 6, 14, 62
LETTERS = 14

_BACKGROUND, _INK, _FAINT = 24, (235, 235, 235), (150, 150, 150)


class SideBySide:
    """Draws frames of one size with one scale.

    Parameters
    ----------
    shape : (rows, columns)
    limit_px : float
        The blur at the ends of the scale.
    names : (first, second)
        What stands above the panels.
    """

    def __init__(self, shape: tuple[int, int], limit_px: float, names: tuple[str, str] = ("first", "second")) -> None:
        rows, columns = shape
        factor = min(1.0, (MOST_WIDTH - 2 * GAP - BAR_ROOM) / (3 * columns))
        if columns < LEAST_PANEL:
            factor = float(math.ceil(LEAST_PANEL / columns))
        self._panel = max(2, round(factor * columns)), max(2, round(factor * rows))
        self._smooth = factor < 1
        self._scale = ColourScale(-limit_px, limit_px, "blue_red")
        self._names = names
        self._white = 0
        width, height = self._panel
        # Even sides: most codecs halve the resolution of colours.
        self.size = _even(3 * width + 2 * GAP + BAR_ROOM), _even(max(height, 60) + 2 * STRIP)
        self._sheet = self._empty_sheet(max(height, 60))

    def _place(self, panel: int) -> tuple[slice, slice]:
        width, height = self._panel
        left = panel * (width + GAP)
        return slice(STRIP, STRIP + height), slice(left, left + width)

    def _empty_sheet(self, height: int) -> UInt8Array:
        """Return what is alike in all frames: titles and the scale."""
        from PIL import Image, ImageDraw

        sheet = Image.new("RGB", self.size, (_BACKGROUND,) * 3)
        draw = ImageDraw.Draw(sheet)
        titles = (*self._names, "relative blur, px")
        for panel, title in enumerate(titles):
            _, columns = self._place(panel)
            draw.text((columns.start + 4, STRIP // 2), _fitting(title, self._panel[0]), _INK, _font(), anchor="lm")
        left = self._place(2)[1].stop + GAP
        along = (255 - np.arange(height) * 256 // height).clip(0, 255)
        bar = np.repeat(self._scale.colours[along][:, None], BAR, axis=1)
        sheet.paste(Image.fromarray(bar), (left, STRIP))
        for value, text in tick_labels(self._scale.low, self._scale.high, max(2, height // 40)):
            y = STRIP + round((self._scale.high - value) / (self._scale.high - self._scale.low) * (height - 1))
            draw.line((left + BAR, y, left + BAR + 3, y), _INK)
            inside = min(max(y, STRIP + 6), STRIP + height - 8)  # no half numbers at the ends
            draw.text((left + BAR + 6, inside), text, _INK, _font(12), anchor="lm")
        return np.array(sheet)

    def draw(self, measured: MeasuredFrame) -> UInt8Array:
        """Return an (H, W, 3) picture."""
        import cv2

        sheet = self._sheet.copy()
        both = measured.first.light, measured.second_light
        self._white = self._white or white_of_light(*both)
        for panel, light in enumerate(both):
            sheet[self._place(panel)] = cv2.cvtColor(self._resized(as_seen(light, self._white)), cv2.COLOR_GRAY2RGB)
        sheet[self._place(2)] = self._resized(self._colours(measured.blur_map.variance_difference))
        self._write_numbers(sheet, measured)
        return sheet

    def _colours(self, s: AnyArray) -> UInt8Array:
        """Return what :meth:`ColourScale.apply` does, but for a step of the scale, in a quarter of the time."""
        import cv2

        table = self._scale.colours.copy()
        table[0] = rgb(NO_ANSWER)
        step = np.float32(254 / (self._scale.high - self._scale.low))
        place = (signed_sigma(s) - np.float32(self._scale.low)) * step
        np.clip(place, 0, 254, out=place)
        place += 1
        np.fmax(place, 0, out=place)  # NaN
        return np.asarray(cv2.applyColorMap(place.astype(np.uint8), table[:, None]))

    def _resized(self, picture: AnyArray) -> AnyArray:
        import cv2

        if picture.shape[1::-1] == self._panel:
            return picture
        how = cv2.INTER_AREA if self._smooth else cv2.INTER_NEAREST
        return np.asarray(cv2.resize(picture, self._panel, interpolation=how))

    def _write_numbers(self, sheet: UInt8Array, measured: MeasuredFrame) -> None:
        from PIL import Image, ImageDraw

        strip = Image.new("RGB", (self.size[0], STRIP), (_BACKGROUND,) * 3)
        draw = ImageDraw.Draw(strip)
        for panel, frame in enumerate((measured.first, measured.second)):
            text = f"frame {frame.number}   {frame.time_s:.3f} s"
            draw.text((self._place(panel)[1].start + 4, STRIP // 2), text, _INK, _font(), anchor="lm")
        known = np.isfinite(measured.blur_map.variance_difference).mean()
        at = self._place(2)[1].start + 4
        text = _fitting(f"pair {measured.index}   {known:.0%} answered", self._panel[0] + BAR_ROOM)
        draw.text((at, STRIP // 2), text, _FAINT, _font(), anchor="lm")
        sheet[-STRIP:] = np.asarray(strip)


def as_seen(light: AnyArray, white: int = TOP) -> UInt8Array:
    """Return a frame of light as a screen shows it, 8 bits."""
    return np.asarray(_look(white).take(light))


def white_of_light(*frames: AnyArray) -> int:
    """Return the light that is shown as white in a clip that begins with these frames."""
    return round(TOP * white_of(*frames))


@lru_cache(maxsize=2)
def _look(white: int) -> UInt8Array:
    """Return how a screen shows light, by its 16-bit value."""
    return np.rint(255 * encode_srgb(np.arange(TOP + 1) / white)).astype(np.uint8)


@lru_cache
def _font(points: int = LETTERS) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(points)


def _fitting(text: str, width: int) -> str:
    """Return a text cut to a width, px."""
    font = _font()
    if font.getlength(text) <= width - 8:
        return text
    while len(text) > 1 and font.getlength(f"{text}...") > width - 8:
        text = text[:-1]
    return f"{text}..."


def _even(side: int) -> int:
    return side + side % 2
