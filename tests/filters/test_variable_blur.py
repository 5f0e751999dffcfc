"""Blur interpolated between levels against a sum over each pixel's own kernel."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur.filters import variable_blur as level_blur
from relblur.filters.variable_blur import blur_by_levels, blur_planes


def _planes(shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype=np.float32)


@pytest.mark.parametrize(
    ("family", "least", "most", "tolerance"),
    [
        ("band_limited", 0.0, 5.0, 5e-4),
        ("sampled", 0.7, 5.0, 3e-4),
        # Below 0.6 px a sampled kernel hurries towards a single tap, faster than a cubic follows.
        ("sampled", 0.0, 0.7, 1e-2),
    ],
)
@pytest.mark.parametrize("shape", [(2, 60, 75), (1, 1, 1), (1, 1, 40), (3, 7, 2)])
def test_it_agrees_with_the_long_way(family, least, most, tolerance, shape, monkeypatch):
    monkeypatch.setattr(level_blur, "TILE", 32)
    planes = _planes(shape)
    sigma = least + (most - least) * np.random.default_rng(1).random(shape[1:])
    found = blur_by_levels(planes, sigma, family)
    assert found.dtype == np.float32
    assert_allclose(found, blur_planes(planes.astype(np.float64), sigma, family), atol=tolerance)


def test_no_blur_changes_nothing():
    planes = _planes((2, 20, 30))
    assert_array_equal(blur_by_levels(planes, np.zeros((20, 30)), "band_limited"), planes)


def test_tiles_do_not_show(monkeypatch):
    planes, sigma = _planes((1, 50, 60)), np.full((50, 60), 2.3)
    whole = blur_by_levels(planes, sigma, "band_limited")
    monkeypatch.setattr(level_blur, "TILE", 16)
    assert_allclose(blur_by_levels(planes, sigma, "band_limited"), whole, atol=1e-6)
