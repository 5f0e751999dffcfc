"""``Stream``: relative blur of a pair of cameras in real time."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np

from ... import __version__
from ...base._typing import AnyArray, ArrayLike, BoolArray
from ...base.arguments import as_choice, as_noise, as_odd_size, as_positive, plain_array
from ...base.errors import InputError
from ...base.inputs import MOST_CHANNELS, check_pair, looks_like_alpha, refuse_mixed_scales
from ...base.pixels import clipped_pixels, full_scale, without_gaps
from ...base.settings import MAX_SIGMA, SIDES, WINDOW_WINDOW, Sharper
from ...base.tone import Curve, light_in_16_bits, power_curve
from ...kernels.compiled import kernels
from ...kernels.threads import count_workers, renew_after_fork
from ..blur_map import BlurMap
from .realtime import FrameFit, NotOrdinaryError, WindowEngine, single_precision_unit
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
    tell : callable, optional
        Deprecated and not used.

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
        tell: Callable[[str], None] | None = None,
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
        self._lock = threading.Lock()
        renew_after_fork(self, Stream._renew)
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

    def _renew(self) -> None:
        """Renew the lock in a forked process, which has no other thread that could release it."""
        self._lock = threading.Lock()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of a frame."""
        return self._shape[0], self._shape[1]

    @property
    def nbytes(self) -> int:
        """Memory of the stream, bytes."""
        return self._engine.nbytes + (0 if self._rig is None else self._rig.nbytes)

    def prepare(self, *frame_types: str) -> None:
        """Check the names of the frames' dtypes; a stream needs no other preparation."""
        unknown = ", ".join(sorted(set(frame_types) - set(FRAME_TYPES)))
        if unknown:
            raise InputError(f"frame_types must be among {', '.join(FRAME_TYPES)}; got {unknown}")

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
        with self._lock:
            if self._closed:
                raise InputError("this stream is closed; make a new one")
            if self._rig is None:
                fit = self._fit(one, two, noise, self._valid_but(bad_one, bad_two))
            else:
                fit = self._fit_in_rig(self._rig, (one, two), noise, bad_one, bad_two)
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

    def _fit_in_rig(
        self,
        rig: Rig,
        frames: tuple[AnyArray, AnyArray],
        noise: float | None,
        bad_one: BoolArray | None,
        bad_two: BoolArray | None,
    ) -> FrameFit:
        """Correct the second frame with its bad and clipped pixels, then fit the pair."""
        one, two = frames
        size = self.shape
        planes = two.reshape(self._shape)
        if two.dtype.kind == "f" and not np.isfinite(two.sum(dtype=np.float64)):
            gaps: BoolArray = np.asarray(~np.isfinite(planes).all(axis=2))
            bad_two = gaps if bad_two is None else bad_two | gaps
        if bad_two is not None:
            if bad_two.all():
                raise InputError("second holds no usable pixel; all are masked or not finite")
            two = np.ascontiguousarray(without_gaps(planes, ~bad_two)).reshape(two.shape)
            bad_two = rig.undo_map(bad_two)
        clipped = None
        if two.dtype.kind == "u" and two.max() == full_scale(two.dtype):
            at_top = clipped_pixels(two.reshape(self._shape))
            clipped = None if at_top is None else rig.undo_map(at_top)
        valid = self._valid_but(bad_one, bad_two)
        assert valid is None or valid.shape == size
        return self._fit(one, rig.undo(two), noise, valid, clipped)

    def _fit(
        self,
        one: AnyArray,
        two: AnyArray,
        noise: float | None,
        valid: BoolArray | None,
        clipped: BoolArray | None = None,
    ) -> FrameFit:
        try:
            return self._engine.run(one, two, noise=noise, valid=valid, clipped=clipped)
        except NotOrdinaryError:
            # Rare and slow: fill bad pixels as estimate_blur does.
            return self._fit_filled(one, two, noise, valid, clipped)

    def _fit_filled(
        self,
        one: AnyArray,
        two: AnyArray,
        noise: float | None,
        valid: BoolArray | None,
        clipped: BoolArray | None,
    ) -> FrameFit:
        shape = self._shape
        pair = check_pair(one.reshape(shape), two.reshape(shape), valid=valid, channel_axis=-1)
        frames: list[AnyArray] = []
        unit = 1.0
        if pair.first.dtype.kind == pair.second.dtype.kind == "f":
            unit = single_precision_unit(pair.first, pair.second)
        for image in (pair.first, pair.second):
            image = image if unit == 1 else (image / unit).astype(np.float64)
            frames.append(np.ascontiguousarray(image).reshape(shape[0], -1))
        noise = None if noise is None else noise / unit
        return self._engine.run(frames[0], frames[1], noise=noise, valid=pair.finite, checked=True, clipped=clipped)

    def _check(self, frame: ArrayLike, name: str) -> tuple[AnyArray, BoolArray | None]:
        """Return a frame as (rows, columns x channels), and a map of its masked pixels (None: none)."""
        array = plain_array(frame, name)
        rows, columns, channels = self._shape
        if array.shape not in ((rows, columns, channels), (rows, columns) if channels == 1 else ()):
            raise InputError(self._wrong_shape(array.shape, name))
        if array.dtype not in _NAMES:
            raise InputError(f"{name} is {array.dtype}; a stream takes native {', '.join(FRAME_TYPES)}, convert it")
        masked = None
        if np.ma.is_masked(array):
            masked = np.ascontiguousarray(np.ma.getmaskarray(array).reshape(self._shape).any(axis=2))
        values = np.ascontiguousarray(np.ma.getdata(array))
        if channels in (2, 4) and looks_like_alpha(values[::_STEP, ::_STEP, -1]):
            raise InputError(
                f"the last channel of {name} is alpha, not light; make the stream for "
                f"{(rows, columns, channels - 1)} and pass {name}[..., :{channels - 1}]"
            )
        return values.reshape(rows, columns * channels), masked

    def _wrong_shape(self, shape: tuple[int, ...], name: str) -> str:
        rows, columns, channels = self._shape
        wanted = (rows, columns) if channels == 1 else self._shape
        problem = f"{name} has shape {shape}; this stream takes {wanted}"
        if shape == (rows, columns, channels + 1) and channels in (1, 3):
            return f"{problem}: leave its alpha channel out, {name}[..., :{channels}]"
        if shape == (channels, rows, columns):
            return f"{problem}: bring its channels to the end, numpy.moveaxis({name}, 0, -1)"
        if shape == (columns, rows) or shape == (columns, rows, channels):
            return f"{problem}: rows come first, columns second; make the stream for {shape}"
        return f"{problem}, make one for each size"

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
    usable = np.array(valid, order="C")  # a copy: the caller may modify the original
    if usable.shape != size or usable.dtype != bool:
        raise InputError(f"valid must be booleans of shape {size}, got {usable.dtype} of shape {usable.shape}")
    if not usable.any():
        raise InputError("valid leaves no pixel to use; at least one must be True")
    return usable
