"""A prefilter makes s follow second moments, and leaves jumps where they are."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import estimate_blur
from relblur.blur.dense import estimate as dense

SHAPE = (160, 200)


@pytest.fixture(scope="module")
def stripes():
    from scipy.ndimage import convolve
    from skimage import data

    sharp = data.gravel()[: SHAPE[0], : SHAPE[1]] / 255.0
    left = np.arange(SHAPE[1]) < 100
    blurred = [convolve(sharp, _disc(radius), mode="reflect") for radius in (2, 4)]
    rng = np.random.default_rng(0)
    first, second = (image + 0.005 * rng.standard_normal(SHAPE) for image in (sharp, np.where(left, *blurred)))
    return first, second, np.broadcast_to(np.where(left, 1.0, 2.0), SHAPE)


def _disc(radius):
    """A disc of light, whose standard deviation along each axis is half its radius."""
    reach = radius + 1
    y, x = np.mgrid[: 20 * reach + 10, : 20 * reach + 10] / 10 - reach - 0.45
    fine = np.hypot(y, x) < radius
    pixels = fine.reshape(2 * reach + 1, 10, 2 * reach + 1, 10).sum(axis=(1, 3))
    return pixels / pixels.sum()


@pytest.mark.slow
def test_a_jump_stays_sharp(stripes, monkeypatch):
    first, second, truth = stripes
    found = estimate_blur(first, second, sharper="first", prefilter=1.8)
    monkeypatch.setattr(dense, "_share_of_wide", lambda wide, narrow, prefilter: np.ones_like(wide))
    wide = estimate_blur(first, second, sharper="first", prefilter=1.8)
    beside = slice(92, 108)
    error, without = (np.abs(one.sigma - truth)[:, beside].mean() for one in (found, wide))
    assert error < 0.7 * without
    np.testing.assert_array_equal(found.sigma[:, :80], wide.sigma[:, :80])


def test_the_narrow_one_is_used_at_jumps():
    flat = np.ones((60, 80), np.float32)
    step = flat.copy()
    step[:, 40:] = 4
    share = dense._share_of_wide(step, flat, 2.0)
    assert (share[:, 36:44] == 0).all()
    assert (share[:, :28] == 1).all()
    assert (share[:, 52:] == 1).all()
    assert (np.diff(share[:, 40:], axis=1) >= 0).all()
    down = dense._share_of_wide(step.T.copy(), flat.T.copy(), 2.0)
    np.testing.assert_allclose(down, share.T, rtol=1e-6)  # OpenCV may sum along rows in another order


def test_a_jump_of_the_narrow_one_counts_only_beside_one_of_the_wide():
    step, moved = np.ones((2, 60, 80), np.float32)
    step[:, 40:] = 4
    moved[:, 45:] = 4
    moved[20:24, 8:12] = 4  # a speck
    share = dense._share_of_wide(step, moved, 2.0)
    assert (share[:, 48] == 0).all()
    assert (share[:, :28] == 1).all()


def test_progress_runs_once_from_start_to_end(stripes):
    told = []
    first, second, _ = stripes
    estimate_blur(first, second, prefilter=1.5, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0
    assert sum(share < 0.5 for share in told) > 3
