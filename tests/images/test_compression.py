"""Compression by JPEG: table, noise, repetition, and traces of it in the pixels."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest

from relblur import estimate_blur, prepare_pair, synth
from relblur.base.tone import SRGB, encode_srgb
from relblur.blur.recompressed import is_strongly_compressed
from relblur.images.compression import JpegTable, find_traces
from relblur.photo.photograph import read_photograph

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def astronaut():
    from skimage import data

    return data.astronaut()


@pytest.fixture(scope="module")
def photograph(astronaut):
    return astronaut[:256, :256]


def as_grey(image):
    return np.asarray(Image.fromarray(image).convert("L"))


def stored(image, quality):
    file = io.BytesIO()
    Image.fromarray(image).save(file, "JPEG", quality=quality)
    return Image.open(file)


def through_jpeg(image, *qualities):
    for quality in qualities:
        image = np.asarray(stored(image, quality))
    return image


@pytest.mark.parametrize("quality", [30, 75, 95])
def test_the_quality_is_that_of_the_program_that_wrote_it_and_the_noise_what_it_changed(photograph, quality):
    assert JpegTable.of(stored(photograph, quality).quantization).quality == pytest.approx(quality, abs=2)
    grey = as_grey(photograph)
    picture = stored(grey, quality)
    changed = np.sqrt(np.mean((np.asarray(picture, float) - grey) ** 2))
    assert JpegTable.of(picture.quantization).noise == pytest.approx(changed, rel=0.6 if quality < 75 else 0.4)
    for tables in (None, {}, {0: [1, 2]}, {0: [0] * 64}, {1: [1] * 64}, {0: "x" * 3}):
        assert JpegTable.of(tables) is None


@pytest.mark.slow
def test_compressed_pairs_have_wider_error_bars_and_small_errors(photograph, tmp_path):
    light = (photograph / 255.0) ** 2.2
    truth = synth.ramp(light.shape[:2], 1, 2)
    rng = np.random.default_rng(0)
    found = {}
    for name in ("png", "jpg"):
        for side, image in (("a", light), ("b", synth.blur_with_map(light, truth, channel_axis=-1))):
            noisy = np.clip(image + rng.normal(0, 0.003, image.shape), 0, 1) ** (1 / 2.2)
            Image.fromarray(np.round(255 * noisy).astype(np.uint8)).save(tmp_path / f"{side}.{name}", quality=85)
        pair = prepare_pair(tmp_path / f"a.{name}", tmp_path / f"b.{name}", gamma=2.2, align="off")
        found[name] = estimate_blur(pair)
    assert np.median(found["jpg"].sigma_stderr) > 1.5 * np.median(found["png"].sigma_stderr)
    error = np.abs(found["jpg"].sigma - truth) / truth
    assert np.mean(error) < 0.03


def test_compressed_colour_is_measured_by_its_brightness(tmp_path):
    """Red and blue stripes of one brightness tell of colour alone; the brightness is blurred by 1.5 px."""
    texture = 0.35 + 0.15 * np.clip(np.random.default_rng(3).normal(size=(96, 128)), -2, 2)
    stripes = np.where(np.arange(128) // 2 % 2, 0.2, -0.2)
    light = np.stack([texture + stripes, texture, texture - stripes], axis=-1).clip(0, 1)
    for side, image in (("a", light), ("b", synth.blur_with_map(light, 1.5, channel_axis=-1))):
        Image.fromarray(np.round(255 * image ** (1 / 2.2)).astype(np.uint8)).save(tmp_path / f"{side}.jpg", quality=90)
    files = (tmp_path / "a.jpg", tmp_path / "b.jpg")
    pair = prepare_pair(*files, gamma=2.2, align="off", exposure="off", decimate=1)
    first, second = pair.measured
    assert first.shape == second.shape == pair.shape
    weights = np.array([0.2126, 0.7152, 0.0722])
    np.testing.assert_allclose(first, pair.first @ weights, rtol=1e-5)
    np.testing.assert_allclose(second, pair.second @ weights, rtol=1e-5)
    assert abs(np.median(estimate_blur(pair).sigma) - 1.5) < 0.05


def test_compressed_again_is_what_a_program_writes(photograph):
    grey = as_grey(photograph)[:61, :75]
    picture = stored(grey, 75)
    again = JpegTable.of(picture.quantization).compressed(grey.astype(float))
    np.testing.assert_array_equal(again, np.asarray(picture, float))


def _cat():
    from skimage import data

    return as_grey(data.chelsea())[:240, :320]


def _jpeg_pair(tmp_path, sharp, quality, *, noise=0.003, gain=1.0, **options):
    """A ramp of 1 to 2 px, stored as a camera stores it, the second image darker by the gain; and the truth."""
    light = np.asarray(SRGB.undo(sharp, np.float64))
    truth = synth.ramp(light.shape, 1.0, 2.0)
    rng = np.random.default_rng(0)
    for name, image, factor in zip("ab", synth.pair(light, truth), (1.0, gain), strict=True):
        levels = synth.degrade(encode_srgb(factor * synth.degrade(image, noise=noise, rng=rng)), bits=8)
        Image.fromarray(levels).save(tmp_path / f"{name}.jpg", quality=quality)
    return prepare_pair(tmp_path / "a.jpg", tmp_path / "b.jpg", **options), truth


def _error(found, truth):
    return np.abs(found.sigma / truth - 1)[found.flags == 0].mean()


@pytest.mark.slow
@pytest.mark.parametrize("exchanged", [False, True])
def test_what_strong_compression_did_is_not_taken_for_blur(tmp_path, exchanged):
    pair, truth = _jpeg_pair(tmp_path, _cat(), 75)
    if exchanged:
        pair = replace(pair, first=pair.second, second=pair.first, exposure=None)
        truth = -truth
    assert is_strongly_compressed(pair)
    aware, unaware = (estimate_blur(one) for one in (pair, replace(pair, jpeg=(None, None))))
    assert _error(aware, truth) < 0.7 * _error(unaware, truth)


def test_what_is_compressed_again_lies_where_its_file_has_it(photograph, tmp_path):
    grey = as_grey(photograph)
    strong, _ = _jpeg_pair(tmp_path, grey, 75)
    assert [table.quality for table in strong.jpeg] == [75, 75]
    assert strong.decimated(2).jpeg == (None, None)
    Image.open(tmp_path / "b.jpg").transform((256, 256), Image.Transform.AFFINE, (1, 0, 3, 0, 1, 0)).save(
        tmp_path / "b.jpg", quality=75
    )
    moved = prepare_pair(tmp_path / "a.jpg", tmp_path / "b.jpg")
    assert moved.motion.moves
    assert moved.jpeg == (None, None)
    weak, _ = _jpeg_pair(tmp_path, grey, 95)
    assert not is_strongly_compressed(weak)
    assert prepare_pair(tmp_path / "a.jpg", tmp_path / "b.jpg", gamma=2.2).jpeg == (None, None)


@pytest.mark.slow
def test_a_gain_of_exposure_is_undone_before_it_is_compressed_again(tmp_path):
    pair, truth = _jpeg_pair(tmp_path, _cat(), 75, noise=0.0, gain=0.35, align="off")
    assert pair.exposure.changes
    aware, wrong = (estimate_blur(one) for one in (pair, replace(pair, exposure=None)))
    assert _error(aware, truth) < _error(wrong, truth)


@pytest.mark.parametrize("kind", ["colour", "grey"])
@pytest.mark.parametrize("quality", [50, 75, 95])
def test_the_quality_shows_in_the_pixels(astronaut, kind, quality):
    image = astronaut if kind == "colour" else as_grey(astronaut)
    found = find_traces(through_jpeg(image, quality))
    assert found is not None
    assert found[0].quality == pytest.approx(quality, abs=4)
    assert found[1] == (0, 0)


def test_a_cropped_picture_has_its_blocks_elsewhere(astronaut):
    table, corner = find_traces(through_jpeg(astronaut, 75)[3:, 6:])
    assert corner == (5, 2)
    assert table.quality == pytest.approx(75, abs=2)


def test_only_bytes_show_traces(astronaut):
    assert find_traces(through_jpeg(astronaut, 75).astype(np.uint16)) is None


@pytest.mark.parametrize("name", ["astronaut", "camera", "brick", "gravel", "text"])
def test_a_picture_that_was_none_shows_nothing(name):
    from skimage import data

    assert find_traces(getattr(data, name)()) is None


rows, columns = np.mgrid[:256, :320]
REGULAR = {
    "flat": np.full((256, 320), 99),
    "chessboard of 8 px": 60 + 100 * ((rows // 8 + columns // 8) % 2),
    "gradient": 20 + columns / 2,
    "steps of 16": columns // 16 * 12 + 4,
    "noise": np.random.default_rng(0).normal(128, 20, (256, 320)),
    "enlarged 8 times": np.random.default_rng(0).integers(20, 230, (32, 40)).repeat(8, 0).repeat(8, 1),
}


@pytest.mark.parametrize("name", REGULAR)
def test_a_regular_pattern_is_no_trace(name):
    assert find_traces(np.clip(np.rint(REGULAR[name]), 0, 255).astype(np.uint8)) is None


@pytest.mark.parametrize("shape", [(1, 1), (7, 300), (300, 1), (8, 8), (9, 17, 3)])
def test_small_pictures_show_nothing(shape):
    assert find_traces(np.random.default_rng(0).integers(1, 255, shape).astype(np.uint8)) is None


def test_photographs_have_the_noise_of_the_strongest_compression_and_state_it(astronaut, tmp_path):
    for name, image in (("plain", astronaut), ("once", through_jpeg(astronaut, 75))):
        Image.fromarray(image).save(tmp_path / f"{name}.png")
    Image.fromarray(through_jpeg(astronaut, 60)).save(tmp_path / "again.jpg", quality=95)
    Image.fromarray(astronaut).save(tmp_path / "fine.jpg", quality=95)
    names = ("plain.png", "once.png", "again.jpg", "fine.jpg")
    plain, once, again, fine = (read_photograph(tmp_path / name) for name in names)
    assert plain.info["once_jpeg"] is plain.info["jpeg_quality"] is None
    assert plain.jpeg is None
    assert "JPEG of quality 95, once a JPEG of quality about 6" in again.describe()
    assert fine.info["jpeg_quality"] == 95
    assert fine.info["once_jpeg"] is None
    assert again.rounding.read > 2 * fine.rounding.read
    assert again.rounding.shot > fine.rounding.shot > plain.rounding.shot
    assert once.info["once_jpeg"] == pytest.approx(75, abs=2)
    assert "PNG, once a JPEG of quality about 7" in once.describe()
    assert once.rounding.compressed
    assert once.rounding.read > 3 * plain.rounding.read


def test_a_pair_knows_both(astronaut, tmp_path):
    grey = as_grey(astronaut)[:256, :256]
    blurred = np.rint(synth.blur_with_map(grey.astype(float), 1.5)).astype(np.uint8)
    pair = prepare_pair(*(through_jpeg(image, 75) for image in (grey, blurred)), align="off")
    assert [table.quality for table in pair.jpeg] == pytest.approx([75, 75], abs=2)
