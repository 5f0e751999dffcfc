"""TIFF in all its kinds: each is read as what it means, or refused in one line."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image  # noqa: TID253

from hostile import tiff
from relblur import imread
from relblur.base.errors import FileError
from relblur.images.images import read_image


def _picture(shape, kind, top=None):
    values = np.random.default_rng(1).random(shape)
    if np.issubdtype(np.dtype(kind), np.floating):
        return values.astype(kind)
    return (values * (top or np.iinfo(kind).max)).astype(kind)


def _read(tmp_path, content):
    path = tmp_path / "picture.tif"
    path.write_bytes(content)
    return read_image(path)


def _saved(picture, **options):
    stream = io.BytesIO()
    picture.save(stream, "TIFF", **options)
    return stream.getvalue()


LAYOUTS = [{}, {"tile": (16, 32)}, {"rowsperstrip": 5}, {"compression": "zlib", "rowsperstrip": 4}]


@pytest.mark.parametrize("kind", ["u1", "u2", "u4", "i2", "i4", "f2", "f4", "f8"])
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("options", LAYOUTS)
def test_numbers_of_every_kind_come_back(tmp_path, kind, order, options):
    for shape in ((37, 45), (37, 45, 3)):
        values = _picture(shape, kind, 60_000 if kind == "i4" else None)
        stream = io.BytesIO()
        photometric = "rgb" if len(shape) == 3 else "minisblack"
        tifffile.imwrite(stream, values, byteorder=order, photometric=photometric, metadata=None, **options)
        assert_array_equal(_read(tmp_path, stream.getvalue()), values)


@pytest.mark.parametrize("compression", ["tiff_lzw", "packbits", "tiff_adobe_deflate", "lzma"])
@pytest.mark.parametrize("predictor", [1, 2])
def test_packed_pictures_come_back(tmp_path, compression, predictor):
    for values in (_picture((70, 33), "u1"), _picture((70, 33, 3), "u1"), _picture((70, 33), "u2")):
        info = {} if compression == "packbits" else {317: predictor}
        content = _saved(Image.fromarray(values), compression=compression, tiffinfo=info)
        assert_array_equal(_read(tmp_path, content), values)


def test_differences_of_floats_are_undone(tmp_path):
    # Adobe's technical note 3, by hand: the bytes of a row sorted by weight, then differences.
    values = _picture((24, 24), "f4")
    planes = values.astype(">f4").view(np.uint8).reshape(24, 24, 4).swapaxes(1, 2).reshape(24, 96)
    stored = zlib.compress(np.diff(planes, axis=1, prepend=np.uint8(0)).tobytes())
    assert_array_equal(_read(tmp_path, tiff({258: 32, 259: 8, 339: 3, 317: 3}, stored)), values)


def test_colour_of_16_bits_packed_by_lzw(tmp_path):
    cv2 = pytest.importorskip("cv2")
    values = _picture((24, 30, 3), "u2")
    content = bytes(cv2.imencode(".tif", values[:, :, ::-1], [cv2.IMWRITE_TIFF_COMPRESSION, 5])[1])
    assert_array_equal(_read(tmp_path, content), values)


@pytest.mark.parametrize("compression", ["raw", "packbits", "tiff_lzw", "group3", "group4", "tiff_ccitt"])
@pytest.mark.parametrize("white_is_zero", [True, False])
def test_black_and_white_has_both_senses(tmp_path, compression, white_is_zero):
    values = np.kron(np.random.default_rng(2).random((9, 11)) > 0.5, np.ones((4, 5), bool))
    picture = Image.fromarray(values)
    content = _saved(picture, compression=compression, tiffinfo={262: 0 if white_is_zero else 1})
    assert_array_equal(_read(tmp_path, content), np.where(values, 255, 0))


def test_fax_of_either_order_of_bits(tmp_path):
    cells = np.kron(np.random.default_rng(2).random((9, 11)) > 0.5, np.ones((4, 5), bool))
    content = _saved(Image.fromarray(cells), compression="group4", tiffinfo={266: 2})
    assert_array_equal(_read(tmp_path, content), np.where(cells, 255, 0))


def test_other_kinds_are_refused_with_a_remedy(tmp_path):
    with pytest.raises(FileError, match=r"1 channel\(s\) of 8 bits \(signed\).*; save it as grey or RGB"):
        _read(tmp_path, tiff({339: 2}, bytes(576)))


@pytest.mark.parametrize(("bits", "scale"), [(1, 255), (2, 85), (4, 17)])
def test_few_bits_are_unpacked(tmp_path, bits, scale):
    values = np.random.default_rng(3).integers(0, 1 << bits, (24, 24))
    rows = ["".join(f"{value:0{bits}b}" for value in row) for row in values]
    stored = b"".join(int(row, 2).to_bytes(len(row) // 8, "big") for row in rows)
    assert_array_equal(_read(tmp_path, tiff({258: bits}, stored)), values * scale)
    assert_array_equal(_read(tmp_path, tiff({258: bits, 262: 0}, stored)), ((1 << bits) - 1 - values) * scale)


@pytest.mark.parametrize("mode", ["CMYK", "P"])
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
def test_inks_and_palettes_become_colours(tmp_path, mode, compression):
    colour = np.kron(_picture((6, 7, 3), "u1"), np.ones((4, 4, 1), np.uint8))
    picture = Image.fromarray(colour).convert(mode, palette=Image.Palette.ADAPTIVE)
    found = _read(tmp_path, _saved(picture, compression=compression))
    assert_allclose(found, np.asarray(picture.convert("RGB")), atol=1 if mode == "CMYK" else 0)


@pytest.mark.parametrize("mode", ["L", "RGB", "YCbCr"])
def test_jpeg_within(tmp_path, mode):
    rows, columns = np.mgrid[:64, :80]
    colour = np.stack([rows * 3, columns * 3, 200 - rows - columns], axis=2).astype(np.uint8)
    picture = Image.fromarray(colour).convert(mode)
    values = _read(tmp_path, _saved(picture, compression="jpeg", quality=95))
    assert_allclose(values.astype(float), np.asarray(picture if mode == "L" else picture.convert("RGB")), atol=12)


def test_a_wide_integer_needs_no_table(tmp_path):
    # A table of 2 ** 32 entries would take 34 GB.
    path = tmp_path / "wide.tif"
    path.write_bytes(tiff({258: 32}, np.full((24, 24), 2**31, "<u4").tobytes()))
    assert_allclose(imread(path, gamma=2.0), 0.25, rtol=1e-6)
    path.write_bytes(tiff({258: 16, 339: 2}, np.full((24, 24), -16384, "<i2").tobytes()))
    assert_allclose(imread(path, gamma=2.0), -0.25, rtol=1e-3)


def test_pieces_that_are_not_there_are_black(tmp_path):
    lists = 8 + 2 + 12 * 9 + 4
    tags = [(256, 1, 24), (257, 1, 24), (258, 1, 8), (259, 1, 1), (262, 1, 1), (273, 2, lists), (277, 1, 1)]
    tags += [(278, 1, 12), (279, 2, lists + 8)]
    entries = b"".join(struct.pack("<HHII", tag, 4, count, value) for tag, count, value in tags)
    places = struct.pack("<4I", 0, lists + 16, 0, 288)
    content = b"II*\0" + struct.pack("<IH", 8, 9) + entries + bytes(4) + places + b"\7" * 288
    assert_array_equal(_read(tmp_path, content), np.repeat([0, 7], 12)[:, None] * np.ones((1, 24), int))
