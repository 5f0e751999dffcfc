"""The curve of one pixel, its words, the choices of the page and the ready example."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relblur
import relblur.files.images
from relblur import BlurMap, ComparablePair, Flag, InputError, estimate_blur, gaussian_bank, synth
from relblur.studies.demo import demo_pair
from relblur.view.choices import Choices, DepthChoices, command_line, depth_command_line
from relblur.view.pixel import WHY, describe_pixel, find_roots, pixel_curve
from relblur.view.source import EXAMPLE_CAMERA, example

SHAPE = (40, 52)


@pytest.fixture(scope="module")
def sharp():
    return np.random.default_rng(1).random(SHAPE)


@pytest.fixture(scope="module")
def pair(sharp):
    return ComparablePair(sharp, synth.blur_with_map(sharp, 1.5))


@pytest.fixture(scope="module")
def blur_map(pair):
    return estimate_blur(pair, method="window")


def flat_map(s, shape=SHAPE, **settings):
    array = np.full(shape, float(s))
    return BlurMap(array, 0.1 * np.ones(shape), np.zeros(shape, np.uint8), np.sign(array), settings)


@pytest.mark.parametrize(("row", "column"), [(20, 26), (0, 0), (39, 51), (0, 30)])
def test_the_curve_is_the_filter_bank_at_the_pixel(pair, row, column):
    curve = pixel_curve(pair, flat_map(2.25, kernel="sampled", max_sigma=4.0), row, column)
    sigmas = np.array(curve["sigma"])
    assert sigmas[0] == 0
    assert sigmas[-1] == pytest.approx(4.0)
    bank = gaussian_bank(pair.first, sigmas[1:], mode="nearest")
    assert_allclose(curve["value"][1:], bank[:, row, column], atol=1e-12)
    assert curve["value"][0] == pair.first[row, column]
    assert curve["observed"] == pytest.approx(pair.second[row, column])


def test_a_root_is_the_blur_that_was_made(pair, blur_map):
    for row, column in ((12, 13), (20, 26), (30, 40)):
        found = describe_pixel(pair, blur_map, row, column)
        assert found["curve"]["sharper"] == "first"
        assert min(abs(root - 1.5) for root in found["curve"]["roots"]) < 0.01
        least = found["cost"]["s"][int(np.argmin(found["cost"]["window"]))]
        assert least == pytest.approx(2.25, rel=0.15)  # nodes are that far apart


def test_where_the_second_is_sharper_the_curve_is_its_own(pair):
    turned = ComparablePair(pair.second, pair.first)
    found = describe_pixel(turned, estimate_blur(turned, method="window"), 20, 26)
    assert found["curve"]["sharper"] == "second"
    assert found["sigma"] == pytest.approx(-1.5, abs=0.05)
    assert min(abs(root - 1.5) for root in found["curve"]["roots"]) < 0.01


def test_colour_and_integers_are_grey_values_of_full_scale(pair):
    colour = ComparablePair(
        *(np.rint(255 * np.repeat(each[:, :, None], 3, axis=2)).astype(np.uint8) for each in (pair.first, pair.second))
    )
    grey = pixel_curve(pair, flat_map(1.0), 20, 26)
    assert_allclose(pixel_curve(colour, flat_map(1.0), 20, 26)["value"], grey["value"], atol=3e-3)


def test_a_pixel_without_an_answer_is_plain(pair):
    unknown = BlurMap(np.full(SHAPE, np.nan), np.full(SHAPE, np.nan), np.full(SHAPE, 7, np.uint8), np.zeros(SHAPE), {})
    found = describe_pixel(pair, unknown, 1, 2)
    assert found["s"] is found["sigma"] is found["sigma_stderr"] is None
    assert [flag["name"] for flag in found["flags"]] == ["invalid", "clipped", "flat"]
    assert found["curve"]["roots"] is not None


def test_every_flag_has_a_reason():
    assert set(WHY) == set(Flag)


@pytest.mark.parametrize(("row", "column"), [(-1, 0), (0, -1), (40, 0), (0, 52)])
def test_a_pixel_outside_is_refused(pair, blur_map, row, column):
    with pytest.raises(InputError, match="outside"):
        describe_pixel(pair, blur_map, row, column)


def test_roots_lie_where_a_curve_changes_sign():
    assert find_roots(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1.0, -1.0, -3.0, 1.0])) == pytest.approx([0.5, 2.75])
    assert find_roots(np.array([0.0, 1.0]), np.array([1.0, 2.0])) == []


def test_the_choices_are_those_of_the_command():
    """Every option that the page sets gives the arguments that the command line would pass on."""
    from typer.testing import CliRunner

    import relblur.cli.app as cli

    taken = {}

    def remember(first, second, **options):
        taken["preparing"] = options
        raise InputError("enough")

    choices = Choices().changed(
        {
            "method": "window",
            "window": 13,
            "max_sigma": 3,
            "prefilter": 1.5,
            "sharper": "first",
            "decimate": 2,
            "align": "off",
            "exposure": "field",
            "linear": False,
        }
    )
    words = shlex.split(command_line("a b.png", "c.png", choices))
    assert words[:4] == ["relblur", "estimate", "a b.png", "c.png"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relblur.photo.pipeline.prepare_pair", remember)
        result = CliRunner().invoke(cli.app, words[1:])
    assert "enough" in result.stderr
    told = {name: value for name, value in taken["preparing"].items() if name != "gamma"}
    assert told == choices.preparing


def test_usual_choices_need_no_words():
    assert command_line("a", "b", Choices()) == "relblur estimate a b -o result"
    assert depth_command_line("a", "b", Choices(), DepthChoices()) == "relblur depth a b -c camera.toml -o result_depth"
    deep = DepthChoices().changed({"psf": "disc", "nearest_m": 0.5, "farthest_m": 3})
    assert depth_command_line("a", "b", Choices(decimate=2), deep).endswith("--decimate 2 --psf disc --range 0.5,3")
    assert deep.arguments["depth_range_m"] == (0.5, 3.0)
    with pytest.raises(InputError, match="both"):
        _ = DepthChoices(nearest_m=1.0).arguments


def test_the_ready_example_is_the_demo_and_its_camera_fits():
    first, second, truth = demo_pair()
    for path, image in ((example().first, first), (example().second, second)):
        assert_array_equal(relblur.files.images.read_image(path), image)
    near, far = relblur.depth_to_blur([1.0, 2.0], EXAMPLE_CAMERA)
    assert near == pytest.approx(4, abs=0.02)
    assert far == pytest.approx(-4, abs=0.02)
    assert np.abs(truth).max() == pytest.approx(2, abs=0.01)
