"""Which image is the sharper: the paper's local standard deviation."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import InputError, compare_sharpness, gaussian_bank, local_sharpness


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


def test_channel_variances_are_averaged(colour):
    wanted = np.sqrt(np.mean([local_sharpness(colour[:, :, c]) ** 2 for c in range(3)], axis=0))
    assert_allclose(local_sharpness(colour, channel_axis=-1), wanted, atol=1e-9)
    assert_allclose(local_sharpness(np.moveaxis(colour, -1, 0), channel_axis=0), wanted, atol=1e-9)


def test_sharpness_scales_with_intensity_and_ignores_an_offset(texture):
    assert_allclose(local_sharpness(3 * texture + 100), 3 * local_sharpness(texture), atol=1e-6)


def test_integers_are_measured_on_a_scale_of_one(texture):
    stored = np.rint(texture * 255).astype(np.uint8)
    assert_allclose(local_sharpness(stored), local_sharpness(stored / 255.0), atol=1e-12)


def test_plus_one_where_first_is_sharper_and_minus_one_where_second_is(noise):
    blurred = gaussian_bank(noise, [2.0])[0]
    assert (compare_sharpness(noise, blurred) == 1).mean() > 0.95
    assert (compare_sharpness(blurred, noise) == -1).mean() > 0.95


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


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_flat_and_identical_images_are_equal_everywhere_at_any_scale(texture, scale):
    assert_array_equal(compare_sharpness(scale * texture, scale * texture), 0)
    flat = np.full((9, 9), 0.7 * scale)
    assert_array_equal(compare_sharpness(flat, 0.3 * flat), 0)
    noticeable = np.array(scale * texture)
    noticeable[40, 40] += 1e-3 * scale
    assert_array_equal(np.argwhere(compare_sharpness(noticeable, scale * texture))[[0, -1]], [[39, 39], [41, 41]])


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (2, "size must be an odd whole number >= 1, got 2"),
        (-3, "size must be an odd"),
        (3.0, "size must be an odd whole number >= 1, got 3.0"),
        (True, "size must be an odd"),
        (21, "size=21 is larger than the image \\(10x12\\); use size=9 or a larger image"),
    ],
)
def test_bad_sizes_are_refused_by_name(size, message):
    image = np.zeros((10, 12))
    with pytest.raises(InputError, match=message):
        local_sharpness(image, size)
    with pytest.raises(InputError, match=message):
        compare_sharpness(image, image, size)
