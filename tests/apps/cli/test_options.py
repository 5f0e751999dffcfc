"""Commands, library and page: the same options, the same defaults, the same map, bit by bit."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Annotated

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import relblur
from command import run
from relblur import estimate_blur, load, prepare_pair, save, synth
from relblur.apps.cli.depth import depth
from relblur.apps.cli.estimate import estimate
from relblur.apps.cli.stack import stack
from relblur.apps.terminal.console import UsageError
from relblur.apps.terminal.options import Only, takes_records
from relblur.apps.view.choices import Choices, DepthChoices
from relblur.base.options import Depth, Estimating, Preparing, Stack, choices_of, option_fields

#: Function of the library, command, and the records of their options.
SAME = [
    (prepare_pair, estimate, Preparing),
    (estimate_blur, estimate, Estimating),
    (relblur.estimate_depth, depth, Depth),
    (relblur.estimate_stack, stack, Stack),
    (relblur.estimate_stack, stack, Preparing),
]
#: None of a record, as the page's form shows it.
SHOWN = {"window": 9, "max_sigma": 5.0}
#: Options whose default in the form is not that of the records.
OTHERWISE = {"psf"}

#: Values that are tried beside the choices of an option.
VALUES = {"linear": (False,), "gamma": (1.0, 2.2), "decimate": (1, 2, "auto"), "window": (7,), "noise": (0.004,)}
VALUES |= {"prefilter": (0.0, 1.6), "max_sigma": (3.96,)}
CASES = [
    (record, name, value)
    for record in (Preparing, Estimating)
    for name in option_fields(record)
    for value in (VALUES.get(name) or choices_of(record, name))
]
#: Between two steps of the paper's grid, on one, at the default, below the first step.
CASES += [(Estimating, ("method", "max_sigma"), pair) for pair in (("refined", 5.0), ("paper", 3.96), ("paper", 3.0))]
CASES += [(Estimating, ("method", "max_sigma"), ("window", 0.05))]


@pytest.fixture(scope="module")
def files(tmp_path_factory, texture):
    folder = tmp_path_factory.mktemp("pair")
    pair = synth.pair(texture, 2.0)
    colours = [np.stack([gain * image for gain in (1.0, 0.9, 0.8)], axis=-1) for image in pair]
    for name, image, gain in zip(("a.png", "b.png"), colours, (1.0, 0.9), strict=True):
        save(folder / name, synth.degrade(gain * image, bits=8))
    return folder / "a.png", folder / "b.png"


def test_defaults_of_command_library_and_page_are_those_of_the_records():
    wrong = []
    for function, command, record in SAME:
        of_command = inspect.signature(takes_records(command)).parameters
        of_library = inspect.signature(function).parameters
        for name, field in option_fields(record).items():
            if of_command[name].default != field.default:
                wrong.append(f"{command.__name__} --{name}: {of_command[name].default!r}")
            if name in of_library and of_library[name].default != field.default:
                wrong.append(f"{function.__name__}({name}): {of_library[name].default!r}")
    for choices, records in ((Choices(), (Estimating, Preparing, Stack)), (DepthChoices(), (Depth,))):
        fields = {name: field for record in records[::-1] for name, field in option_fields(record).items()}
        for name, value in asdict(choices).items():
            usual = SHOWN[name] if name in SHOWN else getattr(fields.get(name), "default", value)
            if value != usual and name not in OTHERWISE:
                wrong.append(f"the page's {name}: {value!r}")
    assert wrong == []


def _option(name, value):
    if name == "linear":
        return ["--linear" if value else "--no-linear"]
    return [f"--{name.replace('_', '-')}", str(value)]


def _same_map(found, wanted):
    for name in ("variance_difference", "variance_stderr", "flags", "sharper"):
        assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)


@pytest.mark.parametrize(("record", "names", "values"), CASES)
def test_an_option_gives_the_map_of_the_argument(files, tmp_path, record, names, values):
    given = {names: values} if isinstance(names, str) else dict(zip(names, values, strict=True))
    preparing, estimating = (given, {}) if record is Preparing else ({}, given)
    estimating = {"method": "window", **estimating}  # the fastest that takes all options
    words = [text for option in {**preparing, **estimating}.items() for text in _option(*option)]
    done = run("estimate", *files, "-o", tmp_path / "out", *words)
    assert done.exit_code == 0, done.output
    found = load(tmp_path / "out" / "blur_map.npz")
    if "max_sigma" in given:
        preparing = {"max_sigma": given["max_sigma"]}
    wanted = estimate_blur(prepare_pair(*files, **preparing), **estimating)
    _same_map(found, wanted)
    assert dict(found.settings) == dict(wanted.settings)
    if set(given) <= set(asdict(Choices())) and given.get("max_sigma", 5.0) >= 0.1:  # the least of the form
        page = Choices().changed({"method": "window", **given})
        _same_map(found, estimate_blur(prepare_pair(*files, **page.preparing), **page.estimating))


def test_a_command_gets_the_fields_it_names():
    def command(pair: str, options: Depth, estimating: Annotated[Estimating, Only("sharper")]) -> None:
        got.extend([pair, options, estimating])

    got: list = []
    made = takes_records(command)
    assert list(inspect.signature(made).parameters) == ["pair", *option_fields(Depth), "sharper"]
    defaults = {name: field.default for name, field in option_fields(Depth).items()}
    made(pair="a", **{**defaults, "depth_range_m": "0.8,3"}, sharper="first")
    assert got == ["a", Depth(depth_range_m=(0.8, 3.0)), Estimating(sharper="first")]
    with pytest.raises(UsageError, match=r"--range must be 2 numbers separated by commas, got '0.8'"):
        made(pair="a", **{**defaults, "depth_range_m": "0.8"}, sharper="first")
