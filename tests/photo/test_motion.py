"""A motion in words and in pixels, and the small steps by which one is found."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import AlignmentError, align, imread, prepare_pair, synth
from relblur.base.pixels import usual_values
from relblur.photo import alignment
from relblur.photo.alignment import Alignment, Motion
from relblur.photo.equal_bands import black_squares, difference

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
    zero = np.zeros(SHAPE)
    aligned = Alignment(zero, zero, zero == 0, motion(0.5, 0.25, 0.8, -2.0, "affine"))
    assert aligned.describe() == (
        "second moved by -0.50 px down, -0.25 px right, scaled by 1.25000, turned by -2.000 degrees (affine)"
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


@pytest.mark.parametrize("factor", [1, 2, 3])
def test_what_a_picture_says_about_a_warp_is_the_motion_along_its_gradients(factor):
    rng = np.random.default_rng(0)
    band = rng.normal(size=(12, 15)).astype(np.float32)
    mask = (rng.random(band.shape) < 0.7).astype(np.uint8)
    found = alignment._information(band, mask, factor)
    # Sobel's filter by its definition, mirrored without repeating the edge.
    wide = np.pad(band.astype(np.float64), 1, mode="reflect")
    smooth = [wide[:-2] + 2 * wide[1:-1] + wide[2:], wide[:, :-2] + 2 * wide[:, 1:-1] + wide[:, 2:]]
    slopes = np.stack([smooth[0][:, 2:] - smooth[0][:, :-2], smooth[1][2:] - smooth[1][:-2]])
    total, flat = np.zeros((6, 6)), np.zeros((6, 6))
    for row, column in zip(*np.nonzero(mask), strict=True):
        place = np.array([factor * column + (factor - 1) / 2, factor * row + (factor - 1) / 2, 1.0])
        change = np.concatenate([slopes[0, row, column] * place, slopes[1, row, column] * place])
        total += np.outer(change, change)
        flat += np.kron(np.eye(2), np.outer(place, place))
    power = (slopes[:, mask > 0] ** 2).sum() / 2
    assert_allclose(found, total / power + 1e-3 * flat / mask.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("warp", "wild"),
    [
        ([[1.2, 0, -6], [0, 1.2, -4]], False),
        ([[1.3, 0, -9], [0, 1.3, -6]], True),
        ([[0.82, 0, 5], [0, 0.82, 4]], False),
        ([[0.78, 0, 6], [0, 0.78, 4]], True),
        ([[1, 0, 29], [0, 1, 0]], False),
        ([[1, 0, 32], [0, 1, 0]], True),
        ([[1, 0, 0], [0, 1, 21]], True),
        ([[-1, 0, 60], [0, 1, 0]], False),  # as large as before: a mirror image is refused by its correlation
    ],
)
def test_a_motion_that_no_lens_makes_is_refused(warp, wild):
    matrix = np.array(warp, float)
    if wild:
        with pytest.raises(AlignmentError, match="could not be registered"):
            alignment._refuse_implausible(matrix, SHAPE)
    else:
        alignment._refuse_implausible(matrix, SHAPE)


def test_lights_are_what_lies_ten_ranges_away_with_their_glare():
    image = np.random.default_rng(2).random(SHAPE).astype(np.float32)
    usual = usual_values(image[:, :, None])
    assert alignment._lights(image, usual) is None
    for times, far in ((9.5, False), (10.5, True), (-9.5, False), (-10.5, True)):
        lit = image.copy()
        lit[20, 30] = usual.middle + times * usual.span
        found = alignment._lights(lit, usual)
        assert (found is not None) == far
        if far:
            assert_array_equal(np.argwhere(found), [[20, 30]])
    lit[20, 30] = 1e5
    one, two, usable = alignment._without_lights(image, lit, np.ones(SHAPE, bool))
    wanted = np.ones(SHAPE, bool)
    wanted[12:29, 22:39] = False  # eight pixels around
    assert_array_equal(usable, wanted)
    assert two.max() < 4
    assert_array_equal(one[:, :20] == two[:, :20], True)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 3e4])
def test_intensities_are_brought_near_one_by_a_power_of_two(scale):
    image = (scale * np.random.default_rng(3).random(SHAPE)).astype(np.float64)
    one, two, usable = alignment._without_lights(image, image[::-1].copy(), np.ones(SHAPE, bool))
    assert usable.all()
    assert 0.6 < np.ptp(one) < 1.6
    ratio = one[5, 5] / np.float32(image[5, 5])
    assert np.log2(ratio) == round(np.log2(ratio))
    assert_array_equal(one[::-1], two)


@pytest.fixture(scope="module")
def blurred_pair():
    from skimage import data

    sharp = data.brick()[:300, :380] / 255.0
    return sharp, synth.blur_with_map(sharp, 2.0)


@pytest.mark.parametrize("model", ["translation", "similarity", "affine"])
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
    assert found.describe().startswith("left as it is: the motion found, up to 0.")
    (note,) = [each for each in prepare_pair(first, second, align=model).notes if each.startswith("alignment")]
    assert "left as it is" in note


def test_small_frames_have_no_chessboard():
    assert black_squares((95, 300)) is None
    board = black_squares((96, 128))
    assert board[:32, :32].all()
    assert not board[:32, 32:64].any()
    assert board.sum() == 6 * 32 * 32
    one, two = np.ones((4, 4)), np.full((4, 4), 3.0)
    assert difference(one, two, one > 0) == pytest.approx(4 / 10)
    assert difference(0 * one, 0 * one, one > 0) == 0


def test_an_aligned_photograph_of_little_texture_is_not_moved_by_pixels(shared_data):
    """A cup and two labels: the affine motion that fits best shifts the labels by several pixels."""
    first, second = (imread(shared_data / "mffw" / f"06_{side}.jpg") for side in "ab")
    found = align(first, second).motion
    assert not found.moves
    assert found.largest_px > 5
    assert found.left > 1
