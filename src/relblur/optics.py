"""Equations 1 to 8 of the paper: thin lens, circle of confusion, choice of focal length.

Every function evaluates one equation for numbers or arrays. Lengths are in millimetres unless a name has another unit.
``_px`` values are in pixel pitches.

For a point behind the focal plane, whose image moves towards the lens, equations 2 and 3 together give a *negative*
circle of confusion ``C``, equation 4 a *positive* one. This module follows equation 4: C > 0 behind the focal plane,
C < 0 in front of it. Only :func:`circle_from_image_shift_mm` has the opposite sign.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from .base._typing import ArrayLike, FloatArray
from .base.arguments import as_choice
from .base.errors import InputError

__all__ = [
    "aperture_mm",
    "circle_at_infinity_mm",
    "circle_from_depth_mm",
    "circle_from_image_shift_mm",
    "depth_from_circle_mm",
    "focal_length_for_max_circle_mm",
    "focal_length_quadratic",
    "focus_distance_mm",
    "image_distance_mm",
    "max_circle_foreground_background_mm",
    "max_circle_mm",
    "mm_to_px",
    "px_to_mm",
    "scene_distance_mm",
]


def focus_distance_mm(focal_length_mm: ArrayLike, image_distance_mm: ArrayLike) -> FloatArray:
    """Return the distance of the plane in focus, equation 1: ``d_f = f d_i / (d_i - f)``.

    Examples
    --------
    >>> float(focus_distance_mm(50, 52.5))
    1050.0
    """
    f, d_i = _positive(focal_length_mm=focal_length_mm, image_distance_mm=image_distance_mm)
    _require(d_i > f, "image_distance_mm must exceed focal_length_mm; otherwise nothing is in focus")
    return f * d_i / (d_i - f)


def image_distance_mm(focal_length_mm: ArrayLike, focus_distance_mm: ArrayLike) -> FloatArray:
    """Return the distance of the sensor behind the lens, the inverse of equation 1: ``d_i = f d_f / (d_f - f)``."""
    f, d_f = _positive(focal_length_mm=focal_length_mm, focus_distance_mm=focus_distance_mm)
    _require(d_f > f, "focus_distance_mm must exceed focal_length_mm; a lens cannot focus closer")
    return f * d_f / (d_f - f)


def scene_distance_mm(
    focal_length_mm: ArrayLike, image_distance_mm: ArrayLike, image_shift_mm: ArrayLike
) -> FloatArray:
    """Return the distance of the scene point imaged ``image_shift_mm`` behind the sensor, equation 2.

    ``d_f + delta_d_f = f (d_i + delta_d_i) / (d_i + delta_d_i - f)``
    """
    return focus_distance_mm(focal_length_mm, _array(image_distance_mm) + _array(image_shift_mm))


def circle_from_image_shift_mm(
    aperture_mm: ArrayLike, image_distance_mm: ArrayLike, image_shift_mm: ArrayLike
) -> FloatArray:
    """Return the diameter of the blur circle by similar triangles, equation 3: ``C = A delta_d_i / (d_i + delta_d_i)``.

    It is positive where the focused image lies behind the sensor, that is for points *in front of* the focal plane.
    This sign is opposite to that of equation 4.
    """
    a, d_i = _positive(aperture_mm=aperture_mm, image_distance_mm=image_distance_mm)
    shift = _array(image_shift_mm)
    _require(d_i + shift > 0, "image_shift_mm must stay above -image_distance_mm")
    return a * shift / (d_i + shift)


def circle_at_infinity_mm(
    aperture_mm: ArrayLike, focal_length_mm: ArrayLike, focus_distance_mm: ArrayLike
) -> FloatArray:
    """Return the blur circle of a point at infinity, ``C_o = A f / (d_f - f)`` of equation 4."""
    (a,) = _positive(aperture_mm=aperture_mm)
    d_f = _array(focus_distance_mm)
    return a * image_distance_mm(focal_length_mm, d_f) / d_f  # equation 1


def depth_from_circle_mm(
    circle_mm: ArrayLike, aperture_mm: ArrayLike, focal_length_mm: ArrayLike, focus_distance_mm: ArrayLike
) -> FloatArray:
    """Return the depth behind the focal plane for a blur circle, equation 4: ``C d_f / (C_o - C)``.

    ``circle_mm`` is signed, positive behind the focal plane. It must be below C_o, the circle of a point at infinity.
    """
    c = _array(circle_mm)
    c_o = circle_at_infinity_mm(aperture_mm, focal_length_mm, focus_distance_mm)
    _require(c < c_o, "circle_mm must be below that of a point at infinity, A f / (d_f - f)")
    return c * _array(focus_distance_mm) / (c_o - c)


def circle_from_depth_mm(
    depth_mm: ArrayLike, aperture_mm: ArrayLike, focal_length_mm: ArrayLike, focus_distance_mm: ArrayLike
) -> FloatArray:
    """Return the blur circle of a point ``depth_mm`` behind the focal plane, the inverse of equation 4.

    ``C = C_o delta_d_f / (d_f + delta_d_f)``, negative in front of the focal plane.
    """
    delta, d_f = _array(depth_mm), _array(focus_distance_mm)
    _require(d_f + delta > 0, "depth_mm must keep the point in front of the lens (depth > -focus distance)")
    return circle_at_infinity_mm(aperture_mm, focal_length_mm, focus_distance_mm) * delta / (d_f + delta)


def max_circle_mm(
    relative_depth: ArrayLike,
    aperture_mm: ArrayLike,
    focal_length_mm: ArrayLike,
    focus_distance_mm: ArrayLike,
) -> FloatArray:
    """Return the largest blur circle for depths within ``+-relative_depth * d_f``, equation 5.

    ``C_max = eta / (1 - eta) * A f / (d_f - f)``; it occurs at the near end of the range.
    """
    eta = _relative_depth(relative_depth)
    return eta / (1 - eta) * circle_at_infinity_mm(aperture_mm, focal_length_mm, focus_distance_mm)


def focal_length_quadratic(
    max_circle_mm: ArrayLike, relative_depth: ArrayLike, f_number: ArrayLike, focus_distance_mm: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the coefficients (1, b, c) of equation 6, ``f^2 + C_m f_n f - C_m f_n d_f = 0``."""
    eta = _relative_depth(relative_depth)
    c_max, f_n, d_f = _positive(max_circle_mm=max_circle_mm, f_number=f_number, focus_distance_mm=focus_distance_mm)
    product = (1 - eta) / eta * c_max * f_n
    return np.ones_like(product), product, -product * d_f


def focal_length_for_max_circle_mm(
    max_circle_mm: ArrayLike, relative_depth: ArrayLike, f_number: ArrayLike, focus_distance_mm: ArrayLike
) -> FloatArray:
    """Return the focal length for a given C_max, equation 7 (the positive root of equation 6).

    ``f = C_m f_n / 2 (sqrt(1 + 4 d_f / (C_m f_n)) - 1)`` with ``C_m = (1 - eta) / eta C_max``.
    """
    _, b, c = focal_length_quadratic(max_circle_mm, relative_depth, f_number, focus_distance_mm)
    return 0.5 * (np.sqrt(b**2 - 4 * c) - b)


def max_circle_foreground_background_mm(
    focal_length_mm: ArrayLike,
    f_number: ArrayLike,
    foreground_mm: ArrayLike,
    background_mm: ArrayLike = np.inf,
    *,
    form: Literal["exact", "small_focal_length", "far_background"] = "exact",
) -> FloatArray:
    """Return the largest blur circle with the focus on the foreground (or the background), equation 8.

    Parameters
    ----------
    form
        ``"exact"``: ``(d_B - d_F) / d_B * A f / (d_F - f)``. ``"small_focal_length"``, for f << d_F:
        ``f^2 (d_B - d_F) / (f_n d_B d_F)``. ``"far_background"``, if also d_F << d_B: ``f^2 / (f_n d_F)``, from which
        the paper gets 32 px and 48 px. With the focus on the background the two approximations are the same, the exact
        form is not.

    Examples
    --------
    The paper's Lytro Illum and Canon 5D IV, in pixels:

    >>> lytro = max_circle_foreground_background_mm(17, 2, 1000, form="far_background")
    >>> canon = max_circle_foreground_background_mm(67, 4, 1100, form="far_background")
    >>> round(float(mm_to_px(lytro, 4.5))), round(float(mm_to_px(canon, 21.43)))
    (32, 48)
    """
    as_choice(form, "form", ("exact", "small_focal_length", "far_background"))
    f, n, near = _positive(focal_length_mm=focal_length_mm, f_number=f_number, foreground_mm=foreground_mm)
    if form == "far_background":
        return f**2 / (n * near)
    far = _array(background_mm)
    _require(far > near, "background_mm must exceed foreground_mm")
    share = 1 - near / far  # (d_B - d_F) / d_B, also right for a background at infinity
    if form == "small_focal_length":
        return f**2 * share / (n * near)
    return share * circle_at_infinity_mm(f / n, f, near)


def aperture_mm(focal_length_mm: ArrayLike, f_number: ArrayLike) -> FloatArray:
    """Return the diameter of the aperture, ``A = f / f_n``."""
    f, n = _positive(focal_length_mm=focal_length_mm, f_number=f_number)
    return f / n


def mm_to_px(length_mm: ArrayLike, pixel_pitch_um: ArrayLike) -> FloatArray:
    """Convert a length on the sensor from mm to pixel pitches."""
    return _array(length_mm) * 1000 / _positive(pixel_pitch_um=pixel_pitch_um)[0]


def px_to_mm(length_px: ArrayLike, pixel_pitch_um: ArrayLike) -> FloatArray:
    """Convert a length on the sensor from pixel pitches to mm."""
    return _array(length_px) * _positive(pixel_pitch_um=pixel_pitch_um)[0] / 1000


def _relative_depth(value: ArrayLike) -> FloatArray:
    eta = _array(value)
    _require((eta > 0) & (eta < 1), "relative_depth must lie between 0 and 1 (0.1 = 10 % of the focus distance)")
    return eta


def _array(value: ArrayLike) -> FloatArray:
    return np.asarray(value, dtype=np.float64)


def _positive(**given: ArrayLike) -> list[FloatArray]:
    for name, value in given.items():
        finite = np.isfinite(_array(value)) & (_array(value) > 0)
        _require(finite, f"{name} must be finite and > 0, got {value!r}")
    return [_array(value) for value in given.values()]


def _require(condition: object, message: str) -> None:
    if not np.all(np.asarray(condition)):
        raise InputError(message)
