"""Relative blur and distance: the exact relation between them, both ways, with error bars.

With ``u = 1 / z`` and ``sigma_i = k_i |u - u_i|`` (:mod:`relblur.depth.camera`),

    s = sigma_2^2 - sigma_1^2 = k_2^2 (u - u_2)^2 - k_1^2 (u - u_1)^2 + offset

The offset describes lens aberrations and is usually 0.

With one aperture (``k_1 = k_2``) the squares cancel and ``s`` is affine in ``u`` at all distances. With two apertures
``s`` is a parabola, and one blur belongs to two distances, one on each ``side`` of the vertex. For one common focus the
vertex is the focal plane.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from ..base._typing import ArrayLike, BoolArray, FloatArray, UInt8Array
from ..base.arguments import as_choice
from ..base.errors import InputError
from ..base.settings import SideOfFocus
from ..blur.blur_map import BlurMap, Flag, has_flag, mark
from ..blur.request import side_of
from .camera import Camera
from .depth_map import DepthMap

__all__ = ["DepthRange", "blur_to_depth", "check_two_planes", "depth_to_blur", "in_depth_range", "relative_blur"]

#: A blur of the wrong sign within this many standard errors of zero counts as in focus.
_ZERO_STDERRS = 2.0

#: Tolerance of the ends of the range (fraction of the range), for rounding errors.
_ROUNDING = 1e-9

#: Minimum distance of a flagged pixel from both ends of the range (standard errors), because errors at depth jumps
#: exceed their standard error. Chosen on `street`.
_CLEAR_STDERRS = 3.0


@dataclass(frozen=True)
class Relation:
    """``s = a u^2 + b u + c`` for one camera."""

    a: float
    b: float
    c: float

    @classmethod
    def of(cls, camera: Camera) -> Relation:
        """Return the relation of a camera; ``a`` is exactly 0 with one aperture."""
        (k_1, k_2), (u_1, u_2) = camera.blur_constants_px_m, camera.focus_per_m
        if camera.kind == "focus":
            k_2 = k_1
        c = k_2**2 * u_2**2 - k_1**2 * u_1**2 + camera.variance_offset_px2
        return cls(k_2**2 - k_1**2, -2 * (k_2**2 * u_2 - k_1**2 * u_1), c)

    @property
    def vertex(self) -> float:
        """The ``u`` at which the two solutions meet."""
        return -self.b / (2 * self.a)

    def s(self, u: FloatArray) -> FloatArray:
        """Return ``s`` of ``u``."""
        return (self.a * u + self.b) * u + self.c

    def u(self, s: FloatArray, stderr: FloatArray, side: str) -> tuple[FloatArray, FloatArray]:
        """Return ``u`` and its standard error; NaN where no ``u`` gives ``s``."""
        if self.a == 0:
            return (s - self.c) / self.b, stderr / abs(self.b)
        square = (s - (self.c - self.b**2 / (4 * self.a))) / self.a  # (u - vertex)^2
        error = stderr / abs(self.a)
        square = np.where((square < 0) & (square > -_ZERO_STDERRS * error), 0.0, square)
        with np.errstate(invalid="ignore"):
            root = np.sqrt(square)
            spread = root + np.sqrt(square + error)
            # To first order error / (2 root); at the vertex, where the root is steep, sqrt(error).
            root_error = np.divide(error, spread, out=np.zeros_like(error), where=spread > 0)
        return self.vertex + (-root if side == "behind" else root), root_error


def blur_to_depth(blur_map: BlurMap, camera: Camera, *, side: str = "behind") -> DepthMap:
    """Return the distance at which the camera produces the relative blur of a map.

    Parameters
    ----------
    blur_map : BlurMap
        Relative blur. For the disc-like blur of real lenses, estimate it with ``prefilter=1.6``.
    camera : Camera
        The camera of the images that :func:`relblur.estimate_blur` received. Set its ``decimation`` if those were
        decimated. Its ``blur_constant`` determines the scale; calibrate it.
    side : {"behind", "front"}
        For two apertures only: the side of the focal plane on which the scene lies.

    Returns
    -------
    DepthMap
        ``depth_m`` is NaN and flagged ``OUT_OF_RANGE`` where the camera makes this blur at no distance.
    """
    as_choice(side, "side", get_args(SideOfFocus))
    if not isinstance(blur_map, BlurMap):
        raise InputError(f"blur_map must be a BlurMap, got {type(blur_map).__name__}; use estimate_blur first")
    camera.check_width(blur_map.shape[1])
    return depth_on_side(blur_map.compute(), camera, side)


def depth_on_side(blur_map: BlurMap, camera: Camera, side: str) -> DepthMap:
    """Return the depth map on one side of the vertex, without checks of the arguments."""
    u, error = Relation.of(camera).u(blur_map.variance_difference, blur_map.variance_stderr, side)
    depth, stderr, flags = depth_from_inverse(
        u, error, blur_map.flags, np.isfinite(blur_map.variance_difference), camera
    )
    return DepthMap(depth, stderr, flags, camera, {**blur_map.settings, "side": side})


def depth_from_inverse(
    u: FloatArray, u_stderr: FloatArray, flags: UInt8Array, known: BoolArray, camera: Camera
) -> tuple[FloatArray, FloatArray, UInt8Array]:
    """Return depth, standard error and flags; points beyond infinity or inside the lens have no depth."""
    nearest = np.inf if camera.focal_length_mm is None else 1000 / camera.focal_length_mm
    with np.errstate(invalid="ignore"):
        possible = (u > 0) & (u < nearest)
    z = np.divide(1.0, u, out=np.full(u.shape, np.nan), where=possible)
    marked = flags.copy()
    mark(marked, known & ~possible, Flag.OUT_OF_RANGE)
    return z, np.where(possible, z**2 * u_stderr, np.nan), marked.astype(np.uint8)


def depth_to_blur(depth_m: ArrayLike, camera: Camera) -> FloatArray:
    """Return the variance difference ``s`` (px^2) that the camera makes at a distance.

    The inverse of :func:`blur_to_depth`. ``inf`` is allowed; NaN stays NaN.

    Examples
    --------
    >>> from relblur import Camera
    >>> camera = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2)
    >>> depth_to_blur([1.0, 4 / 3, 2.0], camera).round(4).tolist()
    [7.5625, 0.0, -7.5625]
    """
    if np.iscomplexobj(depth_m):
        raise InputError("depth_m is complex; pass real distances in metres")
    z = np.asarray(depth_m, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        if (z <= 0).any():
            raise InputError(f"depth_m must be > 0 m, got {float(np.nanmin(z)):g}; use NaN for unknown")
    return Relation.of(camera).s(1 / z)


def relative_blur(depth_map: DepthMap) -> BlurMap:
    """Return the relative blur that the camera of a depth map makes at its depths."""
    relation = Relation.of(depth_map.camera)
    u = 1 / depth_map.depth_m
    s = relation.s(u)
    slope = np.abs(2 * relation.a * u + relation.b)
    stderr = slope * depth_map.depth_stderr_m * u**2
    return BlurMap(
        s, stderr, depth_map.flags, side_of(np.nan_to_num(s), np.nan_to_num(stderr)), dict(depth_map.settings)
    )


@dataclass(frozen=True, eq=False)
class DepthRange:
    """The points between the two focal planes.

    Attributes
    ----------
    between : (H, W) bool
        True where the measured blur fits a point between or on the planes; False where it is unknown.
    probability : (H, W) float64
        Probability that the point lies between the planes, given the standard error of the blur. It is 0.5 on a
        plane, 0 or 1 where the blur is known exactly, and NaN where it is unknown.
    nearest_m, farthest_m : float
        The two focal planes.
    """

    between: BoolArray
    probability: FloatArray
    nearest_m: float
    farthest_m: float


def in_depth_range(blur_map: BlurMap, camera: Camera) -> DepthRange:
    """Find the points between the two distances in focus.

    Focus the pair on the two ends of the range. Points in the range then have ``|s| <= k^2 (u_1 - u_2)^2``, so no
    depth needs to be computed.

    A flagged pixel (filled, clipped, invalid, at the limit) is unknown unless both ends of the range are more than
    three standard errors away. A pixel at the limit is outside or unknown, because its true blur may be larger.
    """
    from scipy.special import ndtr

    check_two_planes(camera)
    # s is monotonic between the planes, also with two apertures, because the vertex lies outside them.
    low, high = sorted(float(s) for s in Relation.of(camera).s(np.array(camera.focus_per_m)))
    camera.check_width(blur_map.shape[1])
    whole = blur_map.compute()
    s, stderr = whole.variance_difference, whole.variance_stderr
    slack = _ROUNDING * (high - low)
    with np.errstate(invalid="ignore", divide="ignore"):
        between = np.asarray((s >= low - slack) & (s <= high + slack))
        spread = ndtr((high - s) / stderr) - ndtr((low - s) / stderr)
        clear = np.minimum(np.abs(s - low), np.abs(s - high)) > _CLEAR_STDERRS * stderr
    probability = np.where(stderr == 0, between, spread)
    decided = (whole.flags == 0) | (clear & ~(between & has_flag(whole.flags, Flag.AT_LIMIT)))
    unknown = ~decided | np.isnan(probability) | np.isnan(s)
    near, far = sorted((camera.focus_first_m, camera.focus_second_m))
    return DepthRange(between & ~unknown, np.where(unknown, np.nan, probability), near, far)


def check_two_planes(camera: Camera) -> None:
    """Refuse a camera with one focus distance: its range has no extent."""
    if camera.focus_first_m == camera.focus_second_m:
        raise InputError("in_depth_range needs two focus distances, the ends of the range; this camera has one")
