"""``--decimate auto``: the blur found decides, and the choice is stated."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from relblur import prepare_pair, synth
from relblur.photo import pipeline, resolution
from relblur.photo.photograph import read_light_pair
from relblur.photo.resolution import choose_resolution, largest_blur, resolution_for
from relblur.photo.rough_blur import RoughBlur


def blurred(image, blur_px):
    return [np.rint(i * 255).astype(np.uint8) for i in (image, synth.blur_with_map(image, blur_px))]


def choose(first, second, limit=5.0, valid=None, align=None):
    """Return the factor and the stated blur in px, None if it is unknown."""
    pair = replace(read_light_pair(first, second, gamma=1), valid=valid)
    factor, because = choose_resolution(pair, limit, RoughBlur(), align)
    assert because.startswith("kept at full resolution" if factor == 1 else f"decimated by {factor}")
    stated = re.search(r"largest blur about ([\d.]+) px", because)
    return factor, None if stated is None else float(stated[1])


@pytest.fixture(scope="module")
def photograph():
    from skimage import data

    return data.brick() / 255.0 * 0.98


@pytest.mark.parametrize(("limit", "factor"), [(5.0, 2), (10.0, 1)])
def test_blur_beyond_the_limit_is_brought_below_it(photograph, limit, factor):
    assert choose(*blurred(photograph, 7.0), limit) == (factor, pytest.approx(7.0, rel=0.15))


@pytest.mark.slow
@pytest.mark.parametrize(("blur_px", "factor"), [(3.5, 3), (1.6, 1), (4.6, 4)])
def test_large_pictures_are_reduced_but_not_their_blur_below_one_pixel(photograph, blur_px, factor, monkeypatch):
    monkeypatch.setattr(resolution, "ENOUGH_PIXELS", photograph.size / 16)
    assert choose(*blurred(photograph, blur_px)) == (factor, pytest.approx(blur_px, rel=0.15))


def test_colour_clipped_and_invalid_pixels_do_not_mislead(photograph):
    pair = [np.stack([i] * 3, axis=2) for i in blurred(photograph[:256, :256], 2.0)]
    pair[1][40:80, 40:80] = 255
    pair[0][120:150, 10:200] = 7
    valid = np.ones((256, 256), bool)
    valid[115:155] = False
    assert choose(*pair, valid=valid) == (1, pytest.approx(2.0, rel=0.12))


@pytest.mark.slow
def test_a_gross_difference_in_exposure_is_not_taken_for_blur(photograph):
    first, second = (image / 255 for image in blurred(photograph, 4.0))
    equal, unequal = (choose(first, gain * second, align="off") for gain in (1.0, 2.2))
    assert unequal == (equal[0], pytest.approx(equal[1], rel=0.15))


def test_without_texture_the_size_decides(monkeypatch):
    flat = np.full((300, 300), 100, np.uint8)
    assert choose(flat, flat) == (1, None)
    monkeypatch.setattr(resolution, "ENOUGH_PIXELS", 30_000)
    assert choose(flat, flat) == (2, None)


@pytest.mark.parametrize("shape", [(2, 2), (3, 500)])
def test_tiny_pictures_are_left_alone(shape):
    image = np.random.default_rng(0).integers(0, 255, shape, dtype=np.uint8)
    assert choose(image, image)[0] == 1


@pytest.mark.parametrize(
    ("shape", "blur", "factor", "stated"),
    [
        ((1000, 1000), 3.0, 2, "decimated by 2: largest blur about 3.0 px"),
        ((700, 700), 3.0, 1, "kept at full resolution: largest blur about 3.0 px"),
        ((1000, 1000), 1.9, 1, "kept"),  # fewer pixels would make it too small
        ((1000, 1000), 2.0, 2, "decimated"),
        ((3000, 3000), 3.5, 3, "decimated"),
        ((3000, 3000), 9.0, 5, "decimated"),
        ((700, 700), 10.0, 2, "decimated"),
        ((700, 700), 10.1, 3, "decimated"),
        ((130, 700), 90.0, 2, "decimated"),  # 64 pixels a side are left
        ((127, 700), 90.0, 1, "kept"),
        ((1000, 1000), None, 2, "decimated by 2: largest blur unknown, no texture to measure it"),
        ((3000, 4000), np.inf, 1, "kept at full resolution: largest blur unknown, beyond the end of the search; give"),
    ],
)
def test_size_and_blur_together_decide(shape, blur, factor, stated):
    found, because = resolution_for(shape, blur, 5.0)
    assert found == factor
    assert because.startswith(stated)


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
    assert choose(first, grown, align="auto") == (3, pytest.approx(3.5, rel=0.15))


def test_the_largest_blur_is_that_of_one_pixel_in_twenty(photograph):
    """Blur of 3 px on some of the columns: counted from 5 % on."""
    for columns, large in ((32, True), (4, False)):
        field = np.full((256, 256), 1.0)
        field[:, -columns:] = 3.0
        pair = [photograph[:256, :256], synth.blur_with_map(photograph[:256, :256], field)]
        assert (largest_blur(*pair, np.ones((256, 256), bool)) > 2) == large
