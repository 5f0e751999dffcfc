"""Equations 1 to 8 of the paper."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import InputError, optics

FOCAL = np.array([17.0, 35.0, 50.0, 67.0, 135.0])
FOCUS = np.array([400.0, 800.0, 1100.0, 3000.0, 10000.0])
APERTURE = FOCAL / 2.8


@pytest.mark.parametrize(
    ("focal", "f_number", "near", "pitch", "pixels"),
    [(17, 2, 1000, 4.5, 32), (67, 4, 1100, 21.43, 48)],
    ids=["Lytro Illum", "Canon 5D IV"],
)
def test_the_papers_two_cameras(focal, f_number, near, pitch, pixels):
    circle = optics.max_circle_foreground_background_mm(focal, f_number, near, form="far_background")
    assert round(float(optics.mm_to_px(circle, pitch))) == pixels
    assert_allclose(circle, focal**2 / (f_number * near))
    assert_allclose(optics.px_to_mm(optics.mm_to_px(circle, pitch), pitch), circle)


def test_eq1_is_the_lens_law():
    image = optics.image_distance_mm(FOCAL, FOCUS)
    assert_allclose(1 / image + 1 / FOCUS, 1 / FOCAL, rtol=1e-14)
    assert_allclose(optics.focus_distance_mm(FOCAL, image), FOCUS, rtol=1e-10)


def test_eq2_without_shift_is_eq1_and_with_shift_obeys_the_lens_law():
    image = optics.image_distance_mm(FOCAL, FOCUS)
    assert_allclose(optics.scene_distance_mm(FOCAL, image, 0), FOCUS, rtol=1e-10)
    scene = optics.scene_distance_mm(FOCAL, image, 0.1)
    assert_allclose(1 / (image + 0.1) + 1 / scene, 1 / FOCAL, rtol=1e-12)
    assert (scene < FOCUS).all()  # imaged further from the lens = nearer to it


def test_eq3_by_similar_triangles():
    circle = optics.circle_from_image_shift_mm(20.0, 50.0, 2.0)
    assert_allclose(circle / 20.0, 2.0 / 52.0)
    assert optics.circle_from_image_shift_mm(20.0, 50.0, -2.0) < 0


@pytest.mark.parametrize("shift", [-0.05, 0.02, 0.3])
def test_eq4_follows_from_eqs_2_and_3_up_to_the_sign(shift):
    image = optics.image_distance_mm(FOCAL, FOCUS)
    behind = optics.scene_distance_mm(FOCAL, image, shift) - FOCUS
    circle = -optics.circle_from_image_shift_mm(APERTURE, image, shift)
    assert_allclose(optics.depth_from_circle_mm(circle, APERTURE, FOCAL, FOCUS), behind, rtol=1e-8)


@pytest.mark.parametrize("depth", [-300.0, -1.0, 0.0, 5.0, 1e5])
def test_inverse_of_eq4(depth):
    circle = optics.circle_from_depth_mm(depth, APERTURE, FOCAL, FOCUS)
    assert_allclose(optics.depth_from_circle_mm(circle, APERTURE, FOCAL, FOCUS), depth, rtol=1e-8, atol=1e-9)
    assert (np.sign(circle) == np.sign(depth)).all()


@pytest.mark.parametrize("eta", [0.05, 0.1, 0.5])
def test_eq5_is_the_larger_circle_at_the_two_ends_of_the_depth_range(eta):
    ends = [optics.circle_from_depth_mm(side * eta * FOCUS, APERTURE, FOCAL, FOCUS) for side in (-1, 1)]
    assert_allclose(optics.max_circle_mm(eta, APERTURE, FOCAL, FOCUS), np.abs(ends).max(axis=0))


@pytest.mark.parametrize("eta", [0.05, 0.2])
@pytest.mark.parametrize("circle", [0.01, 0.15])
@pytest.mark.parametrize("f_number", [1.4, 8.0])
def test_eq7_solves_eqs_5_and_6(eta, circle, f_number):
    focal = optics.focal_length_for_max_circle_mm(circle, eta, f_number, FOCUS)
    one, b, c = optics.focal_length_quadratic(circle, eta, f_number, FOCUS)
    assert_allclose(one * focal**2 + b * focal + c, 0, atol=1e-9 * np.abs(c).max())
    c_m = (1 - eta) / eta * circle
    assert_allclose(b, c_m * f_number)
    assert_allclose(c, -c_m * f_number * FOCUS)
    assert (focal > 0).all()
    assert_allclose(optics.max_circle_mm(eta, optics.aperture_mm(focal, f_number), focal, FOCUS), circle, rtol=1e-9)


def test_eq8_exact_is_the_circle_of_a_background_point():
    focal, f_number, near, far = 50.0, 2.0, 1000.0, 3000.0
    exact = optics.max_circle_foreground_background_mm(focal, f_number, near, far)
    assert_allclose(exact, optics.circle_from_depth_mm(far - near, focal / f_number, focal, near))
    at_infinity = optics.max_circle_foreground_background_mm(focal, f_number, near)
    assert_allclose(at_infinity, optics.circle_at_infinity_mm(focal / f_number, focal, near))
    assert_allclose(optics.circle_from_depth_mm(1e12, focal / f_number, focal, near), at_infinity, rtol=1e-6)
    assert_allclose(exact, (far - near) / far * (focal**2 / f_number) / (near - focal))


def test_eq8_forms_meet_where_their_conditions_hold():
    exact, small, far = (
        float(optics.max_circle_foreground_background_mm(5, 2, 1e5, 1e9, form=form))
        for form in ("exact", "small_focal_length", "far_background")
    )
    assert_allclose([small, far], exact, rtol=2e-4)
    assert small != far
    assert exact != small


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optics.focus_distance_mm(50, 50), "image_distance_mm must exceed focal_length_mm"),
        (lambda: optics.focus_distance_mm(-50, 60), "focal_length_mm must be finite and > 0, got -50"),
        (lambda: optics.image_distance_mm(50, 40), "focus_distance_mm must exceed focal_length_mm"),
        (lambda: optics.circle_from_image_shift_mm(10, 50, -50), "image_shift_mm must stay above"),
        (lambda: optics.depth_from_circle_mm(2.0, 10, 50, 1000), "circle_mm must be below"),
        (lambda: optics.circle_from_depth_mm(-1000, 10, 50, 1000), "depth_mm must keep the point in front"),
        (lambda: optics.max_circle_mm(1.0, 10, 50, 1000), "relative_depth must lie between 0 and 1"),
        (lambda: optics.focal_length_quadratic(1, 0.1, 2, np.inf), "focus_distance_mm must be finite"),
        (lambda: optics.max_circle_foreground_background_mm(50, 2, 1000, 900), "background_mm must exceed"),
        (
            lambda: optics.max_circle_foreground_background_mm(50, 2, 1000, form="guess"),
            "form must be one of 'exact', .*; got 'guess'",
        ),
        (lambda: optics.mm_to_px(1, 0), "pixel_pitch_um must be finite and > 0"),
    ],
)
def test_impossible_values_are_refused_by_name(call, message):
    with pytest.raises(InputError, match=message):
        call()
