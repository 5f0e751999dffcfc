"""relblur: how much blurrier is one photograph than another, at every pixel.

Names load when they are first used, so that ``import relblur`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AlignmentError": "errors",
    "BlurMap": "results",
    "Camera": "camera",
    "DepthMap": "depth_results",
    "Flag": "results",
    "Framework": "framework",
    "InputError": "errors",
    "NoiseModel": "noise",
    "PairScore": "results",
    "RelblurError": "errors",
    "Stream": "stream",
    "align": "alignment",
    "all_in_focus": "focusing",
    "blur_to_depth": "depth",
    "calibrate": "calibration",
    "compare_sharpness": "sharpness",
    "decimate": "decimation",
    "depth_to_blur": "depth",
    "estimate_blur": "estimate",
    "estimate_noise": "noise",
    "estimate_depth": "matching",
    "evaluate_pair": "evaluate",
    "gaussian_bank": "bank",
    "imread": "io",
    "in_depth_range": "depth",
    "load": "io",
    "local_sharpness": "sharpness",
    "match_exposure": "exposure",
    "refocus": "focusing",
    "resynthesize": "evaluate",
    "save": "io",
}
_MODULES = ("optics", "synth")

__all__ = [*_HOME, *_MODULES, "__version__"]

if TYPE_CHECKING:
    from . import optics as optics
    from . import synth as synth
    from .alignment import align as align
    from .bank import gaussian_bank as gaussian_bank
    from .calibration import calibrate as calibrate
    from .camera import Camera as Camera
    from .decimation import decimate as decimate
    from .depth import blur_to_depth as blur_to_depth
    from .depth import depth_to_blur as depth_to_blur
    from .depth import in_depth_range as in_depth_range
    from .depth_results import DepthMap as DepthMap
    from .errors import AlignmentError as AlignmentError
    from .errors import InputError as InputError
    from .errors import RelblurError as RelblurError
    from .estimate import estimate_blur as estimate_blur
    from .evaluate import evaluate_pair as evaluate_pair
    from .evaluate import resynthesize as resynthesize
    from .exposure import match_exposure as match_exposure
    from .focusing import all_in_focus as all_in_focus
    from .focusing import refocus as refocus
    from .framework import Framework as Framework
    from .io import imread as imread
    from .io import load as load
    from .io import save as save
    from .matching import estimate_depth as estimate_depth
    from .noise import NoiseModel as NoiseModel
    from .noise import estimate_noise as estimate_noise
    from .results import BlurMap as BlurMap
    from .results import Flag as Flag
    from .results import PairScore as PairScore
    from .sharpness import compare_sharpness as compare_sharpness
    from .sharpness import local_sharpness as local_sharpness
    from .stream import Stream as Stream


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'relblur' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
