"""Noise: of rounding, and read and shot noise, estimated from a pair and used by the standard errors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import InputError, NoiseModel, estimate_blur, estimate_noise, synth
from relblur.blur.noise import rounding_noise

SHAPE = (220, 260)


@pytest.fixture(scope="module")
def light():
    from scipy import ndimage

    rng = np.random.default_rng(3)
    broad = ndimage.gaussian_filter(rng.normal(size=SHAPE), 25)
    fine = ndimage.gaussian_filter(rng.normal(size=SHAPE), 1.0)
    level = 0.5 / (1 + np.exp(-2 * broad / broad.std())) + 0.02
    return level * (1 + 0.25 * fine / fine.std()).clip(0.2)


def photographed(light, model, rng):
    return light + rng.normal(size=light.shape) * np.sqrt(model.variance(light))


@pytest.mark.parametrize("model", [NoiseModel(0.004), NoiseModel(0.002, 2e-4), NoiseModel(0.001, 5e-4)])
@pytest.mark.parametrize("channels", [1, 3])
def test_read_and_shot_noise_are_found(light, model, channels):
    rng = np.random.default_rng(0)
    pair = synth.pair(light, 1.5 * np.ones(SHAPE))
    noisy = [photographed(image, model, rng) for image in pair for _ in range(channels)]
    first, second = noisy[:channels], noisy[channels:]
    if channels == 1:
        found = estimate_noise(first[0], second[0])
    else:
        found = estimate_noise(np.stack(first, axis=2), np.stack(second, axis=2), channel_axis=-1)
    levels = np.array([0.05, 0.2, 0.5])
    assert_allclose(np.sqrt(found.variance(levels)), np.sqrt(model.variance(levels)), rtol=0.2)


def test_the_floor_is_kept_when_there_is_no_noise(light):
    floor = NoiseModel(0.001, 1e-5)
    flat = np.full(SHAPE, 0.3)
    found = estimate_noise(flat, flat, floor=floor)
    assert found.read == pytest.approx(0.001)
    assert found.shot == pytest.approx(1e-5)


def test_information_falls_where_light_is_noisier(light):
    """The same texture twice, dark and bright: shot noise makes the bright one tell less."""
    from relblur.blur.dense.estimate import estimate
    from relblur.blur.request import Request

    request = Request("refined", "first", np.array([5.0]), 9, "opencv", given_noise=(0.01, 0.01))
    half = 0.5 * (light[:, :130] - light[:, :130].mean())
    scene = np.hstack([half + 0.2, half[:, ::-1] + 2.0])
    first, second = synth.pair(scene, 1.5 * np.ones(scene.shape))
    relative = np.where(scene > 1, 1.8, 0.2)
    for variance, ratio in ((None, 1.0), (relative, 9.0)):
        found = estimate(first, second, replace(request, relative_variance=variance))
        dark, bright = (found.steps["information"][:, part].mean() for part in (slice(20, 110), slice(150, 240)))
        assert dark / bright == pytest.approx(ratio, rel=0.35)


def test_the_map_of_relative_variance_follows_the_light(light):
    from relblur.blur.noise import noise_at_light, smooth_light

    model = NoiseModel(0.001, 1e-4)
    image = np.repeat(light[:, :, None], 3, axis=2)
    (one, two), relative = noise_at_light(model, model, smooth_light(image, image), np.ones(SHAPE, bool))
    assert one == two == pytest.approx(np.sqrt(model.variance(light).mean()), rel=1e-2)
    assert relative.mean() == pytest.approx(1.0, rel=1e-6)
    assert np.corrcoef(relative.ravel(), light.ravel())[0, 1] > 0.8


def test_nonsense_is_refused(light):
    with pytest.raises(InputError, match="noise must be one number or two"):
        estimate_blur(light, light, noise=(NoiseModel(0.1),))
    with pytest.raises(InputError, match="noise must be"):
        estimate_blur(light, light, noise=(NoiseModel(0.1), -1.0))


# Clipped pixels of floats


@pytest.mark.slow
def test_clipped_is_flagged_as_clipped_and_reached_pixels_too(light):
    first, second = synth.pair(light, 1.5 * np.ones(SHAPE))
    clipped = np.zeros(SHAPE, bool)
    clipped[100:104, 100:104] = True
    for method in ("window", "paper"):
        found = estimate_blur(first, second, clipped=clipped, method=method, noise=1e-3)
        assert (found.flags[98:106, 98:106] & 2).all()
        assert (np.isnan(found.sigma[100:104, 100:104]) == (method == "window")).all()  # the paper's fills them
        assert not (found.flags[:80] & 2).any()
    found = estimate_blur(first, second, clipped=clipped, noise=1e-3)
    assert (found.flags[98:106, 98:106] & 2).all()
    assert np.isfinite(found.sigma).all()  # filled from around


@pytest.mark.parametrize("bits", [8, 16])
def test_stored_integers_have_the_noise_of_their_rounding(texture, bits):
    full_scale = 2**bits - 1
    stored = np.rint(texture * full_scale) / full_scale
    assert_allclose(rounding_noise(stored), (stored - texture).std(), rtol=0.03)


def test_floats_have_next_to_none_and_it_scales_with_them(texture):
    noise = rounding_noise(np.array(texture))
    assert 0 < noise < 1e-5
    assert_allclose(rounding_noise(700 * texture), 700 * noise)
