"""Load and score rendered scenes as a camera stores them, with true depth: sky, plain walls, gloss, lamps, leaves.

Truth is s = kappa^2 (C_far^2 - C_near^2), with C the diameters of the circles of confusion. kappa converts the disc to
its best Gaussian and is one number per scene: the root of the median ratio over unflagged pixels off edges. A Gaussian
is not a disc, so a fraction of |s| is allowed beside the standard error (see the constants). Blur beyond the limit of
the search cannot be measured, so no value is correct there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calibration import Sparsification, coverage
from relblur import estimate_blur, imread, prepare_pair
from relblur.base.settings import MAX_SIGMA
from relblur.blur.blur_map import BlurMap, signed_sigma

SCENES = ("street", "table", "room", "leaves")
#: Minimum distance from a jump in depth of pixels "off edges", px.
OFF_EDGES = 10
#: Part of |s| allowed for the shape of the blur: where an error is called wrong, and where errors are counted in bars.
ALLOWED_WRONG, ALLOWED_COVERAGE = 0.05, 0.02
#: Largest standard error of the pixels in ``claims``, error above which a pixel may be wrong, limit of errors, px.
CLAIM, MATTERS, MOST = 0.25, 0.5, MAX_SIGMA
#: Minimum |C_far^2 - C_near^2| of the pixels that determine kappa, px^2.
TELLS_KAPPA = 8.0


@dataclass(frozen=True)
class Scored:
    """A scene's map beside the truth; lengths in px of the photograph, whatever the map's resolution."""

    s_error_in_bars: np.ndarray  #: with ``ALLOWED_COVERAGE``
    bare_error_in_bars: np.ndarray  #: without
    error: np.ndarray  #: of sigma, at most ``MOST``
    stderr: np.ndarray  #: of sigma
    step: np.ndarray  #: |difference| of sigma between neighbours in a row
    unflagged: np.ndarray
    wrong: np.ndarray  #: unflagged, beyond 3 standard errors and ``MATTERS``
    off_edges: np.ndarray
    in_reach: np.ndarray  #: the true blur is one that is looked for
    kappa: float

    def where(self, place: str) -> np.ndarray:
        """Return the pixels of "off edges" or "all"."""
        return self.off_edges if place == "off edges" else np.ones_like(self.off_edges)

    def answered(self, place: str) -> np.ndarray:
        """Return those of them that have an answer."""
        return self.where(place) & np.isfinite(self.error)


def score(folder: Path) -> Scored:
    """Estimate a scene with the command's defaults and compare it with the truth."""
    pair = prepare_pair(folder / "near.jpg", folder / "far.jpg")
    found = estimate_blur(pair)
    one, edge = _truth_of_unit_kappa(folder, found, pair.factor)
    off_edges = edge * pair.factor > OFF_EDGES
    s, stderr, unflagged = found.variance_difference, found.variance_stderr, found.flags == 0
    tells = off_edges & unflagged & np.isfinite(s) & (np.abs(one) * pair.factor**2 > TELLS_KAPPA)
    ratio = float(np.median(s[tells] / one[tells]))
    truth = ratio * one
    s_error = np.abs(s - truth)
    error = np.minimum(np.abs(found.sigma - signed_sigma(truth)) * pair.factor, MOST)
    beyond = s_error > 3 * np.hypot(stderr, ALLOWED_WRONG * np.abs(truth))
    step = np.full(s.shape, np.nan)
    step[:, :-1] = np.abs(np.diff(found.sigma, axis=1)) * pair.factor
    return Scored(
        s_error_in_bars=s_error / np.hypot(stderr, ALLOWED_COVERAGE * np.abs(truth)),
        bare_error_in_bars=s_error / np.maximum(stderr, 1e-12),
        error=error,
        stderr=found.sigma_stderr * pair.factor,
        step=step,
        unflagged=unflagged,
        wrong=unflagged & beyond & (error > MATTERS),
        off_edges=off_edges,
        in_reach=np.abs(truth) <= MAX_SIGMA**2,
        kappa=ratio**0.5,
    )


def _truth_of_unit_kappa(folder: Path, found: BlurMap, factor: int) -> tuple[np.ndarray, np.ndarray]:
    """Return C_far^2 - C_near^2 and the distance to the next edge, in px of the map."""
    meta = json.loads((folder / "META.json").read_text())
    inverse_depth, edge = (
        imread(folder / f"{name}.tif")[factor // 2 :: factor, factor // 2 :: factor][: found.shape[0], : found.shape[1]]
        for name in ("inverse_depth", "edge_distance")
    )
    near, far = (
        meta["coc_constant_px_m"] * (inverse_depth - 1 / meta[f"focus_{which}_m"]) / factor for which in ("near", "far")
    )
    return far**2 - near**2, edge / factor


def row(scored: Scored, place: str) -> dict[str, Any]:
    """Return the measures of a scene at a place, shares of its pixels."""
    where, answered = scored.where(place), scored.answered(place)
    frame = int(where.sum())
    reached = answered & scored.in_reach
    claims = answered & (scored.stderr <= CLAIM)
    curve = Sparsification.of(scored.error[answered], scored.stderr[answered])
    return {
        "place": place,
        "kappa": scored.kappa,
        "answered": answered.sum() / frame,
        "unflagged": (scored.unflagged & where).sum() / frame,
        "claims": claims.sum() / frame,
        "claims_error": float(scored.error[claims].mean()) if claims.any() else float("nan"),
        "wrong": (scored.wrong & where).sum() / frame,
        "coverage": list(coverage(scored.s_error_in_bars[answered], (1, 2, 3))),
        "in_reach": (scored.in_reach & where).sum() / frame,
        "coverage_in_reach": list(coverage(scored.s_error_in_bars[reached], (1, 2, 3))),
        "error_in_reach": float(scored.error[reached].mean()),
        "coverage_unflagged": list(coverage(scored.s_error_in_bars[answered & scored.unflagged], (1, 2, 3))),
        "coverage_nothing_allowed": list(coverage(scored.bare_error_in_bars[answered], (1, 2, 3))),
        "rough": float(np.nanmean(scored.step[where])),
        "ause": curve.ause,
        "aurg": curve.aurg,
        "error": float(scored.error[answered].mean()),
    }
