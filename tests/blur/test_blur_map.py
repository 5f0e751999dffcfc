"""Results to look at, to cut, to hand to other programs, and to read again."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relblur
from relblur import BlurMap, Camera, DepthMap, InputError, synth
from relblur.base.errors import FileError
from relblur.depth.calibration import Calibration

tifffile = pytest.importorskip("tifffile")

RNG = np.random.default_rng(5)
FIELDS = ("variance_difference", "variance_stderr", "flags", "sharper")


def made(dtype=np.float64, shape=(24, 30)):
    s = RNG.normal(0, 2, shape).astype(dtype)
    s[0, 0] = np.nan
    stderr = RNG.random(shape).astype(dtype) + 0.1
    flags = np.zeros(shape, np.uint8)
    flags[0, 0] = relblur.Flag.FLAT
    flags[:6] |= np.uint8(relblur.Flag.FILLED)
    settings = {"method": "window", "noise": 0.1, "sigmas": [1.0, 2.0], "decimate": 3, "full_size": "90x72"}
    return BlurMap(s, stderr, flags, np.where(np.isnan(s), 0, np.sign(s)), settings)


def assert_same(found, wanted):
    for name in FIELDS:
        assert_array_equal(getattr(found, name), getattr(wanted, name))
        assert getattr(found, name).dtype == getattr(wanted, name).dtype
    assert dict(found.settings) == dict(wanted.settings)


def test_print_says_what_matters():
    text = str(made())
    assert "24 x 30 pixels" in text
    assert "decimated by 3 from 90x72" in text
    assert "answered  99.9% of the pixels" in text
    assert "flags     no flag 75.0 %, filled 25.0 %" in text
    assert "the median standard error" in text
    assert "px, + where second is the blurrier" in text
    assert len(text.splitlines()) == 6
    assert max(map(len, text.splitlines())) <= 100


def test_flags_have_16_bits_and_files_with_8_are_read(tmp_path):
    blur = made()
    blur.save(tmp_path / "map.npz")
    with np.load(tmp_path / "map.npz") as stored:
        content = dict(stored)
    assert content["flags"].dtype == np.uint16
    np.savez(tmp_path / "former.npz", **{**content, "flags": content["flags"].astype(np.uint8)})
    assert_same(BlurMap.load(tmp_path / "former.npz"), blur)


def test_a_flag_has_one_share_wherever_it_is_shown():
    blur = made()
    flags = np.array(blur.flags)
    flags[:12] |= np.uint8(2)  # clipped, half of them filled as well
    blur = BlurMap(blur.variance_difference, blur.variance_stderr, flags, blur.sharper, blur.settings)
    shown = str(blur).rpartition("flags     ")[2]
    assert "clipped" in shown
    assert all(share in blur._repr_html_() for share in shown.split(", "))


def test_print_of_nothing_and_of_one_pixel():
    nothing = np.full((3, 4), np.nan)
    text = str(BlurMap(nothing, nothing, np.full((3, 4), 4), np.zeros((3, 4))))
    assert "answered  0.0%" in text
    assert "flat 100.0 %" in text
    one = str(BlurMap(np.ones((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), np.ones((1, 1))))
    assert "+1 to +1 px" in one
    assert "flags     no flag 100.0 %" in one


@pytest.mark.parametrize("part", [np.s_[4:9, 3:], np.s_[::2, ::-1], np.s_[5:6], np.s_[..., 2:4], np.s_[:]])
def test_a_part_of_a_map_is_a_map(part):
    blur = made(np.float32)
    found = blur[part]
    assert isinstance(found, BlurMap)
    for name in FIELDS:
        assert_array_equal(getattr(found, name), getattr(blur, name)[part])
    assert not np.shares_memory(found.flags, blur.flags)


@pytest.mark.parametrize("part", [3, np.s_[3, 4], np.s_[:, 3], np.s_[:, :, :], None, np.ones((24, 30), bool), "sigma"])
def test_other_parts_are_refused_with_advice(part):
    with pytest.raises(InputError, match=r"by slices, blur\[100:200, 50:\]; .*blur.sigma\[row, column\]"):
        made()[part]


def test_an_empty_part_is_refused_and_rows_are_not_gone_through():
    with pytest.raises(InputError, match="24x30 pixels is empty"):
        made()[30:]
    with pytest.raises(TypeError, match=r"iterate over blur\.sigma"):
        list(made())


def test_arrays_of_maps_are_sigma_and_depth():
    blur = made()
    assert_array_equal(np.asarray(blur), blur.sigma)
    assert np.asarray(blur, dtype=np.float32).dtype == np.float32
    assert_allclose(np.nanmedian(blur), np.nanmedian(blur.sigma))
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    depth = DepthMap(np.full((3, 4), 1.5), np.full((3, 4), 0.1), np.zeros((3, 4)), camera)
    assert_array_equal(np.asarray(depth), 1.5)
    assert np.array(depth).flags.writeable
    assert "1.5 to 1.5 m" in str(depth)
    assert "0.1 m, the median" in str(depth)


def test_open_exr_holds_everything_in_single_precision(tmp_path):
    OpenEXR = pytest.importorskip("OpenEXR")
    blur = made()
    blur.save(tmp_path / "map.exr")
    with OpenEXR.File(str(tmp_path / "map.exr")) as file:
        for name in (*FIELDS, "sigma"):
            assert_array_equal(file.channels()[name].pixels, getattr(blur, name).astype(np.float32))


def test_tiff_holds_sigma_and_its_error_in_two_pages(tmp_path):
    blur = made()
    blur.save(tmp_path / "map.tif")
    pages = tifffile.imread(tmp_path / "map.tif")
    assert pages.shape == (2, 24, 30)
    assert pages.dtype == np.float32
    assert_allclose(pages, [blur.sigma, blur.sigma_stderr], rtol=1e-6)


def test_npy_holds_sigma_and_is_no_map(tmp_path):
    blur = made()
    blur.save(tmp_path / "map.npy")
    assert_array_equal(np.load(tmp_path / "map.npy"), blur.sigma)
    with pytest.raises(FileError, match=r"map.npy is not a complete BlurMap"):
        BlurMap.load(tmp_path / "map.npy")


def test_images_are_no_maps(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((4, 5), np.float32))
    with pytest.raises(FileError, match=r"a.tif is not a complete BlurMap"):
        BlurMap.load(tmp_path / "a.tif")
    with pytest.raises(FileError, match="there is no file"):
        BlurMap.load(tmp_path / "d.npz")


def test_depth_maps_are_loaded_by_their_class(tmp_path):
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    depth = DepthMap(np.full((3, 4), 1.5), np.full((3, 4), 0.1), np.zeros((3, 4)), camera)
    depth.save(tmp_path / "d.npz")
    assert_array_equal(DepthMap.load(tmp_path / "d.npz").depth_m, depth.depth_m)
    made().save(tmp_path / "b.npz")
    with pytest.raises(FileError, match=r"holds 'relblur.BlurMap', not a relblur.DepthMap"):
        DepthMap.load(tmp_path / "b.npz")


def test_xarray_has_names_units_and_flags():
    pytest.importorskip("xarray")
    blur = made()
    found = blur.to_xarray()
    assert found.sigma.dims == ("row", "column")
    assert found.sigma.attrs["units"] == "px"
    assert_array_equal(found.variance_difference, blur.variance_difference)
    assert dict(zip(found.flags.flag_meanings.split(), found.flags.flag_masks, strict=True))["flat"] == 4
    assert found.attrs["method"] == "window"
    assert json.loads(found.attrs["sigmas"]) == [1.0, 2.0]
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=np.inf)
    depth = DepthMap(np.full((3, 4), 1.5), np.full((3, 4), 0.1), np.zeros((3, 4)), camera).to_xarray()
    assert depth.depth.attrs["units"] == "m"
    assert json.loads(depth.attrs["camera"])["focus_second_m"] == "inf"


def test_xarray_may_be_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(relblur.errors.MissingDependencyError, match=r"pip install 'relblur\[xarray\]'"):
        made().to_xarray()


def test_what_functions_give_back_is_short_to_print():
    image = RNG.random((48, 64))
    first, second = synth.pair(image, 1.0)
    aligned = relblur.align(first, np.roll(first, 2, axis=1))
    matched = relblur.match_exposure(first, 0.5 * second)
    pair = relblur.prepare_pair(first, second)
    for each in (aligned, matched, matched.exposure, pair):
        assert len(repr(each)) < 400
        assert "array(" not in repr(each)
        assert "\n" not in repr(each)
    assert repr(matched.exposure).startswith("Exposure(second multiplied by")
    assert repr(pair).startswith("ComparablePair(64x48 grey; light:")


def test_a_calibration_is_short_to_print():
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    found = Calibration(camera, {"blur_constant": 0.26}, {"blur_constant": 0.001}, 1000, np.zeros(1000), 0.0123)
    assert repr(found) == "Calibration(blur_constant=0.26 +- 0.001; 1000 points, median depth error 1.23%)"
