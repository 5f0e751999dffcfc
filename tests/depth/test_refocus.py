"""All-in-focus images and refocusing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import BlurMap, Camera, DepthMap, InputError, all_in_focus, depth_to_blur, refocus
from relblur.depth.defocus import defocused_pair

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
    with pytest.raises(InputError, match="no value"):
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


@pytest.mark.parametrize("factor", [3])
def test_a_map_of_every_nth_pixel_will_do(texture, scene, factor):
    depth, first, second = scene
    whole, small = (all_in_focus(first, second, maps(d)[0]) for d in (depth, depth[::factor, ::factor]))
    away = np.abs(np.arange(depth.shape[1]) - 55.5) > 2 * factor
    assert_allclose(small[:, away], whole[:, away], atol=2e-3)
    with pytest.raises(InputError, match="another pair"):
        all_in_focus(first, second, maps(depth[:10, :9])[0])


def test_between_the_planes_refocusing_starts_from_the_mean_of_both(texture):
    middle = np.full(texture.shape, 4 / 3)  # as blurred in one as in the other
    again = refocus(texture, 0.5 * texture, maps(middle)[1], 4 / 3)
    assert_allclose(again, 0.75 * texture, atol=1e-9)
    colour = refocus(
        *(np.dstack([i, 2 * i]) for i in (texture, 0.5 * texture)), maps(middle)[1], 4 / 3, channel_axis=-1
    )
    assert_allclose(colour[:, :, 0], again)
    assert_allclose(colour[:, :, 1], 2 * again)


def test_the_map_decides_where_there_is_no_detail_and_the_mean_where_nothing_can_tell(texture):
    s = np.full(texture.shape, 5.0)
    s[:, 60:] = np.nan
    zero = np.zeros(texture.shape, np.uint8)
    blur = BlurMap(s, np.where(np.isnan(s), np.nan, 0.01), zero, zero.astype(np.int8))
    found = all_in_focus(np.full(texture.shape, 0.5), np.full(texture.shape, 0.6), blur)
    assert_allclose(found[:, :60], 0.5)
    assert_allclose(found[:, 60:], 0.55, atol=1e-6)


def test_unknown_pixels_are_chosen_by_their_detail(texture):
    unknown = np.full(texture.shape, np.nan)
    lost = BlurMap(unknown, unknown, np.ones(texture.shape), np.zeros(texture.shape, np.int8))
    soft = defocused_pair(texture, np.full(texture.shape, 1.0), CAMERA, psf="gaussian")[1]
    for images in ((texture, soft), (soft, texture)):
        left = np.abs(all_in_focus(*images, lost) - texture).mean()
        assert left < 0.05 * np.abs(soft - texture).mean()


def test_far_out_of_focus_the_blur_that_is_there_is_not_added_again(texture):
    near = np.full(texture.shape, 0.5)  # 4 px in the first image
    assert_allclose(refocus(texture, 0 * texture, maps(near)[1], 1.0), texture, atol=1e-9)
