"""The axis of candidate depths, and the residuals on it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import Camera
from relblur.depth.equal_blur.candidates import CIRCLE_STEP_PX, LEAST_LEVELS, MOST_LEVELS, DepthAxis, depth_axis
from relblur.depth.equal_blur.match import weight_inside

FOCUS = Camera(coc_constant_px_m=22, focus_first_m=1.0, focus_second_m=2.0)
APERTURES = Camera(coc_constant_px_m=(30, 10), focus_first_m=1.25, focus_second_m=1.25)


@pytest.mark.parametrize("side", ["behind", "front"])
@pytest.mark.parametrize("camera", [FOCUS, APERTURES], ids=["focus", "apertures"])
def test_levels_cover_the_range_in_steps_of_a_circle(camera, side):
    low, high = (0.82, 1.3) if side == "front" else (0.3, 0.78)
    axis = depth_axis(camera, (low, high), side)
    ends = sorted([axis.u(axis.levels[0]), axis.u(axis.levels[-1])])
    assert_allclose(ends, [low, high])
    assert (np.diff(axis.levels) > 0).all()
    assert_allclose(np.diff(axis.levels), axis.step)
    steps = abs(np.diff(camera.circle_px(1 / axis.u(axis.levels)))).max()
    assert 0.9 * CIRCLE_STEP_PX < steps <= CIRCLE_STEP_PX * (1 + 1e-9)
    assert axis.is_sigma == (camera is APERTURES)


def test_there_are_never_too_few_levels_nor_too_many():
    assert len(depth_axis(FOCUS, (0.5, 0.5001), "both").levels) == LEAST_LEVELS + 1
    assert len(depth_axis(FOCUS, (0.01, 9.0), "both").levels) == MOST_LEVELS + 1


def test_depths_within_a_fifth_of_a_step_of_the_ends_are_at_the_limit():
    axis = DepthAxis(10.0, -10.0, np.arange(-5.0, 6.0), False)
    u = np.array([[0.5, 0.515, 0.53, 1.0, 1.47, 1.485, 1.5]])
    assert axis.at_end(u).tolist() == [[True, True, False, False, False, True, True]]


def test_pixels_count_less_where_their_circle_reaches_the_border_and_not_where_it_reaches_a_gap():
    shape, radius = (21, 33), 6.0
    distance = np.hypot(*(np.indices(shape) - np.array([10, 25])[:, None, None])).astype(np.float32)
    circles = np.full(shape, radius, np.float32)
    rows, columns = np.indices(shape)
    inside = np.minimum.reduce([rows, columns, 20 - rows, 32 - columns]) + 0.5
    wanted = np.clip(inside / (radius + 1), 0.1, 1) ** 2
    assert_allclose(weight_inside(circles, None), wanted, rtol=1e-5)
    assert_allclose(weight_inside(circles, distance), np.where(distance > radius + 1, wanted, 0), rtol=1e-5)
