"""Motions that are smooth but not affine: found where they are, left alone where they are not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import relblur
from relblur import align, synth
from relblur.filters.resampling import Bend, positions
from relblur.photo.bending import is_bent
from relblur.photo.equal_bands import EqualBands
from relblur.photo.motion import Motion

SHAPE = (240, 300)
ROOM = 20


@pytest.fixture(scope="module")
def scene():
    from scipy import ndimage

    rng = np.random.default_rng(5)
    size = (SHAPE[0] + 2 * ROOM, SHAPE[1] + 2 * ROOM)
    texture = sum(w * ndimage.gaussian_filter(rng.normal(size=size), w) for w in (1.0, 2.0, 4.0, 8.0))
    return 0.5 + 0.15 * texture / texture.std()


def bend(strength=1.0):
    """A barrel's cube and a keystone's square, 3.5 px in the corners."""
    coefficients = np.zeros((2, 4, 4))
    coefficients[0, 3, 0] = coefficients[0, 1, 2] = coefficients[1, 0, 3] = coefficients[1, 2, 1] = 1.5
    coefficients[0, 1, 1], coefficients[1, 0, 2], coefficients[0, 0, 0], coefficients[1, 0, 1] = 1.0, 0.8, 1.2, -2.0
    return Bend(strength * coefficients, ((SHAPE[0] - 1) / 2, (SHAPE[1] - 1) / 2), max(SHAPE) / 2)


def bent_pair(scene, strength=1.0, noise=0.003):
    """Return a pair whose first image is seen straight, and whose second is in place once read at ``bend``."""
    from scipy import ndimage

    sharp, blurred = synth.pair(scene, synth.ramp(scene.shape, -1.5, 2.0, axis=1))
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]].astype(float)
    # The inverse of the field, by iteration: second at q shows what first has at p with q = p + bend(p).
    field = bend(strength)
    at = [rows.copy(), columns.copy()]
    v, u = field.middle
    for _ in range(30):
        y, x = (at[0] - v) / field.radius, (at[1] - u) / field.radius
        moved = [sum(field.coefficients[k, i, j] * y**i * x**j for i in range(4) for j in range(4)) for k in range(2)]
        at = [rows - moved[0], columns - moved[1]]
    second = ndimage.map_coordinates(blurred, [at[0] + ROOM, at[1] + ROOM], order=5, mode="mirror")
    rng = np.random.default_rng(0)
    first = sharp[ROOM:-ROOM, ROOM:-ROOM]
    return [image + rng.normal(0, noise, SHAPE) for image in (first, 1.1 * second + 0.02)]


def apart_px(motion, strength=1.0):
    found = positions(motion.transform, SHAPE, bend=motion.bend)
    wanted = positions(np.eye(3), SHAPE, bend=bend(strength))
    return np.hypot(found[0] - wanted[0], found[1] - wanted[1])


def test_a_bent_motion_is_found_without_being_asked_for(scene):
    found = align(*bent_pair(scene))
    assert found.motion.model == "bent"
    far = apart_px(found.motion)
    assert far.mean() < 0.06
    assert far.max() < 0.25
    straight = align(*bent_pair(scene), model="affine")
    assert apart_px(straight.motion).mean() > 0.3
    assert found.motion.largest_px == pytest.approx(np.hypot(*bend().at(*map(np.arange, SHAPE))).max(), rel=0.1)
    assert "bent by up to" in found.notes[0]


def test_the_map_of_a_bent_pair_is_right(scene):
    first, second = bent_pair(scene, strength=1.5, noise=0.001)
    made = relblur.prepare_pair(first, second)
    assert any("bent" in note for note in made.notes)
    s = relblur.estimate_blur(made).variance_difference
    sigma = synth.ramp(scene.shape, -1.5, 2.0, axis=1)[ROOM:-ROOM, ROOM:-ROOM]
    wanted = np.sign(sigma) * sigma**2
    inner = np.s_[20:-20, 20:-20]
    error = np.nanmean(np.abs(s - wanted)[inner])
    assert error < 0.03
    other = relblur.estimate_blur(relblur.prepare_pair(first, second, align="affine")).variance_difference
    assert np.nanmean(np.abs(other - wanted)[inner]) > 4 * error


def test_straight_motions_and_moving_things_are_not_bent(scene):
    from scipy import ndimage

    sharp, blurred = synth.pair(scene, synth.ramp(scene.shape, 0.8, 2.0))
    inner = np.s_[ROOM:-ROOM, ROOM:-ROOM]
    second = ndimage.shift(blurred, (1.3, -0.7), order=5, mode="mirror")[inner]
    assert align(sharp[inner], second).motion.model == "translation"
    second[100:150, 120:190] = second[30:80, 20:90]  # another thing is there now
    assert align(sharp[inner], second).motion.bend is None


def test_a_large_thing_that_moved_and_few_pixels_do_not_bend_a_frame():
    from skimage import data

    first = data.camera()[:420, :420] / 255
    second = np.roll(first, 1, axis=0)
    second[100:300, 100:300] = np.roll(second, 7, axis=1)[100:300, 100:300]
    assert align(first, second).motion.bend is None
    rows, columns = np.mgrid[:64, :96].astype(float)
    bands = [np.sin(rows / 4) * np.cos((columns + bent * (columns / 48 - 1) ** 2) / 5) for bent in (0.0, 2.0)]
    small = EqualBands(*(band.astype(np.float32) for band in bands), np.ones((64, 96), np.uint8))
    assert not is_bent(small)
    wide = EqualBands(*(np.tile(band, (2, 1)) for band in (small.first, small.second, small.mask)))
    assert is_bent(wide)


def test_asked_for_it_is_always_fitted_and_finds_nothing_where_nothing_is(scene):
    sharp, blurred = synth.pair(scene, synth.ramp(scene.shape, 0.8, 2.0))
    inner = np.s_[ROOM:-ROOM, ROOM:-ROOM]
    found = align(sharp[inner], blurred[inner], model="bent").motion
    assert found.model == "bent"
    assert apart_px(found, strength=0).max() < 0.15


def test_the_enlarged_motion_moves_the_enlarged_frame():
    motion = Motion(np.array([[1.01, 0.002, 1], [0, 0.99, -2], [0, 0, 1.0]]), "bent", 5.0, 1.0, bend())
    large = motion.enlarged(3)
    small = positions(motion.transform, SHAPE, bend=motion.bend)
    wide = positions(large.transform, (3 * SHAPE[0], 3 * SHAPE[1]), bend=large.bend)
    for one, many in zip(small, wide, strict=True):
        assert_allclose(many[::3, ::3], 3 * one, rtol=0, atol=1e-9)
    # Means of blocks lie half a block farther.
    means = bend().enlarged_from_means(3)
    assert_allclose(means.at([1.0, 4.0], [1.0, 7.0]), 3 * np.asarray(bend().at([0.0, 1.0], [0.0, 2.0])), atol=1e-9)
