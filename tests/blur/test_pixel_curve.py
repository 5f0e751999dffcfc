"""The curve of a pixel: M(sigma), its roots, the cost of its window."""

from __future__ import annotations

import numpy as np
import pytest

import relblur
from relblur import synth
from relblur.blur.pixel_curve import pixel_curve


@pytest.fixture(scope="module")
def noise_pair():
    sharp = np.random.default_rng(3).random((80, 90))
    return sharp, synth.blur_with_map(sharp, 1.7)


@pytest.mark.parametrize(("row", "column"), [(40, 45), (0, 0), (79, 3), (20, 89)])
def test_a_root_lies_at_the_true_blur_also_at_the_border(noise_pair, row, column):
    curve = pixel_curve(*noise_pair, row, column)
    assert np.abs(curve.roots - 1.7).min() < 2e-3
    assert curve.window_sigma == pytest.approx(1.7, abs=2e-3)


def test_exchanging_the_images_turns_the_curve_round(noise_pair):
    there, back = pixel_curve(*noise_pair, 40, 45), pixel_curve(*noise_pair[::-1], 40, 45)
    np.testing.assert_allclose(there.sigma, -back.sigma[::-1])
    np.testing.assert_allclose(there.cost, back.cost[::-1])
    np.testing.assert_allclose(there.roots, -back.roots[::-1], atol=1e-9)
    assert (there.first_value, there.second_value) == (back.second_value, back.first_value)
    assert (there.first_value, there.second_value) == (noise_pair[0][40, 45], noise_pair[1][40, 45])


def test_the_curve_is_that_of_the_filtered_image(noise_pair):
    sharp, blurry = noise_pair
    curve = pixel_curve(sharp, blurry, 5, 88)
    for sigma in (1.0, 2.0, 4.0):
        at = int(np.abs(curve.sigma - sigma).argmin())
        assert curve.blurred[at] == pytest.approx(synth.blur_with_map(sharp, sigma)[5, 88], abs=1e-3)
        before = int(np.abs(curve.sigma + sigma).argmin())
        assert curve.blurred[before] == pytest.approx(synth.blur_with_map(blurry, sigma)[5, 88], abs=1e-3)
    assert (curve.observed[curve.sigma >= 0] == blurry[5, 88]).all()
    assert (curve.observed[curve.sigma < 0] == sharp[5, 88]).all()


@pytest.mark.parametrize("method", ["window", "refined", "paper"])
def test_it_tells_what_the_map_says_and_looks_as_the_map_was_made(texture, method):
    first, second = synth.pair(texture, synth.ramp(texture.shape, -1.5, 1.5, axis=1))
    made = relblur.estimate_blur(first, second, method=method, max_sigma=3.0, window=7)
    curve = pixel_curve(first, second, 50, 100, blur_map=made)
    assert (curve.chosen, curve.chosen_stderr) == (made.sigma[50, 100], made.sigma_stderr[50, 100])
    assert curve.flags == made.flags[50, 100]
    assert curve.window == 7
    assert curve.sigma[-1] == pytest.approx(3.0)
    if method == "window":
        assert curve.window_sigma == pytest.approx(curve.chosen, abs=0.01)
    if method == "paper":
        assert np.abs(curve.roots - curve.chosen).min() < 0.051


def test_prefiltered_maps_have_prefiltered_curves(texture):
    first, second = synth.pair(texture, np.full(texture.shape, 1.2))
    made = relblur.estimate_blur(first, second, method="window", prefilter=1.5)
    assert pixel_curve(first, second, 40, 40, blur_map=made).window_sigma == pytest.approx(1.2, abs=0.02)
    curve = pixel_curve(first, second, 40, 40, blur_map=made)
    assert curve.first_value == pytest.approx(synth.blur_with_map(first, 1.5)[40, 40], abs=1e-5)


def test_a_pair_is_followed_by_row_and_column(noise_pair):
    pair = relblur.ComparablePair(*noise_pair)
    wanted = pixel_curve(*noise_pair, 30, 40)
    for curve in (pixel_curve(pair, 30, 40), pixel_curve(pair, row=30, column=40)):
        assert (curve.row, curve.column) == (30, 40)
        np.testing.assert_array_equal(curve.blurred, wanted.blurred)
    with pytest.raises(relblur.InputError, match=r"call pixel_curve\(pair, row, column\)"):
        pixel_curve(pair, noise_pair[1], 30, 40)
    with pytest.raises(relblur.InputError, match=r"column must be a whole number from 0 to 89, got None"):
        pixel_curve(*noise_pair, 30)


def test_bad_pixels_are_no_evidence(noise_pair):
    first, second = (image.copy() for image in noise_pair)
    first[40, 45] = np.nan
    curve = pixel_curve(first, second, 40, 45)
    assert curve.roots.size == 0
    assert np.isnan(curve.first_value)
    assert pixel_curve(first, second, 40, 60).window_sigma == pytest.approx(1.7, abs=2e-3)
    nothing = pixel_curve(*noise_pair, 40, 45, valid=np.zeros(first.shape, dtype=bool))
    assert np.isnan(nothing.cost).all()
    assert np.isnan(nothing.window_sigma)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"row": 80}, "row must be a whole number from 0 to 79"),
        ({"column": -1}, "column must be a whole number from 0 to 89"),
        ({"row": 1.5}, "row must be a whole number"),
        ({"window": 4}, "window must be an odd"),
        ({"max_sigma": 0}, "max_sigma must be finite and > 0"),
        ({"second": np.zeros((3, 3))}, "differ in shape"),
        ({"second": None}, "second is missing"),
    ],
)
def test_what_cannot_be_is_refused_by_name(noise_pair, change, message):
    arguments = {"first": noise_pair[0], "second": noise_pair[1], "row": 1, "column": 1, **change}
    with pytest.raises(relblur.InputError, match=message):
        pixel_curve(**arguments)
