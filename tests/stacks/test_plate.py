"""The prior of maps from many frames: a step balances evidence and prior, in either order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur.field import Loops
from relblur.stacks import many, plate

from .conftest import ramp, stack_of

RNG = np.random.default_rng(0)
ROWS, COLUMNS = np.indices((60, 72), np.float64)
#: A smooth surface with a jump, and measurements of its pixels.
TRUTH = 5 + np.sin(COLUMNS / 12) + np.cos(ROWS / 15) + 2.0 * (COLUMNS > 40)
MEASURED = TRUTH + 0.3 * RNG.standard_normal(TRUTH.shape)
INFORMATION = np.full(TRUTH.shape, 11.0, np.float32)


@pytest.mark.parametrize("order", [plate.ORDER, plate.LAST_ORDER])
def test_a_step_balances_evidence_and_prior(order, monkeypatch):
    monkeypatch.setattr(plate, "_SOLVER_STEPS", {order: 3000})
    monkeypatch.setattr(plate, "_SOLVED", 1e-12)
    x = TRUTH.astype(np.float32)
    score = (INFORMATION * (x - MEASURED)).astype(np.float32)
    smoothness = plate.Smoothness(200.0, 1.0, order)
    step, solved = plate.prior_step(x, score, INFORMATION, smoothness, 0.5)
    assert solved
    surface = plate.Surface(x.astype(np.float64), smoothness, 0.5)
    left = INFORMATION * (x + step - MEASURED) + surface.apply((x + step).astype(np.float64))
    assert np.abs(left).max() < 1e-2 * np.abs(score).max()
    # A quadratic form is symmetric, and planes cost nothing.
    one, two = RNG.standard_normal((2, *TRUTH.shape))
    assert_allclose((one * surface.apply(two)).sum(), (two * surface.apply(one)).sum(), rtol=1e-9)
    assert np.abs(surface.apply(3 + ROWS - 2 * COLUMNS)).max() < 1e-6


@pytest.mark.parametrize("order", [3, 4])
def test_the_posterior_variance_is_that_of_all_frequencies(order):
    wave = 2 * np.pi * np.fft.fftfreq(512)
    smooth = plate.Smoothness(5e4, 1.0, order)
    expected = (1 / (11.0 + smooth.stiffness * (wave[:, None] ** 2 + wave**2) ** order)).mean()
    assert_allclose(plate.posterior_variance(INFORMATION, smooth), expected, rtol=0.02)


def test_a_last_step_that_does_not_converge_is_done_with_the_usual_prior(sharp, monkeypatch):
    frames = stack_of(sharp, ramp(2, 7), 10)
    usable, places = np.ones(sharp.shape, bool), np.arange(10.0)

    def find():
        return many.most_symmetric(frames, usable, places, Loops(), lambda share: None).place

    usual = find()
    monkeypatch.setitem(plate._SOLVER_STEPS, plate.LAST_ORDER, 1)
    unsolved = find()
    monkeypatch.setattr(many, "LAST_ORDER", plate.ORDER)
    assert_allclose(unsolved, find())
    assert not np.allclose(usual, unsolved)
