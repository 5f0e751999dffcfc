"""Re-making the blurrier image, and the scores that follow from it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import BlurMap, InputError, estimate_blur, evaluate_pair, prepare_pair, resynthesize, synth
from relblur.blur.evaluate import observed_blurrier


def _true_map(signed_sigma, kernel="band_limited", sharper=None):
    s = np.sign(signed_sigma) * signed_sigma**2
    sharper = np.sign(np.nan_to_num(s)) if sharper is None else sharper
    return BlurMap(s, np.full(s.shape, 0.01), np.zeros(s.shape), sharper, {"kernel": kernel})


@pytest.fixture(scope="module")
def both_ways(texture, read_only):
    truth = synth.ramp(texture.shape, -2.0, 2.0, axis=1)
    return *(read_only(image) for image in synth.pair(texture, truth)), truth


def test_the_true_map_remakes_the_blurrier_image_exactly(texture, both_ways):
    first, second, truth = both_ways
    made = resynthesize(first, second, _true_map(truth))
    wanted = np.where(truth > 0, second, first)
    assert_array_equal(observed_blurrier(first, second, _true_map(truth)), wanted)
    # Re-blurring uses the other image where it is sharp; near zero that image is slightly blurred itself.
    clear = np.s_[:, np.r_[:30, 82:112]]
    assert_allclose(made[clear], wanted[clear], atol=1e-6)


@pytest.mark.parametrize(("kernel", "sign"), [("sampled", 1), ("sampled", -1), ("band_limited", 1)])
def test_one_direction_is_remade_to_rounding_with_the_kernel_of_the_estimate(texture, kernel, sign):
    field = synth.ramp(texture.shape, 0.4, 2.0)
    blurred = synth.blur_with_map(texture, field, kernel=kernel)
    pair = (texture, blurred) if sign > 0 else (blurred, texture)
    assert_allclose(resynthesize(*pair, _true_map(sign * field, kernel)), blurred, atol=1e-12)


def test_no_answer_and_no_blur_leave_the_mean_of_both(texture):
    second = texture[::-1]
    field = np.ones(texture.shape)
    field[10:20], field[30:40] = np.nan, 0.0
    made = resynthesize(texture, second, _true_map(field))
    for rows in (slice(10, 20), slice(30, 40)):
        assert_allclose(made[rows], ((texture + second) / 2)[rows], atol=1e-15)
    assert_allclose(made[50:], synth.blur_with_map(texture, 1.0, kernel="band_limited")[50:], atol=1e-7)


def test_scores_are_what_they_are_defined_to_be(both_ways):
    first, second, truth = both_ways
    field = np.array(truth)
    field[:10] = np.nan
    sharper = np.sign(truth).astype(int)
    sharper[20:30] = 0
    blur_map = _true_map(field, sharper=sharper)
    # Spoil both images a little, so that no error is zero.
    rng = np.random.default_rng(0)
    first, second = (synth.degrade(image, noise=0.01, rng=rng) for image in (first, second))
    score = evaluate_pair(first, second, blur_map)

    made = resynthesize(first, second, blur_map)
    known = np.isfinite(field)
    first_sharper, second_sharper = sharper == 1, sharper == -1
    # Where nothing is known the sharper image stands as it is, and counts.
    assert_array_equal(made[:10], np.where(first_sharper, first, second)[:10])
    assert_allclose(score.e_second, np.abs(made - second)[first_sharper].mean())
    assert_allclose(score.e_first, np.abs(made - first)[second_sharper].mean())
    assert_allclose(score.answered_e_second, np.abs(made - second)[first_sharper & known].mean())
    assert_allclose(score.answered_e_first, np.abs(made - first)[second_sharper & known].mean())
    assert score.answered_e_first < 0.9 * score.e_first
    assert_allclose(score.unblurred_e_second, np.abs(first - second)[first_sharper].mean())
    assert_allclose(score.unblurred_e_first, np.abs(first - second)[second_sharper].mean())
    assert_allclose(score.first_sharper_fraction, (sharper == 1).mean())
    assert_allclose(score.second_sharper_fraction, (sharper == -1).mean())
    assert_allclose(score.equal_fraction, (sharper == 0).mean())
    assert_allclose(score.scored_fraction, (first_sharper | second_sharper).mean())
    assert_allclose(score.answered_fraction, (known & (first_sharper | second_sharper)).mean())
    assert np.isnan([score.explained, score.held_out_e_first, score.held_out_unblurred_e_second]).all()
    assert score.as_dict()["e_first"] == score.e_first


def test_errors_are_those_of_grey_values_and_of_channels_that_were_not_seen(colour):
    truth = synth.ramp(colour.shape[:2], -2.0, 2.0, axis=1)
    rng = np.random.default_rng(0)
    pair = [synth.degrade(image, noise=0.01, rng=rng) for image in synth.pair(colour, truth, channel_axis=-1)]
    found = estimate_blur(*pair, channel_axis=-1, method="paper")
    score = evaluate_pair(*pair, found, channel_axis=-1)
    first, second = (image.mean(axis=2) for image in pair)
    assert_allclose(score.e_first, np.abs(resynthesize(first, second, found) - first)[found.sharper == -1].mean())
    assert_allclose(score.e_second, np.abs(resynthesize(first, second, found) - second)[found.sharper == 1].mean())
    green = estimate_blur(pair[0][:, :, 1], pair[1][:, :, 1], method="paper")
    unseen = [image[:, :, [0, 2]] for image in pair]
    made = resynthesize(*unseen, green, channel_axis=-1)
    assert_allclose(score.held_out_e_first, np.abs(made - unseen[0])[green.sharper == -1].mean())
    assert_allclose(score.held_out_e_second, np.abs(made - unseen[1])[green.sharper == 1].mean())
    before = np.abs(unseen[0] - unseen[1])
    assert_allclose(score.held_out_unblurred_e_first, before[green.sharper == -1].mean())
    assert_allclose(score.held_out_unblurred_e_second, before[green.sharper == 1].mean())
    # A root fits the pixel it was taken from; noise that it has not seen it cannot fit.
    assert score.held_out_e_first > 1.5 * score.e_first


@pytest.mark.parametrize("method", ["paper", "window"])
def test_blurring_beats_the_baseline_and_explains_unseen_channels(colour, method):
    first, second = synth.pair(colour, synth.ramp(colour.shape[:2], -2.0, 2.0, axis=1), channel_axis=-1)
    valid = np.ones(colour.shape[:2], dtype=bool)
    valid[:20] = False
    score = evaluate_pair(first, second, channel_axis=-1, method=method, valid=valid)
    assert_allclose(score.first_sharper_fraction + score.second_sharper_fraction + score.equal_fraction, 1)
    assert score.scored_fraction < 1 - 20 / 72
    assert score.e_first < 0.4 * score.unblurred_e_first
    assert score.e_second < 0.4 * score.unblurred_e_second
    assert 0.5 < score.explained <= 1
    assert np.isnan(evaluate_pair(first, second, channel_axis=-1, method=method, held_out=False).explained)


def test_integers_are_scored_on_a_scale_of_one_and_a_set_without_pixels_has_no_error(texture):
    first, second = (synth.degrade(image, bits=8) for image in synth.pair(texture, 1.5))
    score = evaluate_pair(first, second, method="window", sharper="first")
    assert np.isnan([score.e_first, score.unblurred_e_first]).all()
    floats = evaluate_pair(first / 255.0, second / 255.0, method="window", sharper="first")
    assert_allclose(score.unblurred_e_second, floats.unblurred_e_second)


def test_wrong_maps_and_options_are_refused_by_name(texture):
    own, other = _true_map(np.ones(texture.shape)), _true_map(np.ones((5, 5)))
    for call in (resynthesize, evaluate_pair):
        with pytest.raises(InputError, match="blur_map is \\(5, 5\\), the images \\(96, 112\\)"):
            call(texture, texture, other)
    with pytest.raises(InputError, match="method has no effect with blur_map"):
        evaluate_pair(texture, texture, own, method="paper")
    with pytest.raises(InputError, match=r"pass both images and then the map: pair.first, pair.second, blur_map"):
        evaluate_pair(prepare_pair(texture, texture), own)
