"""Stacks of one texture, blurred in proportion to the distance from focus."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import Camera, estimate_stack, synth
from relblur.base.options import Preparing, Stack
from relblur.stacks.frames import read_frames
from relblur.stacks.images import stack_images

SIZE, GROWTH = 72, 0.7  # px; px a frame
PLAIN = {"align": "off", "exposure": "off"}
INSIDE = np.s_[10:-10, 10:-10]


def ramp(first, last):
    return np.tile(np.linspace(first, last, SIZE), (SIZE, 1))


def stack_of(sharp, index, count, growth=GROWTH):
    """Return frames in focus at 0, 1, ...; blurred by ``growth`` px a frame."""
    return [synth.blur_with_map(sharp, growth * np.abs(index - i)) for i in range(count)]


def prepared(images, focus_m=None, **preparing):
    """Return the frames of a stack."""
    return read_frames(stack_images(images, Preparing(**preparing), Stack(focus_m=focus_m)), lambda share: None)


@pytest.fixture(scope="package")
def sharp():
    return 0.2 + 0.6 * synth.blur_with_map(np.random.default_rng(7).random((SIZE, SIZE)), 0.5)


@pytest.fixture(scope="package")
def many(sharp):
    """A stack of ten frames and its map."""
    index = ramp(2.0, 7.0)
    frames = stack_of(sharp, index, 10)
    return index, frames, estimate_stack(frames, **PLAIN)


@pytest.fixture(scope="package")
def few(sharp):
    """Three frames of a known camera, from 1 m on the left to 2 m on the right, and the options that go with them."""
    camera = Camera(coc_constant_px_m=16, focus_first_m=1.0, focus_second_m=2.0)
    focus, u = [1.0, 4 / 3, 2.0], ramp(1.0, 0.5)
    frames = [synth.blur_with_map(sharp, camera.blur_constants_px_m[0] * np.abs(u - 1 / f)) for f in focus]
    return u, frames, {"focus_m": focus, "camera": camera, "psf": "gaussian", "fuse": False, **PLAIN}
