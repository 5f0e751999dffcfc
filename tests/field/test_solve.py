"""The solver of every map, on residuals that have nothing to do with blur: lines through the origin.

Two images show ``a = truth t + noise`` and ``b = t + noise`` of one texture ``t``.  The residual at the value ``v`` is
``e = v b - a``: at the true value nothing but noise.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relblur.field
from relblur.field import Noise, UniformAxis, Volume, solve
from relblur.field.energy import Energy
from relblur.field.moves import follow_median, propagate

SHAPE = (96, 120)
ROWS, COLUMNS = np.indices(SHAPE)
AXIS = UniformAxis(-2.0, 0.1, 0.5)
VALUES = AXIS.value_of(np.arange(41.0))
LIMITS = (-2.0, 2.0)

RAMP = -0.9 + 0.012 * COLUMNS + 0.005 * ROWS
STEP = np.where(COLUMNS < 60, -0.4, 0.5)
PLAIN = (slice(30, 70), slice(40, 84))


class AllOfIt:
    """A support that takes every change of the residuals for texture."""

    def of_step(self, low, high):
        return np.ones([-(-n // 2) for n in SHAPE], np.float32)

    def at(self, z):
        return np.ones_like(z)

    def local_support(self, z):
        return np.ones_like(z)


def volume_of(truth, noise=(0.1, 0.0), channels=1, seed=0, texture=None, **options):
    """Residuals of lines with a slope ``truth``, with the noise of ``a`` and of ``b``."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(channels, *SHAPE)) if texture is None else texture
    a = truth * t + noise[0] * rng.normal(size=t.shape)
    b = t + noise[1] * rng.normal(size=t.shape)
    residuals = VALUES[:, None, None] * b[:, None] - a[:, None]
    own, passed = np.full(len(VALUES), noise[0] ** 2), noise[1] ** 2 * VALUES**2
    covariance = noise[0] ** 2 + noise[1] ** 2 * np.outer(VALUES, VALUES)
    known = Noise(own, passed, covariance, (own + passed) / own)
    return Volume(residuals.astype(np.float32), AXIS, known, LIMITS, support=AllOfIt(), **options)


def with_plain(seed=100):
    """A texture with a hole in it."""
    texture = np.random.default_rng(seed).normal(size=(1, *SHAPE))
    texture[0][PLAIN] = 0
    return texture


def within(found, truth, errors):
    """Return the pixels whose error is so many standard errors at most."""
    return np.abs(found.z - truth) <= errors * found.stderr


@pytest.mark.parametrize("noise", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("channels", [1, 2])
def test_a_ramp_is_found_with_an_honest_error(noise, channels):
    found = solve(volume_of(RAMP, (noise, 0.0), channels))
    assert np.sqrt(np.square(found.z - RAMP).mean()) < 0.1 * noise
    assert within(found, RAMP, 3).mean() >= 0.9
    assert np.median(found.stderr) < 0.15 * noise


def test_a_third_of_the_errors_are_beyond_one_standard_error():
    """The error of a ramp has a few degrees of freedom: one says little."""
    wave = 0.8 * np.sin(ROWS / 9) * np.sin(COLUMNS / 11)
    shares = [within(solve(volume_of(wave, (0.5, 0.0), seed=seed)), wave, 1).mean() for seed in range(4)]
    assert 0.55 < np.mean(shares) < 0.9


def test_a_step_stays_where_it_is():
    found = solve(volume_of(STEP))
    assert np.abs(found.z - STEP)[:, [57, 58, 61, 62]].mean() < 0.02
    assert within(found, STEP, 3).mean() >= 0.95
    away = np.abs(COLUMNS - 59.5) > 10
    assert np.abs(found.z - STEP)[away].max() < 0.05
    # The place of a jump is known to some pixels only, and its height is open there.
    assert np.median(found.stderr[:, 59:61]) > 5 * np.median(found.stderr[away])


def test_an_area_without_texture_is_continued_and_its_error_bar_says_so():
    found = solve(volume_of(RAMP, texture=with_plain()))
    textured = np.ones(SHAPE, bool)
    textured[25:75, 35:89] = False
    assert np.abs(found.z - RAMP)[textured].mean() < 0.01
    assert within(found, RAMP, 3)[textured].mean() >= 0.95
    inside = np.s_[42:58, 54:70]
    assert within(found, RAMP, 3)[inside].mean() >= 0.95
    assert np.abs(found.z - RAMP)[inside].max() < 0.1  # what bends on no side goes on
    assert np.median(found.stderr[inside]) > 20 * np.median(found.stderr[textured])
    assert found.w[inside].max() < 1e-9


@pytest.mark.parametrize("truth", [-1.0, -0.3, 0.3, 1.0])
def test_noise_in_what_the_value_is_a_factor_of_is_no_change_of_the_value(truth):
    """Ordinary least squares would find 0.92 of it: errors in variables."""
    shifts, shares = [], []
    for seed in range(3):
        found = solve(volume_of(np.full(SHAPE, truth), (0.3, 0.3), seed=seed))
        shifts.append(found.z.mean() / truth - 1)
        shares.append(within(found, truth, 3).mean())
    assert abs(np.mean(shifts)) < 0.02
    assert np.mean(shares) >= 0.95


def test_a_few_wild_residuals_are_outliers_and_no_evidence():
    volume = volume_of(RAMP)
    rows, columns = np.random.default_rng(4).integers(0, SHAPE[0], (2, 60))
    volume.residuals[:, :, rows, columns] += 8.0
    found = solve(volume)
    assert np.sqrt(np.square(found.z - RAMP).mean()) < 0.015
    assert within(found, RAMP, 3).mean() >= 0.95


def test_where_residuals_must_not_be_used_the_map_comes_from_around():
    spoilt = np.zeros(SHAPE, bool)
    spoilt[40:52, 50:64] = True
    volume = volume_of(RAMP, weight_at=lambda z: (~spoilt).astype(np.float32))
    volume.residuals[..., spoilt] = VALUES[:, None] - 1.9  # they tell of another value
    found = solve(volume)
    assert (found.w[spoilt] == 0).all()
    assert np.abs(found.z - RAMP).max() < 0.1
    assert np.median(found.stderr[spoilt]) > 1.5 * np.median(found.stderr[~spoilt])


def test_channels_that_contradict_each_other_widen_the_error_bar():
    agreed = volume_of(RAMP, channels=2, disagreement=True)
    other = volume_of(RAMP + 0.2, channels=2, disagreement=True)
    mixed = replace(agreed, residuals=np.stack([agreed.residuals[0], other.residuals[1]]))
    one, two = solve(agreed), solve(mixed)
    assert np.median(two.stderr) > 5 * np.median(one.stderr)
    assert within(two, RAMP + 0.1, 3).mean() >= 0.95


def test_a_speck_takes_the_median_around_it_unless_the_residuals_contradict():
    truth = np.zeros(SHAPE)
    truth[60:63, 80:83] = 1.2
    texture = np.random.default_rng(100).normal(size=(1, *SHAPE))
    texture[:, :48] *= 1e-3  # nothing is known of the upper half
    energy = Energy(volume_of(truth, texture=texture))
    z = truth.astype(np.float32)
    z[20:23, 20:23] = 1.2
    found = follow_median(energy, z)
    assert_allclose(found[20:23, 20:23], 0, atol=0.05)
    assert_array_equal(found[60:63, 80:83], z[60:63, 80:83])
    assert_array_equal(found[:, 100:], z[:, 100:])


@pytest.mark.parametrize("window", [(5, 5), (1, 11)])
def test_a_pixel_beside_a_jump_takes_the_plane_of_its_neighbours_if_that_fits_better(window):
    energy = Energy(volume_of(STEP))
    z = STEP.astype(np.float32)
    z[:, 60:63] = -0.4  # the jump is three pixels too far to the right
    found = propagate(energy, z, np.zeros((2, *SHAPE), np.float32), 4, window)
    assert np.abs(found - STEP)[:, 60:63].mean() < 0.2 * np.abs(z - STEP)[:, 60:63].mean()
    away = np.abs(COLUMNS - 61) > 8
    assert_array_equal(found[away], z[away])


BELOW = {"base", "kernels"}


def test_the_solver_knows_nothing_of_blur():
    """Nothing of it is imported, inside functions neither."""
    folder = Path(relblur.field.__file__).parent
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level < 3
                module = (node.module or "").split(".")
                assert node.level != 2 or module[0] in BELOW, f"{path.name}: {node.module}"
                assert module[0] != "relblur", f"{path.name}: {node.module}"
            elif isinstance(node, ast.Import):
                assert not any(alias.name.startswith("relblur") for alias in node.names), path.name
