"""The standard error of the refined map: each of its terms alone, and how often errors are within it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import estimate_blur, synth
from relblur.blur.refined.likelihood.likelihood import Evidence
from relblur.blur.refined.prior.prior import JUMP, WINDOWS, Edges
from relblur.blur.refined.uncertainty import filled, jump_power, knowing_window, local_texture, standard_error

SHAPE = (80, 100)
MIDDLE = (40, 50)
SCALE = 3.0
#: Information with which a window of 65 px knows the blur at that scale and one of 33 does not: d = 65 - 32.
SEEN_FROM_65, BEYOND = 1 / (2000 * SCALE**2), 33


def plain(value):
    return np.full(SHAPE, value, np.float32)


def edges_with(step=0.0, columns=slice(0, 0)):
    """Edges without a step, but for some columns of those to the right, which are cut."""
    height, width = SHAPE
    steps, cut = np.zeros((height, width - 1), np.float32), np.ones((height, width - 1), np.float32)
    steps[:, columns], cut[:, columns] = step, 0.0
    down = np.zeros((height - 1, width), np.float32)
    return Edges(steps, down, cut, down + 1)


def squared(**change):
    """The squared standard error where all that is left out of ``change`` adds next to nothing."""
    given = {
        "z": plain(2.0),
        "before": plain(2.0),
        "scale": plain(SCALE),
        "w": plain(1e12),
        "variance": plain(1e-15),
        "mu": plain(np.inf),
        "edges": edges_with(),
    }
    return np.square(standard_error(**(given | change)).astype(np.float64))


def test_with_all_known_the_interpolation_is_left():
    assert_allclose(squared(), (2e-5 * SCALE) ** 2, rtol=1e-4)


def test_a_pixel_and_the_best_window_around_it_leave_something_open():
    # A jump does not count where the window knows the blur well.
    found = squared(w=plain(4.0), variance=plain(0.5), edges=edges_with(1.0, slice(None)))
    assert_allclose(found, 1.2 / (4 + 1 / 0.5), rtol=1e-5)


def test_what_the_solver_still_moved_counts_in_the_mean_over_31_pixels():
    assert_allclose(squared(before=plain(1.5)), 1.5 * 0.5**2, rtol=1e-4)
    assert_allclose(squared(before=plain(-20.0)), 1.5 * SCALE**2 / 4, rtol=1e-4)  # but never more than this
    before = plain(2.0)
    before[MIDDLE] = 1.0
    found = squared(before=before) - squared()
    assert_allclose(found[25:56, 35:66], 1.5 / 31**2, rtol=1e-3)
    assert_allclose(found[24], 0, atol=1e-9)
    assert_allclose(found[:, 66], 0, atol=1e-9)


def test_a_jump_unseen_in_a_flat_area_counts_by_its_width():
    height, width = SHAPE
    power = 5 * height * 0.7**2 / (height * (width - 1) + (height - 1) * width)
    found = squared(w=plain(SEEN_FROM_65), edges=edges_with(0.7, slice(10, 15)))
    assert_allclose(found, power * BEYOND, rtol=1e-4)


def test_a_curvature_unseen_in_a_flat_area_counts_by_its_width():
    found = squared(w=plain(SEEN_FROM_65), mu=plain(1e5))
    assert_allclose(found, (BEYOND**2 / 8) ** 2 / 1e5, rtol=1e-4)
    both = squared(w=plain(SEEN_FROM_65), mu=plain(1e5), edges=edges_with(0.7, slice(10, 15)))
    alone = squared(w=plain(SEEN_FROM_65), edges=edges_with(0.7, slice(10, 15)))
    assert_allclose(both, found + alone, rtol=1e-4)


def test_a_curvature_counts_at_most_100_percent_in_the_mean_over_9_pixels():
    mu = plain(np.inf)
    mu[MIDDLE] = 1e-3
    found = squared(w=plain(SEEN_FROM_65), mu=mu)
    assert_allclose(found[36:45, 46:55], SCALE**2 / 9**2, rtol=1e-4)
    assert found[35].max() < 1e-6
    assert found[:, 55].max() < 1e-6


@pytest.mark.parametrize("number", range(len(WINDOWS)))
def test_the_smallest_window_that_knows_the_blur(number):
    size, scale2 = WINDOWS[number], plain(2.0)
    larger = [*WINDOWS[1:], 2 * WINDOWS[-1]][number]
    assert_array_equal(knowing_window(plain(0.52 / size**2), scale2), size)
    assert_array_equal(knowing_window(plain(0.48 / size**2), scale2), larger)


def test_a_window_that_knows_it_to_exactly_100_percent_will_do():
    assert np.float32(1 / 25) * np.float32(25) == 1
    assert_array_equal(knowing_window(plain(1.0), plain(1 / 25)), 5)


def test_the_power_of_jumps_is_a_mean_over_all_edges():
    right, down = np.float32([[1, 2], [3, 4]]), np.float32([[5, 6, 7]])
    cut_right, cut_down = np.float32([[0, 1], [JUMP, 0.2]]), np.float32([[1, 0.09, 1]])
    assert jump_power(Edges(right, down, cut_right, cut_down)) == pytest.approx((1**2 + 6**2) / 7)
    one, none = np.float32([[3]]), np.zeros((0, 2), np.float32)
    assert jump_power(Edges(one, none, 0 * one, none)) == 9
    assert jump_power(Edges(none, none, none, none)) == 0


def test_a_pixel_is_filled_where_its_window_leaves_more_than_100_percent_open():
    s = plain(0.4)  # of which sqrt(0.4^2 + 0.3^2) = 0.5 is 100 %
    texture = plain(1.0), plain(1.0)
    for w, answer in ((3.9, True), (4.1, False)):
        evidence = Evidence(plain(w / 7**2), plain(0.0), plain(0.0))
        assert (filled(s, evidence, texture, 7) == answer).all()


@pytest.mark.parametrize("s", [-0.4, 0.0, 0.4])
def test_a_pixel_is_filled_where_no_blur_explains_half_of_the_blurrier_image(s):
    texture = (plain(2.0), plain(6.0))
    explained = 3.0 if s >= 0 else 1.0
    for power, answer in ((1.01 * explained, True), (explained, False), (0.99 * explained, False)):
        evidence = Evidence(plain(1e3), plain(0.0), plain(power))
        assert (filled(plain(s), evidence, texture, 7) == answer).all()


def test_texture_is_the_variance_over_a_window_in_the_mean_of_the_channels():
    image = np.random.default_rng(0).random((2, 9, 11), dtype=np.float32)
    wanted = image[:, 2:7, 3:8].var(axis=(1, 2)).mean()
    assert_allclose(local_texture(image, 5)[4, 5], wanted, rtol=1e-4)


#: Share of errors within one standard error on small noisy pairs, as measured: below the 68 % which larger pictures
#: and other fields reach in the mean. A share that leaves its place by 5 points tells of another error bar.
SHARES = {("brick", "ramp"): 0.43, ("brick", "jump"): 0.51, ("gravel", "jump"): 0.42}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scene"), SHARES)
def test_errors_are_within_the_standard_error_as_often_as_before(name, scene):
    from skimage import data

    sharp = getattr(data, name)()[:128, :144] / 255.0
    truth = synth.ramp(sharp.shape, 1, 2) if scene == "ramp" else synth.steps(sharp.shape, (1.0, 2.0), 72)
    images = sharp, synth.blur_with_map(sharp, truth)
    shares = []
    for seed in range(5):  # the error of a plane has three degrees of freedom: one pair says little
        rng = np.random.default_rng(seed)
        pair = [synth.degrade(image, noise=0.005, bits=8, rng=rng) / 255 for image in images]
        found = estimate_blur(*pair, sharper="first", engine="opencv")
        shares.append((np.abs(found.variance_difference - truth**2) <= found.variance_stderr).mean())
    assert np.mean(shares) == pytest.approx(SHARES[name, scene], abs=0.05)
