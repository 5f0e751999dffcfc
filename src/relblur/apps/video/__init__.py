"""``relblur video``: relative blur of two clips, of one that alternates, or of two cameras, frame by frame.

``codecs``        what lossy compression has done to a frame, as noise
``light``         a decoded frame as light
``clip``          a video file as frames of light, with time stamps (PyAV)
``cameras``       two live cameras as the same (OpenCV)
``pairing``       which frames of two sources belong together
``registration``  alignment and exposure, found once or followed
``smoothing``     maps filtered over time, with a standard error of their own
``measuring``     pairs of frames in, blur maps out: what a viewer can consume
``picture``       a frame of the side-by-side clip
``writing``       the side-by-side clip as a file
``maps``          the maps of all pairs as NPZ or Zarr
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
