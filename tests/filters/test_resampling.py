"""Images read between their pixels: against waves that are known everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur.filters import resampling
from relblur.filters.resampling import positions, resample, resample_nearest

SHIFT = np.array([[1.0, 0, 0.31], [0, 1, -5.72], [0, 0, 1]])
TURN = np.array([[1.0003, 0.004, 0.31], [-0.004, 1.0003, -0.72], [0.0, 0.0, 1.0]])


def wave(rows, columns, down=0.31, right=0.13):
    return 0.5 + 0.3 * np.cos(2 * np.pi * (down * rows + right * columns) + 0.4)


@pytest.mark.parametrize("shape", [(120, 150), (121, 149), (128, 128)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("motion", [TURN, SHIFT], ids=["turn", "shift"])
def test_a_wave_is_read_between_its_pixels(shape, dtype, motion):
    rows, columns = np.mgrid[: shape[0], : shape[1]].astype(float)
    given = np.stack([wave(rows, columns), wave(rows, columns, 0.05, -0.36)]).astype(dtype)
    moved = resample(given, motion)
    there = positions(motion, shape)
    wanted = np.stack([wave(*there), wave(*there, 0.05, -0.36)])
    inner = np.s_[:, 24:-24, 24:-24]
    assert moved.dtype == dtype
    assert moved.shape == given.shape
    assert_allclose(moved[inner], wanted[inner], atol=0.01)
    assert np.abs(moved - wanted)[inner].mean() < 0.001


@pytest.mark.parametrize("shape", [(60, 81), (61, 80), (9, 9)])
def test_no_motion_changes_nothing_and_whole_shifts_only_move(shape):
    given = np.random.default_rng(0).random((1, *shape))
    assert_allclose(resample(given, np.eye(3)), given, atol=1e-12)
    shift = np.array([[1.0, 0, 2], [0, 1, -3], [0, 0, 1]])
    assert_allclose(resample(given, shift)[0, :-2, 3:], given[0, 2:, :-3], atol=1e-12)


def test_far_beyond_the_frame_there_are_numbers_of_the_image():
    given = np.random.default_rng(2).random((1, 40, 50))
    far = resample(given, np.array([[1.0, 0, 200.5], [0, 1, -300.25], [0, 0, 1]]))
    assert far.min() > -1
    assert far.max() < 2
    assert far.std() > 0.1  # the image mirrored, not its last pixel


def test_very_large_images_take_less_memory_and_agree(monkeypatch):
    rows, columns = np.mgrid[:90, :110].astype(float)
    given = wave(rows, columns, 0.1, 0.13)[None]
    wanted = resample(given, TURN)
    monkeypatch.setattr(resampling, "DOUBLE_BELOW", 0)
    assert_allclose(resample(given, TURN)[0, 20:-20, 20:-20], wanted[0, 20:-20, 20:-20], atol=0.01)


def test_the_nearest_pixel_is_taken_and_the_last_one_beyond():
    given = np.arange(12).reshape(3, 4)
    shift = np.array([[1.0, 0, 0.6], [0, 1, -1.4], [0, 0, 1]])
    assert_array_equal(resample_nearest(given, shift), [[4, 4, 5, 6], [8, 8, 9, 10], [8, 8, 9, 10]])
