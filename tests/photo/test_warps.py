"""Motions as matrices: sizes, other resolutions, and the simplest motion that will do."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur.filters.resampling import Bend
from relblur.photo.warps import AFFINE_FROM_PX, SIMPLER_WITHIN_PX, scaled, simplest, size, warp_of

SHAPE = (61, 101)
#: What an evenly textured frame says: the mean over it of what each number moves, crosswise.
Y, X = np.indices(SHAPE)
POINTS = np.stack([X, Y, np.ones(SHAPE)]).reshape(3, -1)
INFORMATION = np.kron(np.eye(2), POINTS @ POINTS.T / POINTS.shape[1])


def warp(a=1.0, b=0.0, x=0.0, c=0.0, d=1.0, y=0.0):
    return np.array([[a, b, x], [c, d, y]])


def test_the_size_of_a_change_is_its_root_mean_square_over_the_texture():
    change = warp(1.01, 0.004, 0.3, -0.02, 0.99, -0.2) - warp()
    moved = change @ POINTS
    assert size(change, INFORMATION) == pytest.approx(np.sqrt((moved**2).sum(axis=0).mean()))


def test_a_displacement_of_first_degree_is_a_warp():
    coefficients = np.zeros((2, 4, 4))
    coefficients[:, 0, 0], coefficients[:, 1, 0], coefficients[:, 0, 1] = (0.3, -0.7), (1.5, 0.4), (-0.8, 2.1)
    bend = Bend(coefficients, (30, 50), 50.5)
    down, right = bend.at(np.array([12.0]), np.array([77.0]))
    assert_allclose(warp_of(bend) @ [77, 12, 1], [77 + right[0, 0], 12 + down[0, 0]])


@pytest.mark.parametrize("factor", [2, 3])
def test_a_warp_of_block_means_moves_the_middles_of_blocks_alike(factor):
    """The middle of block n is pixel ``factor n + (factor - 1) / 2`` of the large image."""
    small = warp(1.02, 0.03, 0.7, -0.01, 0.97, -1.3)
    large = scaled(small, factor)
    for point in ([0, 0], [5, 7], [11, 2]):
        middle = factor * np.array(point) + (factor - 1) / 2
        there = factor * (small @ [*point, 1]) + (factor - 1) / 2
        assert_allclose(large @ [*middle, 1], there, atol=1e-12)
    assert_allclose(scaled(large, 1 / factor), small, atol=1e-12)
    assert small[0, 2] == 0.7  # the original stays


def similarity(angle, scale, x=0.0, y=0.0):
    a, b = scale * np.cos(angle), scale * np.sin(angle)
    return warp(a, -b, x, b, a, y)


def test_the_nearest_motion_of_fewer_parameters_is_the_least_squares_fit():
    found = warp(1.01, 0.004, 0.3, -0.02, 0.99, -0.2)
    wanted = (found - warp()) @ POINTS
    model, shift = simplest(found, "translation", INFORMATION, 1)
    assert model == "translation"
    assert_allclose(shift, warp(x=wanted[0].mean(), y=wanted[1].mean()), atol=1e-12)
    model, near = simplest(found, "similarity", INFORMATION, 1)
    assert model == "similarity"
    columns = np.stack([[X, Y], [-Y, X], [np.ones(SHAPE), 0 * X], [0 * X, np.ones(SHAPE)]]).reshape(4, -1)
    p, q, x, y = np.linalg.lstsq(columns.T, wanted.ravel(), rcond=None)[0]
    assert_allclose(near, warp(1 + p, -q, x, q, 1 + p, y), atol=1e-10)


@pytest.mark.parametrize("factor", [1, 2])
def test_auto_takes_the_simplest_that_differs_by_less_than_it_may(factor):
    def chosen(found):
        model, used = simplest(found, "auto", INFORMATION, factor)
        return model, used

    within, beyond = 0.9 / factor, 1.1 / factor
    assert chosen(warp(x=within * SIMPLER_WITHIN_PX))[0] == "none"
    assert_allclose(chosen(warp(x=within * SIMPLER_WITHIN_PX))[1], warp())
    assert chosen(warp(x=beyond * SIMPLER_WITHIN_PX))[0] == "translation"
    assert chosen(warp(x=30, y=-2))[0] == "translation"
    turned = similarity(1e-3, 1.0, 5.0)
    apart = size(turned - simplest(turned, "translation", INFORMATION, 1)[1], INFORMATION)
    for share, model in ((within, "translation"), (beyond, "similarity")):
        assert chosen(similarity(1e-3 * share * SIMPLER_WITHIN_PX / apart, 1.0, 5.0))[0] == model
    sheared = warp(a=1.01, d=0.99)
    apart = size(sheared - simplest(sheared, "similarity", INFORMATION, 1)[1], INFORMATION)
    for share, model in ((within, "similarity"), (beyond, "affine")):
        stretch = 0.01 * share * AFFINE_FROM_PX / apart
        found = warp(a=1 + stretch, d=1 - stretch) + similarity(0.05, 1.0) - warp()
        assert chosen(found)[0] == model
    assert_allclose(chosen(found)[1], found)
    assert simplest(warp(x=1e-3), "affine", INFORMATION, factor)[0] == "affine"  # asked for
