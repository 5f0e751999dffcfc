"""A pair that differs by something else than defocus is warninged in words; a usual one is not."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import estimate_blur, synth

ndimage = pytest.importorskip("scipy.ndimage")

SHAPE = (160, 200)
NOISE = 0.003


def _scene(seed: int = 0) -> np.ndarray:
    """Texture on several scales, 0..1."""
    rng = np.random.default_rng(seed)
    layers = [ndimage.gaussian_filter(rng.normal(size=SHAPE), width) * width for width in (0.8, 2.0, 6.0)]
    total = sum(layers)
    return np.asarray((total - total.min()) / np.ptp(total))


def _noisy(*images: np.ndarray) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [image + rng.normal(0, NOISE, SHAPE) for image in images]


def _warnings(first: np.ndarray, second: np.ndarray) -> list[str]:
    return list(estimate_blur(*_noisy(first, second)).settings.get("model_warnings", []))


@pytest.mark.parametrize("sigma", [1.5, -1.5, synth.ramp(SHAPE, -1.5, 2.0)], ids=["second", "first", "either"])
def test_defocus_raises_no_warning(sigma) -> None:
    assert _warnings(*synth.pair(_scene(), np.broadcast_to(sigma, SHAPE))) == []


@pytest.mark.parametrize(("axis", "angle"), [(1, 0), (0, 90)], ids=["along rows", "down columns"])
def test_motion_blur_is_named_with_its_direction(axis: int, angle: int) -> None:
    (warning,) = _warnings(_scene(), ndimage.uniform_filter1d(_scene(), 7, axis=axis, mode="reflect"))
    assert "motion blur" in warning
    found = int(warning.partition("along ")[2].split()[0])
    assert min(abs(found - angle), 180 - abs(found - angle)) <= 15


@pytest.mark.parametrize("order", [1, -1], ids=["second moved", "first moved"])
def test_a_shift_is_named_in_pixels(order: int) -> None:
    blurry = ndimage.shift(ndimage.gaussian_filter(_scene(), 1.5), (0, 0.5), order=5, mode="nearest")
    (warning,) = _warnings(*(_scene(), blurry)[::order])
    assert "shifted by 0.5 px" in warning


def test_another_exposure_is_named() -> None:
    assert any("brightness" in warning for warning in _warnings(_scene(), 0.8 * ndimage.gaussian_filter(_scene(), 1.5)))


@pytest.mark.slow
def test_large_pictures_are_judged_on_patches_and_tiny_or_flat_ones_not_at_all() -> None:
    wide = np.tile(_scene(), (3, 3))
    moved = ndimage.uniform_filter1d(wide, 7, axis=1, mode="reflect")
    assert any(
        "motion" in warning for warning in estimate_blur(wide, moved, method="window").settings["model_warnings"]
    )
    assert "model_warnings" not in estimate_blur(wide[:9, :12], moved[:9, :12]).settings
    flat = np.full((64, 64), 0.5)
    assert "model_warnings" not in estimate_blur(flat, flat).settings
