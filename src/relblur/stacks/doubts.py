"""What makes one doubt the map of a stack, in words."""

from __future__ import annotations

import numpy as np

from ..blur.result import Flag, has_flag
from .stack_map import StackMap

__all__ = ["doubts_of"]

#: Share of the pixels that are filled or at a limit from which on a map is doubted.
MANY_UNSURE = 0.5
#: Least growth of the blur from the first to the last frame of a stack without distances, px of the map.
LEAST_GROWTH_PX = 1.5


def doubts_of(stack: StackMap) -> list[str]:
    """Return sentences on a map most of which is a guess; none for a usual one."""
    if stack.blur_map is not None and not stack.known.any():  # two images: the doubts of pairs hold
        return []
    doubts = []
    filled, at_limit = (float(has_flag(stack.flags, flag).mean()) for flag in (Flag.FILLED, Flag.AT_LIMIT))
    if float(has_flag(stack.flags, Flag.FILLED | Flag.AT_LIMIT).mean()) > MANY_UNSURE:
        ends = f", {at_limit:.0%} are at the end of the search range" if at_limit > 0 else ""
        doubts.append(
            f"{filled:.0%} of the pixels have too little texture of their own{ends}: most of the map is not measured. "
            "Take more frames, smaller steps, or a textured scene"
        )
    growth = stack.growth_px * float(np.ptp(stack.places))
    if np.isfinite(growth) and growth < LEAST_GROWTH_PX and len(stack.places) > 2:
        finer = f"--decimate {stack.factor // 2}, " if stack.factor > 1 else ""
        doubts.append(
            f"the blur hardly grows from frame to frame, by {growth:.2g} px of the map in all: the frames look alike. "
            f"Try {finer}larger steps of focus or a wider aperture"
        )
    return doubts
