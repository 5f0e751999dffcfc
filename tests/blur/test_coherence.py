"""Evidence only from what both images show: shares, what is filled without any, and a wall beside a texture."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import estimate_blur, synth
from relblur.blur.dense.coherence import Coherence
from relblur.blur.dense.planes import prepare
from relblur.field import Loops


def planes(*images):
    """Images as the estimator sees them."""
    pair = prepare(*images, None)
    return pair.first, pair.second


def coherence(*images):
    return Coherence(*planes(*images), Loops())


def noise(shape, level=1.0, seed=0, blur=0.0):
    found = np.random.default_rng(seed).normal(0, level, shape)
    return synth.blur_with_map(found, blur) if blur else found


@pytest.fixture(scope="module")
def brick():
    from skimage import data

    return data.brick()[:192, :288] / 255.0


@pytest.mark.parametrize("blur", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("times", [1.0, 3.0])
def test_independent_noise_shares_nothing_whatever_its_spectrum_and_level(blur, times):
    one, two = noise((120, 160), 1.0, 0, blur), times * noise((120, 160), 1.0, 1, blur)
    shares = coherence(one, two).shares
    assert shares.mean() < 0.004
    assert (shares > 0.3).mean() < 0.003


def test_one_texture_is_shared_up_to_the_blur_that_removed_it(brick):
    shared = coherence(brick, synth.blur_with_map(brick, 1.5))
    assert np.median(shared.at(np.full(brick.shape, 2.25, np.float32))) > 0.8
    same = coherence(brick, brick).shares
    assert np.median(same) > 0.99


def test_two_images_blurred_alike_are_told_from_others_by_the_bands_that_have_texture():
    """Halfway between two focal planes the finest detail is noise; what is left of the texture still tells."""
    texture = noise((120, 160), 1.0, 0, 4.0)
    texture /= texture.std()
    one, two = (texture + noise(texture.shape, 0.02, seed) for seed in (1, 2))
    shared = coherence(one, two)
    assert shared.shares[0].mean() < 0.4
    assert shared.at(np.zeros(texture.shape, np.float32)).mean() > 0.42
    assert shared.of_step(0.0, 0.0).mean() > 0.42


def test_what_compression_leaves_alike_in_both_is_no_texture(brick):
    """Blocks of 8 x 8 pixels in both images, fainter than the noise that compression is known to add."""
    shape = (128, 160)
    blocks = np.kron(noise((16, 20), 0.004), np.ones((8, 8)))
    alike = (0.5 + blocks + noise(shape, 1e-4, 1), 0.5 + blocks + noise(shape, 1e-4, 2))
    images = [np.asarray(image[None], np.float32) for image in alike]
    assert np.median(Coherence(*images, Loops()).shares) > 0.8
    known = np.full(shape, 0.01**2, np.float32)
    assert np.median(Coherence(*images, Loops(), known).shares) < 0.2
    texture = [np.asarray(image[None], np.float32) for image in (brick, synth.blur_with_map(brick, 1.0))]
    kept = Coherence(*texture, Loops(), np.full(brick.shape, 0.01**2, np.float32)).shares[2:]
    assert np.median(kept) > 0.8


def test_a_slope_is_no_texture_at_the_border_either():
    slope = np.linspace(0, 1, 160)[None] + np.linspace(0, 0.5, 120)[:, None]
    one, two = slope + noise((120, 160), 0.003, 0), slope + noise((120, 160), 0.003, 1)
    assert coherence(one, two).shares.mean() < 0.004


def test_what_an_outline_tells_is_located_on_it():
    step = np.zeros((80, 120))
    step[:, 60:] = 1
    shared = coherence(step, synth.blur_with_map(step, 3.0))
    located = shared.local_support(np.full(step.shape, 9.0, np.float32))
    assert located[40, 60] == 1
    assert located[40, 66] < 0.01
    assert located[40, 52] < 0.01


KINDS = {
    "white": (0.005, 0.005, 0.0, 1.0),
    "correlated": (0.005, 0.005, 0.7, 1.0),
    "second noisier": (0.005, 0.0065, 0.0, 1.0),
    "first noisier": (0.0065, 0.005, 0.0, 1.0),
    "gain": (0.005, 0.005, 0.0, 1.01),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_wall_beside_a_texture_claims_nothing_that_it_does_not_know(brick, kind):
    first_level, second_level, blur, gain = KINDS[kind]
    scene = brick.copy()
    scene[:, 120:] = 0.5
    first = scene + noise(scene.shape, first_level, 0, blur)
    second = (synth.blur_with_map(scene, 2.0) + noise(scene.shape, second_level, 1, blur)) * gain
    found = estimate_blur(first, second)
    wall = (slice(20, -20), slice(160, 270))
    sigma, stderr = found.sigma[wall], found.sigma_stderr[wall]
    assert (np.abs(sigma - 2) <= 2 * stderr).mean() >= 0.95
    assert np.median(stderr) > 1  # nothing is known, and the error bar says so
    assert np.abs(np.diff(sigma, axis=1)).mean() < 0.05
    assert (found.flags[wall] != 0).mean() > 0.98
    assert np.median(found.sigma[:, 20:100]) == pytest.approx(2, rel=0.01)
