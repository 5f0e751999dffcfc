"""Images whose relative blur is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage  # noqa: TID253

from relblur import InputError, synth
from relblur.filters.kernels import band_limited_kernel, sampled_kernel
from relblur.paper import gaussian_bank


def _separable(image, kernel):
    return ndimage.correlate1d(ndimage.correlate1d(image, kernel, 0), kernel, 1)


def _brute_force(image, sigma, kernel):
    """Equation 9 pixel by pixel: a weighted sum over the mirrored neighbourhood."""
    out = np.empty_like(image)
    height, width = image.shape
    mirror = lambda i, n: min(i % (2 * n), 2 * n - 1 - i % (2 * n))  # noqa: E731
    for y in range(height):
        for x in range(width):
            taps = kernel(sigma[y, x])
            r = taps.size // 2
            total = 0.0
            for dy in range(-r, r + 1):
                for dx in range(-r, r + 1):
                    total += taps[dy + r] * taps[dx + r] * image[mirror(y + dy, height), mirror(x + dx, width)]
            out[y, x] = total
    return out


@pytest.mark.parametrize(
    ("name", "kernel", "tolerance"),
    [("sampled", sampled_kernel, 1e-12), ("band_limited", lambda s: band_limited_kernel(s**2), 1e-7)],
)
def test_gather_model_against_an_explicit_sum(texture, name, kernel, tolerance):
    image = texture[:11, :13]
    sigma = np.random.default_rng(0).uniform(0.0, 1.6, image.shape)
    sigma[2, 3] = 0.0
    assert_allclose(
        synth.blur_with_map(image, sigma, kernel=name), _brute_force(image, sigma, kernel), rtol=0, atol=tolerance
    )


@pytest.mark.parametrize("sigma", [0.5, 1.5, 4.0])
def test_a_constant_map_is_the_bank(texture, sigma):
    assert_allclose(synth.blur_with_map(texture, sigma), gaussian_bank(texture, [sigma])[0], atol=1e-12)
    wanted = _separable(texture, band_limited_kernel(sigma**2))
    assert_allclose(synth.blur_with_map(texture, sigma, kernel="band_limited"), wanted, atol=2e-7)


def test_channels_are_blurred_alike_and_come_out_last(colour):
    field = synth.ramp(colour.shape[:2], 0.5, 2.0, axis=1)
    blurred = synth.blur_with_map(colour, field, channel_axis=-1)
    first_axis = synth.blur_with_map(np.moveaxis(colour, -1, 0), field, channel_axis=0)
    assert_array_equal(first_axis, blurred)
    for c in range(3):
        assert_allclose(blurred[:, :, c], synth.blur_with_map(colour[:, :, c], field), atol=1e-13)
    stored = synth.degrade(colour, bits=8)  # divided by its full scale
    assert_allclose(
        synth.blur_with_map(stored, field, channel_axis=-1), synth.blur_with_map(stored / 255.0, field, channel_axis=-1)
    )


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_ramp_runs_from_start_to_stop_along_its_axis(axis):
    field = synth.ramp((5, 9), -1.0, 3.0, axis)
    assert field.shape == (5, 9)
    along = np.moveaxis(field, axis % 2, 0)
    assert_allclose(along[:, 0], np.linspace(-1, 3, along.shape[0]))
    assert_array_equal(along, np.broadcast_to(along[:, :1], along.shape))


def test_fields_have_their_values_in_their_places():
    assert_array_equal(synth.steps((10, 10), (1.0, 2.0, 4.0), period=2)[0], [1, 1, 2, 2, 4, 4, 1, 1, 2, 2])
    assert_array_equal(synth.steps((10, 10), (1.0, 2.0), period=5, axis=0)[:, 3], [1] * 5 + [2] * 5)
    disc = synth.disc((41, 61), inside=3.0, outside=0.5, radius=10)
    assert (disc[20, 39], disc[20, 41]) == (3.0, 0.5)
    assert_array_equal(disc, disc[::-1, ::-1])
    assert_allclose((synth.disc((100, 200)) == 0.8).sum(), np.pi * 30**2, rtol=0.05)
    wave = synth.sinusoid((64, 64), mean=2.0, amplitude=0.5, period=32.0)
    assert_allclose([wave.mean(), wave.min(), wave.max()], [2.0, 1.5, 2.5], atol=1e-12)
    assert_allclose(wave[:, 32:], wave[:, :32], atol=1e-12)


def test_pair_blurs_second_where_positive_and_first_where_negative(texture):
    assert np.abs(synth.pair(texture, 0.25)[1] - texture).max() > 0.005  # small blur too
    field = synth.ramp(texture.shape, -2.0, 2.0, axis=1)
    first, second = synth.pair(texture, field)
    left, right = field < 0, field > 0
    assert_array_equal(first[right], texture[right])
    assert_array_equal(second[left], texture[left])
    assert_allclose(second[right], synth.blur_with_map(texture, np.abs(field), kernel="band_limited")[right], atol=1e-7)
    assert_allclose(first[left], synth.blur_with_map(texture, np.abs(field), kernel="band_limited")[left], atol=1e-7)


@pytest.mark.parametrize(("bits", "dtype"), [(8, np.uint8), (16, np.uint16)])
def test_degrade_rounds_to_the_nearest_and_clips(bits, dtype):
    top = 2**bits - 1
    stored = synth.degrade(np.array([[-0.5, 0.0, 0.5], [1.0, 1.5, 0.2]]), bits=bits)
    assert stored.dtype == dtype
    assert_array_equal(stored, [[0, 0, round(0.5 * top)], [top, top, round(0.2 * top)]])


def test_degrade_adds_noise_that_its_seed_repeats(texture):
    noisy = synth.degrade(texture, noise=0.02, rng=5)
    assert_array_equal(noisy, synth.degrade(texture, noise=0.02, rng=5))
    assert_array_equal(noisy, synth.degrade(texture, noise=0.02, rng=np.random.default_rng(5)))
    assert not np.array_equal(noisy, synth.degrade(texture, noise=0.02, rng=6))
    difference = noisy - texture
    assert_allclose(difference.std(), 0.02, rtol=0.05)
    assert abs(difference.mean()) < 0.001


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: synth.ramp((5,), 1, 2), "shape must be \\(rows, columns\\)"),
        (lambda: synth.ramp((0, 5), 1, 2), "shape must have at least one row"),
        (lambda: synth.ramp((5, 5), 1, 2, axis=2), "axis must be 0 .* got 2"),
        (lambda: synth.steps((5, 5), (), 4), "values is empty; stripes need at least one"),
        (lambda: synth.steps((5, 5), (1.0,), 0), "period must be a whole number >= 1"),
        (lambda: synth.blur_with_map(np.zeros((5, 5)), np.ones((4, 5))), "sigma_map has shape \\(4, 5\\)"),
        (lambda: synth.blur_with_map(np.zeros((5, 5)), -1.0), "sigma_map must lie between 0 px and the size"),
        (lambda: synth.blur_with_map(np.zeros((5, 5)), np.nan), "sigma_map must lie between"),
        (lambda: synth.blur_with_map(np.zeros((5, 5)), 1.0, kernel="box"), "kernel must be one of"),
        (lambda: synth.blur_with_map(np.zeros((3, 9, 9)), 1.0), "image.*channel_axis"),
        (lambda: synth.degrade(np.zeros((5, 5)), noise=-0.1, rng=0), "noise must be finite and > 0"),
        (lambda: synth.degrade(np.zeros((5, 5)), noise=0.1), "rng must be given with noise"),
        (lambda: synth.degrade(np.zeros((5, 5)), bits=12), "bits must be 8, 16 or None, got 12"),
    ],
)
def test_synth_refuses_by_name(call, message):
    with pytest.raises(InputError, match=message):
        call()
