"""``method="window"``: the local, continuous estimate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import Flag, estimate_blur, synth


def _has(blur_map, flag):
    return (blur_map.flags & int(flag)) != 0


@pytest.mark.parametrize("axis", [0, 1])
def test_ramp_from_1_to_2_px_beats_the_grid(texture, axis):
    truth = synth.ramp(texture.shape, 1.0, 2.0, axis)
    found = estimate_blur(texture, synth.blur_with_map(texture, truth), sharper="first", method="window")
    relative = np.abs(found.sigma - truth) / truth
    assert np.isfinite(relative).mean() > 0.98
    assert np.nanmean(relative) < 0.01  # the 0.1 px grid cannot do better than 0.0173


@pytest.mark.parametrize("sigma", [0.25, 0.5, 1.0, 1.9, 2.1, 3.3, 4.7])
@pytest.mark.parametrize("sign", [-1, 1])
def test_a_constant_blur_is_found_between_the_nodes_in_both_directions(texture, sigma, sign):
    first, second = synth.pair(texture, sign * sigma)
    found = estimate_blur(first, second, method="window")
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.95
    assert_allclose(np.median(found.sigma[known]), sign * sigma, rtol=0.005, atol=0.01)
    assert np.abs(found.sigma[known] - sign * sigma).mean() < 0.01 + 0.02 * sigma


def test_blur_passes_through_zero_without_a_jump(texture):
    truth = synth.ramp(texture.shape, -1.0, 1.0, axis=1)
    found = estimate_blur(*synth.pair(texture, truth), method="window")
    s = np.sign(truth) * truth**2
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.97
    assert np.abs(found.variance_difference - s)[known].mean() < 0.03
    profile = np.nanmedian(found.variance_difference, axis=0)
    assert (np.diff(profile) > -0.02).all()
    assert found.sharper[:, 15].mean() < -0.9
    assert found.sharper[:, 96].mean() > 0.9


def test_all_channels_give_one_map_together(colour):
    truth = synth.ramp(colour.shape[:2], 0.5, 2.0)
    blurred = synth.blur_with_map(colour, truth, channel_axis=-1)
    rng = np.random.default_rng(0)
    first, second = (synth.degrade(image, noise=0.004, rng=rng) for image in (colour, blurred))
    together = estimate_blur(first, second, method="window", channel_axis=-1)
    green = estimate_blur(first[:, :, 1], second[:, :, 1], method="window")
    both = np.isfinite(together.sigma) & np.isfinite(green.sigma)
    assert both.mean() > 0.5
    assert np.abs(together.sigma - truth)[both].mean() < 0.9 * np.abs(green.sigma - truth)[both].mean()
    assert np.median(together.variance_stderr[both]) < np.median(green.variance_stderr[both])


@pytest.mark.parametrize("noise", [0.002, 0.01])
def test_error_bar_covers_the_error_that_noise_makes(texture, noise):
    rng = np.random.default_rng(2)
    first, second = (synth.degrade(image, noise=noise, rng=rng) for image in synth.pair(texture, 1.5))
    found = estimate_blur(first, second, method="window", sharper="first", window=15)
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.5
    score = ((found.variance_difference - 1.5**2) / found.variance_stderr)[known]
    assert (np.abs(score) < 2).mean() > 0.6
    assert (np.abs(score) < 0.5).mean() < 0.8  # nor is it absurdly wide


def test_more_blur_than_was_looked_for_is_flagged_at_the_limit(texture):
    first, second = synth.pair(texture, 3.0)
    found = estimate_blur(first, second, method="window", max_sigma=1.5)
    limit, known = _has(found, Flag.AT_LIMIT), np.isfinite(found.sigma)
    assert limit[known].mean() > 0.9
    assert_allclose(found.sigma[limit & known], 1.5)
    assert not _has(estimate_blur(first, second, method="window", max_sigma=5.0), Flag.AT_LIMIT).any()


@pytest.mark.parametrize("bits", [None, 8], ids=["float", "8 bits"])
@pytest.mark.parametrize("side", ["auto", "first"])
def test_flat_areas_are_flagged_and_hold_no_confident_wrong_number(texture, side, bits):
    sharp = np.array(texture)
    sharp[20:60, 20:60] = 0.5
    first, second = (synth.degrade(image, bits=bits) for image in (sharp, synth.blur_with_map(sharp, 1.0)))
    found = estimate_blur(first, second, method="window", sharper=side)
    inside = np.s_[32:48, 32:48]
    flat = _has(found, Flag.FLAT)
    assert flat[inside].mean() > 0.5
    assert np.isnan(found.sigma[flat]).all()
    assert not flat[75:].any()
    wrong = np.abs(found.variance_difference - 1.0)[inside] > 5 * found.variance_stderr[inside]
    assert not wrong.any()


@pytest.mark.parametrize("scale", [2.0, 0.1, 1e4 / 3])
def test_window_does_not_depend_on_the_scale_of_rounded_floats(scale):
    """Values of 8 bits are rounded by as much, relative to their range, whatever they are multiplied by."""
    rng = np.random.default_rng(5)
    sharp = 0.5 + 0.12 * rng.normal(size=(64, 80))
    pair = [np.round(255 * image.clip(0, 1)) / 255 for image in (sharp, synth.blur_with_map(sharp, 1.3))]
    usual, scaled = (estimate_blur(*(times * image for image in pair), method="window") for times in (1.0, scale))
    assert_allclose(scaled.variance_difference, usual.variance_difference, rtol=1e-5, atol=1e-6)  # single precision
    assert_allclose(scaled.variance_stderr, usual.variance_stderr, rtol=1e-4)
