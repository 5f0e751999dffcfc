"""Matrices W and F, literally, and the identity that makes them fast."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import Flag, InputError, estimate_blur
from relblur.blur.paper import framework
from relblur.paper import Framework, gaussian_bank

SMALL = [0.4, 1.0, 1.5]


@pytest.fixture(scope="module")
def paper_framework():
    return Framework()


def _patch(image, size, row, column):
    half = size // 2
    return image[row - half : row + half + 1, column - half : column + half + 1]


def test_the_papers_dimensions(paper_framework):
    assert paper_framework.window_size == 51
    assert paper_framework.W.shape == (50 * 100, 51 * 51)
    assert paper_framework.F.shape == (100,)
    assert_allclose(paper_framework.sigmas, np.arange(1, 51) / 10)


def test_f_is_the_riemann_sum_of_eq_16():
    f = Framework(sigmas=[1.0], n_radii=7, radius_limit=4.0, normalise=False)
    for n in range(1, 8):
        r = n * 4.0 / 7
        assert_allclose(f.radii[n - 1], r)
        assert_allclose(f.F[n - 1], 4.0 / 7 * r * np.exp(-r * r / 2))


def test_f_sums_to_the_integral_of_eq_15_within_the_tail():
    # Integral of r exp(-r^2/2) over 0..5 is 1 - exp(-12.5): the stray 1/2 of eq. 14 would halve the tail.
    assert_allclose(Framework(sigmas=[1.0], n_radii=20000, normalise=False).F.sum(), 1 - np.exp(-12.5), atol=2e-8)


@pytest.mark.slow
def test_the_sum_of_f_as_printed_is_not_one_and_normalised_it_is(texture):
    printed, right = Framework(normalise=False), Framework()
    assert_allclose(printed.F.sum(), 1 - 2.1e-4, atol=1e-5)
    assert_allclose(right.F, printed.F / printed.F.sum(), rtol=1e-14)
    patch = _patch(texture, 51, 40, 60)
    assert_allclose(printed.respond(patch), printed.F.sum() * right.respond(patch), rtol=1e-12)
    assert_allclose(right.respond(np.full((51, 51), 0.7)), 0.7, rtol=1e-12)


@pytest.mark.parametrize("weights", ["gaussian", "literal"])
def test_w_against_its_definition(weights):
    sigmas, n_radii = [0.5, 0.8], 3
    f = Framework(sigmas=sigmas, n_radii=n_radii, radius_limit=2.5, weights=weights)
    size = 2 * 2 + 1  # 2 sigma_M r_N + 1
    assert f.window_size == size
    assert f.W.shape == (2 * n_radii, size**2)
    for n in range(n_radii):
        for m, sigma in enumerate(sigmas):
            bell = np.array(
                [[np.exp(-((y - 2) ** 2 + (x - 2) ** 2) / (2 * sigma**2)) for x in range(size)] for y in range(size)]
            )
            bell /= bell.sum() if weights == "gaussian" else 2 * np.pi * size**2 * sigma**2
            assert_allclose(f.W[m + 2 * n], bell.T.ravel(), rtol=1e-12)


def test_rows_do_not_depend_on_n_and_sum_to_one():
    f = Framework(sigmas=SMALL, n_radii=6)
    folded = f.W.reshape(6, 3, -1)
    for n in range(6):
        assert_array_equal(folded[n], folded[0])
    assert np.abs(folded[0, 0] - folded[0, 1]).max() > 0.1
    assert_allclose(f.W.sum(axis=1), 1, rtol=1e-12)


def test_vec_stacks_columns_as_in_the_paper():
    # A patch that is not symmetric tells rows from columns through the circle weights' outermost tap.
    f = Framework(sigmas=[1.0], n_radii=1, radius_limit=2.0, weights="gaussian")
    f.__dict__["W"] = np.eye(25)[[1]]  # picks the second element of vec(patch)
    patch = np.arange(25.0).reshape(5, 5)
    assert_allclose(f.respond(patch), patch[1, 0] * f.F.sum())
    assert_allclose(f.respond_image(patch)[0, 2, 2], patch[1, 0] * f.F.sum())


def test_gaussian_framework_equals_the_bank_at_every_interior_pixel(texture):
    f = Framework(sigmas=SMALL, n_radii=10)
    response = f.respond_image(texture)
    half = f.window_size // 2
    inner = np.s_[:, half:-half, half:-half]
    # respond_image takes the square window for all sigmas, the bank cuts each kernel at 5 sigma: 4e-6 apart at most.
    assert_allclose(response[inner], gaussian_bank(texture, SMALL)[inner], rtol=0, atol=1e-6)


@pytest.mark.parametrize(("row", "column"), [(25, 25), (30, 80), (47, 55), (70, 86)])
def test_the_papers_full_dimensions_equal_the_bank(texture, paper_framework, row, column):
    response = paper_framework.respond(_patch(texture, 51, row, column))
    bank = gaussian_bank(texture, paper_framework.sigmas)[:, row, column]
    assert_allclose(response, bank, rtol=0, atol=1e-6)


def test_the_slip_of_eq_24_makes_intensities_2601_times_too_small(texture, paper_framework):
    patch = _patch(texture, 51, 40, 60)
    literal, right = Framework(weights="literal").respond(patch), paper_framework.respond(patch)
    from_one_px = paper_framework.sigmas >= 1
    assert_allclose((right / literal)[from_one_px], 51**2, rtol=1e-4)
    # Below half a pixel the sampled bell does not even have the integral 2 pi sigma^2.
    assert_allclose(right[0] / literal[0], 51**2 * 2 * np.pi * 0.1**2, rtol=1e-6)


@pytest.mark.parametrize(("sigma", "tolerance"), [(1.0, 5e-4), (1.5, 2e-4), (2.0, 2e-4), (3.0, 2e-4)])
def test_circle_weights_agree_with_the_bank_from_1_px(texture, sigma, tolerance):
    f = Framework(sigmas=[sigma], n_radii=100, weights="circle")
    half = f.window_size // 2
    points = [(r, c) for r in range(half, 96 - half, 6) for c in range(half, 112 - half, 6)]
    bank = gaussian_bank(texture, [sigma])[0]
    error = [f.respond(_patch(texture, f.window_size, r, c))[0] - bank[r, c] for r, c in points]
    assert np.abs(error).max() < tolerance


def test_circle_row_is_the_mean_over_a_circle():
    f = Framework(sigmas=[1.0, 4.0], n_radii=8, weights="circle")
    assert_allclose(f.W.sum(axis=1), 1, atol=1e-12)
    n = np.arange(f.window_size) - f.window_size // 2
    squared = (n[:, None] ** 2 + n**2).ravel()
    # The mean of x^2 + y^2 over a circle is its radius squared, that of (x^2 + y^2)^5 the tenth power.
    radius = np.array([sigma * r for r in f.radii for sigma in f.sigmas])
    inside = radius < f.window_size // 2 - 6
    assert inside.sum() >= 12
    assert_allclose((f.W @ squared)[inside], radius[inside] ** 2, rtol=1e-10)
    assert_allclose((f.W @ squared**5)[inside], radius[inside] ** 10, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("weights", ["gaussian", "circle"])
def test_respond_image_equals_respond(texture, weights):
    f = Framework(sigmas=[0.5, 1.0], n_radii=5, weights=weights)
    crop = texture[:24, :30]
    response = f.respond_image(crop)
    assert response.shape == (2, 24, 30)
    for row, column in [(5, 5), (12, 20), (18, 24)]:
        assert_allclose(response[:, row, column], f.respond(_patch(crop, f.window_size, row, column)), rtol=1e-12)


@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap"])
def test_borders_are_those_of_the_bank(texture, mode):
    f = Framework(sigmas=[0.5, 1.0], n_radii=5)
    crop = texture[:20, :24]
    assert_allclose(f.respond_image(crop, mode=mode), gaussian_bank(crop, [0.5, 1.0], mode=mode), atol=1e-6)


def test_respond_image_works_in_bounded_batches(texture, monkeypatch):
    f = Framework(sigmas=[0.5, 1.0], n_radii=5)
    crop = texture[:20, :24]
    whole = f.respond_image(crop)
    batches = []
    inner = Framework._respond_vectors

    def watch(self, vectors):
        batches.append(vectors.nbytes)
        return inner(self, vectors)

    monkeypatch.setattr(Framework, "_respond_vectors", watch)
    monkeypatch.setattr(framework, "BATCH_BYTES", 50_000)
    shares = []
    assert_allclose(f.respond_image(crop, progress=shares.append), whole, rtol=1e-13)
    assert len(batches) > 5
    assert max(batches) <= 50_000
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"sigmas": [2.0, 1.0]}, "sigmas must be a list of finite numbers"),
        ({"n_radii": 0}, "n_radii must be a whole number >= 1, got 0"),
        ({"n_radii": 2.5}, "n_radii must be a whole number >= 1, got 2.5"),
        ({"radius_limit": -1}, "radius_limit must be finite and > 0"),
        ({"weights": "square"}, "weights must be one of 'gaussian', 'literal', 'circle'; got 'square'"),
    ],
)
def test_framework_refuses_by_name(keywords, message):
    with pytest.raises(InputError, match=message):
        Framework(**keywords)


def test_patch_of_the_wrong_size_is_refused_with_the_right_one():
    with pytest.raises(InputError, match="patch must be 11x11 \\(window_size\\), got 9x11"):
        Framework(sigmas=[1.0]).respond(np.zeros((9, 11)))
    with pytest.raises(InputError, match="mode must be one of"):
        Framework(sigmas=[1.0]).respond_image(np.zeros((9, 11)), mode="constant")


GRID = [0.4, 0.8, 1.2, 1.6, 2.0, 2.4]


@pytest.fixture(scope="module")
def small_pair(texture):
    """A pair of 40 x 44 px of which each is the sharper in part."""
    from relblur import synth

    crop = texture[:40, :44]
    field = synth.ramp(crop.shape, -1.8, 1.8, axis=1)
    first, second = (synth.blur_with_map(crop, np.maximum(sign * field, 0)) for sign in (-1, 1))
    return first, second


@pytest.mark.parametrize("sharper", ["auto", "first", "second"])
def test_the_framework_estimates_what_the_bank_does(small_pair, sharper):
    by_matrices = Framework(sigmas=GRID, n_radii=6).estimate(*small_pair, sharper=sharper)
    by_filters = estimate_blur(*small_pair, method="paper", sigmas=GRID, sharper=sharper)
    assert_array_equal(by_matrices.sharper, by_filters.sharper)
    assert np.isfinite(by_filters.sigma).mean() > 0.7
    # The bank's kernels end at 5 sigma, the framework's with the window: 4e-6, enough to move a root over a step.
    same = (by_matrices.sigma == by_filters.sigma) | (np.isnan(by_matrices.sigma) & np.isnan(by_filters.sigma))
    assert same.mean() > 0.998
    assert (by_matrices.flags == by_filters.flags).mean() > 0.998
    assert by_matrices.settings["method"] == "framework"
    assert by_matrices.settings["weights"] == "gaussian"


def test_circle_weights_estimate_the_same_blur(small_pair):
    first, second = small_pair
    circles = Framework(sigmas=GRID, n_radii=60, weights="circle").estimate(first, second)
    filters = estimate_blur(first, second, method="paper", sigmas=GRID)
    filled = (circles.flags | filters.flags) & np.uint8(Flag.FILLED) != 0
    both = np.isfinite(circles.sigma) & ~filled & (np.abs(filters.sigma) >= 0.8)
    assert both.sum() > 400
    assert (circles.sigma == filters.sigma)[both].mean() > 0.9


@pytest.mark.slow
def test_as_printed_the_framework_is_off_by_its_gain(texture):
    from relblur import synth

    crop = texture[:48, :48]
    truth = synth.ramp(crop.shape, 1.0, 2.0)
    blurred = synth.blur_with_map(crop, truth)
    error = {}
    for normalise in (True, False):
        f = Framework(sigmas=np.arange(5, 31) / 10, n_radii=100, normalise=normalise)
        sigma = f.estimate(crop, blurred, sharper="first").sigma
        error[normalise] = np.nanmean(np.abs(sigma / truth - 1))
    assert error[True] < 0.018
    assert error[False] > 2 * error[True]


def test_framework_estimate_refuses_by_name(texture):
    f = Framework(sigmas=[1.0])
    with pytest.raises(InputError, match="sharper must be one of"):
        f.estimate(texture, texture, sharper="left")
    with pytest.raises(InputError, match="window must be an odd whole number"):
        f.estimate(texture, texture, window=4)
    with pytest.raises(InputError, match="first"):
        f.estimate(texture, texture[:20])
