"""Write the side-by-side clip of both frames and the map with its scale."""

from __future__ import annotations

import math
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray, UInt8Array
from ...base.errors import FileError, InputError
from ...base.tone import TOP, encode_srgb
from ...plot.colours import scale_for, white_of
from .clip import import_av
from .measuring import MeasuredFrame

__all__ = ["ClipWriter", "SideBySide", "add_stream", "encode", "finish"]

#: Maximum total width of the three panels, px: the width of a common screen.
MOST_WIDTH = 1920
#: Minimum width of a panel, px, so that its text fits; smaller frames are enlarged by a whole factor.
LEAST_PANEL = 240
#: Height of the lines of text, gap between panels, width of the colour bar and of the room for it, px.
STRIP, GAP, BAR, BAR_ROOM = 26, 6, 14, 62

_BACKGROUND, _INK = (24, 24, 24), (235, 235, 235)


class SideBySide:
    """Draw the pictures of a clip, in the size, brightness and colour scale of its first pair."""

    def __init__(self, measured: MeasuredFrame, names: tuple[str, str]) -> None:
        rows, columns = measured.blur_map.shape
        factor = min(1.0, (MOST_WIDTH - 2 * GAP - BAR_ROOM) / (3 * columns))
        if columns < LEAST_PANEL:
            factor = float(math.ceil(LEAST_PANEL / columns))
        self._panel = width, height = max(2, round(factor * columns)), max(2, round(factor * rows))
        self._scale = scale_for(measured.blur_map.sigma, "sigma")
        white = TOP * white_of(measured.first.light, measured.second.light)
        self._look = np.rint(255 * encode_srgb(np.arange(TOP + 1) / white)).astype(np.uint8)
        # Most codecs halve the resolution of colours and need even sides.
        self.size = _even(3 * width + 2 * GAP + BAR_ROOM), _even(height + 2 * STRIP)
        self._sheet = self._empty_sheet(names)

    def _place(self, panel: int) -> tuple[slice, slice]:
        width, height = self._panel
        left = panel * (width + GAP)
        return slice(STRIP, STRIP + height), slice(left, left + width)

    def _empty_sheet(self, names: tuple[str, str]) -> UInt8Array:
        """Return the part common to all pictures: titles and the scale."""
        from PIL import Image, ImageDraw

        sheet = Image.new("RGB", self.size, _BACKGROUND)
        draw = ImageDraw.Draw(sheet)
        width, height = self._panel
        for panel, title in enumerate((*names, "relative blur, px")):
            _write(draw, self._place(panel)[1].start + 4, STRIP // 2, title[: width // 9])
        left = 3 * (width + GAP)
        bar = self._scale.colours[::-1][np.arange(height) * 256 // height]
        sheet.paste(Image.fromarray(np.repeat(bar[:, None], BAR, axis=1)), (left, STRIP))
        for value, text in self._scale.ticks(max(2, height // 40)):
            y = STRIP + round((1 - float(self._scale.place(np.array(value)))) * (height - 1))
            draw.line((left + BAR, y, left + BAR + 3, y), _INK)
            _write(draw, left + BAR + 6, min(max(y, STRIP + 6), STRIP + height - 8), text, 12)
        return np.array(sheet)

    def draw(self, measured: MeasuredFrame) -> UInt8Array:
        """Return the (H, W, 3) picture of a measured pair."""
        from PIL import Image, ImageDraw

        sheet = self._sheet.copy()
        for panel, frame in enumerate((measured.first, measured.second)):
            sheet[self._place(panel)] = self._resized(self._look[frame.light])[:, :, None]
        sheet[self._place(2)] = self._resized(self._scale.apply(measured.blur_map.sigma))
        strip = Image.new("RGB", (self.size[0], STRIP), _BACKGROUND)
        known = np.isfinite(measured.blur_map.variance_difference).mean()
        text = f"pair {measured.index}   {measured.first.time_s:.3f} s   {known:.0%} answered"
        _write(ImageDraw.Draw(strip), 4, STRIP // 2, text)
        sheet[-STRIP:] = np.asarray(strip)
        return sheet

    def _resized(self, picture: AnyArray) -> AnyArray:
        import cv2

        how = cv2.INTER_AREA if self._panel[0] < picture.shape[1] else cv2.INTER_NEAREST
        return np.asarray(cv2.resize(picture, self._panel, interpolation=how))


def _write(draw: Any, left: int, middle: int, text: str, points: int = 14) -> None:
    draw.text((left, middle), text, _INK, font_size=points, anchor="lm")


def _even(side: int) -> int:
    return side + side % 2


#: Codec, pixel format and options by suffix. The preset takes a third of the default time, with larger files.
_FFV1 = ("ffv1", "bgr0", {"level": "3"})
_H264 = ("libx264", "yuv420p", {"crf": "18", "preset": "ultrafast"})
_CODECS = {".mkv": _FFV1, ".avi": _FFV1, ".mp4": _H264, ".mov": _H264}

#: Time base of the clips, s: finer than the clock of a camera.
_CLOCK = Fraction(1, 60_000)

#: Maximum number of pairs in the queue of the encoder.
_MOST_WAITING = 8


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
    """Writer that draws and encodes measured pairs in a thread of its own."""

    def __init__(self, path: Path, rate: float, names: tuple[str, str]) -> None:
        self._av = import_av()
        if path.suffix.lower() not in _CODECS:
            raise InputError(f"the clip's name ends in {path.suffix or 'nothing'!r}; use {', '.join(_CODECS)}")
        self._path, self._rate, self._names = path, rate, names
        self._thread = ThreadPoolExecutor(1)
        self._waiting: deque[Future[None]] = deque()
        self._sheet: SideBySide | None = None
        self._container: Any = None
        self._stream: Any = None
        self._start_s = 0.0

    def put(self, measured: MeasuredFrame) -> None:
        """Queue a pair; its map may be overwritten afterwards."""
        kept = replace(measured, blur_map=measured.blur_map.copy())
        self._waiting.append(self._thread.submit(self._write, kept))
        if len(self._waiting) > _MOST_WAITING:
            self._result_of_first()

    def finish(self) -> None:
        """Wait until all pairs are written, and write the end of the file."""
        self._waiting.append(self._thread.submit(lambda: finish(self._container, self._stream)))
        while self._waiting:
            self._result_of_first()

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown(cancel_futures=True)

    def _result_of_first(self) -> None:
        try:
            self._waiting.popleft().result()
        except (self._av.FFmpegError, OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise FileError(f"the clip cannot be written: {why}; choose another place or suffix") from error

    def _write(self, measured: MeasuredFrame) -> None:
        if self._sheet is None:
            self._sheet = SideBySide(measured, self._names)
            codec, pixel_format, options = _CODECS[self._path.suffix.lower()]
            self._container = self._av.open(str(self._path), "w")
            self._stream = add_stream(self._container, codec, self._sheet.size[::-1], self._rate, options)
            self._stream.pix_fmt = pixel_format
            self._start_s = measured.first.time_s
        encode(self._container, self._stream, self._sheet.draw(measured), measured.first.time_s - self._start_s)
