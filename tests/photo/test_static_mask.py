"""Blocks of an aligned pair that move by themselves, on bands made here."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import ndimage  # noqa: TID253

from relblur.photo import static_mask as module
from relblur.photo.static_mask import BLOCK, static_mask

SHAPE = (96, 120)  # 6 x 7.5 blocks
EVERYWHERE = np.ones(SHAPE, np.uint8)
#: Block (2, 3), and it with those around.
OBJECT, AROUND = np.s_[32:48, 48:64], np.s_[16:64, 32:80]


@pytest.fixture(scope="module")
def band():
    return ndimage.gaussian_filter(np.random.default_rng(0).normal(size=SHAPE), 2.5)


def with_object_moved_by(band, down, right):
    """The band with one block and a bit around it displaced."""
    other, moved = band.copy(), ndimage.shift(band, (down, right), order=3, mode="reflect")
    other[28:52, 44:68] = moved[28:52, 44:68]
    return other


def without(part):
    mask = EVERYWHERE.copy()
    mask[part] = 0
    return mask


@pytest.mark.parametrize("gain", [1.0, 0.7, 1.4])
def test_nothing_is_left_out_where_nothing_moves(band, gain):
    assert static_mask(band, gain * band, EVERYWHERE) is EVERYWHERE
    noisy = band + np.random.default_rng(1).normal(0, 0.02 * band.std(), SHAPE)
    assert static_mask(noisy, gain * band, EVERYWHERE) is EVERYWHERE


@pytest.mark.parametrize("motion", [(1.0, 0.0), (0.0, 1.0), (-0.7, 0.7)])
@pytest.mark.parametrize("gain", [1.0, 0.7])
def test_a_block_that_moved_is_left_out_with_those_around(band, motion, gain):
    # Half a pixel of motion common to all is not an object's.
    common = ndimage.shift(band, (0.2, -0.2), order=3, mode="reflect")
    found = static_mask(common, gain * with_object_moved_by(band, *motion), EVERYWHERE)
    assert (found[OBJECT] == 0).all()
    assert found.mean() > 0.55
    assert found.dtype == np.uint8


def test_content_that_is_changed_again_is_left_out(band):
    other = band.copy()
    other[OBJECT] = np.random.default_rng(5).permuted(other[OBJECT].ravel()).reshape(16, 16)
    assert_array_equal(static_mask(band, other, EVERYWHERE), without(AROUND))


def test_what_is_masked_already_stays_so_and_is_not_looked_at(band):
    other = band.copy()
    other[OBJECT] = -other[OBJECT]
    mask = without(OBJECT)
    assert static_mask(band, other, mask) is mask


def test_a_frame_of_which_much_moves_is_not_at_rest(band):
    other = band.copy()
    other[:, :60] = ndimage.shift(band, (1.0, 0.0), order=3, mode="reflect")[:, :60]
    assert static_mask(band, other, EVERYWHERE) is EVERYWHERE


def test_few_blocks_have_no_majority(band):
    other = with_object_moved_by(band, 1.0, 0.0)
    small = np.s_[16:64, 32:80]  # nine blocks
    assert static_mask(band[small], other[small], EVERYWHERE[small]).all()
    assert static_mask(0 * band, 0 * band, EVERYWHERE) is EVERYWHERE


def test_blocks_ask_for_the_motion_that_they_made(band):
    """The wish of each block is the displacement in px, damped by a ridge of 5 %."""
    moved = ndimage.shift(band, (0.0, 0.25), order=3, mode="reflect")
    down, across = np.gradient((band + moved) / 2)
    left = band - moved
    sums = [module._sums(one * two) for one, two in ((across, across), (across, down), (down, down))]
    wish = module._solve(*sums, module._sums(across * left), module._sums(down * left))
    inner = wish[:, 1:-1, 1:-1]
    assert_allclose(np.median(inner[0]), 0.25 / 1.1, rtol=0.1)
    assert_allclose(np.median(inner[1]), 0.0, atol=0.02)
    one, two = np.array([4.0]), np.array([2.0])
    a, b = 4 + 0.05 * 6, 2 + 0.05 * 6
    wanted = np.linalg.solve([[a, 1.0], [1.0, b]], [3.0, 5.0])
    assert_allclose(module._solve(one, np.array([1.0]), two, np.array([3.0]), np.array([5.0]))[:, 0], wanted)
    nothing = np.zeros(1)
    assert_array_equal(module._solve(nothing, nothing, nothing, nothing, nothing), 0)


def test_far_and_lost_are_judged_by_the_many():
    textured = np.ones((4, 5), bool)
    wish = np.tile(np.array([0.3, -0.2])[:, None, None], (1, 4, 5))
    wish[0, 1, 2] += 0.31
    wish[1, 2, 2] -= 0.29
    far = module._far_from_median(wish, textured)
    assert np.argwhere(far).tolist() == [[1, 2]]
    spread = np.zeros((2, 4, 5))
    spread[0] = [-0.1, 0, 0.1, -0.1, 0.1]  # a median distance of 0.1, so 0.6 is far
    spread[0, 3, 1], spread[0, 0, 1] = 0.61, -0.59
    assert np.argwhere(module._far_from_median(spread, textured)).tolist() == [[3, 1]]
    share = np.full((4, 5), 0.05)
    share[0, 0], share[0, 1], share[0, 2] = 0.26, 0.31, 0.29
    assert np.argwhere(module._changed(share, textured)).tolist() == [[0, 1]]
    assert np.argwhere(module._changed(share / 5, textured)).tolist() == []
    quiet = np.where(share < 0.1, 0.01, share - 0.02)
    assert np.argwhere(module._changed(quiet, textured)).tolist() == [[0, 1], [0, 2]]  # above a quarter


def test_sums_are_taken_over_blocks_the_last_ones_smaller():
    image = np.arange(20.0 * 40).reshape(20, 40)
    found = module._sums(image)
    assert found.shape == (2, 3)
    assert found[0, 0] == image[:BLOCK, :BLOCK].sum()
    assert found[1, 2] == image[16:, 32:].sum()


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize(("share", "looked_at"), [(0.13, True), (0.08, False)])
def test_a_block_of_little_texture_says_nothing(band, size, share, looked_at):
    """Below a tenth of the mean, whatever the scale of the values."""
    weak = np.ones(SHAPE)
    weak[26:54, 42:70] = 0.3
    for _ in range(20):  # the mean falls with the block's texture
        one = band * weak
        down, across = np.gradient(one)
        texture = module._sums(down**2 + across**2)
        weak[26:54, 42:70] *= np.sqrt(share * texture.mean() / texture[2, 3])
    moved = ndimage.shift(band, (1.0, 0.0), order=3, mode="reflect")
    other = np.where(weak < 1, moved, band) * weak
    found = static_mask(size * one, size * other, EVERYWHERE)
    assert (found[OBJECT] == 0).all() == looked_at
