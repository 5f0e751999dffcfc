"""Camera files that people, editors and attackers write: a camera, or one line that says what is wrong."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest

import relblur
from relblur import Camera, DepthMap, InputError, RelblurError
from relblur.base.errors import FileError
from relblur.depth.working_range import resolution_table, working_range_m
from relblur.images.disk import write_npz

LENS = {
    "focus_first_m": "1.0",
    "focus_second_m": "2.0",
    "focal_length_mm": "35",
    "f_number": "2.8",
    "pixel_pitch_um": "6",
    "blur_constant": "0.25",
    "variance_offset_px2": "0.0",
    "decimation": "1",
    "image_width_px": "4000",
}
CONSTANT = {
    "focus_first_m": "1.0",
    "focus_second_m": "2.0",
    "coc_constant_px_m": "20.0",
    "blur_constant": "0.25",
    "variance_offset_px2": "0.0",
    "decimation": "1",
    "image_width_px": "4000",
}
VALUES = (
    *(
        '"x"',
        '"2"',
        '""',
        "[]",
        "[1]",
        "[1,2]",
        "[1,2,3]",
        "[[1,2],3]",
        "[[[1,2],3],4]",
        "{}",
        "{a=1}",
        "true",
        "false",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "-1",
        "0",
        "-0.0",
        "1e-320",
        "1e308",
        "1e400",
        "9" * 400,
        "-" + "9" * 400,
        "0x" + "f" * 5000,
    ),
    *("2.5", "2.0", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "[nan,inf]", '["a","b"]', '"inf"', '"nan"'),
    *(
        '"1e3"',
        '"１"',
        "4",
        "[true,false]",
        "1000000000000000000000",
        "100000",
        "99999999",
        "1e13",
        "[" * 900 + "]" * 900,
    ),
    *("1.0000000000000002", "99", "-99", "1e12", "0.001"),
)


def use(camera: Camera, folder) -> None:
    """Do all that is done with a camera; what was saved must be the camera again, exactly."""
    for quantity in (camera.circle_constants_px_m, camera.focus_per_m, camera.blur_constants_px_m):
        assert np.isfinite(quantity).all()
    assert camera.kind in ("focus", "aperture", "mixed")
    camera.decimated(2)
    for name in ("again.toml", "again.json"):
        camera.save(folder / name)
        assert Camera.load(folder / name) == camera
    near, far = working_range_m(camera)
    assert 0 < near < far
    for row in resolution_table(camera):
        assert all(math.isfinite(value) for value in vars(row).values())


@pytest.mark.parametrize("base", [LENS, CONSTANT], ids=["lens", "constant"])
def test_any_value_of_any_field_gives_a_camera_or_one_of_our_errors(base, tmp_path):
    accepted, told = 0, []
    for name in base:
        for value in VALUES:
            fields = {**base, name: value}
            (tmp_path / "cam.toml").write_text("\n".join(f"{key} = {text}" for key, text in fields.items()))
            try:
                use(Camera.load(tmp_path / "cam.toml"), tmp_path)
                accepted += 1
            except RelblurError as error:
                told.append(str(error))
    assert accepted >= 30
    assert max(len(text) for text in told) < 400 + len(str(tmp_path))
    assert not any("\n" in text for text in told)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("decimation", "x", r"decimation must be a whole number from 1 to 100000, got 'x'"),
        ("decimation", math.inf, "decimation must be a whole number"),
        ("decimation", math.nan, "decimation must be a whole number"),
        ("decimation", [], "decimation must be a whole number"),
        ("decimation", True, "decimation must be a whole number"),
        ("decimation", 10**400, "decimation must be a whole number"),
        ("image_width_px", "x", "image_width_px must be a whole number"),
        ("image_width_px", 0, "image_width_px must be a whole number"),
        ("f_number", ((1, 2), 3), r"f_number must be a number, got \(1, 2\)"),
        ("f_number", 10**400, r"f_number must be a number, got 1000.* \.\.\.$"),
        pytest.param("f_number", 1 << 20000, "f_number must be a number, got int", id="too long to be written"),
        ("blur_constant", True, "blur_constant must be a number, got True"),
        ("variance_offset_px2", 10**400, "variance_offset_px2 must be a number in px"),
        ("focus_second_m", 1e13, r"focus_second_m = 1e\+13 m is not plausible"),
        ("focus_second_m", 1.0 + 1e-12, "are both 1 m with one aperture"),
    ],
)
def test_the_message_names_the_field_and_what_is_allowed(field, value, message):
    good = {"focus_first_m": 1.0, "focus_second_m": 2.0, "focal_length_mm": 35, "f_number": 2.8, "pixel_pitch_um": 6}
    with pytest.raises(InputError, match=message):
        Camera(**{**good, field: value})


def test_numbers_of_numpy_and_whole_floats_are_taken():
    camera = Camera(
        focus_first_m=np.float32(1), focus_second_m=np.int64(2), coc_constant_px_m=20, decimation=np.int8(2)
    )
    assert camera.decimation == 2
    assert Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=20, decimation=4.0).decimation == 4


@pytest.mark.parametrize(
    "encode", [lambda text: b"\xef\xbb\xbf" + text.encode(), lambda t: t.replace("\n", "\r\n").encode()]
)
@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_files_of_windows_editors_are_read(encode, suffix, tmp_path):
    camera = Camera(focus_first_m=1, focus_second_m=math.inf, coc_constant_px_m=(20, 3.3))
    camera.save(tmp_path / f"cam{suffix}")
    (tmp_path / f"cam{suffix}").write_bytes(encode((tmp_path / f"cam{suffix}").read_text()))
    assert Camera.load(tmp_path / f"cam{suffix}") == camera


HOSTILE = {
    "arrays.toml": "a = " + "[" * 4000 + "]" * 4000,
    "many_arrays.toml": "a = " + "[" * 400_000,
    "dotted.toml": "a" + ".a" * 4900 + " = 1",
    "more_dotted.toml": "a" + ".a" * 100_000 + " = 1",
    "tables.toml": "\n".join("[" + ".".join(["a"] * i) + "]" for i in range(1, 600)),
    "arrays.json": "[" * 9000,
    "objects.json": '{"a":' * 1900,
    "digits.json": '{"focus_first_m":' + "1" * 5000 + ',"focus_second_m":2,"coc_constant_px_m":20}',
    "digits.toml": "focus_first_m = " + "1" * 5000 + "\nfocus_second_m=2\ncoc_constant_px_m=20",
    "long_name.toml": "x" * 9000 + " = 1",
    "surrogate.json": '{"\\ud800": 1}',
    "nan.json": '{"focus_first_m": NaN, "focus_second_m": 2, "coc_constant_px_m": 20}',
    "word.json": '"camera"',
    "null.json": "null",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_soon_and_in_one_short_line(name, tmp_path):
    (tmp_path / name).write_text(HOSTILE[name])
    start = time.process_time()
    with pytest.raises(RelblurError) as caught:
        Camera.load(tmp_path / name)
    assert time.process_time() - start < 8
    assert len(str(caught.value)) < 400 + len(str(tmp_path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "camera",
    [
        {"focus_first_m": 1, "focus_second_m": 2, "coc_constant_px_m": 20, "decimation": "x"},
        {"focus_first_m": 1, "focus_second_m": 2, "coc_constant_px_m": [[1, 2], 3]},
        {"focus_first_m": 10**400, "focus_second_m": 2, "coc_constant_px_m": 20},
        {"focus_first_m": 1, "focus_second_m": 2, "coc_constant_px_m": 20, "image_width_px": []},
        {"focus_first_m": {}, "focus_second_m": 2},
        [],
        "x",
    ],
)
def test_a_depth_map_with_such_a_camera_is_refused(camera, tmp_path):
    good = Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=20)
    arrays = {"depth_m": np.ones((2, 3)), "depth_stderr_m": np.ones((2, 3)), "flags": np.zeros((2, 3), np.uint8)}
    DepthMap(camera=good, **arrays).save(tmp_path / "depth.npz")
    assert relblur.load(tmp_path / "depth.npz").camera == good
    about = {"format": "relblur.DepthMap", "format_version": 1, "settings": {}}
    write_npz(tmp_path / "depth.npz", arrays, {**about, "camera": json.loads(json.dumps(camera))})
    with pytest.raises(FileError, match=r"depth.npz"):
        relblur.load(tmp_path / "depth.npz")


def test_flags_that_are_no_whole_numbers_are_refused(tmp_path):
    camera = Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=20).as_dict()
    arrays = {"depth_m": np.ones((2, 3)), "depth_stderr_m": np.ones((2, 3)), "flags": np.full((2, 3), np.nan)}
    about = {"format": "relblur.DepthMap", "format_version": 1, "settings": {}, "camera": camera}
    write_npz(tmp_path / "depth.npz", arrays, about)
    with pytest.raises(FileError, match="flags must be whole numbers"):
        relblur.load(tmp_path / "depth.npz")


def test_a_camera_that_can_measure_no_distance_says_so():
    with pytest.raises(InputError, match="more than 5 px of relative blur at every distance"):
        working_range_m(Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=1, variance_offset_px2=99))


@pytest.mark.parametrize(
    "name", ["focus_first_m", "focus_second_m", "blur_constant", "variance_offset_px2", "decimation"]
)
def test_null_is_no_value_of_a_field_that_is_needed(name, tmp_path):
    """Only JSON has it."""
    fields = {"focus_first_m": 1.0, "focus_second_m": 2.0, "coc_constant_px_m": 4.0, name: None}
    (tmp_path / "cam.json").write_text(json.dumps(fields))
    with pytest.raises(RelblurError, match=f"{name} must be a .*number.*None"):
        Camera.load(tmp_path / "cam.json")


def test_null_leaves_out_what_may_be_left_out(tmp_path):
    fields = {"focus_first_m": 1.0, "focus_second_m": 2.0, "coc_constant_px_m": 4.0, "f_number": None}
    (tmp_path / "cam.json").write_text(json.dumps(fields))
    assert Camera.load(tmp_path / "cam.json").f_number is None
