"""Exchanging the images mirrors the arithmetic of the refined estimator: tables, evidence, labels and the map."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import estimate_blur, synth
from relblur.blur.refined.discrete import labels
from relblur.blur.refined.engine import open_loops
from relblur.blur.refined.likelihood.noise import GivenNoise
from relblur.blur.refined.prepare import prepare
from relblur.blur.refined.refine import Task, build_likelihood
from relblur.blur.request import Request
from relblur.engines import choose_engine

EQUAL, UNEQUAL = (0.005, 0.005), (0.002, 0.01)
#: Largest difference, in parts of the largest entry.
ROUNDING = 1e-5


def noisy_pair(noise):
    from skimage import data

    sharp = data.brick()[:96, :128] / 255.0
    first, second = synth.pair(sharp, synth.ramp(sharp.shape, -1.5, 1.5, axis=1))
    rng = np.random.default_rng(0)
    return first + rng.normal(0, noise[0], first.shape), second + rng.normal(0, noise[1], second.shape)


def likelihood_of(first, second, noise, loops):
    pair = prepare(first, second, None)
    request = Request("refined", "auto", np.array([2.0]), 11, choose_engine("opencv"))
    task = Task(pair, request, GivenNoise(noise).on_scale(pair.unit), None)
    return build_likelihood(task, (pair.first, pair.second), 0.0, loops)[0]


@pytest.fixture(params=[EQUAL, UNEQUAL], ids=["equal noise", "unequal noise"], scope="module")
def both(request):
    """The likelihood of a pair, and that of the pair exchanged."""
    first, second = noisy_pair(request.param)
    with open_loops("opencv", 1) as loops:
        yield (
            likelihood_of(first, second, request.param, loops),
            likelihood_of(second, first, request.param[::-1], loops),
        )


def assert_same(found, expected):
    assert np.abs(found - expected).max() <= ROUNDING * np.abs(expected).max()


@pytest.mark.parametrize(("name", "sign"), [("own", 1), ("passed", 1), ("in_ed", -1), ("in_dd", 1), ("between", 1)])
def test_noise_tables_are_mirrored(both, name, sign):
    one, two = (getattr(likelihood.noise.tables, name) for likelihood in both)
    assert_same(sign * two[::-1], one)


@pytest.mark.parametrize("place", ["a map", "zero everywhere"])
def test_evidence_is_mirrored(both, place):
    shape = both[0].misfit.shape
    s = np.zeros(shape, np.float32) if place == "zero everywhere" else synth.ramp(shape, -2.1, 2.1).astype(np.float32)
    found = []
    for likelihood, sign in zip(both, (1, -1), strict=True):
        likelihood.weigh(sign * s)
        found.append(likelihood.evidence(sign * s, inflate=False))
    assert_same(found[1].w, found[0].w)
    assert_same(-found[1].g, found[0].g)


def test_shared_texture_is_the_same_where_no_image_is_the_sharper(both):
    nowhere = np.zeros(both[0].misfit.shape, np.float32)
    one, two = (likelihood.shared for likelihood in both)
    assert_same(two.at(nowhere), one.at(nowhere))
    assert_same(two.located(nowhere), one.located(nowhere))


def test_labels_are_mirrored(both):
    one, two = (labels.label(likelihood) for likelihood in both)
    assert_same(-two, one)


@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal noise", "unequal noise"])
def test_the_map_is_mirrored(noise):
    """But for choices that rounding tips."""
    first, second = noisy_pair(noise)
    one, two = estimate_blur(first, second), estimate_blur(second, first)
    moved = np.abs(one.variance_difference + two.variance_difference)
    assert np.mean(moved > 1e-3) < 1e-3
