"""``estimate_blur``: oracles that every method must meet, inputs of every kind, flags."""

from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import BlurMap, Flag, estimate_blur, synth
from relblur.blur.estimating import Estimating

METHODS = ["paper", "window", "refined"]
CONTINUOUS = ["window", "refined"]
NO_VALUE = int(Flag.INVALID | Flag.CLIPPED | Flag.FLAT | Flag.EQUAL)


def _has(blur_map, flag):
    return (blur_map.flags & int(flag)) != 0


def _same(one: BlurMap, two: BlurMap) -> None:
    for name in ("variance_difference", "variance_stderr", "flags", "sharper"):
        assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.fixture(scope="module")
def both_ways(texture, read_only):
    """A pair, each image sharper in part: -2 px on the left to +2 px on the right, and the truth."""
    truth = synth.ramp(texture.shape, -2.0, 2.0, axis=1)
    first, second = synth.pair(texture, truth)
    return read_only(first), read_only(second), truth


# Oracles


@pytest.mark.parametrize("method", METHODS)
def test_sigma_3_and_5_differ_by_4(texture, method):
    first, second = (synth.blur_with_map(texture, sigma) for sigma in (3.0, 5.0))
    found = estimate_blur(first, second, method=method)
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.4
    assert_allclose(np.median(found.sigma[known]), 4.0, atol=0.05)
    assert_allclose(np.median(found.variance_difference[known]), 16.0, atol=0.4)


@pytest.mark.parametrize(("method", "tolerance"), [("paper", 0.0), ("window", 1e-6), ("refined", 0.01)])
def test_swapping_the_images_flips_the_sign(both_ways, method, tolerance):
    first, second, _ = both_ways
    one, two = estimate_blur(first, second, method=method), estimate_blur(second, first, method=method)
    assert np.isfinite(one.sigma).mean() > 0.8
    difference = one.variance_difference + two.variance_difference
    assert np.nanpercentile(np.abs(difference), 99) <= tolerance
    assert (one.sharper == -two.sharper).mean() > 0.99


@pytest.mark.parametrize("method", CONTINUOUS)
def test_identical_images_differ_by_nothing_within_the_error_bar(texture, method):
    found = estimate_blur(texture, texture, method=method)
    known = np.isfinite(found.variance_difference)
    assert known.mean() > 0.9
    assert (np.abs(found.variance_difference) <= found.variance_stderr)[known].all()
    assert (found.sharper == 0).all()
    assert np.abs(found.variance_difference[known]).max() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("method", "tolerance"), [("paper", 1e-9), ("window", 1e-6), ("refined", 0.01)])
@pytest.mark.parametrize(
    "turn",
    [np.transpose, np.flipud, np.fliplr, lambda image: np.rot90(image, 2)],
    ids=["transpose", "up-down", "left-right", "half turn"],
)
def test_turning_both_images_turns_the_map(both_ways, method, tolerance, turn):
    first, second, _ = both_ways
    straight = estimate_blur(first, second, method=method)
    turned = estimate_blur(turn(first), turn(second), method=method)
    wanted = turn(straight.variance_difference)
    assert (np.isnan(wanted) != np.isnan(turned.variance_difference)).mean() < 0.002
    difference = np.abs(turned.variance_difference - wanted)
    if method == "paper":  # of several nearest pixels that have an answer, one fills a flat place
        difference = difference[turn(straight.flags) & np.uint8(Flag.FILLED) == 0]
    assert np.nanmedian(difference) <= tolerance
    # The refined map's stiffness lives on blocks counted from the top left corner: within three errors.
    # The compiled windows are sums of float32.
    limit = {"refined": 3 * turn(straight.variance_stderr), "window": 1e-4}.get(method, tolerance)
    assert np.nanpercentile(difference / limit, 99) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("method", "tolerance"), [("paper", 0.0), ("window", 1e-4), ("refined", 1e-3)])
@pytest.mark.parametrize("scale", [1e-8, 1e-3, 7.0, 4000.0])
def test_intensity_scale_does_not_matter(both_ways, method, tolerance, scale):
    first, second, _ = both_ways
    one = estimate_blur(first, second, method=method)
    two = estimate_blur(scale * first, scale * second, method=method)
    assert (one.flags != two.flags).mean() < 0.002
    assert np.nanpercentile(np.abs(one.variance_difference - two.variance_difference), 99) <= tolerance
    assert_allclose(np.nanmedian(two.variance_stderr), np.nanmedian(one.variance_stderr), rtol=1e-3)


@pytest.mark.parametrize("method", CONTINUOUS)
def test_an_offset_on_both_images_does_not_matter(both_ways, method):
    first, second, _ = both_ways
    one, two = (estimate_blur(first + c, second + c, method=method) for c in (0.0, 3.0))
    assert np.nanpercentile(np.abs(one.variance_difference - two.variance_difference), 99) < 1e-3


@pytest.mark.parametrize("method", CONTINUOUS)
def test_both_directions_are_found_in_one_pair(both_ways, method):
    first, second, truth = both_ways
    found = estimate_blur(first, second, method=method)
    known = np.isfinite(found.sigma)
    assert known.mean() > 0.95
    assert np.abs(found.sigma - truth)[known].mean() < 0.08
    clear = np.abs(truth) > 0.7
    assert (np.sign(found.sigma) == np.sign(truth))[known & clear].mean() > 0.99
    assert_array_equal(found.sharper[:, 8], -1)
    assert_array_equal(found.sharper[:, -8], 1)


# Flat images


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("side", ["auto", "first", "second"])
@pytest.mark.parametrize("dtype", [np.float64, np.uint8])
def test_flat_pairs_are_flagged_everywhere(method, side, dtype):
    flat = np.full((40, 44), 100, dtype=dtype)
    found = estimate_blur(flat, flat, method=method, sharper=side)
    assert (found.flags != 0).all()
    if method != "refined":
        assert np.isnan(found.variance_difference).all()


# Kinds of input


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_memory_layout_and_byte_order_do_not_matter(both_ways, method):
    first, second, _ = both_ways
    wanted = estimate_blur(first, second, method=method)
    swapped = first.astype(first.dtype.newbyteorder()), second.astype(second.dtype.newbyteorder())
    wide = np.zeros((2 * first.shape[0], 3 * first.shape[1]))
    wide[::2, ::3] = first
    strided = wide[::2, ::3], np.asfortranarray(second)
    backwards = np.ascontiguousarray(first[::-1, ::-1])[::-1, ::-1], second
    for one, two in (swapped, strided, backwards, (first.tolist(), second.tolist())):
        _same(estimate_blur(one, two, method=method), wanted)
    stored = [synth.degrade(image, bits=16) for image in (first, second)]
    swapped = (image.astype(image.dtype.newbyteorder()) for image in stored)
    _same(estimate_blur(*swapped, method=method), estimate_blur(*stored, method=method))


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_colour_channels_may_lie_on_any_axis(colour, method, axis):
    first, second = synth.pair(colour, 1.5, channel_axis=-1)
    wanted = estimate_blur(first, second, method=method, channel_axis=-1)
    moved = (np.moveaxis(image, -1, axis) for image in (first, second))
    _same(estimate_blur(*moved, method=method, channel_axis=axis), wanted)
    assert wanted.shape == colour.shape[:2]
    assert_allclose(np.nanmedian(wanted.sigma), 1.5, atol=0.01)


# Pixels that cannot be used


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("which", [0, 1])
def test_bad_pixels_are_flagged_with_what_they_reach(both_ways, method, bad, which):
    pair = [np.array(both_ways[0]), np.array(both_ways[1])]
    clean = estimate_blur(*pair, method=method)
    pair[which][50, 90] = bad
    found = estimate_blur(*pair, method=method)
    invalid = _has(found, Flag.INVALID)
    assert invalid[50, 90]
    assert invalid[48:53, 88:93].all()
    assert not _has(clean, Flag.INVALID).any()
    rows, columns = np.indices(invalid.shape)
    far = np.hypot(rows - 50, columns - 90) > 25
    assert not invalid[far].any()
    further = np.hypot(rows - 50, columns - 90) > 40  # 5 sigma of the widest kernel, and windows
    # The refined map's prior has no end: a pixel less is felt everywhere, within the standard error.
    limit = clean.variance_stderr[further] if method == "refined" else 1e-3
    difference = np.abs(found.variance_difference - clean.variance_difference)[further]
    assert np.nanpercentile(difference / limit, 99) < 1
    if method != "refined":
        assert np.isnan(found.variance_difference[invalid]).all()


@pytest.mark.parametrize("method", CONTINUOUS)
def test_values_outside_valid_do_not_enter_the_sums(both_ways, method):
    first, second, _ = both_ways
    spoilt = np.array(second)
    spoilt[40:60, 20:40] = np.random.default_rng(0).random((20, 20))
    valid = np.ones(first.shape, dtype=bool)
    valid[40:60, 20:40] = False
    found, wanted = (
        estimate_blur(first, image, method=method, valid=valid, sharper="second") for image in (spoilt, second)
    )
    near = np.s_[30:70, 55:70]  # beyond the reach of the bad block's blur, 2 px wide at most here
    known = np.isfinite(found.sigma) & np.isfinite(wanted.sigma)
    difference = np.abs(found.variance_difference - wanted.variance_difference)[near]
    assert np.median(difference[known[near]]) < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_clipped_pixels_are_flagged(texture, method, dtype):
    first, second = (synth.degrade(image, bits=8 * dtype().itemsize) for image in synth.pair(texture, 1.0))
    assert not _has(estimate_blur(first, second, method=method), Flag.CLIPPED).any()
    second[30:34, 70:74] = np.iinfo(dtype).max
    found = estimate_blur(first, second, method=method)
    assert _has(found, Flag.CLIPPED)[28:36, 68:76].all()
    assert not _has(found, Flag.CLIPPED)[60:].any()


# Promises about the result


@pytest.mark.parametrize("method", METHODS)
def test_inputs_are_never_written_to(both_ways, read_only, method):
    first, second, _ = both_ways  # read-only: writing would raise
    broken = np.array(first)
    broken[3, 3] = np.nan
    valid = np.ones(first.shape, bool)
    valid[5] = False
    before = first.tobytes(), second.tobytes()
    estimate_blur(read_only(broken), second, method=method, valid=read_only(valid))
    estimate_blur(first, second, method=method)
    assert (first.tobytes(), second.tobytes()) == before


@pytest.mark.parametrize("method", METHODS)
def test_threads_do_not_matter(both_ways, method):
    first, second, _ = both_ways
    _same(*(estimate_blur(first, second, method=method, workers=n) for n in (1, 2)))


@pytest.mark.parametrize("method", METHODS)
def test_no_answer_is_nan_and_a_flag_never_a_number(both_ways, method):
    first, second, _ = both_ways
    broken = np.array(first)
    broken[10:60, 40:60] = 0.5
    broken[80, 30] = np.nan
    found = estimate_blur(broken, second, method=method)
    missing = np.isnan(found.variance_difference)
    assert_array_equal(missing, np.isnan(found.variance_stderr))
    assert ((found.flags[missing] & NO_VALUE) != 0).all()
    if method != "refined":
        no_value = NO_VALUE if method == "window" else int(Flag.INVALID | Flag.EQUAL)
        assert_array_equal(missing, (found.flags & no_value) != 0)
        assert missing.any()
    assert (found.variance_stderr[~missing] > 0).all()
    assert np.isfinite(found.variance_stderr[~missing]).all()


@pytest.mark.parametrize("method", METHODS)
def test_progress_rises_to_one(both_ways, method):
    shares = []
    estimate_blur(*both_ways[:2], method=method, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)


# BlurMap itself


def _map(**changes):
    fields = {
        "variance_difference": np.array([[4.0, -9.0], [0.0, np.nan]]),
        "variance_stderr": np.array([[0.4, 0.6], [0.25, np.nan]]),
        "flags": np.array([[0, 0], [0, 4]]),
        "sharper": np.array([[1, -1], [0, 0]]),
    }
    return BlurMap(**{**fields, **changes})


def test_sigma_is_the_signed_root_and_its_error_follows():
    blur_map = _map()
    assert_allclose(blur_map.sigma, [[2.0, -3.0], [0.0, np.nan]])
    # d sigma = d s / (2 sigma) far from zero, sqrt(d s) at zero.
    assert_allclose(blur_map.sigma_stderr[0], [0.1, 0.1], rtol=0.03)
    assert_allclose(blur_map.sigma_stderr[1], [0.5, np.nan])
    assert blur_map.shape == (2, 2)
    # Beside zero the sign is in doubt, too: sigma may be any from -0.4 to 0.7.
    beside = _map(variance_difference=np.full((2, 2), 0.16), variance_stderr=np.full((2, 2), 0.32))
    assert_allclose(beside.sigma_stderr, (np.sqrt(0.48) + 0.4) / 2)


def test_the_record_of_options_has_the_defaults_of_the_function():
    parameters = inspect.signature(estimate_blur).parameters
    for field in fields(Estimating):
        assert parameters[field.name].default == field.default, field.name
