"""Figures: one function each, drawn with matplotlib (the extra ``plot``).

Every function draws into ``ax``, or into pyplot's current axes if that is left out, and returns what it drew.
Nothing is shown or saved: that is the caller's ``pyplot.show()`` or ``figure.savefig()``.

``axes``    where to draw: axes, images with a colour bar
``maps``    blur, depth, their standard error, flags, a surface in space
``pixel``   what one pixel says: its curve and its cost
``lines``   a profile along a line
``trust``   error bars against the truth: reliability, sparsification

``napari_reader`` gives napari the same results as layers, without matplotlib; ``napari.yaml`` tells it so.
"""

from __future__ import annotations

from .lines import profile
from .maps import blur, depth, flags, stderr, surface
from .pixel import pixel_cost, pixel_curve
from .trust import reliability, sparsification

__all__ = [
    "blur",
    "depth",
    "flags",
    "pixel_cost",
    "pixel_curve",
    "profile",
    "reliability",
    "sparsification",
    "stderr",
    "surface",
]
