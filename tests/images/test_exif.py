"""Two apertures, one focus: what EXIF says decides which image is the sharper."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from relblur import estimate_blur, prepare_pair, synth
from relblur.images.exif import Shot, smaller_aperture

Image = pytest.importorskip("PIL.Image")


def shot(f_number=8.0, focal_length=35.0, focus=1.7):
    return Shot(f_number, focal_length, focus)


def test_the_smaller_aperture_is_told_if_nothing_else_differs():
    assert smaller_aperture(shot(8.0), shot(2.8)) == "first"
    assert smaller_aperture(shot(2.8), shot(8.0)) == "second"
    assert smaller_aperture(shot(8.0), shot(8.1)) is None
    assert smaller_aperture(shot(8.0), shot(2.8, focus=1.8)) is None
    assert smaller_aperture(shot(8.0), shot(2.8, focal_length=50.0)) is None
    assert smaller_aperture(None, shot(2.8)) is None


@pytest.mark.parametrize("value", [None, "x", 0, float("nan"), (1, 2)])
def test_a_shot_of_which_something_is_unknown_is_none(value):
    told = {0x829D: Fraction(28, 10), 0x920A: 35, 0x9206: 1.7}
    assert Shot.of(told) == Shot(2.8, 35, 1.7)
    for tag in told:
        assert Shot.of(told | {tag: value}) is None


def save(path, image, f_number, focus):
    exif = Image.Exif()
    exif.get_ifd(0x8769).update({0x829D: f_number, 0x920A: 35.0, 0x9206: focus})
    Image.fromarray(np.round(255 * image).astype(np.uint8)).save(path, quality=95, exif=exif)


@pytest.mark.parametrize(("focus", "told"), [(1.7, "second"), (3.0, "auto")])
def test_a_pair_of_apertures_is_measured_one_sided(tmp_path, focus, told):
    from skimage import data

    sharp = data.brick()[:120, :160] / 255.0
    save(tmp_path / "wide.jpg", synth.blur_with_map(sharp, 1.5), 2.8, 1.7)
    save(tmp_path / "narrow.jpg", sharp, 8.0, focus)
    pair = prepare_pair(tmp_path / "wide.jpg", tmp_path / "narrow.jpg", linear=False)
    assert pair.sharper == told
    assert any("f/2.8 and f/8" in note for note in pair.notes) == (told != "auto")
    found = estimate_blur(pair)
    assert found.settings["sharper"] == told
    assert np.median(found.sigma) == pytest.approx(-1.5, abs=0.1)
    if told != "auto":
        assert (found.variance_difference <= 0).all()
        assert estimate_blur(pair, sharper="first").settings["sharper"] == "first"  # who states it knows better
