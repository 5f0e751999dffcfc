"""Every engine gives the reference's answer, to rounding."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import (
    Camera,
    InputError,
    Stream,
    estimate_blur,
    estimate_depth,
    synth,
)
from relblur.base.errors import MissingDependencyError
from relblur.filters.kernels import sampled_kernel
from relblur.kernels import ENGINES, choose_engine
from relblur.paper import gaussian_bank

CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)

OTHERS = [name for name in ENGINES if name not in ("auto", "reference")]

# How far s may be from the reference's, px^2. OpenCV works in float64 and differs in the order of
# additions; compiled code works in float32 and makes wide blurs from a half-size image.
TOLERANCE = {"opencv": 0.0, "compiled": 2e-3}


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("mode", ["reflect", "mirror", "nearest", "wrap", "constant"])
@pytest.mark.parametrize("sigma", [0.1, 0.6, 2.0, 5.0])
@pytest.mark.parametrize("shape", [(96, 112), (9, 40), (3, 5), (1, 6)])
def test_separable_filters_agree(texture, engine, mode, sigma, shape):
    image = np.array(texture[: shape[0], : shape[1]])
    kernel = sampled_kernel(sigma)
    wanted = choose_engine("reference").filter_separable(image, kernel, mode)
    assert_allclose(choose_engine(engine).filter_separable(image, kernel, mode), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize("size", [1, 3, 9, 15])
@pytest.mark.parametrize("shape", [(96, 112), (15, 40), (5, 7)])
def test_box_means_agree_and_are_means(texture, engine, size, shape):
    image = np.array(texture[: shape[0], : shape[1]])
    found = choose_engine(engine).box_mean(image, size)
    assert_allclose(found, choose_engine("reference").box_mean(image, size), rtol=0, atol=1e-12)
    half = size // 2
    if half < min(shape):
        padded = np.pad(image, half, mode="symmetric")
        assert_allclose(found[2, 3], padded[2 : 2 + size, 3 : 3 + size].mean())


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize(("method", "tolerance"), [("paper", 0.0), ("window", 1e-6)])
def test_maps_agree(texture, engine, method, tolerance):
    pair = synth.pair(texture, synth.ramp(texture.shape, -1.5, 1.5, axis=1))
    wanted = estimate_blur(*pair, method=method, engine="reference")
    found = estimate_blur(*pair, method=method, engine=engine)
    # The result says who made it: compiled code has no loops for the paper's method.
    assert found.settings["engine"] == ("opencv" if method == "paper" else engine)
    tolerance = max(tolerance, TOLERANCE[engine])
    # A pixel in a thousand may sit on the edge of a decision and fall to the other side by rounding.
    different = ~np.isclose(found.variance_difference, wanted.variance_difference, atol=tolerance, equal_nan=True)
    assert different.mean() < 1e-3
    assert (found.flags != wanted.flags).mean() < 1e-3


def test_no_engine_writes_to_its_input(texture):
    kernel = sampled_kernel(1.0)
    for name in ENGINES[1:]:
        before = texture.copy()
        choose_engine(name).filter_separable(texture, kernel)
        choose_engine(name).box_mean(texture, 5)
        assert_array_equal(texture, before)


def test_unknown_engine_is_refused_with_those_there_are(texture):
    with pytest.raises(InputError, match=r"engine must be one of 'auto', 'reference', 'opencv'.*; got 'gpu'"):
        estimate_blur(texture, texture, engine="gpu")


def test_refined_has_no_reference_and_says_what_it_has(texture):
    with pytest.raises(InputError, match=r"no loops for method=\"refined\"; use 'auto' or 'opencv' or 'compiled'$"):
        estimate_blur(texture, texture, engine="reference")
    with pytest.raises(InputError, match="engine must be one of 'auto', 'opencv', 'compiled'; got 'reference'"):
        estimate_depth(texture, texture, CAMERA, engine="reference")


@pytest.fixture
def ran(monkeypatch):
    """The engines whose loops have been called."""
    from relblur.blur.window.realtime import WindowEngine
    from relblur.field import CompiledLoops, Loops
    from relblur.kernels import opencv, reference

    found = set()

    def watch(owner, name, engine):
        loop = getattr(owner, name)

        def call(*args, **options):
            found.add(engine)
            return loop(*args, **options)

        monkeypatch.setattr(owner, name, call)

    watch(reference, "filter_separable", "reference")
    watch(opencv, "filter_separable", "opencv")
    watch(WindowEngine, "run", "compiled")
    watch(Loops, "evidence", "opencv")
    watch(CompiledLoops, "evidence", "compiled")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "engine", "wanted"),
    [
        ("paper", "reference", "reference"),
        ("paper", "compiled", "opencv"),
        ("window", "auto", "compiled"),
        ("window", "reference", "reference"),
        ("window", "compiled", "compiled"),
        ("refined", "auto", "compiled"),
        ("refined", "opencv", "opencv"),
        ("refined", "compiled", "compiled"),
        ("gaussian", "opencv", "opencv"),
        ("gaussian", "compiled", "compiled"),
        ("disc", "auto", "compiled"),
        ("disc", "opencv", "opencv"),
        ("disc", "compiled", "compiled"),
    ],
)
def test_a_result_names_the_engine_that_ran(texture, method, engine, wanted, ran):
    pair = (texture[:40, :48], synth.blur_with_map(texture[:40, :48], 1.0))
    if method in ("gaussian", "disc"):
        found = estimate_depth(*pair, CAMERA, psf=method, depth_range_m=(0.9, 2.2), engine=engine)
    else:
        found = estimate_blur(*pair, method=method, engine=engine, max_sigma=2.0, window=9)
    assert found.settings["engine"] == wanted
    # Which image is the sharper, and whether the two have anything in common, OpenCV tells in any case.
    assert ran - {"opencv"} == {wanted} - {"opencv"}
    assert wanted in ran


@pytest.fixture
def not_built(monkeypatch):
    monkeypatch.setitem(sys.modules, "relblur._kernels", None)


def test_auto_is_compiled_where_that_is_built(texture, not_built):
    image = texture[:32, :32]
    for method in ("window", "refined"):
        assert estimate_blur(image, image, method=method).settings["engine"] == "opencv"
    assert estimate_depth(image, image, CAMERA, psf="disc").settings["engine"] == "opencv"


def test_without_kernels_the_error_is_one_line_with_the_remedy(texture, not_built):
    image = texture[:32, :32]
    for use in (lambda: estimate_blur(image, image, method="window", engine="compiled"), lambda: Stream(image.shape)):
        with pytest.raises(MissingDependencyError, match=r"not built here .*make kernels.*engine='opencv'") as caught:
            use()
        assert "\n" not in str(caught.value)


def test_numba_is_a_deprecated_name_of_compiled(texture):
    image = texture[:32, :32]
    with pytest.warns(DeprecationWarning, match='use engine="compiled"') as caught:
        found = estimate_blur(image, image, method="window", engine="numba")
    assert found.settings["engine"] == "compiled"
    assert caught[0].filename == __file__
    for call in (
        lambda: gaussian_bank(image, [1.0], engine="numba"),
        lambda: estimate_depth(image, image, CAMERA, engine="numba"),
    ):
        with pytest.warns(DeprecationWarning, match='use engine="compiled"'):
            call()
