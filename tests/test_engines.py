"""Every engine gives the reference's answer, to rounding."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import (
    Camera,
    InputError,
    Stream,
    estimate_blur,
    estimate_depth,
    gaussian_bank,
    synth,
)
from relblur.base.errors import MissingDependencyError
from relblur.engines import ENGINES, choose_engine
from relblur.filters.kernels import sampled_kernel

CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)

OTHERS = [name for name in ENGINES if name not in ("auto", "reference")]

# How far s may be from the reference's, px^2. OpenCV works in float64 and differs in the order of
# additions; numba works in float32 and makes wide blurs from a half-size image.
TOLERANCE = {"opencv": 0.0, "numba": 2e-3}


def test_there_is_an_engine_beside_the_reference():
    assert set(ENGINES) > {"auto", "reference"}
    assert choose_engine("auto").name in ENGINES[1:]


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
def test_banks_agree(texture, engine):
    sigmas = [0.3, 1.0, 4.0, 20.0]
    wanted = gaussian_bank(texture, sigmas, engine="reference")
    assert_allclose(gaussian_bank(texture, sigmas, engine=engine), wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("engine", OTHERS)
@pytest.mark.parametrize(("method", "tolerance"), [("paper", 0.0), ("window", 1e-6)])
def test_maps_agree(texture, engine, method, tolerance):
    pair = synth.pair(texture, synth.ramp(texture.shape, -1.5, 1.5, axis=1))
    wanted = estimate_blur(*pair, method=method, engine="reference")
    found = estimate_blur(*pair, method=method, engine=engine)
    # The result says who made it: numba has no loops for the paper's method.
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
    with pytest.raises(InputError, match=r"no loops for method=\"refined\"; use 'auto' or 'opencv'$"):
        estimate_blur(texture, texture, engine="reference")
    with pytest.raises(InputError, match="engine must be one of 'auto', 'opencv', 'numba'; got 'reference'"):
        estimate_depth(texture, texture, CAMERA, engine="reference")


@pytest.fixture
def ran(monkeypatch):
    """The engines whose loops have been called."""
    from relblur.blur.window.realtime.runner import WindowEngine

    from relblur.engines import opencv, reference
    from relblur.field.energy import Energy

    found = set()

    def watch(owner, name, engine):
        loop = getattr(owner, name)

        def call(*args, **options):
            found.add(engine)
            return loop(*args, **options)

        monkeypatch.setattr(owner, name, call)

    watch(reference, "filter_separable", "reference")
    watch(opencv, "filter_separable", "opencv")
    watch(WindowEngine, "run", "numba")
    watch(Energy, "evidence", "opencv")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "engine", "wanted"),
    [
        ("paper", "reference", "reference"),
        ("paper", "numba", "opencv"),
        ("window", "auto", "opencv"),
        ("window", "reference", "reference"),
        ("window", "numba", "numba"),
        ("refined", "auto", "opencv"),
        ("refined", "opencv", "opencv"),
        ("refined", "numba", "opencv"),
        ("gaussian", "opencv", "opencv"),
        ("gaussian", "numba", "opencv"),
        ("disc", "auto", "opencv"),
        ("disc", "numba", "opencv"),
    ],
)
def test_a_result_names_the_engine_that_ran(texture, method, engine, wanted, ran):
    pair = (texture[:40, :48], synth.blur_with_map(texture[:40, :48], 1.0))
    if method in ("gaussian", "disc"):
        found = estimate_depth(*pair, CAMERA, psf=method, depth_range_m=(0.9, 2.2), engine=engine)
    else:
        found = estimate_blur(*pair, method=method, engine=engine, sigmas=[1.0, 2.0], window=9)
    assert found.settings["engine"] == wanted
    # Which image is the sharper, and whether the two have anything in common, OpenCV tells in any case.
    assert ran - {"opencv"} == {wanted} - {"opencv"}
    assert wanted in ran


@pytest.mark.parametrize(
    ("method", "side", "channels", "wanted"),
    [
        ("window", 1300, 1, "opencv"),
        ("window", 1500, 1, "numba"),
        ("window", 1000, 3, "numba"),
        ("refined", 9000, 3, "opencv"),
        ("paper", 9000, 1, "opencv"),
    ],
)
def test_auto_depends_on_the_input_only(method, side, channels, wanted, monkeypatch):
    from relblur.blur.methods import engine_for
    from relblur.engines import compile_cache

    def look(*args):
        raise AssertionError("what lies on disk does not matter")

    monkeypatch.setattr(compile_cache, "is_ready", look)
    raw = SimpleNamespace(
        shape=(side, side), first=SimpleNamespace(size=side * side * channels, shape=(side, side, channels))
    )
    assert engine_for("auto", method, raw, 9).name == wanted
    monkeypatch.setitem(sys.modules, "numba", None)  # not installed
    assert engine_for("auto", method, raw, 9).name == "opencv"


def test_a_numba_that_lacks_private_names_does_not_stop_opencv(texture, monkeypatch):
    import numba.core.caching

    import relblur.engines

    monkeypatch.delattr(numba.core.caching, "_CacheLocator")
    monkeypatch.delitem(sys.modules, "relblur.engines.compile_cache", raising=False)
    monkeypatch.setattr(relblur.engines, "WORTH_COMPILING_SECONDS", 0.0)
    image = texture[:32, :32]
    for method in ("window", "refined"):
        assert estimate_blur(image, image, method=method).settings["engine"] == "opencv"
    assert estimate_depth(image, image, CAMERA, psf="disc").settings["engine"] == "opencv"
    for use in (lambda: estimate_blur(image, image, method="window", engine="numba"), lambda: Stream(image.shape)):
        with pytest.raises(MissingDependencyError, match="_CacheLocator") as caught:
            use()
        assert "\n" not in str(caught.value)


def test_a_numba_that_cannot_be_imported_does_not_stop_opencv(tmp_path):
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text("raise ImportError('Numba needs another NumPy\\nsee there')")
    code = (
        "import numpy as np, relblur, relblur.engines as e; e.WORTH_COMPILING_SECONDS = 0\n"
        "x = np.random.default_rng(0).random((20, 30))\n"
        "print(relblur.estimate_blur(x, x, method='window').settings['engine'])\n"
        "try: relblur.estimate_blur(x, x, method='window', engine='numba')\n"
        "except ImportError as error: print(error)\n"
    )
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    engine, error = done.stdout.splitlines()
    assert engine == "opencv"
    assert "cannot use the numba that is installed (Numba needs another NumPy)" in error


def test_the_installed_numba_has_the_private_names_that_compiled_code_needs(tmp_path, monkeypatch):
    """A canary: where this fails, `auto` has fallen back to OpenCV, or code is compiled again in every process."""
    import numba

    from relblur.engines import compile_cache, why_not_numba

    assert why_not_numba() is None
    monkeypatch.setattr(compile_cache, "cache_directory", lambda: tmp_path)

    def add_one(x):
        return x + 1

    one, two = numba.njit(add_one), numba.njit(add_one)
    assert not compile_cache.is_ready([(one, (numba.int64,))])
    compile_cache.prepare([(one, (numba.int64,))], tell=lambda sentence: None)
    assert (numba.int64,) in one.overloads
    assert compile_cache.is_ready([(two, (numba.int64,))])  # found on disk


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_whoever_waits_for_the_compiler_is_told_on_a_terminal_and_only_there(monkeypatch):
    from relblur.engines import compile_cache as compiled

    image = np.random.default_rng(1).random((24, 24))
    for screen, ready, told in ((Terminal(), True, 0), (Terminal(), False, 1), (io.StringIO(), False, 0)):
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(compiled, "is_ready", lambda calls, ready=ready: ready)
        estimate_blur(image, image, method="window", engine="numba", workers=1)
        assert screen.getvalue().count("compiling, once") == told
