"""The compiled loops of the refined estimator give what their twins in NumPy give.

Float32 sums in another order differ in the last digit, and the descent passes that on: changing the residuals by 1e-7
of themselves moves a map by up to 0.03 standard errors for 99.9 % of the pixels. About the same is allowed here, and
one pixel in a thousand may sit on the edge of a decision and fall to the other side.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import estimate_blur, synth
from relblur.refined import compiled_grid, engine, labels, likelihood, prior, propagate, slope, strength
from relblur.refined.coordinate import SIGMA, VARIANCE
from relblur.refined.likelihood import Likelihood
from relblur.refined.noise import PairNoise
from relblur.refined.solver import Multigrid
from relblur.refined.stack import build_stack

SHAPES = [(64, 48), (37, 53), (6, 41), (30, 5), (2, 17), (19, 2)]


@pytest.fixture(scope="module", params=[1, 3])
def crews(request):
    """NumPy's loops and the compiled ones, alone and in three threads that share everything there is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "WORTH_SHARING", 1)
        patch.setattr(compiled_grid, "WORTH_MEETING", 1)
        with engine.gather("opencv") as plain, engine.gather("numba", request.param) as fast:
            assert fast.compiled is not None
            yield plain, fast


def _random(shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


def _difference_in_standard_errors(found, wanted):
    return np.abs(found.variance_difference - wanted.variance_difference) / wanted.variance_stderr


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("sharper", ["first", "auto"])
@pytest.mark.parametrize("rows", [96, 83])
def test_maps_agree(texture, noise, sharper, rows):
    truth = synth.ramp((rows, 112), 0.7, 2.0)
    first = np.array(texture[:rows])
    second = synth.blur_with_map(first, truth)
    if noise:
        rng = np.random.default_rng(0)
        first, second = (synth.degrade(image, noise=noise, rng=rng) for image in (first, second))
    wanted = estimate_blur(first, second, sharper=sharper, engine="opencv")
    found = estimate_blur(first, second, sharper=sharper, engine="numba")
    assert found.settings["engine"] == "numba"
    difference = _difference_in_standard_errors(found, wanted)
    assert np.median(difference) < 5e-3
    assert np.percentile(difference, 99.9) < 0.03
    assert np.abs(np.log(found.variance_stderr / wanted.variance_stderr)).max() < 0.1
    assert (found.flags != wanted.flags).mean() <= 1e-3


def test_colour_steps_rounding_and_invalid_pixels_agree(colour):
    truth = synth.steps(colour.shape[:2], (1.0, 2.0), 44)
    pair = [synth.degrade(i, bits=8) for i in (colour, synth.blur_with_map(colour, truth, channel_axis=-1))]
    valid = np.ones(truth.shape, bool)
    valid[20:30, 10:25] = False
    wanted, found = (estimate_blur(*pair, valid=valid, channel_axis=-1, engine=name) for name in ("opencv", "numba"))
    assert np.nanpercentile(_difference_in_standard_errors(found, wanted), 99.9) < 0.03
    assert (found.flags != wanted.flags).mean() <= 1e-3


def test_threads_and_repetition_change_nothing(texture, monkeypatch):
    monkeypatch.setattr(engine, "WORTH_SHARING", 1)
    monkeypatch.setattr(compiled_grid, "WORTH_MEETING", 1)
    second = synth.blur_with_map(texture, synth.ramp(texture.shape, 1, 2))
    maps = [estimate_blur(texture, second, engine="numba", workers=n) for n in (1, 2, 3, 3)]
    for other in maps[1:]:
        assert_array_equal(other.variance_difference, maps[0].variance_difference)
        assert_array_equal(other.variance_stderr, maps[0].variance_stderr)


@pytest.mark.parametrize("shape", [(2, 3), (3, 30), (5, 5), (31, 9)])
def test_tiny_pictures_agree(shape):
    first = np.array(_random(shape), np.float64)
    second = synth.blur_with_map(first, 0.5)
    wanted, found = (estimate_blur(first, second, engine=name, window=1) for name in ("opencv", "numba"))
    assert_allclose(found.variance_difference, wanted.variance_difference, atol=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("components", [1, 2, 3])
def test_the_solver_agrees(crews, shape, components):
    height, width = shape
    weight = _random((components, height, width)) + np.float32(0.01)
    right = 100 * _random((components, height, width - 1), 1)
    down = 100 * _random((components, height - 1, width), 2)
    b = _random(weight.shape, 3) - np.float32(0.5)
    grid = crews[1].compiled._grid(weight.shape)
    for to, given in ((grid.weight, weight), (grid.right, right), (grid.down, down), (grid.b, b)):
        to[...] = given
    assert_allclose(grid.solve(5), Multigrid(weight, right, down).solve(b, 5), rtol=2e-3, atol=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_prior_agrees(crews, shape):
    s, w, g, tolerance = (_random(shape, seed) for seed in range(4))
    variance, mu = 0.01 + _random(shape, 4), 10 + 100 * _random(shape, 5)
    slopes = 0.1 * _random((2, *shape), 6)
    found, wanted = [], []
    for crew, out in zip(crews, (wanted, found), strict=True):
        edges = prior.link(s, slopes, variance, mu, tolerance, crew)
        out += [edges.step_right.copy(), edges.step_down.copy(), edges.cut_right, edges.cut_down]
        field = slope.SlopeField(shape, crew)
        for _ in range(2):  # the second time it begins where the first has ended
            field.fit(s, w, g, edges, variance, mu, 4)
        out.append(field.cells)
        for draw in (None, prior.Draw(_random(shape, 7), np.float32(0.3))):
            out.append(prior.solve_step(s, slopes + 1, w, g, draw, edges, variance, 5, crew))
        out.append(prior.posterior_variance(w, mu, crew))
        out.append(strength.score_test(w, g, 1 + s, crew))
    for a, b in zip(found, wanted, strict=True):
        assert_allclose(a, b, rtol=2e-3, atol=2e-4)


@pytest.mark.parametrize("shape", [*SHAPES, (3, 1), (1, 4)])
@pytest.mark.parametrize("coordinate", [SIGMA, VARIANCE])
def test_the_coordinate_agrees(crews, shape, coordinate):
    bounds = (0.04, 2.0)
    z, w, g, delta = (_random(shape, seed) + np.float32(0.2) for seed in range(4))
    slopes = _random((2, *shape), 4)
    found, wanted = [], []
    for crew, out in zip(crews, (wanted, found), strict=True):
        out += [*coordinate.at(z, crew), *coordinate.carry(w, g, z, crew)]
        out.append(coordinate.move(z, 4 * delta - 2, 1 + g, bounds, crew))
        for offset in ((4, 0), (-2, 0), (0, 3), (0, -1)):
            if crew.compiled is None:
                plane = coordinate.clip(propagate._neighbour_plane(z, slopes, offset), bounds)
                out += [plane, coordinate.to_s(plane)]
            else:
                limits = coordinate.limits(bounds)
                planes = crew.compiled.neighbour_plane(z, slopes, offset, limits, coordinate.is_sigma)
                out += [plane.copy() for plane in planes]
    for a, b in zip(found, wanted, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def _likelihoods(crews, shape, sensor, trust, relative=None):
    for crew in crews:
        first, second = _random((2, *shape)), _random((2, *shape), 1)
        stack = build_stack(first, second, lowest=-4.0, highest=4.0, family="band_limited", prefilter=0.0, crew=crew)
        best = likelihood.best_fit(stack)
        noise = PairNoise((sensor, sensor), (1e-3, 1e-3))
        yield Likelihood(stack, noise, best, (-4.0, 4.0), trust, None, relative), best


@pytest.mark.parametrize("shape", [(37, 53), (20, 24), (8, 9)])
@pytest.mark.parametrize("sensor", [0.0, 0.1])
def test_the_likelihood_and_the_labels_agree(crews, shape, sensor):
    s = 8 * _random(shape, 2) - 4
    found, wanted = [], []
    for (given, best), out in zip(
        _likelihoods(crews, shape, sensor, _random(shape, 3), 0.5 + _random(shape, 4)), (wanted, found), strict=True
    ):
        out += [best, labels._data_cost(given), given.variance(s)]
        evidence = given.evidence(s, inflate=True)
        out += [evidence.w, evidence.g, evidence.power, given.cost(s, given.variance(s))]
        given.refit_misfit(s, evidence, evidence.w, 1 + s * s)
        out += [given.misfit, labels.label(given)]
    for a, b in zip(found[:-1], wanted[:-1], strict=True):
        assert_allclose(a, b, rtol=1e-3, atol=1e-4 * np.abs(b).max())
    # A tie may fall either way.
    assert np.isclose(found[-1], wanted[-1], atol=1e-3).mean() > 0.98


@pytest.mark.parametrize("shape", [(5, 24, 30), (53, 7, 9), (4, 1, 6)])
def test_scans_agree(crews, shape):
    cost = 10 * _random(shape)
    turned = np.ascontiguousarray(cost.transpose(0, 2, 1))
    wanted = engine.scan(cost, 1.0, 6.0) + engine.scan(turned, 1.0, 6.0).transpose(0, 2, 1)
    assert_allclose(crews[1].compiled.scan(cost, 1.0, 6.0), wanted, rtol=1e-5)
