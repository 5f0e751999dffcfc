"""The standard error of the refined map: each of its terms alone, and how often errors are within it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import estimate_blur, synth
from relblur.field import filled, information_around, rims
from relblur.field.grid import Edges
from relblur.field.uncertainty import _at_borders, _near_jumps, standard_error

SHAPE = (80, 100)
MIDDLE = (40, 50)
SCALE = 3.0
#: Variance of a value between -6 and 6 of which nothing else is known.
UNKNOWN = 12.0


def plain(value):
    return np.full(SHAPE, value, np.float32)


def edges_with(step=0.0, columns=slice(0, 0)):
    """Edges without a step, but for some columns of those to the right, which are cut."""
    height, width = SHAPE
    steps, cut = np.zeros((height, width - 1), np.float32), np.ones((height, width - 1), np.float32)
    steps[:, columns], cut[:, columns] = step, 0.0
    down = np.zeros((height - 1, width), np.float32)
    return Edges((down, steps), (down + 1, cut))


def squared(**change):
    """The squared standard error where all that is left out of ``change`` adds next to nothing."""
    given = {
        "moved": plain(0.0),
        "scale": plain(SCALE),
        "w": plain(1e12),
        "mu": plain(np.inf),
        "edges": edges_with(),
        "range_variance": np.float32(UNKNOWN),
    }
    return np.square(standard_error(**(given | change)).astype(np.float64))


def test_with_all_known_the_interpolation_is_left():
    assert_allclose(squared(), (2e-5 * SCALE) ** 2, rtol=1e-4)


def test_more_is_open_beside_the_border_and_most_in_a_corner():
    times = _at_borders(plain(10.0))
    assert_allclose([times[MIDDLE], times[0, 50], times[40, -1], times[-1, -1]], [1, 3.2, 3.2, 5.4], rtol=0.01)
    assert_allclose(times[4, 50] - 1, 2.2 * np.exp(-4 / 4.2), rtol=0.01)


def test_what_the_descent_still_moved_counts_in_the_mean_over_31_pixels():
    assert_allclose(squared(moved=plain(0.5)), 1.5 * 0.5**2, rtol=1e-4)
    assert_allclose(squared(moved=plain(-20.0)), 1.5 * SCALE**2 / 4, rtol=1e-4)  # but never more than this
    moved = plain(0.0)
    moved[MIDDLE] = 1.0
    found = squared(moved=moved) - squared()
    assert_allclose(found[25:56, 35:66], 1.5 / 31**2, rtol=1e-3)
    assert_allclose(found[24], 0, atol=1e-9)
    assert_allclose(found[:, 66], 0, atol=1e-9)


def test_of_a_plain_area_nothing_but_the_limits_is_known():
    # All evidence is more than 32 px away: the variance is limited to that of the range.
    assert_allclose(squared(w=plain(0.0)), UNKNOWN, rtol=1e-3)


def test_a_jump_is_known_to_some_pixels_only():
    found = squared(edges=edges_with(0.7, slice(49, 50)))
    assert_allclose(found[MIDDLE[0], 49:51], 0.7**2 / 4, rtol=0.03)
    assert_allclose(found[MIDDLE[0], [47, 52]], 0.7**2 / 4 * np.exp(-(2.5**2) / 18), rtol=0.03)
    assert found[:, 65].max() < 1e-3
    assert_allclose(_near_jumps(edges_with()), 0)


def poorest_half(w, y, x, rows, cols):
    """The least of the means of the four halves around a pixel, of a picture that is mirrored at its borders."""
    padded = np.pad(w, ((rows, rows), (cols, cols)), mode="symmetric")
    y, x, up, across = y + rows, x + cols, rows // 2, cols // 2
    window = padded[y - up : y + up + 1, x - across : x + across + 1]
    halves = (window[: up + 1], window[up:], window[:, : across + 1], window[:, across:])
    return min(half.mean() for half in halves)


def test_evidence_of_the_four_halves():
    """Each half has the pixel's own row or column on its inner border and is centred along it."""
    w = np.random.default_rng(0).random((15, 17), dtype=np.float32)
    found = information_around(w, 7)
    for y, x in np.ndindex(15, 17):
        assert_allclose(found[y, x], 49 * poorest_half(w, y, x, 7, 7), rtol=1e-5)


def test_a_pixel_is_filled_where_its_window_leaves_more_than_100_percent_open():
    scale = plain(0.5)  # a change of the map by this is 100 %
    for w, answer in ((3.9, True), (4.1, False)):
        assert (filled(plain(w / 7**2), scale, 7) == answer).all()


def test_the_rim_of_a_plain_area_is_filled_too():
    w = plain(1e3)
    w[:, :40] = 0
    found = rims(filled(w, plain(0.5), 7))
    # The pixels next to it have evidence on both sides; what they show may lie in front of the plain area.
    assert found[:, :44].all()
    assert not found[:, 46:].any()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["camera", "coins"])
def test_ramps_of_sigma_are_within_three_standard_errors(name):
    """A ramp of sigma is bent in s, most of all at the borders, where the prior has one side only to go by."""
    from skimage import data

    sharp = {"camera": data.camera()[100:260, 150:340], "coins": data.coins()[:140, :180]}[name] / 255.0
    truth = synth.ramp(sharp.shape, 1, 2, 1)
    beyond = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        found = estimate_blur(*(image + rng.normal(0, 0.005, sharp.shape) for image in synth.pair(sharp, truth)))
        errors = np.abs(found.variance_difference - truth**2) / found.variance_stderr
        beyond.append(np.mean(errors[found.flags == 0] > 3))
    assert np.mean(beyond) < 0.05
