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

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.arguments import as_odd_size, as_positive, is_whole, times
from ..base.errors import InputError
from ..base.inputs import Pair, RawPair, as_valid, check_form
from ..base.settings import MAX_SIGMA, WINDOW_WINDOW
from ..filters.decimation import mirrored
from ..filters.kernels import (
    BAND_LIMITED_RADIUS,
    band_limited_kernel,
    band_limited_weights,
    kernel_radius,
    sampled_weights,
)
from .blur_map import BlurMap, Flag, flag_name
from .comparable_pair import ComparablePair
from .global_statistics import clean
from .input_pair import InputPair

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
    def window_sigma(self) -> float:
        """Signed blur with the least ``cost`` of the window, px."""
        if not np.isfinite(self.cost).all():
            return float("nan")
        k = int(self.cost.argmin().clip(1, self.cost.size - 2))
        s, c = self.variance_difference[k - 1 : k + 2], self.cost[k - 1 : k + 2]
        # The minimum of a parabola in s: the cost is smooth in s, but not in sigma.
        left, right = (c[1] - c[0]) / (s[1] - s[0]), (c[2] - c[1]) / (s[2] - s[1])
        bend = (right - left) / (s[2] - s[0])
        best = s[1] if bend <= 0 else (s[0] + s[1] - left / bend) / 2
        best = float(np.clip(best, s[0], s[2]))
        return float(np.sign(best) * np.sqrt(abs(best)))

    @property
    def flag_names(self) -> tuple[str, ...]:
        """The flags in words."""
        return tuple(flag_name(flag) for flag in Flag if self.flags & flag)


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
        The estimate, which sets ``chosen``, the kernel, the prefilter, the window and the largest blur.
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
    if isinstance(first, ComparablePair):
        if second is not None and column is not None:
            raise InputError("a pair contains both images; call pixel_curve(pair, row, column)")
        if second is not None:
            second, row, column = None, second, row
    given = InputPair.of(InputPair(first, second, valid, channel_axis=channel_axis))
    raw, shape = _uncut(given)
    for value, name, count in ((row, "row", shape[0]), (column, "column", shape[1])):
        if not is_whole(value) or not 0 <= value < count:  # type: ignore[operator]
            raise InputError(f"{name} must be a whole number from 0 to {count - 1}, got {value!r}")
    if blur_map is not None and blur_map.shape != shape:
        raise InputError(f"blur_map is {blur_map.shape}, the images {shape}; it belongs to another pair")
    assert row is not None
    assert column is not None
    settings = {} if blur_map is None else blur_map.settings
    if max_sigma is None:
        max_sigma = settings["sigmas"][-1] if "sigmas" in settings else settings.get("max_sigma", MAX_SIGMA)
    if window is None:
        window = int(settings.get("window", WINDOW_WINDOW))
    levels = np.linspace(0.0, as_positive(max_sigma, "max_sigma", "px"), LEVELS + 1)
    window = as_odd_size(window, "window")
    curve = _curve(raw, (row, column), levels, window, settings)
    if blur_map is not None:
        one = blur_map[row : row + 1, column : column + 1]
        chosen, stderr = float(one.sigma[0, 0]), float(one.sigma_stderr[0, 0])
        curve = replace(curve, chosen=chosen, chosen_stderr=stderr, flags=int(one.flags[0, 0]))
    return curve


def _uncut(given: InputPair) -> tuple[RawPair, tuple[int, int]]:
    """Return the whole images and their maps; the values are not checked."""
    one, two = (
        check_form(image, name, channel_axis=given.channel_axis)
        for image, name in ((given.first, "first"), (given.second, "second"))
    )
    if one.shape != two.shape:
        raise InputError(f"first and second differ in shape: {times(one.shape)} and {times(two.shape)}")
    shape = one.shape[0], one.shape[1]
    return RawPair(one, two, None if given.valid is None else as_valid(given.valid, shape), given.clipped), shape


def _cut(raw: RawPair, rows: Any, columns: Any) -> Pair:
    """Return a part of the pair with its bad pixels filled; ``rows`` and ``columns`` are slices or indices."""
    place = np.ix_(rows, columns)
    maps = (None if each is None else each[place] for each in (raw.finite, raw.clipped))
    return clean(RawPair(raw.first[place], raw.second[place], *maps)).part()


def _curve(raw: RawPair, place: tuple[int, int], levels: FloatArray, window: int, settings: Any) -> PixelCurve:
    """Return the curve of a pixel, from its surroundings mirrored at the border of the image."""
    half, before = window // 2, band_limited_kernel(float(settings.get("prefilter", 0.0)) ** 2)
    radius = max(kernel_radius(float(levels[-1])), BAND_LIMITED_RADIUS)
    reach = half + radius + before.size // 2
    around = np.arange(-reach, reach + 1)
    pair = _cut(raw, *(mirrored(at + around, count) for at, count in zip(place, raw.shape, strict=True)))
    weights = sampled_weights if settings.get("kernel") == "sampled" else band_limited_weights
    right = weights(levels[None, :], radius)[:, 0].T
    taps = np.concatenate([right[:, :0:-1], right], axis=1)
    taps /= taps.sum(axis=1, keepdims=True)
    patches = [_convolved(image, before) for image in (pair.first, pair.second)]
    inner = slice(radius, radius + window)
    first, second = (patch[inner, inner] for patch in patches)
    from_first, from_second = (_blurred(patch, taps, window) for patch in patches)
    # In ascending order of sigma; zero belongs to the right half.
    residual = np.concatenate([(from_second - first)[:0:-1], second - from_first])
    middle = (slice(None), half, half)
    blurred = np.concatenate([from_second[middle][:0:-1], from_first[middle]]).mean(axis=1)
    sigma = np.concatenate([-levels[:0:-1], levels])
    values = [float(image[half, half].mean()) for image in (first, second)]
    observed, misfit = np.where(sigma < 0, values[0], values[1]), residual[middle].mean(axis=1)
    if not pair.finite[reach, reach]:
        observed, misfit = np.full_like(observed, np.nan), np.full_like(misfit, np.nan)
    gain = 1 + (taps**2).sum(axis=1) ** 2
    here = slice(reach - half, reach + half + 1)
    usable = pair.usable[here, here]
    cost = np.full(sigma.size, np.nan)
    if usable.any():
        cost = (residual[:, usable] ** 2).mean(axis=(1, 2)) / np.concatenate([gain[:0:-1], gain])
    roots = _zeros(sigma, misfit, 1e-12 * max(map(abs, values)))
    return PixelCurve(*place, sigma, blurred, observed, cost, roots, window)


def _convolved(patch: FloatArray, taps: FloatArray) -> FloatArray:
    """Filter a patch separably; return the part where the kernel lies inside it."""
    for axis in (0, 1):
        patch = np.lib.stride_tricks.sliding_window_view(patch, taps.size, axis=axis) @ taps
    return patch


def _blurred(patch: FloatArray, taps: FloatArray, window: int) -> FloatArray:
    """Return the window of a patch blurred by every kernel, (N, window, window, C)."""
    count, length = taps.shape
    size, channels = window + length - 1, patch.shape[2]
    rows = np.zeros((count, window, size))
    for i in range(window):
        rows[:, i, i : i + length] = taps
    down = (rows.reshape(-1, size) @ patch.reshape(size, -1)).reshape(count, window, size, channels)
    return np.asarray(np.einsum("niqc,njq->nijc", down, rows, optimize=True))


def _zeros(sigma: FloatArray, misfit: FloatArray, rounding: float) -> FloatArray:
    """Return the zeros of a curve by linear interpolation; a run of zeros gives its mean."""
    side = np.where(np.abs(misfit) <= rounding, 0.0, np.sign(misfit))
    here = np.flatnonzero(side[:-1] * side[1:] < 0)
    share = misfit[here] / (misfit[here] - misfit[here + 1])
    zeros = list(sigma[here] + share * (sigma[here + 1] - sigma[here]))
    on = np.flatnonzero(side == 0)
    zeros += [float(sigma[run].mean()) for run in np.split(on, np.flatnonzero(np.diff(on) > 1) + 1) if run.size]
    return np.sort(np.array(zeros, dtype=np.float64))
