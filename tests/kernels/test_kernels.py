"""Engines: which one runs, and the separable filters."""

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
from relblur.kernels.separable import MODES, filter_separable

CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sigma", [0.1, 2.0, 5.0])
@pytest.mark.parametrize("shape", [(96, 112), (3, 5), (1, 6)])
def test_separable_filters_are_those_of_scipy(texture, mode, sigma, shape):
    from scipy import ndimage

    image = np.array(texture[: shape[0], : shape[1]])
    before, taps = image.copy(), sampled_kernel(sigma)
    wanted = ndimage.correlate1d(ndimage.correlate1d(image, taps, 0, mode=mode), taps, 1, mode=mode)
    assert_allclose(filter_separable(image, taps, mode), wanted, rtol=0, atol=1e-12)
    assert_array_equal(image, before)


def test_unknown_engine_is_refused_with_those_there_are(texture):
    with pytest.raises(InputError, match="engine must be one of 'auto', 'opencv', 'compiled'; got 'gpu'"):
        estimate_blur(texture, texture, engine="gpu")


@pytest.fixture
def ran(monkeypatch):
    """The engines whose loops have been called."""
    from relblur.blur.paper import method as paper_method
    from relblur.blur.window import method
    from relblur.blur.window.realtime import WindowEngine
    from relblur.field import CompiledLoops, Loops

    found = set()

    def watch(owner, name, engine):
        loop = getattr(owner, name)

        def call(*args, **options):
            found.add(engine)
            return loop(*args, **options)

        monkeypatch.setattr(owner, name, call)

    watch(method, "box_mean", "opencv")
    watch(paper_method, "box_mean", "opencv")
    watch(WindowEngine, "run", "compiled")
    watch(Loops, "evidence", "opencv")
    watch(CompiledLoops, "evidence", "compiled")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "engine", "wanted"),
    [
        ("paper", "compiled", "opencv"),
        ("window", "auto", "compiled"),
        ("window", "opencv", "opencv"),
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
