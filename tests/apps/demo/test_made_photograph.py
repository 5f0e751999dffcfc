"""The picture that stands in for a photograph where scikit-image is not installed."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from relblur.apps.demo.made_photograph import made_photograph


@pytest.mark.parametrize(("name", "shape"), [("coffee", (400, 600, 3)), ("brick", (512, 512))])
def test_it_is_always_the_same_has_the_photographs_shape_and_is_not_clipped(name, shape):
    picture = made_photograph(name)
    assert picture.shape == shape
    assert picture.dtype == np.uint8
    assert 0 < picture.min() < picture.max() < 255
    np.testing.assert_array_equal(picture, made_photograph(name))


def test_two_names_are_two_pictures():
    assert (made_photograph("brick") != made_photograph("grass")).mean() > 0.5


def test_it_has_texture_everywhere():
    grey = made_photograph("brick").astype(float)
    blocks = grey.reshape(32, 16, 32, 16).std(axis=(1, 3))
    assert blocks.min() > 3  # of 255: blur can be measured in every corner


@pytest.mark.slow
def test_without_scikit_image_the_demonstration_takes_it():
    code = (
        "import sys; sys.modules['skimage'] = None\n"
        "from relblur.apps.demo.program import demo_pair, photograph\n"
        "from relblur.apps.demo.speed import scene\n"
        "print(photograph().shape, demo_pair()[0].shape, scene((40, 50))[0].shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(400, 600, 3) (384, 512, 3) (40, 50)"
