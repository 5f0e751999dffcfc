"""Swapped files: what names, EXIF, apertures and impossible distances say; and that nothing is said without reason."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import Camera, ComparablePair, DepthMap, Flag, estimate_depth
from relblur.depth.defocus import defocused_pair
from relblur.depth.order import depth_order_warnings, file_order_warnings, image_order_warnings

FOCUS = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
APERTURE = Camera(coc_constant_px_m=(24, 8), focus_first_m=1.6, focus_second_m=1.6)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("near.png", "far.png", 0),
        ("far.png", "near.png", 1),
        ("IMG_1_Background.jpg", "img_1_foreground.jpg", 1),
        ("a.png", "b.png", 0),
        ("faraway.png", "nearly.png", 0),  # other words
        ("near_far.png", "far_near.png", 0),  # both: says nothing
        ("far1.png", "far2.png", 0),
    ],
)
def test_names_that_contradict_the_camera_are_doubted(tmp_path, first, second, said):
    files = (tmp_path / "nearby" / first, tmp_path / second)  # folders do not count
    assert len(file_order_warnings(files, FOCUS)) == said
    turned = Camera(coc_constant_px_m=14, focus_first_m=2, focus_second_m=1)
    if "near" in first or "far" in first or "ground" in first:
        assert len(file_order_warnings(files, turned)) == (
            0 if said or "_" in first or "1" in first or "away" in first else 1
        )


def test_exif_distances_that_contradict_the_camera_are_doubted(tmp_path):
    from PIL import Image

    for name, metres in (("one.jpg", 2.0), ("two.jpg", 1.0)):
        exif = Image.Exif()
        exif.get_ifd(0x8769)[0x9206] = metres
        Image.new("L", (8, 8)).save(tmp_path / name, exif=exif)
    files = (tmp_path / "one.jpg", tmp_path / "two.jpg")
    assert "EXIF has 2 m for the first and 1 m" in file_order_warnings(files, FOCUS)[0]
    assert file_order_warnings(files[::-1], FOCUS) == []


def test_the_larger_aperture_cannot_be_the_sharper(texture):
    pair = ComparablePair(*defocused_pair(texture, 2.4, APERTURE))
    assert image_order_warnings(pair, APERTURE) == []
    swapped = ComparablePair(pair.second, pair.first)
    assert "first image is the sharper" in image_order_warnings(swapped, APERTURE)[0]
    assert image_order_warnings(swapped, FOCUS) == []  # of two focus settings either may be
    told = ComparablePair(pair.first, pair.second, sharper="first")  # by EXIF
    assert len(image_order_warnings(told, APERTURE)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("psf", ["disc", "gaussian"])
def test_a_scene_beyond_infinity_is_doubted(texture, psf):
    """At 0.6 m the blur is that of u = 1.67; exchanged it is that of 1.5 - 1.67 < 0."""
    first, second = defocused_pair(texture, 0.6, FOCUS, psf=psf)
    assert depth_order_warnings(estimate_depth(first, second, FOCUS, psf=psf)) == []
    found = estimate_depth(second, first, FOCUS, psf=psf)
    assert "swapped" in depth_order_warnings(found)[0]
    assert np.isnan(found.depth_m).mean() > 0.25 or (found.depth_m > 1000).mean() > 0.25


@pytest.mark.parametrize(
    ("camera", "words"), [(FOCUS, "focused at 1 m, SECOND that at 2 m"), (APERTURE, "two f-numbers")]
)
def test_the_doubt_says_in_which_order_the_files_belong(camera, words):
    shape = (4, 5)
    beyond = DepthMap(np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, int(Flag.OUT_OF_RANGE)), camera)
    (said,) = depth_order_warnings(beyond)
    assert words in said
    assert said.startswith("100% of the pixels")
