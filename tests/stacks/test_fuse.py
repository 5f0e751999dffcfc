"""Pictures from stacks: the sharpest frame wins, bright outlines get no halo, noise is averaged."""

from __future__ import annotations

import cv2  # noqa: TID253
import numpy as np
import pytest

from relblur.stacks.choice import detail_of, log_odds
from relblur.stacks.fuse import fuse_by_detail, prefer_at_outlines

from .conftest import PLAIN, prepared


def odds_of(frames, step=1):
    details = [detail_of(frame[:, :, None], 1.0, step) for frame in frames]
    return log_odds([np.stack(energies) for energies in zip(*details, strict=True)])


def soft(image, sigma):
    return cv2.GaussianBlur(image, (0, 0), sigma) if sigma > 0 else image


@pytest.fixture(scope="module")
def texture():
    return 0.3 + 0.4 * soft(np.random.default_rng(0).random((96, 120), np.float32), 0.7)


@pytest.mark.parametrize("step", [1, 2, 4])
def test_the_sharpest_frame_has_the_largest_odds(texture, step):
    frames = [soft(texture, sigma) for sigma in (1.5, 0.0, 1.0)]
    odds = odds_of(frames, step)
    assert odds.shape == (3, 96 // step, 120 // step)
    assert (odds.argmax(axis=0) == 1).mean() > 0.99


def test_noise_alone_gives_no_frame_much_more_weight(texture):
    rng = np.random.default_rng(1)
    frames = [0.5 + 0.01 * rng.standard_normal(texture.shape).astype(np.float32) for _ in range(5)]
    weight = np.exp(odds_of(frames) - odds_of(frames).max(axis=0))
    share = (weight / weight.sum(axis=0)).max(axis=0)
    assert np.median(share) < 0.6


def test_slow_detail_decides_on_a_surface_without_fine_detail():
    """Shading of 16 px under noise: no finest detail says which frame is sharper."""
    rng = np.random.default_rng(2)
    shading = 0.5 + 0.3 * np.sin(np.arange(160, dtype=np.float32) / 2.5) * np.ones((96, 1), np.float32)
    frames = [soft(shading, sigma) + 0.005 * rng.standard_normal(shading.shape).astype(np.float32) for sigma in (0, 3)]
    best = odds_of(frames).argmax(axis=0)
    assert (best[16:-16, 16:-16] == 0).mean() > 0.95


def test_the_blur_of_a_bright_line_does_not_win_beside_it():
    """The background is smooth: its halo would come from the frame in which the line is blurred."""
    scene = np.full((96, 96), 0.2, np.float32)
    scene[:, 47:49] = 1.0
    rng = np.random.default_rng(3)
    frames = [soft(scene, sigma) + 0.002 * rng.standard_normal(scene.shape).astype(np.float32) for sigma in (0, 2, 4)]
    fused = fuse_by_detail(prepared(frames, **PLAIN), lambda share: None)[:, :, 0]
    halo = np.abs(fused - scene)[:, 40:46].mean()
    assert halo < 0.05 * np.abs(frames[1] - scene)[:, 40:46].mean()
    assert np.abs(fused - scene)[:, 46:50].max() < 0.03


def test_values_of_any_range_give_the_same_picture(texture):
    frames = [soft(texture, sigma) for sigma in (0.0, 1.5)]
    pictures = []
    for scale in (1.0, 1000.0):
        scaled = prepared([scale * frame for frame in frames], **PLAIN)
        pictures.append(fuse_by_detail(scaled, lambda share: None) / scale)
    assert np.abs(pictures[0] - pictures[1]).max() < 0.02


def test_near_or_far_is_preferred_at_outlines():
    """A disc in front of a wall: its outline is blurred over the wall where only the far frame is sharp."""
    index = np.full((60, 60), 8.0)
    index[20:40, 20:40] = 2.0
    index[5, 5] = 0.0  # an outlier is no surface
    near, decides = prefer_at_outlines(index, "near")
    far, _ = prefer_at_outlines(index, "far")
    assert (near[17:43, 30] == 2).all()
    assert (near[14, 30], near[5, 8]) == (8, 8)
    assert (far[18:23, 30] == 8).all()
    assert far[30, 30] == 2
    assert (decides[18, 30], decides[10, 30]) == (True, False)
    blurred = cv2.GaussianBlur(index, (0, 0), 3)  # maps blur jumps
    assert (prefer_at_outlines(blurred, "near")[0][18:22, 30] < 2.5).all()
    slope = np.tile(np.linspace(0, 10, 60), (60, 1))
    assert np.allclose(prefer_at_outlines(slope, "far")[0], slope)
    assert prefer_at_outlines(index, "any") is None
