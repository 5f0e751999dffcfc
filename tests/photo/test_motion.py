"""A motion in words and in pixels, and the small steps by which one is found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relblur import align, imread, prepare_pair, synth
from relblur.photo import alignment
from relblur.photo.alignment import Motion

SHAPE = (41, 61)  # the middle is (20, 30)


def motion(down=0.0, right=0.0, scale=1.0, degrees=0.0, model="similarity"):
    """Turned and scaled about the middle of the frame, then moved; a turn takes rows to columns."""
    angle = np.radians(degrees)
    turn = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    middle = np.array([20.0, 30.0])
    transform = np.eye(3)
    transform[:2, :2], transform[:2, 2] = turn, middle - turn @ middle + [down, right]
    return Motion(transform, model, 9.0, 0.9)


def test_a_motion_is_described_by_what_was_done_to_the_second():
    assert motion(1.5, -2.25, model="translation").describe(SHAPE) == (
        "second moved by -1.50 px down, +2.25 px right (translation)"
    )
    assert motion(1.5, -2.25, 1.25, 3.0).describe(SHAPE) == (
        "second moved by -1.50 px down, +2.25 px right, scaled by 0.80000, turned by +3.000 degrees (similarity)"
    )
    for largest, said in ((0.034, "0.03"), (0.0, "0.01")):
        assert Motion(np.eye(3), "none", largest, 1.0).describe(SHAPE) == f"already aligned (within {said} px)"


def test_bad_pixels_move_along_and_touch_their_neighbours():
    bad = np.zeros(SHAPE, bool)
    bad[10, 20] = True
    found = motion(2.0, -3.0).resample_map(bad)  # (row, column) of first is (row + 2, column - 3) of second
    wanted = np.zeros(SHAPE, bool)
    wanted[7:10, 22:25] = True
    assert_array_equal(found, wanted)
    still = Motion(np.eye(3), "none", 0.0, 1.0)
    assert still.resample_map(bad) is bad
    none = np.zeros(SHAPE, bool)
    assert motion(2.0, -3.0).resample_map(none) is none


@pytest.mark.parametrize(
    ("down", "right", "rows", "columns"), [(2, -3, (0, 39), (3, 61)), (-2.5, 0.5, (3, 41), (0, 60))]
)
def test_what_lies_in_the_frame_of_the_second_is_known(down, right, rows, columns):
    wanted = np.zeros(SHAPE, bool)
    wanted[slice(*rows), slice(*columns)] = True
    assert_array_equal(motion(down, right).inside(SHAPE), wanted)


@pytest.fixture(scope="module")
def blurred_pair():
    from skimage import data

    sharp = data.brick()[:300, :380] / 255.0
    return sharp, synth.blur_with_map(sharp, 2.0)


@pytest.mark.parametrize("model", ["translation", "affine"])
def test_a_motion_that_leaves_more_than_none_is_not_applied(blurred_pair, monkeypatch, model):
    right = alignment.simplest

    def wrong(*arguments):
        warp = np.array(right(*arguments)[1])
        warp[:, 2] += (0.6, -0.4)
        return "similarity", warp

    monkeypatch.setattr(alignment, "simplest", wrong)
    first, second = blurred_pair
    # A true motion of 3 px keeps even the wrong warp from being worse than none.
    moved = align(first[:, :-3], second[:, 3:], model=model).motion
    assert moved.moves
    assert 0 < moved.left < 1
    assert f"{moved.left:.0%} of the difference left" in moved.describe(first.shape)
    found = align(first, second, model=model)
    assert not found.motion.moves
    assert_array_equal(found.second, second)
    assert found.motion.left > 1
    assert 0.6 < found.motion.largest_px < 1.0
    assert found.notes[0].startswith("alignment: left as it is: the motion found, up to 0.")
    (note,) = [each for each in prepare_pair(first, second, align=model).notes if each.startswith("alignment")]
    assert "left as it is" in note


def test_an_aligned_photograph_of_little_texture_is_not_moved_by_pixels(shared_data):
    """A cup and two labels: the affine motion that fits best shifts the labels by several pixels."""
    first, second = (imread(shared_data / "mffw" / f"06_{side}.jpg") for side in "ab")
    found = align(first, second).motion
    assert not found.moves
    assert found.largest_px > 5
    assert found.left > alignment.ACCEPT_BELOW
