"""Camera files (TOML, JSON), and camera fields from the EXIF data of photographs."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..base.arguments import as_positive
from ..base.errors import FileError, InputError
from ..images.disk import PathLike, replacing
from ..images.images import read_exif
from ..images.reading import read_bytes

__all__ = ["camera_fields_from_exif", "read_camera", "write_camera"]

_UNITS = {
    "focus_first_m": "distance in focus in the first image, m",
    "focus_second_m": "distance in focus in the second image, m",
    "focal_length_mm": "mm",
    "f_number": "one for both, or [first, second]",
    "pixel_pitch_um": "of the image before decimation, um",
    "coc_constant_px_m": "circle of confusion in px = this * abs(1/z - 1/focus), px m",
    "blur_constant": "sigma of the blur / diameter of the circle of confusion",
    "variance_offset_px2": "variance difference in focus, px^2",
    "decimation": "the images were decimated by this factor",
    "image_width_px": "before decimation, px",
}

#: Largest camera file (bytes). A camera has less than 1000; a hostile TOML file of 10,000 takes seconds to read.
_MOST_BYTES = 10_000

# EXIF tags: (name of the field, number).
_FOCAL_LENGTH, _F_NUMBER, _SUBJECT_DISTANCE = 0x920A, 0x829D, 0x9206
_PLANE_X_RESOLUTION, _PLANE_RESOLUTION_UNIT, _PIXEL_X = 0xA20E, 0xA210, 0xA002
_UNIT_MM = {2: 25.4, 3: 10.0, 4: 1.0, 5: 0.001}


def write_camera(path: PathLike, values: Mapping[str, Any]) -> None:
    """Write a camera's fields: JSON for ``.json``, else TOML with the unit beside each value."""
    if Path(path).suffix.lower() == ".json":
        # JSON has no infinity: a focus at infinity becomes "inf", which float() reads.
        plain = {k: "inf" if isinstance(v, float) and math.isinf(v) else v for k, v in values.items()}
        text = json.dumps(plain, indent=2) + "\n"
    else:
        lines = [f"{name} = {_toml(value)}  # {_UNITS[name]}" for name, value in values.items()]
        text = "\n".join(["# relblur camera", *lines, ""])
    with replacing(path) as stream:
        stream.write(text.encode())


def read_camera(path: PathLike) -> dict[str, Any]:
    """Return the fields in a camera file."""
    content = read_bytes(path)
    if len(content) > _MOST_BYTES:
        raise FileError(f"{path} is not a camera file: it has {len(content)} bytes, a camera at most {_MOST_BYTES}")
    try:
        text = content.decode("utf-8-sig")  # Windows editors write a byte order mark
        is_json = Path(path).suffix.lower() == ".json"
        values = json.loads(text) if is_json else tomllib.loads(text)
    except ValueError as error:  # wrong encoding, wrong TOML or JSON, a number of thousands of digits
        what = " ".join(str(error).split(";")[0].split())
        raise FileError(f"{path} is not a camera file (TOML, or JSON if so named): {what[:200]}") from None
    except RecursionError:
        raise FileError(f"{path} is not a camera file: its lists are nested too deeply") from None
    if not isinstance(values, dict):
        raise FileError(f"{path} is not a camera file: it contains no table of fields")
    values = values.get("camera", values) if isinstance(values.get("camera"), dict) else values
    return dict(values)


def camera_fields_from_exif(first: PathLike, second: PathLike | None, sensor_width_mm: float | None) -> dict[str, Any]:
    """Return the camera fields in the EXIF data of the photographs."""
    tags = [_exif(path) for path in (first, second) if path is not None]
    known: dict[str, Any] = {}
    one = tags[0]
    if _positive(one.get(_FOCAL_LENGTH)):
        known["focal_length_mm"] = float(one[_FOCAL_LENGTH])
    numbers = [float(tag[_F_NUMBER]) for tag in tags if _positive(tag.get(_F_NUMBER))]
    if len(numbers) == len(tags):
        known["f_number"] = numbers[0] if len(set(numbers)) == 1 else (numbers[0], numbers[1])
    for name, tag in zip(("focus_first_m", "focus_second_m"), tags, strict=False):
        distance = tag.get(_SUBJECT_DISTANCE)  # 0xFFFFFFFF / 1 means infinity, 0 unknown
        if distance is not None and _positive(distance):
            known[name] = math.inf if float(distance) > 1e6 else float(distance)
    width = int(one["width"])
    known["image_width_px"] = width
    if sensor_width_mm is not None:
        known["pixel_pitch_um"] = 1000 * as_positive(sensor_width_mm, "sensor_width_mm", "mm") / width
    elif _positive(one.get(_PLANE_X_RESOLUTION)):
        unit = one.get(_PLANE_RESOLUTION_UNIT)
        unit_mm = _UNIT_MM.get(int(float(unit)), 25.4) if unit is not None and _positive(unit) else 25.4
        stored = float(one[_PIXEL_X]) if _positive(one.get(_PIXEL_X)) else width
        # The resolution refers to the image as the camera stored it. The file may have been resized.
        known["pixel_pitch_um"] = 1000 * unit_mm / float(one[_PLANE_X_RESOLUTION]) * stored / width
    return known


def _exif(path: PathLike) -> dict[Any, Any]:
    exif, width = read_exif(path)
    if not exif:
        raise InputError(f"{path} holds no EXIF data; give focal_length_mm, f_number and the rest by hand")
    return {**exif, "width": width}


def _positive(value: Any) -> bool:
    try:
        return value is not None and 0 < float(value) < math.inf
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return False


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    return repr(value)  # repr of inf is TOML's inf; ints and floats are written alike
