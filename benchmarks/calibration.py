"""Compare standard errors with true errors: coverage, sparsification (Ilg et al. 2018), and the curves of both.

Sparsification removes the most uncertain pixels, 2 % at a time, and measures the mean error of the rest. The oracle
removes the largest errors first. Random removal leaves the mean unchanged. AUSE is the area between the curve and that
of the oracle, 0 if it removes pixels in the same order. AURG is the area between random removal and the curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: Shares of the pixels that are kept.
KEPT = np.linspace(1.0, 0.02, 50)
#: Standard errors at which the reliability curve is drawn.
BARS = np.linspace(0.0, 4.0, 81)


@dataclass(frozen=True)
class Sparsification:
    """Mean errors of what is kept, at each of ``KEPT``."""

    stated: np.ndarray
    oracle: np.ndarray

    @classmethod
    def of(cls, error: np.ndarray, stderr: np.ndarray) -> Sparsification:
        """Return the curves of errors and their standard errors."""
        return cls(_means_of_first(error[np.argsort(stderr, kind="stable")]), _means_of_first(np.sort(error)))

    @property
    def ause(self) -> float:
        """Area above the oracle's curve, in the errors' unit."""
        return float(np.mean(self.stated - self.oracle))

    @property
    def aurg(self) -> float:
        """Area below removal at random."""
        return float(np.mean(self.stated[0] - self.stated))


def _means_of_first(values: np.ndarray) -> np.ndarray:
    count = np.maximum(1, (len(values) * KEPT).astype(int))
    return np.cumsum(values)[count - 1] / count


def coverage(in_bars: np.ndarray, bars: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return the share of errors, given in standard errors, within each of ``bars``."""
    return np.searchsorted(np.sort(in_bars), bars, side="right") / len(in_bars)


def draw_reliability(path: Path, panels: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Draw the share of errors within q standard errors against q, beside the ideal.

    ``panels`` holds for each panel, by its title, the errors of each line in standard errors.
    """
    figure = _figure(4.4 * len(panels), 4.0)
    ideal = [math.erf(q / math.sqrt(2)) for q in BARS]
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, (title, errors_in_bars) in zip(axes, panels.items(), strict=True):
        axis.plot(BARS, ideal, "k--", linewidth=1.2, label="ideal (normal errors)")
        for name, errors in errors_in_bars.items():
            axis.plot(BARS, coverage(errors, BARS), linewidth=1.5, label=name)
        axis.set(xlim=(0, BARS[-1]), ylim=(0, 1.01), xlabel="q")
        axis.set_title(title, fontsize=10)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False, loc="lower right", fontsize=9)
    axes[0].set_ylabel("share of errors within q standard errors")
    figure.suptitle("Above the dashed line error bars are too long, below too short", fontsize=10)
    figure.savefig(path)


def draw_sparsification(path: Path, curves: Mapping[str, Sparsification]) -> None:
    """Draw the mean error of what is kept against what is removed: by standard error, by an oracle, at random."""
    figure = _figure(3.0 * len(curves), 3.2)
    removed = 100 * (1 - KEPT)
    for axis, (name, curve) in zip(figure.subplots(1, len(curves), squeeze=False)[0], curves.items(), strict=True):
        axis.axhline(curve.stated[0], color="0.6", linestyle=":", linewidth=1.4, label="at random")
        axis.plot(removed, curve.stated, color="tab:blue", linewidth=1.5, label="by standard error")
        axis.plot(removed, curve.oracle, "k--", linewidth=1.2, label="by error (oracle)")
        axis.set(xlim=(0, 100), ylim=(0, None), xlabel="removed, %")
        axis.set_title(f"{name}: AUSE {curve.ause:.2f} px, AURG {curve.aurg:.2f} px", fontsize=9)
        axis.grid(alpha=0.3)
    figure.axes[0].set_ylabel("mean error of the rest, px")
    figure.axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(path)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=110, layout="constrained")
