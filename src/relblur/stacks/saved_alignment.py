"""The alignment of a stack as a JSON file, in px of the images."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ..base._typing import FloatArray, PathLike
from ..base.errors import FileError, InputError
from ..filters.resampling import DEGREE, Bend
from ..images.disk import replacing
from ..images.reading import read_bytes
from ..photo.motion import Motion

__all__ = ["read_alignment", "write_alignment"]

FORMAT = "relblur.StackAlignment"
Motions = Mapping[int, Motion | None]


def write_alignment(path: PathLike, shape: tuple[int, int], order: Sequence[int], motions: Motions) -> None:
    """Write the shape of the images, their order of focus and the motion of each frame that fits, by its number."""
    entries = {number: None if motion is None else asdict(motion) for number, motion in motions.items()}
    about = {"format": FORMAT, "shape": shape, "order": order, "motions": entries}
    with replacing(path) as stream:
        stream.write(json.dumps(about, indent=1, default=lambda array: array.tolist()).encode())


def read_alignment(path: PathLike, shape: tuple[int, int], count: int) -> tuple[list[int], Motions]:
    """Return the order and the motions of an alignment of ``count`` images of this shape."""
    try:
        about = json.loads(read_bytes(path))
        (height, width), order = about["shape"], [int(each) for each in about["order"]]
        motions = {int(number): _motion(entry) for number, entry in about["motions"].items()}
        is_whole = sorted(order) == list(range(len(order))) and set(order) >= set(motions)
        if about["format"] != FORMAT or not is_whole or None not in motions.values():
            raise ValueError("its frames are not those of a stack")
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} is not an alignment of relblur ({error!r:.99}); name another file") from None
    if (len(order), height, width) != (count, *shape):
        raise InputError(
            f"motion {path} is the alignment of {len(order)} images of {width}x{height}, got {count} of "
            f"{shape[1]}x{shape[0]}; give the same images, or the name of a new file"
        )
    return order, motions


def _motion(entry: Any) -> Motion | None:
    if entry is None:
        return None
    transform, bend = _numbers(entry["transform"], (3, 3)), entry["bend"]
    np.linalg.inv(transform)  # LinAlgError, a ValueError, if there is no inverse
    if bend is not None:
        row, column = _numbers(bend["middle"], (2,)).tolist()
        bend = Bend(_numbers(bend["coefficients"], (2, DEGREE + 1, DEGREE + 1)), (row, column), float(bend["radius"]))
    return Motion(transform, str(entry["model"]), float(entry["largest_px"]), float(entry["correlation"]), bend)


def _numbers(values: Any, shape: tuple[int, ...]) -> FloatArray:
    found = np.array(values, np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"a motion has other numbers than {shape}")
    return found
