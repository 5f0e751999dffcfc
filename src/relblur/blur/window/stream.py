"""``Stream``: the same pair of cameras, frame after frame, in real time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

import numpy as np

from ... import __version__
from ...base._typing import AnyArray, ArrayLike, BoolArray
from ...base.arguments import as_choice, as_noise, as_odd_size, as_positive
from ...base.errors import InputError
from ...base.inputs import check_pair
from ...base.settings import MAX_SIGMA, SIDES, WINDOW_WINDOW, Sharper
from ...engines import require_numba, tell_terminal
from ...engines.threads import count_workers, renew_after_fork
from ..blur_map import BlurMap

if TYPE_CHECKING:
    from .realtime.runner import FrameFit

__all__ = ["Stream"]

#: Types of frames that are taken as they are.
FRAME_TYPES = ("uint8", "uint16", "float32", "float64")
#: Frames may be no larger than image files may be, nor of more colours than a multispectral camera has.
MOST_PIXELS, MOST_CHANNELS = 250_000_000, 64
#: Their names, by dtype; a foreign byte order is another dtype.
_NAMES = {np.dtype(name): name for name in FRAME_TYPES}


class Stream:
    """Estimate relative blur in pairs of frames of one size, in real time.

    The estimate is that of ``estimate_blur(method="window")``, in float32. Everything that
    does not depend on the pixels is prepared when the stream is made. The very first frames
    on a machine wait about ten seconds for code to be compiled; it is kept on disk.

    Parameters
    ----------
    shape : (rows, columns) or (rows, columns, channels)
        Of every frame.
    sharper : {"auto", "first", "second"}
        Which image is the sharper one; ``"auto"`` decides at every pixel.
    window : int
        Side of the square of neighbours, odd, 3 or more.
    max_sigma : float
        Largest relative blur that is looked for, px.
    noise : float or (first, second), optional
        Standard deviation of the noise on a scale of 0..1. By default the rounding step of
        the data is the least noise that is assumed, frame by frame.
    valid : (rows, columns) bool array, optional
        Pixels to use, True = use, in every frame.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    tell : callable, optional
        Called with a sentence before anything is compiled. By default the sentence goes to
        standard error if that is a terminal.

    Notes
    -----
    A result's arrays are read-only views of the stream's memory: the next ``process``
    overwrites them, so :meth:`BlurMap.copy` what should last. Calls from several threads
    wait for each other; give every thread a stream of its own to overlap.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import Stream, synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> blurry = synth.blur_with_map(sharp, 1.5)
    >>> with Stream(sharp.shape, sharper="first") as stream:
    ...     for first, second in [(sharp, blurry)]:
    ...         print(np.median(stream.process(first, second).sigma).round(2))
    1.5
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        *,
        sharper: str = "auto",
        window: int = WINDOW_WINDOW,
        max_sigma: float = MAX_SIGMA,
        noise: float | tuple[float, float] | None = None,
        valid: ArrayLike | None = None,
        workers: int | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._shape = _check_shape(shape)
        size = self._shape[:2]
        side: Sharper = as_choice(sharper, "sharper", SIDES)  # type: ignore[assignment]
        if as_odd_size(window, "window", size) < 3:
            raise InputError(f"window must be 3 or more for a stream, got {window!r}")
        if as_positive(max_sigma, "max_sigma", "px") > min(size) / 2:
            raise InputError(
                f"max_sigma={max_sigma:g} px is more than half the frame's shorter side; use {min(size) / 2:g} or less"
            )
        both = as_noise(noise)
        self._noise = None if both is None else max(both)
        self._valid = None if valid is None else _check_valid(valid, size)
        threads = count_workers(workers)
        require_numba()
        from .realtime import runner as engine  # brings numba with it

        self._core = engine
        self._tell = tell_terminal if tell is None else tell
        self._lock = threading.Lock()
        renew_after_fork(self, Stream._renew)
        self._closed = False
        self._ready: set[str] = set()
        self._engine = engine.WindowEngine(size, self._shape[2], side, int(window), float(max_sigma), threads)
        self._settings = {
            "relblur": __version__,
            "method": "window",
            "sharper": sharper,
            "window": int(window),
            "prefilter": 0.0,
            "engine": "numba",
            "kernel": "band_limited",
            "max_sigma": float(max_sigma),
        }

    def _renew(self) -> None:
        """Begin anew in a process that was forked off: whoever held the lock is in another one."""
        self._lock = threading.Lock()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        return self._shape[0], self._shape[1]

    @property
    def nbytes(self) -> int:
        """Memory that the stream holds."""
        return self._engine.nbytes

    def prepare(self, *frame_types: str) -> None:
        """Load or compile the code for frames of these dtypes now instead of at the first frame."""
        new = set(frame_types) - self._ready
        if new:
            unknown = ", ".join(sorted(new - set(FRAME_TYPES)))
            if unknown:
                raise InputError(f"frame_types must be among {', '.join(FRAME_TYPES)}; got {unknown}")
            self._core.prepare(*sorted(new), tell=self._tell)
            self._ready |= new

    def process(self, first: ArrayLike, second: ArrayLike) -> BlurMap:
        """Estimate one pair.

        Parameters
        ----------
        first, second : arrays of the stream's shape
            float32 or float64, taken as they are, or uint8 or uint16, divided by their full
            scale. Nothing large is allocated unless a frame is not contiguous or holds NaN.

        Returns
        -------
        BlurMap
            float32; its arrays are overwritten by the next call.
        """
        one, two = self._check(first, "first"), self._check(second, "second")
        with self._lock:
            if self._closed:
                raise InputError("this stream is closed; make a new one")
            self.prepare(_NAMES[one.dtype], _NAMES[two.dtype])
            fit = self._fit(one, two)
        settings = {**self._settings, "noise": fit.noise}
        return BlurMap.of_views(fit.s, fit.stderr, fit.flags, fit.sharper, settings)

    def _fit(self, one: AnyArray, two: AnyArray) -> FrameFit:
        try:
            return self._engine.run(one, two, noise=self._noise, valid=self._valid)
        except self._core.NotOrdinaryError:
            # Rare and slow: filled as estimate_blur does.
            return self._fit_filled(one, two)

    def _fit_filled(self, one: AnyArray, two: AnyArray) -> FrameFit:
        shape = self._shape
        pair = check_pair(one.reshape(shape), two.reshape(shape), valid=self._valid, channel_axis=-1)
        frames: list[AnyArray] = []
        unit = 1.0
        if pair.first.dtype.kind == pair.second.dtype.kind == "f":
            unit = self._core.single_precision_unit(pair.first, pair.second)
        for image in (pair.first, pair.second):
            image = image if unit == 1 else (image / unit).astype(np.float64)
            frames.append(np.ascontiguousarray(image).reshape(shape[0], -1))
        self.prepare(*{_NAMES[frame.dtype] for frame in frames})
        noise = None if self._noise is None else self._noise / unit
        return self._engine.run(frames[0], frames[1], noise=noise, valid=pair.finite, checked=True)

    def _check(self, frame: ArrayLike, name: str) -> AnyArray:
        array = np.ascontiguousarray(frame)
        rows, columns, channels = self._shape
        if array.shape not in ((rows, columns, channels), (rows, columns) if channels == 1 else ()):
            wanted = (rows, columns) if channels == 1 else self._shape
            raise InputError(f"{name} has shape {array.shape}; this stream takes {wanted}, make one for each size")
        if array.dtype not in _NAMES:
            raise InputError(f"{name} is {array.dtype}; a stream takes native {', '.join(FRAME_TYPES)}, convert it")
        return array.reshape(rows, columns * channels)

    def close(self) -> None:
        """End the threads. A closed stream cannot process."""
        with self._lock:
            self._closed = True
            self._engine.close()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    try:
        sizes = [int(n) for n in shape]
    except (TypeError, ValueError):
        raise InputError(f"shape must be (rows, columns) or (rows, columns, channels), got {shape!r}") from None
    if len(sizes) in (2, 3) and min(sizes) > 0 and math.prod(sizes[:2]) > MOST_PIXELS:
        raise InputError(
            f"shape {shape!r} is {math.prod(sizes[:2]) / 1e6:.3g} megapixels; a stream takes {MOST_PIXELS / 1e6:g}"
        )
    if len(sizes) == 3 and sizes[2] > MOST_CHANNELS:
        raise InputError(f"shape {shape!r} has {sizes[2]} channels; a stream takes {MOST_CHANNELS}")
    if len(sizes) not in (2, 3) or min(sizes[:2]) < 2 or min(sizes) < 1:
        raise InputError(f"shape must be (rows, columns), 2 or more each, or (rows, columns, channels), got {shape!r}")
    return sizes[0], sizes[1], sizes[2] if len(sizes) == 3 else 1


def _check_valid(valid: ArrayLike, size: tuple[int, int]) -> BoolArray:
    usable = np.ascontiguousarray(valid)
    if usable.shape != size or usable.dtype != bool:
        raise InputError(f"valid must be booleans of shape {size}, got {usable.dtype} of shape {usable.shape}")
    if not usable.any():
        raise InputError("valid leaves no pixel to use; at least one must be True")
    return usable
