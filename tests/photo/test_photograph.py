"""Pairs of image files: found, read, checked against each other, decimated."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relblur import InputError, decimate, save
from relblur.blur.comparable_pair import ComparablePair
from relblur.photo.photograph import read_light_pair, read_pair, stored_array

WHITE = 255


def test_a_pair_keeps_its_stored_values(tmp_path):
    images = np.random.default_rng(0).integers(0, 65535, (2, 6, 8, 3)).astype(np.uint16)
    for name, image in zip("ab", images, strict=True):
        save(tmp_path / f"{name}.png", image)
    pair = read_pair(tmp_path / "a.png", tmp_path / "b.png")
    assert_array_equal([pair.first, pair.second], images)
    assert pair.first.dtype == np.uint16
    assert (pair.size, pair.channel_axis, pair.valid) == ("8x6", -1, None)


def test_decimated_pairs_are_decimated_images():
    image = np.random.default_rng(0).integers(0, 200, (21, 30, 3)).astype(np.uint8)
    pair = ComparablePair(image, image[::-1]).decimated(2)
    assert_array_equal(pair.first, decimate(image, 2, channel_axis=-1))
    assert_array_equal(pair.second, decimate(image[::-1], 2, channel_axis=-1))
    assert pair.valid is None
    same = ComparablePair(image, image)
    assert same.decimated(1) is same


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("factor", [2, 3])
def test_a_clipped_pixel_makes_the_pixels_it_went_into_unusable(which, factor):
    images = np.full((2, 24, 36), 100, np.uint8)
    images[which, 12, 24] = WHITE
    pair = ComparablePair(*images).decimated(factor)
    assert pair.valid is None  # light was there, too much of it
    assert not pair.clipped[1 - which].any()
    clipped = pair.clipped[which]
    assert clipped[12 // factor, 24 // factor]
    assert clipped.sum() <= 9  # it and at most its neighbours
    assert_array_equal(pair.usable, ~clipped)


def test_a_pixel_that_is_not_valid_is_lost_with_all_it_went_into():
    image, valid = np.full((24, 36), 0.5), np.ones((24, 36), bool)
    valid[12, 24] = False
    reduced = ComparablePair(image, image, valid).decimated(2)
    assert not reduced.valid[6, 12]
    assert (~reduced.valid).sum() <= 9
    assert not reduced.clipped_in_either.any()


def test_pairs_that_do_not_fit_are_refused_with_both_names(tmp_path):
    for name, shape in (("a", (6, 8)), ("b", (6, 9)), ("c", (6, 8, 3))):
        save(tmp_path / f"{name}.npy", np.zeros(shape))
    with pytest.raises(InputError, match=r"a\.npy is 8x6, .*b\.npy is 9x6; crop or resize them"):
        read_pair(tmp_path / "a.npy", tmp_path / "b.npy")
    for one, two in (("a", "c"), ("c", "a")):
        with pytest.raises(InputError, match=r"a\.npy is grey and the other image is colour"):
            read_pair(tmp_path / f"{one}.npy", tmp_path / f"{two}.npy")


def test_notes_say_which_file_is_which_and_rounding_is_known_of_integers_alone(tmp_path):
    image = np.random.default_rng(0).integers(0, 200, (12, 14), dtype=np.uint8)
    for name, values in (("a.png", image), ("b.png", image.astype(np.uint16) * 256), ("c.npy", image / 255.0)):
        save(tmp_path / name, values)
    a, b, c = (tmp_path / name for name in ("a.png", "b.png", "c.npy"))
    again = shutil.copy(a, tmp_path / "again.png")
    mixed = read_light_pair(a, b)
    assert [note.split(":")[0] for note in mixed.notes] == ["light, first", "light, second"]
    assert "8 bits" in mixed.notes[0]
    assert "16 bits" in mixed.notes[1]
    assert [note.split(":")[0] for note in read_light_pair(a, again).notes] == ["light"]
    first, second = mixed.rounding
    assert first.read + first.shot > second.read + second.shot > 0  # of 8 and of 16 bits
    assert read_light_pair(a, c).rounding is None
    assert read_light_pair(c, a).rounding is None


@pytest.mark.parametrize(("f_numbers", "sharper"), [((22, 4), "first"), ((4, 22), "second"), ((4, 4), "auto")])
def test_the_smaller_aperture_is_the_sharper_image(tmp_path, f_numbers, sharper):
    from PIL import Image

    values = np.random.default_rng(0).integers(0, 255, (2, 16, 20)).astype(np.uint8)
    for name, image, f_number in zip("ab", values, f_numbers, strict=True):
        exif = Image.Exif()
        exif.get_ifd(0x8769).update({0x829D: float(f_number), 0x920A: 35.0, 0x9206: 2.0})
        Image.fromarray(image).save(tmp_path / f"{name}.jpg", exif=exif)
    assert read_light_pair(tmp_path / "a.jpg", tmp_path / "b.jpg").sharper == sharper


@pytest.mark.parametrize("channels", [2, 4])
def test_the_last_of_two_or_four_channels_of_an_array_is_alpha(channels):
    values = np.random.default_rng(0).random((6, 8, channels))
    with pytest.warns(UserWarning, match="counts as alpha"):
        stored, _ = stored_array(values, "first", -1)
    assert_array_equal(stored.values, values[:, :, 0] if channels == 2 else values[:, :, :3])
    three, _ = stored_array(np.dstack([values[:, :, 0]] * 3), "first", -1)
    assert three.values.shape == (6, 8, 3)
