"""Numbers of a pixel, choices of the page and their command lines, the example."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relblur
import relblur.images.images
from relblur import BlurMap, ComparablePair, Flag, InputError, estimate_blur, synth
from relblur.apps.demo.program import demo_pair
from relblur.apps.view.choices import Choices, DepthChoices, commands
from relblur.apps.view.files import EXAMPLE_CAMERA, example
from relblur.apps.view.inspection import WHY, describe_pixel, pixel_of_stack

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


@pytest.mark.parametrize(("row", "column"), [(20, 26), (0, 0), (39, 51), (0, 30)])
def test_what_the_page_gets_is_the_public_curve(pair, blur_map, row, column):
    found = json.loads(json.dumps(describe_pixel(pair, blur_map, row, column), allow_nan=False))
    curve = relblur.pixel_curve(pair, row, column, blur_map=blur_map)
    right = curve.sigma >= 0
    assert_allclose(found["curve"]["sigma"], curve.sigma[right], atol=1e-4)
    assert_allclose(found["curve"]["value"], curve.blurred[right], rtol=1e-6)
    assert found["curve"]["observed"] == pair.second[row, column]
    assert found["curve"]["roots"] == curve.roots[curve.roots >= 0].tolist()
    assert_allclose(found["cost"]["window"], np.sqrt(curve.cost), rtol=1e-6)


def test_a_root_is_the_blur_that_was_made(pair, blur_map):
    for row, column in ((12, 13), (20, 26), (30, 40)):
        found = describe_pixel(pair, blur_map, row, column)
        assert found["curve"]["sharper"] == "first"
        assert min(abs(root - 1.5) for root in found["curve"]["roots"]) < 0.01
        least = found["cost"]["s"][int(np.argmin(found["cost"]["window"]))]
        assert least == pytest.approx(2.25, rel=0.05)


def test_where_the_second_is_sharper_the_curve_is_its_own(pair):
    turned = ComparablePair(pair.second, pair.first)
    found = describe_pixel(turned, estimate_blur(turned, method="window"), 20, 26)
    assert found["curve"]["sharper"] == "second"
    assert found["sigma"] == pytest.approx(-1.5, abs=0.05)
    assert min(abs(root - 1.5) for root in found["curve"]["roots"]) < 0.01


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


def test_the_choices_are_those_of_the_command():
    """Every option that the page sets gives the arguments that the command line would pass on."""
    from typer.testing import CliRunner

    import relblur.apps.cli.app as cli

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
    words = shlex.split(commands(["a b.png", "c.png"], choices)["estimate"])
    assert words[:4] == ["relblur", "estimate", "a b.png", "c.png"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("relblur.photo.pipeline.prepare_pair", remember)
        result = CliRunner().invoke(cli.app, words[1:])
    assert "enough" in result.stderr
    told = {name: value for name, value in taken["preparing"].items() if name != "gamma"}
    assert told == choices.preparing


def test_usual_choices_need_no_words():
    pair, camera = ["a", "b"], EXAMPLE_CAMERA
    assert commands(pair, Choices()) == {"estimate": "relblur estimate a b -o result"}
    depth = commands(pair, Choices(), DepthChoices())["depth"]
    assert depth == "relblur depth a b -c camera.toml -o result_depth"
    deep = DepthChoices().changed({"psf": "disc", "nearest_m": 0.5, "farthest_m": 3})
    assert commands(pair, Choices(decimate=2), deep)["depth"].endswith("--decimate 2 --psf disc --range 0.5,3")
    assert deep.arguments(camera)["depth_range_m"] == (0.5, 3.0)
    assert DepthChoices().arguments(camera)["psf"] == "disc"  # as the command
    with pytest.raises(InputError, match="both"):
        DepthChoices(nearest_m=1.0).arguments(camera)
    stack = Choices().changed({"focus_m": [0.5, 1, "inf"], "prefer": "near", "align": "off"})
    assert commands(["a", "b", "c"], stack) == {
        "stack": "relblur stack a b c -o result --align off --focus 0.5,1,inf --prefer near"
    }


def test_a_pixel_of_a_stack_has_the_detail_of_each_frame():
    sharp = np.random.default_rng(0).random((64, 64))
    frames = [synth.blur_with_map(sharp, 0.6 * abs(i - 3.0)) for i in range(7)]
    stack = relblur.estimate_stack(frames, align="off", fuse=False, steps=True)
    found = json.loads(json.dumps(pixel_of_stack(stack.steps["frames"], stack, 30, 40), allow_nan=False))
    assert found["index"] == pytest.approx(3, abs=0.1)
    assert found["detail"]["frames"] == list(range(7))
    assert np.argmax(found["detail"]["energy"]) == 3
    assert pixel_of_stack(None, stack, 30, 40)["detail"] is None
    with pytest.raises(InputError, match="outside"):
        pixel_of_stack(None, stack, 64, 0)


def test_the_ready_example_is_the_demo_and_its_camera_fits():
    first, second, truth = demo_pair()
    for path, image in zip(example().paths, (first, second), strict=True):
        assert_array_equal(relblur.images.images.read_image(path), image)
    near, far = relblur.depth_to_blur([1.0, 2.0], EXAMPLE_CAMERA)
    assert near == pytest.approx(4, abs=0.02)
    assert far == pytest.approx(-4, abs=0.02)
    assert np.abs(truth).max() == pytest.approx(2, abs=0.01)
