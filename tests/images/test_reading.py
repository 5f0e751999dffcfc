"""Reading costs no more than its budget, whatever is behind a name."""

from __future__ import annotations

import os

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

import relblur
import relblur.images.depth_formats
import relblur.images.reading as budget_module
from relblur.base.errors import FileError
from relblur.images.images import read_image
from relblur.images.reading import opened, read_bytes


def test_a_file_that_grows_and_is_swapped_is_read_as_it_was(tmp_path):
    path = tmp_path / "large.png"
    path.write_bytes(b"a" * 10)
    with opened(path) as source:
        with open(path, "ab") as stream:
            stream.write(b"b" * 1000)
        with pytest.raises(FileError, match=r"large.png has 0 MB; relblur reads files of this kind up to 0 MB"):
            read_bytes(path, most=1000)
        path.unlink()
        os.mkfifo(path)
        assert source.whole() == b"a" * 10


def _picture_of(kind, size, folder):
    path = folder / f"picture.{kind}"
    values = np.random.default_rng(0).integers(0, 255, size, dtype=np.uint8)
    if kind == "npy":
        np.save(path, values)
    elif kind == "exr":
        relblur.images.depth_formats.write_exr(path, {"Y": values.astype(np.float32)})
    elif kind == "hdr":
        import cv2

        path.write_bytes(bytes(cv2.imencode(".hdr", np.dstack([values] * 3).astype(np.float32))[1]))
    else:
        Image.fromarray(values).save(path)
    return path


@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "tif", "hdr", "exr", "npy"])
def test_the_limit_of_pixels_is_the_same_in_every_format(tmp_path, monkeypatch, kind):

    path = _picture_of(kind, (50, 60), tmp_path)
    monkeypatch.setattr(budget_module, "MOST_PIXELS", 3000)
    assert read_image(path).shape[:2] == (50, 60)
    monkeypatch.setattr(budget_module, "MOST_PIXELS", 2999)
    with pytest.raises(FileError, match="declares 60 x 50 pixels; relblur reads up to"):
        read_image(path)


@pytest.mark.parametrize("kind", ["png", "jpg", "webp", "tif"])
def test_the_limit_of_the_imaging_library_is_none(tmp_path, monkeypatch, kind):
    # Pillow warns at 89 megapixels and refuses at 179; cameras have 150. Scaled down here.
    path = tmp_path / f"x.{kind}"
    Image.fromarray(np.zeros((50, 60), np.uint8)).save(path)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert read_image(path).shape[:2] == (50, 60)
    assert Image.MAX_IMAGE_PIXELS == 100


def test_expansion_is_limited_by_the_size_of_the_file(tmp_path):
    (tmp_path / "x.png").write_bytes(b"x" * 1_000_000)
    with opened(tmp_path / "x.png") as source:
        source.check_expansion(50_000_000)
        source.check_expansion(200_000_000, lossy=True)
        with pytest.raises(FileError, match=r"x.png unpacks to 51 MB from 1000000 bytes, more than 50 times as much"):
            source.check_expansion(51_000_000)


def test_decoders_are_stopped_when_their_time_is_over(tmp_path, monkeypatch):
    monkeypatch.setattr(budget_module, "FREE_SECONDS", -1.0)
    for kind in ("png", "jpg"):
        with pytest.raises(FileError, match="to unpack; it is damaged or hostile"):
            read_image(_picture_of(kind, (50, 60), tmp_path))


def test_an_exr_that_finds_no_room_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/dev/full")
    with pytest.raises(FileError, match="cannot write"):
        relblur.images.depth_formats.write_exr(tmp_path / "x.exr", {"Y": np.zeros((9, 9), np.float32)})
    assert os.listdir(tmp_path) == []


def test_a_flat_picture_of_usual_size_is_no_bomb(tmp_path):
    # 48 megapixels of one grey: 48 MB from 50 kB of PNG, blank but harmless.
    path = tmp_path / "flat.png"
    Image.new("L", (8000, 6000), 90).save(path, compress_level=1)
    assert read_image(path).shape == (6000, 8000)


def test_a_damaged_exr_is_one_line(tmp_path, capfd):
    path = tmp_path / "x.exr"
    relblur.images.depth_formats.write_exr(
        path, {"Y": np.sin(np.arange(8100, dtype=np.float32)).round(1).reshape(90, 90)}
    )
    content = bytearray(path.read_bytes())
    content[-600:-500] = bytes(100)
    path.write_bytes(content)
    with pytest.raises(FileError, match="is not a readable OpenEXR image: its pixels are damaged or incomplete"):
        read_image(path)
    assert capfd.readouterr() == ("", "")
