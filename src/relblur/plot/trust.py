"""Figure of the coverage: error bars against true errors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.errors import InputError
from ..blur.blur_map import BlurMap
from ..depth.depth_map import DepthMap
from .axes import axes_or_current, check_kind

__all__ = ["reliability"]

#: Number of points of the curve.
STEPS = 100


def reliability(result: BlurMap | DepthMap, truth: ArrayLike, *, ax: Any = None, label: str = "") -> Any:
    """Draw the share of pixels whose error bar contains the truth, against the nominal share; return the line.

    The nominal share is that of Gaussian errors. On the diagonal the standard errors are right, below it they are too
    small.

    Parameters
    ----------
    truth : (H, W) array
        True values: signed sigma in px for a blur map, metres for a depth map, NaN where unknown.
    label : str
        Label for the legend, by default the coverage of one standard error.
    """
    error, stderr = _errors(result, truth)
    axes = axes_or_current(ax)
    nominal, observed = coverage(error, stderr)
    label = label or f"within 1 standard error: {100 * (error <= stderr).mean():.0f} % (nominal 68 %)"
    (line,) = axes.plot(nominal, observed, linewidth=1.6, label=label)
    axes.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1, label="Gaussian errors", zorder=0)
    axes.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.set(xlabel="nominal share of pixels within the error bar", ylabel="observed share")
    axes.legend(fontsize="small", loc="lower right")
    return line


def coverage(error: FloatArray, stderr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nominal and observed shares of pixels within error bars of increasing length."""
    from scipy.special import ndtri

    nominal = np.arange(STEPS) / STEPS
    # An error of zero lies within every bar, even one of length zero.
    ratio = np.sort(np.divide(error, stderr, out=np.where(error > 0, np.inf, 0.0), where=stderr > 0))
    return nominal, np.searchsorted(ratio, ndtri((1 + nominal) / 2), side="right") / ratio.size


def _errors(result: BlurMap | DepthMap, truth: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return absolute errors and standard errors of the pixels where both are finite; those of blur are in s."""
    result = check_kind(result, BlurMap, DepthMap)
    known = np.asarray(truth, dtype=np.float64)
    if known.shape != result.shape:
        raise InputError(f"truth is {known.shape}, the map {result.shape}; pass the truth of the whole map")
    values, stderr = result.value, result.stderr
    if isinstance(result, BlurMap):  # error bars are symmetric in s
        values, stderr, known = result.variance_difference, result.variance_stderr, np.sign(known) * known**2
    error = np.abs(values.astype(np.float64) - known)
    valid = np.isfinite(error) & np.isfinite(stderr)
    if not valid.any():
        raise InputError("no pixel has both a value and a truth; check that they are of the same scene")
    return error[valid], stderr[valid].astype(np.float64)
