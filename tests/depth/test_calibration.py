"""calibrate: known cameras are found again; degenerate input is refused."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from command import failed, run
from relblur import (
    BlurMap,
    Camera,
    ComparablePair,
    Flag,
    InputError,
    calibrate,
    depth_to_blur,
    save,
    synth,
)
from relblur.depth.calibration import calibrate_shape, check_fit
from relblur.depth.defocus import defocused_pair

SHAPE = (96, 128)
TRUE = Camera(coc_constant_px_m=22, focus_first_m=1.05, focus_second_m=2.1, blur_constant=0.273)
SHEET = replace(TRUE, blur_constant=0.25)
Y, X = np.indices(SHAPE)
PLANE = 1 / (0.5 + 0.003 * X + 0.001 * Y)


def measured(depth, camera=TRUE, noise=0.03, seed=0):
    rng = np.random.default_rng(seed)
    s = np.broadcast_to(depth_to_blur(depth, camera), SHAPE) + rng.normal(0, noise, SHAPE)
    return BlurMap(s, np.full(SHAPE, noise), np.zeros(SHAPE, np.uint8), np.zeros(SHAPE, np.int8))


def places(*pixels):
    return [(row, column, PLANE[row, column]) for row, column in pixels]


@pytest.mark.parametrize(
    "known",
    [
        {"depth_m": PLANE},
        {"plane": places((5, 5), (90, 10), (40, 120))},
        {"points": places((10, 10), (80, 100))},
    ],
)
def test_the_blur_constant_is_found_whatever_is_known(known):
    found = calibrate(measured(PLANE), SHEET, **known)
    assert_allclose(found.camera.blur_constant, 0.273, rtol=5e-3)
    assert found.values == {"blur_constant": found.camera.blur_constant}
    assert 0 < found.stderr["blur_constant"] < 0.003
    assert found.depth_error < 0.01
    assert len(found.residual_px2) == found.points
    assert abs(np.median(found.residual_px2)) < 0.005


@pytest.mark.parametrize(
    "fit",
    [("blur_constant", "focus_first_m"), ("blur_constant", "focus_second_m"), ("focus_first_m", "focus_second_m")],
)
def test_any_two_of_the_three_are_found(fit):
    wrong = {"blur_constant": 0.25, "focus_first_m": 0.95, "focus_second_m": 2.4}
    start = replace(TRUE, **{name: wrong[name] for name in fit})
    found = calibrate(measured(PLANE), start, depth_m=PLANE, fit=fit)
    for name in fit:
        assert_allclose(found.values[name], getattr(TRUE, name), rtol=5e-3)
        assert abs(found.values[name] - getattr(TRUE, name)) < 5 * found.stderr[name] + 1e-6


@pytest.mark.parametrize(
    ("fit", "wrong"),
    [
        (("blur_constant", "focus_first_m"), {"blur_constant": 0.25, "focus_first_m": 1.8, "focus_second_m": 1.8}),
        (("focus_second_m", "variance_offset_px2"), {"focus_first_m": 1.8, "focus_second_m": 1.8}),
    ],
)
def test_an_aperture_pair_has_one_focus_and_an_offset(fit, wrong):
    true = Camera(
        coc_constant_px_m=(8, 24), focus_first_m=1.6, focus_second_m=1.6, blur_constant=0.27, variance_offset_px2=0.4
    )
    found = calibrate(measured(PLANE, true), replace(true, **wrong), depth_m=PLANE, fit=fit)
    for name in (*fit, "focus_first_m", "focus_second_m"):
        assert_allclose(getattr(found.camera, name), getattr(true, name), rtol=0.02)


@pytest.mark.slow
def test_the_standard_error_is_the_scatter_of_repeated_calibrations():
    many = [calibrate(measured(PLANE, seed=seed), SHEET, depth_m=PLANE) for seed in range(24)]
    scatter = np.std([c.values["blur_constant"] for c in many])
    assert 0.75 < np.median([c.stderr["blur_constant"] for c in many]) / scatter < 1.35


def test_wild_and_flagged_pixels_do_not_pull():
    clean = measured(PLANE)
    s, flags = np.array(clean.variance_difference), np.array(clean.flags)
    s[20:30, 20:40] = 20.0  # an object in front, 2 % of the pixels
    flags[60:80] = Flag.FILLED
    s[60:80] = -20.0
    spoilt = BlurMap(s, clean.variance_stderr, flags, clean.sharper)
    assert_allclose(calibrate(spoilt, SHEET, depth_m=PLANE).values["blur_constant"], 0.273, rtol=0.01)
    valid = np.ones(SHAPE, bool)
    valid[20:30, 20:40] = False
    assert_allclose(calibrate(spoilt, SHEET, depth_m=PLANE, valid=valid).values["blur_constant"], 0.273, rtol=2e-3)


@pytest.mark.parametrize(
    ("known", "options", "words"),
    [
        ({}, {}, "exactly one"),
        ({"depth_m": PLANE, "points": places((1, 1), (9, 9))}, {}, "exactly one"),
        ({"depth_m": PLANE}, {"fit": ("zoom",)}, "zoom"),
        ({"depth_m": PLANE}, {"fit": ()}, "fit"),
        ({"depth_m": PLANE}, {"fit": ("blur_constant", "focus_first_m", "focus_second_m")}, "two of them"),
        ({"depth_m": np.ones((3, 3))}, {}, "depth_m has shape"),
        ({"depth_m": -1.0}, {}, "> 0 m"),
        ({"points": [(1, 1, 1.0)]}, {}, "2 or more"),
        ({"points": [(1, 1, 1.0), (500, 1, 2.0)]}, {}, "must lie in the image"),
        ({"plane": places((1, 1), (10, 10), (20, 20))}, {}, "one line"),
        ({"points": [(1, 1), (2, 2)]}, {}, "triples"),
        ({"depth_m": np.full(SHAPE, np.nan)}, {}, "known"),
        ({"depth_m": PLANE}, {"valid": np.zeros(SHAPE, bool)}, "usable"),
    ],
)
def test_bad_requests_are_refused(known, options, words):
    with pytest.raises(InputError, match=words):
        calibrate(measured(PLANE), SHEET, **known, **options)


def test_degenerate_depths_are_refused():
    middle = 2 / (1 / 1.05 + 1 / 2.1)  # where both images are equally blurred, whatever the constant
    with pytest.raises(InputError, match=r"do not determine|runs against"):
        calibrate(measured(middle), SHEET, depth_m=middle)
    with pytest.raises(InputError, match="do not determine"):
        calibrate(measured(1.3), SHEET, depth_m=1.3, fit=("blur_constant", "focus_first_m"))


def test_swapped_images_are_noticed():
    swapped = replace(SHEET, focus_first_m=2.1, focus_second_m=1.05)
    with pytest.raises(InputError, match="swapped"):
        calibrate(measured(PLANE), swapped, depth_m=PLANE)


@pytest.mark.parametrize("constant", [0.045, 1.6])
def test_blur_constants_beyond_their_limits_are_not(constant):
    s = (constant / TRUE.blur_constant) ** 2 * depth_to_blur(PLANE, TRUE)
    zero = np.zeros(SHAPE, np.uint8)
    blur = BlurMap(s, np.full(SHAPE, 0.01), zero, zero.astype(np.int8))
    with pytest.raises(InputError, match=r"blur_constant ends at a bound of its range \(0.0501 to 1.5\)"):
        calibrate(blur, SHEET, depth_m=PLANE)


def test_values_that_make_up_for_one_another_are_refused_by_name():
    """Over a few centimetres s is as good as proportional to k^2, and to the distance from the plane of equal blur."""
    shallow = 1 / (0.60 + 0.00005 * X)
    with pytest.raises(InputError, match="do not determine blur_constant and focus_second_m together"):
        calibrate(measured(shallow, noise=1e-5), SHEET, depth_m=shallow, fit=("blur_constant", "focus_second_m"))


LENS = Camera(focal_length_mm=50, f_number=2.8, pixel_pitch_um=60, focus_first_m=1, focus_second_m=2)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.85, 1.0, 1.12])
def test_a_lens_whose_circles_are_larger_or_smaller_than_stated_is_found(texture, scale):
    x = np.indices(texture.shape)[1]
    depth = 1 / (0.62 + 0.3 * x / texture.shape[1])
    pair = ComparablePair(*defocused_pair(texture, depth, LENS.with_circles(scale)))
    found = calibrate_shape(pair, LENS, known={"depth_m": depth})
    assert found.values["circle_scale"] == pytest.approx(scale, rel=0.004)
    assert found.camera.f_number == pytest.approx(2.8 / scale, rel=0.004)
    assert found.camera.blur_constant == 0.25
    assert found.depth_error < 0.005


def test_what_a_disc_cannot_be_calibrated_for_is_refused():
    apertures = Camera(coc_constant_px_m=(24, 8), focus_first_m=1.6, focus_second_m=1.6)
    for camera, name in ((LENS, "variance_offset_px2"), (apertures, "blur_constant")):
        with pytest.raises(InputError, match="belong to the Gaussian"):
            check_fit([name], camera, is_gaussian=False)


@pytest.mark.slow
def test_from_data_sheet_to_depth_on_the_command_line(texture, tmp_path):
    """The lens is a tenth faster than its sheet says: depth is right after calibration, and wrong without."""
    true = LENS.with_circles(1.1)
    depth = 1 / (0.62 + 0.3 * np.indices(texture.shape)[1] / texture.shape[1])
    for name, z in (("target", 1.2), ("scene", depth)):
        for end, image in zip(("near", "far"), defocused_pair(texture, z, true), strict=True):
            save(tmp_path / f"{name}_{end}.png", synth.degrade(image, bits=16))
    LENS.save(tmp_path / "cam.toml")
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
