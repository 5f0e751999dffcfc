"""The prior of maps of stacks: a step solves what it says, of either order; one that is not solved is not used."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import synth
from relblur.field import Loops
from relblur.stacks import plate, symmetric


@pytest.fixture(scope="module")
def noisy():
    """A smooth surface with a jump, and what pixels say about it."""
    y, x = np.indices((60, 72))
    truth = 5 + np.sin(x / 12) + np.cos(y / 15) + 2.0 * (x > 40)
    measured = truth + 0.3 * np.random.default_rng(0).standard_normal(truth.shape)
    return truth, measured


@pytest.mark.parametrize("order", [plate.ORDER, plate.LAST_ORDER])
def test_a_step_balances_evidence_and_prior(noisy, order, monkeypatch):
    monkeypatch.setattr(plate, "_SOLVER_STEPS", {order: 3000})
    monkeypatch.setattr(plate, "_SOLVED", 1e-12)
    truth, measured = noisy
    x, information = truth.astype(np.float32), np.full(truth.shape, 11.0, np.float32)
    score = (information * (x - measured)).astype(np.float32)
    smoothness = plate.Smoothness(200.0, 1.0, order)
    step, solved = plate.prior_step(x, score, information, smoothness, 0.5)
    assert solved
    surface = plate._Surface(x.astype(np.float64), smoothness, 0.5)
    left = information * (x + step - measured) + surface.apply((x + step).astype(np.float64))
    assert np.abs(left).max() < 1e-2 * np.abs(score).max()
    # A quadratic form is symmetric, and planes cost nothing.
    one, two = np.random.default_rng(1).standard_normal((2, *truth.shape))
    assert_allclose((one * surface.apply(two)).sum(), (two * surface.apply(one)).sum(), rtol=1e-9)
    rows, columns = np.indices(truth.shape, np.float64)
    assert np.abs(surface.apply(3 + rows - 2 * columns)).max() < 1e-6


def test_the_fitted_order_is_remembered_and_enters_the_error(noisy):
    truth, measured = noisy
    information = np.full(truth.shape, 11.0, np.float32)
    score = (information * (truth - measured)).astype(np.float32)
    found = plate.fit_smoothness(truth.astype(np.float32), score, information, 4)
    assert found.order == 4
    # The mean over all frequencies of 1 / (information + stiffness q^4), by summing them.
    wave = 2 * np.pi * np.fft.fftfreq(512)
    q = wave[:, None] ** 2 + wave**2
    for order in (3, 4):
        smooth = plate.Smoothness(5e4, 1.0, order)
        expected = (1 / (11.0 + smooth.stiffness * q**order)).mean()
        assert_allclose(plate.posterior_variance(information, smooth), expected, rtol=0.02)


def test_a_last_step_that_is_not_solved_is_done_with_the_usual_prior(monkeypatch):
    sharp = np.random.default_rng(2).random((48, 56))
    place = np.linspace(2, 7, 56) * np.ones((48, 1))
    frames = [synth.blur_with_map(sharp, 0.7 * np.abs(place - n)) for n in range(10)]
    usable, places = np.ones(place.shape, bool), np.arange(10.0)

    def find():
        return symmetric.estimate_by_symmetry(frames, usable, places, Loops(), lambda share: None).place

    usual = find()
    monkeypatch.setitem(plate._SOLVER_STEPS, plate.LAST_ORDER, 1)
    unsolved = find()
    monkeypatch.setattr(symmetric, "LAST_ORDER", plate.ORDER)
    assert_allclose(unsolved, find())
    assert not np.allclose(usual, unsolved)
