"""The curve M(sigma) of one pixel, its roots, and the cost of the window around it.

M(sigma) is the value of one pixel in an image blurred by sigma. Each sigma at which it equals the value R of the other
image is a candidate solution of the paper. Here sigma is signed, so that both directions lie on one axis:

    sigma >= 0:  M = (G_sigma * first)(x),   R = second(x)      second is the blurrier
    sigma <  0:  M = (G_|sigma| * second)(x), R = first(x)      first is the blurrier

The signed residual of ``method="window"`` is R - M for sigma >= 0 and M - R for sigma < 0. It is continuous at zero.
The method minimises its mean square over the window, per unit of noise variance.

Only pixels within reach of the largest kernel are used, so a curve takes milliseconds for images of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..base._typing import AnyArray, ArrayLike, BoolArray, FloatArray
from ..base.arguments import as_odd_size, as_positive, is_whole, times
from ..base.errors import InputError
from ..base.inputs import as_valid, check_form
from ..base.pixels import clipped_pixels, unit_float, without_gaps
from ..base.settings import MAX_SIGMA, WINDOW_WINDOW
from ..filters.decimation import mirrored
from ..filters.kernels import (
    BAND_LIMITED_RADIUS,
    Family,
    band_limited_kernel,
    band_limited_weights,
    kernel_radius,
    sampled_weights,
)
from .blur_map import BlurMap, Flag
from .comparable_pair import ComparablePair

__all__ = ["PixelCurve", "pixel_curve"]

#: Number of levels of blur on either side of zero: a step of 0.02 px up to 5 px gives roots to about 0.001 px.
LEVELS = 250


@dataclass(frozen=True, eq=False)
class PixelCurve:
    """The curve of a pixel; all arrays run along :attr:`sigma`.

    Attributes
    ----------
    row, column : int
    sigma : (N,) float64
        Signed blur in px, ascending, with zero in the middle; positive: second is the blurrier.
    blurred : (N,) float64
        M(sigma): for sigma >= 0 the value of ``first`` blurred by sigma, for sigma < 0 that of ``second`` blurred by
        ``|sigma|``; grey, on the images' scale.
    observed : (N,) float64
        R, the value of the other image: ``second`` for sigma >= 0, ``first`` for sigma < 0.
    cost : (N,) float64
        Mean square of the residual over the window, per unit of noise variance; NaN if no pixel of it is usable.
    roots : (K,) float64
        Signed sigmas at which M crosses R, ascending: the candidate solutions.
    window : int
        Side of the window of ``cost``, px.
    chosen, chosen_stderr : float
        Sigma of the map at this pixel and its standard error, px; NaN without a map, or where it has no answer.
    flags : int
        The map's flags here; 0 without a map.
    """

    row: int
    column: int
    sigma: FloatArray
    blurred: FloatArray
    observed: FloatArray
    cost: FloatArray
    roots: FloatArray
    window: int
    chosen: float = float("nan")
    chosen_stderr: float = float("nan")
    flags: int = 0

    @property
    def variance_difference(self) -> FloatArray:
        """``s = sign(sigma) sigma^2`` in px^2."""
        return np.sign(self.sigma) * self.sigma**2

    @property
    def first_value(self) -> float:
        """The grey value of the pixel in ``first``."""
        return float(self.observed[0])

    @property
    def second_value(self) -> float:
        """The grey value of the pixel in ``second``."""
        return float(self.observed[-1])

    @property
    def chosen_root(self) -> float:
        """The root nearest to the map's sigma, of the same direction; NaN if there is none."""
        same = self.roots[self.roots * self.chosen >= 0]
        return float(same[np.abs(same - self.chosen).argmin()]) if same.size else float("nan")

    @property
    def window_sigma(self) -> float:
        """Signed blur with the least ``cost`` of the window, px."""
        if not np.isfinite(self.cost).all():
            return float("nan")
        k = int(self.cost.argmin().clip(1, self.cost.size - 2))
        s, c = self.variance_difference[k - 1 : k + 2], self.cost[k - 1 : k + 2]
        # The minimum of a parabola in s, because cost is smooth in s and not in sigma.
        left, right = (c[1] - c[0]) / (s[1] - s[0]), (c[2] - c[1]) / (s[2] - s[1])
        bend = (right - left) / (s[2] - s[0])
        best = s[1] if bend <= 0 else (s[0] + s[1] - left / bend) / 2
        best = float(np.clip(best, s[0], s[2]))
        return float(np.sign(best) * np.sqrt(abs(best)))

    @property
    def flag_names(self) -> tuple[str, ...]:
        """The flags in words."""
        return tuple(str(flag.name).lower().replace("_", " ") for flag in Flag if self.flags & flag)


def pixel_curve(
    first: ArrayLike | ComparablePair,
    second: ArrayLike | int | None = None,
    row: int | None = None,
    column: int | None = None,
    *,
    blur_map: BlurMap | None = None,
    max_sigma: float | None = None,
    window: int | None = None,
    valid: ArrayLike | None = None,
    channel_axis: int | None = None,
) -> PixelCurve:
    """Compute the curve M(sigma) of one pixel, its roots, and the cost of the window around it.

    Parameters
    ----------
    first, second : arrays, or one ComparablePair
        The pair given to :func:`relblur.estimate_blur`. A ComparablePair is passed alone:
        ``pixel_curve(pair, row, column)``.
    row, column : int
        The pixel, counted from 0.
    blur_map : BlurMap, optional
        The estimate: source of ``chosen``, and of the kernel, prefilter, window and largest blur.
    max_sigma : float, optional
        Largest blur, px; that of the map, or 5.
    window : int, optional
        Side of the square of ``cost``, odd; that of the map, or 9.

    Examples
    --------
    >>> import numpy as np
    >>> from relblur import synth
    >>> sharp = np.random.default_rng(0).random((64, 64))
    >>> curve = pixel_curve(sharp, synth.blur_with_map(sharp, 1.5), 30, 30)
    >>> bool(np.abs(curve.roots - 1.5).min() < 0.01), round(curve.window_sigma, 2)
    (True, 1.5)
    """
    clipped: BoolArray | None = None
    if isinstance(first, ComparablePair):
        pair = first
        if second is not None:
            if np.ndim(second) != 0 or None not in (row, column):
                raise InputError("a comparable pair is followed by row and column: pixel_curve(pair, row, column)")
            given: Any = second
            row, column = given, row if column is None else column
        (first, second), valid, clipped, channel_axis, _ = pair.inputs(valid, None, channel_axis, None)
    if second is None:
        raise InputError("second is missing; pass two images, or what relblur.prepare_pair gives")
    images = tuple(
        check_form(image, name, channel_axis=channel_axis) for image, name in ((first, "first"), (second, "second"))
    )
    shape = images[0].shape[:2]
    if images[0].shape != images[1].shape:
        raise InputError(f"first and second differ in shape: {times(images[0].shape)} and {times(images[1].shape)}")
    place = _checked_place(row, column, shape)
    if blur_map is not None and blur_map.shape != shape:
        raise InputError(f"blur_map is {blur_map.shape}, the images {shape}; it belongs to another pair")
    options = _Options.of(blur_map, max_sigma, window)
    usable = None if valid is None else as_valid(valid, shape)
    if clipped is not None:
        usable = ~clipped if usable is None else usable & ~clipped
    patch = _cut(images[0], images[1], usable, *place, options)
    return _curve(patch, options, *place, blur_map)


@dataclass(frozen=True)
class _Options:
    """Levels and filters of the curve."""

    max_sigma: float
    window: int
    family: Family
    prefilter: float

    @classmethod
    def of(cls, blur_map: BlurMap | None, max_sigma: float | None, window: int | None) -> _Options:
        made_with = {} if blur_map is None else blur_map.settings
        if max_sigma is None:
            grid = made_with.get("sigmas")
            max_sigma = grid[-1] if grid else made_with.get("max_sigma", MAX_SIGMA)
        if window is None:
            window = int(made_with.get("window", WINDOW_WINDOW))
        return cls(
            as_positive(max_sigma, "max_sigma", "px"),
            as_odd_size(window, "window"),
            "sampled" if made_with.get("kernel") == "sampled" else "band_limited",
            float(made_with.get("prefilter", 0.0)),
        )

    @property
    def radius(self) -> int:
        """Radius of the widest kernel, px."""
        return max(kernel_radius(self.max_sigma), BAND_LIMITED_RADIUS)

    @property
    def levels(self) -> FloatArray:
        """Blurs on either side of zero, px."""
        return np.linspace(0.0, self.max_sigma, LEVELS + 1)

    @property
    def prefilter_taps(self) -> FloatArray:
        return band_limited_kernel(self.prefilter**2)


@dataclass(frozen=True)
class _Patch:
    """The surroundings of a pixel, (P, P, C): its window and a margin; the usable pixels of the window, (W, W)."""

    first: FloatArray
    second: FloatArray
    usable: BoolArray
    centre_is_finite: bool


def _checked_place(row: Any, column: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    for value, name, count in ((row, "row", shape[0]), (column, "column", shape[1])):
        if not is_whole(value) or not 0 <= value < count:
            raise InputError(f"{name} must be a whole number from 0 to {count - 1}, got {value!r}")
    return int(row), int(column)


def _cut(
    first: AnyArray, second: AnyArray, usable: BoolArray | None, row: int, column: int, options: _Options
) -> _Patch:
    """Cut out the surroundings of a pixel, mirrored at the border of the image as in the estimators."""
    half = options.window // 2
    reach = half + options.radius + len(options.prefilter_taps) // 2
    around = np.arange(-reach, reach + 1)
    places = np.ix_(mirrored(row + around, first.shape[0]), mirrored(column + around, first.shape[1]))
    good = np.ones((around.size, around.size), dtype=bool) if usable is None else usable[places]
    cuts, finite = [], np.ones_like(good)
    for image in (first, second):
        cut = np.ma.getdata(image)[places]
        here = np.isfinite(cut).all(axis=2)
        if np.ma.is_masked(image):
            here &= ~np.ma.getmaskarray(image)[places].any(axis=2)
        at_top = clipped_pixels(cut)
        if at_top is not None:
            good = good & ~at_top
        finite &= here
        whole = cut if here.all() else without_gaps(cut, here) if here.any() else np.zeros_like(cut)
        cuts.append(_convolved(unit_float(whole), options.prefilter_taps))
    middle = slice(reach - half, reach + half + 1)
    return _Patch(cuts[0], cuts[1], (good & finite)[middle, middle], bool(finite[reach, reach]))


def _convolved(patch: FloatArray, taps: FloatArray) -> FloatArray:
    """Filter a patch separably; return the part where the kernel lies inside it."""
    if taps.size == 1:
        return patch
    for axis in (0, 1):
        patch = np.lib.stride_tricks.sliding_window_view(patch, taps.size, axis=axis) @ taps
    return patch


def _curve(patch: _Patch, options: _Options, row: int, column: int, blur_map: BlurMap | None) -> PixelCurve:
    levels = options.levels
    taps = _kernels(options)
    inner = slice(options.radius, options.radius + options.window)
    first, second = patch.first[inner, inner], patch.second[inner, inner]
    from_first, from_second = (_blurred(image, taps, options.window) for image in (patch.first, patch.second))
    # In ascending order of sigma; zero belongs to the right half.
    residual = np.concatenate([(from_second - first)[:0:-1], second - from_first])
    half = options.window // 2
    middle = (slice(None), half, half)
    blurred = np.concatenate([from_second[middle][:0:-1], from_first[middle]]).mean(axis=1)
    seen = [float(image[half, half].mean()) for image in (first, second)]
    sigma = np.concatenate([-levels[:0:-1], levels])
    observed = np.where(sigma < 0, seen[0], seen[1])
    misfit = residual[middle].mean(axis=1)
    if not patch.centre_is_finite:
        observed, misfit = np.full_like(observed, np.nan), np.full_like(misfit, np.nan)
    gain = 1 + (taps**2).sum(axis=1) ** 2
    cost = _cost(residual, patch.usable, np.concatenate([gain[:0:-1], gain]))
    roots = _zeros(sigma, misfit, 1e-12 * max(map(abs, seen)))
    return PixelCurve(
        row, column, sigma, blurred, observed, cost, roots, options.window, *_map_at(blur_map, row, column)
    )


def _map_at(blur_map: BlurMap | None, row: int, column: int) -> tuple[float, float, int]:
    """Return sigma, its standard error and the flags of one pixel."""
    if blur_map is None:
        return float("nan"), float("nan"), 0
    one = blur_map[row : row + 1, column : column + 1]
    return float(one.sigma[0, 0]), float(one.sigma_stderr[0, 0]), int(one.flags[0, 0])


@lru_cache(maxsize=4)
def _kernels(options: _Options) -> FloatArray:
    """Return the normalised taps of every level, (N, 2 radius + 1)."""
    levels = options.levels
    weights = sampled_weights if options.family == "sampled" else band_limited_weights
    half = weights(levels[None, :], options.radius)[:, 0].T
    taps = np.concatenate([half[:, :0:-1], half], axis=1)
    return np.asarray(taps / taps.sum(axis=1, keepdims=True))


def _blurred(patch: FloatArray, taps: FloatArray, window: int) -> FloatArray:
    """Return the window of a patch blurred by every kernel, (N, window, window, C)."""
    count, length = taps.shape
    size, channels = window + length - 1, patch.shape[2]
    rows = np.zeros((count, window, size))
    for i in range(window):
        rows[:, i, i : i + length] = taps
    down = (rows.reshape(-1, size) @ patch.reshape(size, -1)).reshape(count, window, size, channels)
    return np.asarray(np.einsum("niqc,njq->nijc", down, rows, optimize=True))


def _cost(residual: FloatArray, usable: BoolArray, gain: FloatArray) -> FloatArray:
    if not usable.any():
        return np.full(len(residual), np.nan)
    return np.asarray((residual[:, usable] ** 2).mean(axis=(1, 2)) / gain)


def _zeros(sigma: FloatArray, misfit: FloatArray, rounding: float) -> FloatArray:
    """Return the zeros of a curve by linear interpolation; a run of zeros gives its mean."""
    side = np.where(np.abs(misfit) <= rounding, 0.0, np.sign(misfit))
    here = np.flatnonzero(side[:-1] * side[1:] < 0)
    share = misfit[here] / (misfit[here] - misfit[here + 1])
    zeros = list(sigma[here] + share * (sigma[here + 1] - sigma[here]))
    on = np.flatnonzero(side == 0)
    zeros += [float(sigma[run].mean()) for run in np.split(on, np.flatnonzero(np.diff(on) > 1) + 1) if run.size]
    return np.sort(np.array(zeros, dtype=np.float64))
