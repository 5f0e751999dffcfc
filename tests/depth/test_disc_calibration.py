"""Calibration for a disc: lenses that are not what their data sheet says are found, and only those."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from command import failed, run
from relblur import Camera, ComparablePair, DepthMap, InputError, depth_to_blur, save, synth
from relblur.depth.calibration import calibrate_shape, check_fit
from relblur.depth.defocus import defocused_pair
from relblur.depth.psf import usual_psf
from relblur.depth.relation import relative_blur

SHEET = Camera(focal_length_mm=50, f_number=2.8, pixel_pitch_um=60, focus_first_m=1, focus_second_m=2)


def test_relative_blur_is_that_of_the_depth_with_its_error():
    z = np.array([[1.0, 1.5, 2.5]])
    found = DepthMap(z, 0.01 * z, np.zeros((1, 3), np.uint8), SHEET)
    blur = relative_blur(found)
    assert_allclose(blur.variance_difference, depth_to_blur(z, SHEET))
    moved = np.abs(depth_to_blur(1.0001 * z, SHEET) - depth_to_blur(z, SHEET)) / 0.0001 * 0.01
    assert_allclose(blur.variance_stderr, moved, rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.85, 1.0, 1.12])
def test_a_lens_whose_circles_are_larger_or_smaller_than_stated_is_found(texture, scale):
    x = np.indices(texture.shape)[1]
    depth = 1 / (0.62 + 0.3 * x / texture.shape[1])
    pair = ComparablePair(*defocused_pair(texture, depth, SHEET.with_circles(scale)))
    found = calibrate_shape(pair, SHEET, known={"depth_m": depth})
    assert found.values["circle_scale"] == pytest.approx(scale, rel=0.004)
    assert found.camera.f_number == pytest.approx(2.8 / scale, rel=0.004)
    assert found.camera.blur_constant == 0.25
    assert found.depth_error < 0.005


def test_what_a_disc_cannot_be_calibrated_for_is_refused():
    with pytest.raises(InputError, match="belongs to the Gaussian"):
        check_fit(["variance_offset_px2"], SHEET, is_gaussian=False)
    apertures = Camera(coc_constant_px_m=(24, 8), focus_first_m=1.6, focus_second_m=1.6)
    with pytest.raises(InputError, match="two apertures"):
        check_fit(["blur_constant"], apertures, is_gaussian=False)


def test_the_usual_shape_is_the_disc_unless_the_camera_was_fitted_for_the_gaussian():
    assert usual_psf(SHEET) == "disc"
    assert usual_psf(SHEET.with_circles(1.1)) == "disc"
    assert usual_psf(Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, blur_constant=0.269)) == "gaussian"
    offset = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, variance_offset_px2=0.2)
    assert usual_psf(offset) == "gaussian"


@pytest.mark.slow
def test_from_data_sheet_to_depth_on_the_command_line(texture, tmp_path):
    """The lens is a tenth faster than its sheet says: depth is right after calibration, and wrong without."""
    true = SHEET.with_circles(1.1)
    depth = 1 / (0.62 + 0.3 * np.indices(texture.shape)[1] / texture.shape[1])
    for name, z in (("target", 1.2), ("scene", depth)):
        for end, image in zip(("near", "far"), defocused_pair(texture, z, true), strict=True):
            save(tmp_path / f"{name}_{end}.png", synth.degrade(image, bits=16))
    SHEET.save(tmp_path / "cam.toml")
    scene = [tmp_path / f"scene_{end}.png" for end in ("near", "far")]
    target = [tmp_path / f"target_{end}.png" for end in ("near", "far")]
    calibrating = ["calibrate", *target, "-c", tmp_path / "cam.toml", "--distance", 1.2]
    told = run(*calibrating, "-o", tmp_path / "cal.toml", "--json")
    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout)["values"]["circle_scale"] == pytest.approx(1.1, rel=0.01)
    errors = {}
    for camera in ("cam", "cal"):
        done = run("depth", *scene, "-c", tmp_path / f"{camera}.toml", "-o", tmp_path / camera)
        assert done.exit_code == 0, done.output
        found = np.load(tmp_path / camera / "depth.npy")
        errors[camera] = float(np.median(np.abs(found / depth - 1)))
    assert errors["cal"] < 0.004 < 0.01 < errors["cam"]
    message = failed(run(*calibrating, "--fit", "variance_offset_px2", "--psf", "disc"), 3)
    assert "--psf gaussian" in message


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
    np.testing.assert_allclose(found.variance_stderr, np.abs(slope) * 0.01, rtol=1e-4)
    near, far = camera.focus_per_m
    growth = camera.blur_constants_px_m
    wanted = (growth[1] * (1 / depth - far)) ** 2 - (growth[0] * (1 / depth - near)) ** 2
    np.testing.assert_allclose(found.variance_difference, wanted, rtol=1e-6)
