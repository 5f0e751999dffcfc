"""Equation 25: fewer pixels without aliasing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import InputError, decimate
from relblur.filters import decimation
from relblur.filters.decimation import decimation_kernel


def _gain(kernel: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    """Response at frequencies in cycles per pixel."""
    k = np.arange(kernel.size) - kernel.size // 2
    return np.cos(2 * np.pi * np.outer(frequency, k)) @ kernel


@pytest.mark.parametrize(("factor", "half_width", "beta"), [(2, 8, 10.0), (3, 12, 10.0), (2, 20, 5.0)])
def test_kernel_is_eq_25_with_unit_gain_at_zero_frequency(factor, half_width, beta):
    k = np.arange(-half_width, half_width + 1)
    x = np.where(k == 0, 1e-20, np.pi * k / factor)
    literal = np.sin(x) / x * np.i0(beta * np.sqrt(1 - (k / half_width) ** 2)) / np.i0(beta)
    kernel = decimation_kernel(factor, half_width, beta)
    assert_allclose(kernel, literal / literal.sum(), atol=1e-14)
    assert_allclose(kernel.sum(), 1)
    assert_array_equal(decimation_kernel(2), decimation_kernel(2, 8, 10.0))


@pytest.mark.parametrize("shape", [(37, 50), (5, 5), (11, 7)])
@pytest.mark.parametrize("factor", [1, 2, 3, 4, 5])
def test_a_constant_keeps_its_value_and_odd_sizes_are_rounded_up(shape, factor):
    wanted = np.full([-(-n // factor) for n in shape], 0.3)
    given = np.full(shape, 0.3)
    small = decimate(given, factor)
    assert small.shape == wanted.shape
    assert_allclose(small, wanted, rtol=1e-12)
    assert not np.shares_memory(small, given)


def test_channels_are_decimated_alike_and_come_out_last(colour):
    small = decimate(colour, 3, channel_axis=-1)
    assert small.shape == (24, 30, 3)
    for c in range(3):
        assert_allclose(small[:, :, c], decimate(colour[:, :, c], 3), atol=1e-14)
    assert_array_equal(decimate(np.moveaxis(colour, -1, 0), 3, channel_axis=0), small)


@pytest.mark.parametrize(
    ("factor", "keywords", "message"),
    [
        (0, {}, "factor must be a whole number >= 1, got 0"),
        (2.0, {}, "factor must be a whole number >= 1, got 2.0"),
        (41, {}, "factor=41 exceeds the image's shorter side, 40 px; use a smaller one"),
        (2, {"half_width": 1.5}, "half_width must be a whole number >= 1, got 1.5"),
        (2, {"beta": -1}, "beta must be finite and > 0, got -1"),
    ],
)
def test_bad_values_are_refused_by_name(factor, keywords, message):
    with pytest.raises(InputError, match=message):
        decimate(np.zeros((40, 50)), factor, **keywords)


@pytest.mark.parametrize("factor", [2, 3, 4, 6])
def test_bands_equal_the_whole_to_the_bit(factor, monkeypatch):
    image = np.random.default_rng(0).integers(0, 256, (211, 83, 3), dtype=np.uint8)
    whole = decimate(image, factor, channel_axis=-1)
    monkeypatch.setattr(decimation, "BAND_PIXELS", 1)
    assert_array_equal(decimate(image, factor, channel_axis=-1), whole)


@pytest.mark.parametrize("factor", [2, 3, 5])
def test_it_is_a_filter_and_every_factor_th_pixel(texture, factor):
    from scipy import ndimage

    kernel = decimation_kernel(factor, round(8 * factor / 2))
    wanted = ndimage.correlate1d(ndimage.correlate1d(texture, kernel, axis=0), kernel, axis=1)[::factor, ::factor]
    assert_allclose(decimate(texture, factor), wanted, atol=1e-14)
