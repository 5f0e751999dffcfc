"""Read two live cameras as pairs of frames of light with OpenCV.

Both frames are grabbed in immediate succession and then decoded. The queues contain one frame, so a pair is recent;
frames between pairs are skipped. Cameras without a common trigger may be half a frame interval apart.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import numpy as np

from ...base.errors import FileError
from ...base.tone import Curve
from ...images.stored import StoredImage
from ...photo.tone_curves import choose_curve
from .clip import USUAL_RATE, Frame
from .light import ROUNDING_LEVELS, light_of

__all__ = ["LiveCamera", "pairs_of_cameras"]

#: Compression error of Motion JPEG cameras, levels of 255: that of quality 85, because OpenCV gives no quality.
MJPEG_LEVELS = 2.5


class LiveCamera:
    """A camera with a number of the operating system; ``linear`` and ``gamma`` are those of :func:`relblur.imread`.

    ``open_camera`` returns an object like ``cv2.VideoCapture(number)``.
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
        self._linear, self._gamma = linear, gamma
        self._curve: tuple[Curve, str] | None = None
        self._capture = (open_camera or cv2.VideoCapture)(number)
        if not self._capture.isOpened():
            raise FileError(f"{self.name} cannot be opened; check that it is connected, not in use, and permitted")
        self._capture.set(cv2.CAP_PROP_BUFFERSIZE, 1)
        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.rate = rate if 0 < rate < 1000 else USUAL_RATE  #: nominal, frames per second
        code = int(self._capture.get(cv2.CAP_PROP_FOURCC)) & 0xFFFFFFFF
        self._lossy = code.to_bytes(4, "little").upper() in (b"MJPG", b"JPEG", b"H264", b"HEVC")

    def grab(self) -> bool:
        """Take the next frame; return False if the camera has none."""
        return bool(self._capture.grab())

    def frame(self, number: int, time_s: float) -> Frame | None:
        """Return the frame taken last; None if it cannot be decoded."""
        succeeded, picture = self._capture.retrieve()
        if not succeeded:
            return None
        picture = np.asarray(picture)
        if self._curve is None:
            stored = StoredImage(np.zeros((0, 0), picture.dtype), "camera")
            self._curve = choose_curve(stored, linear=self._linear, gamma=self._gamma)
        colour = picture.ndim == 3 and picture.shape[2] == 3
        light, per_level = light_of(picture[:, :, ::-1] if colour else picture, self._curve[0])
        levels = math.hypot(ROUNDING_LEVELS, MJPEG_LEVELS if self._lossy else 0.0)
        return Frame(number, time_s, light, per_level * levels, self._lossy)

    def describe(self) -> str:
        """Return the frame rate as text; after the first frame also the tone curve."""
        curve = "" if self._curve is None else f"; {self._curve[0].name} ({self._curve[1]})"
        return f"{self.rate:.4g} frames a second{curve}"

    def close(self) -> None:
        """Release the camera."""
        self._capture.release()


def pairs_of_cameras(first: LiveCamera, second: LiveCamera) -> Iterator[tuple[Frame, Frame]]:
    """Yield pairs of frames until a camera ends; the time stamp is that of this machine."""
    for number in count():
        if not (first.grab() and second.grab()):
            return
        time_s = time.monotonic()
        one, two = first.frame(number, time_s), second.frame(number, time_s)
        if one is None or two is None:
            return
        yield one, two
