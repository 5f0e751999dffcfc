"""What is measured as a clip, both frames and the map side by side. It appears whole or not at all."""

from __future__ import annotations

import math
import queue
import threading
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import FileError, InputError
from ...blur.blur_map import BlurMap, signed_sigma
from .clip import import_av
from .measuring import MeasuredFrame
from .picture import SideBySide

__all__ = ["CLIP_SUFFIXES", "ClipWriter", "encode", "nice_limit"]

#: Codec, pixel format and its options by suffix. The fastest preset: a third of the time for a larger file.
CLIP_SUFFIXES: dict[str, tuple[str, str, dict[str, str]]] = {
    ".mkv": ("ffv1", "bgr0", {"level": "3"}),
    ".avi": ("ffv1", "bgr0", {"level": "3"}),
    ".mp4": ("libx264", "yuv420p", {"crf": "18", "preset": "ultrafast"}),
    ".mov": ("libx264", "yuv420p", {"crf": "18", "preset": "ultrafast"}),
}

#: Finer than any camera's clock.
_CLOCK = Fraction(1, 60_000)

#: Frames that wait for the encoder.
_WAITING = 8


def encode(container: Any, stream: Any, picture: AnyArray, time_s: float, layout: str = "rgb24") -> None:
    """Encode one picture, uint8 or uint16, to be shown at a time."""
    frame = import_av().VideoFrame.from_ndarray(np.ascontiguousarray(picture), format=layout)
    frame.pts, frame.time_base = round(time_s / _CLOCK), _CLOCK
    for packet in stream.encode(frame):
        container.mux(packet)


def add_stream(container: Any, codec: str, shape: tuple[int, int], rate: float, options: dict[str, str]) -> Any:
    """Return a new video stream of frames of (rows, columns)."""
    stream = container.add_stream(codec, rate=Fraction(rate).limit_denominator(1001))
    stream.height, stream.width = shape
    stream.options = options
    stream.codec_context.time_base = _CLOCK
    return stream


def finish(container: Any, stream: Any) -> None:
    """Write what the encoder still holds, and the end of the file."""
    for packet in stream.encode():
        container.mux(packet)
    container.close()


class ClipWriter:
    """Draws and encodes measured frames in a thread of its own.

    ``limit_px`` is the blur at the ends of the scale; by default nearly all of the first map is within.
    """

    def __init__(self, path: Path, rate: float, names: tuple[str, str], limit_px: float | None = None) -> None:
        self._av = import_av()
        self._codec = CLIP_SUFFIXES[check_suffix(path)]
        self._path, self._rate, self._names, self._limit = path, rate, names, limit_px
        self._container: Any = None
        self._queue: queue.Queue[MeasuredFrame | None] = queue.Queue(_WAITING)
        self._error: Exception | None = None
        self._start_s: float | None = None
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def put(self, measured: MeasuredFrame) -> None:
        """Take a frame; its map may be overwritten afterwards."""
        self._raise()
        self._queue.put(replace(measured, blur_map=measured.blur_map.copy()))

    def finish(self) -> None:
        """Wait until everything is written."""
        self._queue.put(None)
        self._thread.join()
        self._raise()

    def abandon(self) -> None:
        """End the thread; what was written is of no use."""
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
                continue  # whoever puts frames must not wait for ever
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
    """Return a round number, px, that nearly all of a map's blur stays below."""
    sigma = np.abs(signed_sigma(blur_map.variance_difference))
    known = sigma[np.isfinite(sigma)]
    top = float(np.percentile(known, 98)) if known.size else 1.0
    power = 10.0 ** math.floor(math.log10(max(top, 0.05)))
    return next(m * power for m in (1, 1.5, 2, 3, 4, 5, 6, 8, 10) if m * power >= top or m == 10)


def check_suffix(path: Path) -> str:
    """Return the suffix of a clip to write; refuse unknown ones."""
    suffix = path.suffix.lower()
    if suffix not in CLIP_SUFFIXES:
        raise InputError(
            f"the clip's name ends in {suffix or 'nothing'!r}; use .mkv or .avi (FFV1, lossless), .mp4 or .mov (H.264)"
        )
    return suffix
