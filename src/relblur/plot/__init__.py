"""Figures: one function each, drawn with matplotlib (the extra ``plot``).

Every function draws into ``ax``, or into pyplot's current axes if that is left out, and returns what it drew.
Nothing is shown or saved: that is the caller's ``pyplot.show()`` or ``figure.savefig()``.

``axes``      where to draw: axes, images with a colour bar
``maps``      blur, depth, stacks, their standard error, flags, a surface in space
``pixel``     the curve and the cost of one pixel
``lines``     a profile along a line
``trust``     error bars against the truth: reliability, sparsification

``colours``   numbers to colours, for figures, panels, pages and the viewer
``figures``   figures of reports and pages as files

``napari_reader`` gives napari the same results as layers, without matplotlib; ``napari.yaml`` names it.
"""

from __future__ import annotations

from .lines import profile
from .maps import blur, depth, flags, stack, stderr, surface
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
    "stack",
    "stderr",
    "surface",
]
