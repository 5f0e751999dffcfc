"""Two images brought to about equal blur, and what of them can then be compared."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relblur import synth
from relblur.photo.rough_blur import MOST_MEASUREMENTS, RoughBlur, _without_reach, equalise

ALL = np.ones((96, 112), bool)


def difference(one, two, where):
    return np.sqrt(np.mean((one - two)[where] ** 2))


@pytest.mark.parametrize("swapped", [False, True])
def test_whichever_is_the_sharper_is_blurred(texture, swapped):
    blurry = synth.blur_with_map(texture, synth.ramp(texture.shape, 1.0, 2.0))
    pair = [texture, blurry][:: -1 if swapped else 1]
    found = equalise(*(image[:, :, None] for image in pair), ALL)
    one, two = found.first[:, :, 0], found.second[:, :, 0]
    assert difference(one, two, found.usable) < 0.05 * difference(texture, blurry, found.usable)
    # The blurrier one is left as it is.
    assert difference([one, two][not swapped], blurry, found.usable) < 0.1 * difference(one, texture, found.usable)
    assert found.usable.mean() > 0.5


def test_each_is_blurred_where_the_other_is_the_blurrier(texture):
    field = np.where(np.arange(texture.shape[1]) < 56, 1.5, 0.0) * np.ones(texture.shape)
    first, second = synth.blur_with_map(texture, field), synth.blur_with_map(texture, 1.5 - field)
    found = equalise(first[:, :, None], second[:, :, None], ALL)
    left, right = np.zeros_like(ALL), np.zeros_like(ALL)
    left[20:-20, 15:40], right[20:-20, 72:-15] = True, True
    for where, kept, made in ((left, found.first, found.second), (right, found.second, found.first)):
        assert difference(made[:, :, 0], kept[:, :, 0], where) < 0.15 * difference(first, second, where)


def test_what_must_not_be_used_does_not_count(texture):
    blurry = synth.blur_with_map(texture, 1.5)
    spoilt = blurry.copy()
    usable = ALL.copy()
    usable[30:50, 40:60] = False
    spoilt[30:50, 40:60] = 0.5
    found = equalise(texture[:, :, None], spoilt[:, :, None], usable)
    assert not found.usable[30:50, 40:60].any()
    assert difference(found.first[:, :, 0], found.second[:, :, 0], found.usable) < 0.1 * difference(
        texture, blurry, found.usable
    )


@pytest.mark.parametrize(("sigma", "reach"), [(0.0, 2), (1.0, 5), (2.0, 8), (9.0, 12)])
def test_pixels_that_see_a_gap_or_beyond_the_border_are_not_compared(sigma, reach):
    """Two pixels and three times the blur away, but never more than an eighth of the picture (96 / 8)."""
    usable = ALL.copy()
    usable[50, 60] = False
    found = _without_reach(usable, np.full(ALL.shape, sigma))
    rows, columns = np.indices(ALL.shape)
    from_border = np.minimum.reduce([rows, columns, 95 - rows, 111 - columns]) + 1
    straight = np.where(columns == 60, abs(rows - 50), np.where(rows == 50, abs(columns - 60), np.inf))
    line = (columns == 60) | (rows == 50)  # along which distances are exact
    assert_array_equal(found[line], ((from_border > reach) & (straight > reach))[line])


def test_one_measurement_serves_copies_of_every_size(texture, monkeypatch):
    """Blur of 1.5 px, seen in the same frame at half the size, is 0.75 px; it is measured again on demand, once."""
    blurry = synth.blur_with_map(texture, 1.5)
    calls, measure = [], RoughBlur.measure
    monkeypatch.setattr(RoughBlur, "measure", lambda *a: calls.append(1) or measure(*a))
    blur = RoughBlur()
    pair = texture[:, :, None], blurry[:, :, None], ALL
    for again in (False, False, True, True):
        equalise(*pair, blur, again=again)
    assert len(calls) == blur.measurements == MOST_MEASUREMENTS
    assert np.median(blur.sigma(ALL.shape)) == pytest.approx(1.5, rel=0.05)
    assert np.median(blur.sigma((48, 56))) == pytest.approx(0.75, rel=0.05)
    assert blur.largest * ALL.shape[0] == pytest.approx(1.5, rel=0.15)


def test_coarser_copies_are_measured_until_one_shows_the_blur():
    """Detail at all scales, blurred by 4 px: too much for windows of 9 px on the first copy."""
    rng = np.random.default_rng(0)
    scales = [np.kron(rng.random((256 // n, 256 // n)), np.ones((n, n))) for n in (1, 2, 4, 8, 16)]
    image = np.mean(scales, axis=0)
    blurry = synth.blur_with_map(image, 4.0)
    blur = RoughBlur()
    blur.measure(image[:, :, None], blurry[:, :, None], np.ones(image.shape, bool))
    assert blur.measurements == 1
    assert blur.largest * 256 == pytest.approx(4.0, rel=0.1)
