"""What the refined estimator promises beyond the oracles that every method meets (test_estimate.py)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import Flag, estimate_blur, synth
from relblur.blur.dense.noise import PairNoise
from relblur.blur.dense.planes import colour_directions, in_colours
from relblur.blur.dense.residuals import blur, build_residuals
from relblur.field import AsinhAxis, Loops, Volume, surface
from relblur.field.energy import Energy
from relblur.filters.kernels import SOFTENING, STEP


@pytest.fixture(scope="module")
def brick():
    from skimage import data

    return data.brick()[:160, :176] / 255.0


@pytest.fixture(scope="module")
def stepped(brick):
    """A pair with a jump from 1 to 2 px in the middle, rounded to 8 bits, and its truth."""
    truth = synth.steps(brick.shape, (1.0, 2.0), 88)
    return brick, synth.degrade(synth.blur_with_map(brick, truth), bits=8) / 255.0, truth


def _relative_error(found, truth):
    return np.abs(found.sigma - truth) / truth


@pytest.mark.parametrize("axis", [0, 1])
def test_a_float_ramp_is_found_to_a_few_parts_in_ten_thousand(brick, axis):
    truth = synth.ramp(brick.shape, 1, 2, axis)
    found = estimate_blur(brick, synth.blur_with_map(brick, truth), sharper="first")
    assert np.isfinite(found.sigma).all()
    assert _relative_error(found, truth).mean() < 5e-4


def test_a_jump_stays_where_it_is(stepped):
    first, second, truth = stepped
    found = estimate_blur(first, second, sharper="first")
    assert _relative_error(found, truth).mean() < 0.01
    assert np.abs(found.sigma[:, 84:87] - 1.0).mean() < 0.1
    assert np.abs(found.sigma[:, 89:92] - 2.0).mean() < 0.1


@pytest.mark.parametrize("noise", [0.005, 0.01])
def test_a_ramp_is_continued_through_a_flat_noisy_area(brick, noise):
    sharp = np.array(brick)
    sharp[:80] = 0.4  # a clear sky over the upper half
    truth = synth.ramp(brick.shape, 1, 3)
    rng = np.random.default_rng(8)
    pair = [synth.degrade(image, noise=noise, rng=rng) for image in (sharp, synth.blur_with_map(sharp, truth))]
    found = estimate_blur(*pair, sharper="first")
    assert _relative_error(found, truth)[:80].mean() < 0.08
    assert ((found.flags & Flag.FILLED) != 0)[:60].mean() > 0.9


@pytest.mark.parametrize("s", [-0.1, -0.03, 0.0, 0.03, 0.5])
def test_noise_does_not_look_like_blur(brick, s):
    """Noise is in the residual and in its slope by s: at the true s their product must be zero in the mean."""
    rng = np.random.default_rng(0)
    sharp = brick.astype(np.float32)
    blurred = blur(sharp, abs(s), "band_limited")
    pair = (sharp, blurred) if s > 0 else (blurred, sharp)
    first, second = (synth.degrade(image, noise=0.01, rng=rng)[None].astype(np.float32) for image in pair)
    residuals = build_residuals(first, second, (-25.0, 25.0), "band_limited", 0.0, Loops())
    axis = AsinhAxis(float(residuals.levels[0]), SOFTENING, STEP)
    noise = PairNoise((0.01, 0.01), (1e-6, 1e-6)).of(residuals)
    energy = Energy(Volume(residuals.planes, axis, noise, (-25.0, 25.0)))
    energy.misfit = np.zeros_like(sharp)
    evidence = energy.evidence(np.full_like(sharp, s), correlated=False)
    assert abs(evidence.g.sum()) < 3 * np.sqrt(evidence.w.sum())


def test_slopes_cross_an_area_without_information(monkeypatch):
    monkeypatch.setattr(surface, "SOLVER_STEPS", 40)
    rows, columns = np.indices((65, 90), np.float32)
    plane = 0.02 * rows - 0.01 * columns
    z = np.zeros_like(plane)
    w = np.where((columns > 25) & (columns < 75), 0.0, 100.0).astype(np.float32)
    mu = np.full_like(z, 1e6)
    loops = Loops()
    variance = loops.posterior_variance(w, mu)
    slopes = surface.Slopes((65, 90), loops)
    edges = surface.link(z, slopes.pixels(), variance, mu, np.full_like(z, 1.0))
    slopes.fit(z, w, w * (plane - z), edges, variance, mu)
    assert_allclose(slopes.pixels()[0], 0.02, atol=0.0015)
    assert_allclose(slopes.pixels()[1], -0.01, atol=0.0015)


def test_clipped_highlights_are_filled_and_flagged(brick):
    bright = np.array(brick)
    bright[60:80, 60:90] = 1.4  # far beyond full scale: the sensor clips what the blur has spread
    pair = [synth.degrade(image, bits=8) for image in (bright, synth.blur_with_map(bright, 2.0))]
    found = estimate_blur(*pair, sharper="first")
    assert ((found.flags[62:78, 62:88] & (Flag.FILLED | Flag.CLIPPED)) == (Flag.FILLED | Flag.CLIPPED)).all()
    assert np.isfinite(found.sigma).all()
    assert_allclose(np.median(found.sigma[52:88, 52:98]), 2.0, rtol=0.05)


@pytest.mark.parametrize("method", ["window", "refined"])
def test_unrelated_pictures_are_flagged(method):
    from skimage import data

    flagged = []
    for at in (0, 96, 192):
        first, second = data.gravel()[at : at + 96, :96] / 255.0, data.grass()[:96, at : at + 96] / 255.0
        flagged.append((estimate_blur(first, second, method=method).flags != 0).mean())
    assert np.mean(flagged) > 0.9


def test_leading_colours_keep_what_differs_between_channels():
    rng = np.random.default_rng(6)
    grey = rng.random((1, 40, 40), dtype=np.float32)
    same = np.concatenate([grey, grey, grey])
    assert len(colour_directions([(same, same)])) == 1
    independent = rng.random((3, 40, 40), dtype=np.float32)
    rotated = in_colours(independent, colour_directions([(independent, independent)]))
    assert rotated.shape[0] == 3
    assert_allclose(np.square(rotated).sum(), np.square(independent).sum(), rtol=1e-4)


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (3, 50), (5, 7)])
def test_the_smallest_pictures_have_an_answer(shape):
    image = np.random.default_rng(10).random(shape)
    found = estimate_blur(image, 0.9 * image, window=min(shape) - 1 + min(shape) % 2)
    assert np.isfinite(found.variance_difference).all()


def test_a_wave_is_followed_by_a_map_that_starts_right():
    """Scores that a wrong map makes alike are no correlation of the data: they must not be divided away."""
    from skimage import data

    image = data.brick()[:150, :190] / 255
    sigma = 2 * np.sin(np.mgrid[:150, :190][0] / 25)
    rng = np.random.default_rng(0)
    pair = [view + rng.normal(0, 0.005, view.shape) for view in synth.pair(image, sigma)]
    found = estimate_blur(*pair)
    error = np.abs(found.variance_difference - np.sign(sigma) * sigma**2)
    assert (error > 3 * found.variance_stderr).mean() < 0.03
    assert error[30:45].mean() < 0.4  # of 3.9 at the crest
