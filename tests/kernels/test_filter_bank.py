"""Gaussian kernels on the pixel grid, and whole images blurred with many of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import InputError
from relblur.filters.kernels import (
    band_limited_kernel,
    band_limited_weights,
    kernel_radius,
    sampled_kernel,
    sampled_weights,
)
from relblur.paper import gaussian_bank

SIGMAS = [0.1, 0.2, 0.35, 0.5, 0.8, 1.0, 1.1, 2.0, 3.7, 5.0]
MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]


def _variance(kernel: np.ndarray) -> float:
    n = np.arange(kernel.size) - kernel.size // 2
    return float((kernel * n**2).sum())


@pytest.mark.parametrize(
    ("sigma", "radius"), [(5.0, 25), (1.1, 6), (0.1, 1), (0.2, 1), (0.0, 0), (20.0, 100), (0.1 * 6, 3)]
)
def test_radius_holds_all_taps_within_5_sigma(sigma, radius):
    assert kernel_radius(sigma) == radius
    assert sampled_kernel(sigma).size == 2 * radius + 1


@pytest.mark.parametrize("variance", [0.01, 0.09, 0.25, 1.0, 3.9, 4.1, 25.0])
def test_band_limited_kernel_has_a_gaussian_spectrum_below_nyquist(variance):
    kernel = band_limited_kernel(variance)
    n = np.arange(kernel.size) - kernel.size // 2
    w = np.linspace(0, 2.0, 9)
    spectrum = np.cos(np.outer(w, n)) @ kernel
    # Cut at radius 6 the ringing of the smallest kernels leaves a few 1e-3.
    assert_allclose(spectrum, np.exp(-0.5 * variance * w**2), atol=6e-3)


def test_only_the_band_limited_family_changes_at_zero_blur():
    step = 0.01  # px^2
    centre = band_limited_kernel(step)
    assert centre[centre.size // 2] < 1 - step  # d/dv at 0 is -pi^2 / 6 there
    assert sampled_kernel(step**0.5).max() > 1 - 1e-9


@pytest.mark.parametrize("sigma", [0.3, 0.7, 1.9, 2.1, 3.3])
@pytest.mark.parametrize(
    ("weights", "kernel"),
    [(sampled_weights, sampled_kernel), (band_limited_weights, lambda s: band_limited_kernel(s**2))],
    ids=["sampled", "band-limited"],
)
def test_weights_of_a_pixel_are_its_own_kernel_however_many_taps_are_asked_for(weights, kernel, sigma):
    wanted = kernel(sigma)
    half = wanted[wanted.size // 2 :]
    taps = weights(np.array([[sigma, 4.0]]), 20)[:, 0, 0]
    assert_allclose(taps[: half.size] / (taps[0] + 2 * taps[1:].sum()), half, atol=2e-6)
    assert_array_equal(taps[half.size :], 0)


def test_a_constant_stays_and_nan_stays_visible():
    assert_allclose(gaussian_bank(np.full((9, 9), 0.3), [0.1, 3.0]), 0.3, rtol=1e-13)
    image = np.zeros((9, 9))
    image[4, 4] = np.nan
    assert np.isnan(gaussian_bank(image, [0.6])[0, 4, 4])


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((np.zeros(5), [1.0]), {}, "image must be two-dimensional and not empty, got shape \\(5,\\)"),
        ((np.zeros((0, 5)), [1.0]), {}, "not empty"),
        ((np.zeros((5, 5), complex), [1.0]), {}, "image has dtype complex128; pass real numbers"),
        ((np.array([["a"]]), [1.0]), {}, "image has dtype <U1"),
        ((np.zeros((5, 5)), [1.0]), {"mode": "circular"}, "mode must be one of 'reflect'.*got 'circular'"),
        ((np.zeros((5, 5)), [1.0]), {"workers": 0}, "workers must be a whole number >= 1"),
        ((np.zeros((5, 5)), [2.0, 1.0]), {}, "sigmas must be a list of finite numbers"),
    ],
)
def test_bank_refuses_by_name(arguments, keywords, message):
    with pytest.raises(InputError, match=message):
        gaussian_bank(*arguments, **keywords)
