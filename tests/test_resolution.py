"""``--decimate auto``: the blur found decides, and the choice is stated."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import resolution, synth
from relblur.resolution import choose_resolution


def _pair(image, blur_px):
    return [np.rint(i * 255).astype(np.uint8) for i in (image, synth.blur_with_map(image, blur_px))]


@pytest.fixture(scope="module")
def photograph():
    from skimage import data

    return data.brick() / 255.0 * 0.98


def test_small_pictures_with_small_blur_stay_as_they_are(photograph):
    choice = choose_resolution(*_pair(photograph[:200, :240], 1.5), 5.0)
    assert choice.factor == 1
    assert choice.largest_blur_px == pytest.approx(1.5, rel=0.15)
    assert "kept at full resolution: largest blur about 1." in choice.describe()


def test_blur_beyond_the_limit_is_brought_below_it(photograph):
    pair = _pair(photograph, 7.0)
    choice = choose_resolution(*pair, 5.0)
    assert choice.factor == 2
    assert choice.largest_blur_px == pytest.approx(7.0, rel=0.15)
    assert "decimated by 2: largest blur about" in choice.describe()
    assert choose_resolution(*pair, 10.0).factor == 1


@pytest.mark.parametrize(("blur_px", "factor"), [(3.5, 3), (1.6, 1), (4.6, 4)])
def test_large_pictures_are_reduced_but_not_their_blur_below_one_pixel(photograph, blur_px, factor, monkeypatch):
    monkeypatch.setattr(resolution, "ENOUGH_PIXELS", photograph.size / 16)
    choice = choose_resolution(*_pair(photograph, blur_px), 5.0)
    assert choice.factor == factor
    assert choice.largest_blur_px / factor >= 1


def test_colour_clipped_and_invalid_pixels_do_not_mislead(photograph):
    pair = [np.stack([i] * 3, axis=2) for i in _pair(photograph[:256, :256], 2.0)]
    pair[1][40:80, 40:80] = 255
    pair[0][120:150, 10:200] = 7
    valid = np.ones((256, 256), bool)
    valid[115:155] = False
    choice = choose_resolution(*pair, 5.0, valid)
    assert choice.largest_blur_px == pytest.approx(2.0, rel=0.1)


def test_a_gross_difference_in_exposure_is_not_taken_for_blur(photograph):
    first, second = (image / 255 for image in _pair(photograph, 4.0))
    equal, unequal = (choose_resolution(first, gain * second, 5.0) for gain in (1.0, 2.2))
    assert unequal.factor == equal.factor
    assert unequal.largest_blur_px == pytest.approx(equal.largest_blur_px, rel=0.15)


def test_single_precision_light_gives_the_same_choice(photograph):
    pair = _pair(photograph, 4.0)
    light = [(image / 255).astype(np.float32) for image in pair]
    whole, single = choose_resolution(*pair, 5.0), choose_resolution(*light, 5.0)
    assert single.factor == whole.factor
    assert single.largest_blur_px == pytest.approx(whole.largest_blur_px, rel=0.02)


def test_without_texture_the_size_decides(monkeypatch):
    flat = np.full((300, 300), 100, np.uint8)
    assert choose_resolution(flat, flat, 5.0).factor == 1
    monkeypatch.setattr(resolution, "ENOUGH_PIXELS", 30_000)
    choice = choose_resolution(flat, flat, 5.0)
    assert choice.factor == 2
    assert choice.largest_blur_px is None
    assert "unknown" in choice.describe()


@pytest.mark.parametrize("shape", [(2, 2), (3, 500), (8, 8), (1, 1)])
def test_tiny_pictures_are_left_alone(shape):
    image = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    assert choose_resolution(image, image, 5.0).factor == 1
