"""Read two live cameras as frames of light with OpenCV, each camera in its own thread.

Cameras deliver at their own rate. Newer frames overwrite frames that were not taken in time, so that a measured pair is
always recent; overwritten frames are counted. Time stamps are those of this machine at the arrival of a frame. Cameras
without a common trigger may be half a frame interval apart.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import numpy as np

from ...base.errors import FileError
from ...base.tone import Curve
from ...images.stored import StoredImage
from ...photo.tone_curves import choose_curve
from .clip import USUAL_RATE, Frame
from .light import ROUNDING_LEVELS, light_of_colours, light_of_grey

__all__ = ["Cameras"]

#: Length of a camera's queue of frames; a new frame replaces the oldest one.
QUEUE_LENGTH = 3

#: Compression error of Motion JPEG cameras, levels of 255: that of quality 85, because OpenCV gives no quality.
MJPEG_LEVELS = 2.5

#: A camera that sends no frame for this time counts as unplugged, s.
TIMEOUT_S = 5.0


class Cameras:
    """Two cameras, read as a pair of sources.

    Parameters
    ----------
    numbers : (first, second)
        The system's numbers of the cameras, in the order of the pair.
    open_camera : callable, optional
        Returns an object like ``cv2.VideoCapture(number)``.
    """

    def __init__(
        self,
        numbers: tuple[int, int],
        *,
        linear: bool = True,
        gamma: float | None = None,
        open_camera: Callable[[int], Any] | None = None,
    ) -> None:
        if numbers[0] == numbers[1]:
            raise FileError(f"the two cameras are the same, number {numbers[0]}; name two, such as --camera 0 1")
        kinds = {dtype: StoredImage(np.zeros((0, 0), dtype), "camera") for dtype in (np.uint8, np.uint16)}
        curves = {np.dtype(t): choose_curve(kind, linear=linear, gamma=gamma) for t, kind in kinds.items()}
        self._both: list[_Camera] = []
        try:
            for number in numbers:
                self._both.append(_Camera(number, curves, open_camera or _capture))
        except BaseException:
            self.close()
            raise

    @property
    def rate(self) -> float:
        """Nominal rate of the slower camera, frames per second."""
        return min(camera.rate for camera in self._both)

    @property
    def overrun(self) -> tuple[int, int]:
        """Number of frames of each camera that newer frames have overwritten."""
        return self._both[0].overrun, self._both[1].overrun

    def sources(self) -> tuple[Iterator[Frame], Iterator[Frame]]:
        """Return the endless sequence of frames of each camera."""
        return self._both[0].frames(), self._both[1].frames()

    def describe(self) -> list[str]:
        """Return a line with the tone curve of each camera that has sent a frame."""
        return [f"camera {c.number}: {c.curve[0].name} ({c.curve[1]})" for c in self._both if c.curve is not None]

    def close(self) -> None:
        """Release the cameras."""
        for camera in self._both:
            camera.close()

    def __enter__(self) -> Cameras:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _capture(number: int) -> Any:
    import cv2

    logging = getattr(cv2, "utils", None) and getattr(cv2.utils, "logging", None)
    if logging is not None:  # relblur reports a missing camera itself
        logging.setLogLevel(logging.LOG_LEVEL_SILENT)
    return cv2.VideoCapture(number)


class _Camera:
    def __init__(
        self, number: int, curves: dict[np.dtype[Any], tuple[Curve, str]], open_camera: Callable[[int], Any]
    ) -> None:
        self.number, self._curves = number, curves
        self.curve: tuple[Curve, str] | None = None
        self._capture = open_camera(number)
        if not self._capture.isOpened():
            raise FileError(f"camera {number} cannot be opened; is it connected, free, and yours to use?")
        import cv2

        rate = float(self._capture.get(cv2.CAP_PROP_FPS))
        self.rate = rate if 0 < rate < 1000 else USUAL_RATE
        code = int(self._capture.get(cv2.CAP_PROP_FOURCC)) & 0xFFFFFFFF
        self._lossy = code.to_bytes(4, "little").upper() in (b"MJPG", b"JPEG", b"H264", b"HEVC")
        self._queue: deque[tuple[int, float, Any]] = deque()
        self._new = threading.Condition()
        self.overrun = 0
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        number = 0
        while not self._over:
            succeeded, picture = self._capture.read()
            now = time.monotonic()
            with self._new:
                if not succeeded:
                    self._over = True
                else:
                    if len(self._queue) == QUEUE_LENGTH:
                        self._queue.popleft()
                        self.overrun += 1
                    self._queue.append((number, now, picture))
                self._new.notify()
            number += 1

    def frames(self) -> Iterator[Frame]:
        while True:
            with self._new:
                self._new.wait_for(lambda: bool(self._queue) or self._over, TIMEOUT_S)
                if not self._queue:
                    return
                number, time_s, picture = self._queue.popleft()
            picture = np.asarray(picture)
            self.curve = self._curves[picture.dtype]
            curve, _ = self.curve
            colour = picture.ndim == 3 and picture.shape[2] == 3
            light = light_of_colours(picture[:, :, ::-1], curve) if colour else light_of_grey(picture, curve)
            levels = math.hypot(ROUNDING_LEVELS, MJPEG_LEVELS if self._lossy else 0.0)
            yield Frame(number, time_s, light.values, light.per_level * levels, self._lossy)

    def close(self) -> None:
        self._over = True
        self._thread.join(TIMEOUT_S)
        self._capture.release()
