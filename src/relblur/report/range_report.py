"""What ``relblur range`` leaves in a folder: which points lie between the two focal planes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..blur.comparable_pair import ComparablePair
from ..depth.relation import DepthRange
from ..files.disk import replacing, write_image, write_tiff
from .captions import photo_titles
from .colours import look_of, photo
from .panels import Panel, panels_picture

__all__ = ["RANGE_FILES", "summarise_range", "write_range_report"]

RANGE_FILES = ("overview.png", "probability.tif", "between.png", "summary.json")

#: How much of its light a picture keeps outside the range.
DIMMED = 0.2


def write_range_report(folder: Path, pair: ComparablePair, found: DepthRange) -> dict[str, Any]:
    """Write the probabilities, the decision, a picture and a summary into a fresh folder."""
    span = f"{found.nearest_m:g} to {found.farthest_m:g} m"
    known = np.isfinite(found.probability)
    meaning = {"quantity": f"probability that the point lies at {span}; NaN where it is unknown"}
    write_tiff(folder / "probability.tif", found.probability.astype(np.float32), meaning)
    # For other programs: 255 = in the range, 0 = outside, 128 = unknown.
    write_image(folder / "between.png", np.where(known, np.where(found.between, 255, 0), 128).astype(np.uint8), {})
    look = look_of(pair)
    images = [look(image) for image in (pair.first, pair.second)]
    titles = photo_titles(pair)
    panels = [
        Panel(titles[0], images[0]),
        Panel(titles[1], images[1]),
        Panel(f"probability of {span}", found.probability, "count", 1.0),
        Panel("the points in the range", _cut_out(images, found)),
    ]
    panels_picture(folder / "overview.png", panels, columns=2, heading=f"which points lie at {span}?")
    summary = summarise_range(found)
    summary["notes"] = list(pair.notes)
    with replacing(folder / "summary.json") as stream:
        stream.write(json.dumps(summary, indent=2).encode())
    return summary


def summarise_range(found: DepthRange) -> dict[str, Any]:
    """Return the figures a person wants to see first; shares are of all pixels."""
    with np.errstate(invalid="ignore"):
        sure = (found.probability > 0.95) | (found.probability < 0.05)
    return {
        "height": found.probability.shape[0],
        "width": found.probability.shape[1],
        "nearest_m": found.nearest_m,
        "farthest_m": found.farthest_m,
        "between_fraction": float(found.between.mean()),
        "unknown_fraction": float(np.isnan(found.probability).mean()),
        "sure_fraction": float(sure.mean()),
    }


def _cut_out(images: list[AnyArray], found: DepthRange) -> AnyArray:
    """Return the mean of both photographs, dark where a point is probably not in the range, half so where unknown."""
    mean = (photo(images[0]) + photo(images[1])) / 2
    light = DIMMED + (1 - DIMMED) * np.nan_to_num(found.probability, nan=0.5)
    return mean * (light[:, :, None] if mean.ndim == 3 else light)
