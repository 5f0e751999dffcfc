"""Where the data say little: what the refined estimator makes of noise, and of areas that show nothing else."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import Flag, NoiseModel, estimate_blur, synth
from relblur.blur.dense.coherence import Coherence
from relblur.blur.dense.noise import GivenNoise, PairNoise, estimate_noise
from relblur.blur.dense.planes import prepare
from relblur.blur.dense.residuals import build_residuals
from relblur.field import AsinhAxis, Loops, Volume
from relblur.field.energy import Energy
from relblur.field.start import _costs
from relblur.filters.kernels import SOFTENING, STEP


@pytest.fixture(scope="module")
def brick():
    from skimage import data

    return data.brick()[:192, :192] / 255.0


def _noisy(images, noise, seed=0):
    rng = np.random.default_rng(seed)
    return [synth.degrade(image, noise=n, rng=rng) for image, n in zip(images, noise, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("noise", [(0.002, 0.01), (0.01, 0.002)])
@pytest.mark.parametrize("sharper", ["first", "auto"])
def test_either_image_may_be_the_noisier(brick, noise, sharper):
    truth = synth.ramp(brick.shape, 1, 2)
    pair = _noisy((brick, synth.blur_with_map(brick, truth)), noise)
    found = estimate_blur(*pair, sharper=sharper)
    assert (np.abs(found.sigma - truth) / truth).mean() < 0.03
    assert_allclose(found.settings["noise"], noise, rtol=0.5, atol=0.001)


def _estimated_noise(first, second, signed):
    pair, loops = prepare(first, second, None), Loops()
    made = ((-9.0 if signed else 0.0, 9.0), "band_limited", 0.0, loops)
    residuals = build_residuals(pair.first, pair.second, *made)
    residual = float(np.median(loops.best_fit(residuals.planes, residuals.gain.relative))) / residuals.gain.q0
    found = estimate_noise([pair], residual, GivenNoise(), lambda: [residuals])
    return np.array(found.sensor) * pair.unit


@pytest.mark.slow
@pytest.mark.parametrize("noise", [(0.01, 0.002), (0.002, 0.01)])
def test_one_model_is_that_of_the_less_noisy_image(brick, noise):
    """What `relblur estimate` does: it finds the noise of one camera, and one image may have more all the same."""
    truth = synth.ramp(brick.shape, 1.0, 2.0)
    pair = _noisy((brick, synth.blur_with_map(brick, truth)), noise)
    found = estimate_blur(*pair, noise=NoiseModel(min(noise)))
    assert_allclose(found.settings["noise"], noise, rtol=0.2)
    assert np.mean(np.abs(found.sigma / truth - 1)) < 0.01
    stated = estimate_blur(*pair, noise=(NoiseModel(0.004), NoiseModel(0.004)))
    assert_allclose(stated.settings["noise"], 0.004, rtol=1e-5)


@pytest.mark.parametrize("signed", [False, True])
def test_grain_of_the_scene_is_not_noise_of_one_image(brick, signed):
    grainy = brick + np.random.default_rng(3).normal(0, 0.01, brick.shape)
    found = _estimated_noise(grainy, synth.blur_with_map(grainy, 1.5), signed)
    assert found.max() < 0.001


def test_a_wavy_map_does_not_overshoot_where_nothing_is_seen(brick):
    sharp = np.array(brick)
    sharp[:64] = 0.4
    truth = synth.sinusoid(brick.shape, 2.0, 0.6, 96.0)
    pair = _noisy((sharp, synth.blur_with_map(sharp, truth)), (0.005, 0.005))
    found = estimate_blur(*pair, sharper="first")
    sigma = found.sigma
    assert (np.abs(sigma - truth) / truth)[80:].mean() < 0.06
    # The flat third repeats its lower border, within the range of the wave, and its error bars say so.
    assert sigma[:64].min() > 0.8
    assert sigma[:64].max() < 3
    assert_allclose(np.median(sigma[:64]), 2.0, atol=0.25)
    assert (np.abs(sigma - truth) <= 2 * found.sigma_stderr)[:64].all()
    assert (found.flags[:56] & Flag.FILLED).all()


def test_noise_alone_does_not_choose_a_level(brick):
    """The costs of the levels must not differ where the pair shows noise only, and must where there is texture."""
    sharp = np.array(brick)
    sharp[:, :96] = 0.4
    first, second = _noisy((sharp, synth.blur_with_map(sharp, 2.0)), (0.01, 0.01))
    pair = prepare(first, second, None)
    residuals = build_residuals(pair.first, pair.second, (0.0, 25.0), "sampled", 0.0, Loops())
    sensor = 0.01 / pair.unit
    noise = PairNoise((sensor, sensor), (1e-6, 1e-6)).of(residuals)
    support = Coherence(pair.first, pair.second, Loops())
    cost = _costs(Energy(Volume(residuals.planes, AsinhAxis(0.0, SOFTENING, STEP), noise, (0.02, 25.0), 1.0, support)))
    silent, textured = cost[:, :, :36].sum(axis=(1, 2)), cost[:, :, 60:].sum(axis=(1, 2))
    assert np.ptp(silent) < 10
    assert textured[np.abs(np.sqrt(residuals.levels) - 1).argmin()] - textured.min() > 300
    assert 1.7 < np.sqrt(residuals.levels[textured.argmin()]) < 2.3


@pytest.mark.parametrize("noise", [0.003, 0.01])
def test_a_plain_area_between_two_blurs_has_no_jump(brick, noise):
    """One blur to the left, another to the right, and no word on where it changes."""
    sharp = np.array(brick)
    sharp[:, 64:128] = 0.4
    truth = np.where(np.arange(192) < 96, 1.0, 3.0) * np.ones((192, 1))
    found = estimate_blur(*_noisy((sharp, synth.blur_with_map(sharp, truth)), (noise, noise)), sharper="auto")
    # The blur of the texture to the right reaches to column 110.
    steps = np.abs(np.diff(found.sigma[:, 76:108]))
    assert steps.max(axis=1).mean() < 0.5
    assert_allclose(found.sigma[:, 8:56].mean(), 1, atol=0.05)
    assert_allclose(found.sigma[:, 136:184].mean(), 3, atol=0.1)
