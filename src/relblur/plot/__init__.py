"""Figures: one function each, drawn with matplotlib (the extra ``plot``).

Every function draws into ``ax``, or into pyplot's current axes by default, and returns the drawn objects. Show or
save the figure with ``pyplot.show()`` or ``figure.savefig()``.

``axes``      axes, images with a colour bar
``maps``      blur, depth, stacks, their standard error, flags, a profile
``pixel``     the curve of one pixel
``trust``     error bars against the truth

``colours``   colours of maps and flags, for figures, panels, pages and the viewer
``figures``   figures as files: circles and resolution of a camera

``napari_reader`` returns results as layers for napari, without matplotlib. ``napari.yaml`` registers it.
"""

from __future__ import annotations

from .maps import blur, depth, flags, profile, stack, stderr
from .pixel import pixel_curve
from .trust import reliability

__all__ = [
    "blur",
    "depth",
    "flags",
    "pixel_curve",
    "profile",
    "reliability",
    "stack",
    "stderr",
]
