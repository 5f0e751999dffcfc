"""Symmetry of the refined estimator: exchanging the images mirrors the map, flipping them flips it."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import estimate_blur, synth
from relblur.blur.dense.estimate import build_volume
from relblur.blur.dense.planes import prepare
from relblur.blur.request import Request
from relblur.field import Loops
from relblur.field.energy import Energy
from relblur.field.noise import Tables
from relblur.field.start import label

EQUAL, UNEQUAL = (0.005, 0.005), (0.002, 0.01)
#: Largest difference, in parts of the largest entry.
ROUNDING = 1e-5


def noisy_pair(noise):
    from skimage import data

    sharp = data.brick()[:96, :128] / 255.0
    first, second = synth.pair(sharp, synth.ramp(sharp.shape, -1.5, 1.5, axis=1))
    rng = np.random.default_rng(0)
    return first + rng.normal(0, noise[0], first.shape), second + rng.normal(0, noise[1], second.shape)


def volume_of(first, second, noise):
    planes = prepare(first, second, None)
    request = Request("refined", "auto", np.array([2.0]), 11, "opencv", given_noise=noise)
    return build_volume(planes, request, 0.0, Loops())[0]


@pytest.fixture(params=[EQUAL, UNEQUAL], ids=["equal noise", "unequal noise"], scope="module")
def both(request):
    """The volume of a pair, and that of the pair exchanged."""
    first, second = noisy_pair(request.param)
    return volume_of(first, second, request.param), volume_of(second, first, request.param[::-1])


def assert_same(found, expected):
    assert np.abs(found - expected).max() <= ROUNDING * np.abs(expected).max()


@pytest.mark.parametrize(
    ("number", "sign"), [(0, 1), (1, 1), (2, -1), (3, 1)], ids=["own", "passed", "covariance", "variance"]
)
def test_noise_tables_are_mirrored(both, number, sign):
    level = np.linspace(0, both[0].levels - 1, 4 * both[0].levels - 3, dtype=np.float32)
    (one,), (two,) = (Tables(volume.noise, volume.axis).at(level, number) for volume in both)
    assert_same(sign * two[::-1], one)


@pytest.mark.parametrize("place", ["a map", "zero everywhere"])
def test_evidence_is_mirrored(both, place):
    shape = both[0].shape
    s = np.zeros(shape, np.float32) if place == "zero everywhere" else synth.ramp(shape, -2.1, 2.1).astype(np.float32)
    found = []
    for volume, sign in zip(both, (1, -1), strict=True):
        energy = Energy(volume)
        energy.weigh(sign * s)
        found.append(energy.evidence(sign * s, correlated=False))
    assert_same(found[1].w, found[0].w)
    assert_same(-found[1].g, found[0].g)


def test_labels_are_mirrored(both):
    one, two = (label(Energy(volume)) for volume in both)
    assert_same(-two, one)


@pytest.mark.parametrize("noise", [EQUAL, UNEQUAL], ids=["equal noise", "unequal noise"])
def test_the_map_is_mirrored(noise):
    """But for choices that rounding tips."""
    first, second = noisy_pair(noise)
    one, two = estimate_blur(first, second), estimate_blur(second, first)
    moved = np.abs(one.variance_difference + two.variance_difference)
    assert np.mean(moved > 1e-3) < 1e-3


@pytest.mark.parametrize(("shape", "share"), [((150, 190), 0.05), ((151, 191), 0.1)], ids=["even", "odd"])
def test_a_flipped_pair_has_the_flipped_map(shape, share):
    """Coarse grids lie symmetrically in the image; what is left are solvers that end before they converge."""
    from skimage import data

    rows, columns = np.indices(shape)
    rng = np.random.default_rng(0)
    sharp = data.brick()[40 : 40 + shape[0], 60 : 60 + shape[1]] / 255.0
    pair = [image + rng.normal(0, 0.005, shape) for image in synth.pair(sharp, 2 * np.sin(rows / 25 + columns / 60))]
    found = estimate_blur(*pair)
    for turn in (np.flipud, np.fliplr, lambda image: np.rot90(image, 2)):
        turned = estimate_blur(*(np.ascontiguousarray(turn(image)) for image in pair))
        moved = np.abs(turn(turned.variance_difference) - found.variance_difference)
        assert np.mean(moved > 0.3 * found.variance_stderr) < share
