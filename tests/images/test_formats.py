"""HEIC, AVIF, JPEG 2000, GIF, BMP and PNM: their light, which way up they are, and what is said about them."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import imread, read_photograph
from relblur.base.errors import FileError, MissingDependencyError
from relblur.base.tone import decode_srgb
from relblur.images.images import read_image, read_stored

Image = pytest.importorskip("PIL.Image")
Image.init()


def smooth(channels=3, shape=(48, 64)):
    """A picture that lossy formats keep, with another look from every side."""
    rows, columns = np.mgrid[0 : shape[0], 0 : shape[1]]
    planes = [40 + 3 * rows / (1 + c) + (1 + c) * columns / 2 for c in range(channels)]
    return np.rint(np.stack(planes, axis=2)).astype(np.uint8)


COLOUR = smooth()
GREY = COLOUR[:, :, 0]
EXACT = {".bmp": "BMP", ".ppm": "PPM"}
needs_avif = pytest.mark.skipif("AVIF" not in Image.SAVE, reason="this Pillow has no AVIF")


BOXED = ["heic", pytest.param("avif", marks=needs_avif)]


def write_boxed(path, array, mode=None, **options):
    """Write HEIC or AVIF."""
    options = {"quality": 95, **options}
    if path.suffix == ".avif":
        subsampling = {"subsampling": "4:4:4"} if array.ndim == 3 else {}
        Image.fromarray(array).save(path, **subsampling, **options)
        return
    heif = pytest.importorskip("pillow_heif")
    if mode is None:
        picture = heif.from_pillow(Image.fromarray(array))
    else:
        picture = heif.from_bytes(mode, array.shape[1::-1], array.tobytes())
    picture.save(path, chroma=444, **options)


@pytest.mark.parametrize("suffix", EXACT)
@pytest.mark.parametrize("array", [COLOUR, GREY], ids=["colour", "grey"])
def test_formats_without_loss_are_read_exactly(tmp_path, suffix, array):
    path = tmp_path / f"image{suffix}"
    Image.fromarray(array).save(path, EXACT[suffix])
    assert_array_equal(read_image(path), array)
    photograph = read_photograph(path, dtype=np.float64)
    light = photograph.light
    assert_allclose(light, decode_srgb(array / 255), atol=1e-6)
    assert not photograph.rounding.compressed


@pytest.mark.parametrize("channels", [1, 3])
def test_pnm_of_many_bits_keeps_its_numbers(tmp_path, channels):
    values = np.rint(np.linspace(0, 1023, 20 * 30 * channels)).astype(">u2").reshape(20, 30, channels)
    head = f"P{5 if channels == 1 else 6}\n# a comment\n30 20\n1023\n".encode()
    (tmp_path / "image.pgm").write_bytes(head + values.tobytes())
    assert_array_equal(read_image(tmp_path / "image.pgm"), values.squeeze())
    assert read_photograph(tmp_path / "image.pgm").clipped.any()  # the top of 10 bits is recognised


def test_of_a_gif_the_first_frame_is_used_and_that_is_said(tmp_path):
    frames = [Image.fromarray(GREY), Image.fromarray(255 - GREY)]
    frames[0].save(tmp_path / "two.gif", save_all=True, append_images=frames[1:])
    with pytest.warns(UserWarning, match=r"two.gif has 2 frames; frame 1 is used"):
        found = read_image(tmp_path / "two.gif")
    assert_array_equal(found if found.ndim == 2 else found[:, :, 0], GREY)
    frames[0].save(tmp_path / "one.gif")
    assert read_image(tmp_path / "one.gif").shape[:2] == GREY.shape


@pytest.mark.parametrize("kind", BOXED)
@pytest.mark.parametrize("array", [COLOUR, GREY], ids=["colour", "grey"])
def test_boxed_pictures_are_read(tmp_path, kind, array):
    write_boxed(tmp_path / f"a.{kind}", array)
    found = read_image(tmp_path / f"a.{kind}").astype(int)
    assert_allclose(found if found.ndim == array.ndim else found[:, :, 0], array, atol=6)  # Pillow 11: no grey AVIF
    photograph = read_photograph(tmp_path / f"a.{kind}", dtype=np.float64)
    assert photograph.rounding.compressed
    if found.ndim == array.ndim:
        assert_allclose(photograph.light, decode_srgb(array / 255), atol=0.04)
    assert photograph.describe().startswith(f"8-bit {kind.upper()}, sRGB curve undone")


def test_heic_of_10_bits_spans_16(tmp_path):
    deep = np.full((48, 64, 3), 65535, np.uint16)
    deep[:, :32] = 20_000
    write_boxed(tmp_path / "a.heic", deep, mode="RGB;16")
    photograph = read_photograph(tmp_path / "a.heic", dtype=np.float64)
    assert photograph.info["bits"] == 16
    assert photograph.clipped[:, 40:].mean() > 0.9
    assert_allclose(photograph.light[:, 4:28], decode_srgb(np.array(20_000 / 65535)), atol=0.01)


@pytest.mark.parametrize("orientation", [1, 3, 6, 8])
@pytest.mark.parametrize("kind", BOXED)
def test_boxed_pictures_are_turned_upright_once(tmp_path, kind, orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    write_boxed(tmp_path / f"a.{kind}", COLOUR, exif=exif.tobytes())
    turns = {1: 0, 3: 2, 6: 3, 8: 1}[orientation]
    assert_allclose(read_image(tmp_path / f"a.{kind}").astype(int), np.rot90(COLOUR, turns), atol=8)


@pytest.mark.parametrize("kind", BOXED)
def test_the_profile_and_the_camera_are_read(tmp_path, kind):
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0x920A: 35.0, 0x829D: 2.8, 0x9206: 1.5})
    path = tmp_path / f"a.{kind}"
    from PIL import ImageCms

    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    write_boxed(path, COLOUR, exif=exif.tobytes(), icc_profile=profile)
    stored = read_stored(path)
    assert stored.icc_profile == profile
    assert stored.shot is not None
    assert stored.shot.f_number == pytest.approx(2.8)


@pytest.mark.parametrize(
    ("name", "missing", "message"),
    [
        ("a.heic", "pillow_heif", r"is HEIC, which needs pillow-heif: pip install 'relblur\[heif\]'"),
        pytest.param("a.avif", "PIL._avif", r"is AVIF, which needs Pillow 11.3 or newer", marks=needs_avif),
    ],
)
def test_what_is_missing_is_named(tmp_path, monkeypatch, name, missing, message):
    write_boxed(tmp_path / name, COLOUR)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependencyError, match=message):
        imread(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"hello, this is no image", r"\.heic.* and camera raw \(\.dng, .*\) with relblur\[raw\]"),
    ],
)
def test_other_files_are_told_by_what_they_are(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FileError, match=message) as error:
        imread(tmp_path / name)
    assert "\n" not in str(error.value)
