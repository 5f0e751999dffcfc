"""Read a video file as frames of light with time stamps, decoded by PyAV.

Files are not trusted: only local files are opened, so that no playlist leads to the network, and sizes are limited.
Damaged frames are left out and counted.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.arguments import times
from ...base.errors import FileError, MissingDependencyError, RelblurError
from ...base.tone import Curve
from ...images.images import read_stored
from ...images.reading import Budget
from ...images.stored import StoredImage
from ...photo.tone_curves import choose_curve
from .light import (
    ASSUMED_LEVELS,
    ROUNDING_LEVELS,
    check_transfer,
    frame_light,
    h264_levels,
    is_lossless,
    mjpeg_levels,
    stored_as,
)

__all__ = ["Clip", "Frame", "import_av"]

#: Rate of clips that do not state one, frames per second.
USUAL_RATE = 25.0

#: Interval at which the quantisation table of a Motion JPEG clip is read, frames.
_TABLE_INTERVAL = 50

#: Consecutive damaged packets after which a clip counts as ended.
_MOST_DAMAGE = 100


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture of a source.

    Attributes
    ----------
    number : int
        Counted from 0 within its source.
    time_s : float
        Time stamp of the source.
    light : (H, W) uint16
        Linear light, 65535 at the top of the range.
    noise : float
        Standard deviation of the rounding and compression error, on a scale of 0..1.
    lossy : bool
        Whether the compression is lossy.
    """

    number: int
    time_s: float
    light: AnyArray
    noise: float
    lossy: bool = False


def import_av() -> Any:
    """Import and return PyAV, or raise an error with the command that installs it."""
    try:
        import av
    except ImportError:
        raise MissingDependencyError("video files need PyAV; pip install 'relblur[video]'") from None
    av.logging.set_level(av.logging.PANIC)  # errors are counted and reported by relblur
    return av


#: Formats of FFmpeg whose files refer to other files.
_LISTS = ("concat", "hls", "dash", "imf")


class Clip:
    """The frames of a video file, or of numbered image files (``frame_%04d.png``), in the order of time.

    Parameters
    ----------
    path : path
        A file in any format of FFmpeg, or a pattern with ``%d`` for numbered images.
    linear : bool
        Undo the tone curve. False keeps stored values.
    gamma : float, optional
        Exponent of the tone curve to undo, instead of the file's curve.
    """

    def __init__(self, path: str | os.PathLike[str], *, linear: bool = True, gamma: float | None = None) -> None:
        self._av = import_av()
        self.path = Path(path)
        self._linear, self._gamma = linear, gamma
        self._container = self._open()
        try:
            if self._container.format.name in _LISTS:
                raise FileError(f"{self.path} is a list of other files; name the video itself")
            streams = [each for each in self._container.streams.video if not _is_cover(each)]
            if not streams:
                content = "only sound" if self._container.streams.audio else "no video"
                raise FileError(f"{self.path} contains {content}; name a file with a video stream")
            self._stream = streams[0]
            self._codec = self._stream.codec_context
            if self._codec is None:
                raise FileError(f"{self.path} is in a format that FFmpeg cannot decode; convert it, best to FFV1")
            self._codec.thread_type = "SLICE"  # parallel frames would hide which one is damaged
            self._codec.options = {"export_side_data": "venc_params"}
            Budget(self.path, 0).check_pixels(self._codec.height, self._codec.width)
        except BaseException:
            self._container.close()
            raise
        self.damaged = 0
        self.lossless = is_lossless(self._codec.codec)
        self.curve: tuple[Curve, str] | None = None
        self.shape: tuple[int, int] | None = None
        self._levels: float | None = None
        self._turned = self._interlaced = False
        self._packets = 0

    def _open(self) -> Any:
        text = str(self.path)
        pattern = "%" in self.path.name
        if not pattern and not self.path.is_file():
            if "://" in text or text.startswith(("http:", "https:", "rtsp:")):
                raise FileError(f"{text} is an address; save the video to a file and name that")
            what = "is a folder; name a video in it" if self.path.is_dir() else "is not there; check the name"
            raise FileError(f"{self.path} {what}")
        try:
            return self._av.open(f"file:{text}", options={"protocol_whitelist": "file"})
        except (self._av.FFmpegError, ValueError, OSError) as error:
            why = getattr(error, "strerror", None) or "unknown format"
            raise FileError(
                f"{self.path} cannot be read as video ({why}); it may be cut off or not a video: play it to see"
            ) from None

    @property
    def rate(self) -> float:
        """Average rate, frames per second."""
        rate = self._stream.average_rate or self._stream.guessed_rate or self._stream.base_rate
        return float(rate) if rate else USUAL_RATE

    @property
    def codec(self) -> str:
        """FFmpeg's name of the codec."""
        return str(self._codec.name)

    def describe(self) -> str:
        """Return codec and rate in one line; after the first frame also size, tone curve and rotation."""
        parts = [f"{self.codec}, {'lossless' if self.lossless else 'lossy'}, {self.rate:.4g} frames a second"]
        if self.shape is not None:
            parts.insert(0, times(self.shape[::-1]))
        if self.curve is not None:
            parts.append(f"{self.curve[0].name} ({self.curve[1]})")
        if self._turned:
            parts.append("turned upright")
        if self._interlaced:
            parts.append("interlaced: deinterlace it, because its lines are of two moments")
        return "; ".join(parts)

    def __iter__(self) -> Iterator[Frame]:
        number = 0
        previous = -math.inf
        for picture in self._pictures():
            light = frame_light(picture, self._curve_of(picture))
            values = self._upright(picture, light.values)
            shape = (values.shape[0], values.shape[1])
            if self.shape is None:
                self.shape = shape
            elif shape != self.shape:
                old, new = times(self.shape[::-1]), times(shape[::-1])
                raise FileError(f"{self.path} changes from {old} to {new} at frame {number}; cut it there")
            levels = self._levels_of(picture)
            noise = light.per_level * math.hypot(ROUNDING_LEVELS / 2 ** (_bits(picture) - 8), levels)
            time_s = number / self.rate if picture.time is None else float(picture.time)
            if time_s <= previous:  # a wrong time stamp: the frames are in order all the same
                time_s = previous + 1 / self.rate
            yield Frame(number, time_s, values, noise, lossy=levels > 0)
            previous = time_s
            number += 1
        if number == 0:
            raise FileError(f"{self.path} has no picture that can be decoded; it may be cut off: play it to see")

    def _pictures(self) -> Iterator[Any]:
        """Decode and yield the undamaged frames; count the others.

        Decoders fill damaged areas from earlier frames, log an error, and predict later frames from the result. All
        frames from an error to the next key frame are therefore left out.
        """
        in_a_row, spoilt = 0, False
        packets = self._container.demux(self._stream)
        while in_a_row < _MOST_DAMAGE:
            errors = self._errors_logged()
            try:
                packet = next(packets)
                if self.codec == "mjpeg" and packet.size and self._packets % _TABLE_INTERVAL == 0:
                    self._levels = mjpeg_levels(bytes(packet))
                self._packets += 1
                pictures = packet.decode()
            except StopIteration:
                return
            except self._av.FFmpegError:
                self.damaged += 1
                in_a_row, spoilt = in_a_row + 1, True
                continue
            in_a_row = 0
            whole = errors == self._errors_logged() and not packet.is_corrupt
            for picture in pictures:
                spoilt = not whole or (spoilt and not picture.key_frame)
                if spoilt or picture.is_corrupt:
                    self.damaged += 1
                else:
                    self._interlaced |= bool(picture.interlaced_frame)
                    yield picture
            spoilt |= not whole

    def _errors_logged(self) -> int:
        return int(self._av.logging.get_last_error()[0])

    def _curve_of(self, picture: Any) -> Curve:
        if self.curve is None:
            # Before PyAV 17 the stream has the transfer characteristics, its frames do not.
            transfer = int(getattr(picture, "color_trc", self._codec.color_trc))
            if self._linear and self._gamma is None:
                check_transfer(str(self.path), transfer)
            stored = self._image_file() or stored_as(picture, self.codec, transfer)
            self.curve = choose_curve(stored, linear=self._linear, gamma=self._gamma)
        return self.curve[0]

    def _image_file(self) -> StoredImage | None:
        """Read the first of numbered image files as other commands do; return None for other clips."""
        if not self._container.format.name.endswith(("image2", "_pipe")):
            return None
        for path in self._image_paths():
            if path.is_file():
                with suppress(RelblurError), warnings.catch_warnings():
                    warnings.simplefilter("ignore", UserWarning)
                    return read_stored(path)
                break
        return None

    def _image_paths(self) -> list[Path]:
        """Return possible paths of the first image: FFmpeg accepts the numbers 0 to 4."""
        if "%" not in self.path.name:
            return [self.path]
        with suppress(TypeError, ValueError):  # no number in the pattern, or two
            return [self.path.with_name(self.path.name % number) for number in range(5)]
        return []

    def _upright(self, picture: Any, values: AnyArray) -> AnyArray:
        quarter_turns = round(picture.rotation / 90) % 4
        if not quarter_turns:
            return values
        self._turned = True
        return np.ascontiguousarray(np.rot90(values, quarter_turns))

    def _levels_of(self, picture: Any) -> float:
        """Return the compression error of a frame, levels of 255."""
        if self.lossless:
            return 0.0
        levels = h264_levels(picture) if self.codec == "h264" else self._levels
        return ASSUMED_LEVELS if levels is None else levels

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def __enter__(self) -> Clip:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _bits(picture: Any) -> int:
    return max(8, *(int(component.bits) for component in picture.format.components))


def _is_cover(stream: Any) -> bool:
    """Return whether a stream is the cover picture of a music file."""
    return "attached_pic" in str(stream.disposition).lower()
