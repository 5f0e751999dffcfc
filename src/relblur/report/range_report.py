"""The files of ``relblur range``: which points lie between the two focal planes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..blur.comparable_pair import ComparablePair
from ..depth.relation import DepthRange
from ..images.disk import write_image, write_tiff
from ..plot.colours import photo
from .panels import Panel, pair_panels, panels_picture
from .summary import summarise_range, write_summary

__all__ = ["RANGE_FILES", "write_range_report"]

RANGE_FILES = ("overview.png", "probability.tif", "between.png", "summary.json")

#: Share of its light that a picture keeps outside the range.
DIMMED = 0.2


def write_range_report(folder: Path, pair: ComparablePair, found: DepthRange) -> dict[str, Any]:
    """Write the probabilities, the decision, a picture and a summary into a fresh folder; return the summary."""
    span = f"{found.nearest_m:g} to {found.farthest_m:g} m"
    known = np.isfinite(found.probability)
    meaning = {"quantity": f"probability that the point lies at {span}; NaN where it is unknown"}
    write_tiff(folder / "probability.tif", found.probability.astype(np.float32), meaning)
    # For other programs: 255 = in the range, 0 = outside, 128 = unknown.
    write_image(folder / "between.png", np.where(known, np.where(found.between, 255, 0), 128).astype(np.uint8), {})
    photographs = pair_panels(pair)
    panels = [
        *photographs,
        Panel(f"probability of {span}", found.probability, "count", 1.0),
        Panel("the points in the range", _cut_out([panel.image for panel in photographs], found)),
    ]
    panels_picture(folder / "overview.png", panels, columns=2, heading=f"which points lie at {span}?")
    summary = {**summarise_range(found), "notes": list(pair.notes)}
    write_summary(folder, summary)
    return summary


def _cut_out(images: list[AnyArray], found: DepthRange) -> AnyArray:
    """Return the mean of both photographs, dark outside the range, half so where it is unknown."""
    mean = (photo(images[0]) + photo(images[1])) / 2
    light = DIMMED + (1 - DIMMED) * np.nan_to_num(found.probability, nan=0.5)
    return mean * (light[:, :, None] if mean.ndim == 3 else light)
