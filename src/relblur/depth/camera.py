"""``Camera``: lens and focus settings, which relate blur in pixels to distance in metres.

With ``u = 1 / z``, the circle of confusion of image ``i`` is ``C_i = c_i |u - u_i|`` pixels (equations 1 to 4). Here
``1 / u_i`` is its focus distance, and

    c_i = (aperture diameter) (sensor distance) / (pixel pitch) / decimation        in px m

is its *circle constant*. The Gaussian that stands for that circle has ``sigma_i = kappa C_i``; ``kappa`` is the
``blur_constant``. Both images use the sensor distance of the *first*. Refocusing changes the magnification, and the
images are brought to one magnification for the comparison, which scales their circles too.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.errors import InputError
from ..base.settings import DISC_BLUR_CONSTANT
from ..images.disk import PathLike
from ..optics import aperture_mm, image_distance_mm

__all__ = ["Camera"]

Kind = Literal["focus", "aperture", "mixed"]

#: field: (unit, least and largest plausible value, probable mistake outside them). A focus may also be infinite.
_PLAUSIBLE = {
    "focal_length_mm": ("mm", 0.5, 5000.0, "in metres or micrometres"),
    "f_number": ("", 0.3, 128.0, "an aperture diameter"),
    "pixel_pitch_um": ("um", 0.2, 1000.0, "in mm or nm"),
    "focus_first_m": ("m", 1e-3, 1e12, "in mm, or infinite (inf)"),
    "focus_second_m": ("m", 1e-3, 1e12, "in mm, or infinite (inf)"),
    "coc_constant_px_m": ("px m", 1e-4, 1e6, "in px mm"),
    "blur_constant": ("", 0.05, 1.5, "a percentage"),
}
#: Largest accepted whole numbers: above those of any real camera, below the limits of arithmetic.
_MOST_WHOLE = {"decimation": 100_000, "image_width_px": 10_000_000}
#: Relative difference below which two focal planes (in 1/z), or two circle constants, count as equal.
_SAME = 1e-9


@dataclass(frozen=True, kw_only=True)
class Camera:
    """A lens and a sensor, focused or stopped down in two ways.

    Describe the lens by ``focal_length_mm``, ``f_number`` and ``pixel_pitch_um``, or by ``coc_constant_px_m`` alone.

    Attributes
    ----------
    focus_first_m, focus_second_m : float
        Distances in focus in ``first`` and ``second``; ``inf`` is allowed.
    focal_length_mm : float
    f_number : float or (first, second)
        One number for both images, or one for each image of an aperture pair.
    pixel_pitch_um : float
        Pitch in the full-resolution image: the width of the sensor divided by the image width in pixels.
    coc_constant_px_m : float or (first, second)
        ``c`` of ``C_px = c |1/z - 1/focus|``.
    blur_constant : float
        ``kappa``, the standard deviation of the Gaussian that stands for a circle of diameter 1. The default, 0.25, is
        the standard deviation of a disc along each axis. Real lenses and textures give 0.25 to 0.3, so calibrate it
        (:func:`relblur.calibrate`).
    variance_offset_px2 : float
        ``s`` of a point in focus, in pixels of the images as they are; 0 unless calibrated. A lens is less sharp wide
        open than stopped down, so the images of an aperture pair differ even there. Used with the Gaussian only.
    decimation : int
        Factor by which the images were decimated after they were taken.
    image_width_px : int
        Width of the image before decimation, if known. It serves to check ``decimation``.

    Examples
    --------
    >>> camera = Camera(focal_length_mm=35, f_number=2.8, pixel_pitch_um=6, focus_first_m=1.0, focus_second_m=2.0)
    >>> camera.kind
    'focus'
    >>> round(float(camera.circle_px(1.5)[0]), 2)
    25.19
    """

    focus_first_m: float
    focus_second_m: float
    focal_length_mm: float | None = None
    f_number: float | tuple[float, float] | None = None
    pixel_pitch_um: float | None = None
    coc_constant_px_m: float | tuple[float, float] | None = None
    blur_constant: float = DISC_BLUR_CONSTANT
    variance_offset_px2: float = 0.0
    decimation: int = 1
    image_width_px: int | None = None

    def __post_init__(self) -> None:
        may_be_left_out = {field.name for field in fields(self) if field.default is None}
        for name in _PLAUSIBLE:
            value = getattr(self, name)
            if value is not None or name not in may_be_left_out:
                object.__setattr__(self, name, _checked(name, value))
        offset = _number("variance_offset_px2", self.variance_offset_px2, "px^2")
        object.__setattr__(self, "variance_offset_px2", offset)
        if not abs(self.variance_offset_px2) < 100:
            raise InputError(f"variance_offset_px2 = {self.variance_offset_px2:g} px^2 is not plausible (-100 to 100)")
        for name in _MOST_WHOLE:
            value = getattr(self, name)
            if value is not None or name not in may_be_left_out:
                object.__setattr__(self, name, _whole(name, value))
        self._check_lens()
        f = self.focal_length_mm
        for name in ("focus_first_m", "focus_second_m"):
            focus = getattr(self, name)
            if f is not None and 1000 * focus <= f:
                raise InputError(
                    f"{name} = {focus:g} m lies within the focal length ({f:g} mm): no lens can focus there; "
                    "give the distance in metres"
                )
        if self.kind == "focus" and math.isclose(*self.focus_per_m, rel_tol=_SAME):
            raise InputError(
                f"focus_first_m and focus_second_m are both {self.focus_first_m:g} m with one aperture: such images do "
                "not differ; give two focus distances, or two f-numbers"
            )

    def _check_lens(self) -> None:
        lens = {name: getattr(self, name) for name in ("focal_length_mm", "f_number", "pixel_pitch_um")}
        if self.coc_constant_px_m is None:
            missing = [name for name, value in lens.items() if value is None]
            if missing:
                raise InputError(
                    f"Camera lacks {', '.join(missing)}; give focal_length_mm, f_number and pixel_pitch_um, "
                    "or coc_constant_px_m alone"
                )
        elif any(value is not None for value in lens.values()):
            given = [name for name, value in lens.items() if value is not None]
            raise InputError(f"Camera has both coc_constant_px_m and {', '.join(given)}; give one description")

    @property
    def circle_constants_px_m(self) -> tuple[float, float]:
        """``c`` of both images, for the images as they are (decimated)."""
        if self.coc_constant_px_m is not None:
            both = _both(self.coc_constant_px_m)
        else:
            assert self.focal_length_mm is not None
            assert self.f_number is not None
            assert self.pixel_pitch_um is not None
            f = self.focal_length_mm
            sensor = self._sensor_distance_mm(f)
            one, two = (float(aperture_mm(f, n)) * sensor / self.pixel_pitch_um for n in _both(self.f_number))
            both = (one, two)  # mm^2 / um = m mm / mm = px m
        return both[0] / self.decimation, both[1] / self.decimation

    @property
    def focal_length_px(self) -> float | None:
        """Sensor distance in pixels of the images as they are; None if only the circle constant is known."""
        if self.focal_length_mm is None or self.pixel_pitch_um is None:
            return None
        return 1000 * self._sensor_distance_mm(self.focal_length_mm) / self.pixel_pitch_um / self.decimation

    def _sensor_distance_mm(self, focal_length_mm: float) -> float:
        if math.isinf(self.focus_first_m):
            return focal_length_mm
        return float(image_distance_mm(focal_length_mm, 1000 * self.focus_first_m))

    @property
    def blur_constants_px_m(self) -> tuple[float, float]:
        """``k = kappa c`` of both images: ``sigma = k |1/z - 1/focus|``."""
        one, two = self.circle_constants_px_m
        return self.blur_constant * one, self.blur_constant * two

    @property
    def focus_per_m(self) -> tuple[float, float]:
        """``u`` of both focal planes."""
        return 1 / self.focus_first_m, 1 / self.focus_second_m

    @property
    def kind(self) -> Kind:
        """``focus`` (one aperture), ``aperture`` (one focus), or ``mixed``."""
        one, two = self.circle_constants_px_m
        if math.isclose(one, two, rel_tol=_SAME):
            return "focus"
        return "aperture" if self.focus_first_m == self.focus_second_m else "mixed"

    def circle_px(self, depth_m: ArrayLike) -> FloatArray:
        """Return the signed diameters of both blur circles, (2, ...): positive behind the focal plane."""
        u = 1 / np.asarray(depth_m, dtype=np.float64)
        return np.stack([c * (u_i - u) for c, u_i in zip(self.circle_constants_px_m, self.focus_per_m, strict=True)])

    def sigma_px(self, depth_m: ArrayLike) -> FloatArray:
        """Return the absolute blur of both images, (2, ...), as standard deviations."""
        return self.blur_constant * np.abs(self.circle_px(depth_m))

    def decimated(self, factor: int) -> Camera:
        """Return the camera for images decimated by a further factor."""
        factor = _whole("decimation", factor)
        offset = self.variance_offset_px2 / factor**2
        return replace(self, decimation=self.decimation * factor, variance_offset_px2=offset)

    def at_full_resolution(self, factor: int) -> Camera:
        """Return the camera before its images were decimated by a factor: the inverse of :meth:`decimated`."""
        factor = _whole("decimation", factor)
        offset = self.variance_offset_px2 * factor**2
        return replace(self, decimation=max(1, self.decimation // factor), variance_offset_px2=offset)

    def with_circles(self, factor: float) -> Camera:
        """Return the camera with circles of confusion scaled by a factor, by its f-number or circle constant."""

        def scaled(value: float | tuple[float, float] | None, by: float) -> float | tuple[float, float] | None:
            if isinstance(value, tuple):
                return value[0] * by, value[1] * by
            return None if value is None else value * by

        return replace(
            self, f_number=scaled(self.f_number, 1 / factor), coc_constant_px_m=scaled(self.coc_constant_px_m, factor)
        )

    def describe(self) -> str:
        """Return lens and focus in one line."""
        if self.focal_length_mm is not None:
            numbers = self.f_number if isinstance(self.f_number, tuple) else (self.f_number,)
            lens = f"{self.focal_length_mm:g} mm " + " and ".join(f"f/{number:.4g}" for number in numbers)
        else:
            lens = "c = " + " and ".join(f"{c:.4g}" for c in _both(self.coc_constant_px_m or 0.0)[:1]) + " px m"
        planes = dict.fromkeys((self.focus_first_m, self.focus_second_m))
        return f"{lens}, focus {' and '.join(f'{z:.4g}' for z in planes)} m"

    def check_width(self, width_px: int, stacklevel: int = 3) -> None:
        """Warn if the width of the images contradicts the camera."""
        if self.image_width_px is None:
            return
        expected = self.image_width_px / self.decimation
        if abs(width_px - expected) <= 1:
            return
        factor = self.image_width_px / width_px
        hint = (
            f"set decimation={round(factor)}"
            if abs(factor - round(factor)) < 0.02 * factor and round(factor) > 1
            else "check image_width_px and decimation; a crop is fine"
        )
        warnings.warn(
            f"the images are {width_px} px wide, the camera expects {expected:g} "
            f"(image_width_px {self.image_width_px}, decimation {self.decimation}); {hint}",
            stacklevel=stacklevel,
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the fields that are set, as plain numbers and lists."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: list(v) if isinstance(v, tuple) else v for k, v in values.items() if v is not None}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], source: str = "the camera") -> Camera:
        """Make a camera from a table of fields; refuse unknown and missing fields by name."""
        if not isinstance(values, Mapping):
            raise InputError(f"{source} holds {type(values).__name__}; a camera is a table of fields")
        known = [f.name for f in fields(cls)]
        unknown = [name for name in values if name not in known]
        if unknown:
            raise InputError(f"{source} has the unknown field {_shown(unknown[0])}; fields are {', '.join(known)}")
        missing = [name for name in ("focus_first_m", "focus_second_m") if name not in values]
        if missing:
            raise InputError(f"{source} lacks {' and '.join(missing)} (distance in focus, metres)")
        checked: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
        return cls(**checked)

    def save(self, path: PathLike) -> None:
        """Write the camera as TOML, or as JSON if the name ends in ``.json``."""
        from .camera_file import write_camera

        write_camera(path, self.as_dict())

    @classmethod
    def load(cls, path: PathLike) -> Camera:
        """Read a camera file, from :meth:`save` or written by hand."""
        from .camera_file import read_camera

        return cls.from_dict(read_camera(path), str(path))

    @classmethod
    def from_exif(
        cls,
        first: PathLike,
        second: PathLike | None = None,
        *,
        sensor_width_mm: float | None = None,
        **known: Any,
    ) -> Camera:
        """Make a camera from the EXIF data of the photographs.

        Parameters
        ----------
        first, second : paths
            The two photographs, unedited.
        sensor_width_mm : float, optional
            Width of the sensor. With the image width it gives the pixel pitch; by default that of EXIF.
        **known
            Fields that replace those of EXIF. Give the focus distances here, if you can.

        Warns
        -----
        UserWarning
            If a focus distance comes from EXIF, because such values are coarse and often wrong.
        """
        from .camera_file import camera_fields_from_exif

        exif = camera_fields_from_exif(first, second, sensor_width_mm)
        fields_, from_exif = {**exif, **known}, [n for n in ("focus_first_m", "focus_second_m") if n not in known]
        if from_exif and any(name in exif for name in from_exif):
            warnings.warn(
                f"{' and '.join(from_exif)} come from EXIF, where focus distances are unreliable; "
                "measure them, or fit them with calibrate",
                stacklevel=2,
            )
        return cls.from_dict(fields_, f"EXIF of {first}")


def _both(value: float | tuple[float, float]) -> tuple[float, float]:
    return value if isinstance(value, tuple) else (value, value)


def _checked(name: str, value: Any) -> float | tuple[float, float]:
    """Check one field (or a pair of values) against its unit and its plausible range."""
    if not isinstance(value, (tuple, list)):
        return _plausible(name, value)
    if name not in ("f_number", "coc_constant_px_m"):
        raise InputError(f"{name} must be one number, got {_shown(value)}")
    if len(value) != 2:
        raise InputError(f"{name} must be one number or two (first, second), got {_shown(value)}")
    return _plausible(name, value[0]), _plausible(name, value[1])


def _plausible(name: str, value: Any) -> float:
    unit, least, most, mistake = _PLAUSIBLE[name]
    in_unit = f" {unit}" if unit else ""
    number = _number(name, value, unit)
    if math.isnan(number) or number <= 0 or (math.isinf(number) and not name.startswith("focus_")):
        raise InputError(f"{name} must be > 0{in_unit}, got {number:g}")
    if not least <= number <= most and not math.isinf(number):
        raise InputError(
            f"{name} = {number:g}{in_unit} is not plausible ({least:g} to {most:g}{in_unit}); was it {mistake}?"
        )
    return number


def _number(name: str, value: Any, unit: str) -> float:
    """Return a value as a float; strings are accepted because JSON files write infinity as ``"inf"``."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        in_unit = f" in {unit}" if unit else ""
        raise InputError(f"{name} must be a number{in_unit}, got {_shown(value)}") from None


def _whole(name: str, value: Any) -> int:
    most = _MOST_WHOLE[name]
    is_number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    if is_number and 1 <= value <= most and value == int(value):
        return int(value)
    raise InputError(f"{name} must be a whole number from 1 to {most}, got {_shown(value)}")


def _shown(value: Any) -> str:
    """Return a short description of any value, however long or deep."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]} ..."
