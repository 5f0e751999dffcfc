"""Discs as the kernel of a pair: their transfer functions, and which pairs they are chosen for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import Camera, estimate_blur, synth
from relblur.depth.defocus import defocused_pair
from relblur.filters.discs import DiscBlur, apart_of, frequencies, gram_of_discs, transfer

CAMERA = Camera(coc_constant_px_m=22.0, focus_first_m=1.0, focus_second_m=2.0)
#: Distance between the focal planes, and the blur that it makes at either with respect to the other, px.
FLAT_M, APART = 1.2, 22.0 / 4 * 0.5


def grass():
    from skimage import data

    return data.grass()[:256, :320] / 255.0


@pytest.fixture(scope="module")
def target():
    """A flat target through a lens, both images out of focus, 8 bits."""
    return [synth.degrade(image, bits=8) for image in defocused_pair(grass(), FLAT_M, CAMERA)]


def true_variance():
    near, far = (22.0 / 4 * abs(1 / FLAT_M - 1 / focus) for focus in (1.0, 2.0))
    return far**2 - near**2


@pytest.fixture(scope="module")
def found(target):
    return estimate_blur(*target)


def impulse(size=129):
    plane = np.zeros((size, size), np.float32)
    plane[size // 2, size // 2] = 1
    return plane


@pytest.mark.parametrize(("apart", "variance"), [(0.0, 2.0), (2.0, 0.5), (2.0, 3.0), (2.0, 6.0)])
def test_a_blur_adds_its_variance(apart, variance):
    """The curvature of a transfer function at zero frequency is the variance of its kernel."""
    w, gains = frequencies(), transfer(variance, apart)
    near = slice(100, 160)
    assert_allclose(2 * (1 - gains[near]) / w[near] ** 2, variance, rtol=0.03)
    assert DiscBlur(impulse(), np.sqrt(variance)).by(variance, apart).sum() == pytest.approx(1, abs=1e-3)


def test_inner_products_are_those_of_the_kernels():
    blur = DiscBlur(impulse(), 2.0)
    kernels = [blur.by(variance, 1.5).ravel().astype(float) for variance in (1.0, 4.0)]
    gram = gram_of_discs(np.stack([transfer(variance, 1.5) for variance in (1.0, 4.0)]))
    assert_allclose(gram, np.inner(kernels, kernels), rtol=0.01)


def test_a_flat_target_through_a_lens_has_a_flat_map(found):
    apart = apart_of(found.settings["kernel"])
    assert apart == pytest.approx(APART, rel=0.15)
    inner = found.sigma[8:-8, 8:-8]
    assert np.std(inner) < 0.05
    assert np.median(found.variance_difference) == pytest.approx(true_variance(), rel=0.03)


@pytest.mark.parametrize(("noise", "bits"), [(0.003, 8), (0.01, None), (0.03, None)])
def test_gaussians_stay_gaussians(noise, bits):
    rng = np.random.default_rng(1)
    pair = synth.pair(grass(), synth.ramp((256, 320), -2, 2, axis=1))
    stored = [synth.degrade(image, noise=noise, bits=bits, rng=rng) for image in pair]
    assert apart_of(estimate_blur(*stored).settings["kernel"]) is None


def test_tiles_share_the_discs_of_their_image(target, found, monkeypatch):
    from relblur.blur.dense import run

    monkeypatch.setattr(run, "SIDES", (96, 192))
    wide = [np.concatenate([image, image[:, ::-1], image], axis=1) for image in target]
    tiles = estimate_blur(*wide)
    assert tiles.settings["tiles"] > 1
    assert apart_of(tiles.settings["kernel"]) == pytest.approx(APART, rel=0.15)
    assert np.std(tiles.sigma[8:-8, 8:-8]) < 0.05
