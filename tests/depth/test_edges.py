"""Edges of depth that move to those of the picture: the rule written out pixel by pixel, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur.depth.equal_blur.edges import settle_edges

SHAPE = (26, 34)


def scene(edge, seen, seed=0):
    """Inverse depth that jumps at one column, and a picture that changes at another."""
    rng = np.random.default_rng(seed)
    columns = np.broadcast_to(np.arange(SHAPE[1]), SHAPE)
    u = np.where(columns < edge, 0.5, 0.9) + rng.normal(0, 0.002, SHAPE)
    guide = np.where(columns < seen, 0.0, 0.4) + rng.normal(0, 0.03, (2, *SHAPE))
    return u.astype(np.float32), guide.astype(np.float32)


@pytest.mark.parametrize(("edge", "seen"), [(17, 20), (20, 17)])
def test_an_edge_moves_to_where_the_picture_has_it(edge, seen):
    u, guide = scene(edge, seen)
    found, stderr = settle_edges(u, np.full(SHAPE, 0.004, np.float32), guide, 22.0, 6)
    assert_array_equal((found > 0.7)[3:-3], np.broadcast_to(np.arange(SHAPE[1]) >= seen, SHAPE)[3:-3])
    assert_allclose(found[:, : seen - 1], 0.5, atol=0.02)
    assert_allclose(stderr[:, :5], 0.004)
    assert (stderr >= np.float32(0.004)).all()
    assert stderr[:, 14:24].max() > 0.03  # somewhere the vote was close


@pytest.mark.parametrize(("circle", "moves"), [(3.2, False), (4.5, True)])
def test_a_jump_is_a_change_of_the_circle_by_one_and_a_half_pixels(circle, moves):
    """The jump of 0.4 is one of 1.3 px, or of 1.8."""
    u, guide = scene(17, 20)
    found, stderr = settle_edges(u, np.full(SHAPE, 0.004, np.float32), guide, circle, 6)
    assert (not np.array_equal(found, u)) == moves
    assert (stderr.max() > 0.01) == moves
