"""Pixels that hold no light are left out and flagged, and the rest is answered as without them."""

import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from command import failed, run
from relblur import (
    Camera,
    Flag,
    InputError,
    Stream,
    align,
    decimate,
    estimate_blur,
    estimate_depth,
    evaluate_pair,
    match_exposure,
    resynthesize,
    synth,
)
from relblur.apps.demo.program import photograph
from relblur.base.pixels import hot_pixels, usual_values
from relblur.paper import compare_sharpness, local_sharpness

PLACE = (50, 40)


@pytest.fixture(scope="module")
def pair():
    rng = np.random.default_rng(0)
    sharp = photograph("camera")[150:250, 150:290] / 255.0
    blurry = synth.blur_with_map(sharp, synth.ramp(sharp.shape, 0.8, 2.0))
    return sharp + rng.normal(0, 0.003, sharp.shape), blurry + rng.normal(0, 0.003, sharp.shape)


def spoil(image, value, place=PLACE):
    bad = image.copy()
    bad[place] = value
    return bad


def beyond(shape, reach):
    rows, columns = np.indices(shape)
    return np.maximum(abs(rows - PLACE[0]), abs(columns - PLACE[1])) > reach


def stream_map(first, second, valid=None):
    with Stream(first.shape, valid=valid) as stream:
        return stream.process(first, second).copy()


#: How far from a bad pixel nothing may change. The refined method looks without limit: what it says is that of the pair
#: whose bad pixel was declared unusable, and one pixel less shifts it by a small part of its standard error.
RUNS = {
    "refined": (lambda a, b, valid=None: estimate_blur(a, b, valid=valid, engine="opencv"), 20),
    "window": (lambda a, b, valid=None: estimate_blur(a, b, valid=valid, method="window", engine="opencv"), 40),
    "compiled": (lambda a, b, valid=None: estimate_blur(a, b, valid=valid, method="window", engine="compiled"), 40),
    "paper": (lambda a, b, valid=None: estimate_blur(a, b, valid=valid, method="paper"), 55),
    "stream": (stream_map, 40),
}


@pytest.fixture(scope="module")
def clean(pair):
    valid = beyond(pair[0].shape, 0)
    return {name: (call(*pair), call(*pair, valid)) for name, (call, _) in RUNS.items()}


#: Every bad value in the first picture; in the other and in both what is no number, and what may be light or not.
PLACES = [("first", value) for value in (np.nan, -np.inf, 100.0, 1e6, -1e10, 3.4e38)]
PLACES += [(where, value) for where in ("second", "both") for value in (np.nan, 100.0)]


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize(("where", "value"), PLACES)
def test_the_rest_is_answered_as_without_a_bad_pixel(pair, clean, run, where, value):
    first, second = pair
    call, reach = RUNS[run]
    found = call(
        spoil(first, value) if where != "second" else first, spoil(second, value) if where != "first" else second
    )
    assert found.flags[PLACE] & Flag.INVALID
    assert np.isnan(found.variance_difference[PLACE])
    far = beyond(first.shape, reach)
    whole, declared = clean[run]
    assert_array_equal(np.isnan(found.variance_difference[far]), np.isnan(whole.variance_difference[far]))
    for wanted, statistic in ((declared, np.nanmax), (whole, np.nanmedian if run == "refined" else np.nanmax)):
        apart = np.abs(found.variance_difference - wanted.variance_difference) / wanted.variance_stderr
        assert statistic(apart[far]) < 0.1


@pytest.mark.parametrize("method", ["refined", "window", "paper"])
def test_a_sun_does_not_empty_the_map(pair, method):
    first, second = pair
    sun = np.zeros(first.shape)
    sun[10:12, 10:12] = 1e5
    found = estimate_blur(first + sun, second + synth.blur_with_map(sun, 1.0), method=method, engine="opencv")
    wanted = estimate_blur(first, second, method=method, engine="opencv")
    share = [np.isfinite(each.variance_difference[40:, 60:]).mean() for each in (found, wanted)]
    assert share[0] == pytest.approx(share[1], abs=0.01)


def test_real_points_of_light_are_no_bad_pixels():
    rng = np.random.default_rng(1)
    sharp = rng.normal(0.2, 0.01, (90, 120))
    sharp[rng.integers(0, 90, 8), rng.integers(0, 120, 8)] += 50.0
    blurry = synth.blur_with_map(sharp, 4.0)
    usual = usual_values(sharp[:, :, None]), usual_values(blurry[:, :, None])
    found = hot_pixels(sharp[:, :, None], blurry[:, :, None], usual)
    assert not any(hot is not None and hot.any() for hot in found)


@pytest.mark.slow
@pytest.mark.parametrize("value", [np.nan, 1e10, 100.0])
def test_functions_of_a_pair_take_bad_pixels(pair, value):
    first, second = pair
    bad = spoil(first, value)
    assert not align(bad, second).motion.moves
    assert not align(bad, second).valid[PLACE]
    matched = match_exposure(bad, second)
    assert not matched.exposure.changes
    assert np.isnan(matched.first[PLACE])
    assert np.isnan(matched.second[PLACE])
    blur_map = estimate_blur(bad, second, method="window")
    assert np.isfinite(resynthesize(bad, second, blur_map)).all()
    scores = [evaluate_pair(image, second, blur_map) for image in (bad, first)]
    assert scores[0].e_second == pytest.approx(scores[1].e_second, rel=1e-3)
    assert compare_sharpness(bad, second)[PLACE] == 0
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    for psf in ("gaussian", "disc"):
        depth = estimate_depth(bad, second, camera, psf=psf)
        assert depth.flags[PLACE] & Flag.INVALID
        assert np.isfinite(depth.depth_m).mean() > 0.9


@pytest.mark.parametrize("value", [np.nan, 3.4e38])
def test_functions_of_one_image_do_not_know_what_a_bad_pixel_reaches(pair, value):
    image = pair[0]
    bad = spoil(image, value)
    assert np.isnan(local_sharpness(bad)).sum() == 9
    reduced = decimate(bad, 2)
    assert np.isnan(reduced).sum() == 1
    assert np.isnan(reduced[25, 20])
    assert np.abs(reduced - decimate(image, 2))[:, 40:].max() < 1e-12
    blurred = synth.blur_with_map(bad, 1.0)
    assert np.isnan(blurred).sum() == 29  # a disc of three pixels
    assert np.abs(blurred - synth.blur_with_map(image, 1.0))[:, 60:].max() < 1e-12


@pytest.mark.parametrize("scale", [1e-30, 1e-10, 1e10, 1e30])
def test_any_scale_will_do(pair, scale):
    first, second = pair
    assert not align(scale * first, scale * second).motion.moves
    wanted = stream_map(first, second)
    found = stream_map(scale * first, scale * second)
    assert np.nanmax(np.abs(found.variance_difference - wanted.variance_difference)) < 0.02
    compiled = estimate_blur(scale * first, scale * second, method="window", engine="compiled")
    assert np.isfinite(compiled.variance_difference).mean() > 0.9


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_stream_works_on_in_a_forked_process():
    code = """
import os, sys, numpy as np, relblur
a = np.random.default_rng(0).random((64, 64))
stream = relblur.Stream(a.shape, workers=3)
before = stream.process(a, a).copy()
stream._lock.acquire()  # as if another thread were in the middle of a frame
child = os.fork()
if child == 0:
    after = stream.process(a, a)
    os._exit(0 if np.array_equal(after.flags, before.flags) else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_values_that_no_number_holds_are_refused(pair):
    for call in (lambda a, b: estimate_blur(a, b, method="window", engine="compiled"), stream_map):
        with pytest.raises(InputError, match="no finite pixel"):
            call(1e39 * pair[0] + 1e38, 1e39 * pair[1] + 1e38)


@pytest.fixture
def folder(pair, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, second = pair
    np.save("nan.npy", spoil(first, np.nan))
    np.save("second.npy", second)
    np.save("flat.npy", np.full(first.shape, 0.5))
    np.save("row.npy", first[:1])
    Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2).save("camera.toml")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["estimate", "flat.npy", "same.npy", "-m", "window", "--align", "off", "-o", "out"], "(flat 100.0 %)"),
        (["evaluate", "second.npy", "same.npy"], "neither image is sharper anywhere"),
    ],
)
def test_no_answer_anywhere_is_an_error_that_says_why(folder, arguments, why):
    shutil.copy(arguments[1], "same.npy")
    assert why in failed(run(*arguments), 3)
    assert not os.path.exists("out/blur_map.npz")
