"""The axes of candidate blurs: there and back, and how fast ``s`` follows the level."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur.filters.level_axis import SOFTENING, STEP, AsinhAxis, UniformAxis

AXES = [AsinhAxis(-25.0), AsinhAxis(0.0), UniformAxis(-3.0, 0.07)]
LEVELS = np.linspace(0, 40, 161)


@pytest.mark.parametrize("axis", AXES)
def test_there_and_back(axis):
    assert axis.s_of(np.zeros(1)) == pytest.approx([axis.lowest])
    assert_allclose(axis.level_of(axis.s_of(LEVELS)), LEVELS, atol=1e-9)


@pytest.mark.parametrize("axis", AXES)
def test_slopes_are_those_of_the_axis(axis):
    h = 1e-4
    s = axis.s_of(LEVELS)
    slope = (axis.s_of(LEVELS + h) - axis.s_of(LEVELS - h)) / (2 * h)
    step, curved, softening = axis.slope
    assert_allclose(step * np.sqrt(curved * s * s + softening**2), slope, rtol=1e-6)
    assert_allclose(axis.by_s(3 * slope, s), 3, rtol=1e-6)
    assert_allclose(axis.scale(s) * STEP, slope, rtol=1e-6)


@pytest.mark.parametrize("axis", AXES)
def test_single_precision_stays_single(axis):
    level = LEVELS.astype(np.float32)
    s = axis.s_of(level)
    for found in (s, axis.level_of(s), axis.by_s(level, s), axis.scale(s)):
        assert found.dtype == np.float32


def test_asinh_levels_are_even_around_zero_and_geometric_far_out():
    steps = np.diff(AsinhAxis(0.0).s_of(np.arange(40.0)))
    assert_allclose(steps[0], SOFTENING * STEP, rtol=0.01)
    assert_allclose(steps[-1] / steps[-2], np.exp(STEP), rtol=1e-4)
