"""Depth in files: every format read back by somebody else's reader, or by its definition."""

from __future__ import annotations

import json
import sys

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image  # noqa: TID253

import relblur
from relblur import Camera, DepthMap, InputError
from relblur.base.errors import FileError, MissingDependencyError
from relblur.images.images import read_image

LENS = Camera(focal_length_mm=50, f_number=2, pixel_pitch_um=5, focus_first_m=1, focus_second_m=float("inf"))


@pytest.fixture
def depth_map():
    depth = 1 + np.arange(35.0).reshape(5, 7) / 10 + 0.00025
    depth[2, 3] = np.nan
    return DepthMap(depth, depth / 100, np.zeros((5, 7), np.uint8), LENS, {"psf": "disc"})


def test_npz_gives_everything_back(tmp_path, depth_map):
    relblur.save(tmp_path / "d.npz", depth_map)
    again = relblur.load(tmp_path / "d.npz")
    assert isinstance(again, DepthMap)
    assert_array_equal(again.depth_m, depth_map.depth_m)
    assert_array_equal(again.depth_stderr_m, depth_map.depth_stderr_m)
    assert_array_equal(again.flags, depth_map.flags)
    assert again.camera == LENS
    assert again.settings == {"psf": "disc"}


@pytest.mark.parametrize(("times", "scale", "tolerance"), [(1, 1, 0.5), (100, 10, 5)])
def test_png_holds_millimetres_or_a_coarser_stated_scale(tmp_path, depth_map, times, scale, tolerance):
    far = DepthMap(times * depth_map.depth_m, depth_map.depth_stderr_m, depth_map.flags, LENS)
    far.save(tmp_path / "d.png")
    with Image.open(tmp_path / "d.png") as picture:
        assert float(picture.text["scale_mm"]) == scale
        values = np.asarray(picture).astype(float)
    assert values[2, 3] == 0
    assert_allclose((values * scale)[far.known], 1000 * far.depth_m[far.known], atol=tolerance)


def test_tiff_has_depth_and_error_as_pages(tmp_path, depth_map):
    depth_map.save(tmp_path / "d.tif")
    pages = tifffile.imread(tmp_path / "d.tif")
    assert_array_equal(pages[0], depth_map.depth_m.astype(np.float32))
    assert_array_equal(pages[1], depth_map.depth_stderr_m.astype(np.float32))
    with tifffile.TiffFile(tmp_path / "d.tif") as file:
        about = json.loads(file.pages[0].description, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert about["camera"]["focus_first_m"] == 1
    assert about["camera"]["focus_second_m"] == "inf"


def test_npy_and_pfm_and_exr(tmp_path, depth_map):
    OpenEXR = pytest.importorskip("OpenEXR", reason="the exr extra is not installed")
    depth_map.save(tmp_path / "d.exr")
    with OpenEXR.File(str(tmp_path / "d.exr")) as file:
        assert_array_equal(file.channels()["Z"].pixels, depth_map.depth_m.astype(np.float32))
    depth_map.save(tmp_path / "d.npy")
    assert_array_equal(np.load(tmp_path / "d.npy"), depth_map.depth_m.astype(np.float32))
    depth_map.save(tmp_path / "d.pfm")
    bottom_row = np.frombuffer((tmp_path / "d.pfm").read_bytes()[-4 * 35 :][: 4 * 7], "<f4")
    assert_array_equal(bottom_row, depth_map.depth_m[-1].astype(np.float32))
    assert_array_equal(read_image(tmp_path / "d.pfm"), depth_map.depth_m.astype(np.float32))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, float])
def test_ply_holds_the_known_points_in_colour(tmp_path, depth_map, dtype):
    full = {np.uint8: 255, np.uint16: 65535, float: 1.0}[dtype]
    image = (np.linspace(0, full, 5 * 7 * 3).reshape(5, 7, 3)).astype(dtype)
    depth_map.save(tmp_path / "d.ply", image=image)
    header, data = (tmp_path / "d.ply").read_bytes().split(b"end_header\n", 1)
    assert b"element vertex 34\n" in header
    assert b"y up, z towards the lens" in header
    kinds = [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("red", "u1"), ("green", "u1"), ("blue", "u1")]
    kinds += [("scalar_depth_stderr_m", "<f4"), ("scalar_flags", "<f4")]
    for name, kind in kinds:
        assert f"property {'uchar' if kind == 'u1' else 'float'} {name}\n".encode() in header
    rows = np.frombuffer(data, dtype=kinds)
    z = depth_map.depth_m[0, 6]
    focal = LENS.focal_length_px
    # The upper right pixel: right of the middle and above it, before the viewer.
    assert_allclose([rows["x"][6], rows["y"][6], rows["z"][6]], [3 * z / focal, 2 * z / focal, -z], rtol=1e-6)
    known = depth_map.known
    assert_allclose(rows["scalar_depth_stderr_m"], depth_map.depth_stderr_m[known], rtol=1e-6)
    assert_array_equal(rows["scalar_flags"], depth_map.flags[known])
    assert_allclose(rows["blue"][-1], 255)
    assert_allclose(rows["red"][6], 255 * float(image[0, 6, 0]) / full, atol=1)


def test_ply_without_colours(tmp_path, depth_map):
    direct = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    other = DepthMap(depth_map.depth_m, depth_map.depth_stderr_m, depth_map.flags, direct)
    with pytest.raises(InputError, match="focal_length_mm"):
        other.save(tmp_path / "d.ply")
    depth_map.save(tmp_path / "d.ply")
    header, data = (tmp_path / "d.ply").read_bytes().split(b"end_header\n", 1)
    assert b"red" not in header
    assert len(data) == 34 * 20
    with pytest.raises(InputError, match="same 5x7 pixels"):
        depth_map.save(tmp_path / "e.ply", image=np.zeros((4, 4)))
    assert not (tmp_path / "e.ply").exists()


def test_without_the_extra_exr_says_what_to_install(tmp_path, depth_map, monkeypatch):
    monkeypatch.setitem(sys.modules, "OpenEXR", None)
    with pytest.raises(MissingDependencyError, match=r"relblur\[exr\]"):
        depth_map.save(tmp_path / "d.exr")


def test_unknown_suffixes_and_foreign_files_are_refused(tmp_path, depth_map):
    with pytest.raises(InputError, match=r"\.npz"):
        depth_map.save(tmp_path / "d.jpg")
    with pytest.raises(InputError, match="colour"):
        relblur.save(tmp_path / "d.png", depth_map.depth_m, colour=True)
    from relblur.images.disk import write_npz

    later = {"format": "relblur.DepthMap", "format_version": 99}
    for about, message in (({"format": "other"}, "other"), (later, "newer")):
        write_npz(tmp_path / "x.npz", {"depth_m": np.zeros((2, 2))}, about)
        with pytest.raises(FileError, match=message):
            DepthMap.load(tmp_path / "x.npz")
