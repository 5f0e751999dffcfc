"""Which image is the sharper: the paper's local standard deviation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import InputError
from relblur.paper import compare_sharpness, gaussian_bank, local_sharpness


@pytest.fixture(scope="module")
def noise():
    """White noise: any blur takes away a large part of its local deviation, everywhere."""
    return np.random.default_rng(4).random((96, 112))


@pytest.mark.parametrize("size", [1, 3, 5, 9])
def test_local_sharpness_is_the_standard_deviation_in_a_square(texture, size):
    crop, half = texture[:20, :24], size // 2
    padded = np.pad(crop, half, mode="symmetric")
    wanted = [[padded[y : y + size, x : x + size].std() for x in range(24)] for y in range(20)]
    assert_allclose(local_sharpness(crop, size), wanted, rtol=1e-6, atol=1e-9)


def test_of_colours_the_grey_values_are_compared_as_in_table_1(colour):
    wanted = local_sharpness(colour.mean(axis=2))
    assert_allclose(local_sharpness(colour, channel_axis=-1), wanted, atol=1e-9)
    assert_allclose(local_sharpness(np.moveaxis(colour, -1, 0), channel_axis=0), wanted, atol=1e-9)


def test_each_half_is_decided_for_itself(noise):
    blurred = gaussian_bank(noise, [2.0])[0]
    first, second = np.array(noise), np.array(noise)
    first[:, :50], second[:, 60:] = blurred[:, :50], blurred[:, 60:]
    sides = compare_sharpness(first, second)
    assert sides.dtype == np.int8
    assert (sides[:, :48] == -1).mean() > 0.95
    assert (sides[:, 62:] == 1).mean() > 0.95
    assert_array_equal(sides[:, 52:58], 0)  # the paper's excluded points: both are the same there


def test_swapping_flips_the_sign_exactly(texture):
    blurred = gaussian_bank(texture, [1.0])[0]
    for size in (3, 7):
        assert_array_equal(compare_sharpness(blurred, texture, size), -compare_sharpness(texture, blurred, size))


@pytest.mark.parametrize("call", [local_sharpness, lambda image, size: compare_sharpness(image, image, size)])
def test_bad_sizes_are_refused_by_name(call):
    with pytest.raises(InputError, match=r"size must be an odd whole number >= 1, got 3.0"):
        call(np.zeros((10, 12)), 3.0)
    with pytest.raises(InputError, match=r"size=21 is larger than the image \(10x12\); use size=9 or a larger image"):
        call(np.zeros((10, 12)), 21)
