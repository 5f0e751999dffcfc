"""Write the side-by-side clip of both frames and the map with its scale; the file appears complete or not at all."""

from __future__ import annotations

import math
import queue
import threading
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray, UInt8Array
from ...base.errors import FileError, InputError
from ...base.tone import encode_srgb
from ...blur.blur_map import BlurMap, signed_sigma
from ...plot.colours import NO_ANSWER, ColourScale, rgb, tick_labels, white_of
from .clip import import_av
from .light import TOP
from .measuring import MeasuredFrame

__all__ = ["CLIP_SUFFIXES", "ClipWriter", "SideBySide", "encode", "nice_limit"]

#: Maximum width of the three panels together, px: that of a common screen.
MOST_WIDTH = 1920
#: Minimum width of a panel, px, so that its text fits; smaller frames are enlarged by a whole factor.
LEAST_PANEL = 240

STRIP, GAP, BAR, BAR_ROOM = 26, 6, 14, 62
LETTERS = 14

_BACKGROUND, _INK, _FAINT = 24, (235, 235, 235), (150, 150, 150)


class SideBySide:
    """Draw the pictures of a clip with frames of one size and one colour scale.

    Parameters
    ----------
    shape : (rows, columns)
    limit_px : float
        Blur at the ends of the scale, px.
    names : (first, second)
        Titles of the panels.
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
        # Most codecs halve the resolution of colours and need even sides.
        self.size = _even(3 * width + 2 * GAP + BAR_ROOM), _even(max(height, 60) + 2 * STRIP)
        self._sheet = self._empty_sheet(max(height, 60))

    def _place(self, panel: int) -> tuple[slice, slice]:
        width, height = self._panel
        left = panel * (width + GAP)
        return slice(STRIP, STRIP + height), slice(left, left + width)

    def _empty_sheet(self, height: int) -> UInt8Array:
        """Return the part common to all pictures: titles and the scale."""
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
            inside = min(max(y, STRIP + 6), STRIP + height - 8)  # keeps the numbers at the ends inside
            draw.text((left + BAR + 6, inside), text, _INK, _font(12), anchor="lm")
        return np.array(sheet)

    def draw(self, measured: MeasuredFrame) -> UInt8Array:
        """Return the (H, W, 3) picture of a measured frame."""
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
        """Colour a map like :meth:`ColourScale.apply`, within one step of the scale, in a quarter of the time."""
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
    """Return a frame of light encoded for a screen, 8 bits."""
    return np.asarray(_look(white).take(light))


def white_of_light(*frames: AnyArray) -> int:
    """Return the light shown as white, for a clip that begins with these frames."""
    return round(TOP * white_of(*frames))


@lru_cache(maxsize=2)
def _look(white: int) -> UInt8Array:
    """Return the table of 8-bit screen values for 16-bit light."""
    return np.rint(255 * encode_srgb(np.arange(TOP + 1) / white)).astype(np.uint8)


@lru_cache
def _font(points: int = LETTERS) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(points)


def _fitting(text: str, width: int) -> str:
    """Return a text shortened to a width, px."""
    font = _font()
    if font.getlength(text) <= width - 8:
        return text
    while len(text) > 1 and font.getlength(f"{text}...") > width - 8:
        text = text[:-1]
    return f"{text}..."


def _even(side: int) -> int:
    return side + side % 2


#: Codec, pixel format and options by suffix. The fastest preset takes a third of the time; its files are larger.
CLIP_SUFFIXES: dict[str, tuple[str, str, dict[str, str]]] = {
    ".mkv": ("ffv1", "bgr0", {"level": "3"}),
    ".avi": ("ffv1", "bgr0", {"level": "3"}),
    ".mp4": ("libx264", "yuv420p", {"crf": "18", "preset": "ultrafast"}),
    ".mov": ("libx264", "yuv420p", {"crf": "18", "preset": "ultrafast"}),
}

#: Time base of the clips, s: finer than the clock of a camera.
_CLOCK = Fraction(1, 60_000)

#: Length of the encoder's queue, frames.
_QUEUE_LENGTH = 8


def encode(container: Any, stream: Any, picture: AnyArray, time_s: float, layout: str = "rgb24") -> None:
    """Encode one picture, uint8 or uint16, with its time stamp, s."""
    frame = import_av().VideoFrame.from_ndarray(np.ascontiguousarray(picture), format=layout)
    frame.pts, frame.time_base = round(time_s / _CLOCK), _CLOCK
    for packet in stream.encode(frame):
        container.mux(packet)


def add_stream(container: Any, codec: str, shape: tuple[int, int], rate: float, options: dict[str, str]) -> Any:
    """Add a video stream with frames of (rows, columns) to a container, and return it."""
    stream = container.add_stream(codec, rate=Fraction(rate).limit_denominator(1001))
    stream.height, stream.width = shape
    stream.options = options
    stream.codec_context.time_base = _CLOCK
    return stream


def finish(container: Any, stream: Any) -> None:
    """Write the encoder's remaining packets and the end of the file."""
    for packet in stream.encode():
        container.mux(packet)
    container.close()


class ClipWriter:
    """Writer that draws and encodes measured frames in its own thread.

    ``limit_px`` is the blur at the ends of the scale; the default covers nearly all of the first map.
    """

    def __init__(self, path: Path, rate: float, names: tuple[str, str], limit_px: float | None = None) -> None:
        self._av = import_av()
        self._codec = CLIP_SUFFIXES[check_suffix(path)]
        self._path, self._rate, self._names, self._limit = path, rate, names, limit_px
        self._container: Any = None
        self._queue: queue.Queue[MeasuredFrame | None] = queue.Queue(_QUEUE_LENGTH)
        self._error: Exception | None = None
        self._start_s: float | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, measured: MeasuredFrame) -> None:
        """Queue a frame; its map may be overwritten afterwards."""
        self._raise()
        self._queue.put(replace(measured, blur_map=measured.blur_map.copy()))

    def finish(self) -> None:
        """Wait until all frames are written."""
        self._queue.put(None)
        self._thread.join()
        self._raise()

    def abandon(self) -> None:
        """End the thread; the file is incomplete."""
        self._queue.put(None)
        self._thread.join()

    def _raise(self) -> None:
        if self._error is not None:
            why = getattr(self._error, "strerror", None) or self._error
            raise FileError(f"the clip cannot be written: {why}; choose another place or suffix") from self._error

    def _work(self) -> None:
        sheet: SideBySide | None = None
        stream: Any = None
        while (measured := self._queue.get()) is not None:
            if self._error is not None:
                continue  # empty the queue, so that put() does not block
            try:
                if sheet is None:
                    sheet, stream = self._begin(measured)
                assert self._start_s is not None
                encode(self._container, stream, sheet.draw(measured), measured.first.time_s - self._start_s)
            except (self._av.FFmpegError, OSError, ValueError) as error:
                self._error = error
        try:
            if stream is not None and self._error is None:
                finish(self._container, stream)
        except (self._av.FFmpegError, OSError, ValueError) as error:
            self._error = error

    def _begin(self, measured: MeasuredFrame) -> tuple[SideBySide, Any]:
        limit = self._limit or nice_limit(measured.blur_map)
        sheet = SideBySide(measured.blur_map.shape, limit, self._names)
        codec, pixel_format, options = self._codec
        self._container = self._av.open(str(self._path), "w")
        stream = add_stream(self._container, codec, sheet.size[::-1], self._rate, options)
        stream.pix_fmt = pixel_format
        self._start_s = measured.first.time_s
        return sheet, stream


def nice_limit(blur_map: BlurMap) -> float:
    """Return a round limit, px, above nearly all blur of a map."""
    sigma = np.abs(signed_sigma(blur_map.variance_difference))
    known = sigma[np.isfinite(sigma)]
    top = float(np.percentile(known, 98)) if known.size else 1.0
    power = 10.0 ** math.floor(math.log10(max(top, 0.05)))
    return next(m * power for m in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if m * power >= top or m == 10)


def check_suffix(path: Path) -> str:
    """Return the suffix of an output clip; refuse unknown suffixes."""
    suffix = path.suffix.lower()
    if suffix not in CLIP_SUFFIXES:
        raise InputError(
            f"the clip's name ends in {suffix or 'nothing'!r}; use .mkv or .avi (FFV1, lossless), .mp4 or .mov (H.264)"
        )
    return suffix
