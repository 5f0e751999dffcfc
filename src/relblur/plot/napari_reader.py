"""Reader plugin for napari: results of relblur (a ``.npz`` or a folder of results) as layers.

A blur map becomes an image with limits symmetric about zero, a depth map an image and a surface, a stack an image.
Flags become labels. This module does not import napari: plugins return layers as tuples (data, keywords, kind).
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..base.errors import RelblurError
from ..blur.blur_map import BlurMap, Flag
from ..depth.depth_map import FORMAT as DEPTH_FORMAT
from ..depth.depth_map import DepthMap
from ..images.archives import is_npz, read_npz
from ..images.map_formats import FORMAT as BLUR_FORMAT
from ..stacks.stack_map import FORMAT as STACK_FORMAT
from ..stacks.stack_map import StackMap, read_stack_map
from .colours import ColourScale, Kind, scale_for

__all__ = ["Layer", "blur_layers", "get_reader", "stack_layers"]

Layer = tuple[Any, dict[str, Any], str]

#: Names of saved maps in a folder of results.
RESULT_FILES = ("blur_map.npz", "depth.npz", "stack.npz")

#: Maximum number of corners of a surface: enough for any screen, few enough for smooth rotation.
MOST_CORNERS = 300_000


def get_reader(path: str | Sequence[str]) -> Callable[[Any], list[Layer]] | None:
    """Return a function that reads this path, or None if it is not a result of relblur."""
    if not isinstance(path, str):
        if len(path) != 1:
            return None
        path = path[0]
    return read_layers if _result_files(path) else None


def read_layers(path: str | Sequence[str]) -> list[Layer]:
    """Read a result as layers."""
    layers: list[Layer] = []
    for file in _result_files(path if isinstance(path, str) else path[0]):
        if _format(file) == BLUR_FORMAT:
            layers += blur_layers(BlurMap.load(file), _name(file))
        elif _format(file) == STACK_FORMAT:
            layers += stack_layers(read_stack_map(file), _name(file))
        else:
            layers += _depth_layers(DepthMap.load(file), _name(file))
    return layers


def _result_files(path: str) -> list[Path]:
    """Return the saved maps at a path: the file itself, or the files of a folder."""
    place = Path(os.fspath(path))
    files = [place / name for name in RESULT_FILES] if place.is_dir() else [place]
    return [file for file in files if _is_result(file)]


def _is_result(file: Path) -> bool:
    try:
        return file.is_file() and is_npz(file) and _format(file) in (BLUR_FORMAT, DEPTH_FORMAT, STACK_FORMAT)
    except (RelblurError, OSError, ValueError):
        return False


def _format(file: Path) -> str:
    _, description = read_npz(file, names=())
    return str(description.get("format"))


def _name(file: Path) -> str:
    return file.parent.name if file.name in RESULT_FILES else file.stem


def blur_layers(blur_map: BlurMap, name: str) -> list[Layer]:
    """Return the layers of a blur map: blur and its standard error in px, and flags."""
    about = {"settings": dict(blur_map.settings), "unit": "px", "sign": "positive: second is blurrier"}
    sigma = blur_map.sigma
    scale = scale_for(sigma, "sigma")
    limit = max(abs(scale.low), abs(scale.high))
    signed = ColourScale(-limit, limit, "blue_red")  # symmetric even if all values have one sign
    return [
        _image(sigma, signed, f"{name}: relative blur (px)", about),
        _hidden_image(blur_map.sigma_stderr, "stderr", f"{name}: standard error (px)"),
        _labels(blur_map.flags, f"{name}: flags"),
    ]


def _depth_layers(depth_map: DepthMap, name: str) -> list[Layer]:
    about = {"settings": dict(depth_map.settings), "camera": depth_map.camera.as_dict(), "unit": "m"}
    scale = scale_for(depth_map.depth_m, "depth")
    layers = [
        _image(depth_map.depth_m, scale, f"{name}: distance (m)", about),
        _hidden_image(depth_map.depth_stderr_m, "stderr", f"{name}: standard error (m)"),
        _labels(depth_map.flags, f"{name}: flags"),
    ]
    surface = _surface(depth_map)
    if surface is not None:
        keywords = {
            "name": f"{name}: surface",
            "colormap": _colormap(scale),
            "contrast_limits": (scale.low, scale.high),
            "visible": False,
        }
        layers.append((surface, keywords, "surface"))
    return layers


def stack_layers(stack: StackMap, name: str) -> list[Layer]:
    """Return the layers of a stack: depth, height or frame in focus, its standard error, and flags."""
    quantity, unit, values, stderr = stack.best
    about = {"settings": dict(stack.settings), "unit": unit}
    kind: Kind = "depth" if unit == "m" else "sigma" if unit == "px" else "level"
    return [
        _image(values, scale_for(values, kind), f"{name}: {quantity} ({unit})", about),
        _hidden_image(stderr, "stderr", f"{name}: standard error ({unit})"),
        _labels(stack.flags, f"{name}: flags"),
    ]


def _image(values: FloatArray, scale: ColourScale, name: str, about: dict[str, Any]) -> Layer:
    keywords = {
        "name": name,
        "colormap": _colormap(scale),
        "contrast_limits": (scale.low, scale.high),
        "metadata": about,
    }
    return np.asarray(values, dtype=np.float32), keywords, "image"


def _hidden_image(values: FloatArray, kind: Kind, name: str) -> Layer:
    """Return an image layer that is hidden by default."""
    data, keywords, layer = _image(values, scale_for(values, kind), name, {})
    return data, {**keywords, "visible": False}, layer


def _labels(flags: AnyArray, name: str) -> Layer:
    present = [int(value) for value in np.unique(flags) if value]
    words = [", ".join(str(flag.name).lower().replace("_", " ") for flag in Flag if value & flag) for value in present]
    keywords = {"name": name, "opacity": 0.6, "visible": False, "features": {"index": present, "flags": words}}
    return flags.astype(np.int32), keywords, "labels"


def _colormap(scale: ColourScale) -> dict[str, Any]:
    colours = np.concatenate([scale.colours / 255.0, np.ones((256, 1))], axis=1)
    return {"colors": colours, "name": f"relblur {scale.name}"}


def _surface(depth_map: DepthMap) -> tuple[FloatArray, AnyArray, FloatArray] | None:
    """Return corners (depth, row, column), triangles and values; None if no pixel has a depth.

    Depth is in pixels at the median distance, so the proportions are true there. A camera without a focal length is
    assumed to have an angle of view of 45 degrees.
    """
    known = depth_map.known
    if not known.any() or min(depth_map.shape) < 2:
        return None
    every = max(1, math.ceil(math.sqrt(known.size / MOST_CORNERS)))
    depth = depth_map.depth_m[::every, ::every]
    here = np.isfinite(depth)
    middle = float(np.median(depth_map.depth_m[known]))
    focal_px = depth_map.camera.focal_length_px or 1.2 * depth_map.shape[1]
    low, high = np.percentile(depth_map.depth_m[known], (0.5, 99.5))
    rows, columns = np.mgrid[: depth_map.shape[0] : every, : depth_map.shape[1] : every]
    away = (depth.clip(low, high) - middle) * focal_px / middle
    index = np.full(depth.shape, -1)
    index[here] = np.arange(int(here.sum()))
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:]
    triangles = np.concatenate([np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, c, b), (b, c, d))])
    whole = triangles[(triangles >= 0).all(axis=1)]
    if not len(whole):
        return None
    corners = np.stack([away[here], rows[here], columns[here]], axis=1)
    return corners.astype(np.float32), whole, depth[here].astype(np.float32)
