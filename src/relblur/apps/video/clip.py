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
from typing import Any

import numpy as np

from ...base._typing import AnyArray
from ...base.arguments import times
from ...base.errors import FileError, MissingDependencyError, RelblurError
from ...base.tone import Curve
from ...images.images import read_stored
from ...images.reading import check_pixels
from ...images.stored import StoredImage
from ...photo.tone_curves import choose_curve
from .light import (
    ASSUMED_LEVELS,
    REFUSED,
    ROUNDING_LEVELS,
    bits_of,
    frame_light,
    h264_levels,
    mjpeg_levels,
    stored_as,
)

__all__ = ["Clip", "Frame", "import_av"]

#: Rate of clips that do not state one, frames per second.
USUAL_RATE = 25.0

#: Interval between readings of the quantisation table of a Motion JPEG clip, frames.
_TABLE_INTERVAL = 50

#: Consecutive damaged packets after which a clip counts as ended.
_MOST_DAMAGE = 100

#: Formats of FFmpeg whose files refer to other files.
_LISTS = ("concat", "hls", "dash", "imf")


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
    av.logging.set_level(av.logging.PANIC)  # relblur counts and reports errors
    return av


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
        self.name = self.path.name
        self.damaged = 0  #: damaged frames
        self.curve: tuple[Curve, str] | None = None
        self.shape: tuple[int, int] | None = None
        self._linear, self._gamma = linear, gamma
        self._container = self._open()
        try:
            if self._container.format.name in _LISTS:
                raise FileError(f"{self.path} is a list of other files; name the video itself")
            # Music files may have a cover picture as a stream.
            streams = [s for s in self._container.streams.video if "attached_pic" not in str(s.disposition).lower()]
            if not streams or streams[0].codec_context is None:
                raise FileError(f"{self.path} contains no video that FFmpeg can decode; convert it, best to FFV1")
            self._stream, self._codec = streams[0], streams[0].codec_context
            self._codec.thread_type = "SLICE"  # parallel frames would hide which one is damaged
            self._codec.options = {"export_side_data": "venc_params"}
            check_pixels(self.path, self._codec.height, self._codec.width)
        except BaseException:
            self._container.close()
            raise
        self.lossless = bool(self._codec.codec.lossless and not self._codec.codec.lossy)
        rate = self._stream.average_rate or self._stream.guessed_rate or self._stream.base_rate
        self.rate = float(rate) if rate else USUAL_RATE  #: average, frames per second
        self._levels: float | None = None

    def _open(self) -> Any:
        if "%" not in self.name and not self.path.is_file():
            raise FileError(f"there is no file {self.path}; name a video file on this machine")
        try:
            return self._av.open(f"file:{self.path}", options={"protocol_whitelist": "file"})
        except (self._av.FFmpegError, ValueError, OSError) as error:
            why = getattr(error, "strerror", None) or "unknown format"
            raise FileError(
                f"{self.path} cannot be read as video ({why}); it may be cut off or not a video: play it to see"
            ) from None

    def describe(self) -> str:
        """Return codec and frame rate as text; after the first frame also size and tone curve."""
        text = f"{self._codec.name}, {'lossless' if self.lossless else 'lossy'}, {self.rate:.4g} frames a second"
        if self.shape is None or self.curve is None:
            return text
        return f"{times(self.shape[::-1])}; {text}; {self.curve[0].name} ({self.curve[1]})"

    def __iter__(self) -> Iterator[Frame]:
        number, previous = 0, -math.inf
        for picture in self._pictures():
            light, per_level = frame_light(picture, self._curve_of(picture))
            light = np.ascontiguousarray(np.rot90(light, round(picture.rotation / 90)))
            if self.shape is None:
                self.shape = (light.shape[0], light.shape[1])
            elif light.shape != self.shape:
                old, new = times(self.shape[::-1]), times(light.shape[::-1])
                raise FileError(f"{self.path} changes from {old} to {new} at frame {number}; cut it there")
            levels = 0.0 if self.lossless else self._levels_of(picture)
            noise = per_level * math.hypot(ROUNDING_LEVELS / 2 ** (bits_of(picture) - 8), levels)
            time_s = number / self.rate if picture.time is None else float(picture.time)
            if time_s <= previous:  # ignore a wrong time stamp; the order of the frames is right
                time_s = previous + 1 / self.rate
            yield Frame(number, time_s, light, noise, lossy=levels > 0)
            number, previous = number + 1, time_s
        if number == 0:
            raise FileError(f"{self.path} has no picture that can be decoded; it may be cut off: play it to see")

    def _pictures(self) -> Iterator[Any]:
        """Decode and yield the undamaged frames; count the others.

        Decoders fill damaged areas from earlier frames, log an error, and predict later frames from the result. All
        frames from an error to the next key frame are therefore left out.
        """
        in_a_row, spoilt, count = 0, False, 0
        packets = self._container.demux(self._stream)
        while in_a_row < _MOST_DAMAGE:
            errors = self._errors_logged()
            try:
                packet = next(packets)
                if self._codec.name == "mjpeg" and packet.size and count % _TABLE_INTERVAL == 0:
                    self._levels = mjpeg_levels(bytes(packet))
                count += 1
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
                    yield picture
            spoilt |= not whole

    def _errors_logged(self) -> int:
        return int(self._av.logging.get_last_error()[0])

    def _curve_of(self, picture: Any) -> Curve:
        if self.curve is None:
            # Before PyAV 17 the stream has the transfer characteristics, its frames do not.
            transfer = int(getattr(picture, "color_trc", self._codec.color_trc))
            if self._linear and self._gamma is None and transfer in REFUSED:
                raise FileError(
                    f"{self.path} is {REFUSED[transfer]} video; convert it to standard range, or state its --gamma"
                )
            stored = self._image_file() or stored_as(picture, self._codec.name, transfer)
            self.curve = choose_curve(stored, linear=self._linear, gamma=self._gamma)
        return self.curve[0]

    def _image_file(self) -> StoredImage | None:
        """Read the first of numbered image files like a photograph; return None for other clips."""
        if not self._container.format.name.endswith(("image2", "_pipe")):
            return None
        for number in range(5):  # FFmpeg accepts the numbers 0 to 4 for the first
            with suppress(RelblurError, TypeError, ValueError), warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                return read_stored(self.path.with_name(self.name % number) if "%" in self.name else self.path)
        return None

    def _levels_of(self, picture: Any) -> float:
        """Return the compression error of a frame, levels of 255."""
        levels = h264_levels(picture) if self._codec.name == "h264" else self._levels
        return ASSUMED_LEVELS if levels is None else levels

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def __enter__(self) -> Clip:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
