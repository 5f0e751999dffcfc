"""Every bad input is one line that names the argument and the remedy."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import InputError, RelblurError, decimate, estimate_blur, evaluate_pair, imread, local_sharpness, synth
from relblur.base.errors import FileError

GOOD = np.random.default_rng(0).random((32, 40))
COLOUR = np.random.default_rng(0).random((32, 40, 3))


def _spoilt(value):
    image = GOOD.copy()
    image[3, 4] = value
    return image


PAIRS = {
    "different sizes": (
        (GOOD, GOOD[:30]),
        {},
        "first and second differ in shape: 32x40 and 30x40; crop or resize them to the same size",
    ),
    "transposed": ((GOOD, GOOD.T), {}, "differ in shape: 32x40 and 40x32"),
    "grey and colour": ((GOOD, COLOUR), {}, "differ in shape: 32x40 and 32x40x3; one is grey: pass second.mean"),
    "one-dimensional": ((GOOD[0], GOOD[0]), {}, "first must be two-dimensional .*got 1 dimension"),
    "a number": ((0.5, 0.5), {}, "first must be two-dimensional"),
    "four-dimensional": ((GOOD[None, None], GOOD[None, None]), {}, "first must be two-dimensional.*got 4"),
    "empty": ((GOOD[:0], GOOD[:0]), {}, "first is empty \\(shape \\(0, 40\\)\\); check how it was read or sliced"),
    "1x1": ((GOOD[:1, :1], GOOD[:1, :1]), {}, "first is 1x1; relative blur needs at least 2x2 pixels"),
    "one row": ((GOOD[:1], GOOD[:1]), {}, "first is 1x40; relative blur needs at least 2x2"),
    "smaller than the window": (
        (GOOD[:7, :20], GOOD[:7, :20]),
        {},
        "window=9 is larger than the image \\(7x20\\); use window=7 or a larger image",
    ),
    "window larger than the image": ((GOOD, GOOD), {"window": 41}, "window=41 is larger than the image .*window=31"),
    "even window": ((GOOD, GOOD), {"window": 8}, "window must be an odd whole number >= 1, got 8"),
    "fractional window": ((GOOD, GOOD), {"window": 9.0}, "window must be an odd whole number >= 1, got 9.0"),
    "complex": ((GOOD * 1j, GOOD), {}, "first is complex; pass its magnitude, numpy.abs\\(first\\)"),
    "complex second": ((GOOD, GOOD * 1j), {}, "second is complex; pass its magnitude, numpy.abs\\(second\\)"),
    "boolean": ((GOOD > 0.5, GOOD), {}, "first has dtype bool; pass integers or floats \\(first.astype\\(float\\)\\)"),
    "text": ((np.array([["a", "b"]] * 2), GOOD), {}, "first has dtype <U1; pass integers or floats"),
    "None": ((None, GOOD), {}, "first has dtype object"),
    "ragged": (([[1.0, 2.0], [3.0]], GOOD), {}, "first is ragged; all its rows must have one length"),
    "all NaN": ((np.full((32, 40), np.nan), GOOD), {}, "first holds no finite pixel; check how the file was read"),
    "second all infinite": ((GOOD, np.full((32, 40), np.inf)), {}, "second holds no finite pixel"),
    "nothing finite in both": (
        (np.where(np.arange(40) < 20, np.nan, GOOD), np.where(np.arange(40) >= 20, np.nan, GOOD)),
        {},
        "no pixel to use",
    ),
    "many channels without channel_axis": (
        (np.concatenate([COLOUR, COLOUR], 2),) * 2,
        {},
        "first has three dimensions .* pass the axis of its channels as channel_axis",
    ),
    "channels first without channel_axis": (
        (COLOUR.transpose(2, 0, 1),) * 2,
        {},
        "first has three dimensions \\(3, 32, 40\\); its channels come first, pass channel_axis=0",
    ),
    "channels first taken for last": (
        (COLOUR.transpose(2, 0, 1),) * 2,
        {"channel_axis": -1},
        "channel_axis=-1 makes 40 channels; pass channel_axis=0",
    ),
    "channels last taken for first": ((COLOUR, COLOUR), {"channel_axis": 0}, "makes 32 channels; pass channel_axis=-1"),
    "a path": (("a.png", GOOD), {}, "first is a path, 'a.png'; read it with relblur.imread\\('a.png'\\)"),
    "bytes and 0..255": (
        ((GOOD * 255).astype(np.uint8), GOOD * 255),
        {},
        "first is uint8, taken over its full scale of 255, and second is float .* pass second / 255",
    ),
    "0..65535 and 16 bits": ((GOOD * 65535, (GOOD * 65535).astype(np.uint16)), {}, "pass first / 65535"),
    "max_sigma and sigmas": ((GOOD, GOOD), {"max_sigma": 2, "sigmas": [1.0]}, "max_sigma and sigmas both say"),
    "negative max_sigma": ((GOOD, GOOD), {"max_sigma": -2}, "max_sigma must be finite and > 0 px, got -2"),
    "sRGB beyond 1": ((GOOD * 9, GOOD * 9), {"linear": True}, "the sRGB curve is undone within 0..1"),
    "channel_axis for grey": ((GOOD, GOOD), {"channel_axis": -1}, "channel_axis needs three dimensions, leave it out"),
    "channel_axis out of range": ((COLOUR, COLOUR), {"channel_axis": 3}, "channel_axis must be -3..2 .*got 3"),
    "negative sigmas": ((GOOD, GOOD), {"sigmas": [-1.0, 2.0]}, "sigmas must be finite and > 0 px, got -1; leave such"),
    "zero sigma": ((GOOD, GOOD), {"sigmas": [0.0, 2.0]}, "sigmas must be finite and > 0 px, got 0"),
    "NaN sigma": ((GOOD, GOOD), {"sigmas": [1.0, np.nan]}, "sigmas must be finite and > 0 px, got nan"),
    "unsorted sigmas": ((GOOD, GOOD), {"sigmas": [2.0, 1.0]}, "sigmas must increase strictly; pass numpy.unique"),
    "repeated sigmas": ((GOOD, GOOD), {"sigmas": [1.0, 1.0]}, "sigmas must increase strictly"),
    "no sigmas": ((GOOD, GOOD), {"sigmas": []}, "sigmas must be a non-empty one-dimensional list"),
    "words for sigmas": ((GOOD, GOOD), {"sigmas": ["a"]}, "sigmas must be numbers, got .*numpy.arange"),
    "sigmas wider than the image": (
        (GOOD, GOOD),
        {"sigmas": [1.0, 17.0]},
        "sigmas go up to 17 px, more than half the image's shorter side \\(32 px\\); keep them below 16",
    ),
    "valid of another shape": ((GOOD, GOOD), {"valid": np.ones((3, 3), bool)}, "valid has shape \\(3, 3\\)"),
    "valid of numbers": ((GOOD, GOOD), {"valid": np.ones((32, 40))}, "valid has dtype float64; pass booleans"),
    "valid nowhere": ((GOOD, GOOD), {"valid": np.zeros((32, 40), bool)}, "valid leaves no pixel to use"),
    "negative noise": ((GOOD, GOOD), {"noise": -0.1}, "noise must be finite and > 0 .*got -0.1"),
    "noise in words": ((GOOD, GOOD), {"noise": "low"}, "noise must be a number .*got 'low'"),
    "unknown method": ((GOOD, GOOD), {"method": "magic"}, "method must be one of 'paper', .*; got 'magic'"),
    "unknown side": ((GOOD, GOOD), {"sharper": "left"}, "sharper must be one of 'auto', 'first', 'second'; got 'left'"),
    "unknown engine": ((GOOD, GOOD), {"engine": "gpu"}, "engine must be one of 'auto', .*; got 'gpu'"),
    "no workers": ((GOOD, GOOD), {"workers": 0}, "workers must be a whole number >= 1 or None \\(all cores\\), got 0"),
}


@pytest.mark.parametrize("case", PAIRS)
@pytest.mark.parametrize("method", ["paper", "window", "refined"])
def test_estimate_blur_refuses_by_name_with_the_remedy(case, method):
    images, keywords, message = PAIRS[case]
    with pytest.raises(InputError, match=message) as error:
        estimate_blur(*images, **{"method": method, **keywords})
    assert "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("case", ["different sizes", "one-dimensional", "empty", "1x1", "complex", "all NaN"])
def test_evaluate_pair_refuses_the_same(case):
    images, keywords, message = PAIRS[case]
    with pytest.raises(InputError, match=message):
        evaluate_pair(*images, **keywords)


@pytest.mark.parametrize("method", ["paper", "window", "refined"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_bad_pixel_is_a_flag_and_not_an_error(method, value):
    found = estimate_blur(_spoilt(value), synth.blur_with_map(GOOD, 1.0), method=method)
    assert found.flags[3, 4] & 1
    assert np.isfinite(found.variance_difference[20:, 20:]).any()


@pytest.mark.parametrize("call", [lambda i: decimate(i, 2), local_sharpness, lambda i: synth.blur_with_map(i, 1.0)])
@pytest.mark.parametrize(
    ("image", "message"),
    [
        (GOOD[0], "image must be two-dimensional"),
        (GOOD[:0], "image is empty"),
        (GOOD[:1, :1], "image is 1x1"),
        (GOOD * 1j, "image is complex"),
        (COLOUR.transpose(2, 0, 1), "image has three dimensions .*pass channel_axis=0"),
        ("near.png", "image is a path"),
    ],
)
def test_functions_of_one_image_refuse_by_name(call, image, message):
    with pytest.raises(InputError, match=message):
        call(image)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.write_text("hello"), "is not an image"),
        (lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30), "(is damaged|is not an image)"),
        (lambda p: p.mkdir(), "is a folder"),
        (lambda p: None, "there is no file"),
        (lambda p: p.touch(), "is empty"),
    ],
    ids=["non-image", "truncated", "directory", "missing", "empty"],
)
def test_bad_files_are_file_errors_in_one_line(tmp_path, make, message):
    path = tmp_path / "image.png"
    make(path)
    with pytest.raises(FileError, match=message) as error:
        imread(path)
    assert "\n" not in str(error.value)
    assert "image.png" in str(error.value)
    assert isinstance(error.value, OSError)
    assert isinstance(error.value, RelblurError)


def test_a_name_with_a_zero_byte_is_one_line():
    with pytest.raises(FileError, match="cannot be read") as error:
        imread("a\0b.png")
    assert "\n" not in str(error.value)
