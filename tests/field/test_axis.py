"""The axes of candidate values: there and back, how fast the value follows the level, and reading between levels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur.field import AsinhAxis, RootAxis, UniformAxis
from relblur.field.axis import read
from relblur.filters.kernels import SOFTENING, STEP

OF_BLUR, FROM_ZERO = AsinhAxis(-25.0, SOFTENING, STEP), AsinhAxis(0.0, SOFTENING, STEP)
UNIFORM = UniformAxis(-3.0, 0.07, 0.07 / STEP)
AXES = [OF_BLUR, FROM_ZERO, RootAxis(FROM_ZERO), UNIFORM]
LEVELS = np.linspace(0, 40, 161)


@pytest.mark.parametrize(("axis", "lowest"), list(zip(AXES, (-25.0, 0.0, 0.0, -3.0), strict=True)))
def test_there_and_back(axis, lowest):
    assert axis.value_of(np.zeros(1)) == pytest.approx([lowest])
    assert_allclose(axis.level_of(axis.value_of(LEVELS)), LEVELS, atol=1e-9)


@pytest.mark.parametrize("axis", AXES, ids=repr)
def test_slopes_are_those_of_the_axis(axis):
    h = 1e-4
    levels = LEVELS[4:]  # a root rises without limit at zero
    z = axis.value_of(levels)
    slope = (axis.value_of(levels + h) - axis.value_of(levels - h)) / (2 * h)
    assert_allclose(axis.rate(z) * slope, 1, rtol=1e-6)
    assert_allclose(axis.scale(z) * STEP, slope, rtol=1e-6)


def volume_of(curve):
    """Residuals of two channels that follow a curve along the axis, at eight levels."""
    levels = np.arange(8.0)[:, None, None] * np.ones((1, 3, 5))
    return np.stack([curve(levels), 2 * curve(levels)]).astype(np.float32)


def test_a_parabola_is_read_exactly_also_beyond_the_ends():
    residuals = volume_of(lambda k: 0.3 * k * k - k + 0.5)
    for at in (-0.7, 0.0, 0.4, 1.0, 3.3, 6.0, 6.9, 7.0, 7.6):
        value, slope = read(residuals, np.full((3, 5), at, np.float32))
        assert_allclose(value[0], 0.3 * at * at - at + 0.5, atol=1e-5)
        assert_allclose(slope[0], 0.6 * at - 1, atol=1e-5)
        assert_allclose(value[1], 2 * value[0], atol=1e-5)


def test_value_and_slope_are_continuous_from_level_to_level():
    residuals = volume_of(np.sin)
    for level in range(1, 7):
        below, above = (read(residuals, np.full((3, 5), level + step, np.float32)) for step in (-1e-4, 1e-4))
        here = read(residuals, np.full((3, 5), level, np.float32))
        assert_allclose(here[0], residuals[:, level], atol=1e-6)
        assert_allclose(here[1], (residuals[:, level + 1] - residuals[:, level - 1]) / 2, atol=1e-6)
        for one, two in zip(below, above, strict=True):
            assert_allclose(one, two, atol=1e-3)
