"""Which Gaussian made the pair: the estimator finds out, and says so."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import estimate_blur, synth
from relblur.blur.dense import run

SHAPE = (192, 224)


@pytest.fixture(scope="module")
def sharp():
    from skimage import data

    return data.brick()[: SHAPE[0], : SHAPE[1]] / 255.0


def _pair(sharp, truth, kernel, bits=None):
    images = [synth.blur_with_map(sharp, np.maximum(side * truth, 0), kernel=kernel) for side in (-1, 1)]
    return [synth.degrade(image, bits=bits) for image in images]


def _error(found, truth):
    s = truth * np.abs(truth)
    return float(np.nanmean(np.abs(found.variance_difference - s)) / np.mean(np.abs(s)))


@pytest.mark.slow
@pytest.mark.parametrize("bits", [None, 8])
@pytest.mark.parametrize("kernel", ["sampled", "band_limited"])
def test_the_kernel_of_a_computed_pair_is_found(sharp, kernel, bits):
    truth = synth.ramp(SHAPE, -1.0, 1.0, axis=1)
    found = estimate_blur(*_pair(sharp, truth, kernel, bits))
    assert found.settings["kernel"] == kernel
    # Below 0.35 px a sampled Gaussian is none: a fifth of this field is filled from its neighbours.
    assert _error(found, truth) < (0.05 if kernel == "sampled" else 0.02)


@pytest.mark.parametrize("kernel", ["sampled", "band_limited"])
def test_the_kernel_is_found_where_one_image_is_stated_to_be_sharper(sharp, kernel):
    truth = synth.ramp(SHAPE, 0.4, 1.2, axis=1)
    first, second = _pair(sharp, truth, kernel)
    found = estimate_blur(first, second, sharper="first")
    assert found.settings["kernel"] == kernel
    assert _error(found, truth) < 0.002
    turned = estimate_blur(second, first, sharper="second")
    assert turned.settings["kernel"] == kernel
    np.testing.assert_array_equal(turned.variance_difference, -found.variance_difference)


def test_noise_and_flat_pictures_decide_nothing():
    rng = np.random.default_rng(0)
    for pair in ((rng.random(SHAPE), rng.random(SHAPE)), (np.full(SHAPE, 0.5), np.full(SHAPE, 0.5))):
        assert estimate_blur(*pair).settings["kernel"] == "band_limited"


@pytest.mark.slow
def test_all_tiles_use_the_kernel_of_the_whole(sharp, monkeypatch):
    """Blur is small at two borders only: the other tiles could not tell."""
    truth = np.full(SHAPE, 2.0)
    truth[:, :80] = synth.ramp((SHAPE[0], 80), 0.4, 0.8, axis=1)
    first, second = (np.concatenate([each, each[:, ::-1]], axis=1) for each in _pair(sharp, truth, "sampled"))
    truth = np.concatenate([truth, truth[:, ::-1]], axis=1)
    monkeypatch.setattr(run, "SIDES", (96, 96))
    found = estimate_blur(first, second)
    assert found.settings["tiles"] > 1
    assert found.settings["kernel"] == "sampled"
    assert float(np.nanmean(np.abs(found.sigma - truth)[:, :60])) < 0.02


@pytest.mark.parametrize("kernel", ["sampled", "band_limited"])
def test_noise_does_not_speak_for_either_kernel(kernel):
    from skimage import data

    image = data.coffee()[:200, :300] / 255
    rows, columns = np.mgrid[:200, :300]
    sigma = np.where((columns - 150) ** 2 + (rows - 100) ** 2 < 900, 1.8, 0.6)
    rng = np.random.default_rng(0)
    pair = synth.pair(image, sigma, kernel=kernel, channel_axis=-1)
    found = estimate_blur(*(view + rng.normal(0, 0.003, view.shape) for view in pair), channel_axis=-1)
    assert found.settings["kernel"] == kernel
    error = np.abs(found.variance_difference - sigma**2)
    assert (error > 3 * found.variance_stderr)[found.flags == 0].mean() < 0.02
