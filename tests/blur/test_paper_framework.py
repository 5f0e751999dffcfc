"""Matrices W and F, literally, and the identity that makes them fast."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import InputError
from relblur.blur.paper import framework
from relblur.paper import Framework, gaussian_bank


@pytest.fixture(scope="module")
def paper_framework():
    return Framework()


def _patch(image, size, row, column):
    half = size // 2
    return image[row - half : row + half + 1, column - half : column + half + 1]


def test_the_papers_dimensions(paper_framework):
    assert paper_framework.window_size == 51
    assert paper_framework.W.shape == (50 * 100, 51 * 51)
    assert paper_framework.F.shape == (100,)
    assert_allclose(paper_framework.sigmas, np.arange(1, 51) / 10)


def test_f_is_the_riemann_sum_of_eq_16():
    f = Framework(sigmas=[1.0], n_radii=7, radius_limit=4.0, normalise=False)
    r = 4.0 / 7 * np.arange(1, 8)
    assert_allclose(f.radii, r)
    assert_allclose(f.F, 4.0 / 7 * r * np.exp(-r * r / 2))
    # Integral of r exp(-r^2/2) over 0..5 is 1 - exp(-12.5): the stray 1/2 of eq. 14 would halve the tail.
    assert_allclose(Framework(sigmas=[1.0], n_radii=20000, normalise=False).F.sum(), 1 - np.exp(-12.5), atol=2e-8)


@pytest.mark.parametrize("weights", ["gaussian", "literal"])
def test_w_against_its_definition(weights):
    sigmas, n_radii = [0.5, 0.8], 3
    f = Framework(sigmas=sigmas, n_radii=n_radii, radius_limit=2.5, weights=weights)
    size = 2 * 2 + 1  # 2 sigma_M r_N + 1
    assert f.window_size == size
    assert f.W.shape == (2 * n_radii, size**2)
    for n in range(n_radii):
        for m, sigma in enumerate(sigmas):
            bell = np.array(
                [[np.exp(-((y - 2) ** 2 + (x - 2) ** 2) / (2 * sigma**2)) for x in range(size)] for y in range(size)]
            )
            bell /= bell.sum() if weights == "gaussian" else 2 * np.pi * size**2 * sigma**2
            assert_allclose(f.W[m + 2 * n], bell.T.ravel(), rtol=1e-12)  # the rows do not depend on n


def test_vec_stacks_columns_as_in_the_paper():
    f = Framework(sigmas=[1.0], n_radii=1, radius_limit=2.0)
    f.__dict__["W"] = np.eye(25)[[1]]  # picks the second element of vec(patch)
    patch = np.arange(25.0).reshape(5, 5)
    assert_allclose(f.respond(patch), patch[1, 0] * f.F.sum())


@pytest.mark.parametrize("place", [(25, 25), (47, 55), (70, 86)])
def test_the_papers_full_dimensions_equal_the_bank(texture, paper_framework, place):
    response = paper_framework.respond(_patch(texture, 51, *place))
    bank = gaussian_bank(texture, paper_framework.sigmas)[:, *place]
    assert_allclose(response, bank, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_as_printed_intensities_are_too_small_and_the_gain_is_not_one(texture, paper_framework):
    patch = _patch(texture, 51, 40, 60)
    right, printed = paper_framework.respond(patch), Framework(normalise=False)
    assert_allclose(printed.F.sum(), 1 - 2.1e-4, atol=1e-5)
    assert_allclose(printed.respond(patch), printed.F.sum() * right, rtol=1e-12)
    assert_allclose(paper_framework.respond(np.full((51, 51), 0.7)), 0.7, rtol=1e-12)
    literal = Framework(weights="literal").respond(patch)
    assert_allclose((right / literal)[paper_framework.sigmas >= 1], 51**2, rtol=1e-4)
    # Below half a pixel the sampled bell does not even have the integral 2 pi sigma^2.
    assert_allclose(right[0] / literal[0], 51**2 * 2 * np.pi * 0.1**2, rtol=1e-6)


@pytest.mark.parametrize("sigma", [1.0, 2.0, 3.0])
def test_circle_weights_agree_with_the_bank_from_1_px(texture, sigma):
    f = Framework(sigmas=[sigma], n_radii=100, weights="circle")
    half = f.window_size // 2
    points = [(r, c) for r in range(half, 96 - half, 6) for c in range(half, 112 - half, 6)]
    bank = gaussian_bank(texture, [sigma])[0]
    error = [f.respond(_patch(texture, f.window_size, r, c))[0] - bank[r, c] for r, c in points]
    assert np.abs(error).max() < 1e-4


def test_a_circle_row_is_the_mean_over_a_circle():
    """Of waves of the window's periods, by an explicit mean over the circle."""
    size, radius, angle = 21, 6.3, np.arange(2000) * (2 * np.pi / 2000)
    weights = framework.circle_weights(radius, size)
    assert weights.sum() == pytest.approx(1)
    place = np.arange(size) - size // 2
    for down, across in ((0, 1), (2, 3), (5, -4)):
        wave = np.cos(2 * np.pi / size * (down * place[:, None] + across * place))
        x, y = radius * np.cos(angle), radius * np.sin(angle)
        on_circle = np.cos(2 * np.pi / size * (down * y + across * x)).mean()
        assert (weights * wave).sum() == pytest.approx(on_circle, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Framework(sigmas=[0.0, 1.0]), "sigmas must be a list of finite numbers > 0 px"),
        (lambda: Framework(n_radii=2.5), "n_radii must be a whole number >= 1, got 2.5"),
        (lambda: Framework(radius_limit=-1), "radius_limit must be finite and > 0"),
        (lambda: Framework(weights="square"), "weights must be one of 'gaussian', 'literal', 'circle'; got 'square'"),
        (
            lambda: Framework(sigmas=[1.0]).respond(np.zeros((9, 11))),
            "patch must be 11x11 \\(window_size\\), got 9x11",
        ),
    ],
)
def test_framework_refuses_by_name(call, message):
    with pytest.raises(InputError, match=message):
        call()
