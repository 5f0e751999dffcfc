"""Measure the relative blur of two clips, one alternating clip, or two cameras, frame by frame (``relblur video``).

``light``         conversion of a decoded frame to light; noise of its codec
``clip``          a video file as frames of light with time stamps (PyAV)
``cameras``       a live camera as frames of light with time stamps (OpenCV)
``pairing``       pairs of frames from two sources, by time
``measuring``     blur maps of pairs of frames
``smoothing``     temporal filter of maps and standard errors
``side_by_side``  clip of both frames and the map
``maps``          maps of all pairs as NPZ
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "Clip": "clip",
    "MeasuredFrame": "measuring",
    "Settings": "measuring",
    "VideoMeter": "measuring",
    "pair_alternating": "pairing",
    "pair_by_time": "pairing",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOME[name]}", __name__), name)
