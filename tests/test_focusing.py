"""All-in-focus images and refocusing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import BlurMap, Camera, DepthMap, InputError, all_in_focus, depth_to_blur, refocus
from relblur.defocus import defocused_pair

CAMERA = Camera(coc_constant_px_m=16, focus_first_m=1, focus_second_m=2)


def maps(depth, stderr=0.01):
    s = depth_to_blur(depth, CAMERA)
    zero = np.zeros(s.shape, np.uint8)
    blur = BlurMap(s, np.full(s.shape, stderr), zero, np.sign(np.nan_to_num(s)).astype(np.int8))
    return blur, DepthMap(depth, np.full(s.shape, 0.01), zero, CAMERA)


@pytest.fixture(scope="module")
def scene(texture):
    depth = np.where(np.arange(texture.shape[1]) < 56, 1.0, 2.0) * np.ones(texture.shape)
    return depth, *defocused_pair(texture, depth, CAMERA, psf="gaussian")


def test_two_planes_each_in_focus_once_give_the_sharp_image(texture, scene):
    depth, first, second = scene
    sharp = all_in_focus(first, second, maps(depth)[0])
    assert_allclose(sharp, texture, atol=1e-3)
    colour = all_in_focus(*(np.stack([i, i, i], axis=2) for i in (first, second)), maps(depth)[0], channel_axis=-1)
    assert_allclose(colour[:, :, 1], sharp)


def test_equally_sharp_images_are_averaged_and_unknown_ones_chosen_by_contrast(texture):
    blur = BlurMap(
        np.zeros(texture.shape), np.ones(texture.shape), np.zeros(texture.shape), np.zeros(texture.shape, np.int8)
    )
    assert_allclose(all_in_focus(texture, texture + 0.02, blur), texture + 0.01)
    unknown = np.full(texture.shape, np.nan)
    lost = BlurMap(unknown, unknown, np.ones(texture.shape), np.zeros(texture.shape, np.int8))
    flat = np.full(texture.shape, 0.5)
    assert_allclose(all_in_focus(flat, texture, lost), texture, atol=1e-3)


def test_refocusing_on_a_focal_plane_gives_that_image(scene):
    depth, first, second = scene
    away = np.abs(np.arange(depth.shape[1]) - 55.5) > 12
    for focus, image in ((1.0, first), (2.0, second)):
        again = refocus(first, second, maps(depth)[1], focus)
        assert_allclose(again[:, away], image[:, away], atol=4e-3)


def test_refocusing_elsewhere_gives_the_blur_of_the_camera_equation(texture):
    depth = np.full(texture.shape, 1.0)
    first, second = defocused_pair(texture, depth, CAMERA, psf="gaussian")
    expected = defocused_pair(
        texture, depth, Camera(coc_constant_px_m=16, focus_first_m=1.5, focus_second_m=9), psf="gaussian"
    )[0]
    assert_allclose(refocus(first, second, maps(depth)[1], 1.5), expected, atol=2e-3)
    half = defocused_pair(
        texture, depth, Camera(coc_constant_px_m=8, focus_first_m=1.5, focus_second_m=9), psf="gaussian"
    )[0]
    assert_allclose(refocus(first, second, maps(depth)[1], 1.5, aperture=0.5), half, atol=5e-3)
    assert refocus(first, second, maps(depth)[1], np.inf).std() < expected.std()


def test_gaps_in_depth_are_bridged_and_nothing_known_is_refused(scene):
    depth, first, second = scene
    holes = depth.copy()
    holes[10:20, 10:20] = np.nan
    assert_allclose(
        refocus(first, second, maps(holes)[1], 1.0), refocus(first, second, maps(depth)[1], 1.0), atol=1e-12
    )
    with pytest.raises(InputError, match="no answer"):
        refocus(first, second, maps(np.full(depth.shape, np.nan))[1], 1.0)


def test_bad_requests_are_refused(scene):
    depth, first, second = scene
    blur, found = maps(depth)
    with pytest.raises(InputError, match="another pair"):
        all_in_focus(first[:40], second[:40], blur)
    with pytest.raises(InputError, match="focus_m"):
        refocus(first, second, found, -1.0)
    with pytest.raises(InputError, match="aperture"):
        refocus(first, second, found, 1.0, aperture=0)
