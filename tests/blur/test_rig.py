"""A stream of a rig: the fixed misalignment and gain are undone in every frame, and bad pixels move along."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import relblur
from relblur import Flag, InputError, Stream, synth
from relblur.blur.window.rig import read_calibration
from relblur.filters.resampling import resample

SHAPE = (72, 90)
SHIFT = np.array([[1, 0, 1.5], [0, 1, -2.25], [0, 0, 1.0]])
AFFINE = np.array([[1.002, -0.003, 0.4], [0.003, 1.002, -1.6], [0, 0, 1]])
MOTIONS = {"shift": SHIFT, "affine": AFFINE}


def scene():
    """Texture through a lens, and the same blurred by 1.2 px more."""
    image = np.random.default_rng(4).random(SHAPE)
    first = relblur.paper.gaussian_bank(image, [0.8])[0]
    return first, synth.pair(first, 1.2)[1]


FIRST, SECOND = scene()


def seen_by_the_other(image, transform):
    """As a camera sees it whose pixels are where the transform says."""
    planes = image[None] if image.ndim == 2 else np.moveaxis(image, 2, 0)
    moved = resample(np.ascontiguousarray(planes), np.linalg.inv(transform))
    return moved[0] if image.ndim == 2 else np.ascontiguousarray(np.moveaxis(moved, 0, 2))


class Exposure:
    """As much of an Exposure as matters: a gain that grows from left to right."""

    def apply(self, image):
        return image * np.linspace(0.8, 1.2, image.shape[1])[None, :, None] + 0.05


@pytest.mark.parametrize("kind", MOTIONS)
def test_blur_is_that_of_an_aligned_pair(kind):
    transform = MOTIONS[kind]
    moved = seen_by_the_other(SECOND, transform)
    with Stream(SHAPE) as plain, Stream(SHAPE, calibration=transform) as rig:
        wanted = plain.process(FIRST, SECOND).copy()
        wrong = plain.process(FIRST, moved).copy()
        found = rig.process(FIRST, moved)
        middle = np.s_[20:-20, 20:-20]
        error = np.nanmedian(np.abs(found.sigma - wanted.sigma)[middle])
        assert error < 0.02
        assert np.isfinite(found.sigma[middle]).mean() > 0.9
        assert np.isnan(wrong.sigma[middle]).mean() > 0.5 or np.nanmedian(np.abs(wrong.sigma - 1.2)[middle]) > 5 * error
        outside = ~rig._rig.inside
        assert outside.any()
        assert (found.flags[outside] & Flag.INVALID).all()
        assert np.isnan(found.sigma[outside]).all()


def test_what_align_and_match_exposure_give_is_taken():
    rng = np.random.default_rng(9)
    first = relblur.paper.gaussian_bank(rng.random((120, 160)), [1.5])[0]
    second = 0.7 * seen_by_the_other(synth.pair(first, 1.0)[1], SHIFT) + 0.02
    aligned = relblur.align(first, second)
    matched = relblur.match_exposure(aligned.first, aligned.second, valid=aligned.valid)
    with Stream(first.shape, calibration=(aligned, matched)) as stream:
        blur = stream.process(first, second).copy()
        assert_allclose(stream._rig.correction.gain.ravel(), matched.exposure.gain)
    middle = np.s_[30:-30, 30:-30]
    assert abs(np.nanmedian(blur.sigma[middle]) - 1.0) < 0.05
    with Stream(first.shape, calibration=aligned) as stream:
        assert_allclose(stream._rig.correction.transform, aligned.motion.transform)


@pytest.mark.parametrize("kind", MOTIONS)
def test_clipped_masked_and_missing_pixels_move_along(kind):
    transform = MOTIONS[kind]
    row, column = 40, 50  # in the first frame
    there = np.rint((transform @ (row, column, 1))[:2]).astype(int)
    stored = [synth.degrade(image, bits=8) for image in (FIRST, seen_by_the_other(SECOND, transform))]
    spot = np.s_[there[0] - 1 : there[0] + 2, there[1] - 1 : there[1] + 2]
    stored[1][spot] = 255
    real = [image / 255 for image in stored]
    real[1][spot] = np.nan
    masked = np.ma.masked_array(stored[1].copy(), np.zeros(SHAPE, bool))
    masked[spot] = np.ma.masked
    with Stream(SHAPE, calibration=transform) as stream:
        for second, flag in ((stored[1], Flag.CLIPPED), (real[1], Flag.INVALID), (masked, Flag.INVALID)):
            first = real[0] if second.dtype.kind == "f" else stored[0]
            found = stream.process(first, second)
            assert (found.flags[row - 1 : row + 2, column - 1 : column + 2] & flag).all()
            assert not (found.flags[5:20, 60:80] & flag).any()
            assert np.isfinite(found.sigma[20:30, 20:30]).all()
        clean = stream.process(stored[0], synth.degrade(seen_by_the_other(SECOND, transform), bits=8))
        assert np.isfinite(clean.sigma[row, column])


@pytest.mark.parametrize(
    ("calibration", "message"),
    [
        ("rig.json", "calibration contains a str; pass a result of relblur.align or relblur.match_exposure"),
        (np.eye(2), "calibration contains a ndarray"),
        (np.diag([1.0, 1, 2]), "a transform that is not affine"),
        (np.diag([1.0, -1, 1]), "a transform that is not affine"),
        (np.full((3, 3), np.nan), "a transform that is not affine"),
        (np.array([[1, 0, 500.0], [0, 1, 0], [0, 0, 1]]), "moves the second frame outside the first"),
    ],
)
def test_other_calibrations_are_refused(calibration, message):
    with pytest.raises(InputError, match=message):
        Stream(SHAPE, calibration=calibration)


def test_a_calibration_of_another_size_or_of_other_colours_is_refused():
    aligned = relblur.align(FIRST, FIRST)
    with pytest.raises(InputError, match="made with frames of 72x90, and this stream takes 80x90"):
        Stream((80, 90), calibration=aligned)
    colour = np.stack([FIRST] * 3, axis=2)
    matched = relblur.match_exposure(colour, colour * 0.5, channel_axis=-1)
    with pytest.raises(InputError, match="calibration has an exposure"):
        read_calibration(matched, (*SHAPE, 2))


def test_masks_and_scales_without_a_rig():
    masked = np.ma.masked_array(FIRST, np.zeros(SHAPE, bool))
    masked[10:14, 10:14] = np.ma.masked
    with Stream(SHAPE) as stream:
        assert (stream.process(masked, SECOND).flags[10:14, 10:14] & Flag.INVALID).all()
        with pytest.raises(InputError, match="no pixel of this pair is usable"):
            stream.process(np.ma.masked_all(SHAPE), SECOND)
        stored = synth.degrade(FIRST, bits=8)
        with pytest.raises(InputError, match=r"first is uint8, .* pass second / 255"):
            stream.process(stored, SECOND * 255)
        assert np.isfinite(stream.process(stored * 1.0, SECOND * 255).sigma).mean() > 0.9
        assert np.isfinite(stream.process(stored, SECOND).sigma).mean() > 0.9


@pytest.mark.parametrize(("stream_shape", "frame_shape"), [((20, 30, 3), (20, 30, 4)), ((20, 30), (30, 20))])
def test_frames_of_another_shape_are_refused(stream_shape, frame_shape):
    frame = np.full(frame_shape, 255, np.uint8)
    with Stream(stream_shape) as stream, pytest.raises(InputError, match=r"first has shape .* this stream takes"):
        stream.process(frame, frame)
