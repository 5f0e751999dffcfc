"""What the file format alone says about noise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur.blur.noise import rounding_noise


@pytest.mark.parametrize("bits", [8, 16])
def test_stored_integers_have_the_noise_of_their_rounding(texture, bits):
    full_scale = 2**bits - 1
    stored = np.rint(texture * full_scale) / full_scale
    assert_allclose(rounding_noise(stored), (stored - texture).std(), rtol=0.03)


def test_floats_have_next_to_none_and_it_scales_with_them(texture):
    noise = rounding_noise(np.array(texture))
    assert 0 < noise < 1e-5
    assert_allclose(rounding_noise(700 * texture), 700 * noise)


@pytest.mark.parametrize("value", [0.0, 0.5, 0.123456, 1.0])
def test_a_constant_still_has_some(value):
    assert rounding_noise(np.full((5, 5), value)) > 0
