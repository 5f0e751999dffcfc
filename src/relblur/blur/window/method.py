"""``method="window"``: the local, continuous estimate, without a prior and without derivative images.

One signed residual serves both directions. With s = sigma_second^2 - sigma_first^2,

    e(s) = second - G_s * first    for s >= 0,
    e(s) = G_-s * second - first   for s < 0,

which is continuous at s = 0 because the kernels are band-limited. It is computed at nodes uniform in
t = asinh(s / c), which are evenly spaced near zero and in constant ratio at large s. Around the best node e is taken as
quadratic in t, through three nodes. The cost over a window is then a quartic in t. Its coefficients are window sums of
products of the three node residuals (Gram sums), and its minimum is found by Newton steps.

The sharper image is that of the better fit. The costs at two nodes of +-0.9 px are compared, and the search is limited
to the better side of zero and the first node beyond. A full search on both sides selects the same side in
nearly every window, at twice the cost. Blur averages noise, so costs are compared per unit of noise variance,
1 + q(s), where q is the noise gain of the kernel. Otherwise the node with the largest blur would win in flat areas.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ...base._typing import AnyArray, BoolArray, FloatArray, Progress
from ...base.settings import Sharper
from ...filters.kernels import band_limited_kernel, kernel_radius, noise_gain
from ...kernels.separable import box_mean, filter_separable
from ...kernels.threads import count_workers
from ..tiles import padded_tiles

__all__ = ["Nodes", "WindowFit", "estimate_in_windows", "signed_nodes"]

#: Constant c of the node spacing, px^2: nodes are evenly spaced below it and geometric above.
LINEAR_BELOW = 0.3

#: Spacing of the nodes in t, 13 nodes on a side: mean errors on ramps from 1 to 2 px with a 9 x 9 window are 0.12 % at
#: 0.35, 0.14 % at 0.43, 0.21 % at 0.6.
NODE_SPACING = 0.43

#: Number of the node, from s = 0, at which the costs of the two directions are compared.
PROBE_NODE = 4

NEWTON_STEPS = 3

#: Number of rows that are fitted together; their sums fit into the cache.
BAND_ROWS = 16


@dataclass(frozen=True)
class Nodes:
    """Signed variance differences at which the residual is computed."""

    t: FloatArray
    s: FloatArray

    @property
    def reach(self) -> int:
        """Radius of the widest kernel, px."""
        return kernel_radius(math.sqrt(float(np.abs(self.s).max()))) + 6


@dataclass(frozen=True)
class WindowFit:
    """The local estimate at every pixel."""

    s: FloatArray  #: variance difference, px^2
    stderr: FloatArray  #: its standard error, px^2
    power: FloatArray  #: mean square residual of the fit in the window
    at_limit: BoolArray  #: True at the end of the search range


def signed_nodes(max_sigma: float, sharper: Sharper = "auto", spacing: float = NODE_SPACING) -> Nodes:
    """Return nodes for blur up to ``max_sigma`` px in the allowed directions."""
    count = max(2, math.ceil(math.asinh(max_sigma**2 / LINEAR_BELOW) / spacing))
    k: FloatArray = np.arange(
        -count if sharper != "first" else 0, count + 1 if sharper != "second" else 1, dtype=np.float64
    )
    t = k * (math.asinh(max_sigma**2 / LINEAR_BELOW) / count)
    return Nodes(t, LINEAR_BELOW * np.sinh(t))


def signed_residual(first: FloatArray, second: FloatArray, s: float) -> FloatArray:
    """Return e(s) for (H, W, C) images."""
    if s == 0:
        return second - first
    sharp, blurry, sign = (first, second, 1.0) if s > 0 else (second, first, -1.0)
    kernel = band_limited_kernel(abs(s))
    channels = [filter_separable(sharp[:, :, c], kernel, "nearest") for c in range(sharp.shape[2])]
    return sign * (blurry - np.stack(channels, axis=2))


def estimate_in_windows(
    images: tuple[FloatArray, FloatArray],
    nodes: Nodes,
    window: int,
    noise: float,
    usable: BoolArray | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> WindowFit:
    """Fit s in a ``window`` x ``window`` square around every pixel of two (H, W, C) images.

    ``noise`` is the least standard deviation of the noise. Only ``usable`` pixels count in the sums. The computation is
    in the precision of the images.
    """
    height, width = images[0].shape[:2]
    precision = images[0].dtype
    weight = np.ones((height, width), precision) if usable is None else usable.astype(precision)
    s, stderr, power = np.empty((3, height, width))
    fit = WindowFit(s, stderr, power, np.empty((height, width), dtype=bool))
    reach = nodes.reach + window // 2
    planes = (images[0].shape[2] + 4) * nodes.s.size
    done = 0
    for place, (one, two, usable_part) in padded_tiles((*images, weight), reach, planes):
        part = _fit_tile(one, two, usable_part, nodes, window, noise, count_workers(workers))
        inner = (slice(reach, part.s.shape[0] - reach), slice(reach, part.s.shape[1] - reach))
        for name in ("s", "stderr", "power", "at_limit"):
            getattr(fit, name)[place] = getattr(part, name)[inner]
        done += s[place].size
        if progress is not None:
            progress(done / s.size)
    return fit


def _fit_tile(
    first: FloatArray,
    second: FloatArray,
    weight: FloatArray,
    nodes: Nodes,
    window: int,
    noise: float,
    workers: int,
) -> WindowFit:
    channels = first.shape[2]
    root_weight = np.sqrt(weight)[:, :, None]
    shape, count = weight.shape, nodes.s.size
    a, b, c = (np.empty((n, *shape), weight.dtype) for n in (count, count - 1, count - 2))
    samples = box_mean(np.ascontiguousarray(weight), window) * window**2 * channels
    gain = np.array([1 + (1.0 if s == 0 else noise_gain(band_limited_kernel(abs(s)))) for s in nodes.s], a.dtype)
    s, stderr, power = np.empty((3, *shape))
    fit = WindowFit(s, stderr, power, np.empty(shape, dtype=bool))

    def window_sum(one: FloatArray, two: FloatArray) -> FloatArray:
        product = one * two
        flat = product.sum(axis=2) if channels > 1 else product[:, :, 0]
        return box_mean(np.ascontiguousarray(flat), window) * window**2

    def sum_products(k: int) -> None:
        a[k] = window_sum(e[k], e[k])
        if k + 1 < count:
            b[k] = window_sum(e[k], e[k + 1])
        if k + 2 < count:
            c[k] = window_sum(e[k], e[k + 2])

    def fit_rows(top: int) -> None:
        rows = slice(top, top + BAND_ROWS)
        part = _fit_sums(a[:, rows], b[:, rows], c[:, rows], nodes, gain, samples[rows], noise)
        for name in ("s", "stderr", "power", "at_limit"):
            getattr(fit, name)[rows] = getattr(part, name)

    with ThreadPoolExecutor(workers) as pool:
        e = list(pool.map(lambda s: signed_residual(first, second, float(s)) * root_weight, nodes.s))
        list(pool.map(sum_products, range(count)))
        list(pool.map(fit_rows, range(0, shape[0], BAND_ROWS)))
    return fit


def _fit_sums(
    a: FloatArray, b: FloatArray, c: FloatArray, nodes: Nodes, gain: FloatArray, samples: FloatArray, noise: float
) -> WindowFit:
    """Fit s to the window sums of the products of residuals."""
    # The least noise is added so that rounding does not decide between exact zeros (identical images).
    cost = (a + samples * noise**2) / gain[:, None, None]
    candidates = _candidate_nodes(cost, nodes)
    k = np.where(candidates, cost, np.inf).argmin(axis=0).clip(1, len(a) - 2)
    fit = _minimum_between_nodes(k, a, b, c, nodes, samples, noise)
    return _widen_to_nodes(fit, np.where(candidates, a, np.inf), nodes, samples, noise)


def _widen_to_nodes(fit: WindowFit, a: FloatArray, nodes: Nodes, samples: FloatArray, noise: float) -> WindowFit:
    """Widen the standard error to half the span of the candidate nodes that fit as well as the best one.

    In flat areas the cost is constant over a range of s and rises steeply beyond. The curvature at an end of this range
    gives too small an error. The likelihood interval spans the nodes whose sum of squares is within one noise variance
    of the least.
    """
    least = a.min(axis=0)
    variance = np.maximum(least / np.maximum(samples - 1, 1), noise**2)
    as_good = (a <= least + variance).sum(axis=0)
    spacing = float(nodes.t[1] - nodes.t[0])
    widest = (as_good - 1) / 2 * spacing * np.hypot(fit.s, LINEAR_BELOW)
    return WindowFit(fit.s, np.maximum(fit.stderr, widest), fit.power, fit.at_limit)


def _candidate_nodes(cost: FloatArray, nodes: Nodes) -> BoolArray:
    """Return the candidate nodes at each pixel: those on the better side of zero by the probe."""
    zero = int(np.abs(nodes.s).argmin())
    probe = min(PROBE_NODE, zero)
    if probe == 0 or zero == len(nodes.s) - 1:  # one-sided
        return np.ones(cost.shape, dtype=bool)
    positive = cost[zero + probe] <= cost[zero - probe]
    # The first node on the other side is a candidate too, because s is continuous at zero.
    k = np.arange(len(cost))[:, None, None]
    return np.where(positive, k >= zero - 1, k <= zero + 1)


def _minimum_between_nodes(
    k: AnyArray, a: FloatArray, b: FloatArray, c: FloatArray, nodes: Nodes, samples: FloatArray, noise: float
) -> WindowFit:
    """Minimise the quartic cost of the window around node k (see the header of the module).

    With f = e_k+1 - e_k and g = e_k-1 - e_k the residual is e + x d + x^2 q, where
    d = (f - g) / 2 and q = (f + g) / 2 for x = (t - t_k) / spacing.
    """

    def at(stack: FloatArray, index: AnyArray) -> FloatArray:
        return np.take_along_axis(stack, index[None], 0)[0]

    ee, up, down = at(a, k), at(a, k + 1), at(a, k - 1)
    e_up, e_down, up_down = at(b, k), at(b, k - 1), at(c, k - 1)
    ef, eg = e_up - ee, e_down - ee
    ff = up - 2 * e_up + ee
    gg = down - 2 * e_down + ee
    fg = up_down - e_up - e_down + ee
    ed, eq = (ef - eg) / 2, (ef + eg) / 2
    dd = np.maximum(ff - 2 * fg + gg, 0) / 4
    qq = np.maximum(ff + 2 * fg + gg, 0) / 4
    dq = (ff - gg) / 4

    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(dd > 0, -ed / dd, 0.0).clip(-1, 1)
        for _ in range(NEWTON_STEPS):
            slope = ed + x * (dd + 2 * eq + x * (3 * dq + x * 2 * qq))
            bend = dd + 2 * eq + x * (6 * dq + x * 6 * qq)
            gauss_newton = dd + x * (4 * dq + x * 4 * qq)
            # The lower limit of the curvature makes every step a descent.
            step = np.where(gauss_newton > 0, slope / np.maximum(bend, 0.3 * gauss_newton), 0.0)
            x = (x - step).clip(-1, 1)
        information = np.maximum(dd + x * (4 * dq + x * 4 * qq), 0)
        cost = ee + x * (2 * ed + x * (dd + 2 * eq + x * (2 * dq + x * qq)))
        variance = np.maximum(cost / np.maximum(samples - 1, 1), noise**2)
        spacing = nodes.t[1] - nodes.t[0]
        t = nodes.t[k] + x * spacing
        s = LINEAR_BELOW * np.sinh(t)
        # d/ds = d/dt / sqrt(s^2 + c^2)
        stderr = np.sqrt(variance / information) * spacing * np.hypot(s, LINEAR_BELOW)
    stderr = np.where(information > 0, stderr, np.inf)
    ends = [i for i, s_k in enumerate(nodes.s) if abs(s_k) == np.abs(nodes.s).max()]
    at_limit = np.zeros(t.shape, dtype=bool)
    for end in ends:
        at_limit |= np.abs(t - nodes.t[end]) < 1e-9
    return WindowFit(s, stderr, np.maximum(cost, 0) / np.maximum(samples, 1), at_limit)
