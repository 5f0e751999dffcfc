"""Gaussian kernels on the pixel grid, and whole images blurred with many of them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage  # noqa: TID253

from relblur import InputError
from relblur.filters.kernels import (
    band_limited_kernel,
    band_limited_weights,
    kernel_radius,
    noise_gain,
    sampled_kernel,
    sampled_weights,
)
from relblur.paper import gaussian_bank

SIGMAS = [0.1, 0.2, 0.35, 0.5, 0.8, 1.0, 1.1, 2.0, 3.7, 5.0]
MODES = ["reflect", "mirror", "nearest", "wrap", "constant"]


def _variance(kernel: np.ndarray) -> float:
    n = np.arange(kernel.size) - kernel.size // 2
    return float((kernel * n**2).sum())


@pytest.mark.parametrize("sigma", [*SIGMAS, 20.0])
def test_kernels_are_odd_symmetric_and_sum_to_one(sigma):
    for kernel in (sampled_kernel(sigma), band_limited_kernel(sigma**2)):
        assert kernel.size % 2 == 1
        assert_allclose(kernel.sum(), 1, rtol=1e-14)
        assert_allclose(kernel, kernel[::-1], rtol=0, atol=1e-17)
        assert kernel.argmax() == kernel.size // 2


@pytest.mark.parametrize("sigma", [0.8, 1.0, 2.0, 5.0, 20.0])
def test_sampled_kernel_has_the_variance_it_says(sigma):
    # Cutting at 5 sigma takes away 2e-5 of the variance at most; sampling adds 4e-4 at 0.8 px.
    assert_allclose(_variance(sampled_kernel(sigma)), sigma**2, rtol=5e-4)


def test_the_side_tap_at_0_2_px_is_4e_6():
    assert_allclose(sampled_kernel(0.2), [3.7e-6, 1, 3.7e-6], rtol=0.02)


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


@pytest.mark.parametrize("sigma", [0.8, 1.0, 1.5, 2.0, 4.0])
def test_the_two_families_agree_from_0_8_px(sigma):
    sampled, limited = sampled_kernel(sigma), band_limited_kernel(sigma**2)
    extra = (limited.size - sampled.size) // 2
    assert_allclose(np.pad(sampled, extra), limited, atol=6e-3 if sigma < 1 else 1e-3)


def test_only_the_band_limited_family_changes_at_zero_blur():
    step = 0.01  # px^2
    centre = band_limited_kernel(step)
    assert centre[centre.size // 2] < 1 - step  # d/dv at 0 is -pi^2 / 6 there
    assert sampled_kernel(step**0.5).max() > 1 - 1e-9


def test_zero_variance_is_exactly_the_identity():
    assert_array_equal(band_limited_kernel(0.0), [1.0])
    assert_array_equal(sampled_kernel(0.0), [1.0])


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


def test_noise_gain_is_what_white_noise_keeps():
    kernel = sampled_kernel(1.3)
    noise = np.random.default_rng(0).normal(size=(400, 400))
    filtered = ndimage.correlate1d(ndimage.correlate1d(noise, kernel, 0), kernel, 1)
    assert_allclose(noise_gain(kernel), filtered.var(), rtol=0.05)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sigma", [0.1, 0.5, 1.0, 2.3, 5.0, 20.0])
def test_bank_equals_scipy_with_the_same_radius(texture, mode, sigma):
    wanted = ndimage.gaussian_filter(texture, sigma, mode=mode, radius=kernel_radius(sigma))
    assert_allclose(gaussian_bank(texture, [sigma], mode=mode)[0], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 1e-6), (np.float64, 1e-13)])
def test_floats_keep_their_type_and_its_precision(texture, dtype, tolerance):
    bank = gaussian_bank(texture.astype(dtype), [1.0, 20.0])
    assert bank.dtype == dtype
    wanted = gaussian_bank(texture.astype(dtype).astype(np.float64), [1.0, 20.0])
    assert_allclose(bank, wanted, rtol=tolerance)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (3, 2), (5, 5)])
@pytest.mark.parametrize("mode", ["reflect", "nearest", "wrap"])
def test_tiny_images_under_wide_kernels(shape, mode):
    image = np.random.default_rng(1).random(shape)
    bank = gaussian_bank(image, [0.5, 5.0, 20.0], mode=mode)
    assert_allclose(bank[2], ndimage.gaussian_filter(image, 20.0, mode=mode, radius=100), atol=1e-12)
    assert bank.min() >= image.min() - 1e-12
    assert bank.max() <= image.max() + 1e-12


def test_a_constant_stays_and_nan_stays_visible():
    assert_allclose(gaussian_bank(np.full((9, 9), 0.3), [0.1, 3.0]), 0.3, rtol=1e-13)
    image = np.zeros((9, 9))
    image[4, 4] = np.nan
    assert np.isnan(gaussian_bank(image, [0.6])[0, 4, 4])


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_threads_do_not_matter(texture, workers):
    assert_array_equal(gaussian_bank(texture, SIGMAS, workers=workers), gaussian_bank(texture, SIGMAS))


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
