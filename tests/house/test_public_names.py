"""The contract: names and signatures other people's programs rely on."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

import relblur

NAMES = [
    "AlignmentError",
    "BlurMap",
    "Camera",
    "ComparablePair",
    "DepthMap",
    "Flag",
    "Framework",
    "InputError",
    "NoiseModel",
    "PairScore",
    "RelblurError",
    "StackMap",
    "Stream",
    "__version__",
    "align",
    "all_in_focus",
    "blur_to_depth",
    "calibrate",
    "compare_sharpness",
    "decimate",
    "depth_to_blur",
    "estimate_blur",
    "estimate_depth",
    "estimate_noise",
    "estimate_stack",
    "evaluate_pair",
    "gaussian_bank",
    "imread",
    "in_depth_range",
    "load",
    "local_sharpness",
    "match_exposure",
    "open_stack",
    "optics",
    "pixel_curve",
    "plot",
    "prepare_pair",
    "refocus",
    "resynthesize",
    "save",
    "synth",
]

# name: (positional, keyword-only with defaults); further optional keywords may be added.
SIGNATURES = {
    "estimate_blur": (
        ["first", "second"],
        {
            "sharper": "auto",
            "method": "refined",
            "sigmas": None,
            "window": None,
            "noise": None,
            "valid": None,
            "channel_axis": None,
            "engine": "auto",
            "workers": None,
        },
    ),
    "prepare_pair": (
        ["first", "second"],
        {"align": "auto", "exposure": "auto", "linear": True, "gamma": None, "decimate": "auto", "valid": None},
    ),
    "resynthesize": (["first", "second", "blur_map"], {}),
    "estimate_depth": (["first", "second", "camera"], {"psf": "gaussian", "valid": None, "channel_axis": None}),
    "blur_to_depth": (["blur_map", "camera"], {"side": "behind"}),
    "depth_to_blur": (["depth_m", "camera"], {}),
    "in_depth_range": (["blur_map", "camera"], {}),
    "calibrate": (["blur_map", "camera"], {"depth_m": None, "plane": None, "points": None}),
    "all_in_focus": (["first", "second", "blur_map"], {"channel_axis": None}),
    "refocus": (["first", "second", "depth_map", "focus_m"], {"channel_axis": None}),
    "evaluate_pair": (["first", "second", "blur_map"], {}),
    "local_sharpness": (["image", "size"], {}),
    "compare_sharpness": (["first", "second", "size"], {}),
    "decimate": (["image", "factor"], {"half_width": 8, "beta": 10.0}),
    "gaussian_bank": (["image", "sigmas"], {"mode": "reflect"}),
    "Stream": (["shape"], {"sharper": "auto"}),
    "imread": (["path"], {"linear": True, "gamma": None, "return_info": False}),
    "load": (["path"], {}),
    "align": (["first", "second"], {"model": "auto", "valid": None, "channel_axis": None}),
    "match_exposure": (["first", "second"], {"field": None, "valid": None, "channel_axis": None}),
    "estimate_stack": (["images"], {"focus_m": None, "camera": None, "channel_axis": None}),
    "estimate_noise": (["first", "second"], {"valid": None, "channel_axis": None}),
}

OPTICS = [
    "aperture_mm",
    "circle_at_infinity_mm",
    "circle_from_depth_mm",
    "circle_from_image_shift_mm",
    "depth_from_circle_mm",
    "focal_length_for_max_circle_mm",
    "focal_length_quadratic",
    "focus_distance_mm",
    "image_distance_mm",
    "max_circle_foreground_background_mm",
    "max_circle_mm",
    "mm_to_px",
    "px_to_mm",
    "scene_distance_mm",
]


def test_the_public_names_are_these_and_no_others():
    assert sorted(relblur.__all__) == NAMES
    assert dir(relblur) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_had(name):
    assert getattr(relblur, name) is not None


@pytest.mark.parametrize("name", NAMES[:9])
def test_public_classes_know_their_name(name):
    assert getattr(relblur, name).__name__ == name


def test_unknown_name_is_an_attribute_error_that_names_it():
    with pytest.raises(AttributeError, match="'relblur' has no attribute 'estimate_blurr'"):
        relblur.estimate_blurr  # noqa: B018


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_is_the_contract(name):
    positional, keywords = SIGNATURES[name]
    parameters = inspect.signature(getattr(relblur, name)).parameters
    found = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert found == positional
    defaults = {p.name: p.default for p in parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert {key: defaults[key] for key in keywords} == keywords
    assert all(default is not inspect.Parameter.empty for default in defaults.values())


def test_sharpness_looks_at_3x3_by_default():
    for function in (relblur.local_sharpness, relblur.compare_sharpness):
        assert inspect.signature(function).parameters["size"].default == 3


def test_framework_has_the_papers_dimensions_by_default():
    parameters = inspect.signature(relblur.Framework).parameters
    assert list(parameters) == ["sigmas", "n_radii", "radius_limit", "weights", "normalise"]
    assert [p.default for p in parameters.values()] == [None, 100, 5.0, "gaussian", True]
    assert relblur.Framework().window_size == 51


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("BlurMap", ["variance_difference", "variance_stderr", "flags", "sharper", "settings"]),
        ("DepthMap", ["depth_m", "depth_stderr_m", "flags", "camera"]),
        (
            "PairScore",
            [
                "e_first",
                "e_second",
                "first_sharper_fraction",
                "second_sharper_fraction",
                "equal_fraction",
                "unblurred_e_first",
                "unblurred_e_second",
                "explained",
            ],
        ),
    ],
)
def test_results_are_frozen_and_have_the_contracts_fields(name, fields):
    kind = getattr(relblur, name)
    assert [f.name for f in dataclasses.fields(kind)][: len(fields)] == fields
    assert kind.__dataclass_params__.frozen


def test_errors_are_found_where_programs_look_for_them():
    from relblur.errors import FileError

    from relblur.base import errors

    assert FileError is errors.FileError is relblur.errors.FileError


def test_optics_and_synth_offer_their_functions():
    assert sorted(relblur.optics.__all__) == OPTICS
    parameters = inspect.signature(relblur.synth.ramp).parameters
    assert list(parameters) == ["shape", "start", "stop", "axis"]
    assert parameters["axis"].default == 0
    assert list(inspect.signature(relblur.synth.blur_with_map).parameters)[:2] == ["image", "sigma_map"]


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("InputError", ValueError),
        ("AlignmentError", ValueError),
        ("FileError", OSError),
        ("OutputExistsError", FileExistsError),
        ("MissingDependencyError", ImportError),
    ],
)
def test_errors_are_also_the_builtins_people_catch(name, builtin):
    from relblur.base import errors

    kind = getattr(errors, name)
    assert issubclass(kind, builtin)
    assert issubclass(kind, relblur.RelblurError)


def test_flags_keep_their_stored_values():
    stored = {"INVALID": 1, "CLIPPED": 2, "FLAT": 4, "EQUAL": 8, "NO_ROOT": 16, "AT_LIMIT": 32, "FILLED": 64}
    stored["OUT_OF_RANGE"] = 128
    assert {flag.name: flag.value for flag in relblur.Flag} == stored
