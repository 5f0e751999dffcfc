"""The picture that stands in for a photograph where scikit-image is not installed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from relblur.apps.demo.made_photograph import SHAPE, made_photograph


@pytest.mark.parametrize(("name", "shape"), [("coffee", (*SHAPE, 3)), ("brick", SHAPE)])
def test_it_is_always_the_same_is_not_clipped_and_has_texture_everywhere(name, shape):
    picture = made_photograph(name)
    assert (picture.shape, picture.dtype) == (shape, np.uint8)
    assert 0 < picture.min() < picture.max() < 255
    np.testing.assert_array_equal(picture, made_photograph(name))
    blocks = picture.reshape(*shape, -1)[:, :, 0].astype(float).reshape(32, 16, 40, 16).std(axis=(1, 3))
    assert blocks.min() > 3  # of 255: blur can be measured in every corner
    assert (made_photograph("grass") != made_photograph("brick")).mean() > 0.5


@pytest.mark.slow
def test_without_scikit_image_the_demonstration_takes_it():
    code = (
        "import sys; sys.modules['skimage'] = None\n"
        "from relblur.apps.demo.program import demo_pair, photograph\n"
        "from relblur.apps.demo.speed import scene\n"
        "print(photograph().shape, demo_pair()[0].shape, scene((40, 50))[0].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(512, 640, 3) (384, 512, 3) (40, 50)"
