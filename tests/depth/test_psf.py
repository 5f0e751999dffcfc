"""Shapes of blur: each transfer function against the transform of what it stands for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import j1  # noqa: TID253

from relblur import Camera, InputError
from relblur.depth.defocus import defocused_pair
from relblur.depth.psf import as_psf

ROWS, COLUMNS = np.fft.fftfreq(32), np.fft.rfftfreq(40)
FREQUENCY = np.hypot(ROWS[:, None], COLUMNS)
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


def test_a_picture_of_yes_and_no_is_one_of_ones_and_zeros():
    picture = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 1]])
    rows, columns = np.fft.fftfreq(12), np.fft.rfftfreq(14)
    wanted, got = (as_psf(kind, 0.3).transfer_on(rows, columns)(3.3) for kind in (picture.astype(float), picture > 0))
    assert_allclose(got, wanted)


def test_a_kernel_is_centred_and_normalised():
    kernel = np.arange(15.0).reshape(3, 5)
    canvas = np.zeros((32, 40))
    canvas[:3, :5] = kernel / kernel.sum()
    wanted = np.fft.rfft2(np.roll(canvas, (-1, -2), (0, 1)))
    assert_allclose(as_psf(lambda circle: kernel, 0.3).transfer_on(ROWS, COLUMNS)(2.0), wanted, atol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        np.ones(3),
        np.ones((2, 3)),
        np.ones((3, 2)),
        np.zeros((3, 3)),
        np.full((3, 3), np.nan),
        np.array([[np.nan, 5.0, 1.0]]),
        -np.ones((3, 3)),
    ],
)
def test_kernels_that_cannot_be_are_refused(kernel):
    with pytest.raises(InputError, match=r"psf\(1\) must return"):
        as_psf(lambda circle: kernel, 0.3)
    as_psf(lambda circle: np.ones((1, 3)), 0.3)
    as_psf(lambda circle: np.full((3, 3), 1e-3), 0.3)  # the sum may be anything above 0


@pytest.mark.parametrize(
    "picture",
    [np.ones(3), np.zeros((0, 3)), np.zeros((2, 2), bool), np.zeros((2, 2)), np.array([[1.0, -0.1]]), [[np.nan, 1.0]]],
)
def test_pictures_that_cannot_be_are_refused(picture):
    with pytest.raises(InputError, match="psf must be"):
        as_psf(picture, 0.3)
    as_psf(np.array([[1.0]]), 0.3)


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
