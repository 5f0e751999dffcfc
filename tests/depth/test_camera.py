"""The camera: what it computes, what it refuses, its files, and the distances that it can measure."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose

import relblur
from relblur import Camera, DepthMap, InputError, RelblurError, depth_to_blur, optics
from relblur.base.errors import FileError
from relblur.depth.working_range import inverse_range, openings, resolution_at, resolution_table, working_range_m
from relblur.images.disk import write_npz

LENS = {"focal_length_mm": 50.0, "f_number": 2.0, "pixel_pitch_um": 5.0, "focus_first_m": 1.0, "focus_second_m": 1.5}
CONSTANT = {"focus_first_m": 1.0, "focus_second_m": 2.0, "coc_constant_px_m": 20.0}


def test_circles_are_those_of_equation_4():
    camera = Camera(**LENS)
    for z in (0.4, 1.0, 1.2, 1.5, 9.0):
        first = optics.circle_from_depth_mm(1000 * (z - 1.0), 25.0, 50.0, 1000.0)
        assert_allclose(camera.circle_px(z)[0], 1000 * first / 5.0, atol=1e-9)
        second = optics.circle_from_depth_mm(1000 * (z - 1.5), 25.0, 50.0, 1500.0)
        # In the first image's magnification, to which the second has been brought.
        zoom = optics.image_distance_mm(50.0, 1000.0) / optics.image_distance_mm(50.0, 1500.0)
        assert_allclose(camera.circle_px(z)[1], zoom * 1000 * second / 5.0, atol=1e-9)


def test_decimation_scales_circles_focal_length_and_offset():
    whole = Camera(**LENS, variance_offset_px2=0.8)
    half = whole.decimated(2)
    assert half.decimation == 2
    assert_allclose(half.circle_px(2.0), whole.circle_px(2.0) / 2)
    assert_allclose(half.focal_length_px, whole.focal_length_px / 2)
    assert half.variance_offset_px2 == pytest.approx(0.2)
    assert half.decimated(3).decimation == 6
    assert half.at_full_resolution(2) == whole


def test_the_focal_length_in_pixels_is_the_distance_of_the_sensor():
    assert_allclose(Camera(**LENS).focal_length_px, 1000 * float(optics.image_distance_mm(50.0, 1000.0)) / 5.0)
    assert_allclose(Camera(**{**LENS, "focus_first_m": math.inf}).focal_length_px, 10_000)
    assert Camera(**CONSTANT).focal_length_px is None


@pytest.mark.parametrize(
    ("change", "kind", "sharper"),
    [
        ({}, "focus", "auto"),
        ({"f_number": (2.0, 8.0), "focus_second_m": 1.0}, "aperture", "second"),
        ({"f_number": (8.0, 2.0), "focus_second_m": 1.0}, "aperture", "first"),
        ({"f_number": (2.0, 8.0)}, "mixed", "auto"),
    ],
)
def test_kinds_of_pairs(change, kind, sharper):
    camera = Camera(**{**LENS, **change})
    assert (camera.kind, camera.sharper) == (kind, sharper)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"focal_length_mm": 0}, ["focal_length_mm must be a number from 0.5 to 5000, got 0"]),
        ({"focal_length_mm": "wide"}, ["focal_length_mm", "'wide'"]),
        ({"f_number": (2, 4, 8)}, ["f_number must be a number, or two (first, second),", "(2, 4, 8)"]),
        ({"f_number": ((1, 2), 3)}, ["f_number", "(1, 2)"]),
        ({"f_number": 10**400}, ["f_number", " ..."]),
        ({"f_number": 1 << 20000}, ["f_number", "got int"]),  # too long to be written
        ({"focus_first_m": (1, 2)}, ["focus_first_m", "(1, 2)"]),
        ({"focus_first_m": 0.05}, ["focus_first_m", "0.05 m", "focal length", "50 mm"]),
        ({"focus_second_m": math.nan}, ["focus_second_m", "nan"]),
        ({"focus_second_m": 1.0 + 1e-12}, ["both 1 m with one aperture"]),
        ({"blur_constant": 27}, ["blur_constant", "27"]),
        ({"blur_constant": True}, ["blur_constant", "True"]),
        ({"blur_constant": None}, ["blur_constant", "None"]),
        ({"variance_offset_px2": 1000}, ["variance_offset_px2", "-99 to 99"]),
        ({"decimation": 1.5}, ["decimation must be a whole number from 1 to 100000, got 1.5"]),
        ({"image_width_px": []}, ["image_width_px must be a whole number"]),
        ({"pixel_pitch_um": None}, ["lacks pixel_pitch_um"]),
        ({"coc_constant_px_m": 20}, ["coc_constant_px_m", "one description"]),
    ],
)
def test_a_camera_that_cannot_be_is_one_line_with_field_and_value(change, words):
    with pytest.raises(InputError) as caught:
        Camera(**{**LENS, **change})
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


def test_numbers_of_numpy_and_whole_floats_are_taken():
    camera = Camera(**{**CONSTANT, "focus_first_m": np.float32(1), "focus_second_m": np.int64(2)}, decimation=4.0)
    assert (camera.focus_second_m, camera.decimation) == (2, 4)


@pytest.mark.parametrize(
    "camera",
    [
        Camera(**LENS, blur_constant=0.271, decimation=2, image_width_px=4000),
        Camera(coc_constant_px_m=(20.5, 7.25), focus_first_m=math.inf, focus_second_m=math.inf),
    ],
)
def test_files_give_the_same_camera_back(tmp_path, camera):
    camera.save(tmp_path / "cam.toml")
    assert Camera.load(tmp_path / "cam.toml") == camera
    text = (tmp_path / "cam.toml").read_text()  # as editors of Windows write it
    (tmp_path / "cam.toml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    assert Camera.load(tmp_path / "cam.toml") == camera


VALUES = [
    *('"x"', '"2"', '""', "[]", "[1,2]", "[1,2,3]", "[[1,2],3]", "{a=1}", "true", "nan", "inf", "-inf", "-1", "0"),
    *("1e-320", "1e308", "1e400", "9" * 400, "0x" + "f" * 5000, "2.5", "2.0", "1979-05-27", "07:32:00", "[nan,inf]"),
    *('["a","b"]', '"inf"', '"1e3"', '"１"', "4", "100000", "1e13", "[" * 900 + "]" * 900, "99", "1e12", "0.001"),
]


def use(camera: Camera, folder) -> None:
    """Do all that is done with a camera; what was saved must be the camera again, exactly."""
    for quantity in (camera.circle_constants_px_m, camera.focus_per_m, camera.blur_constants_px_m):
        assert np.isfinite(quantity).all()
    camera.decimated(2)
    camera.save(folder / "again.toml")
    assert Camera.load(folder / "again.toml") == camera
    near, far = working_range_m(camera)
    assert 0 < near < far
    for row in resolution_table(camera):
        assert all(math.isfinite(value) for value in vars(row).values())


@pytest.mark.parametrize("base", [LENS, CONSTANT], ids=["lens", "constant"])
def test_any_value_of_any_field_gives_a_camera_or_one_of_our_errors(base, tmp_path):
    accepted, told = 0, []
    whole = {"blur_constant": 0.25, "variance_offset_px2": 0.0, "decimation": 1, "image_width_px": 4000, **base}
    for name in whole:
        for value in VALUES:
            fields = {**whole, name: value}
            (tmp_path / "cam.toml").write_text("\n".join(f"{key} = {text}" for key, text in fields.items()))
            try:
                use(Camera.load(tmp_path / "cam.toml"), tmp_path)
                accepted += 1
            except RelblurError as error:
                told.append(str(error))
    assert accepted >= 30
    assert max(len(text) for text in told) < 400 + len(str(tmp_path))
    assert not any("\n" in text for text in told)


HOSTILE = {
    "unknown field": "focus_first_m = 1\nfocus_second_m = 2\nzoom = 3\n",
    "no focus": "f_number = 2\n",
    "no table": "= =\n",
    "arrays": "a = " + "[" * 4000 + "]" * 4000,
    "many arrays": "a = " + "[" * 400_000,
    "dotted": "a" + ".a" * 4900 + " = 1",
    "tables": "\n".join("[" + ".".join(["a"] * i) + "]" for i in range(1, 600)),
    "digits": "focus_first_m = " + "1" * 5000 + "\nfocus_second_m=2\ncoc_constant_px_m=20",
    "long name": "x" * 9000 + " = 1",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_soon_and_in_one_short_line(name, tmp_path):
    (tmp_path / "cam.toml").write_text(HOSTILE[name])
    start = time.process_time()
    with pytest.raises(RelblurError, match=r"cam\.toml") as caught:
        Camera.load(tmp_path / "cam.toml")
    assert time.process_time() - start < 8
    assert len(str(caught.value)) < 400 + len(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("camera", "flags", "words"),
    [
        ({**CONSTANT, "decimation": "x"}, np.uint8, "decimation"),
        ({**CONSTANT, "coc_constant_px_m": [[1, 2], 3]}, np.uint8, "coc_constant_px_m"),
        ([], np.uint8, "table of fields"),
        (CONSTANT, np.float64, "flags must be whole numbers"),
    ],
)
def test_a_depth_map_with_wrong_contents_is_refused(camera, flags, words, tmp_path):
    arrays = {"depth_m": np.ones((2, 3)), "depth_stderr_m": np.ones((2, 3)), "flags": np.zeros((2, 3), np.uint8)}
    DepthMap(camera=Camera(**CONSTANT), **arrays).save(tmp_path / "depth.npz")
    assert relblur.load(tmp_path / "depth.npz").camera == Camera(**CONSTANT)
    about = {"format": "relblur.DepthMap", "format_version": 1, "settings": {}, "camera": camera}
    write_npz(tmp_path / "depth.npz", {**arrays, "flags": arrays["flags"].astype(flags)}, json.loads(json.dumps(about)))
    with pytest.raises(FileError, match=rf"depth.npz .*{words}"):
        relblur.load(tmp_path / "depth.npz")


def test_images_of_another_width_warn():
    camera = Camera(**LENS, image_width_px=4001)
    for width in (4000, 4002):  # rounded
        camera.check_width(width)
    camera.decimated(4).check_width(1000)
    Camera(**LENS).check_width(17)
    for width in (1000, 3999):
        with pytest.warns(UserWarning, match="set decimation"):
            camera.check_width(width)


@pytest.mark.parametrize("camera", [Camera(**LENS), Camera(**CONSTANT)])
def test_larger_circles_are_smaller_f_numbers_or_larger_constants(camera):
    larger = camera.with_circles(1.25)
    assert_allclose(larger.circle_constants_px_m, 1.25 * np.array(camera.circle_constants_px_m))
    two = Camera(focal_length_mm=50, f_number=(2.0, 8.0), pixel_pitch_um=5, focus_first_m=1, focus_second_m=1)
    assert two.with_circles(1.25).f_number == pytest.approx((1.6, 6.4))


def test_working_range_ends_where_blur_reaches_the_limit():
    camera = Camera(coc_constant_px_m=40, focus_first_m=1, focus_second_m=2)
    near, far = working_range_m(camera)
    one, two = camera.sigma_px(near)
    assert_allclose(two**2 - one**2, 25.0)
    assert_allclose(camera.sigma_px(far)[0] ** 2 - camera.sigma_px(far)[1] ** 2, 25.0)
    assert working_range_m(Camera(coc_constant_px_m=5, focus_first_m=1, focus_second_m=2))[1] == math.inf
    assert inverse_range(camera, 1.0)[0] > inverse_range(camera, 2.0)[0]
    lens = Camera(**{**LENS, "focus_first_m": 0.06, "focus_second_m": 0.07, "f_number": 128.0, "pixel_pitch_um": 900})
    assert inverse_range(lens)[1] == 990 / 50  # nothing nearer than the lens
    with pytest.raises(InputError, match="more than 5 px of relative blur at every distance"):
        working_range_m(Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=1, variance_offset_px2=99))


def test_decimation_opens_the_range():
    camera = Camera(coc_constant_px_m=150, focus_first_m=1, focus_second_m=2)
    for (factor, _), depths in zip(openings(camera), ((1, 2), (1, math.inf)), strict=True):
        for enough, decimation in ((True, factor), (False, factor - 1)):
            near, far = working_range_m(camera.decimated(decimation))
            assert (near <= depths[0] and far >= depths[1]) == enough
    assert openings(Camera(coc_constant_px_m=5, focus_first_m=1, focus_second_m=2)) == []


def test_resolution_is_the_change_of_depth_that_changes_s_by_its_error():
    camera = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2)
    z = np.array([0.8, 1.3, 3.0])
    step = 1e-5
    slope = (depth_to_blur(z + step, camera) - depth_to_blur(z - step, camera)) / (2 * step)
    assert_allclose(resolution_at(z, camera, 0.05), 1000 * 0.05 / abs(slope), rtol=1e-6)
    apertures = Camera(coc_constant_px_m=(30, 10), focus_first_m=1.7, focus_second_m=1.7)
    at_focus, away = resolution_at(np.array([1.7, 3.0]), apertures, 0.05)
    assert math.isfinite(at_focus)
    assert at_focus / 1.7**2 > away / 3.0**2


@pytest.mark.parametrize(
    ("constant", "far"), [(40, 1 / (0.75 - 5**2 / (0.2887 * 40) ** 2)), (4, 40.0)], ids=["within reach", "to 20 planes"]
)
def test_the_table_of_resolutions_is_even_in_inverse_distance(constant, far):
    camera = Camera(coc_constant_px_m=constant, focus_first_m=1, focus_second_m=2, blur_constant=0.2887)
    rows = resolution_table(camera, stderr_px2=0.05)
    near = working_range_m(camera)[0]
    z = np.array([row.depth_m for row in rows])
    assert len(z) == 11 - (near > 1) - (far < 2)  # nine, and the focal planes
    assert_allclose([z[0], z[-1]], [near, far], rtol=1e-6)
    assert_allclose([row.variance_difference_px2 for row in rows], depth_to_blur(z, camera))
    assert_allclose([row.circle_first_px for row in rows], constant * abs(1 / z - 1), atol=1e-9)
    assert_allclose([row.resolution_mm for row in rows], resolution_at(z, camera, 0.05))
