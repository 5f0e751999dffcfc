"""``method="paper"``: candidate roots on the paper's grid, one kept at each pixel."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import Flag, estimate_blur, synth
from relblur.paper import compare_sharpness, gaussian_bank

GRID = np.arange(1, 51) / 10


def _has(blur_map, flag):
    return (blur_map.flags & int(flag)) != 0


@pytest.mark.parametrize("axis", [0, 1])
def test_ramp_from_1_to_2_px_is_found_to_the_grids_own_floor(texture, axis):
    truth = synth.ramp(texture.shape, 1.0, 2.0, axis)
    found = estimate_blur(texture, synth.blur_with_map(texture, truth), sharper="first", method="paper")
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.97
    relative = (np.abs(found.sigma - truth) / truth)[known]
    assert relative.mean() < 0.018  # rounding to 0.1 px alone makes 0.0173
    assert relative.mean() > 0.015  # a smaller one would not come from the grid


@pytest.mark.parametrize("sigma", [0.5, 2.0, 4.5])
def test_a_constant_blur_on_the_grid_is_found_exactly(texture, sigma):
    found = estimate_blur(texture, gaussian_bank(texture, [sigma])[0], sharper="first", method="paper")
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.9
    assert (np.abs(found.sigma[known] - sigma) < 1e-9).mean() > 0.99


def test_the_root_that_the_neighbours_support_is_kept_though_a_pixel_has_several(texture):
    blurred = gaussian_bank(texture, [1.7])[0]
    bank = gaussian_bank(texture, GRID)
    crossings = (np.diff(np.sign(bank - blurred), axis=0) != 0).sum(axis=0)
    several = crossings > 2  # the sign passes through 0 at the true root, a grid point: two changes
    assert several.sum() > 300
    found = estimate_blur(texture, blurred, sharper="first", method="paper").sigma[several]
    assert (np.abs(found[np.isfinite(found)] - 1.7) < 1e-9).mean() > 0.99


def test_direction_is_that_of_the_3x3_standard_deviation(texture):
    first, second = synth.pair(texture, synth.ramp(texture.shape, -2, 2, axis=1))
    found = estimate_blur(first, second, method="paper")
    known = np.isfinite(found.sigma) & ~_has(found, Flag.FILLED)
    assert_array_equal(found.sharper, compare_sharpness(first, second))
    assert_array_equal(np.sign(found.sigma[known]), found.sharper[known])
    assert (found.sigma[:, :40][known[:, :40]] < 0).mean() > 0.85
    assert (found.sigma[:, 72:][known[:, 72:]] > 0).mean() > 0.85


def test_points_of_equal_sharpness_are_excluded(texture):
    second = np.array(texture)
    second[:, 60:] = gaussian_bank(texture, [2.0])[0][:, 60:]
    found = estimate_blur(texture, second, method="paper")
    equal = compare_sharpness(texture, second) == 0
    assert equal.mean() > 0.4
    assert_array_equal(_has(found, Flag.EQUAL), equal)
    assert np.isnan(found.variance_difference[equal]).all()
    assert np.isnan(found.variance_stderr[equal]).all()


def test_more_blur_than_was_looked_for_is_flagged_at_the_limit(texture):
    blurred = gaussian_bank(texture, [3.0])[0]
    found = estimate_blur(texture, blurred, sharper="first", method="paper", sigmas=GRID[:15])
    known = np.isfinite(found.sigma)
    limit = _has(found, Flag.AT_LIMIT)
    assert limit[known].mean() > 0.5
    assert_allclose(found.sigma[limit & known], 1.5)
    assert (found.sigma[known & ~limit] < 1.5).all()


def test_values_that_no_blur_can_give_are_flagged_as_without_root(texture):
    second = np.array(gaussian_bank(texture, [1.5])[0])
    second[30:60, 30:60] += 0.4  # brighter than anything blur can make of the neighbourhood
    found = estimate_blur(texture, second, sharper="first", method="paper")
    assert _has(found, Flag.NO_ROOT)[35:55, 35:55].mean() > 0.8
    assert _has(found, Flag.NO_ROOT)[:20].mean() < 0.02


@pytest.mark.parametrize("bits", [None, 8], ids=["float", "8 bits"])
def test_flat_areas_are_flagged_and_left_without_a_number(texture, bits):
    sharp = np.array(texture)
    sharp[20:60, 20:60] = 0.5
    first, second = (synth.degrade(image, bits=bits) for image in (sharp, gaussian_bank(sharp, [1.0])[0]))
    found = estimate_blur(first, second, sharper="first", method="paper")
    inside = np.s_[32:48, 32:48]
    flat = _has(found, Flag.FLAT)
    assert flat[inside].mean() > 0.95
    assert _has(found, Flag.FILLED)[flat].all()
    assert flat[80:].mean() < 0.2
    wrong = np.abs(found.variance_difference - 1.0)[inside] > 3 * found.variance_stderr[inside]
    assert not wrong.any()


def test_flat_and_clipped_places_take_the_nearest_answer(texture):
    sharp = np.array(texture)
    sharp[20:60, 20:60] = 0.5
    clipped = np.zeros(texture.shape, bool)
    clipped[75:80, 85:90] = True
    second = synth.blur_with_map(sharp, 1.5)
    found = estimate_blur(sharp, second, method="paper", sharper="first", clipped=clipped)
    assert np.isfinite(found.sigma).all()
    filled = _has(found, Flag.FILLED)
    assert_array_equal(filled, _has(found, Flag.FLAT | Flag.CLIPPED))
    assert _has(found, Flag.CLIPPED).any()
    assert np.abs(found.sigma - 1.5)[filled].max() < 0.25
    answered = ~filled & ~_has(found, Flag.NO_ROOT)
    row, column = 35, 30
    distance = np.where(answered, np.hypot(*(np.indices(sharp.shape) - [[[row]], [[column]]])), np.inf)
    nearest = found.sigma[distance == distance.min()]
    assert found.sigma[row, column] in nearest
    assert found.sigma_stderr[row, column] >= 0.1 / np.sqrt(12)


def test_error_bar_holds_the_rounding_to_the_grid(texture):
    truth = synth.ramp(texture.shape, 1.0, 2.0)
    found = estimate_blur(texture, synth.blur_with_map(texture, truth), sharper="first", method="paper")
    known = np.isfinite(found.sigma)
    error = np.abs(found.variance_difference - truth**2)[known]
    assert (error < 2 * found.variance_stderr[known]).mean() > 0.93
    assert (found.sigma_stderr[known] > 0.9 * 0.1 / np.sqrt(12)).mean() > 0.95
    assert np.median(found.sigma_stderr[known]) < 0.1
