"""``Stream`` and ``engine="compiled"`` give the answer of ``method="window"``.

Tolerance: where a window says something (not FLAT), s agrees to 1e-3 of sqrt(s^2 + c^2), the
scale on which s is measured, plus 2 % of its own standard error. Two kinds of pixel may
disagree, and are counted: where two nodes, or the two sides, fit equally well to six digits,
float32 may choose the other one; and where the number of nodes that fit "as well" is
counted, the standard error jumps by half a node when one enters.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relblur import Flag, InputError, Stream, estimate_blur, synth
from relblur.base.pixels import as_integers
from relblur.blur.window.method import LINEAR_BELOW

RNG = np.random.default_rng(7)
SMALL = RNG.random((37, 53))


def cloud(shape, seed=0):
    """Noise with more large than small structure, like a photograph."""
    rng = np.random.default_rng(seed)
    f = np.hypot(*np.meshgrid(np.fft.fftfreq(shape[0]), np.fft.rfftfreq(shape[1]), indexing="ij"))
    f[0, 0] = 1
    image = np.fft.irfft2(np.fft.rfft2(rng.normal(size=shape)) / f, s=shape)
    return 0.1 + 0.8 * (image - image.min()) / np.ptp(image)


def colourful(image):
    """Three channels that are not multiples of each other."""
    return np.stack([image, 0.3 + 0.5 * image[::-1], 0.9 - 0.8 * image[:, ::-1]], axis=2)


def compare(first, second, *, sharper="auto", window=9, max_sigma=None, noise=None, valid=None, outliers=1e-3):
    """Check a stream against the readable engine; returns the stream's map."""
    shape = np.shape(first)
    limit = min(5.0, min(shape[:2]) / 2) if max_sigma is None else max_sigma
    with Stream(shape, sharper=sharper, window=window, max_sigma=limit, noise=noise, valid=valid) as stream:
        got = stream.process(first, second).copy()
    want = estimate_blur(
        first,
        second,
        method="window",
        engine="opencv",
        sharper=sharper,
        window=window,
        max_sigma=limit,
        noise=got.settings["noise"] if noise is None else noise,
        valid=valid,
        channel_axis=-1 if len(shape) == 3 else None,
    )
    assert_agree(got, want, outliers)
    return got


def assert_agree(got, want, outliers):
    # Where bad pixels reach there is no answer, and whether there would have been one is nobody's business.
    bad = Flag.INVALID | Flag.CLIPPED
    flags = [np.where(m.flags & bad, m.flags & bad, m.flags) for m in (got, want)]
    assert np.mean(flags[0] != flags[1]) <= outliers
    assert np.mean((got.sharper != want.sharper)[(want.flags & bad) == 0]) <= 10 * outliers
    assert_array_equal(np.isnan(got.variance_difference), (got.flags & 7) != 0)
    firm = np.isfinite(want.variance_difference) & np.isfinite(got.variance_difference)
    if firm.any():
        s, error = want.variance_difference[firm], want.variance_stderr[firm]
        off = np.abs(got.variance_difference[firm] - s) > 1e-3 * np.hypot(s, LINEAR_BELOW) + 0.02 * error
        assert np.mean(off) <= outliers
        assert np.mean(np.abs(got.variance_stderr[firm] / error - 1) > 0.02) <= 10 * outliers


@pytest.mark.parametrize("sharper", ["first", "auto"])
@pytest.mark.parametrize("limits", [(1, 2), (2, 4.5), (0.5, 1)])
def test_ramps(sharper, limits):
    image = cloud((150, 260))
    field = synth.ramp(image.shape, *limits)
    got = compare(image, synth.blur_with_map(image, field, kernel="band_limited"), sharper=sharper)
    assert np.nanmean(np.abs(got.sigma / field - 1)) < 0.01


def test_pixels_without_a_value():
    sharp = cloud((60, 90)).astype(np.float32)
    blurry = synth.blur_with_map(sharp, 1.5).astype(np.float32)
    blurry[20, 30], blurry[40, 70] = np.nan, np.inf
    got = compare(sharp, blurry)
    assert got.flags[20, 30] & Flag.INVALID
    assert got.flags[40, 70] & Flag.INVALID
    valid = np.ones(sharp.shape, dtype=bool)
    valid[:, :20] = False
    got = compare(sharp, blurry, valid=valid)
    assert ((got.flags[:, :24] & Flag.INVALID) != 0).all()


@pytest.mark.parametrize("sharper", ["first", "auto"])
def test_workers_do_not_matter(sharper):
    image = cloud((300, 500))
    first, second = synth.pair(image, synth.ramp(image.shape, -2, 2))
    results = []
    for workers in (1, 2, 5):
        with Stream(image.shape, sharper=sharper, workers=workers) as stream:
            results.append(stream.process(first, second).copy())
    for other in results[1:]:
        for name in ("variance_difference", "variance_stderr", "flags", "sharper"):
            assert_array_equal(getattr(results[0], name), getattr(other, name))


def test_results_are_views_of_the_stream_until_copied():
    with Stream(SMALL.shape, workers=1) as stream:
        one = stream.process(SMALL, synth.blur_with_map(SMALL, 1.0))
        kept = one.copy()
        size = stream.nbytes
        two = stream.process(SMALL, synth.blur_with_map(SMALL, 2.0))
        assert np.shares_memory(one.variance_difference, two.variance_difference)
        assert stream.nbytes == size
    assert not np.shares_memory(one.variance_difference, kept.variance_difference)
    assert np.median(kept.sigma) < 1.1 < 1.9 < np.median(one.sigma)
    with pytest.raises(ValueError, match="read-only"):
        two.variance_difference[0, 0] = 1


def test_threads_share_a_stream():
    image = cloud((64, 64))
    blurry = synth.blur_with_map(image, 1.5)
    wrong = []
    with Stream(image.shape, workers=2) as stream:
        want = stream.process(image, blurry).copy()

        def work():
            for _ in range(10):
                if not np.array_equal(stream.process(image, blurry).flags, want.flags):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert_array_equal(stream.process(image, blurry).variance_difference, want.variance_difference)
    assert not wrong


@pytest.mark.parametrize(
    ("kwargs", "frames", "message"),
    [
        ({"window": 8}, None, "window must be an odd whole number"),
        ({"window": 1}, None, "window must be 3 or more"),
        ({"window": 39}, None, "larger than the image"),
        ({"sharper": "third"}, None, "sharper must be one of"),
        ({"noise": -1}, None, "noise must be finite and > 0"),
        ({"max_sigma": 0}, None, "max_sigma must be finite and > 0"),
        ({"max_sigma": 30}, None, "half the frame's shorter side"),
        ({"valid": np.ones((3, 3), dtype=bool)}, None, "valid must be booleans of shape"),
        ({"valid": np.zeros((37, 53), dtype=bool)}, None, "valid leaves no pixel"),
        ({"workers": 0}, None, "workers must be"),
        ({}, (np.zeros((5, 5)), np.zeros((37, 53))), r"first has shape \(5, 5\)"),
        ({}, (np.zeros((37, 53)), np.zeros((37, 53), dtype=np.int32)), "second is int32"),
        ({}, (np.full((37, 53), np.nan), np.zeros((37, 53))), "first holds no finite pixel"),
    ],
)
def test_bad_arguments(kwargs, frames, message):
    with pytest.raises(InputError, match=message):
        Stream((37, 53), **kwargs).process(*frames or (SMALL, SMALL))


@pytest.mark.parametrize("shape", [5, (5,), (1, 9), (4, 4, 0), (2, 3, 4, 5), "ab"])
def test_bad_shapes(shape):
    with pytest.raises(InputError, match="shape must be"):
        Stream(shape)


def test_a_closed_stream_says_so():
    stream = Stream(SMALL.shape)
    stream.close()
    with pytest.raises(InputError, match="closed"):
        stream.process(SMALL, SMALL)


@pytest.mark.parametrize("colour", [False, True])
def test_estimate_blur_on_the_compiled_engine(colour):
    first, second = synth.pair(cloud((60, 90)), synth.ramp((60, 90), -2, 2, axis=1))
    axis = None
    if colour:
        first, second, axis = colourful(first), colourful(second), -1
    valid = np.ones((60, 90), dtype=bool)
    valid[10, 10] = False
    options = {"method": "window", "valid": valid, "channel_axis": axis, "prefilter": 0.7, "noise": 1e-4}
    got = estimate_blur(first, second, engine="compiled", **options)
    assert got.settings["engine"] == "compiled"
    assert_agree(got, estimate_blur(first, second, engine="opencv", **options), 2e-3)


def test_a_window_too_small_for_compiled_code_is_done_by_opencv_and_says_so():
    assert estimate_blur(SMALL, SMALL, method="window", window=1, engine="compiled").settings["engine"] == "opencv"


def test_a_gamma_makes_light_of_stored_frames(texture):
    blurry = synth.blur_with_map(texture, 1.5)
    stored = [as_integers(np.clip(light, 0, 1) ** (1 / 2.2), np.uint8) for light in (texture, blurry)]
    found = {}
    for gamma in (None, 1, 2.2):
        with Stream(texture.shape, sharper="first", gamma=gamma) as stream:
            found[gamma] = stream.process(*stored).copy()
    assert abs(np.nanmedian(found[2.2].sigma) - 1.5) < 0.03
    assert abs(np.nanmedian(found[None].sigma) - 1.5) > abs(np.nanmedian(found[2.2].sigma) - 1.5)
    assert np.array_equal(found[None].sigma, found[1].sigma, equal_nan=True)
    assert found[2.2].settings["gamma"] == 2.2
    floats = [frame.astype(np.float32) / 255 for frame in stored]
    with Stream(texture.shape, sharper="first", gamma=2.2, noise=found[2.2].settings["noise"]) as stream:
        difference = stream.process(*floats).sigma - found[2.2].sigma
    assert np.nanmedian(np.abs(difference)) < 1e-3
    with pytest.raises(InputError, match="gamma must be finite and > 0, got 0"):
        Stream(texture.shape, gamma=0)
