"""``Camera``: lens and focus settings, which relate blur in pixels to distance in metres.

With ``u = 1 / z``, the circle of confusion of image ``i`` is ``C_i = c_i |u - u_i|`` pixels (equations 1 to 4). Here
``1 / u_i`` is its focus distance, and

    c_i = (aperture diameter) (sensor distance) / (pixel pitch) / decimation        in px m

is its *circle constant*. The Gaussian that approximates this circle has ``sigma_i = kappa C_i``; ``kappa`` is the
``blur_constant``. Both images use the sensor distance of the *first*. Refocusing changes the magnification, and the
images are brought to one magnification for the comparison, which scales their circles too.
"""

from __future__ import annotations

import math
import tomllib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np

from ..base._typing import ArrayLike, FloatArray
from ..base.errors import FileError, InputError
from ..base.settings import DISC_BLUR_CONSTANT, Sharper
from ..images.disk import PathLike, replacing
from ..images.reading import read_bytes
from ..optics import aperture_mm, image_distance_mm

__all__ = ["Camera"]

Kind = Literal["focus", "aperture", "mixed"]

#: Least and largest plausible value of each field. A focus may also be infinite.
_LIMITS = {
    "focus_first_m": (1e-3, 1e12),
    "focus_second_m": (1e-3, 1e12),
    "focal_length_mm": (0.5, 5000.0),
    "f_number": (0.3, 128.0),
    "pixel_pitch_um": (0.2, 1000.0),
    "coc_constant_px_m": (1e-4, 1e6),
    "blur_constant": (0.05, 1.5),
    "variance_offset_px2": (-99.0, 99.0),
    "decimation": (1, 100_000),
    "image_width_px": (1, 10_000_000),
}
_WHOLE = ("decimation", "image_width_px")
_ONE_OR_TWO = ("f_number", "coc_constant_px_m")
#: Relative difference below which two focal planes (in 1/z), or two circle constants, count as equal.
_SAME = 1e-9
#: Largest camera file (bytes). A camera has less than 1000; a hostile TOML file of 10,000 takes seconds to read.
_MOST_BYTES = 10_000


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
        ``kappa``, the standard deviation of the Gaussian that approximates a circle of diameter 1. The default is 0.25,
        the standard deviation of a disc along each axis. Real lenses and textures give 0.25 to 0.3, so calibrate it
        (:func:`relblur.calibrate`).
    variance_offset_px2 : float
        ``s`` of a point in focus, in pixels of the given images; 0 unless calibrated. A lens is less sharp wide open
        than stopped down, so the images of an aperture pair differ even in focus. Used with the Gaussian only.
    decimation : int
        Factor by which the images were decimated after they were taken.
    image_width_px : int
        Width of the image before decimation, if known; used to check ``decimation``.

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
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None or field.default is not None:
                object.__setattr__(self, field.name, _checked(field.name, value))
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
        missing = [name for name, value in lens.items() if value is None]
        if self.coc_constant_px_m is None and missing:
            raise InputError(
                f"Camera lacks {', '.join(missing)}; give focal_length_mm, f_number and pixel_pitch_um, "
                "or coc_constant_px_m alone"
            )
        if self.coc_constant_px_m is not None and len(missing) < len(lens):
            raise InputError("Camera has both coc_constant_px_m and fields of a lens; give one description")

    @property
    def circle_constants_px_m(self) -> tuple[float, float]:
        """``c`` of both images, for the decimated images."""
        f, pitch = self.focal_length_mm, self.pixel_pitch_um
        if f is None or pitch is None or self.f_number is None:
            one, two = _both(self.coc_constant_px_m or math.nan)
        else:  # mm^2 / um = m mm / mm = px m
            one, two = (float(aperture_mm(f, n)) * self._sensor_distance_mm(f) / pitch for n in _both(self.f_number))
        return one / self.decimation, two / self.decimation

    @property
    def focal_length_px(self) -> float | None:
        """Sensor distance in pixels of the decimated images; None if only the circle constant is known."""
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

    @property
    def sharper(self) -> Sharper:
        """The image with the smaller aperture, which is sharper everywhere; "auto" unless the pair has one focus."""
        one, two = self.circle_constants_px_m
        return "auto" if self.kind != "aperture" else "first" if one < two else "second"

    def circle_px(self, depth_m: ArrayLike) -> FloatArray:
        """Return the signed diameters of both blur circles, (2, ...): positive behind the focal plane."""
        u = 1 / np.asarray(depth_m, dtype=np.float64)
        return np.stack([c * (u_i - u) for c, u_i in zip(self.circle_constants_px_m, self.focus_per_m, strict=True)])

    def sigma_px(self, depth_m: ArrayLike) -> FloatArray:
        """Return the absolute blur of both images, (2, ...), as standard deviations."""
        return self.blur_constant * np.abs(self.circle_px(depth_m))

    def decimated(self, factor: int) -> Camera:
        """Return the camera for images decimated by a further factor."""
        offset = self.variance_offset_px2 / factor**2
        return replace(self, decimation=self.decimation * factor, variance_offset_px2=offset)

    def at_full_resolution(self, factor: int) -> Camera:
        """Return the camera before its images were decimated by a factor: the inverse of :meth:`decimated`."""
        offset = self.variance_offset_px2 * factor**2
        return replace(self, decimation=max(1, self.decimation // factor), variance_offset_px2=offset)

    def with_circles(self, factor: float) -> Camera:
        """Return the camera with circles of confusion scaled by a factor, by its f-number or circle constant."""

        def scaled(value: float | tuple[float, float] | None, by: float) -> Any:
            if isinstance(value, tuple):
                return value[0] * by, value[1] * by
            return None if value is None else value * by

        f_number, constant = scaled(self.f_number, 1 / factor), scaled(self.coc_constant_px_m, factor)
        return replace(self, f_number=f_number, coc_constant_px_m=constant)

    def describe(self) -> str:
        """Return lens and focus in one line."""
        if self.focal_length_mm is not None:
            numbers = " and ".join(f"f/{number:.4g}" for number in dict.fromkeys(_both(self.f_number or math.nan)))
            lens = f"{self.focal_length_mm:g} mm {numbers}"
        else:
            constants = dict.fromkeys(_both(self.coc_constant_px_m or math.nan))
            lens = f"c = {' and '.join(f'{c:.4g}' for c in constants)} px m"
        planes = dict.fromkeys((self.focus_first_m, self.focus_second_m))
        return f"{lens}, focus {' and '.join(f'{z:.4g}' for z in planes)} m"

    def check_width(self, width_px: int, stacklevel: int = 3) -> None:
        """Warn if the width of the images contradicts the camera."""
        expected = None if self.image_width_px is None else self.image_width_px / self.decimation
        if expected is not None and abs(width_px - expected) > 1:
            warnings.warn(
                f"the images are {width_px} px wide, the camera implies {expected:g} (image_width_px / decimation); "
                "set decimation if they were decimated; a crop is fine",
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
            raise InputError(f"{source} contains {type(values).__name__}; a camera is a table of fields")
        unknown = [name for name in values if name not in _LIMITS]
        if unknown:
            raise InputError(f"{source} has the unknown field {_shown(unknown[0])}; fields are {', '.join(_LIMITS)}")
        missing = [name for name in ("focus_first_m", "focus_second_m") if name not in values]
        if missing:
            raise InputError(f"{source} lacks {' and '.join(missing)} (distance in focus, metres)")
        return cls(**values)

    def save(self, path: PathLike) -> None:
        """Write the camera as TOML."""
        lines = ["# relblur camera", *(f"{name} = {value!r}" for name, value in self.as_dict().items()), ""]
        with replacing(path) as stream:
            stream.write("\n".join(lines).encode())

    @classmethod
    def load(cls, path: PathLike) -> Camera:
        """Read a camera file, from :meth:`save` or written by hand."""
        content = read_bytes(path)
        try:
            if len(content) > _MOST_BYTES:
                raise ValueError(f"it has {len(content)} bytes, a camera at most {_MOST_BYTES}")
            values = tomllib.loads(content.decode("utf-8-sig"))  # Windows editors write a byte order mark
        except (ValueError, RecursionError) as error:
            what = " ".join(str(error).split(";")[0].split())
            raise FileError(f"{path} is not a camera file (TOML): {what[:200]}") from None
        return cls.from_dict(values, str(path))


def _both(value: float | tuple[float, float]) -> tuple[float, float]:
    return value if isinstance(value, tuple) else (value, value)


def _checked(name: str, value: Any) -> float | tuple[float, float]:
    """Check one field (or a pair of values) against its range."""
    if isinstance(value, (tuple, list)) and name in _ONE_OR_TWO and len(value) == 2:
        return _number(name, value[0]), _number(name, value[1])
    return _number(name, value)


def _number(name: str, value: Any) -> float:
    """Return a value as a number; strings are accepted because records in JSON write infinity as ``"inf"``."""
    least, most = _LIMITS[name]
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    is_infinite_focus = number == math.inf and name.startswith("focus_")
    is_whole = name in _WHOLE
    if is_infinite_focus or (least <= number <= most and not (is_whole and number != int(number))):
        return int(number) if is_whole else number
    kind = f"{'whole ' * is_whole}number{', or two (first, second),' * (name in _ONE_OR_TWO)}"
    raise InputError(f"{name} must be a {kind} from {least:g} to {most:g}, got {_shown(value)}")


def _shown(value: Any) -> str:
    """Return a short description of any value, however long or deep."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:60]} ..."
