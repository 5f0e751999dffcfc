"""The alignment of a stack as a file, and the frames of another channel or of full depth laid by it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base._typing import PathLike
from ..base.errors import FileError, InputError
from ..filters.resampling import DEGREE, Bend
from ..images.disk import replacing
from ..images.reading import read_bytes
from ..photo.motion import Motion
from ..photo.photograph import Source
from .frames import Frames, Masked, Placement, name_of

__all__ = ["frames_of_channel", "read_alignment", "write_alignment"]

FORMAT, FORMAT_VERSION = "relblur.StackAlignment", 1
_MOST_BYTES = 100_000_000


def write_alignment(path: PathLike, frames: Frames) -> None:
    """Write where each frame is found, in px of the images, and the order of the frames, as JSON."""
    entries = []
    for frame in frames.frames:
        motion = None if frame.motion is None else frame.motion.enlarged(frames.factor)
        entries.append(
            {
                "number": frame.number,
                "image": name_of(frames.sources, frame.number),
                "position": frame.position,
                "motion": None if motion is None or not motion.moves else _as_dict(motion),
            }
        )
    about: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "shape": list(frames.shape)}
    about["transform"] = "(row, column, 1) of the frame that stays to (row, column, 1) of the image, px"
    with replacing(path) as stream:
        stream.write(json.dumps({**about, "images": len(frames.sources), "frames": entries}, indent=1).encode())


def _as_dict(motion: Motion) -> dict[str, Any]:
    bend = motion.bend
    bent = None if bend is None else {**vars(bend), "coefficients": bend.coefficients.tolist()}
    return {
        "model": motion.model,
        "transform": motion.transform.tolist(),
        "largest_px": motion.largest_px,
        "correlation": motion.correlation,
        "bend": bent,
    }


def read_alignment(path: PathLike, count: int) -> Placement:
    """Read an alignment of ``count`` images that :func:`write_alignment` wrote."""
    try:
        about = json.loads(read_bytes(path, _MOST_BYTES))
        if about["format"] != FORMAT or about["format_version"] > FORMAT_VERSION:
            raise ValueError(f"it holds {str(about['format'])[:40]!r}")
        images, (height, width) = int(about["images"]), map(int, about["shape"])
        order = {int(each["number"]): int(each["position"]) for each in about["frames"]}
        motions = {int(each["number"]): _motion(each["motion"]) for each in about["frames"]}
        if len(order) < 2 or not all(0 <= number < images for number in order):
            raise ValueError("its frames are not those of its images")
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise FileError(f"{path} is not an alignment that relblur wrote ({str(error)[:100]}); make it again") from None
    if images != count:
        raise InputError(f"{path} is the alignment of {images} images, and {count} are given; give the same images")
    return Placement((height, width), order, motions)


def _motion(entry: Any) -> Motion | None:
    if entry is None:
        return None
    transform = np.array(entry["transform"], np.float64)
    if transform.shape != (3, 3) or not np.isfinite(transform).all() or abs(np.linalg.det(transform)) < 1e-6:
        raise ValueError("a transform is no 3 x 3 matrix that can be inverted")
    bend, bent = None, entry.get("bend")
    if bent is not None:
        coefficients = np.array(bent["coefficients"], np.float64)
        if coefficients.shape != (2, DEGREE + 1, DEGREE + 1) or not np.isfinite(coefficients).all():
            raise ValueError("a bend has other coefficients")
        row, column = (float(each) for each in bent["middle"])
        bend = Bend(coefficients, (row, column), float(bent["radius"]))
    model, largest, correlation = str(entry["model"]), float(entry["largest_px"]), float(entry["correlation"])
    return Motion(transform, model, largest, correlation, bend)


def frames_of_channel(frames: Frames, sources: Sequence[Source | Masked]) -> Frames:
    """Return the same frames of another channel: alignment and order are kept, exposures are not matched."""
    if len(sources) != len(frames.sources):
        raise InputError(f"the other channel has {len(sources)} images, the stack has {len(frames.sources)}")
    shape = frames.reading.read(sources[frames.frames[0].number], "the other channel").light.shape[:2]
    if shape != frames.shape:
        raise InputError(
            f"the other channel is {shape[1]}x{shape[0]}, the stack {frames.shape[1]}x{frames.shape[0]}; "
            "give images of the same camera"
        )
    unmatched = tuple(replace(each, exposure=None) for each in frames.frames)
    return replace(frames, sources=sources, frames=unmatched, is_full=False)
