"""Calibration for a known shape of blur: how large the circle of confusion is, beside what the data sheet says.

Matching with a shape finds the depth at which both images agree, which says how their circles differ: a relative
variance ``s`` as good as that of :func:`relblur.estimate_blur`, without the bias of a Gaussian that stands for a disc.
:func:`relblur.calibrate` fits the camera to it. The circles that were assumed are then corrected and the matching is
repeated, until they agree with what is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..base._typing import Progress
from ..base.errors import InputError
from ..base.settings import DISC_BLUR_CONSTANT
from ..blur.blur_map import BlurMap
from ..blur.comparable_pair import ComparablePair
from ..blur.request import part_of, side_of
from .calibration import Calibration, calibrate, check_fit
from .camera import Camera
from .depth_map import DepthMap
from .estimate import estimate_depth
from .psf import PsfLike
from .relation import Relation

__all__ = ["calibrate_shape", "check_shape_fit", "relative_blur"]

#: Times that the matching is repeated at most, and the change of the circle at which it is not.
_ROUNDS = 3
_SETTLED = 0.003


def relative_blur(found: DepthMap) -> BlurMap:
    """Return the variance difference that belongs to a depth map, by the camera that it holds for."""
    relation = Relation.of(found.camera)
    u = 1 / found.depth_m
    s = relation.s(u)
    slope = np.abs(2 * relation.a * u + relation.b)
    stderr = slope * found.depth_stderr_m * u**2
    return BlurMap(s, stderr, found.flags, side_of(np.nan_to_num(s), np.nan_to_num(stderr)), dict(found.settings))


def check_shape_fit(fit: Sequence[str], camera: Camera) -> tuple[str, ...]:
    """Return the fields to fit, if a camera can be calibrated for a known shape of blur at all."""
    names = check_fit(fit, camera)
    if "variance_offset_px2" in names:
        raise InputError("variance_offset_px2 is a matter of the Gaussian: use --psf gaussian, or leave it out")
    if camera.kind != "focus":
        raise InputError("a pair of two apertures is calibrated with the Gaussian: use --psf gaussian")
    return names


def calibrate_shape(
    pair: ComparablePair,
    camera: Camera,
    *,
    known: dict[str, Any],
    fit: Sequence[str] = ("blur_constant",),
    psf: PsfLike = "disc",
    progress: Progress | None = None,
) -> Calibration:
    """Fit the size of a known shape of blur, and focus distances if asked, to a pair with known depths.

    Parameters
    ----------
    camera : Camera
        Of the full resolution. Its ``blur_constant`` is not used.
    known : dict
        ``depth_m``, ``plane`` or ``points`` of :func:`relblur.calibrate`, for the pair as it is.
    fit
        ``"blur_constant"`` stands for the size of the circles.

    Returns
    -------
    Calibration
        Its camera is of the full resolution, with an f-number (or circle constant) that makes circles of the size
        that was found; ``values["circle_scale"]`` is their size over that of the camera that was given.
    """
    names = check_shape_fit(fit, camera)
    tell: Callable[[float], None] = progress or (lambda _share: None)
    start = replace(camera, blur_constant=DISC_BLUR_CONSTANT, variance_offset_px2=0.0)
    model, scale = start, 1.0
    for turn in range(_ROUNDS):
        found = estimate_depth(pair, model, psf=psf, progress=part_of(tell, turn, _ROUNDS))
        fitted = calibrate(relative_blur(found), model.decimated(pair.factor), fit=names, **known)
        changes = [fitted.values[name] / getattr(model, name) for name in names if name != "blur_constant"]
        model = fitted.camera.at_full_resolution(pair.factor)
        step = fitted.camera.blur_constant / DISC_BLUR_CONSTANT
        model, scale = replace(model, blur_constant=DISC_BLUR_CONSTANT).with_circles(step), scale * step
        if max(abs(change - 1) for change in (*changes, step)) < _SETTLED:
            break
    values = {name: value for name, value in fitted.values.items() if name != "blur_constant"}
    stderr = {name: fitted.stderr[name] for name in values}
    if "blur_constant" in names:
        values = {"circle_scale": scale, **values}
        stderr = {"circle_scale": scale * fitted.stderr["blur_constant"] / fitted.values["blur_constant"], **stderr}
    return replace(fitted, camera=model, values=values, stderr=stderr)
