"""estimate_depth: synthetic scenes with known depth, any shape of blur, bad pixels, bad requests."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import Camera, Flag, InputError, estimate_depth, synth
from relblur.depth.defocus import defocused_pair
from relblur.depth.equal_blur.candidates import depth_axis, noise_power, residual_volume
from relblur.depth.equal_blur.task import TaskNoise
from relblur.depth.estimate import _inverse_range
from relblur.depth.psf import as_psf

CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
RANGE = (0.9, 2.2)


@pytest.fixture(scope="module")
def slope(texture):
    y, x = np.indices(texture.shape)
    return 1 / (0.55 + 0.3 * x / texture.shape[1] + 0.1 * y / texture.shape[0])


def error(found, depth):
    return np.abs(found.depth_m / depth - 1)


@pytest.fixture(scope="module")
def disc_pair(texture, slope):
    return defocused_pair(texture, slope, CAMERA)


def test_a_slope_seen_through_a_disc(disc_pair, slope):
    found = estimate_depth(*disc_pair, CAMERA, psf="disc", depth_range_m=RANGE)
    assert error(found, slope).mean() < 0.001
    assert found.settings["psf"] == "disc"


def test_a_step_keeps_its_edge(texture):
    depth = np.where(np.arange(texture.shape[1]) < 56, 1.1, 1.7) * np.ones(texture.shape)
    found = estimate_depth(*defocused_pair(texture, depth, CAMERA), CAMERA, psf="disc", depth_range_m=RANGE)
    away = np.abs(np.arange(texture.shape[1]) - 55.5) > 6
    assert error(found, depth)[:, away].mean() < 0.002
    assert np.median(error(found, depth)) < 1e-3


@pytest.mark.slow
def test_an_asymmetric_aperture_is_mirrored_in_front_of_focus(texture):
    # A half-closed aperture: its blur behind and in front of focus are mirror images.
    half = np.tri(15)
    camera = Camera(coc_constant_px_m=16, focus_first_m=1, focus_second_m=2)
    for z in (1.25, 1.6):
        pair = defocused_pair(texture, z, camera, psf=half)
        found = estimate_depth(*pair, camera, psf=half, depth_range_m=RANGE)
        assert_allclose(np.median(found.depth_m), z, rtol=2e-3)
    mirrored = estimate_depth(*pair, camera, psf=half[::-1, ::-1], depth_range_m=RANGE)
    assert error(mirrored, z).mean() > 5 * error(found, z).mean()


@pytest.mark.parametrize(("side", "z"), [("behind", 2.6), ("front", 1.2)])
def test_two_apertures(texture, side, z):
    camera = Camera(coc_constant_px_m=(24, 8), focus_first_m=1.7, focus_second_m=1.7)
    for psf in ("disc", "gaussian"):
        pair = defocused_pair(texture, z, camera, psf=psf)
        found = estimate_depth(*pair, camera, psf=psf, side=side, depth_range_m=(0.9, 4))
        assert_allclose(np.median(found.depth_m), z, rtol=0.01)


@pytest.mark.slow
def test_error_bars_cover_about_two_thirds_in_noise(texture, slope, disc_pair):
    # The error of a plane has three degrees of freedom: one draw says little.
    shares = []
    for seed in range(1, 7):
        rng = np.random.default_rng(seed)
        noisy = [synth.degrade(image, noise=0.005, bits=16, rng=rng) for image in disc_pair]
        found = estimate_depth(*noisy, CAMERA, psf="disc", depth_range_m=RANGE)
        shares.append(np.mean(np.abs(found.depth_m - slope) < found.depth_stderr_m))
    assert 0.45 < np.mean(shares) < 0.95


def test_intensity_scale_workers_and_colour_do_not_matter(disc_pair, read_only):
    first, second = (read_only(image) for image in disc_pair)
    plain = estimate_depth(first, second, CAMERA, psf="disc", depth_range_m=RANGE, workers=1)
    bright = estimate_depth(100 * first, 100 * second, CAMERA, psf="disc", depth_range_m=RANGE, workers=2)
    assert_allclose(bright.depth_m, plain.depth_m, rtol=1e-3)
    colour = [np.repeat(image[:, :, None], 3, axis=2) for image in (first, second)]
    assert_allclose(
        estimate_depth(*colour, CAMERA, psf="disc", depth_range_m=RANGE, channel_axis=-1).depth_m,
        plain.depth_m,
        rtol=5e-3,
    )


def test_bad_pixels_have_no_depth_and_do_not_spoil_their_surroundings(disc_pair, slope):
    first, second = (np.array(image) for image in disc_pair)
    first[30:34, 40:44] = np.nan
    found = estimate_depth(first, second, CAMERA, psf="disc", depth_range_m=RANGE)
    assert np.isnan(found.depth_m[30:34, 40:44]).all()
    assert (found.flags[30:34, 40:44] & Flag.INVALID != 0).all()
    assert_array_equal(np.isnan(found.depth_m).sum(), 16)
    known = found.known
    assert (error(found, slope)[known]).max() < 0.05


def test_at_the_true_depth_nothing_is_left_and_noise_is_as_tabulated(texture):
    psf = as_psf("disc", 0.25)
    axis = depth_axis(CAMERA, (0.45, 1.1), "behind")
    k = len(axis.levels) // 3
    z = float(1 / axis.u(axis.levels[k]))
    images = [image.astype(np.float32)[None] for image in defocused_pair(texture, z, CAMERA)]
    volume = residual_volume(*images, CAMERA, psf, axis, 1, lambda share: None)
    inside = volume[0, :, 16:-16, 16:-16].std(axis=(1, 2))
    assert inside.argmin() == k
    assert inside[k] < 0.01 * inside[k + 4]
    rng = np.random.default_rng(0)
    noise = [rng.normal(0, s, (1, 128, 128)).astype(np.float32) for s in (1.0, 2.0)]
    power = noise_power(CAMERA, psf, axis)
    passed = residual_volume(*noise, CAMERA, psf, axis, 1, lambda share: None).var(axis=(0, 2, 3))
    assert_allclose(passed, power.noise((1.0, 2.0), (0.0, 0.0), TaskNoise()).passed, rtol=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"psf": "airy"}, "psf"),
        ({"psf": np.zeros((3, 3))}, "psf"),
        ({"psf": -np.ones((3, 3))}, "psf"),
        ({"psf": np.ones(5)}, "two-dimensional"),
        ({"psf": lambda circle: np.full((3, 3), np.nan)}, "finite"),
        ({"depth_range_m": (2, 1)}, "nearest < farthest"),
        ({"depth_range_m": 3}, "depth_range_m"),
        ({"side": "left"}, "side"),
    ],
)
def test_bad_requests_are_refused(options, words):
    image = np.random.default_rng(0).random((16, 16))
    with pytest.raises(InputError, match=words):
        estimate_depth(image, image, CAMERA, **{"psf": "disc", **options})


def test_a_range_on_the_wrong_side_of_focus_is_refused():
    camera = Camera(coc_constant_px_m=(24, 8), focus_first_m=1.7, focus_second_m=1.7)
    image = np.zeros((16, 16))
    with pytest.raises(InputError, match="side"):
        estimate_depth(image, image, camera, psf="disc", depth_range_m=(0.8, 1.5), side="behind")
    with pytest.raises(InputError, match="Camera"):
        estimate_depth(image, image, {"focal_length_mm": 50})


@pytest.mark.parametrize(
    ("camera", "side", "depth_range_m", "expected"),
    [
        (CAMERA, "behind", (0.5, 4.0), (0.25, 2.0)),
        (CAMERA, "behind", (0.5, np.inf), (0.0, 2.0)),
        (Camera(coc_constant_px_m=(20, 7), focus_first_m=2, focus_second_m=2), "behind", (0.5, 4.0), (0.25, 0.5)),
        (Camera(coc_constant_px_m=(20, 7), focus_first_m=2, focus_second_m=2), "front", (0.5, 4.0), (0.5, 2.0)),
        (
            Camera(focal_length_mm=50, f_number=2, pixel_pitch_um=5, focus_first_m=1, focus_second_m=2),
            "behind",
            (0.01, 4.0),
            (0.25, 990 / 50),
        ),
    ],
)
def test_the_range_of_inverse_distances(camera, side, depth_range_m, expected):
    assert _inverse_range(depth_range_m, camera, side, 100) == pytest.approx(expected)


@pytest.mark.parametrize("psf", ["gaussian", "disc"])
def test_distances_outside_the_range_are_at_its_limit(texture, psf):
    depth = np.where(np.arange(texture.shape[1]) < 56, 1.15, 1.7) * np.ones(texture.shape)
    pair = defocused_pair(texture, depth, CAMERA, psf=psf)
    found = estimate_depth(*pair, CAMERA, psf=psf, depth_range_m=(1.3, 2.2))
    near = np.s_[10:-10, 10:40]
    assert_allclose(found.depth_m[near], 1.3, rtol=0.01)
    assert ((found.flags[near] & Flag.AT_LIMIT) != 0).mean() > 0.9
    away = np.s_[10:-10, 75:-10]
    assert ((found.flags[away] & Flag.AT_LIMIT) == 0).all()
    assert_allclose(np.median(found.depth_m[away]), 1.7, rtol=0.01)
    if psf == "disc":
        assert found.settings["depth_range_m"] == pytest.approx([1.3, 2.2])
