"""Blur and depth: the relation both ways, its derivation, error bars, sides, ranges; the depth map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from relblur import BlurMap, Camera, DepthMap, Flag, InputError, blur_to_depth, depth_to_blur, in_depth_range, optics
from relblur.depth.relation import relative_blur

CAMERA = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2, blur_constant=0.27)
APERTURES = Camera(coc_constant_px_m=(20, 7), focus_first_m=1.7, focus_second_m=1.7)


def blur_map(s, stderr=0.01):
    s = np.atleast_2d(np.asarray(s, dtype=float))
    return BlurMap(s, np.full(s.shape, stderr), np.zeros(s.shape, np.uint8), np.sign(np.nan_to_num(s)).astype(np.int8))


def test_the_affine_relation_follows_from_equations_1_to_4():
    f, n, pitch, kappa = 35.0, 2.8, 6.0, 0.27
    camera = Camera(
        focal_length_mm=f, f_number=n, pixel_pitch_um=pitch, focus_first_m=0.9, focus_second_m=2.2, blur_constant=kappa
    )
    z = np.array([0.3, 0.9, 1.4, 2.2, 7.0, 1e4])  # in front of, on, between, on, behind
    v_1 = optics.image_distance_mm(f, 900.0)
    variance = []
    for focus in (900.0, 2200.0):
        shift = optics.image_distance_mm(f, 1000 * z) - optics.image_distance_mm(f, focus)  # equation 1, twice
        assert_allclose(optics.scene_distance_mm(f, optics.image_distance_mm(f, focus), shift), 1000 * z)  # 2
        circle = optics.circle_from_image_shift_mm(f / n, optics.image_distance_mm(f, focus), shift)  # 3
        assert_allclose(np.abs(circle), np.abs(optics.circle_from_depth_mm(1000 * z - focus, f / n, f, focus)))  # 4
        in_one_magnification = circle * v_1 / optics.image_distance_mm(f, focus)
        variance.append((kappa * 1000 * in_one_magnification / pitch) ** 2)
    assert_allclose(depth_to_blur(z, camera), variance[1] - variance[0], rtol=1e-9, atol=1e-9)
    u_1, u_2, k = 1 / 0.9, 1 / 2.2, camera.blur_constants_px_m[0]
    assert_allclose(depth_to_blur(z, camera), k**2 * (u_1 - u_2) * (2 / z - u_1 - u_2), rtol=1e-9, atol=1e-9)


@given(st.floats(0.2, 500))
@settings(max_examples=40, deadline=None)
def test_depth_to_blur_to_depth_is_the_identity(z):
    found = blur_to_depth(blur_map(depth_to_blur(z, CAMERA)), CAMERA)
    assert_allclose(found.depth_m, z, rtol=1e-7)


@pytest.mark.parametrize(("side", "z"), [("behind", 1.9), ("behind", 30.0), ("front", 1.5), ("front", 0.6)])
def test_two_apertures_have_a_solution_on_either_side(side, z):
    measured = blur_map(depth_to_blur([z], APERTURES))
    assert_allclose(blur_to_depth(measured, APERTURES, side=side).depth_m, z, rtol=1e-7)


def test_order_and_sign_the_image_focused_nearer_is_sharper_at_near_points():
    assert depth_to_blur(1.0, CAMERA) > 0 > depth_to_blur(2.0, CAMERA)  # positive: second is blurrier
    swapped = Camera(coc_constant_px_m=22, focus_first_m=2, focus_second_m=1, blur_constant=0.27)
    assert_allclose(depth_to_blur([0.5, 1.2, 9], swapped), -depth_to_blur([0.5, 1.2, 9], CAMERA))


def test_standard_errors_are_those_of_repeated_measurements():
    rng = np.random.default_rng(0)
    for camera, z in ((CAMERA, 1.6), (APERTURES, 2.6)):
        s = depth_to_blur(z, camera) + rng.normal(0, 0.05, (1, 40_000))
        found = blur_to_depth(blur_map(s, 0.05), camera)
        assert_allclose(np.median(found.depth_stderr_m), found.depth_m.std(), rtol=0.03)


def test_at_the_focus_of_an_aperture_pair_the_error_stays_finite_and_small_wrong_signs_are_excused():
    s = depth_to_blur(1.7, APERTURES)
    found = blur_to_depth(blur_map([[s, s + 0.015, s + 0.2]], 0.01), APERTURES)  # a < 0: above s nothing exists
    assert_allclose(found.depth_m[0, :2], 1.7)
    assert np.isfinite(found.depth_stderr_m[0, :2]).all()
    assert np.isnan(found.depth_m[0, 2])
    assert found.flags[0].tolist() == [0, 0, Flag.OUT_OF_RANGE]


def test_blur_no_distance_can_make_is_flagged_and_has_no_depth():
    beyond_infinity = float(depth_to_blur(np.inf, CAMERA)) - 0.5
    found = blur_to_depth(blur_map([[beyond_infinity, 0.0, np.nan]]), CAMERA)
    assert np.isnan(found.depth_m[0]).tolist() == [True, False, True]
    assert np.isnan(found.depth_stderr_m[0]).tolist() == [True, False, True]
    assert found.flags[0].tolist() == [Flag.OUT_OF_RANGE, 0, 0]
    lens = Camera(focal_length_mm=50, f_number=2, pixel_pitch_um=5, focus_first_m=1, focus_second_m=2)
    inside_the_lens = blur_map(depth_to_blur([0.049], lens))
    assert blur_to_depth(inside_the_lens, lens).flags[0, 0] == Flag.OUT_OF_RANGE


def test_absolute_blur_of_both_images():
    found = blur_to_depth(blur_map(depth_to_blur([1.25], CAMERA)), CAMERA)
    k = 0.27 * 22
    assert_allclose(found.sigma_px[:, 0, 0], [k * 0.2, k * 0.3])
    assert_allclose(found.sigma_px[1] ** 2 - found.sigma_px[0] ** 2, depth_to_blur(1.25, CAMERA))


def test_points_between_the_focal_planes_with_their_probability():
    z = np.array([[0.8, 0.999, 1.001, 1.5, 1.999, 2.001, 3.0]])
    found = in_depth_range(blur_map(depth_to_blur(z, CAMERA), 1e-4), CAMERA)
    assert found.between[0].tolist() == [False, False, True, True, True, False, False]
    assert (found.nearest_m, found.farthest_m) == (1, 2)
    edge = in_depth_range(blur_map(depth_to_blur([1.0], CAMERA), 0.3), CAMERA)
    assert_allclose(edge.probability, 0.5, atol=1e-6)
    one_sigma_in = in_depth_range(blur_map(depth_to_blur(1.0, CAMERA) - 0.3, 0.3), CAMERA)
    assert_allclose(one_sigma_in.probability, 0.8413, atol=1e-3)
    for shift, between in ((-0.03, True), (0.03, False)):  # 54 % and 46 %
        assert bool(in_depth_range(blur_map(depth_to_blur(1.0, CAMERA) + shift, 0.3), CAMERA).between[0, 0]) == between
    planes = in_depth_range(blur_map(depth_to_blur([[1.0, 2.0]], CAMERA), 0.3), CAMERA)
    assert planes.between.all()  # the ends belong to the range
    exact = in_depth_range(blur_map(depth_to_blur([[0.99, 1.0, 1.5, 2.0, 2.01]], CAMERA), 0.0), CAMERA)
    assert exact.between[0].tolist() == [False, True, True, True, False]
    assert exact.probability[0].tolist() == [0, 1, 1, 1, 0]
    unknown = in_depth_range(blur_map([[np.nan]]), CAMERA)
    assert np.isnan(unknown.probability[0, 0])
    assert not unknown.between[0, 0]


@pytest.mark.parametrize("flag", [Flag.FILLED, Flag.CLIPPED, Flag.INVALID, Flag.AT_LIMIT, Flag.FILLED | Flag.CLIPPED])
def test_flagged_pixels_are_in_the_range_only_if_their_error_bar_decides(flag):
    end = float(depth_to_blur(1.0, CAMERA))
    s = np.array([[0.0, 0.0, 3 * end, 3 * end, -3 * end]])
    stderr = np.array([[end / 2.5, end / 3.5, 2 * end / 2.5, 2 * end / 3.5, 2 * end / 3.5]])
    made = BlurMap(s, stderr, np.full(s.shape, flag, np.uint8), np.zeros(s.shape))
    found = in_depth_range(made, CAMERA)
    decided = [False, not flag & Flag.AT_LIMIT, False, True, True]  # more blur than the limit may be outside
    assert np.isfinite(found.probability[0]).tolist() == decided
    assert found.between[0].tolist() == [False, decided[1], False, False, False]
    unflagged = in_depth_range(BlurMap(s, stderr, np.zeros(s.shape), np.zeros(s.shape)), CAMERA)
    assert np.isfinite(unflagged.probability).all()
    assert unflagged.between[0].tolist() == [True, True, False, False, False]


def test_bad_requests_are_refused():
    with pytest.raises(InputError, match="two focus distances"):
        in_depth_range(blur_map([0.0]), APERTURES)
    with pytest.raises(InputError, match="side"):
        blur_to_depth(blur_map([0.0]), APERTURES, side="left")
    with pytest.raises(InputError, match="BlurMap"):
        blur_to_depth(np.zeros((2, 2)), CAMERA)
    with pytest.raises(InputError, match="> 0 m"):
        depth_to_blur([1.0, -1.0], CAMERA)
    with pytest.raises(InputError, match="> 0 m"):
        depth_to_blur([1.0, 0.0], CAMERA)


def test_images_of_another_size_than_the_cameras_warn():
    camera = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2, image_width_px=6)
    with pytest.warns(UserWarning, match="set decimation"):
        blur_to_depth(blur_map([[0.0, 0.0, 0.0]]), camera)


def test_a_depth_map_is_frozen_checked_and_describes_itself():
    found = DepthMap(np.array([[1.0, np.nan]]), np.array([[0.1, np.nan]]), np.zeros((1, 2), np.uint8), CAMERA)
    assert repr(found) == "DepthMap(1x2, 1 to 1 m, 50% of pixels)"
    with pytest.raises(ValueError, match="read-only"):
        found.depth_m[0, 0] = 2
    with pytest.raises(InputError, match="depth_stderr_m has shape"):
        DepthMap(np.ones((1, 2)), np.ones((2, 1)), np.zeros((1, 2)), CAMERA)
    with pytest.raises(InputError, match="camera"):
        DepthMap(np.ones((1, 2)), np.ones((1, 2)), np.zeros((1, 2)), None)


@pytest.mark.parametrize("constants", [22.0, (24.0, 8.0)])
@pytest.mark.parametrize("depth", [0.7, 1.2, 1.8, 5.0])
def test_the_blur_of_a_depth_has_the_error_that_its_slope_makes(depth, constants):
    focus = 2.0 if constants == 22.0 else 1.0
    camera = Camera(coc_constant_px_m=constants, focus_first_m=1.0, focus_second_m=focus)

    def blur(metres):
        there = np.full((2, 2), metres)
        return relative_blur(DepthMap(there, np.full((2, 2), 0.01), np.zeros((2, 2), np.uint8), camera))

    found, step = blur(depth), 1e-5
    slope = (blur(depth + step).variance_difference - blur(depth - step).variance_difference) / (2 * step)
    assert_allclose(found.variance_stderr, np.abs(slope) * 0.01, rtol=1e-4)
    near, far = camera.focus_per_m
    growth = camera.blur_constants_px_m
    wanted = (growth[1] * (1 / depth - far)) ** 2 - (growth[0] * (1 / depth - near)) ** 2
    assert_allclose(found.variance_difference, wanted, rtol=1e-6)
