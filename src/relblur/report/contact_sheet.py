"""The maps of many pairs on one sheet, all in the same colours."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..base._typing import AnyArray
from ..plot.colours import Kind, scale_for
from .panels import Panel, panels_picture

__all__ = ["contact_sheet", "thinned"]

#: Longest side of a map, px; maps on a sheet, and in a row of it; inches of a map.
SIDE, MOST_PAIRS, PAIRS_IN_ROW, WIDTH = 320, 120, 5, 2.4


def thinned(values: AnyArray) -> AnyArray:
    """Return every so many pixels of a map, so that no side is longer than 320."""
    step = -(-max(values.shape) // SIDE)
    start = min(step // 2, min(values.shape) - 1)
    return values[start::step, start::step]


def contact_sheet(path: Path, maps: Sequence[tuple[str, AnyArray]], kind: Kind, heading: str) -> None:
    """Write a sheet of (name, map); robust limits of all of them together give the colours."""
    shown = maps[:MOST_PAIRS]
    if len(shown) < len(maps):
        heading += f"\nthe first {len(shown)} of {len(maps)} pairs"
    scale = scale_for(np.concatenate([np.asarray(each, np.float64).ravel() for _, each in shown])[None], kind)
    panels = [Panel(name, each, kind, scale=scale) for name, each in shown]
    panels_picture(path, panels, columns=PAIRS_IN_ROW, heading=heading, panel_width=WIDTH)
