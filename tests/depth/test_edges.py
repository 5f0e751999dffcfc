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


def voted(u, guide, circle, reach):
    """One vote, as the docstrings describe it."""
    height, width = SHAPE

    def around(image, row, column, n):
        return image[max(row - n, 0) : row + n + 1, max(column - n, 0) : column + n + 1]

    places = [(row, column) for row in range(height) for column in range(width)]
    jump = {place: np.ptp(around(u, *place, 1)) > 1.5 / circle for place in places}
    at_jump = np.array([place for place in places if jump[place]])
    settled, added = u.copy(), np.zeros(SHAPE)
    if not len(at_jump):
        return settled, added
    far = {place: np.hypot(*(at_jump - place).T).min() for place in places}
    for row, column in places:
        near = around(u, row, column, reach)
        if far[row, column] >= reach or np.ptp(near) <= 1.5 / circle:
            continue
        border = (near.max() + near.min()) / 2
        weights, sums = [0.0, 0.0], [0.0, 0.0]
        for dy in range(-reach, reach + 1, 3):
            for dx in range(-reach, reach + 1, 3):
                there = (min(max(row + dy, 0), height - 1), min(max(column + dx, 0), width - 1))
                sure = min(max(2 * far[there] / reach, 0.05), 1) ** 2
                unlike = ((guide[:, *there] - guide[:, row, column]) ** 2).sum() / (2 * 0.06**2)
                nearness = (dy**2 + dx**2) / (2 * (0.6 * reach) ** 2)
                weight = sure * np.exp(-unlike - nearness)
                side = int(u[there] > border)
                weights[side] += weight
                sums[side] += weight * u[there]
        own = int(u[row, column] > border)
        mine, theirs = weights[own], weights[1 - own]
        if mine > 0 and theirs > 0:
            gap = sums[own] / mine - sums[1 - own] / theirs
            added[row, column] = mine * theirs / (mine + theirs + 1e-12) ** 2 * gap**2
        if theirs > 1.3 * mine:
            settled[row, column] = sums[1 - own] / theirs
    return settled, added


def by_hand(u, stderr, guide, circle, reach):
    reach = min(max(reach, 4), 14)
    variance = stderr.astype(np.float64) ** 2
    for _ in range(2):
        u, added = voted(u, guide, circle, reach)
        variance = np.maximum(variance, stderr**2 + added)
    return u, np.sqrt(variance)


@pytest.mark.parametrize(("edge", "seen", "reach"), [(17, 19, 6), (17, 18, 1), (18, 15, 40), (2, 4, 7)])
def test_the_vote_is_the_rule_written_out(edge, seen, reach):
    u, guide = scene(edge, seen, seed=edge)
    stderr = np.full(SHAPE, 0.004, np.float32)
    got, wanted = settle_edges(u, stderr, guide, 22.0, reach), by_hand(u, stderr, guide, 22.0, reach)
    assert_allclose(got[0], wanted[0], atol=1e-5)
    assert_allclose(got[1], wanted[1], rtol=3e-3)


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
