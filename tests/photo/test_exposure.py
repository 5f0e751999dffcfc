"""Exposure: gain and offset are found in spite of blur, equal ones are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import estimate_blur, match_exposure, synth
from relblur.photo.exposure import Exposure

SHAPE = (200, 240)


@pytest.fixture(scope="module")
def scene():
    """Texture of all scales in light: mostly dark, some bright."""
    from scipy import ndimage

    rng = np.random.default_rng(7)
    texture = sum(w * ndimage.gaussian_filter(rng.normal(size=SHAPE), w) for w in (1.0, 2.0, 5.0, 20.0))
    return 0.05 + 0.5 / (1 + np.exp(-1.5 * texture / texture.std()))


def pair_of(scene, blur, gain=1.0, offset=0.0, noise=0.003, seed=0):
    first, second = synth.pair(scene, synth.ramp(scene.shape[:2], *blur), channel_axis=-1 if scene.ndim == 3 else None)
    rng = np.random.default_rng(seed)
    second = gain * second + offset
    return first + rng.normal(0, noise, first.shape), second + rng.normal(0, noise, first.shape)


@pytest.mark.slow
@pytest.mark.parametrize("blur", [(1, 2), (-2, 2), (3, 1)], ids=str)
@pytest.mark.parametrize(("gain", "offset"), [(1.1, 0.0), (0.9, 0.01), (1.02, -0.005)])
def test_gain_and_offset_are_found_in_spite_of_blur(scene, blur, gain, offset):
    first, second = pair_of(scene, blur, gain, offset)
    match = match_exposure(first, second)
    assert match.exposure.changes
    assert match.exposure.gain[0] == pytest.approx(1 / gain, rel=0.004)
    assert match.exposure.offset[0] == pytest.approx(-offset / gain, abs=0.001)
    assert_array_equal(match.first, first)
    assert_allclose(match.second, match.exposure.gain[0] * second + match.exposure.offset[0], rtol=1e-12)
    assert "second multiplied by" in match.exposure.describe()


def test_noise_in_flat_areas_does_not_count_for_no_blur():
    """Coins on a cloth: between them noise alone is left, which looks equally sharp in both."""
    from skimage import data

    first, second = pair_of(0.85 * (data.coins() / 255.0) ** 2.2, (2, 2), 1.08, 0.01)
    assert match_exposure(first, second).exposure.gain[0] == pytest.approx(1 / 1.08, rel=0.001)


@pytest.mark.slow
def test_ten_percent_of_gain_do_not_become_blur(scene):
    first, second = pair_of(scene, (1, 2), 1.1)
    truth = synth.ramp(SHAPE, 1, 2)
    error = {
        name: np.nanmean(np.abs(estimate_blur(first, other, noise=0.003).sigma / truth - 1))
        for name, other in (("raw", second), ("matched", match_exposure(first, second).second))
    }
    assert error["matched"] < 0.01
    assert error["raw"] > 5 * error["matched"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("blur", [(1, 2), (-2, 2)], ids=str)
def test_equal_exposures_are_left_alone(scene, blur, seed):
    first, second = pair_of(scene, blur, seed=seed)
    match = match_exposure(first, second)
    assert not match.exposure.changes
    assert_array_equal(match.second, second)
    assert "exposures equal" in match.exposure.describe()


def test_every_channel_has_its_own(scene):
    colour = scene[:, :, None] * np.array([1.0, 0.8, 0.5])
    gains, offsets = np.array([1.1, 0.95, 1.0]), np.array([0.0, 0.01, -0.01])
    first, second = pair_of(colour, (1, 2), gains, offsets)
    match = match_exposure(first, second, channel_axis=-1)
    assert_allclose(match.exposure.gain, 1 / gains, rtol=0.004)
    assert_allclose(match.exposure.offset, -offsets / gains, atol=0.001)
    leading = match_exposure(np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0), channel_axis=0)
    assert_allclose(leading.second, match.second)


def test_an_object_that_moved_does_not_disturb(scene):
    first, second = pair_of(scene, (1, 2), 1.08)
    second = second.copy()
    second[60:100, 80:130] = 0.5
    assert match_exposure(first, second).exposure.gain[0] == pytest.approx(1 / 1.08, rel=0.01)


def test_a_field_follows_vignetting(scene):
    y, x = np.mgrid[-1 : 1 : SHAPE[0] * 1j, -1 : 1 : SHAPE[1] * 1j]
    fall_off = 1 - 0.12 * (x**2 + y**2) / 2 + 0.02 * x
    first, second = pair_of(scene, (1, 2))
    second = second * fall_off
    plain, field, asked_for_by_the_pair = (match_exposure(first, second, field=f) for f in (False, True, None))
    assert_array_equal(asked_for_by_the_pair.second, field.second)
    want = pair_of(scene, (1, 2))[1]
    left = {name: np.abs(m.second / want - 1).mean() for name, m in (("plain", plain), ("field", field))}
    assert left["field"] < 0.006
    assert left["field"] < left["plain"] / 3
    assert "smooth gain field" in field.exposure.describe()


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("blur", [(1, 2), (-2, 3)], ids=str)
def test_no_field_is_taken_where_there_is_none(scene, blur, noise):
    first, second = pair_of(scene, blur, 1.08)
    rng = np.random.default_rng(0)
    first, second = (image + rng.normal(0, noise, SHAPE) for image in (first, second))
    assert match_exposure(first, second).exposure.field is None
    second[20:90, 20:110] *= 1.3  # a lamp went on over a part of it
    assert match_exposure(first, second).exposure.field is None
    small = match_exposure(first[:30, :40], second[:30, :40])
    assert small.exposure.field is None


@pytest.mark.slow
def test_standard_errors_cover_the_truth(scene):
    off = []
    for seed in range(8):
        first, second = pair_of(scene, (-2, 2), 1.05, noise=0.01, seed=seed)
        found = match_exposure(first, second).exposure
        off.append((found.gain[0] * 1.05 - 1) / found.gain_stderr[0])
    assert np.sqrt(np.mean(np.square(off))) < 3


def test_clipped_and_invalid_pixels_do_not_count(scene):
    first, second = (synth.degrade(image, bits=8) for image in pair_of(scene, (1, 2), 1.05))
    second = second.copy()
    second[:60] = 255
    assert match_exposure(first, second).exposure.gain[0] == pytest.approx(1 / 1.05, rel=0.01)
    valid = np.ones(SHAPE, bool)
    valid[:60] = False
    second[:60] = 254
    assert match_exposure(first, second, valid=valid).exposure.gain[0] == pytest.approx(1 / 1.05, rel=0.01)


@pytest.mark.parametrize("shape", [(2, 2), (3, 50), (20, 20)])
def test_small_and_flat_images_are_left_alone(shape):
    flat = np.full(shape, 0.4)
    match = match_exposure(flat, flat.copy())
    assert_array_equal(match.second, flat)


def test_an_exposure_in_words():
    zero = np.zeros(2)
    found = Exposure(np.array([1.25, 0.5]), np.array([0.01, -0.002]), zero, zero, None, True)
    assert found.describe() == "second multiplied by 1.2500/0.5000, offset +0.0100/-0.0020"
    vignetting = Exposure(np.ones(2), zero, zero, zero, np.zeros((2, 5)), True)
    assert vignetting.describe() == (
        "second multiplied by 1.0000/1.0000, offset +0.0000/+0.0000, with a smooth gain field"
    )
    for gain, error, said in ((0.97, 0.01, "3.00%"), (1.001, 0.02, "2.00%"), (1.04, 0.02, "4.00%")):
        equal = Exposure(np.array([1.0, gain]), zero, np.array([0.0, error]), zero, None, False)
        assert equal.describe() == f"exposures equal (gain 1 within {said})"
