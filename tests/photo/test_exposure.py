"""Exposure: gain and offset are found in spite of blur, equal ones are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import estimate_blur, match_exposure, synth
from relblur.photo import exposure
from relblur.photo.rough_blur import equalise

SHAPE = (200, 240)


@pytest.fixture(scope="module")
def scene():
    """Texture of all scales in light: mostly dark, some bright."""
    from scipy import ndimage

    rng = np.random.default_rng(7)
    texture = sum(w * ndimage.gaussian_filter(rng.normal(size=SHAPE), w) for w in (1.0, 2.0, 5.0, 20.0))
    return 0.05 + 0.5 / (1 + np.exp(-1.5 * texture / texture.std()))


def pair_of(scene, blur, gain=1.0, offset=0.0, noise=0.003, seed=0):
    first, second = synth.pair(scene, synth.ramp(scene.shape[:2], *blur), channel_axis=-1 if scene.ndim == 3 else None)
    rng = np.random.default_rng(seed)
    second = gain * second + offset
    return first + rng.normal(0, noise, first.shape), second + rng.normal(0, noise, first.shape)


@pytest.mark.slow
@pytest.mark.parametrize("blur", [(1, 2), (-2, 2), (3, 1)], ids=str)
@pytest.mark.parametrize(("gain", "offset"), [(1.1, 0.0), (0.9, 0.01), (1.02, -0.005)])
def test_gain_and_offset_are_found_in_spite_of_blur(scene, blur, gain, offset):
    first, second = pair_of(scene, blur, gain, offset)
    match = match_exposure(first, second)
    assert match.exposure.changes
    assert match.exposure.gain[0] == pytest.approx(1 / gain, rel=0.004)
    assert match.exposure.offset[0] == pytest.approx(-offset / gain, abs=0.001)
    assert_array_equal(match.first, first)
    assert_allclose(match.second, match.exposure.gain[0] * second + match.exposure.offset[0], rtol=1e-12)
    assert "second multiplied by" in match.describe()


def test_noise_in_flat_areas_does_not_count_for_no_blur():
    """Coins on a cloth: between them noise alone is left, which looks equally sharp in both."""
    from skimage import data

    first, second = pair_of(0.85 * (data.coins() / 255.0) ** 2.2, (2, 2), 1.08, 0.01)
    assert match_exposure(first, second).exposure.gain[0] == pytest.approx(1 / 1.08, rel=0.001)


@pytest.mark.slow
def test_ten_percent_of_gain_do_not_become_blur(scene):
    first, second = pair_of(scene, (1, 2), 1.1)
    truth = synth.ramp(SHAPE, 1, 2)
    error = {
        name: np.nanmean(np.abs(estimate_blur(first, other, noise=0.003).sigma / truth - 1))
        for name, other in (("raw", second), ("matched", match_exposure(first, second).second))
    }
    assert error["matched"] < 0.01
    assert error["raw"] > 5 * error["matched"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("blur", [(1, 2), (-2, 2)], ids=str)
def test_equal_exposures_are_left_alone(scene, blur, seed):
    first, second = pair_of(scene, blur, seed=seed)
    match = match_exposure(first, second)
    assert not match.exposure.changes
    assert_array_equal(match.second, second)
    assert "exposures equal" in match.describe()


def test_every_channel_has_its_own(scene):
    colour = scene[:, :, None] * np.array([1.0, 0.8, 0.5])
    gains, offsets = np.array([1.1, 0.95, 1.0]), np.array([0.0, 0.01, -0.01])
    first, second = pair_of(colour, (1, 2), gains, offsets)
    match = match_exposure(first, second, channel_axis=-1)
    assert_allclose(match.exposure.gain, 1 / gains, rtol=0.004)
    assert_allclose(match.exposure.offset, -offsets / gains, atol=0.001)
    leading = match_exposure(np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0), channel_axis=0)
    assert_allclose(np.moveaxis(leading.second, 0, -1), match.second)


def test_an_object_that_moved_does_not_disturb(scene):
    first, second = pair_of(scene, (1, 2), 1.08)
    second = second.copy()
    second[60:100, 80:130] = 0.5
    assert match_exposure(first, second).exposure.gain[0] == pytest.approx(1 / 1.08, rel=0.01)


def test_a_field_follows_vignetting(scene):
    y, x = np.mgrid[-1 : 1 : SHAPE[0] * 1j, -1 : 1 : SHAPE[1] * 1j]
    fall_off = 1 - 0.12 * (x**2 + y**2) / 2 + 0.02 * x
    first, second = pair_of(scene, (1, 2))
    second = second * fall_off
    plain, field, asked_for_by_the_pair = (match_exposure(first, second, field=f) for f in (False, True, None))
    assert_array_equal(asked_for_by_the_pair.second, field.second)
    want = pair_of(scene, (1, 2))[1]
    left = {name: np.abs(m.second / want - 1).mean() for name, m in (("plain", plain), ("field", field))}
    assert left["field"] < 0.006
    assert left["field"] < left["plain"] / 3
    assert "smooth gain field" in field.describe()


@pytest.mark.parametrize("noise", [0.0, 0.01])
@pytest.mark.parametrize("blur", [(1, 2), (-2, 3)], ids=str)
def test_no_field_is_taken_where_there_is_none(scene, blur, noise):
    first, second = pair_of(scene, blur, 1.08)
    rng = np.random.default_rng(0)
    first, second = (image + rng.normal(0, noise, SHAPE) for image in (first, second))
    assert match_exposure(first, second).exposure.field is None
    second[20:90, 20:110] *= 1.3  # a lamp went on over a part of it
    assert match_exposure(first, second).exposure.field is None
    small = match_exposure(first[:30, :40], second[:30, :40])
    assert small.exposure.field is None


@pytest.mark.slow
def test_standard_errors_cover_the_truth(scene):
    off = []
    for seed in range(8):
        first, second = pair_of(scene, (-2, 2), 1.05, noise=0.01, seed=seed)
        found = match_exposure(first, second).exposure
        off.append((found.gain[0] * 1.05 - 1) / found.gain_stderr[0])
    assert np.sqrt(np.mean(np.square(off))) < 3


def test_clipped_and_invalid_pixels_do_not_count(scene):
    first, second = (synth.degrade(image, bits=8) for image in pair_of(scene, (1, 2), 1.05))
    second = second.copy()
    second[:60] = 255
    assert match_exposure(first, second).exposure.gain[0] == pytest.approx(1 / 1.05, rel=0.01)
    valid = np.ones(SHAPE, bool)
    valid[:60] = False
    second[:60] = 254
    assert match_exposure(first, second, valid=valid).exposure.gain[0] == pytest.approx(1 / 1.05, rel=0.01)


@pytest.mark.parametrize("shape", [(2, 2), (3, 50), (20, 20)])
def test_small_and_flat_images_are_left_alone(shape):
    flat = np.full(shape, 0.4)
    match = match_exposure(flat, flat.copy())
    assert_array_equal(match.second, flat)


@pytest.mark.parametrize(("blur", "looks"), [((0, 0), 1), ((3, 5), 2)])
def test_the_blur_is_looked_at_again_only_if_the_exposure_has_changed_since(scene, monkeypatch, blur, looks):
    seen = []
    monkeypatch.setattr(exposure, "equalise", lambda *a, **k: seen.append(1) or equalise(*a, **k))
    match_exposure(*pair_of(scene, blur, 1.3, noise=0.0))
    assert len(seen) == looks


# The parts, each against its own definition


def test_positions_run_from_minus_one_to_one():
    x, y, xx, xy, yy = exposure._positions((3, 5))
    assert_allclose(x[1], [-1, -0.5, 0, 0.5, 1])
    assert_allclose(y[:, 2], [-1, 0, 1])
    assert_allclose([xx, xy, yy], [x * x, x * y, y * y])


def test_two_corrections_after_each_other_are_one():
    rng = np.random.default_rng(0)
    image = rng.random((6, 7, 2))
    one = np.array([[1.2, 0.1], [0.9, -0.05]])
    two = np.array([[0.8, 0.03], [1.1, 0.02]])
    both = exposure._corrected(exposure._corrected(image, one), two)
    assert_allclose(exposure._corrected(image, exposure._compose(one, two)), both)
    field = 1e-4 * rng.normal(size=(2, 2, 5))  # to first order
    more = [np.column_stack([c, f * c[:, :1]]) for c, f in zip((one * [1, 0], two * [1, 0]), field, strict=True)]
    first = np.column_stack([one * [1, 0], field[0]])
    found = exposure._corrected(image, exposure._compose(first, more[1]))
    bend = 1 + np.tensordot(field.sum(axis=0), exposure._positions((6, 7)), 1).transpose(1, 2, 0)
    assert_allclose(found, image * one[:, 0] * two[:, 0] * bend, rtol=1e-6)


def test_a_fit_is_weighted_by_how_well_each_datum_fits():
    """The solution solves its own weighted equations, with Cauchy's weights at two standard deviations."""
    rng = np.random.default_rng(0)
    x = rng.random(300)
    y = 1.3 * x + 0.1 + 0.01 * rng.normal(size=300)
    y[:40] += 5.0
    design = np.stack([x, np.ones_like(x)], axis=1)
    best, weight = exposure._robust(design, y)
    assert_allclose(best, [1.3, 0.1], atol=0.005)
    residual = y - design @ best
    scale = 1.4826 * np.median(np.abs(residual))
    assert_allclose(weight, 1 / (1 + (residual / (2 * scale)) ** 2), rtol=1e-2)
    wanted = np.linalg.lstsq(design * np.sqrt(weight)[:, None], y * np.sqrt(weight), rcond=None)[0]
    assert_allclose(exposure._solve(design, y, weight), wanted, rtol=1e-6)
    assert_allclose(exposure._solve(0 * design, y, weight), [1, 0])  # without contrast: gain 1


def test_standard_errors_leave_one_part_out_at_a_time():
    rng = np.random.default_rng(1)
    x = rng.random(800)
    y = 1.1 * x + 0.05 + 0.02 * rng.normal(size=800)
    design, weight, part = np.stack([x, np.ones_like(x)], axis=1), rng.random(800), rng.integers(0, 16, 800)
    part[part == 5] = 6  # a part without a pixel does not count
    values = []
    for index in set(part):
        here = part != index
        gain, offset = exposure._solve(design[here], y[here], weight[here])
        values.append([gain, offset, 0.2 * gain + offset, 0.7 * gain + offset])
    wanted = np.sqrt(14 / 15 * np.square(np.array(values) - np.mean(values, axis=0)).sum(axis=0))
    assert_allclose(exposure._jackknife(design, y, weight, part, np.array([0.2, 0.7])), wanted, rtol=1e-6)
    assert np.isinf(exposure._jackknife(design[:9], y[:9], weight[:9], np.arange(9) % 3, np.array([0.2, 0.7]))).all()
    few = np.arange(800) % 2
    assert np.isinf(exposure._jackknife(design, y, weight, few, np.array([0.2, 0.7]))).all()


@pytest.mark.parametrize(
    ("gain", "offset", "error", "answer"),
    [
        (1.0, 0.0, 0.0, False),
        (1.0, 0.0017, 0.0, True),
        (1.0, 0.0015, 0.0, False),  # 0.2 % of a contrast of 0.8 are 0.0016
        (1.0, 0.03, 0.009, True),
        (1.0, 0.03, 0.011, False),  # three standard errors
        (1.01, -0.001, 0.0, True),  # at the bright end alone
        (0.99, 0.009, 0.0, True),  # at the dark end alone
    ],
)
def test_a_correction_matters_beyond_its_error_at_either_end(gain, offset, error, answer):
    first = np.linspace(0.1 - 0.8 / 98, 0.9 + 0.8 / 98, 10_001)  # 1 % and 99 % at 0.1 and 0.9
    found, spread = np.array([gain, offset]), np.array([0, 0, error, error])
    assert exposure._matters(first, found, spread, False) == answer
    assert exposure._matters(first, found, spread, True)
    first[[0, -1]] = -30.0, 30.0  # single pixels say nothing about the contrast
    assert exposure._matters(first, found, spread, False) == answer


def test_a_correction_is_little_below_the_limit_at_which_rounds_end():
    for change, answer in (([0, 0, 0], True), ([4e-4, 0, 0], True), ([6e-4, 0, 0], False), ([0, 9e-4, 0], True),
                           ([0, 11e-4, 0], False), ([0, 0, -4e-4], True), ([0, 0, -6e-4], False)):  # fmt: skip
        assert exposure._moves_little(np.array([[1.0, 0, 0]]) + change, 2.0) == answer
    assert exposure._moves_little(np.array([[1.0, 1e-3]]), 2.0)  # at the limit, without a field


def test_averages_are_taken_over_usable_pixels(scene):
    usable = np.ones(SHAPE, bool)
    usable[:, 100:] = False
    spoilt = np.where(usable, scene, 1e3)[:, :, None]
    found = exposure._averaged(spoilt, usable, 6.0)
    assert found.shape == (*SHAPE, 1)
    assert found[:, :100].max() < 1
    from scipy import ndimage

    wanted = ndimage.gaussian_filter(scene, 6.0, mode="reflect")
    assert_allclose(found[:, :70, 0], wanted[:, :70], atol=2e-3)
    plain = np.where(usable, 0.3, 1e3)[:, :, None]  # up to the border of what counts
    assert_allclose(exposure._averaged(plain, usable, 6.0)[:, :105], 0.3, rtol=1e-5)


def test_a_coarser_grid_is_used_if_enough_is_left():
    usable = np.ones((60, 60), bool)
    assert exposure._every(usable, 4).sum() == 15 * 15
    assert exposure._every(usable, 4)[::4, ::4].all()
    assert exposure._every(usable[:56, :56], 4) is not None
    assert exposure._every(usable[:56, :56], 4).all()  # 196 would be too few


def test_the_fit_has_errors_of_parts_of_the_picture(scene):
    first = scene[:, :, None]
    second = (first - 0.02) / 1.25
    usable = exposure._every(np.ones(SHAPE, bool), 3)
    found, spread = exposure._fit(first, second, usable, 2)
    assert_allclose(found, [[1.25, 0.02]], rtol=1e-6)
    assert_allclose(spread, 0, atol=1e-6)
    rows, columns = np.nonzero(usable)
    noisy = second + 0.05 * np.random.default_rng(0).normal(size=second.shape)
    found, spread = exposure._fit(first, noisy, usable, 2)
    part = (rows // 50) * 4 + columns // 60
    x, y = noisy[:, :, 0][usable], first[:, :, 0][usable]
    design = np.stack([x, np.ones_like(x)], axis=1)
    best, weight = exposure._robust(design, y)
    assert_allclose(found[0], best)
    assert_allclose(spread[0], exposure._jackknife(design, y, weight, part, np.percentile(x, [1, 99])))
    bent = first / (1 + np.tensordot([0.1, 0, 0.05, 0, -0.02], exposure._positions(SHAPE), 1))[:, :, None]
    assert_allclose(exposure._fit(first, bent, usable, 7)[0], [[1, 0, 0.1, 0, 0.05, 0, -0.02]], atol=1e-6)


def test_an_exposure_in_words():
    zero = np.zeros(2)
    found = exposure.Exposure(np.array([1.25, 0.5]), np.array([0.01, -0.002]), zero, zero, None, True)
    assert found.describe() == "second multiplied by 1.2500/0.5000, offset +0.0100/-0.0020"
    vignetting = exposure.Exposure(np.ones(2), zero, zero, zero, np.zeros((2, 5)), True)
    assert vignetting.describe() == (
        "second multiplied by 1.0000/1.0000, offset +0.0000/+0.0000, with a smooth gain field"
    )
    for gain, error, said in ((0.97, 0.01, "3.00%"), (1.001, 0.02, "2.00%"), (1.04, 0.02, "4.00%")):
        equal = exposure.Exposure(np.array([1.0, gain]), zero, np.array([0.0, error]), zero, None, False)
        assert equal.describe() == f"exposures equal (gain 1 within {said})"
        assert exposure.ExposureMatch(zero, zero, equal).describe() == equal.describe()
