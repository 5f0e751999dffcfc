"""Reader plugin for napari: results of relblur (a ``.npz`` or a folder of results) as layers.

A map becomes an image, with limits symmetric about zero for blur. Its standard error is a hidden image, its flags are
labels. This module does not import napari: plugins return layers as tuples (data, keywords, kind).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import RelblurError
from ..blur.blur_map import BlurMap
from ..blur.result import Flag, MapResult, flag_name
from ..depth.depth_map import FORMAT as DEPTH_FORMAT
from ..depth.depth_map import DepthMap
from ..images.archives import is_npz, read_npz
from ..images.map_formats import FORMAT as BLUR_FORMAT
from ..stacks.stack_map import FORMAT as STACK_FORMAT
from ..stacks.stack_map import StackMap
from .colours import ColourScale, MapView, scale_for

__all__ = ["Layer", "get_reader", "map_layers"]

Layer = tuple[Any, dict[str, Any], str]

#: Names of saved maps in a folder of results.
RESULT_FILES = ("blur_map.npz", "depth.npz", "stack.npz")
_TYPES: dict[Any, type[BlurMap | DepthMap | StackMap]] = {
    BLUR_FORMAT: BlurMap,
    DEPTH_FORMAT: DepthMap,
    STACK_FORMAT: StackMap,
}


def get_reader(path: str | Sequence[str]) -> Callable[[Any], list[Layer]] | None:
    """Return the reader of this path, or None if it contains no result of relblur."""
    return read_layers if _results(path) else None


def read_layers(path: str | Sequence[str]) -> list[Layer]:
    """Read a result as layers."""
    layers: list[Layer] = []
    for file, kind in _results(path).items():
        layers += map_layers(kind.load(file), file.parent.name if file.name in RESULT_FILES else file.stem)
    return layers


def _results(path: str | Sequence[str]) -> dict[Path, type[BlurMap | DepthMap | StackMap]]:
    """Return the saved maps at a path (a file or a folder), and their types."""
    if not isinstance(path, str):
        return _results(path[0]) if len(path) == 1 else {}
    place, maps = Path(path), {}
    for file in [place / name for name in RESULT_FILES] if place.is_dir() else [place]:
        try:
            description = read_npz(file, names=())[1] if file.is_file() and is_npz(file) else {}
        except (RelblurError, OSError, ValueError):
            continue
        if description.get("format") in _TYPES:
            maps[file] = _TYPES[description["format"]]
    return maps


def map_layers(result: MapResult, name: str) -> list[Layer]:
    """Return the layers of a map: its values, their standard error, and the flags."""
    view = MapView.of(result)
    about = {"metadata": {"settings": dict(result.settings), "unit": view.unit}}
    stderr = scale_for(view.stderr, "stderr")
    present = [int(value) for value in np.unique(result.flags) if value]
    words = [", ".join(flag_name(flag) for flag in Flag if value & flag) for value in present]
    labels = {
        "name": f"{name}: flags",
        "opacity": 0.6,
        "visible": False,
        "features": {"index": present, "flags": words},
    }
    return [
        _image(view.values, view.scale, f"{name}: {view.name} ({view.unit})", about),
        _image(view.stderr, stderr, f"{name}: standard error ({view.unit})", {"visible": False}),
        (result.flags.astype(np.int32), labels, "labels"),
    ]


def _image(values: AnyArray, scale: ColourScale, name: str, more: dict[str, Any]) -> Layer:
    colours = np.concatenate([scale.colours / 255.0, np.ones((256, 1))], axis=1)
    colormap = {"colors": colours, "name": f"relblur {scale.name}"}
    keywords = {"name": name, "colormap": colormap, "contrast_limits": (scale.low, scale.high), **more}
    return np.asarray(values, dtype=np.float32), keywords, "image"
