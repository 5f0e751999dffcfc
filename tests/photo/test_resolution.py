"""``--decimate auto``: the blur found decides, and the choice is stated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relblur import prepare_pair, synth
from relblur.photo import pipeline, resolution
from relblur.photo.photograph import read_light_pair
from relblur.photo.resolution import choose_resolution, largest_blur, resolution_for
from relblur.photo.rough_blur import RoughBlur


def _pair(image, blur_px):
    return [np.rint(i * 255).astype(np.uint8) for i in (image, synth.blur_with_map(image, blur_px))]


def choose(first, second, limit=5.0, valid=None, align=None):
    pair = replace(read_light_pair(first, second, gamma=1), valid=valid)
    return choose_resolution(pair, limit, RoughBlur(), align)


@pytest.fixture(scope="module")
def photograph():
    from skimage import data

    return data.brick() / 255.0 * 0.98


def test_small_pictures_with_small_blur_stay_as_they_are(photograph):
    choice = choose(*_pair(photograph[:200, :240], 1.5))
    assert choice.factor == 1
    assert choice.largest_blur_px == pytest.approx(1.5, rel=0.15)
    assert "kept at full resolution: largest blur about 1." in choice.describe()


@pytest.mark.slow
def test_blur_beyond_the_limit_is_brought_below_it(photograph):
    pair = _pair(photograph, 7.0)
    choice = choose(*pair)
    assert choice.factor == 2
    assert choice.largest_blur_px == pytest.approx(7.0, rel=0.15)
    assert "decimated by 2: largest blur about" in choice.describe()
    assert choose(*pair, 10.0).factor == 1


@pytest.mark.slow
@pytest.mark.parametrize(("blur_px", "factor"), [(3.5, 3), (1.6, 1), (4.6, 4)])
def test_large_pictures_are_reduced_but_not_their_blur_below_one_pixel(photograph, blur_px, factor, monkeypatch):
    monkeypatch.setattr(resolution, "ENOUGH_PIXELS", photograph.size / 16)
    choice = choose(*_pair(photograph, blur_px))
    assert choice.factor == factor
    assert choice.largest_blur_px / factor >= 1


def test_colour_clipped_and_invalid_pixels_do_not_mislead(photograph):
    pair = [np.stack([i] * 3, axis=2) for i in _pair(photograph[:256, :256], 2.0)]
    pair[1][40:80, 40:80] = 255
    pair[0][120:150, 10:200] = 7
    valid = np.ones((256, 256), bool)
    valid[115:155] = False
    choice = choose(*pair, valid=valid)
    assert choice.largest_blur_px == pytest.approx(2.0, rel=0.1)


@pytest.mark.slow
def test_a_gross_difference_in_exposure_is_not_taken_for_blur(photograph):
    first, second = (image / 255 for image in _pair(photograph, 4.0))
    equal, unequal = (choose(first, gain * second, align="off") for gain in (1.0, 2.2))
    assert unequal.factor == equal.factor
    assert unequal.largest_blur_px == pytest.approx(equal.largest_blur_px, rel=0.15)


def test_without_texture_the_size_decides(monkeypatch):
    flat = np.full((300, 300), 100, np.uint8)
    assert choose(flat, flat).factor == 1
    monkeypatch.setattr(resolution, "ENOUGH_PIXELS", 30_000)
    choice = choose(flat, flat)
    assert choice.factor == 2
    assert choice.largest_blur_px is None
    assert "unknown" in choice.describe()


@pytest.mark.parametrize("shape", [(2, 2), (3, 500), (8, 8)])
def test_tiny_pictures_are_left_alone(shape):
    image = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    assert choose(image, image).factor == 1


@pytest.mark.parametrize(
    ("shape", "blur", "limit", "factor", "reason"),
    [
        ((1000, 1000), 3.0, 5.0, 2, "still 1.5 px on fewer pixels"),
        ((700, 700), 3.0, 5.0, 1, "and the picture is small"),
        ((1000, 1000), 1.9, 5.0, 1, "which fewer pixels would make too small"),
        ((1000, 1000), 2.0, 5.0, 2, "still 1.0 px on fewer pixels"),
        ((3000, 3000), 3.5, 5.0, 3, "still 1.2 px on fewer pixels"),
        ((3000, 3000), 9.0, 5.0, 5, "still 1.8 px on fewer pixels"),
        ((700, 700), 10.0, 5.0, 2, "to be reduced below 5 px"),
        ((700, 700), 10.1, 5.0, 3, "to be reduced below 5 px"),
        ((130, 700), 90.0, 5.0, 2, "to be reduced below 5 px"),  # 64 pixels a side are left
        ((127, 700), 90.0, 5.0, 1, "and the picture is small"),
        ((1000, 1000), None, 5.0, 2, "reduced for its size"),
        ((700, 700), None, 5.0, 1, "no texture to measure it"),
    ],
)
def test_size_and_blur_together_decide(shape, blur, limit, factor, reason):
    assert resolution_for(shape, blur, limit) == resolution.Resolution(factor, blur, reason)


def test_a_search_without_an_end_never_decimates():
    choice = resolution_for((3000, 4000), np.inf, 5.0)
    assert (choice.factor, choice.largest_blur_px) == (1, None)
    assert "the search for it ended; state a factor" in choice.describe()


@pytest.mark.slow
def test_motion_is_not_taken_for_blur(photograph, monkeypatch):
    """Focus breathing by 2 %: blur of 3.5 px in a frame that moved by up to 7 px."""
    from scipy import ndimage

    for module in (pipeline, resolution):
        monkeypatch.setattr(module, "ENOUGH_PIXELS", photograph.size / 16)
    first, second = photograph, synth.blur_with_map(photograph, 3.5)
    middle = (np.array(first.shape) - 1) / 2
    grown = ndimage.affine_transform(second, np.eye(2) * 0.98, 0.02 * middle, order=3, mode="mirror")
    still, moved = (prepare_pair(first, image) for image in (second, grown))
    assert moved.factor == still.factor == 3
    blur = choose(first, grown, align="auto").largest_blur_px
    assert blur == pytest.approx(3.5, rel=0.15)


def test_the_largest_blur_is_that_of_one_pixel_in_twenty(photograph):
    """Blur of 3 px on some of the columns: counted from 5 % on."""
    for columns, large in ((32, True), (4, False)):
        field = np.full((256, 256), 1.0)
        field[:, -columns:] = 3.0
        pair = [photograph[:256, :256], synth.blur_with_map(photograph[:256, :256], field)]
        assert (largest_blur(*pair, np.ones((256, 256), bool)) > 2) == large
