"""Files to linear light: every tone curve a file may name is undone, and what was done is said."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose
from PIL import Image, ImageCms, PngImagePlugin  # noqa: TID253

from profiles import gamma_element, icc
from relblur import InputError, imread, read_photograph, save
from relblur.base.errors import FileError
from relblur.base.tone import LINEAR, SRGB, power_curve
from relblur.photo.tone_curves import curve_of_icc_profile

CODES = np.arange(256, dtype=np.uint8).reshape(16, 16)


def srgb_light(codes, top=255):
    """IEC 61966-2-1, written out."""
    stored = codes / top
    return np.where(stored <= 0.04045, stored / 12.92, ((stored + 0.055) / 1.055) ** 2.4)


def table_element(values):
    return b"curv" + bytes(4) + struct.pack(">I", len(values)) + np.rint(values * 65535).astype(">u2").tobytes()


def para_element(kind, *parameters):
    numbers = [round(p * 65536) for p in parameters]
    return b"para" + bytes(4) + struct.pack(">HH", kind, 0) + struct.pack(f">{len(numbers)}i", *numbers)


def png_with(tmp_path, codes=CODES, **chunks):
    info = PngImagePlugin.PngInfo()
    for name, content in chunks.items():
        info.add(name.encode(), content)
    path = tmp_path / "image.png"
    Image.fromarray(codes).save(path, pnginfo=info)
    return path


@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_8_bits_that_say_nothing_are_srgb(tmp_path, suffix):
    path = tmp_path / f"image{suffix}"
    save(path, CODES)
    photograph = read_photograph(path, dtype=np.float64)
    light = photograph.light
    assert_allclose(light, srgb_light(CODES), atol=1e-12)
    assert photograph.info["curve"] == "sRGB curve"
    assert photograph.info["because"] == "usual for 8 bits"
    assert "sRGB curve undone (usual for 8 bits)" in photograph.describe()


@pytest.mark.parametrize(("suffix", "dtype"), [(".png", np.uint16), (".tif", np.uint16), (".npy", np.uint8)])
def test_16_bits_and_arrays_that_say_nothing_are_light(tmp_path, suffix, dtype):
    path = tmp_path / f"image{suffix}"
    codes = CODES.astype(dtype) * dtype(np.iinfo(dtype).max // 255)
    save(path, codes)
    photograph = read_photograph(path, dtype=np.float64)
    light = photograph.light
    assert_allclose(light, CODES / 255, atol=1e-12)
    assert photograph.info["curve"] == "linear"


def test_the_caller_has_the_last_word(tmp_path):
    path = png_with(tmp_path, sRGB=b"\0")
    assert_allclose(imread(path, linear=False), CODES / 255, atol=1e-12)
    assert_allclose(imread(path, gamma=1.8), (CODES / 255) ** 1.8, atol=1e-12)
    assert_allclose(imread(path, gamma=1), CODES / 255, atol=1e-12)
    with pytest.raises(InputError, match="gamma must be finite and > 0, got -1"):
        imread(path, gamma=-1)
    with pytest.raises(InputError, match="gamma and linear=False exclude each other"):
        imread(path, gamma=2, linear=False)


@pytest.mark.parametrize(("stored_power", "gamma"), [(0.45455, 2.2), (1.0, 1.0)])
def test_png_gamma_chunk_is_honoured(tmp_path, stored_power, gamma):
    path = png_with(tmp_path, gAMA=struct.pack(">I", round(100000 * stored_power)))
    assert_allclose(imread(path), (CODES / 255) ** gamma, atol=1e-3)


@pytest.mark.parametrize(
    ("colour_space", "interoperability", "wanted"),
    [
        (1, None, "sRGB curve"),
        (2, None, "gamma 2.19922"),
        (0xFFFF, "R03", "gamma 2.19922"),
        (0xFFFF, None, "sRGB curve"),
    ],
)
def test_exif_colour_space_is_honoured(tmp_path, colour_space, interoperability, wanted):
    exif = Image.Exif()
    exif.get_ifd(0x8769)[0xA001] = colour_space
    if interoperability:
        exif.get_ifd(0x8769)[0xA005] = {1: interoperability}
    Image.fromarray(CODES).save(tmp_path / "image.jpg", exif=exif)
    photograph = read_photograph(tmp_path / "image.jpg")
    assert photograph.info["curve"] == wanted


def test_an_icc_profile_beats_everything_but_the_caller(tmp_path):
    for suffix in (".png", ".jpg"):
        path = tmp_path / f"image{suffix}"
        Image.fromarray(np.full((16, 16, 3), 100, np.uint8)).save(path, icc_profile=icc(gamma_element(1.8)))
        assert_allclose(imread(path), (100 / 255) ** 1.8, atol=0.01)
    profile = icc(gamma_element(1.8))
    tag = (34675, 7, len(profile), profile, True)
    tifffile.imwrite(tmp_path / "image.tif", CODES.astype(np.uint16) * 257, extratags=[tag])
    photograph = read_photograph(tmp_path / "image.tif", dtype=np.float64)
    light = photograph.light
    assert_allclose(light, (CODES / 255) ** (461 / 256), atol=1e-9)
    assert photograph.info["because"] == "from its ICC profile"


@pytest.mark.parametrize(
    ("element", "function"),
    [
        (gamma_element(2.0), lambda x: x**2),
        (table_element(np.linspace(0, 1, 1024) ** 2.5), lambda x: x**2.5),
        (para_element(0, 2.4), lambda x: x**2.4),
        (para_element(1, 2.0, 0.9, 0.1), lambda x: (0.9 * x + 0.1) ** 2),
        (para_element(2, 2.0, 0.9, 0.0, 0.1), lambda x: (0.9 * x) ** 2 + 0.1),
        (
            para_element(3, 2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045),
            lambda x: np.where(x <= 0.04045, x / 12.92, ((x + 0.055) / 1.055) ** 2.4),
        ),
        (
            para_element(4, 2.0, 0.8, 0.1, 0.5, 0.2, 0.05, 0.0),
            lambda x: np.where(x >= 0.2, (0.8 * x + 0.1) ** 2 + 0.05, 0.5 * x),
        ),
    ],
    ids=["gamma", "table", "para0", "para1", "para2", "para3", "para4"],
)
def test_every_kind_of_profile_curve(element, function):
    assert curve_of_icc_profile(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()) is SRGB
    assert curve_of_icc_profile(icc(b"curv" + bytes(4) + struct.pack(">I", 0))) is LINEAR
    curve = curve_of_icc_profile(icc(element))
    x = np.linspace(0, 1, 101)
    assert_allclose(curve.undo(x, np.float64), function(x), atol=2e-3)
    assert_allclose(curve_of_icc_profile(icc(element, (b"kTRC",))).undo(x, np.float64), function(x), atol=2e-3)


def test_channels_may_have_curves_of_their_own():
    curve = curve_of_icc_profile(icc([gamma_element(1.0), gamma_element(2.0), gamma_element(3.0)]))
    light = curve.undo(np.full((2, 2, 3), 51, np.uint8), np.float64)
    assert_allclose(light[0, 0], [0.2, 0.04, 0.008], rtol=1e-6)


@pytest.mark.parametrize(
    "profile",
    [
        b"",
        b"not a profile",
        bytes(200),
        icc(gamma_element(2.0))[:-3],
        icc(b"what" + bytes(20)),
        icc(para_element(9, 1.0)),
        icc(para_element(1, 2.0, 0.0, 0.1)),
        icc(table_element(np.array([1.0, 0.5, 0.0]))),
        icc(gamma_element(2.0), (b"A2B0", b"A2B1", b"A2B2")),
        bytes(128) + b"\xff\xff\xff\xff" + bytes(40),
    ],
)
def test_profiles_without_a_usable_curve_give_none_and_the_usual_is_taken(tmp_path, profile):
    assert curve_of_icc_profile(profile) is None
    Image.fromarray(CODES).save(tmp_path / "image.png", icc_profile=profile)
    photograph = read_photograph(tmp_path / "image.png")
    assert photograph.info["curve"] == "sRGB curve"
    assert photograph.info["because"] == "usual for 8 bits"


def test_clipped_pixels_are_those_at_the_top_of_the_file(tmp_path):
    codes = np.full((4, 4, 3), 9, np.uint8)
    codes[1, 2, 0] = 255
    codes[3, 3] = 254
    save(tmp_path / "image.png", codes)
    photograph = read_photograph(tmp_path / "image.png")
    assert np.argwhere(photograph.clipped).tolist() == [[1, 2]]


def test_dark_areas_cut_off_at_black_are_marked_but_not_lone_zeros_nor_bright_colours(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.integers(20, 200, (60, 90, 3), dtype=np.uint8)
    codes[:, :30] = np.maximum(rng.normal(0, 8, (60, 30, 1)), 0).astype(np.uint8)  # noise around black
    codes[30, 45] = 0
    codes[:, 60:, 2] = 0  # no blue
    save(tmp_path / "image.png", codes)
    clipped = read_photograph(tmp_path / "image.png").clipped
    assert clipped[:, :26].mean() > 0.95
    assert not clipped[:, 36:].any()


@pytest.mark.parametrize(("red", "crushed"), [(49, True), (53, False)])
def test_an_area_is_dark_below_a_fifth_of_the_scale(tmp_path, red, crushed):
    codes = np.zeros((20, 20, 3), np.uint8)
    codes[:, :, 0] = red  # of 255; no blue anywhere
    save(tmp_path / "image.png", codes)
    assert (read_photograph(tmp_path / "image.png").clipped == crushed).all()


@pytest.mark.parametrize("top", [1023, 4095, 16383, 65535])
def test_sensors_of_fewer_bits_clip_at_their_own_top(tmp_path, top):
    codes = np.full((4, 4), top // 3, np.uint16)
    codes[2, 1] = top
    save(tmp_path / "image.tif", codes)
    photograph = read_photograph(tmp_path / "image.tif")
    assert np.argwhere(photograph.clipped).tolist() == [[2, 1]]
    save(tmp_path / "image.tif", codes - 1)
    assert not read_photograph(tmp_path / "image.tif").clipped.any()


@pytest.mark.parametrize("curve", [SRGB, LINEAR, power_curve(2.2), power_curve(1.8)], ids=lambda c: c.name)
def test_the_rounding_noise_of_8_bits_in_light_is_what_rounding_does(curve):
    rng = np.random.default_rng(0)
    a, b = curve.rounding_variance(255)
    for level in (0.02, 0.1, 0.4, 0.9):
        stored = np.interp(level, curve.undo(np.linspace(0, 1, 4097), np.float64), np.linspace(0, 1, 4097))
        around = stored + rng.uniform(-4, 4, 20000) / 255  # dithered over several steps
        error = curve.undo(np.rint(around * 255) / 255, np.float64) - curve.undo(around, np.float64)
        assert np.sqrt(a + b * level) == pytest.approx(error.std(), rel=0.4)


@pytest.mark.parametrize("orientation", [1, 3, 6, 7])
def test_pictures_are_turned_upright(tmp_path, orientation):
    from PIL import ImageOps

    codes = np.random.default_rng(0).integers(0, 255, (6, 9, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(codes).save(tmp_path / "image.png", exif=exif)
    with Image.open(tmp_path / "image.png") as picture:
        wanted = np.asarray(ImageOps.exif_transpose(picture))
    photograph = read_photograph(tmp_path / "image.png", linear=False, dtype=np.float64)
    light = photograph.light
    assert_allclose(light, wanted / 255, atol=1e-12)
    assert photograph.info["changes"] == ([] if orientation == 1 else ["turned upright by its EXIF orientation"])
    tifffile.imwrite(tmp_path / "image.tif", codes, photometric="rgb", extratags=[(274, "H", 1, orientation, True)])
    assert_allclose(imread(tmp_path / "image.tif", linear=False), wanted / 255, atol=1e-12)


def test_radiance_hdr_is_light(tmp_path):
    import cv2

    values = np.random.default_rng(0).uniform(0.1, 30, (8, 9, 3)).astype(np.float32)
    cv2.imwrite(str(tmp_path / "image.hdr"), values[:, :, ::-1])
    photograph = read_photograph(tmp_path / "image.hdr", dtype=np.float64)
    light = photograph.light
    assert_allclose(light, values, atol=30 / 128)  # a shared exponent: 8 bits for the largest channel
    assert photograph.info["because"] == "Radiance HDR holds light"
    (tmp_path / "half.hdr").write_bytes((tmp_path / "image.hdr").read_bytes()[:30])
    with pytest.raises(FileError, match=r"half.hdr is a damaged or incomplete Radiance HDR"):
        imread(tmp_path / "half.hdr")


@pytest.mark.parametrize("names", [("R", "G", "B"), ("Y",)])
def test_openexr_is_light(tmp_path, names):
    import OpenEXR

    planes = {n: np.random.default_rng(k).uniform(0, 9, (5, 7)).astype(np.float32) for k, n in enumerate(names)}
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    with OpenEXR.File(header, dict(planes)) as exr:
        exr.write(str(tmp_path / "image.exr"))
    photograph = read_photograph(tmp_path / "image.exr", dtype=np.float64)
    light = photograph.light
    assert_allclose(np.squeeze(light), np.squeeze(np.stack(list(planes.values()), axis=2)), rtol=1e-6)
    assert photograph.info["curve"] == "linear"
    (tmp_path / "half.exr").write_bytes((tmp_path / "image.exr").read_bytes()[:120])
    with pytest.raises(FileError, match=r"half.exr is not a readable OpenEXR image"):
        imread(tmp_path / "half.exr")


def write_dng(path, mosaic, black=256, white=4095, neutral=(0.5, 1.0, 0.8), orientation=1):
    """Write a raw file of an RGGB sensor."""

    def rationals(values):
        return [n for value in values for n in (round(value * 10000), 10000)]

    tags = [
        (33421, "H", 2, (2, 2), True),  # CFARepeatPatternDim
        (33422, "B", 4, (0, 1, 1, 2), True),  # CFAPattern
        (50706, "B", 4, (1, 4, 0, 0), True),  # DNGVersion
        (50708, "s", 0, "relblur test", True),  # UniqueCameraModel
        (50714, "I", 1, black, True),  # BlackLevel
        (50717, "I", 1, white, True),  # WhiteLevel
        (50721, "2i", 9, rationals([1, 0, 0, 0, 1, 0, 0, 0, 1]), True),  # ColorMatrix1
        (50728, "2I", 3, rationals(neutral), True),  # AsShotNeutral
        (50778, "H", 1, 21, True),  # CalibrationIlluminant1
        (274, "H", 1, orientation, True),
    ]
    tifffile.imwrite(path, mosaic, photometric=32803, extratags=tags, metadata=None)


def test_raw_is_light_with_black_level_and_white_balance_stated(tmp_path):
    light = np.linspace(0.1, 0.9, 64)[None, :] * np.ones((64, 1))
    gain = np.ones((64, 64))
    gain[::2, ::2], gain[1::2, 1::2] = 0.5, 0.8  # this sensor sees half of the red and 0.8 of the blue
    write_dng(tmp_path / "image.dng", np.rint(256 + light * gain * (4095 - 256)).astype(np.uint16))
    photograph = read_photograph(tmp_path / "image.dng", dtype=np.float64)
    values = photograph.light
    assert values.shape == (64, 64, 3)
    inner = (slice(8, -8), slice(8, -8))
    for channel in range(3):
        assert_allclose(values[..., channel][inner], light[inner], atol=0.01)
    said = photograph.describe()
    assert "black level 256 subtracted" in said
    assert "white level 4095" in said
    assert "white balance 2.00/1.00/1.25" in said
    assert "no brightening" in said
    assert photograph.info["curve"] == "linear"


def test_what_is_not_raw_is_one_line(tmp_path):
    (tmp_path / "notes.nef").write_text("not a photograph\n" * 10)
    with pytest.raises(FileError, match=r"notes.nef is not a raw file that LibRaw can read") as error:
        imread(tmp_path / "notes.nef")
    assert "\n" not in str(error.value)
    with pytest.raises(FileError, match="there is no file"):
        imread(tmp_path / "nowhere.cr2")
