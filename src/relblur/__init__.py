"""relblur: how much blurrier is one photograph than another, at every pixel.

Names load when they are first used, so that ``import relblur`` costs next to nothing.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .base import errors

__version__ = "1.0.0"

#: BibTeX of the paper that relblur implements.
__citation__ = f"""\
@misc{{saadat2026relative,
  author = {{Saadat, Akbar}},
  title = {{Computational Framework for Estimating Relative Gaussian Blur Kernels between Image Pairs}},
  year = {{2026}},
  note = {{Manuscript under review. Implemented by relblur, version {__version__}}}
}}
"""

#: Public names by the module that has them.
_NAMES = {
    "base.errors": "AlignmentError InputError RelblurError",
    "blur.blur_map": "BlurMap Flag",
    "blur.comparable_pair": "ComparablePair",
    "blur.estimate": "estimate_blur",
    "blur.evaluate": "PairScore evaluate_pair resynthesize",
    "blur.noise": "NoiseModel estimate_noise",
    "blur.pixel_curve": "pixel_curve",
    "blur.window.stream": "Stream",
    "depth.calibration": "calibrate",
    "depth.camera": "Camera",
    "depth.depth_map": "DepthMap",
    "depth.estimate": "estimate_depth",
    "depth.refocus": "all_in_focus refocus",
    "depth.relation": "blur_to_depth depth_to_blur in_depth_range",
    "filters.decimation": "decimate",
    "images.planes": "open_stack",
    "photo.alignment": "align",
    "photo.exposure": "match_exposure",
    "photo.photograph": "read_photograph",
    "photo.pipeline": "prepare_pair",
    "report.io": "imread load save",
    "stacks.estimate": "estimate_stack",
    "stacks.stack_map": "StackMap",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}
_MODULES = ("optics", "paper", "plot", "synth")
#: Names of former versions, which work until 1.1, and the module that has them.
_FORMER = dict.fromkeys(("Framework", "compare_sharpness", "gaussian_bank", "local_sharpness"), "paper")

# Programs write ``from relblur.errors import FileError``.
sys.modules[f"{__name__}.errors"] = errors

__all__ = [*_HOME, *_MODULES, "__citation__", "__version__"]

if TYPE_CHECKING:
    from . import optics as optics
    from . import paper as paper
    from . import plot as plot
    from . import synth as synth
    from .base.errors import AlignmentError as AlignmentError
    from .base.errors import InputError as InputError
    from .base.errors import RelblurError as RelblurError
    from .blur.blur_map import BlurMap as BlurMap
    from .blur.blur_map import Flag as Flag
    from .blur.comparable_pair import ComparablePair as ComparablePair
    from .blur.estimate import estimate_blur as estimate_blur
    from .blur.evaluate import PairScore as PairScore
    from .blur.evaluate import evaluate_pair as evaluate_pair
    from .blur.evaluate import resynthesize as resynthesize
    from .blur.noise import NoiseModel as NoiseModel
    from .blur.noise import estimate_noise as estimate_noise
    from .blur.pixel_curve import pixel_curve as pixel_curve
    from .blur.window.stream import Stream as Stream
    from .depth.calibration import calibrate as calibrate
    from .depth.camera import Camera as Camera
    from .depth.depth_map import DepthMap as DepthMap
    from .depth.estimate import estimate_depth as estimate_depth
    from .depth.refocus import all_in_focus as all_in_focus
    from .depth.refocus import refocus as refocus
    from .depth.relation import blur_to_depth as blur_to_depth
    from .depth.relation import depth_to_blur as depth_to_blur
    from .depth.relation import in_depth_range as in_depth_range
    from .filters.decimation import decimate as decimate
    from .images.planes import open_stack as open_stack
    from .photo.alignment import align as align
    from .photo.exposure import match_exposure as match_exposure
    from .photo.photograph import read_photograph as read_photograph
    from .photo.pipeline import prepare_pair as prepare_pair
    from .report.io import imread as imread
    from .report.io import load as load
    from .report.io import save as save
    from .stacks.estimate import estimate_stack as estimate_stack
    from .stacks.stack_map import StackMap as StackMap


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOME:
        value = getattr(import_module(f".{_HOME[name]}", __name__), name)
        globals()[name] = value
        return value
    if name in _FORMER:
        from .base.deprecated import warn_of_old_call

        warn_of_old_call(f"relblur.{name}", f"relblur.{_FORMER[name]}.{name}", 2)
        return getattr(import_module(f".{_FORMER[name]}", __name__), name)
    raise AttributeError(f"module 'relblur' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
