"""Every engine gives the reference's answer, to rounding."""

from __future__ import annotations

import io
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import InputError, estimate_blur, gaussian_bank, synth
from relblur.engines import ENGINES, choose_engine
from relblur.kernels import sampled_kernel

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
@pytest.mark.parametrize(("method", "tolerance"), [("paper", 0.0), ("window", 1e-6), ("refined", 1e-3)])
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


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("method", ["window", "refined"])
def test_whoever_waits_for_the_compiler_is_told_on_a_terminal_and_only_there(method, monkeypatch):
    from relblur.engines import compiled

    image = np.random.default_rng(1).random((24, 24))
    for screen, ready, told in ((Terminal(), True, 0), (Terminal(), False, 1), (io.StringIO(), False, 0)):
        monkeypatch.setattr(sys, "stderr", screen)
        monkeypatch.setattr(compiled, "is_ready", lambda calls, ready=ready: ready)
        estimate_blur(image, image, method=method, engine="numba", workers=1)
        assert screen.getvalue().count("compiling, once") == told
