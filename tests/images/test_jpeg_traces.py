"""Pictures that were JPEGs once: what their pixels tell of it, and pictures that only look regular."""

from __future__ import annotations

import io

import numpy as np
import pytest

from relblur import prepare_pair, synth
from relblur.images.compression import find_traces
from relblur.photo.photograph import read_photograph

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def photograph():
    from skimage import data

    return data.astronaut()


def through_jpeg(image, *qualities):
    for quality in qualities:
        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=quality)
        image = np.asarray(Image.open(file))
    return image


def as_grey(image):
    return np.asarray(Image.fromarray(image).convert("L"))


@pytest.mark.parametrize("kind", ["colour", "grey"])
@pytest.mark.parametrize("quality", [50, 75, 85, 95])
def test_the_quality_shows_in_the_pixels(photograph, kind, quality):
    image = photograph if kind == "colour" else as_grey(photograph)
    found = find_traces(through_jpeg(image, quality))
    assert found.table.quality == pytest.approx(quality, abs=4)
    assert found.corner == (0, 0)


def test_a_cropped_picture_has_its_blocks_elsewhere(photograph):
    found = find_traces(through_jpeg(photograph, 75)[3:, 6:])
    assert found.corner == (5, 2)
    assert found.table.quality == pytest.approx(75, abs=2)


def test_the_stronger_of_two_compressions_shows(photograph):
    assert find_traces(through_jpeg(photograph, 70, 92)).table.quality == pytest.approx(70, abs=3)


@pytest.mark.parametrize("name", ["astronaut", "camera", "brick", "gravel", "text"])
def test_a_picture_that_was_none_shows_nothing(name):
    from skimage import data

    assert find_traces(getattr(data, name)()) is None


rows, columns = np.mgrid[:256, :320]
REGULAR = {
    "flat": np.full((256, 320), 99),
    "black": np.zeros((256, 320)),
    "chessboard of 8 px": 60 + 100 * ((rows // 8 + columns // 8) % 2),
    "chessboard of 5 px": 60 + 100 * ((rows // 5 + columns // 5) % 2),
    "stripes": 128 + 90 * np.sin(columns * np.pi / 4),
    "gradient": 20 + columns / 2,
    "steps of 16": columns // 16 * 12 + 4,
    "noise": np.random.default_rng(0).normal(128, 20, (256, 320)),
    "two values": 50 + 100 * (np.random.default_rng(0).random((256, 320)) < 0.5),
    "enlarged 8 times": np.random.default_rng(0).integers(20, 230, (32, 40)).repeat(8, 0).repeat(8, 1),
}


@pytest.mark.parametrize("name", REGULAR)
def test_a_regular_pattern_is_no_trace(name):
    assert find_traces(np.clip(np.rint(REGULAR[name]), 0, 255).astype(np.uint8)) is None


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 1), (8, 8), (9, 17, 3)])
def test_small_pictures_show_nothing(shape):
    assert find_traces(np.random.default_rng(0).integers(1, 255, shape).astype(np.uint8)) is None


def test_other_numbers_show_nothing(photograph):
    compressed = through_jpeg(photograph, 75)
    assert find_traces(compressed.astype(np.uint16)) is None
    assert find_traces(compressed / 255) is None


def test_a_png_that_was_a_jpeg_has_its_noise_and_says_so(photograph, tmp_path):
    for name, image in (("plain", photograph), ("once", through_jpeg(photograph, 75))):
        Image.fromarray(image).save(tmp_path / f"{name}.png")
    plain, once = (read_photograph(tmp_path / f"{name}.png") for name in ("plain", "once"))
    assert plain.info["once_jpeg"] is None
    assert plain.jpeg is None
    assert once.info["once_jpeg"] == pytest.approx(75, abs=2)
    assert "PNG, once a JPEG of quality about 7" in once.describe()
    assert once.rounding.compressed
    assert once.rounding.read > 3 * plain.rounding.read


def test_a_file_saved_again_has_the_noise_of_the_stronger_compression(photograph, tmp_path):
    Image.fromarray(through_jpeg(photograph, 60)).save(tmp_path / "again.jpg", quality=95)
    Image.fromarray(photograph).save(tmp_path / "fine.jpg", quality=95)
    again, fine = (read_photograph(tmp_path / f"{name}.jpg") for name in ("again", "fine"))
    assert "JPEG of quality 95, once a JPEG of quality about 6" in again.describe()
    assert fine.info["once_jpeg"] is None
    assert again.rounding.read > 2 * fine.rounding.read


def test_a_pair_knows_both(photograph, tmp_path):
    grey = as_grey(photograph)[:256, :256]
    blurred = np.rint(synth.blur_with_map(grey.astype(float), 1.5)).astype(np.uint8)
    pair = prepare_pair(*(through_jpeg(image, 75) for image in (grey, blurred)), align="off")
    assert [table.quality for table in pair.jpeg] == pytest.approx([75, 75], abs=2)
    cropped = prepare_pair(*(through_jpeg(image, 75)[4:, 4:] for image in (grey, blurred)), align="off")
    assert cropped.jpeg == (None, None)
    assert all(one.compressed for one in cropped.rounding)
