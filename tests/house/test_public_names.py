"""The contract: names and signatures that other people's programs rely on."""

from __future__ import annotations

import dataclasses
import inspect
import warnings

import numpy as np
import pytest

import relblur
from relblur.base import errors
from relblur.base.options import Depth, Estimating, Preparing, Reading, Stack

NAMES = """
AlignmentError BlurMap Camera ComparablePair DepthMap Flag InputError NoiseModel PairScore RelblurError StackMap Stream
__citation__ __version__ align all_in_focus blur_to_depth calibrate decimate depth_to_blur estimate_blur estimate_depth
estimate_noise estimate_stack evaluate_pair imread in_depth_range load match_exposure open_stack optics paper
pixel_curve plot prepare_pair read_photograph refocus resynthesize save synth
"""
PAPER = ["Framework", "compare_sharpness", "gaussian_bank", "local_sharpness"]
OPTICS = """
aperture_mm circle_at_infinity_mm circle_from_depth_mm circle_from_image_shift_mm depth_from_circle_mm
focal_length_for_max_circle_mm focal_length_quadratic focus_distance_mm image_distance_mm
max_circle_foreground_background_mm max_circle_mm mm_to_px px_to_mm scene_distance_mm
"""

# function: (positional, some keywords with their defaults); further optional keywords may be added.
SIGNATURES = {
    "estimate_blur": ("first second", {"method": "refined", "valid": None, "channel_axis": None, "steps": False}),
    "prepare_pair": ("first second", {"max_sigma": 5.0, "valid": None, "channel_axis": None}),
    "resynthesize": ("first second blur_map", {}),
    "estimate_depth": ("first second camera", {"psf": "auto", "valid": None, "channel_axis": None}),
    "blur_to_depth": ("blur_map camera", {"side": "behind"}),
    "depth_to_blur": ("depth_m camera", {}),
    "in_depth_range": ("blur_map camera", {}),
    "calibrate": ("blur_map camera", {"depth_m": None, "plane": None, "points": None}),
    "all_in_focus": ("first second blur_map", {"channel_axis": None}),
    "refocus": ("first second depth_map focus_m", {"channel_axis": None}),
    "evaluate_pair": ("first second blur_map", {}),
    "decimate": ("image factor", {"half_width": 8, "beta": 10.0}),
    "Stream": ("shape", {"sharper": "auto"}),
    "load": ("path", {}),
    "align": ("first second", {"model": "auto", "valid": None, "channel_axis": None}),
    "match_exposure": ("first second", {"field": None, "valid": None, "channel_axis": None}),
    "estimate_stack": ("images", {"psf": "auto", "camera": None, "channel_axis": None, "steps": False}),
    "estimate_noise": ("first second", {"valid": None, "channel_axis": None}),
    "imread": ("path", {"linear": True, "gamma": None}),
    "read_photograph": ("path", {"linear": True, "gamma": None}),
    "paper.local_sharpness": ("image size", {}),
    "paper.compare_sharpness": ("first second size", {}),
    "paper.gaussian_bank": ("image sigmas", {"mode": "reflect"}),
    "paper.Framework": ("sigmas n_radii radius_limit weights normalise", {}),
    "synth.ramp": ("shape start stop axis", {}),
}
RECORDS = {
    "imread": [Reading],
    "prepare_pair": [Preparing],
    "estimate_blur": [Estimating],
    "estimate_depth": [Depth],
    "estimate_stack": [Preparing, Stack],
}
#: Of open_stack.
OF_PLANES = {"channel", "time", "series"}
FIELDS = {
    "BlurMap": "variance_difference variance_stderr flags sharper settings",
    "DepthMap": "depth_m depth_stderr_m flags camera",
    "PairScore": "e_first e_second first_sharper_fraction second_sharper_fraction equal_fraction unblurred_e_first "
    "unblurred_e_second explained",
}


def _named(name):
    found = relblur
    for part in name.split("."):
        found = getattr(found, part)
    return found


def test_the_public_names_are_these_and_no_others():
    assert sorted(relblur.__all__) == dir(relblur) == NAMES.split()
    assert [name for name in NAMES.split() if getattr(relblur, name) is None] == []
    assert (sorted(relblur.paper.__all__), sorted(relblur.optics.__all__)) == (PAPER, OPTICS.split())
    classes = [name for name in NAMES.split() if name[0].isupper()]
    assert [getattr(relblur, name).__name__ for name in classes] == classes
    with pytest.raises(AttributeError, match="'relblur' has no attribute 'estimate_blurr'"):
        relblur.estimate_blurr  # noqa: B018


def test_signatures_are_the_contract():
    wrong = []
    for name, (positional, keywords) in SIGNATURES.items():
        parameters = inspect.signature(_named(name)).parameters.values()
        found = " ".join(each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD)
        defaults = {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}
        is_optional = inspect.Parameter.empty not in defaults.values()
        if found != positional or not keywords.items() <= defaults.items() or not is_optional:
            wrong.append(f"{name}({found}, {defaults})")
    assert wrong == []


def test_defaults_are_those_of_the_records():
    wrong = []
    for name, records in RECORDS.items():
        parameters = inspect.signature(_named(name)).parameters
        for record in records:
            for field in dataclasses.fields(record):
                given = parameters.get(field.name)
                if field.name not in OF_PLANES and (given is None or given.default != field.default):
                    wrong.append(f"{name}({field.name}): {given}, {record.__name__} has {field.default!r}")
    assert wrong == []
    assert {record.__dataclass_params__.frozen for records in RECORDS.values() for record in records} == {True}


def test_results_are_frozen_and_have_the_contracts_fields():
    for name, fields in FIELDS.items():
        kind = getattr(relblur, name)
        assert " ".join(each.name for each in dataclasses.fields(kind)).startswith(fields), name
        assert kind.__dataclass_params__.frozen, name


def test_the_paper_has_its_dimensions_by_default():
    defaults = [each.default for each in inspect.signature(relblur.paper.Framework).parameters.values()]
    assert defaults == [None, 100, 5.0, "gaussian", True]
    assert relblur.paper.Framework().window_size == 51
    for function in (relblur.paper.local_sharpness, relblur.paper.compare_sharpness):
        assert inspect.signature(function).parameters["size"].default == 3


def test_errors_are_also_the_builtins_people_catch():
    from relblur.errors import FileError

    assert FileError is errors.FileError is relblur.errors.FileError
    builtins = {"InputError": ValueError, "AlignmentError": ValueError, "FileError": OSError}
    builtins |= {"OutputExistsError": FileExistsError, "MissingDependencyError": ImportError}
    kinds = {name: getattr(errors, name) for name in builtins}
    assert [name for name, kind in kinds.items() if not issubclass(kind, (relblur.RelblurError, builtins[name]))] == []


def test_flags_keep_their_stored_values():
    names = ["INVALID", "CLIPPED", "FLAT", "EQUAL", "NO_ROOT", "AT_LIMIT", "FILLED", "OUT_OF_RANGE"]
    assert {flag.name: flag.value for flag in relblur.Flag} == {name: 1 << bit for bit, name in enumerate(names)}


PAIR = tuple(np.random.default_rng(0).random((2, 24, 32)))
#: Former calls, and the call that their warning prints.
FORMER = [
    *((lambda name=name: getattr(relblur, name), f"relblur.paper.{name}") for name in PAPER),
    (lambda: relblur.estimate_blur(*PAIR, steps={}), "steps=True).steps"),
    (lambda: relblur.estimate_blur(*PAIR, method="window", sigmas=[0.5, 2.0]), "max_sigma=2"),
]


@pytest.mark.parametrize(("call", "new"), FORMER)
def test_a_former_call_works_and_prints_the_present_one(call, new):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert call() is not None
    (told,) = [each for each in caught if each.category is DeprecationWarning]
    assert new in str(told.message)
    assert told.filename == __file__
