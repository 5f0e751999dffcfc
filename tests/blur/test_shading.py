"""Slow differences of brightness, which blur does not make, are no evidence of blur."""

from __future__ import annotations

import numpy as np

from relblur import estimate_blur, synth


def test_a_lamp_says_nothing_of_the_wall_around_it():
    """The lamp is near, the wall far: another blur, of which nothing shows."""
    rng = np.random.default_rng(5)
    rows, columns = np.mgrid[:200, :260]
    wall = 0.3 + 0.1 * np.sin(rows / 60) + 0.05 * np.cos(columns / 80)
    lamp = 60.0 * (np.hypot(rows - 90, columns - 170) < 9)
    texture = np.where(columns < 60, 0.1 * rng.standard_normal(wall.shape), 0)
    far, near = wall + texture, lamp
    first = synth.blur_with_map(far, 1.0) + synth.blur_with_map(near, 3.0)
    second = synth.blur_with_map(far, 2.5) + synth.blur_with_map(near, 1.0)
    found = estimate_blur(*(one + 0.004 * rng.standard_normal(one.shape) for one in (first, second)))
    distance = np.hypot(rows - 90, columns - 170)
    ring = (distance > 25) & (distance < 70)
    assert found.sigma[90, 161] < -2, "the lamp's own rim is known"
    assert (found.flags[ring] != 0).mean() > 0.95


def test_a_wall_under_another_vignetting_is_no_very_large_blur():
    """Two apertures: the wall has shading, which differs by some percent, and noise; a strip of it has texture."""
    rng = np.random.default_rng(3)
    rows, columns = np.mgrid[:200, :240] / 200
    sharp = 0.4 + 0.25 * np.exp(-((rows - 0.3) ** 2 + (columns - 0.4) ** 2) / 0.08)
    sharp[150:] += 0.1 * rng.standard_normal((50, 240))
    second = synth.blur_with_map(sharp, 1.2) * (1 + 0.08 * (columns - 0.6) ** 2 - 0.06 * rows * columns)
    pair = [one + 0.002 * rng.standard_normal(one.shape) for one in (sharp, second)]
    found = estimate_blur(*pair)
    wall = found.sigma[10:120, 10:-10]
    assert np.abs(wall).max() < 3.5
    assert abs(np.median(found.sigma[170:190, 20:-20]) - 1.2) < 0.05
