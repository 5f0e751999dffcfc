"""Compiled code gives the readable engine's answer at every level of the processor.

``make sanitize`` runs this file on kernels that look after memory and undefined behaviour.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relblur import Flag, Stream, _kernels, estimate_blur, synth
from relblur.blur.window.method import LINEAR_BELOW
from relblur.kernels import compiled

RNG = np.random.default_rng(3)
SHAPE = (61, 150)
IMAGE = np.clip(synth.blur_with_map(RNG.random(SHAPE), 0.7) * 2 - 0.5, 0.02, 0.98)
THROUGH_ZERO = synth.pair(IMAGE, synth.ramp(SHAPE, -2.5, 2.5, axis=1))
ONE_WAY = (IMAGE, synth.blur_with_map(IMAGE, synth.ramp(SHAPE, 0.3, 4.5, axis=1), kernel="band_limited"))

# Compiled code works in float32 and makes wide blurs from a half-size image. s may differ by so much of
# sqrt(s^2 + c^2), plus so much of its standard error; a few pixels sit on the edge of a decision.
RELATIVE, OF_STDERR, UNDECIDED = 1e-3, 0.02, 4e-3
# Levels differ in the order of additions only.
BETWEEN_LEVELS = 2e-5

CASES = {
    "through zero": (THROUGH_ZERO, {}),
    "first": (ONE_WAY, {"sharper": "first"}),
    "second": (ONE_WAY[::-1], {"sharper": "second"}),
    "noise": ([image + RNG.normal(0, 0.01, SHAPE) for image in THROUGH_ZERO], {}),
    "colour": ([np.stack([x, 0.3 + 0.5 * x[::-1], 0.9 - 0.8 * x], 2) for x in ONE_WAY], {"channel_axis": -1}),
    **{f"window {w}": (THROUGH_ZERO, {"window": w}) for w in (3, 5, 7, 11, 13, 31)},
    **{f"max_sigma {limit:g}": (ONE_WAY, {"max_sigma": limit}) for limit in (0.5, 2, 12)},
    "uint8": ([np.rint(255 * x).astype(np.uint8) for x in ONE_WAY], {}),
    "uint16": ([np.rint(65535 * x).astype(np.uint16) for x in ONE_WAY], {}),
    "float32": ([x.astype(np.float32) for x in ONE_WAY], {}),
    "small": ([x[:9, :11] for x in ONE_WAY], {"max_sigma": 2.0}),
}
wanted = partial(estimate_blur, method="window", engine="opencv")


@pytest.fixture(params=_kernels.levels())
def level(request, monkeypatch):
    monkeypatch.setattr(compiled, "level", request.param)
    return request.param


def stream_of(pair, sharper="auto", window=9, max_sigma=5.0, channel_axis=None, **options):
    with Stream(pair[0].shape, sharper=sharper, window=window, max_sigma=max_sigma, workers=2, **options) as stream:
        return stream.process(*pair).copy()


def assert_agree(got, want):
    assert np.mean(got.flags != want.flags) <= UNDECIDED
    s, error = want.variance_difference, want.variance_stderr
    off = np.abs(got.variance_difference - s) > RELATIVE * np.hypot(s, LINEAR_BELOW) + OF_STDERR * error
    assert np.mean(off) <= UNDECIDED
    assert np.mean(got.sharper != want.sharper) <= 10 * UNDECIDED


@pytest.mark.parametrize("case", CASES)
def test_every_level_agrees_with_the_readable_engine(level, case):
    pair, options = CASES[case]
    got = stream_of(pair, **{"noise": 1e-4, **options})
    assert_agree(got, wanted(*pair, **{"noise": 1e-4, "max_sigma": 5.0, **options}))


def test_bad_and_clipped_pixels_and_what_they_reach(level):
    first, second = [np.rint(255 * x).astype(np.uint8) for x in ONE_WAY]
    first[30, 40] = 255
    valid = np.ones(SHAPE, bool)
    valid[10:20, 100:110] = False
    got, want = stream_of((first, second), valid=valid), wanted(first, second, valid=valid, max_sigma=5.0)
    for flag in (Flag.CLIPPED, Flag.INVALID):
        assert np.mean((got.flags & flag) != (want.flags & flag)) <= UNDECIDED
    assert np.isnan(got.variance_difference[26:35, 36:45]).all()


def test_an_affine_rig(level):
    turn = np.array([[0.999, 0.01, 0.3], [-0.01, 0.999, 0.7], [0, 0, 1]])
    frames = [x.astype(np.float32) for x in THROUGH_ZERO]
    with Stream(SHAPE, calibration=turn, workers=2) as stream:
        got = stream.process(*frames).copy()
        with pytest.MonkeyPatch.context() as other:
            other.setattr(compiled, "level", "v1")
            plain = stream.process(*frames)
    assert np.isfinite(got.variance_difference).any()
    assert np.nanmax(np.abs(got.variance_difference - plain.variance_difference)) < 1e-3


def test_the_answer_does_not_depend_on_the_rest_of_the_frame(level):
    """Every pixel looks at every node on its side: another cut into tiles changes nothing."""
    first, second = synth.pair(RNG.random((70, 700)), synth.ramp((70, 700), -2.5, 2.5, axis=1))
    whole = stream_of((first, second), noise=1e-3)
    part = stream_of((first[:, 300:].copy(), second[:, 300:].copy()), noise=1e-3)
    assert_array_equal(part.variance_difference[:, 60:], whole.variance_difference[:, 360:])


def test_sizes_are_checked_before_anything_is_read(level):
    from relblur.blur.window.realtime import WindowEngine

    engine = WindowEngine((20, 30), 1, "auto", 9, 2.0, 1)
    for wrong in (np.zeros((20, 29)), np.zeros((20, 30), np.int64)):
        with pytest.raises((ValueError, TypeError)):
            engine.run(wrong, wrong)
