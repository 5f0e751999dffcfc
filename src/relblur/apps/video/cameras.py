"""Read a live camera as frames of light with OpenCV, in a thread of its own.

Newer frames overwrite frames that were not taken in time, so that a measured pair is always recent; overwritten frames
are counted. Time stamps are those of this machine at the arrival of a frame. Cameras without a common trigger may be
half a frame interval apart.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from queue import Empty, Queue
from typing import Any

import numpy as np

from ...base.errors import FileError
from ...base.tone import Curve
from ...images.stored import StoredImage
from ...photo.tone_curves import choose_curve
from .clip import USUAL_RATE, Frame
from .light import ROUNDING_LEVELS, light_of

__all__ = ["LiveCamera"]

#: Length of a camera's queue of frames; a new frame replaces the oldest one.
QUEUE_LENGTH = 3

#: Compression error of Motion JPEG cameras, levels of 255: that of quality 85, because OpenCV gives no quality.
MJPEG_LEVELS = 2.5

#: A camera that sends no frame for this time counts as unplugged, s.
TIMEOUT_S = 5.0


class LiveCamera:
    """A camera as a source of frames.

    Parameters
    ----------
    number : int
        The system's number of the camera.
    linear, gamma
        As in :func:`relblur.imread`.
    open_camera : callable, optional
        Returns an object like ``cv2.VideoCapture(number)``.
    """

    def __init__(
        self,
        number: int,
        *,
        linear: bool = True,
        gamma: float | None = None,
        open_camera: Callable[[int], Any] | None = None,
    ) -> None:
        import cv2

        self.name = f"camera {number}"
        self.lost = 0  #: overwritten frames
        self._linear, self._gamma = linear, gamma
        self._curve: tuple[Curve, str] | None = None
        self._capture = (open_camera or cv2.VideoCapture)(number)
        if not self._capture.isOpened():
            raise FileError(f"{self.name} cannot be opened; is it connected, free, and yours to use?")
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.rate = rate if 0 < rate < 1000 else USUAL_RATE  #: nominal, frames per second
        code = int(self._capture.get(cv2.CAP_PROP_FOURCC)) & 0xFFFFFFFF
        self._lossy = code.to_bytes(4, "little").upper() in (b"MJPG", b"JPEG", b"H264", b"HEVC")
        self._queue: Queue[tuple[int, float, Any] | None] = Queue()
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        for number in count():
            succeeded, picture = self._capture.read()
            if self._queue.qsize() == QUEUE_LENGTH:
                with suppress(Empty):
                    self._queue.get_nowait()
                    self.lost += 1
            if not succeeded or self._over:
                self._queue.put(None)
                return
            self._queue.put((number, time.monotonic(), picture))

    def __iter__(self) -> Iterator[Frame]:
        with suppress(Empty):
            while (taken := self._queue.get(timeout=TIMEOUT_S)) is not None:
                number, time_s, picture = taken
                picture = np.asarray(picture)
                if self._curve is None:
                    stored = StoredImage(np.zeros((0, 0), picture.dtype), "camera")
                    self._curve = choose_curve(stored, linear=self._linear, gamma=self._gamma)
                colour = picture.ndim == 3 and picture.shape[2] == 3
                light, per_level = light_of(picture[:, :, ::-1] if colour else picture, self._curve[0])
                levels = math.hypot(ROUNDING_LEVELS, MJPEG_LEVELS if self._lossy else 0.0)
                yield Frame(number, time_s, light, per_level * levels, self._lossy)

    def describe(self) -> str:
        """Return the rate in one line; after the first frame also the tone curve."""
        curve = "" if self._curve is None else f"; {self._curve[0].name} ({self._curve[1]})"
        return f"{self.rate:.4g} frames a second{curve}"

    def close(self) -> None:
        """Release the camera."""
        self._over = True
        self._thread.join(TIMEOUT_S)
        self._capture.release()
