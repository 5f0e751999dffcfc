"""Pictures made from photographs: depth, tone curve, profile and EXIF of the photograph that they are made from."""

from __future__ import annotations

import struct
from functools import cache

import cv2  # noqa: TID253
import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, ImageCms  # noqa: TID253

from command import run
from relblur import __version__, estimate_stack, imread, prepare_pair, read_photograph, synth
from relblur.images.exif import SOFTWARE
from relblur.images.images import is_result
from relblur.report.full_size import write_picture

CODES = np.arange(256 * 3).reshape(16, 16, 3)
GAMMA = 461 / 256  # as a profile stores it


@cache
def rgb_profile(gamma=GAMMA):
    """Return an sRGB profile of LittleCMS with another curve, such as an editor's."""
    whole = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
    (count,) = struct.unpack_from(">I", whole, 128)
    for index in range(count):
        name, offset, _ = struct.unpack_from(">4sII", whole, 132 + 12 * index)
        if name in (b"rTRC", b"gTRC", b"bTRC"):
            whole[offset : offset + 14] = b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256))
            struct.pack_into(">I", whole, 132 + 12 * index + 8, 14)
    return bytes(whole)


def exif_data(orientation=1, order="<"):
    """Return EXIF data with a shot, a place and a thumbnail."""
    exif = Image.Exif()
    exif.endian = order
    exif[271], exif[305], exif[0x0112] = "Maker", "Firmware 1", orientation
    exif.get_ifd(0x8769).update({0x829D: 2.8, 0xA001: 0xFFFF})
    exif.get_ifd(0x8825).update({1: "N", 2: (48.0, 12.0, 1.5)})
    content = bytearray(exif.tobytes())
    assert content[6:8] == (b"II" if order == "<" else b"MM")
    following = 6 + 8 + 2 + 12 * struct.unpack_from(f"{order}H", content, 14)[0]
    struct.pack_into(f"{order}I", content, following, len(content) - 6)
    at = len(content) - 6 + 2 + 24 + 4
    entries = struct.pack(f"{order}HHIIHHII", 513, 4, 1, at, 514, 4, 1, 4)
    return bytes(content) + struct.pack(f"{order}H", 2) + entries + bytes(4) + b"\xff\xd8\xff\xd9"


def stored_file(path, dtype, *, profile=None, exif=b""):
    codes = (CODES // 3).astype(dtype) if dtype == np.uint8 else (CODES * 85 + 7).astype(dtype)
    if dtype == np.uint8:
        options = {"quality": 100, "subsampling": 0} if path.suffix == ".jpg" else {}
        Image.fromarray(codes).save(path, exif=exif, icc_profile=profile, **options)
    elif path.suffix == ".png":
        cv2.imwrite(str(path), codes[:, :, ::-1])
    else:
        tifffile.imwrite(path, codes, iccprofile=profile, photometric="rgb", software="editor")
    return path


def numbers_of(path):
    if path.suffix in (".tif", ".tiff"):
        return tifffile.imread(path)
    if path.suffix == ".jpg":  # decoders differ by a level
        with Image.open(path) as picture:
            return np.asarray(picture)
    read = cv2.imread(str(path), cv2.IMREAD_UNCHANGED | cv2.IMREAD_IGNORE_ORIENTATION)
    return read[:, :, ::-1] if read.ndim == 3 else read


@pytest.mark.parametrize("suffix", [".png", ".tif"])
@pytest.mark.parametrize("source", ["jpg", "png", "tif", "png16", "tif16", "tif16 profile", "jpg profile"])
def test_light_is_written_as_the_numbers_that_it_was_read_from(tmp_path, source, suffix):
    kind, *profile = source.split()
    dtype = np.uint16 if kind.endswith("16") else np.uint8
    profile = rgb_profile() if profile else None
    path = stored_file(tmp_path / f"in.{kind[:3]}", dtype, profile=profile)
    photograph = read_photograph(path, dtype=np.float64)
    light = photograph.light
    photograph.form.write(tmp_path / f"out{suffix}", light.astype(np.float32), "nothing")
    written = numbers_of(tmp_path / f"out{suffix}")
    assert written.dtype == dtype
    assert_array_equal(written, numbers_of(path))
    if dtype == np.uint8:  # Pillow opens no 16-bit colour TIFF of every version
        with Image.open(tmp_path / f"out{suffix}") as picture:
            assert picture.info.get("icc_profile") == profile
    twice = read_photograph(tmp_path / f"out{suffix}", dtype=np.float64)
    again = twice.light
    assert twice.info["curve"] == photograph.info["curve"]
    assert_allclose(again, light, atol=1e-6)


@pytest.mark.parametrize("options", [{"gamma": 2.2}, {"gamma": 1}, {"linear": False}])
def test_whatever_was_taken_for_the_curve_the_numbers_come_out_again(tmp_path, options):
    path = stored_file(tmp_path / "in.tif", np.uint16, profile=rgb_profile())
    photograph = read_photograph(path, **options, dtype=np.float64)
    light = photograph.light
    photograph.form.write(tmp_path / "out.tif", light, "nothing")
    assert_array_equal(numbers_of(tmp_path / "out.tif"), numbers_of(path))
    with tifffile.TiffFile(tmp_path / "out.tif") as file:
        assert file.pages[0].tags[34675].value == rgb_profile()
        assert file.pages[0].compression == 8  # deflate
        assert file.pages[0].software == SOFTWARE == f"relblur {__version__}"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("suffix", [".jpg", ".png", ".tif"])
def test_profile_and_exif_are_kept_upright_and_without_the_thumbnail(tmp_path, suffix, order):
    path = stored_file(tmp_path / "in.jpg", np.uint8, profile=rgb_profile(), exif=exif_data(6, order))
    assert b"\xff\xd8\xff\xd9" in path.read_bytes()[:2000]  # the thumbnail
    photograph = read_photograph(path, dtype=np.float64)
    light = photograph.light
    out = tmp_path / f"out{suffix}"
    photograph.form.write(out, light, "made for a test")
    with Image.open(out) as picture:
        exif = picture.getexif()
        assert picture.info["icc_profile"] == rgb_profile()
        assert (exif[271], exif[0x0112], exif[305]) == ("Maker", 1, SOFTWARE)
        details = exif.get_ifd(0x8769)
        assert details[0x829D] == pytest.approx(2.8)
        assert details[0x9213] == f"{SOFTWARE}: made for a test; before: Firmware 1"
        assert exif.get_ifd(0x8825)[2] == (48.0, 12.0, 1.5)
        assert 513 not in exif.get_ifd(0x0001)
    assert b"\xff\xd8\xff\xd9" not in out.read_bytes()[:2000]
    assert_allclose(imread(out), light, atol=0.03)  # upright already
    if suffix == ".tif":
        with tifffile.TiffFile(out) as file:
            assert file.pages[0].tags["ExifTag"].value["FNumber"] in ((14, 5), pytest.approx(2.8))


def test_light_has_the_look_of_screens_in_png_and_stays_light_in_tiff(tmp_path):
    light = np.linspace(0, 1, 256, dtype=np.float32).reshape(16, 16)
    tifffile.imwrite(tmp_path / "in.tif", light)
    form = read_photograph(tmp_path / "in.tif").form
    for suffix in (".png", ".jpg", ".tif", ".npy"):
        form.write(tmp_path / f"out{suffix}", light, "")
    assert_array_equal(numbers_of(tmp_path / "out.tif"), light)
    assert_array_equal(np.load(tmp_path / "out.npy"), light)
    assert numbers_of(tmp_path / "out.png").dtype == np.uint16
    photograph = read_photograph(tmp_path / "out.png", dtype=np.float64)
    again = photograph.light
    assert_allclose(again, light, atol=2e-5)
    assert photograph.info["because"] == "stated in the file"
    assert_allclose(imread(tmp_path / "out.jpg"), light, atol=0.03)


def test_a_profile_of_other_colours_is_not_kept(tmp_path):
    """A picture made grey, and CMYK turned into RGB: the numbers are no longer those of the profile."""
    path = stored_file(tmp_path / "in.jpg", np.uint8, profile=rgb_profile())
    photograph = read_photograph(path, dtype=np.float64)
    light = photograph.light
    photograph.form.write(tmp_path / "out.png", light.mean(axis=2), "")
    with Image.open(tmp_path / "out.png") as picture:
        assert "icc_profile" not in picture.info


def test_the_pair_and_the_stack_carry_the_form_of_the_photograph_that_stays(tmp_path, texture):
    for number, blur in enumerate((1.6, 0.8, 0.0)):
        picture = np.rint(60000 * synth.blur_with_map(texture, blur)).astype(np.uint16)
        tifffile.imwrite(tmp_path / f"{number}.tif", picture, software=f"camera {number}")
    names = [tmp_path / f"{number}.tif" for number in range(3)]
    assert prepare_pair(names[2], names[1], align="off").form.stored.bits == 16
    stack = estimate_stack(names, align="off")
    assert stack.form.stored.bits == 16
    write_picture(tmp_path / "fused.tif", stack.fused, stack.form)
    fused = tifffile.imread(tmp_path / "fused.tif")
    assert fused.dtype == np.uint16
    assert abs(fused.mean() / tifffile.imread(names[0]).mean() - 1) < 0.01


def test_fuse_and_refocus_keep_depth_curve_profile_and_exif(tmp_path, colour):
    ramp = synth.ramp(colour.shape[:2], -1.5, 1.5, axis=1)
    exif = exif_data(orientation=3)
    for name, sign in (("a", 1), ("b", -1)):
        picture = np.stack([synth.blur_with_map(c, np.maximum(sign * ramp, 0)) for c in np.moveaxis(colour, 2, 0)], 2)
        codes = np.rint(255 * picture.clip(0, 1) ** (1 / GAMMA)).astype(np.uint8)[::-1, ::-1]
        Image.fromarray(codes).save(tmp_path / f"{name}.jpg", quality=98, icc_profile=rgb_profile(), exif=exif)
    pair = [tmp_path / "a.jpg", tmp_path / "b.jpg"]
    for command in (["fuse", *pair], ["refocus", *pair, "--at", "0.5"]):
        result = run(*command, "-o", tmp_path / "out.jpg", "--align", "off", "--exposure", "off", "--force")
        assert result.exit_code == 0, result.output
        with Image.open(tmp_path / "out.jpg") as picture:
            assert picture.info["icc_profile"] == rgb_profile()
            assert (picture.getexif()[271], picture.getexif()[0x0112]) == ("Maker", 1)
            written = np.asarray(picture, np.float64).mean(axis=(0, 1))
        expected = np.mean([numbers_of(each) for each in pair], axis=(0, 1, 2))
        assert_allclose(written, expected, atol=3)
        assert is_result(tmp_path / "out.jpg")
        assert not is_result(pair[0])
