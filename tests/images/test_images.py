"""Images and maps in files: what goes in comes out, and what is broken is said in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image  # noqa: TID253

from relblur import BlurMap, InputError, imread, load, save
from relblur.base.errors import FileError
from relblur.images.disk import replacing
from relblur.images.images import read_image

SHAPES = [(7, 9), (7, 9, 3)]


def _picture(shape, dtype):
    values = np.random.default_rng(0).random(shape)
    if np.issubdtype(dtype, np.integer):
        return np.rint(values * np.iinfo(dtype).max).astype(dtype)
    return values.astype(dtype)


@pytest.fixture
def blur_map():
    rng = np.random.default_rng(1)
    s = rng.normal(size=(6, 8))
    s[2, 3] = np.nan
    stderr = np.where(np.isnan(s), np.nan, rng.random((6, 8)))
    settings = {"method": "window", "noise": 0.1 + 0.2, "sigmas": [0.1, 5.0], "window": 9, "none": None}
    return BlurMap(s, stderr, rng.integers(0, 127, (6, 8)), np.sign(np.nan_to_num(s)), settings)


@pytest.mark.parametrize("shape", SHAPES, ids=["grey", "colour"])
@pytest.mark.parametrize(
    ("suffix", "dtype"),
    [
        *((suffix, dtype) for suffix in (".png", ".tif", ".npy") for dtype in (np.uint8, np.uint16)),
        *((suffix, dtype) for suffix in (".tiff", ".npy") for dtype in (np.float32, np.float64)),
    ],
)
def test_images_come_back_exactly(tmp_path, shape, suffix, dtype):
    picture = _picture(shape, dtype)
    path = tmp_path / f"image{suffix}"
    save(path, picture)
    stored = read_image(path)
    assert stored.dtype == dtype
    assert_array_equal(stored, picture)
    scale = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1
    values = imread(path, linear=False)
    assert values.dtype == imread(path).dtype == np.float64
    assert_allclose(values, picture.astype(np.float64) / scale, rtol=1e-15)
    assert_array_equal(load(path), imread(path))
    path.rename(tmp_path / "image.dat")  # the content decides the format, not the name
    assert_array_equal(read_image(tmp_path / "image.dat"), picture)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("suffix", [".jpg", ".JPG"])
def test_jpeg_comes_back_nearly(tmp_path, channels, suffix):
    ramp = np.broadcast_to(np.linspace(0.2, 0.8, 40)[:, None], (32, 40, channels)).squeeze()
    save(tmp_path / f"image{suffix}", ramp)
    assert_allclose(imread(tmp_path / f"image{suffix}"), ramp, atol=0.02)


@pytest.mark.parametrize(("mode", "channels"), [("RGBA", 3), ("LA", 1)])
def test_alpha_is_dropped_with_a_warning(tmp_path, mode, channels):
    path = tmp_path / "image.png"
    values = _picture((5, 6, channels + 1), np.uint8)
    planes = [Image.fromarray(np.ascontiguousarray(values[:, :, c])) for c in range(channels + 1)]
    Image.merge(mode, planes).save(path)
    with pytest.warns(UserWarning, match="image.png: alpha channel dropped"):
        stored = read_image(path)
    assert_array_equal(stored, values[:, :, :3] if mode == "RGBA" else values[:, :, 0])
    deep = _picture((5, 6, 4), np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", deep, photometric="rgb", extrasamples=["unassalpha"])
    with pytest.warns(UserWarning, match="alpha channel dropped"):
        assert_array_equal(read_image(tmp_path / "a.tif"), deep[:, :, :3])


def test_palette_and_black_and_white_pictures_are_read(tmp_path):
    grey = _picture((8, 8), np.uint8)
    Image.fromarray(grey).convert("RGB").convert("P", palette=Image.Palette.ADAPTIVE, colors=256).save(
        tmp_path / "p.png"
    )
    assert_allclose(read_image(tmp_path / "p.png").mean(axis=2), grey, atol=2.5)
    Image.fromarray(grey > 100).save(tmp_path / "bw.png")
    assert_array_equal(imread(tmp_path / "bw.png"), (grey > 100).astype(float))


def test_planar_and_paged_tiffs(tmp_path):
    colour = _picture((6, 7, 3), np.uint8)
    tifffile.imwrite(tmp_path / "planar.tif", np.moveaxis(colour, -1, 0), photometric="rgb", planarconfig="separate")
    assert_array_equal(read_image(tmp_path / "planar.tif"), colour)
    pages = _picture((3, 6, 7), np.uint8)
    tifffile.imwrite(tmp_path / "pages.tif", pages, photometric="minisblack")
    with pytest.warns(UserWarning, match="has 3 pages; page 1 is used"):
        assert_array_equal(read_image(tmp_path / "pages.tif"), pages[0])


@pytest.mark.parametrize("read", [load, BlurMap.load])
def test_maps_come_back_exactly(tmp_path, blur_map, read):
    path = tmp_path / "map.npz"
    save(path, blur_map)
    assert [p.name for p in tmp_path.iterdir()] == ["map.npz"]
    back = read(path)
    assert isinstance(back, BlurMap)
    for field in ("variance_difference", "variance_stderr", "flags", "sharper"):
        assert_array_equal(getattr(back, field), getattr(blur_map, field))
        assert getattr(back, field).dtype == getattr(blur_map, field).dtype
    assert back.settings == blur_map.settings
    with np.load(path, allow_pickle=False) as archive:
        assert json.loads(str(archive["metadata"]))["format"] == "relblur.BlurMap"
    nothing = np.full((2000, 2000), np.nan)  # shrinks by more than 200, which a map of a photograph never does
    save(path, BlurMap(nothing, nothing, np.ones(nothing.shape, np.uint8), np.zeros(nothing.shape, np.int8), {}))
    assert np.isnan(read(path).sigma).all()


@pytest.mark.parametrize("value", [None, 0.0, 2.25, np.nan], ids=["many values", "0", "2.25", "none"])
def test_png_export_states_its_scale(tmp_path, blur_map, value):
    ones = np.ones((4, 4))
    exported = blur_map if value is None else BlurMap(value * ones, ones, 0 * ones, 0 * ones)
    exported.save(tmp_path / "map.png")
    with Image.open(tmp_path / "map.png") as picture:
        text = picture.text
    values = read_image(tmp_path / "map.png")
    assert values.dtype == np.uint16
    sigma = float(text["offset_px"]) + float(text["scale_px"]) * values.astype(float)
    known = np.isfinite(exported.sigma)
    assert_array_equal(values == 0, ~known)
    assert_allclose(sigma[known], exported.sigma[known], atol=0.51 * float(text["scale_px"]) if value is None else 1e-9)
    assert "positive where second is blurrier" in text["quantity"]


def test_a_map_does_not_go_into_a_format_that_is_not_known(tmp_path, blur_map):
    with pytest.raises(InputError, match=r"a BlurMap goes to .npz, .exr, .tif, .tiff, .npy, .png$"):
        blur_map.save(tmp_path / "map.jpg")
    with pytest.raises(InputError, match="path comes first"):
        save(blur_map, tmp_path / "map.npz")
    assert list(tmp_path.iterdir()) == []


def test_an_npz_of_something_else_is_refused(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(FileError, match=r"other.npz is not a complete relblur file"):
        load(tmp_path / "other.npz")
    later = {"format": "relblur.BlurMap", "format_version": 99, "settings": {}}
    for about, message in (({"format": "thing"}, "holds 'thing', not a relblur.BlurMap"), (later, "upgrade relblur")):
        np.savez(tmp_path / "named.npz", metadata=np.array(json.dumps(about)))
        with pytest.raises(FileError, match=message):
            load(tmp_path / "named.npz")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.ones(5), "holds an array of shape \\(5,\\)"),
        (np.ones((0, 20), np.int32), "holds an array of shape"),
        (np.ones((4, 4, 7)), "has 7 channels; relblur takes 1 \\(grey\\) or 3"),
        (np.ones((4, 4), complex), "holds complex128; an image is made of real numbers"),
        (np.array([[None]]), "is damaged or incomplete"),
    ],
)
def test_arrays_that_are_no_image_are_refused(tmp_path, array, message):
    np.save(tmp_path / "array.npy", array, allow_pickle=True)
    with pytest.raises((FileError, InputError), match=f"array.npy {message}") as error:
        imread(tmp_path / "array.npy")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.png", np.ones(4), "data has shape \\(4,\\); an image is \\(H, W\\) or \\(H, W, 3\\)"),
        ("a.png", np.full((4, 4), 1.5), "data must lie within 0..1 .*write .tif or .npy to keep floats"),
        ("a.jpg", np.full((16, 16), 40000, np.uint16), "JPEG holds 8 bits, got uint16; write .png, .tif or .npy"),
        ("a.png", np.ones((4, 4), int), "data has dtype int64; convert it to uint8, uint16 or float"),
        ("a.npy", np.ones((4, 4), complex), "data has dtype complex128"),
        ("a.bmp", np.zeros((4, 4), np.uint8), "path ends in '.bmp'; use one of .png"),
    ],
)
def test_what_cannot_be_written_is_refused_and_leaves_nothing(tmp_path, name, data, message):
    with pytest.raises(InputError, match=message):
        save(tmp_path / name, data)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileError, match=r"there is no folder .*nowhere; make it first"):
        save(tmp_path / "nowhere" / "a.png", np.zeros((4, 4), np.uint8))
    with pytest.raises(FileError, match="it is a folder; name a file in it"), replacing(tmp_path):
        pass


def test_a_full_disk_is_one_line_and_leaves_no_parts(tmp_path, monkeypatch, blur_map):
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", full)
    with pytest.raises(FileError, match=r"cannot write .*map.npz: No space left on device"):
        blur_map.save(tmp_path / "map.npz")
    assert list(tmp_path.iterdir()) == []
