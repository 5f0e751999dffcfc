"""Swapped files: warnings from names, apertures and impossible distances, and none without reason."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import Camera, ComparablePair, DepthMap, Flag
from relblur.depth.defocus import defocused_pair
from relblur.depth.order import depth_order_warnings, file_order_warnings, image_order_warnings

FOCUS = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
TURNED = Camera(coc_constant_px_m=14, focus_first_m=2, focus_second_m=1)
APERTURE = Camera(coc_constant_px_m=(24, 8), focus_first_m=1.6, focus_second_m=1.6)


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ("near.png", "far.png", FOCUS),
        ("far.png", "near.png", TURNED),
        ("IMG_1_Background.jpg", "img_1_foreground.jpg", TURNED),
        ("a.png", "b.png", None),
        ("faraway.png", "nearly.png", None),  # other words
        ("near_far.png", "far_near.png", None),
        ("far1.png", "far2.png", None),
    ],
)
def test_names_that_contradict_the_camera_are_doubted(tmp_path, first, second, order):
    files = (tmp_path / "nearby" / first, tmp_path / second)  # folders do not count
    for camera in (FOCUS, TURNED):
        assert bool(file_order_warnings(files, camera)) == (order not in (None, camera))
    assert file_order_warnings(files, APERTURE) == []


def test_the_larger_aperture_cannot_be_the_sharper(texture):
    pair = ComparablePair(*defocused_pair(texture, 2.4, APERTURE))
    assert image_order_warnings(pair, APERTURE) == []
    swapped = ComparablePair(pair.second, pair.first)
    assert "first image is the sharper" in image_order_warnings(swapped, APERTURE)[0]
    assert image_order_warnings(swapped, FOCUS) == []  # of two focus settings either may be


@pytest.mark.parametrize("camera", [FOCUS, APERTURE])
def test_many_impossible_distances_are_doubted(camera):
    shape = (4, 5)
    beyond = DepthMap(np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, int(Flag.OUT_OF_RANGE)), camera)
    (said,) = depth_order_warnings(beyond)
    assert said.startswith("100% of the pixels")
    assert camera.describe() in said
    endless = DepthMap(np.full(shape, 1e9), np.ones(shape), np.full(shape, int(Flag.AT_LIMIT)), camera)
    assert len(depth_order_warnings(endless)) == 1
    assert depth_order_warnings(DepthMap(np.ones(shape), np.ones(shape), np.zeros(shape), camera)) == []
