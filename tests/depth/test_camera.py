"""The camera: what it computes, what it refuses, how it is stored and read from photographs."""

from __future__ import annotations

import json
import math

import pytest
from numpy import array
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

from relblur import Camera, InputError, depth_to_blur, optics
from relblur.base.errors import FileError
from relblur.depth.camera_file import _positive
from relblur.depth.working_range import inverse_range, resolution_at, resolution_table, working_range_m

LENS = {"focal_length_mm": 50.0, "f_number": 2.0, "pixel_pitch_um": 5.0, "focus_first_m": 1.0, "focus_second_m": 1.5}


def test_circles_are_those_of_equation_4():
    camera = Camera(**LENS)
    for z in (0.4, 1.0, 1.2, 1.5, 9.0):
        first = optics.circle_from_depth_mm(1000 * (z - 1.0), 25.0, 50.0, 1000.0)
        assert_allclose(camera.circle_px(z)[0], 1000 * first / 5.0, atol=1e-9)
        second = optics.circle_from_depth_mm(1000 * (z - 1.5), 25.0, 50.0, 1500.0)
        # In the first image's magnification, to which the second has been brought.
        zoom = optics.image_distance_mm(50.0, 1000.0) / optics.image_distance_mm(50.0, 1500.0)
        assert_allclose(camera.circle_px(z)[1], zoom * 1000 * second / 5.0, atol=1e-9)


def test_decimation_shrinks_circles_and_focal_length():
    whole, half = Camera(**LENS), Camera(**LENS).decimated(2)
    assert half.decimation == 2
    assert_allclose(half.circle_px(2.0), whole.circle_px(2.0) / 2)
    assert_allclose(half.focal_length_px, whole.focal_length_px / 2)
    assert half.decimated(3).decimation == 6


def test_the_focal_length_in_pixels_is_the_distance_of_the_sensor():
    assert_allclose(Camera(**LENS).focal_length_px, 1000 * float(optics.image_distance_mm(50.0, 1000.0)) / 5.0)
    assert_allclose(Camera(**{**LENS, "focus_first_m": math.inf}).focal_length_px, 10_000)
    assert Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2).focal_length_px is None


@pytest.mark.parametrize(("field", "most"), [("decimation", 100_000), ("image_width_px", 10_000_000)])
def test_whole_numbers_have_a_most(field, most):
    assert getattr(Camera(**LENS, **{field: most}), field) == most
    for value in (most + 1, 0, 1.5, True):
        with pytest.raises(InputError, match=f"{field} must be a whole number from 1 to {most}"):
            Camera(**LENS, **{field: value})


def test_kinds_of_pairs():
    assert Camera(**LENS).kind == "focus"
    assert Camera(**{**LENS, "f_number": (2.0, 8.0), "focus_second_m": 1.0}).kind == "aperture"
    assert Camera(**{**LENS, "f_number": (2.0, 8.0)}).kind == "mixed"
    assert Camera(coc_constant_px_m=(20, 5), focus_first_m=1, focus_second_m=1).kind == "aperture"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"focal_length_mm": 0}, ["focal_length_mm", "> 0 mm", "got 0"]),
        ({"focal_length_mm": 50_000}, ["focal_length_mm", "50000 mm", "not plausible"]),
        ({"focal_length_mm": 0.05}, ["focal_length_mm", "0.05 mm", "metres"]),
        ({"f_number": -2}, ["f_number", "-2"]),
        ({"f_number": (2, 4, 8)}, ["f_number", "two"]),
        ({"pixel_pitch_um": 0.005}, ["pixel_pitch_um", "um", "mm"]),
        ({"focus_first_m": 0.05}, ["focus_first_m", "0.05 m", "focal length", "50 mm"]),
        ({"focus_second_m": float("nan")}, ["focus_second_m", "m"]),
        ({"focus_second_m": 1.0}, ["focus_first_m", "focus_second_m", "1 m"]),
        ({"blur_constant": 27}, ["blur_constant", "27", "percentage"]),
        ({"decimation": 1.5}, ["decimation", "whole"]),
        ({"image_width_px": 0}, ["image_width_px"]),
        ({"pixel_pitch_um": None}, ["lacks pixel_pitch_um"]),
        ({"coc_constant_px_m": 20}, ["coc_constant_px_m", "focal_length_mm", "one description"]),
        ({"focal_length_mm": "wide"}, ["focal_length_mm", "mm", "'wide'"]),
        ({"focus_first_m": (1, 2)}, ["focus_first_m", "one number"]),
    ],
)
def test_a_camera_that_cannot_be_is_one_line_with_field_and_unit(change, words):
    with pytest.raises(InputError) as caught:
        Camera(**{**LENS, **change})
    message = str(caught.value)
    assert "\n" not in message
    assert all(word in message for word in words), message


@pytest.mark.parametrize("name", ["cam.toml", "cam.json"])
@pytest.mark.parametrize(
    "camera",
    [
        Camera(**LENS, blur_constant=0.271, decimation=2, image_width_px=4000),
        Camera(coc_constant_px_m=(20.5, 7.25), focus_first_m=math.inf, focus_second_m=math.inf),
    ],
)
def test_files_give_the_same_camera_back(tmp_path, name, camera):
    camera.save(tmp_path / name)
    assert Camera.load(tmp_path / name) == camera


def test_the_toml_file_states_the_units(tmp_path):
    Camera(**LENS).save(tmp_path / "cam.toml")
    assert "focal_length_mm = 50.0  # mm" in (tmp_path / "cam.toml").read_text()


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "focus_first_m = 1\nfocus_second_m = 2\nzoom = 3\n", "zoom"),
        ("a.toml", "f_number = 2\n", "focus_first_m and focus_second_m"),
        ("a.toml", "= =\n", "not a camera file"),
        ("a.json", "[1, 2]", "no table"),
        ("a.json", "{", "not a camera file"),
    ],
)
def test_bad_files_are_named(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises((InputError, FileError), match=words) as caught:
        Camera.load(tmp_path / name)
    assert name in str(caught.value)


def test_a_table_called_camera_is_taken(tmp_path):
    (tmp_path / "m.json").write_text(json.dumps({"camera": Camera(**LENS).as_dict(), "scene": "desk"}))
    assert Camera.load(tmp_path / "m.json") == Camera(**LENS)


def photograph(path, width=100, **tags):
    numbers = {"focal_length": 0x920A, "f_number": 0x829D, "distance": 0x9206, "x_resolution": 0xA20E, "unit": 0xA210}
    numbers["stored_width"] = 0xA002
    exif = Image.Exif()
    ifd = exif.get_ifd(0x8769)
    for name, value in tags.items():
        ifd[numbers[name]] = value
    Image.new("RGB", (width, 60)).save(path, exif=exif)
    return path


def test_exif_gives_lens_distance_and_with_the_sensor_the_pitch(tmp_path):
    a = photograph(tmp_path / "a.jpg", focal_length=35.0, f_number=2.8, distance=1.25)
    b = photograph(tmp_path / "b.jpg", focal_length=35.0, f_number=2.8, distance=3.0)
    with pytest.warns(UserWarning, match="unreliable"):
        camera = Camera.from_exif(a, b, sensor_width_mm=23.5)
    assert_allclose([camera.focal_length_mm, camera.f_number, camera.pixel_pitch_um], [35, 2.8, 235.0])
    assert_allclose([camera.focus_first_m, camera.focus_second_m], [1.25, 3.0])
    assert camera.image_width_px == 100


def test_exif_pitch_from_the_focal_plane_and_known_distances_without_a_warning(tmp_path):
    a = photograph(tmp_path / "a.jpg", focal_length=35.0, f_number=2.8, x_resolution=2000.0, unit=3)
    b = photograph(tmp_path / "b.jpg", focal_length=35.0, f_number=8.0)
    camera = Camera.from_exif(a, b, focus_first_m=1.7, focus_second_m=1.7)
    assert camera.f_number == (2.8, 8.0)
    assert_allclose(camera.pixel_pitch_um, 5.0)  # 2000 per cm


@pytest.mark.parametrize(("unit", "mm"), [(None, 25.4), (2, 25.4), (3, 10.0), (4, 1.0), (5, 0.001), (9, 25.4)])
def test_exif_pitch_is_of_the_pixels_that_are_left(tmp_path, unit, mm):
    """The resolution counts pixels of the image as the camera stored it, twice as wide as this one."""
    tags = {"focal_length": 35.0, "f_number": 2.8, "x_resolution": mm * 250.0, "stored_width": 200}
    one = photograph(tmp_path / "a.jpg", **tags, **({} if unit is None else {"unit": unit}))
    camera = Camera.from_exif(one, focus_first_m=1.7, focus_second_m=2.7)
    assert_allclose(camera.pixel_pitch_um, 2 * 1000 / 250, rtol=1e-3)


@pytest.mark.parametrize(("distance", "metres"), [(999_999.0, 999_999.0), (4294967295.0, math.inf)])
def test_exif_says_infinity_by_a_number_beyond_all(tmp_path, distance, metres):
    one = photograph(tmp_path / "a.jpg", focal_length=35.0, f_number=2.8, distance=distance)
    with pytest.warns(UserWarning, match="unreliable"):
        assert Camera.from_exif(one, focus_second_m=2, sensor_width_mm=20).focus_first_m == metres


@pytest.mark.parametrize(
    ("field", "least", "most"),
    [
        ("focal_length_mm", 0.5, 5000.0),
        ("f_number", 0.3, 128.0),
        ("pixel_pitch_um", 0.2, 1000.0),
        ("blur_constant", 0.05, 1.5),
    ],
)
def test_values_at_the_limits_of_what_is_plausible(field, least, most):
    lens = {**LENS, "focus_first_m": 100.0, "focus_second_m": 200.0}
    for value in (least, most):
        assert getattr(Camera(**{**lens, field: value}), field) == value
    for value in (0.99 * least, 1.01 * most):
        with pytest.raises(InputError, match=field):
            Camera(**{**lens, field: value})


def test_full_resolution_is_the_inverse_of_decimation():
    camera = Camera(**LENS, variance_offset_px2=0.9)
    small = camera.decimated(3)
    assert (small.decimation, small.variance_offset_px2) == (3, pytest.approx(0.1))
    back = small.at_full_resolution(3)
    assert (back.decimation, back.variance_offset_px2) == (1, pytest.approx(0.9))


def test_a_width_rounded_to_whole_pixels_is_no_reason_to_warn():
    camera = Camera(**LENS, image_width_px=4001)
    for width in (4000, 4002):
        camera.check_width(width)
    for width in (3999, 4003):
        with pytest.warns(UserWarning, match="crop"):
            camera.check_width(width)


def test_exif_that_says_too_little_is_an_error_that_names_what_is_missing(tmp_path):
    bare = tmp_path / "bare.png"
    Image.new("RGB", (8, 8)).save(bare)
    with pytest.raises(InputError, match="no EXIF"):
        Camera.from_exif(bare)
    a = photograph(tmp_path / "a.jpg", focal_length=35.0, f_number=2.8)
    with pytest.raises(InputError, match="focus_first_m and focus_second_m"):
        Camera.from_exif(a, sensor_width_mm=20)


def test_a_decimation_nobody_told_is_noticed_by_the_size():
    camera = Camera(**LENS, image_width_px=4000)
    with pytest.warns(UserWarning, match="decimation=4"):
        camera.check_width(1000)
    with pytest.warns(UserWarning, match="crop"):
        camera.check_width(3100)
    camera.check_width(4000)
    camera.decimated(4).check_width(1000)
    Camera(**LENS).check_width(17)  # nothing known, nothing said


def test_working_range_ends_where_blur_reaches_the_limit():
    camera = Camera(coc_constant_px_m=40, focus_first_m=1, focus_second_m=2)
    near, far = working_range_m(camera)
    one, two = camera.sigma_px(near)
    assert_allclose(two**2 - one**2, 25.0)
    assert_allclose(camera.sigma_px(far)[0] ** 2 - camera.sigma_px(far)[1] ** 2, 25.0)
    assert working_range_m(Camera(coc_constant_px_m=5, focus_first_m=1, focus_second_m=2))[1] == math.inf
    assert inverse_range(camera, 1.0)[0] > inverse_range(camera, 2.0)[0]


def test_resolution_is_the_change_of_depth_that_changes_s_by_its_error():
    camera = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2)
    z = array([0.8, 1.3, 3.0])
    step = 1e-5
    slope = (depth_to_blur(z + step, camera) - depth_to_blur(z - step, camera)) / (2 * step)
    assert_allclose(resolution_at(z, camera, 0.05), 1000 * 0.05 / abs(slope), rtol=1e-6)
    rows = resolution_table(camera)
    assert [row.depth_m for row in rows if row.depth_m in (1.0, 2.0)] == [1.0, 2.0]


@pytest.mark.parametrize(
    ("constant", "far"), [(40, 1 / (0.75 - 5**2 / (0.2887 * 40) ** 2)), (4, 40.0)], ids=["within reach", "to 20 planes"]
)
def test_the_table_of_resolutions_is_even_in_inverse_distance(constant, far):
    camera = Camera(coc_constant_px_m=constant, focus_first_m=1, focus_second_m=2, blur_constant=0.2887)
    rows = resolution_table(camera, stderr_px2=0.05)
    near = working_range_m(camera)[0]
    z = array([row.depth_m for row in rows])
    assert len(z) == 11 - (near > 1) - (far < 2)  # nine, and the focal planes
    assert_allclose([z[0], z[-1]], [near, far], rtol=1e-6)
    assert_allclose([row.variance_difference_px2 for row in rows], depth_to_blur(z, camera))
    assert_allclose([row.circle_first_px for row in rows], constant * abs(1 / z - 1), atol=1e-9)
    assert_allclose([row.circle_second_px for row in rows], constant * abs(1 / z - 0.5), atol=1e-9)
    assert_allclose([row.resolution_mm for row in rows], resolution_at(z, camera, 0.05))


def test_nothing_nearer_than_the_lens_is_in_its_range():
    lens = Camera(**{**LENS, "focus_first_m": 0.06, "focus_second_m": 0.07, "f_number": 128.0, "pixel_pitch_um": 900})
    assert inverse_range(lens)[1] == 990 / 50
    assert inverse_range(Camera(coc_constant_px_m=(30, 10), focus_first_m=2, focus_second_m=2), 2.0) == pytest.approx(
        [0.5 - 2 / (0.25 * 800**0.5), 0.5 + 2 / (0.25 * 800**0.5)], rel=0.2
    )


def test_resolution_of_an_aperture_pair_is_finite_in_focus():
    camera = Camera(coc_constant_px_m=(30, 10), focus_first_m=1.7, focus_second_m=1.7)
    at_focus, away = resolution_at(array([1.7, 3.0]), camera, 0.05)
    assert math.isfinite(at_focus)
    assert at_focus / 1.7**2 > away / 3.0**2


def test_resolution_of_an_aperture_pair_solves_the_square():
    """The change of 1/z that changes a (u - vertex)^2 by the error of s, to first order far from the vertex."""
    camera = Camera(coc_constant_px_m=(30, 10), focus_first_m=2, focus_second_m=2)
    one, two = camera.blur_constants_px_m
    size = 0.05 / abs(two**2 - one**2)
    for z in (2.0, 2.1, 4.0, 0.5):
        offset = abs(1 / z - 0.5)
        change = size / (offset + math.sqrt(offset**2 + size))
        assert_allclose(resolution_at(array([z]), camera, 0.05), 1000 * z**2 * change, rtol=1e-9)


NOTHING, SOMETHING = (None, 0, -1, math.inf, math.nan, "x"), (1e-9, 1, "3")


@pytest.mark.parametrize(("value", "answer"), [(v, False) for v in NOTHING] + [(v, True) for v in SOMETHING])
def test_numbers_in_exif_data_that_mean_something(value, answer):
    assert _positive(value) is answer


def test_larger_circles_are_smaller_f_numbers_or_larger_constants():
    two = Camera(focal_length_mm=50, f_number=(2.0, 8.0), pixel_pitch_um=5, focus_first_m=1, focus_second_m=1)
    assert two.with_circles(1.25).f_number == pytest.approx((1.6, 6.4))
    assert_allclose(two.with_circles(1.25).circle_constants_px_m, 1.25 * array(two.circle_constants_px_m))
    constants = Camera(coc_constant_px_m=(24.0, 8.0), focus_first_m=1.6, focus_second_m=1.6)
    assert constants.with_circles(1.25).coc_constant_px_m == pytest.approx((30.0, 10.0))
    one = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
    assert one.with_circles(0.5).coc_constant_px_m == pytest.approx(7)
