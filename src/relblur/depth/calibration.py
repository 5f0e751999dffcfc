"""Calibration: camera fields (``blur_constant``, focus distances) fitted to a pair with known depths.

The fields predict ``s`` at every known distance (:mod:`relblur.depth.relation`). They are fitted to the measured ``s``
with a robust loss. Standard errors come from a sandwich estimate over blocks of the image, because errors of
neighbouring pixels are correlated.

For a known shape of blur, :func:`calibrate_shape` measures ``s`` by matching at equal blur. This avoids the bias of a
Gaussian that approximates a disc. The assumed circles are corrected and the matching is repeated until it converges.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base._typing import ArrayLike, BoolArray, FloatArray, Progress
from ..base.errors import InputError
from ..base.inputs import as_valid
from ..base.settings import DISC_BLUR_CONSTANT
from ..blur.blur_map import BlurMap, Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..blur.request import part_of
from .camera import Camera
from .estimate import estimate_depth
from .psf import PsfLike
from .relation import Relation, relative_blur

__all__ = ["FIELDS", "Calibration", "calibrate", "calibrate_shape", "check_fit"]

#: Range of the search for each field: log(kappa), 1/focus (1/m), and px^2.
_RANGES = {
    "blur_constant": (math.log(0.0501), math.log(1.499)),
    "focus_first_m": (1e-9, 900.0),
    "focus_second_m": (1e-9, 900.0),
    "variance_offset_px2": (-98.0, 98.0),
}
FIELDS = tuple(_RANGES)

#: Maximum number of pixels in a fit, evenly spaced: more do not change the result.
_MOST_PIXELS = 60_000
#: Side of the blocks (px) whose scatter gives the standard error.
_BLOCK = 48
#: Relative standard error (px^2 for the offset) at or above which a value counts as undetermined.
_UNDETERMINED = 0.3
#: A fitted value this close to a bound of its range (fraction of the value) counts as at the bound.
_AT_BOUND = 1e-3
#: Largest accepted correlation of two fitted values. Above it each standard error is more than
#: 20 times that of a fit of one value.
_MOST_CORRELATION = 0.999
#: Maximum number of matchings in :func:`calibrate_shape`, and the relative change of the circles that ends them.
_ROUNDS, _CONVERGED = 3, 0.003
#: Half-side of the square around a known point that gets its distance (px).
_POINT_REACH = 4
_UNUSABLE = Flag.INVALID | Flag.CLIPPED | Flag.FLAT | Flag.AT_LIMIT | Flag.FILLED | Flag.EQUAL

Known = Sequence[tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class Calibration:
    """The result of :func:`calibrate`.

    Attributes
    ----------
    camera : Camera
        The camera with the fitted fields.
    values, stderr : dict
        The fitted fields and their standard errors, in the fields' units.
    points : int
        Number of pixels used.
    residual_px2 : (points,) float64
        Measured minus predicted ``s`` at each pixel used.
    depth_error : float
        Median of |z - known z| / known z with the fitted camera.
    """

    camera: Camera
    values: dict[str, float]
    stderr: dict[str, float]
    points: int
    residual_px2: FloatArray
    depth_error: float

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value:.5g} +- {self.stderr[name]:.2g}" for name, value in self.values.items())
        return f"Calibration({fields}; {self.points} points, median depth error {self.depth_error:.2%})"


@dataclass(frozen=True)
class _Samples:
    """Measured blur at known inverse distances."""

    s: FloatArray
    weight: FloatArray
    u: FloatArray
    block: FloatArray


def calibrate(
    blur_map: BlurMap,
    camera: Camera,
    *,
    depth_m: ArrayLike | None = None,
    plane: Known | None = None,
    points: Known | None = None,
    fit: Sequence[str] = ("blur_constant",),
    valid: ArrayLike | None = None,
) -> Calibration:
    """Fit the blur constant, and optionally focus distances, to a pair with known depths.

    Parameters
    ----------
    blur_map : BlurMap
        Estimate it with the options for depth, because ``blur_constant`` depends slightly on the prefilter.
    camera : Camera
        The known fields, and start values for the fields in ``fit``.
    depth_m : number or (H, W) array
        Known depth at every pixel, NaN where unknown. A number describes a target that faces the camera.
    plane : three or more (row, column, depth in m)
        Points on a flat target that fills the image (or its ``valid`` part).
    points : two or more (row, column, depth in m)
        Points with measured distances. The 9 x 9 pixels around each are used.
    fit : sequence of field names
        One or two of ``"blur_constant"``, ``"focus_first_m"``, ``"focus_second_m"``, ``"variance_offset_px2"``. The
        focus distances of an aperture pair are one value.
    valid : (H, W) bool, optional
        True = use.

    Raises
    ------
    InputError
        If the known depths do not determine a value or cannot separate two values, or if a fitted value ends at a
        bound of its range.
    """
    names = check_fit(fit, camera)
    samples = _collect(blur_map.compute(), _inverse_of(depth_m, plane, points, blur_map.shape), valid)
    if len(samples.s) < len(names) + 1:
        raise InputError(
            f"only {len(samples.s)} usable pixels have a known depth; {len(names)} values need more, "
            "in textured parts of the image"
        )
    start = _scaled_to(camera, samples, "blur_constant" in names)
    values, covariance = _fit(start, names, samples)
    fitted = _with(start, names, values)
    errors = np.sqrt(np.diag(covariance)) * [_slope(*each) for each in zip(names, values, strict=True)]
    fitted_values = {name: float(_natural(name, value)) for name, value in zip(names, values, strict=True)}
    stderr = {name: float(error) for name, error in zip(names, errors, strict=True)}
    for name, value in fitted_values.items():
        if not stderr[name] < _UNDETERMINED * (1.0 if name == "variance_offset_px2" else value):
            raise _undetermined(f"{name} ({value:.3g} with standard error {stderr[name]:.2g})")
    residual = samples.s - Relation.of(fitted).s(samples.u)
    return Calibration(fitted, fitted_values, stderr, len(samples.s), residual, _depth_error(fitted, samples))


def calibrate_shape(
    pair: ComparablePair,
    camera: Camera,
    *,
    known: dict[str, Any],
    fit: Sequence[str] = ("blur_constant",),
    psf: PsfLike = "disc",
    progress: Progress | None = None,
) -> Calibration:
    """Fit the size of a known shape of blur, and optionally focus distances, to a pair with known depths.

    Parameters
    ----------
    camera : Camera
        The camera at full resolution. Its ``blur_constant`` is not used.
    known : dict
        ``depth_m``, ``plane`` or ``points`` of :func:`relblur.calibrate`, in pixels of the pair (after decimation).
    fit
        Fields to fit. ``"blur_constant"`` means the size of the circles.

    Returns
    -------
    Calibration
        Its camera is at full resolution, with an f-number (or circle constant) that gives the fitted circles.
        ``values["circle_scale"]`` is their size divided by that of the given camera's circles.
    """
    names = check_fit(fit, camera, is_gaussian=False)
    model, scale = replace(camera, blur_constant=DISC_BLUR_CONSTANT, variance_offset_px2=0.0), 1.0
    for turn in range(_ROUNDS):
        share = None if progress is None else part_of(progress, turn, _ROUNDS)
        depth_map = estimate_depth(pair, model, psf=psf, progress=share)
        fitted = calibrate(relative_blur(depth_map), model.decimated(pair.factor), fit=names, **known)
        changes = [fitted.values[name] / getattr(model, name) for name in names if name != "blur_constant"]
        model = fitted.camera.at_full_resolution(pair.factor)
        step = fitted.camera.blur_constant / DISC_BLUR_CONSTANT
        model, scale = replace(model, blur_constant=DISC_BLUR_CONSTANT).with_circles(step), scale * step
        if max(abs(change - 1) for change in (*changes, step)) < _CONVERGED:
            break
    values, stderr = dict(fitted.values), dict(fitted.stderr)
    if "blur_constant" in names:
        relative = stderr.pop("blur_constant") / values.pop("blur_constant")
        values, stderr = {"circle_scale": scale, **values}, {"circle_scale": scale * relative, **stderr}
    return replace(fitted, camera=model, values=values, stderr=stderr)


def check_fit(fit: Sequence[str], camera: Camera, *, is_gaussian: bool = True) -> tuple[str, ...]:
    """Return the names of the fields to fit; refuse fields that the kind of pair or the PSF cannot determine."""
    names = tuple(dict.fromkeys([fit] if isinstance(fit, str) else fit))
    unknown = [name for name in names if name not in FIELDS]
    if unknown or not names:
        raise InputError(f"fit must name some of {', '.join(FIELDS)}; got {unknown[0] if unknown else 'none'!r}")
    if camera.kind == "aperture" and {"focus_first_m", "focus_second_m"} <= set(names):
        names = tuple(name for name in names if name != "focus_second_m")
    if len(names) > 2:
        raise InputError(f"a pair does not determine {', '.join(names)} together; fit two of them")
    if not is_gaussian and ("variance_offset_px2" in names or camera.kind != "focus"):
        raise InputError("variance_offset_px2 and pairs of two apertures belong to the Gaussian: use --psf gaussian")
    return names


def _undetermined(what: str) -> InputError:
    return InputError(
        f"the known depths do not determine {what}; use depths that differ more, away from where both images are "
        "equally blurred, or fit fewer fields"
    )


def _inverse_of(
    depth_m: ArrayLike | None, plane: Known | None, points: Known | None, shape: tuple[int, int]
) -> FloatArray:
    """Return the known 1/z at every pixel, NaN where it is unknown."""
    given = [name for name, value in (("depth_m", depth_m), ("plane", plane), ("points", points)) if value is not None]
    if len(given) != 1:
        raise InputError(f"give exactly one of depth_m, plane and points; got {' and '.join(given) or 'none'}")
    if plane is not None:
        return _inverse_of_plane(_places(plane, "plane", 3, shape), shape)
    if points is not None:
        u = np.full(shape, np.nan)
        for row, column, z in _places(points, "points", 2, shape):
            y, x = (slice(max(round(at) - _POINT_REACH, 0), round(at) + _POINT_REACH + 1) for at in (row, column))
            u[y, x] = 1 / z
        return u
    depths = np.asarray(depth_m, dtype=np.float64)
    if depths.ndim and depths.shape != shape:
        raise InputError(f"depth_m has shape {depths.shape}; it must be a number or match the blur map, {shape}")
    known = np.isfinite(depths)
    if not known.any() or (depths[known] <= 0).any():
        raise InputError("depth_m must be > 0 m where it is known (NaN elsewhere)")
    return np.broadcast_to(1 / depths, shape)


def _places(known: Known, name: str, least: int, shape: tuple[int, int]) -> FloatArray:
    try:
        table = np.asarray(known, dtype=np.float64)
    except (TypeError, ValueError):
        table = np.zeros(())
    if table.ndim != 2 or table.shape[1] != 3 or len(table) < least:
        raise InputError(f"{name} must be {least} or more (row, column, depth in m) triples, got {known!r:.60}")
    inside = (table[:, :2] >= 0) & (table[:, :2] <= np.array(shape) - 1)
    if not (np.isfinite(table).all() and (table[:, 2] > 0).all() and inside.all()):
        raise InputError(
            f"{name}: places must lie in the image of {shape[0]}x{shape[1]} (rows, columns), depths must be > 0 m; "
            f"got {known!r:.60}"
        )
    return table


def _inverse_of_plane(places: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """Return 1/z at every pixel of the plane through the given points: 1/z is affine over the image of a plane."""
    columns = np.column_stack([np.ones(len(places)), places[:, :2] / max(shape)])
    if np.linalg.matrix_rank(columns, tol=1e-3) < 3:
        raise InputError("plane: the places lie on one line; add one beside it")
    affine = np.linalg.lstsq(columns, 1 / places[:, 2], rcond=None)[0]
    rows, cols = np.indices(shape) / max(shape)
    u = affine[0] + affine[1] * rows + affine[2] * cols
    return np.where(u > 0, u, np.nan)


def _collect(blur_map: BlurMap, u: FloatArray, valid: ArrayLike | None) -> _Samples:
    usable: BoolArray = np.isfinite(u) & np.isfinite(blur_map.variance_difference + blur_map.variance_stderr)
    usable &= ~has_flag(blur_map.flags, _UNUSABLE)
    if valid is not None:
        usable &= as_valid(valid, blur_map.shape)
    index = np.flatnonzero(usable)
    index = index[:: max(1, len(index) // _MOST_PIXELS)]
    rows, columns = np.divmod(index, blur_map.shape[1])
    stderr = blur_map.variance_stderr.ravel()[index]
    # Raise standard errors below the median to the median: the model of the blur is not exact.
    floor = float(np.median(stderr)) if len(stderr) else 1.0
    weight = 1 / np.maximum(np.maximum(stderr, floor), 1e-9)
    block = rows // _BLOCK * (blur_map.shape[1] // _BLOCK + 1) + columns // _BLOCK
    return _Samples(blur_map.variance_difference.ravel()[index], weight, u.ravel()[index], block)


def _scaled_to(camera: Camera, samples: _Samples, free: bool) -> Camera:
    """Return the camera with the best blur constant for its other fields: ``s`` is linear in its square."""
    relation = Relation.of(replace(camera, blur_constant=1.0, variance_offset_px2=0.0))
    unit = relation.s(samples.u) * samples.weight
    power = float((unit**2).sum())
    excess = (samples.s - camera.variance_offset_px2) * samples.weight
    square = float((unit * excess).sum()) / power if power > 0 else math.nan
    if not square > 0:
        raise InputError(
            "the measured blur runs against the known depths: first and second (or their focus distances) are "
            "swapped, or the known depths belong to another pair"
        )
    # A value outside the plausible range means a bad fit or a wrong unit. The check of the bounds reports it.
    return replace(camera, blur_constant=float(np.clip(math.sqrt(square), 0.051, 1.49))) if free else camera


def _fit(camera: Camera, names: tuple[str, ...], samples: _Samples) -> tuple[FloatArray, FloatArray]:
    """Return the fitted values in the variables of the search, and their covariance."""
    from scipy.optimize import least_squares

    def misfit(values: FloatArray) -> FloatArray:
        return np.asarray((Relation.of(_with(camera, names, values)).s(samples.u) - samples.s) * samples.weight)

    start = np.array([_internal(name, getattr(camera, name)) for name in names])
    bounds = np.array([_RANGES[name] for name in names]).T
    spread = 1.4826 * float(np.median(np.abs(misfit(start)))) + 1e-12
    try:
        result: Any = least_squares(misfit, start, bounds=bounds, x_scale="jac", loss="soft_l1", f_scale=spread)
    except InputError as error:
        raise InputError(
            f"the fit left the range of valid cameras ({error}); check the known depths and units"
        ) from None
    jacobian = np.asarray(result.jac)  # scaled by (1 + y)^(-3/4): its square is the second derivative of the loss
    _refuse_at_bound(names, result.x, bounds)
    _refuse_correlated(names, jacobian)
    bread = np.linalg.pinv(jacobian.T @ jacobian, rcond=1e-12)
    residual = misfit(result.x)
    scores = jacobian * (residual * (1 + (residual / spread) ** 2) ** 0.25)[:, None]  # leaves (1 + y)^(-1/2)
    _, block = np.unique(samples.block, return_inverse=True)
    sums = np.zeros((int(block.max()) + 1, len(names)))
    np.add.at(sums, block, scores)
    blocks = len(sums)
    covariance = max(blocks / max(blocks - len(names), 1), 1.0) * bread @ (sums.T @ sums) @ bread
    if blocks <= len(names) + 1:  # too few blocks for a scatter between them
        covariance = np.maximum(covariance, bread * float(np.mean(residual**2)))
    return np.asarray(result.x), covariance


def _refuse_at_bound(names: tuple[str, ...], values: FloatArray, bounds: FloatArray) -> None:
    """Refuse a fit that ended at a bound of a field: the best value lies outside the range."""
    for name, value, low, high in zip(names, values, *bounds, strict=True):
        margin = _AT_BOUND * (abs(value) if name.startswith("focus") else high - low)
        if not low + margin < value < high - margin:
            ends = sorted(_natural(name, end) for end in (low, high))
            raise InputError(
                f"the fit of {name} ends at a bound of its range ({ends[0]:.3g} to {ends[1]:.3g}): no plausible "
                "value explains the measured blur; check the known depths, the camera's other fields and the order of "
                "the images"
            )


def _refuse_correlated(names: tuple[str, ...], jacobian: FloatArray) -> None:
    """Refuse two values that change the prediction in the same way: only their combination is determined."""
    size = np.linalg.norm(jacobian, axis=0)
    correlation = abs(float(jacobian[:, 0] @ jacobian[:, -1])) / (float(size[0] * size[-1]) + 1e-300)
    if len(names) > 1 and not 0 < correlation < _MOST_CORRELATION:
        raise _undetermined(f"{names[0]} and {names[1]} together (correlation {correlation:.4f})")


def _internal(name: str, value: float) -> float:
    """Return the variable of the search: log(kappa), or 1/focus, which is finite for a focus at infinity."""
    if name == "variance_offset_px2":
        return value
    return math.log(value) if name == "blur_constant" else max(1 / value, 1e-8)


def _natural(name: str, value: float) -> float:
    if name == "variance_offset_px2":
        return float(value)
    return math.exp(value) if name == "blur_constant" else 1 / value


def _slope(name: str, value: float) -> float:
    if name == "variance_offset_px2":
        return 1.0
    return math.exp(value) if name == "blur_constant" else 1 / value**2


def _with(camera: Camera, names: tuple[str, ...], values: FloatArray) -> Camera:
    changes: dict[str, Any] = {name: _natural(name, value) for name, value in zip(names, values, strict=True)}
    focus = changes.get("focus_first_m", changes.get("focus_second_m"))
    if camera.kind == "aperture" and focus is not None:
        changes |= {"focus_first_m": focus, "focus_second_m": focus}
    return replace(camera, **changes)


def _depth_error(camera: Camera, samples: _Samples) -> float:
    """Return the median relative depth error; of two solutions the better one at each pixel counts."""
    relation = Relation.of(camera)
    errors = []
    for side in ("behind", "front"):
        u, _ = relation.u(samples.s, np.zeros_like(samples.s), side)
        with np.errstate(invalid="ignore", divide="ignore"):
            errors.append(np.abs(samples.u / np.where(u > 0, u, np.nan) - 1))
    best = np.fmin(*errors)
    return float(np.nanmedian(best)) if np.isfinite(best).any() else math.nan
