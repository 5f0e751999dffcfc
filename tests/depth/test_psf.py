"""Shapes of blur: each transfer function against the transform of what it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import j1  # noqa: TID253

from relblur import Camera, InputError
from relblur.depth.defocus import defocused_pair
from relblur.depth.psf import as_psf, usual_psf

ROWS, COLUMNS = np.fft.fftfreq(32), np.fft.rfftfreq(40)
FREQUENCY = np.hypot(ROWS[:, None], COLUMNS)
LENS = Camera(focal_length_mm=50, f_number=2.8, pixel_pitch_um=60, focus_first_m=1, focus_second_m=2)
#: An aperture that is its own mirror image in no direction, 2 x 3.
ODD = np.array([[1.0, 2.0, 0.0], [0.0, 3.0, 5.0]])


def test_a_gaussian_has_the_transform_of_its_variance():
    found = as_psf("gaussian", 0.3).transfer_on(ROWS, COLUMNS)(4.0)
    assert_allclose(found, np.exp(-2 * np.pi**2 * 1.2**2 * FREQUENCY**2), rtol=1e-9)


@pytest.mark.parametrize("circle", [0.4, 3.0, -7.0])
def test_a_disc_has_the_transform_of_a_bessel_function(circle):
    x = np.pi * abs(circle) * FREQUENCY
    wanted = np.divide(2 * j1(x), x, out=np.ones_like(x), where=x > 0)
    assert_allclose(as_psf("disc", 0.3).transfer_on(ROWS, COLUMNS)(circle), wanted, atol=1e-6)


@pytest.mark.parametrize("psf", ["disc", "gaussian", ODD])
def test_a_point_in_focus_stays_a_point(psf):
    assert_allclose(as_psf(psf, 0.3).transfer_on(ROWS, COLUMNS)(0.0), 1, atol=1e-9)


@pytest.mark.parametrize("circle", [6.0, -6.0])
@pytest.mark.parametrize("picture", [ODD, ODD.T], ids=["wide", "high"])
def test_a_picture_of_the_aperture_spans_the_circle(picture, circle):
    """Its transform is the sum over cells of 6 / 3 = 2 px; behind focus as drawn, in front turned by 180 degrees."""
    height, width = picture.shape
    fine = 40
    cells = np.kron(picture if circle > 0 else picture[::-1, ::-1], np.ones((fine, fine)))
    y, x = ((np.arange(n * fine) + 0.5) * 2 / fine - n for n in (height, width))
    wanted = np.exp(-2j * np.pi * np.outer(ROWS, y)) @ cells @ np.exp(-2j * np.pi * np.outer(x, COLUMNS))
    found = as_psf(picture, 0.3).transfer_on(ROWS, COLUMNS)(circle)
    assert_allclose(found, wanted / cells.sum(), atol=1e-3)


@pytest.mark.parametrize(
    "picture",
    [
        np.ones(3),
        np.zeros((0, 3)),
        np.zeros((2, 2), bool),
        np.zeros((2, 2)),
        np.array([[1.0, -0.1]]),
        [[np.nan, 1.0]],
        [[1], [2, 3]],
        len,
    ],
)
def test_pictures_that_cannot_be_are_refused(picture):
    with pytest.raises(InputError, match="psf must be"):
        as_psf(picture, 0.3)


def test_a_pair_is_blurred_by_the_circle_of_each_pixel():
    """Two halves at two distances: away from the seam each is blurred as if alone, in colour as in grey."""
    camera = Camera(coc_constant_px_m=12, focus_first_m=1, focus_second_m=2, blur_constant=0.3)
    image = np.random.default_rng(0).random((40, 64))
    depth = np.where(np.arange(64) < 32, 1.25, 1.6) * np.ones(image.shape)
    both = defocused_pair(image, depth, camera, psf="gaussian")
    colour = defocused_pair(np.dstack([image, 1 - image]), depth, camera, psf="gaussian", channel_axis=-1)
    for number, found in enumerate(both):
        for z, part in ((1.25, np.s_[:, :26]), (1.6, np.s_[:, 38:])):
            assert_allclose(found[part], defocused_pair(image, z, camera, psf="gaussian")[number][part], atol=3e-3)
        sigma = 0.3 * 12 * abs(1 / 1.25 - 1 / (1, 2)[number])
        spectrum = np.fft.fft2(np.pad(image, 30, mode="symmetric"))
        f = np.hypot(*np.meshgrid(*(np.fft.fftfreq(n) for n in spectrum.shape), indexing="ij"))
        wanted = np.fft.ifft2(spectrum * np.exp(-2 * (np.pi * sigma * f) ** 2)).real[30:-30, 30:-30]
        assert_allclose(found[:, :26], wanted[:, :26], atol=1e-3)
        assert_allclose(colour[number][:, :, 0], found, atol=1e-12)
        assert_allclose(colour[number][:, :, 1], 1 - found, atol=1e-12)
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InputError, match="finite and > 0"):
            defocused_pair(image, bad, camera)


def test_the_usual_shape_is_the_disc_unless_the_camera_was_fitted_for_the_gaussian():
    assert usual_psf(LENS) == "disc"
    assert usual_psf(LENS.with_circles(1.1)) == "disc"
    assert usual_psf(Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, blur_constant=0.269)) == "gaussian"
    offset = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, variance_offset_px2=0.2)
    assert usual_psf(offset) == "gaussian"
