"""Alignment: right to 0.05 px whatever the blur, nothing moved that need not be, refusals that say why."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import AlignmentError, InputError, align, estimate_blur, synth
from relblur.apps.demo.program import photograph

SHAPE = (180, 220)


@pytest.fixture(scope="module")
def scene():
    """Band-limited texture of all scales, larger than what the camera sees."""
    from scipy import ndimage

    rng = np.random.default_rng(5)
    size = (SHAPE[0] + 40, SHAPE[1] + 40)
    texture = sum(w * ndimage.gaussian_filter(rng.normal(size=size), w) for w in (1.0, 2.0, 4.0, 8.0))
    return 0.5 + 0.15 * texture / texture.std()


def seen(scene, transform):
    """Return the frame of a camera: (row, column) of the frame is at ``transform`` of it in the scene."""
    from scipy import ndimage

    matrix, offset = transform[:2, :2], transform[:2, 2] + 20
    return ndimage.affine_transform(scene, matrix, offset, output_shape=SHAPE, order=5, mode="mirror")


def about_the_middle(scale=1.0, turn=0.0, shift=(0.0, 0.0)):
    c, s = scale * np.cos(turn), scale * np.sin(turn)
    matrix = np.array([[c, -s], [s, c]])
    middle = (np.array(SHAPE) - 1) / 2
    return np.vstack([np.column_stack([matrix, middle - matrix @ middle + shift]), [0, 0, 1]])


def worst_px(found, wanted):
    rows, columns = np.mgrid[0 : SHAPE[0] - 1 : 5j, 0 : SHAPE[1] - 1 : 5j]
    points = np.stack([rows.ravel(), columns.ravel(), np.ones(25)])
    return float(np.abs((found - wanted) @ points)[:2].max())


MOTIONS = [
    ("translation", {"shift": (1.3, -0.7)}),
    ("translation", {"shift": (-9.6, 12.2)}),
    ("similarity", {"scale": 1.004, "shift": (1.3, -0.7)}),
    ("similarity", {"scale": 0.985, "shift": (0.4, 3.1)}),
    ("similarity", {"turn": 0.01, "shift": (-2.0, 0.5)}),
]


@pytest.mark.slow
@pytest.mark.parametrize("blur", [(0.8, 2.0), (-2.0, 2.0)], ids=str)
@pytest.mark.parametrize(("model", "how"), MOTIONS, ids=str)
def test_motion_is_found_to_a_twentieth_of_a_pixel_whatever_the_blur(scene, model, how, blur):
    still, moving = np.eye(3), about_the_middle(**how)
    first_blur, second_blur = synth.pair(scene, synth.ramp(scene.shape, *blur, axis=1))
    rng = np.random.default_rng(0)
    first = seen(first_blur, still) + rng.normal(0, 0.003, SHAPE)
    # The scene point seen at p in first is seen at inverse(moving) p in second.
    second = 1.1 * seen(second_blur, moving) + 0.02 + rng.normal(0, 0.003, SHAPE)
    result = align(first, second)
    assert result.motion.model == model
    assert worst_px(result.motion.transform, np.linalg.inv(moving)) < 0.05
    assert_array_equal(result.first, first)


def test_a_clear_affine_motion_is_found_without_being_asked_for(scene):
    moving = about_the_middle(shift=(1.3, -0.7))
    moving[:2, :2] = [[1.012, 0.004], [0.002, 0.994]]
    moving[:2, 2] += (np.eye(2) - moving[:2, :2]) @ ((np.array(SHAPE) - 1) / 2)
    sharp, blurred = synth.pair(scene, synth.ramp(scene.shape, 1.0, 2.0))
    first, second = seen(sharp, np.eye(3)), seen(blurred, moving)
    result = align(first, second)
    assert result.motion.model == "affine"
    assert worst_px(result.motion.transform, np.linalg.inv(moving)) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("shift", [(1.3, -0.7), (-9.6, 12.2)])
def test_texture_at_the_border_does_not_pull(scene, shift):
    """As on a night photograph: dark above, all there is to see runs out of the frame below."""
    rows = np.linspace(0, 1, scene.shape[0])[:, None]
    night = 0.02 + scene * (2.5 * (rows - 0.6)).clip(0, 1) ** 2
    sharp, blurred = synth.pair(night, np.full(scene.shape, 2.0))
    rng = np.random.default_rng(0)
    moving = about_the_middle(shift=shift)
    first = seen(sharp, np.eye(3)) + rng.normal(0, 0.003, SHAPE)
    second = 1.08 * seen(blurred, moving) + 0.01 + rng.normal(0, 0.003, SHAPE)
    result = align(first, second)
    assert result.motion.model == "translation"
    assert worst_px(result.motion.transform, np.linalg.inv(moving)) < 0.05


def test_aligned_images_are_left_untouched(scene):
    first, second = synth.pair(seen(scene, np.eye(3)), synth.ramp(SHAPE, 1, 2))
    result = align(first, second)
    assert result.motion.model == "none"
    assert_array_equal(result.second, second)
    assert result.valid.all()
    assert "already aligned" in result.notes[0]


def test_what_left_the_frame_is_not_valid_and_the_rest_matches(scene):
    moving = about_the_middle(shift=(6.0, -4.0))
    first, second = seen(scene, np.eye(3)), seen(scene, moving)
    result = align(first, second)
    inside = np.zeros(SHAPE, bool)
    inside[6:, :-4] = True  # rows 0 to 5 and the last 4 columns of first are not in second
    assert (result.valid != inside).sum() <= SHAPE[0] + SHAPE[1]  # the rim may go either way
    core = (slice(20, -20), slice(20, -20))
    assert_allclose(result.second[core], first[core], atol=0.004)


def test_resampling_adds_no_blur(scene):
    """Half a pixel in both directions is the worst case; common interpolators add 0.05 to 0.1 px^2 there."""
    moving = about_the_middle(shift=(0.5, 0.5))
    first, second = seen(scene, np.eye(3)), seen(scene, moving)
    result = align(first, second)
    found = estimate_blur(first, result.second, valid=result.valid, method="window", noise=0.001)
    assert abs(np.nanmedian(found.variance_difference)) < 0.01


def test_colour_and_where_the_channels_are(scene):
    moving = about_the_middle(shift=(2.5, 1.5))
    gains = np.array([1.0, 0.7, 0.4])
    first, second = (seen(scene, m)[:, :, None] * gains for m in (np.eye(3), moving))
    last = align(first, second, channel_axis=-1)
    leading = align(np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0), channel_axis=0)
    assert last.second.shape == first.shape
    assert_allclose(leading.second, last.second)
    assert worst_px(last.motion.transform, np.linalg.inv(moving)) < 0.05


def test_clipped_pixels_are_found_before_resampling(scene):
    moving = about_the_middle(shift=(3.0, 0.0))
    first, second = (synth.degrade(seen(scene, m), bits=8) for m in (np.eye(3), moving))
    second = second.copy()
    second[100:103, 50:53] = 255
    result = align(first, second)
    assert not result.valid[103:106, 50:53].any()
    assert result.valid[60:90, 30:200].mean() > 0.99


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_another_scene_is_refused(scene, seed):
    from scipy import ndimage

    rng = np.random.default_rng(seed)
    other = 0.5 + 0.1 * ndimage.gaussian_filter(rng.normal(size=SHAPE), 2) * 6
    with pytest.raises(AlignmentError, match="check the pair, or align it by other means and switch alignment off"):
        align(seen(scene, np.eye(3)), other)


def test_flat_images_are_refused_not_guessed():
    with pytest.raises(AlignmentError):
        align(np.full(SHAPE, 0.5), np.full(SHAPE, 0.5))


@pytest.mark.parametrize("model", ["translation", "similarity", "affine"])
def test_a_stated_model_is_used(scene, model):
    moving = about_the_middle(scale=1.003, shift=(1.0, 1.0))
    result = align(seen(scene, np.eye(3)), seen(scene, moving), model=model)
    assert result.motion.model == model
    scale = np.sqrt(np.linalg.det(result.motion.transform[:2, :2]))
    assert scale == pytest.approx(1.0 if model == "translation" else 1 / 1.003, abs=1e-3)


def test_an_unknown_model_is_refused(scene):
    with pytest.raises(InputError, match="model must be one of 'auto', 'translation', 'similarity', 'affine', 'bent'"):
        align(scene, scene, model="rigid")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "moved"), [("camera", (3, 6)), ("brick", (0, 1))])
def test_a_moving_object_does_not_pull_the_frame(name, moved):
    light = photograph(name)[128:384, 128:384] / 255.0
    first, second = synth.pair(light, np.full(light.shape, 1.5))
    rows, columns = np.indices(light.shape)
    thing = (abs(rows - 128) < 30) & (abs(columns - 128) < 30)
    second = np.where(thing, np.roll(second, moved, (0, 1)), second)
    rng = np.random.default_rng(0)
    first, second = (synth.degrade(image, noise=0.003, rng=rng) for image in (first, second))
    corners = np.array([[0, 0, 1], [0, 255, 1], [255, 0, 1], [255, 255, 1.0]]).T
    transform = align(first, second).motion.transform
    assert np.abs(transform @ corners - corners).max() < 0.02


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3e4])
def test_neither_the_scale_of_the_values_nor_a_lamp_matters(scene, scale):
    moving = about_the_middle(shift=(1.5, -2.5))
    first, second = seen(scene, np.eye(3)), seen(scene, moving)
    second[100:103, 50:53] = 1e5
    found = align(scale * first, scale * second).motion
    assert found.model == "translation"
    assert worst_px(found.transform, np.linalg.inv(moving)) < 0.05
