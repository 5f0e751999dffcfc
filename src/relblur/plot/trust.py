"""Figures that compare error bars with the truth.

*Reliability* (a calibration curve): the share of pixels with the true value within k standard errors, against the
share for a Gaussian. On the diagonal the standard errors are right, below it they are too small.

*Sparsification*: the mean error of the remaining pixels after those with the largest standard errors are removed.
References are the best order (by the true error) and a random order. A curve near the best order means that standard
errors separate good pixels from bad ones.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.errors import InputError
from ..blur.blur_map import BlurMap
from ..depth.depth_map import DepthMap
from .axes import axes_or_current, check_kind

__all__ = ["reliability", "sparsification"]

#: Number of points of the curves.
STEPS = 100


def reliability(result: BlurMap | DepthMap, truth: ArrayLike, *, ax: Any = None, label: str = "") -> Any:
    """Draw the share of pixels whose error bar contains the truth, against the nominal share; return the line.

    Parameters
    ----------
    truth : (H, W) array
        True values: signed sigma in px for a blur map, metres for a depth map, NaN where unknown.
    label : str
        Label for the legend, by default the coverage of one standard error.
    """
    error, stderr, _ = _errors(result, truth, linear=True)
    here = axes_or_current(ax)
    nominal, observed = coverage(error, stderr)
    at_one = float((error <= stderr).mean())
    (line,) = here.plot(
        nominal,
        observed,
        linewidth=1.6,
        label=label or f"within 1 standard error: {100 * at_one:.0f} % (nominal 68 %)",
    )
    here.plot([0, 1], [0, 1], color="0.5", linestyle="--", linewidth=1, label="Gaussian errors", zorder=0)
    here.set_xlim(0, 1)
    here.set_ylim(0, 1)
    here.set_aspect("equal")
    here.set_xlabel("nominal share of pixels within the error bar")
    here.set_ylabel("observed share")
    here.legend(fontsize="small", loc="lower right")
    return line


def sparsification(result: BlurMap | DepthMap, truth: ArrayLike, *, ax: Any = None, label: str = "") -> Any:
    """Draw the mean error of the remaining pixels when the most uncertain are removed; return the line.

    ``truth`` and ``label`` as for :func:`reliability`.
    """
    error, stderr, unit = _errors(result, truth, linear=False)
    here = axes_or_current(ax)
    removed, by_stderr = remaining_error(error, stderr)
    _, by_error = remaining_error(error, error)
    (line,) = here.plot(removed, by_stderr, linewidth=1.6, label=label or "largest standard errors first")
    here.plot(removed, by_error, color="0.35", linestyle="--", linewidth=1.1, label="best order (true error)", zorder=0)
    here.axhline(float(error.mean()), color="0.6", linestyle=":", linewidth=1.1, label="random order", zorder=0)
    here.set_xlim(0, 1)
    here.set_ylim(bottom=0)
    here.set_xlabel("share of pixels removed")
    here.set_ylabel(f"mean error of the others ({unit})")
    here.legend(fontsize="small")
    return line


def coverage(error: FloatArray, stderr: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return nominal and observed shares of pixels within error bars of increasing length."""
    nominal = np.linspace(0.0, 1.0, STEPS + 1)[:-1]
    factors = np.array([NormalDist().inv_cdf((1 + share) / 2) for share in nominal])
    # An error of zero lies within every bar, even one of length zero.
    ratio = np.sort(np.divide(error, stderr, out=np.where(error > 0, np.inf, 0.0), where=stderr > 0))
    observed = np.searchsorted(ratio, factors, side="right") / ratio.size
    return nominal, np.asarray(observed, dtype=np.float64)


def remaining_error(error: FloatArray, by: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the shares of removed pixels (largest ``by`` first) and the mean error of the remaining ones."""
    ordered = error[np.argsort(by, kind="stable")]
    mean = np.cumsum(ordered) / np.arange(1, ordered.size + 1)
    removed = np.linspace(0.0, 1.0, STEPS + 1)[:-1]
    remaining = np.maximum(np.ceil((1 - removed) * ordered.size).astype(int), 1)
    return removed, mean[remaining - 1]


def _errors(result: BlurMap | DepthMap, truth: ArrayLike, linear: bool) -> tuple[FloatArray, FloatArray, str]:
    """Return absolute errors and standard errors of the pixels where both are finite, and their unit.

    With ``linear`` those of blur are in s, where error bars are symmetric, else in px.
    """
    result = check_kind(result, BlurMap, DepthMap)
    known = np.asarray(truth, dtype=np.float64)
    if known.shape != result.shape:
        raise InputError(f"truth is {known.shape}, the map {result.shape}; pass the truth of the whole map")
    if isinstance(result, DepthMap):
        values, stderr, unit = result.depth_m, result.depth_stderr_m, "m"
    elif linear:
        values, stderr, unit = result.variance_difference, result.variance_stderr, "px²"
        known = np.sign(known) * known**2
    else:
        values, stderr, unit = result.sigma, result.sigma_stderr, "px"
    error = np.abs(values.astype(np.float64) - known)
    there = np.isfinite(error) & np.isfinite(stderr)
    if not there.any():
        raise InputError("no pixel has both a value and a truth; check that they belong together")
    return error[there], stderr[there].astype(np.float64), unit
