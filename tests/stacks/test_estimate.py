"""``estimate_stack``: index, depth and blur with honest errors; what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relblur
from relblur import Flag, InputError, estimate_stack, synth

from .conftest import GROWTH, INSIDE, PLAIN, SIZE, ramp, stack_of


def test_many_frames_determine_the_index_with_an_honest_error(many):
    index, _, found = many
    error = (found.index - index)[INSIDE]
    assert np.sqrt(np.mean(error**2)) < 0.08
    assert abs(error.mean()) < 0.03
    assert (np.abs(error) < 2 * found.index_stderr[INSIDE]).mean() > 0.8
    assert found.settings["method"] == "symmetric"
    assert found.depth_m is None


def test_absolute_blur_follows_from_the_stack_itself(many):
    index, _, found = many
    assert_allclose(found.growth_px, GROWTH, rtol=0.1)
    assert found.sigma_px.shape == (10, SIZE, SIZE)
    assert_allclose(found.sigma_px[0][INSIDE], GROWTH * index[INSIDE], rtol=0.2)
    assert_allclose(found.variance_difference(2, 4), found.sigma_px[4] ** 2 - found.sigma_px[2] ** 2, atol=1e-9)


def test_few_frames_and_a_camera_determine_the_depth(few):
    u, frames, options = few
    order = [2, 0, 1]
    focus = [options["focus_m"][i] for i in order]
    found = estimate_stack([frames[i] for i in order], **{**options, "focus_m": focus})
    assert found.order == (1, 2, 0)  # near first
    assert_allclose(found.places, [1, 0.75, 0.5])
    assert np.abs(found.depth_m * u - 1)[INSIDE].mean() < 0.01
    error = np.abs(found.index - np.interp(u, [0.5, 0.75, 1], [2, 1, 0]))[INSIDE]
    assert np.quantile(error, 0.99) < 0.06
    assert found.settings["method"] == "joint"


@pytest.mark.parametrize(("count", "growth"), [(3, 1.0), pytest.param(5, 0.8, marks=pytest.mark.slow)])
def test_few_frames_without_a_camera_measure_the_growth_of_blur(sharp, count, growth):
    index = ramp(0.3, count - 1.3)
    found = estimate_stack(stack_of(sharp, index, count, growth), fuse=False, **PLAIN)
    assert_allclose(found.growth_px, growth, rtol=0.15)
    assert np.abs(found.index - index)[INSIDE].mean() < 0.1


def test_a_frame_that_contradicts_the_others_widens_the_error_bar(sharp, few):
    _, _, options = few
    u, rng, growth = 0.8, np.random.default_rng(0), options["camera"].blur_constants_px_m[0]
    frames = [synth.blur_with_map(sharp, np.full(sharp.shape, growth * abs(u - 1 / f))) for f in options["focus_m"]]
    frames = [frame + 0.002 * rng.standard_normal(frame.shape) for frame in frames]
    agreed = estimate_stack(frames, **options)
    frames[1] = synth.blur_with_map(frames[1], np.full(sharp.shape, 0.5))  # blurrier than any place allows
    found = estimate_stack(frames, **options)
    for each in (agreed, found):
        error = np.abs(1 / each.depth_m - u)[INSIDE]
        assert (error < 2 * (each.depth_stderr_m / each.depth_m**2)[INSIDE]).mean() > 0.9
    assert np.median(found.index_stderr[INSIDE]) > 3 * np.median(agreed.index_stderr[INSIDE])


@pytest.mark.parametrize("count", [3, 9])
def test_a_wall_is_flagged_whatever_the_noise_on_it(sharp, few, count):
    """Noise that is correlated looks a little more like one blur than like another, and a wall is large."""
    _, _, options = few
    wall = np.arange(SIZE) < SIZE // 2
    scene, frames = np.where(wall, 0.5, sharp), []
    for number in range(count):
        blur = 2.0 * abs(number / (count - 1) - 0.4)
        noise = 0.01 * np.random.default_rng(number).standard_normal(scene.shape)
        noise = synth.blur_with_map(noise, np.full(scene.shape, 0.3 + 0.8 * number / (count - 1)))
        frames.append(synth.blur_with_map(scene, np.full(scene.shape, blur)) + noise)
    found = estimate_stack(frames, **(options if count == 3 else {"fuse": False, **PLAIN}))
    assert (found.flags[:, : SIZE // 2 - 12] != 0).mean() > 0.97
    assert (found.flags[INSIDE][:, ~wall[10:-10]] != 0).mean() < 0.3


def test_masks_and_missing_pixels_do_not_spread(many):
    index, frames, _ = many
    valid = np.ones((SIZE, SIZE), bool)
    valid[20:30, 20:30] = False
    spoilt = [frame.copy() for frame in frames]
    spoilt[4][20:30, 20:30] = 0.9
    spoilt[3][40:42, 30:34] = [np.nan, np.inf, 3e38, np.nan]
    masked = estimate_stack(spoilt, valid=valid, **PLAIN)
    assert (masked.flags[22:28, 22:28] & np.uint8(Flag.INVALID)).all()
    assert (masked.flags[40:42, 30:34] & np.uint8(Flag.INVALID)).all()
    assert not (masked.flags[50:, 50:] & np.uint8(Flag.INVALID)).any()
    assert np.isfinite(masked.fused).all()
    assert np.abs(masked.index - index)[INSIDE].mean() < 0.1
    each = np.zeros((10, SIZE, SIZE), bool)
    each[4, 20:30, 20:30] = True
    clipped = estimate_stack(spoilt, clipped=each, fuse=False, **PLAIN)
    assert_array_equal(clipped.flags & np.uint8(Flag.INVALID), masked.flags & np.uint8(Flag.INVALID))


def test_noise_and_the_largest_blur_are_those_of_the_joint_likelihood(sharp, few):
    _, frames, options = few
    plain, noisy = (estimate_stack(frames, noise=noise, **options) for noise in (1e-3, 3e-2))
    assert np.median(noisy.depth_stderr_m) > 2 * np.median(plain.depth_stderr_m)
    wide, growth = ramp(1.3, 0.5), options["camera"].blur_constants_px_m[0]
    frames = [synth.blur_with_map(sharp, growth * np.abs(wide - 1 / f)) for f in options["focus_m"]]
    assert estimate_stack(frames, **options).place.max() > 1.2
    assert estimate_stack(frames, max_sigma=0.3, **options).place.max() < 1 + 0.31 / growth


def test_a_stack_with_little_evidence_gives_a_warning(sharp, many):
    assert many[2].settings["model_warnings"] == []
    alike = stack_of(sharp, ramp(2.0, 7.0), 10, growth=0.05)
    rng = np.random.default_rng(0)
    wall = [np.where(np.arange(SIZE) < 10, frame, 0.5 + 1e-3 * rng.random(frame.shape)) for frame in many[1]]
    for frames, text in ((alike, "hardly grows"), (wall, "most of the map is not measured")):
        assert any(
            text in warning for warning in estimate_stack(frames, fuse=False, **PLAIN).settings["model_warnings"]
        )


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"images": ["one.png"]}, "two or more"),
        ({"images": ["one.png", "two.png"]}, "estimate_blur or estimate_depth for a pair"),
        ({"images": 3}, "list of images"),
        ({"focus_m": [1, 2]}, "2 distances for 3 images"),
        ({"focus_m": [1, 2, 2]}, "twice"),
        ({"focus_m": [1, 2, -2]}, "focus_m"),
        ({"images": [np.ones((19, 19)), np.ones((19, 18)), np.ones((19, 19))]}, "differ in size"),
        ({"images": [np.ones((9, 60))] * 9, "align": "off"}, "60x9; a stack needs at least 16x16"),
        ({"camera": "cam.toml"}, "camera must be a Camera"),
        ({"camera": relblur.Camera(coc_constant_px_m=16, focus_first_m=1, focus_second_m=2), **PLAIN}, "needs focus_m"),
        ({"decimate": "some"}, "decimate"),
        ({"align": "much"}, "align"),
        ({"images": [np.ones((19, 19))] * 10, "noise": 0.01}, "noise is not used for 10 images"),
        ({"valid": np.ones((2, 19, 19), bool)}, "2 masks for 3 images"),
    ],
)
def test_bad_requests_are_refused(arguments, match):
    with pytest.raises(InputError, match=match):
        estimate_stack(**{"images": [np.ones((19, 19))] * 3, **arguments})
