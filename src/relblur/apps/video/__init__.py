"""``relblur video``: relative blur of two clips, of one that alternates, or of two cameras, frame by frame.

``light``         a decoded frame as light, and the noise of its codec
``clip``          a video file as frames of light, with time stamps (PyAV)
``cameras``       two live cameras as the same (OpenCV)
``pairing``       which frames of two sources belong together
``measuring``     pairs of frames in, blur maps out
``smoothing``     maps filtered over time, with a standard error of their own
``side_by_side``  both frames and the map as a clip
``maps``          the maps of all pairs as NPZ or Zarr
``live``          the maps in the viewer's page while they are measured
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clip import Clip
    from .measuring import MeasuredFrame, Settings, VideoMeter
    from .pairing import pair_alternating, pair_by_time

__all__ = ["Clip", "MeasuredFrame", "Settings", "VideoMeter", "pair_alternating", "pair_by_time"]

_HOME = {"Clip": "clip", "MeasuredFrame": "measuring", "Settings": "measuring", "VideoMeter": "measuring"}
_HOME |= {"pair_alternating": "pairing", "pair_by_time": "pairing"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
