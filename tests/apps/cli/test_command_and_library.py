"""``relblur estimate`` and the library: the same options give the same map, bit by bit."""

from __future__ import annotations

import inspect
from typing import get_args

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from relblur import estimate_blur, load, prepare_pair, save, synth
from relblur.apps.cli.app import app
from relblur.apps.cli.estimate import estimate
from relblur.base.settings import METHODS, SIDES, Align, Exposure

#: Options of `prepare_pair` and of `estimate_blur`, with the values tried.
PREPARING = {
    "align": get_args(Align),
    "exposure": get_args(Exposure),
    "linear": (False,),
    "gamma": (1.0, 2.2),
    "decimate": (1, 2, "auto"),
}
ESTIMATING = {
    "method": METHODS,
    "sharper": SIDES,
    "window": (7,),
    "noise": (0.004,),
    "prefilter": (0.0, 1.6),
}
#: Lies between two steps of the paper's grid, on one, at the default, below the first step.
MAX_SIGMAS = [("refined", 3.96), ("window", 3.96), ("paper", 3.96), ("paper", 3.0), ("refined", 5.0), ("window", 0.05)]


@pytest.fixture(scope="module")
def files(tmp_path_factory, texture):
    folder = tmp_path_factory.mktemp("pair")
    pair = synth.pair(np.pad(texture, 16, mode="reflect"), 2.0)
    colours = [np.stack([gain * image for gain in (1.0, 0.9, 0.8)], axis=-1) for image in pair]
    for name, image, gain in zip(("a.png", "b.png"), colours, (1.0, 0.9), strict=True):
        save(folder / name, synth.degrade(gain * image, bits=8))
    return folder / "a.png", folder / "b.png"


def test_every_option_that_both_have_is_compared():
    of_command = set(inspect.signature(estimate).parameters) - {"first", "second"}
    of_library = {name for call in (prepare_pair, estimate_blur) for name in inspect.signature(call).parameters}
    assert of_command & of_library == {*PREPARING, *ESTIMATING, "max_sigma"}


def _option(name, value):
    if name == "linear":
        return ["--linear" if value else "--no-linear"]
    return [f"--{name.replace('_', '-')}", str(value)]


def _compare(files, out, arguments, preparing, estimating):
    done = CliRunner().invoke(app, ["estimate", *map(str, files), "-o", str(out), *arguments])
    assert done.exit_code == 0, done.output
    found, wanted = load(out / "blur_map.npz"), estimate_blur(prepare_pair(*files, **preparing), **estimating)
    for name in ("variance_difference", "variance_stderr", "flags", "sharper"):
        assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
    assert dict(found.settings) == dict(wanted.settings)


CASES = [(name, value) for options in (PREPARING, ESTIMATING) for name, values in options.items() for value in values]


@pytest.mark.parametrize(("name", "value"), CASES)
def test_an_option_gives_the_map_of_the_argument(files, tmp_path, name, value):
    preparing, estimating = ({name: value} if name in options else {} for options in (PREPARING, ESTIMATING))
    # The local method is the fastest that takes all options.
    estimating = {"method": "window", **estimating}
    arguments = [text for option in {**preparing, **estimating}.items() for text in _option(*option)]
    _compare(files, tmp_path / "out", arguments, preparing, estimating)


@pytest.mark.parametrize(("method", "largest"), MAX_SIGMAS)
def test_the_largest_blur_is_the_one_given(files, tmp_path, method, largest):
    arguments = [*_option("method", method), *_option("max_sigma", largest)]
    _compare(files, tmp_path / "out", arguments, {"max_sigma": largest}, {"method": method, "max_sigma": largest})


def test_the_values_as_stored_are_those_of_a_pair_left_alone(files, tmp_path):
    preparing = {"align": "off", "exposure": "off", "linear": False, "decimate": 1}
    _compare(files, tmp_path / "out", ["--as-stored", "-m", "window"], preparing, {"method": "window"})
