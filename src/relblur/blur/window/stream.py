"""``Stream``: relative blur of a pair of cameras in real time."""

from __future__ import annotations

import math
import os
import threading
from types import TracebackType
from typing import Any

import numpy as np

from ... import __version__
from ...base._typing import AnyArray, ArrayLike, BoolArray
from ...base.arguments import as_choice, as_noise, as_odd_size, as_positive, plain_array
from ...base.errors import InputError
from ...base.inputs import MOST_CHANNELS, check_pair, refuse_mixed_scales
from ...base.pixels import full_scale
from ...base.settings import MAX_SIGMA, SIDES, WINDOW_WINDOW, Sharper
from ...base.tone import Curve, light_in_16_bits, power_curve
from ...kernels.compiled import kernels
from ...kernels.threads import count_workers
from ..blur_map import BlurMap
from .realtime import FrameFit, NotOrdinaryError, WindowEngine
from .rig import Rig, read_calibration

__all__ = ["Stream"]

#: Types of frames that are accepted without conversion.
FRAME_TYPES = ("uint8", "uint16", "float32", "float64")
#: Largest frame, pixels; the same as for image files.
MOST_PIXELS = 250_000_000
#: Step of the sample for the scale of a frame, px.
_STEP = 16
#: Names of the accepted types by dtype; arrays of a foreign byte order have another dtype.
_NAMES = {np.dtype(name): name for name in FRAME_TYPES}


class Stream:
    """Estimate relative blur in pairs of frames of one size, in real time.

    The estimate is that of ``estimate_blur(method="window")``, in float32. Filters and memory are prepared when the
    stream is made.

    Parameters
    ----------
    shape : (rows, columns) or (rows, columns, channels)
        Shape of every frame.
    sharper : {"auto", "first", "second"}
        The sharper image; ``"auto"`` decides at every pixel.
    window : int
        Side of the square of neighbours, odd, 3 or more.
    max_sigma : float
        Largest relative blur of the search, px.
    noise : float or (first, second), optional
        Standard deviation of the noise on a scale of 0..1; by default that of the rounding step of each frame.
    valid : (rows, columns) bool array, optional
        Pixels to use, True = use, in every frame.
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.
    calibration : optional
        Misalignment and exposure of a rig, undone in every ``second``. It is the result of :func:`relblur.align` or
        :func:`relblur.match_exposure` for one pair of frames, or both, ``(aligned, matched)``, or a 3 x 3 transform
        from (row, column, 1) of ``first`` to ``second``.
    gamma : float, optional
        The tone curve of the frames: ``light = stored ** gamma``. By default frames contain light.

    Notes
    -----
    The arrays of a result are read-only views of the stream's memory. The next ``process`` overwrites them, so copy
    maps that are used later (:meth:`BlurMap.copy`). Calls from several threads run one after the other; give every
    thread its own stream.

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
        calibration: Any = None,
        gamma: float | None = None,
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
        self._curve = None if gamma is None else power_curve(as_positive(gamma, "gamma"))
        threads = count_workers(workers)
        kernels()  # raises an error if they are not built
        self._lock, self._process = threading.Lock(), os.getpid()
        self._closed = False
        self._engine = WindowEngine(size, self._shape[2], side, int(window), float(max_sigma), threads)
        self._rig = None if calibration is None else self._make_rig(calibration)
        self._settings = {
            "relblur": __version__,
            "method": "window",
            "sharper": sharper,
            "window": int(window),
            "prefilter": 0.0,
            "engine": "compiled",
            "kernel": "band_limited",
            "max_sigma": float(max_sigma),
        }
        if gamma is not None:
            self._settings["gamma"] = float(gamma)

    def _make_rig(self, calibration: Any) -> Rig:
        rig = Rig(read_calibration(calibration, self._shape), self._shape, self._engine.team)
        if not rig.inside.all():
            self._valid = rig.inside if self._valid is None else rig.inside & self._valid
            if not self._valid.any():
                raise InputError("valid and calibration together leave no pixel to use; at least one must be True")
        return rig

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        return self._shape[0], self._shape[1]

    @property
    def nbytes(self) -> int:
        """Memory of the stream, bytes."""
        return self._engine.nbytes + (0 if self._rig is None else self._rig.nbytes)

    def process(self, first: ArrayLike, second: ArrayLike) -> BlurMap:
        """Estimate one pair.

        Parameters
        ----------
        first, second : arrays of the stream's shape
            float32 or float64, used unchanged, or uint8 or uint16, divided by their full scale. They contain light
            unless the stream has a ``gamma``. Masked pixels are left out. No large memory is allocated for contiguous
            frames without masks and NaN, in a stream without ``calibration`` and ``gamma``.

        Returns
        -------
        BlurMap
            float32; its arrays are overwritten by the next call.
        """
        (one, bad_one), (two, bad_two) = self._check(first, "first"), self._check(second, "second")
        if one.dtype.kind != two.dtype.kind:
            refuse_mixed_scales(*(frame[::_STEP, ::_STEP, None] for frame in (one, two)))
        noise = self._noise
        if self._curve is not None and not self._curve.is_linear:
            (one, noise_one), (two, noise_two) = _as_light(one, self._curve), _as_light(two, self._curve)
            noise = (max(noise_one, noise_two) or None) if noise is None else noise
        if self._process != os.getpid():  # forked: no thread of this process can release the lock
            self._lock, self._process = threading.Lock(), os.getpid()
        with self._lock:
            if self._closed:
                raise InputError("this stream is closed; make a new one")
            clipped = None
            if self._rig is not None:
                two, bad_two, clipped = self._rig.undo_all(two, bad_two)
            fit = self._fit(one, two, noise, self._valid_but(bad_one, bad_two), clipped)
        settings = {**self._settings, "noise": fit.noise}
        return BlurMap.of_views(fit.s, fit.stderr, fit.flags, fit.sharper, settings)

    def _valid_but(self, *bad: BoolArray | None) -> BoolArray | None:
        """Return the valid mask without the pixels that are bad in this pair."""
        valid = self._valid
        for each in bad:
            if each is not None:
                valid = ~each if valid is None else valid & ~each
        if valid is not None and valid is not self._valid and not valid.any():
            raise InputError("no pixel of this pair is usable: all are masked, not finite or not valid")
        return valid

    def _fit(
        self,
        one: AnyArray,
        two: AnyArray,
        noise: float | None,
        valid: BoolArray | None,
        clipped: BoolArray | None,
    ) -> FrameFit:
        try:
            return self._engine.run(one, two, noise=noise, valid=valid, clipped=clipped)
        except NotOrdinaryError:  # rare and slow: fill bad pixels as estimate_blur does
            frames = (frame.reshape(self._shape) for frame in (one, two))
            raw = check_pair(*frames, valid=valid, clipped=clipped, channel_axis=-1)
            return self._engine.run_checked(raw, noise)

    def _check(self, frame: ArrayLike, name: str) -> tuple[AnyArray, BoolArray | None]:
        """Return a frame as (rows, columns x channels), and a map of its masked pixels (None: none)."""
        array = plain_array(frame, name)
        rows, columns, channels = self._shape
        if array.shape != self._shape and (channels > 1 or array.shape != (rows, columns)):
            expected = (rows, columns) if channels == 1 else self._shape
            raise InputError(f"{name} has shape {array.shape}; this stream takes {expected}, make one for each shape")
        if array.dtype not in _NAMES:
            raise InputError(f"{name} is {array.dtype}; a stream takes native {', '.join(FRAME_TYPES)}, convert it")
        masked = None
        if np.ma.is_masked(array):
            masked = np.ascontiguousarray(np.ma.getmaskarray(array).reshape(self._shape).any(axis=2))
        return np.ascontiguousarray(np.ma.getdata(array)).reshape(rows, columns * channels), masked

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


def _as_light(frame: AnyArray, curve: Curve) -> tuple[AnyArray, float]:
    """Return the light of a frame, and the noise of its rounding in light; 0 for floats."""
    if frame.dtype.kind == "f":
        return curve.undo(frame, frame.dtype.type), 0.0
    light, per_level = light_in_16_bits(frame, curve)
    return light, per_level * 255 / (full_scale(frame.dtype) or 255) / math.sqrt(12)


def _check_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    try:
        sizes = [int(n) for n in shape]
        rows, columns, channels = sizes if len(sizes) == 3 else [*sizes, 1]
    except (TypeError, ValueError):
        rows = columns = channels = 0
    if min(rows, columns) < 2 or rows * columns > MOST_PIXELS or not 1 <= channels <= MOST_CHANNELS:
        raise InputError(
            "shape must be (rows, columns) or (rows, columns, channels); a stream takes 2 or more rows and columns, "
            f"{MOST_PIXELS / 1e6:g} megapixels and {MOST_CHANNELS} channels, got {shape!r}"
        )
    return rows, columns, channels


def _check_valid(valid: ArrayLike, size: tuple[int, int]) -> BoolArray:
    usable = np.array(valid, order="C")  # a copy, because the caller may modify the original
    if usable.shape != size or usable.dtype != bool:
        raise InputError(f"valid must be booleans of shape {size}, got {usable.dtype} of shape {usable.shape}")
    if not usable.any():
        raise InputError("valid leaves no pixel to use; at least one must be True")
    return usable
