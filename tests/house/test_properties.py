"""Every public function, over shapes, types, strides, byte orders and NaN: a sound answer or one line of ours.

Nothing else may come out: no other exception, no warning (an error here) but that of alpha, no change to an input.
"""

from __future__ import annotations

import inspect
import warnings
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import relblur
from relblur import RelblurError, optics, synth

KINDS = ("u1", "<u2", ">u2", "<f4", ">f4", "<f8", ">f8", "f2", "i4", "?", "c8")
EDGES = ("plain", "reversed", "every other", "transposed", "fortran", "read-only")

few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
fewer = settings(few, max_examples=10)


@st.composite
def images(draw, colour=None, count=1, nan=True):
    """Some equally large images of one odd kind, as (arrays, channel_axis)."""
    height, width = draw(st.integers(1, 22)), draw(st.integers(1, 26))
    colour = draw(st.booleans()) if colour is None else colour
    shape = (height, width, draw(st.sampled_from([1, 2, 3]))) if colour else (height, width)
    kind, edge = np.dtype(draw(st.sampled_from(KINDS))), draw(st.sampled_from(EDGES))
    content = draw(st.sampled_from(["noise", "flat", "extreme", "step"]))
    rng = np.random.default_rng(draw(st.integers(0, 5)))
    made = []
    for _ in range(count):
        if content == "flat":
            values = np.full(shape, 0.5)
        elif content == "step":
            values = np.broadcast_to(
                (np.arange(width) > width // 2)[:, None] if colour else np.arange(width) > width // 2, shape
            )
        else:
            values = rng.random(shape)
        scale = np.iinfo(kind).max if kind.kind in "ui" else (1e4 if content == "extreme" else 1)
        array = (np.asarray(values, float) * scale).astype(kind)
        if nan and kind.kind == "f" and draw(st.booleans()):
            array.reshape(-1)[:: draw(st.integers(1, 9))] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
        made.append(_laid_out(array, edge))
    return made, (-1 if colour else None)


@st.composite
def photographs(draw):
    """Two pictures of one textured scene, one blurred, of a kind every function takes, as (arrays, channel_axis)."""
    height, width = draw(st.integers(34, 48)), draw(st.integers(36, 52))
    colour = draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 5)))
    scene = 0.1 + 0.8 * rng.random((height, width, 3) if colour else (height, width))
    axis = -1 if colour else None
    blurred = synth.blur_with_map(scene, synth.ramp((height, width), 0.5, draw(st.floats(0.6, 1.2))), channel_axis=axis)
    kind, edge = (
        np.dtype(draw(st.sampled_from(["u1", "<u2", ">u2", "<f4", "<f8", ">f8"]))),
        draw(st.sampled_from(EDGES)),
    )
    scale = np.iinfo(kind).max if kind.kind == "u" else 1
    return [_laid_out((scale * image).astype(kind), edge) for image in (scene, blurred)], axis


@contextmanager
def least_answers(**least):
    """See to it that functions answered so often: tests that are all refused say nothing."""
    ANSWERS.clear()
    yield
    assert {name: (ANSWERS[name], "below", n) for name, n in least.items() if ANSWERS[name] < n} == {}


ANSWERS = Counter()


def _laid_out(array, edge):
    """The same values in another memory layout."""
    if edge == "reversed":
        return array[::-1, ::-1].copy()[::-1, ::-1]
    if edge == "every other":
        wide = np.zeros((2 * array.shape[0], 2 * array.shape[1], *array.shape[2:]), array.dtype)
        wide[::2, ::2] = array
        return wide[::2, ::2]
    if edge == "transposed":
        return np.ascontiguousarray(array.swapaxes(0, 1)).swapaxes(0, 1)
    if edge == "fortran":
        return np.asfortranarray(array)
    if edge == "read-only":
        array = array.copy()
        array.setflags(write=False)
    return array


def _answer(function, *arguments, **options):
    """Call; None if refused in one line. The arrays among the arguments must stay as they were."""
    before = [a.tobytes() for a in arguments if isinstance(a, np.ndarray)]
    refusal, result = "refused", None
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "the last of . channels is alpha")  # which it may well be
            result = function(*arguments, **options)
        ANSWERS[function.__name__] += 1
    except RelblurError as error:
        refusal = str(error)
    assert refusal
    assert "\n" not in refusal
    assert [a.tobytes() for a in arguments if isinstance(a, np.ndarray)] == before
    return result


def _check_map(found, shape):
    assert found.shape == shape
    known = np.isfinite(found.variance_difference)
    assert (np.isnan(found.variance_difference) == ~known).all()  # never infinite
    assert (found.variance_stderr[known] >= 0).all()
    assert (found.flags[~known] != 0).all()  # no answer has a reason
    assert set(np.unique(found.sharper)) <= {-1, 0, 1}
    assert np.isfinite(found.sigma[known]).all()


@few
@given(images(count=2), st.sampled_from([1, 3, 5]), st.sampled_from(["auto", "first", "second"]), st.booleans())
def test_estimate_blur_window(pair, window, sharper, small):
    (first, second), axis = pair
    largest = 0.5 if small else None
    found = _answer(
        relblur.estimate_blur, first, second, method="window", window=window, sharper=sharper, max_sigma=largest,
        channel_axis=axis, engine="opencv",
    )  # fmt: skip
    if found is not None:
        _check_map(found, first.shape[:2])


@few
@given(images(count=2), st.sampled_from(["paper", "refined"]), st.sampled_from(["auto", "first", "second"]))
def test_estimate_blur_paper_and_refined(pair, method, sharper):
    (first, second), axis = pair
    found = _answer(
        relblur.estimate_blur, first, second, method=method, window=3, sharper=sharper, max_sigma=0.8,
        channel_axis=axis,
    )  # fmt: skip
    if found is not None:
        _check_map(found, first.shape[:2])


@few
@given(images(count=2), st.sampled_from([1, 3, 5]))
def test_sharpness(pair, size):
    (first, second), axis = pair
    sharpness = _answer(relblur.paper.local_sharpness, first, size, channel_axis=axis)
    if sharpness is not None:
        assert sharpness.shape == first.shape[:2]
        # Unknown only where the image is.
        assert ((sharpness >= 0) | (np.isnan(sharpness) & (not np.isfinite(first).all()))).all()
    side = _answer(relblur.paper.compare_sharpness, first, second, size, channel_axis=axis)
    if side is not None:
        assert set(np.unique(side)) <= {-1, 0, 1}


@few
@given(images(), st.integers(-1, 7))
def test_decimate(image, factor):
    (array,), axis = image
    small = _answer(relblur.decimate, array, factor, channel_axis=axis)
    if small is not None:
        assert small.shape[:2] == tuple(-(-n // factor) for n in array.shape[:2])
        assert (np.isfinite(small) | (np.isnan(small) & (not np.isfinite(array).all()))).all()


@few
@given(images(colour=False), st.lists(st.floats(-1, 3), max_size=3))
def test_gaussian_bank(image, sigmas):
    (array,), _ = image
    bank = _answer(relblur.paper.gaussian_bank, array, sigmas)
    if bank is not None:
        assert bank.shape == (len(sigmas), *array.shape)


@fewer
@given(images(count=2))
def test_evaluate_and_resynthesize(pair):
    (first, second), axis = pair
    options = {"method": "window", "window": 3, "max_sigma": 0.5, "engine": "opencv"}
    score = _answer(relblur.evaluate_pair, first, second, channel_axis=axis, **options)
    if score is not None:
        assert 0 <= score.equal_fraction <= 1
    found = _answer(relblur.estimate_blur, first, second, channel_axis=axis, **options)
    if found is not None:
        made = _answer(relblur.resynthesize, first, second, found, channel_axis=axis)
        assert made.shape[:2] == first.shape[:2]


def _match_and_measure(pair):
    (first, second), axis = pair
    _answer(relblur.align, first, second, channel_axis=axis)
    _answer(relblur.match_exposure, first, second, channel_axis=axis)
    model = _answer(relblur.estimate_noise, first, second, channel_axis=axis)
    if model is not None:
        assert model.read >= 0
        assert model.shot >= 0


@fewer
@given(images(count=2))
def test_alignment_exposure_and_noise(pair):
    _match_and_measure(pair)


def _prepare(pair):
    (first, second), axis = pair
    ready = _answer(relblur.prepare_pair, first, second, channel_axis=axis)
    assert ready is None or ready.first.shape == ready.second.shape
    assert ready is None or ready.first.shape[2:] == first.shape[2:]


@fewer
@given(images(count=2))
def test_prepare_pair(pair):
    _prepare(pair)


@fewer
@given(images(count=2))
def test_estimate_stack(pair):
    (first, second), axis = pair
    stack = _answer(relblur.estimate_stack, [first, second, first], channel_axis=axis, align="off", fuse=False)
    assert stack is None or (stack.index.shape == stack.flags.shape == first.shape[:2])


@few
@given(images(count=2), st.integers(-1, 40), st.integers(-1, 40))
def test_pixel_curve(pair, row, column):
    (first, second), axis = pair
    curve = _answer(relblur.pixel_curve, first, second, row, column, channel_axis=axis)
    assert curve is None or np.isfinite(curve.roots).all()


@pytest.mark.slow
def test_prepare_pair_of_photographs():
    with least_answers(prepare_pair=10):
        fewer(given(photographs())(_prepare))()


def test_alignment_exposure_and_noise_of_photographs():
    with least_answers(align=10, match_exposure=10, estimate_noise=10):
        fewer(given(photographs())(_match_and_measure))()


DISTANCES = st.one_of(st.floats(1e-3, 50), st.sampled_from([-1.0, 0.0, np.nan, np.inf]))
LENS = relblur.Camera(coc_constant_px_m=8.0, focus_first_m=1.0, focus_second_m=2.0)


@fewer
@given(images(count=2), st.sampled_from(["gaussian", "disc"]), DISTANCES)
def test_depth(pair, psf, distance):
    (first, second), axis = pair
    depth = _answer(relblur.estimate_depth, first, second, LENS, psf=psf, channel_axis=axis, window=3)
    if depth is not None:
        assert depth.depth_m.shape == first.shape[:2]
        assert not (depth.depth_m <= 0).any()
    options = {"method": "window", "window": 3, "max_sigma": 0.5, "engine": "opencv"}
    found = _answer(relblur.estimate_blur, first, second, channel_axis=axis, **options)
    if found is not None:
        assert _answer(relblur.blur_to_depth, found, LENS).depth_m.shape == first.shape[:2]
        inside = _answer(relblur.in_depth_range, found, LENS)
        assert inside is not None
        _answer(relblur.calibrate, found, LENS, depth_m=distance)
        sharp = _answer(relblur.all_in_focus, first, second, found, channel_axis=axis)
        assert sharp is None or sharp.shape == first.shape
        if depth is not None:
            _answer(relblur.refocus, first, second, depth, distance, channel_axis=axis)


def _all_about_depth(pair, distance):
    (first, second), axis = pair
    found = _answer(relblur.estimate_blur, first, second, channel_axis=axis, method="window", engine="opencv")
    _check_map(found, first.shape[:2])
    depth = _answer(relblur.blur_to_depth, found, LENS)
    assert not (depth.depth_m <= 0).any()
    # Distances that the blur itself tells, so that a constant other than the camera's own explains them.
    known = np.where(np.isfinite(depth.depth_m), depth.depth_m, np.nan)
    other = replace(LENS, blur_constant=1.2 * LENS.blur_constant)
    calibrated = _answer(relblur.calibrate, found, other, depth_m=known)
    if calibrated is not None:
        assert 0 < calibrated.values["blur_constant"] < 1.5
        assert len(calibrated.residual_px2) == calibrated.points
    assert _answer(relblur.all_in_focus, first, second, found, channel_axis=axis).shape == first.shape
    assert _answer(relblur.refocus, first, second, depth, distance, channel_axis=axis).shape == first.shape


def test_depth_of_photographs():
    with least_answers(blur_to_depth=10, calibrate=8, all_in_focus=10, refocus=10):
        fewer(given(photographs(), st.floats(0.5, 50))(_all_about_depth))()


@few
@given(images(nan=True))
def test_depth_to_blur(image):
    (array,), _ = image
    with np.errstate(all="ignore"):
        _answer(relblur.depth_to_blur, array, LENS)


@pytest.mark.slow
@fewer
@given(images(count=2))
def test_stream(pair):
    (first, second), _ = pair
    stream = _answer(relblur.Stream, first.shape, window=3, max_sigma=0.5, workers=1)
    if stream is not None:
        found = _answer(stream.process, first, second)
        assert found is None or found.shape == first.shape[:2]


@few
@given(images(), st.sampled_from([".png", ".tif", ".npy", ".jpg", ".bmp", ""]))
def test_save_and_imread(tmp_path_factory, image, suffix):
    (array,), _ = image
    folder = tmp_path_factory.mktemp("saved")
    path = folder / f"image{suffix}"
    _answer(relblur.save, path, array)
    left = [p.name for p in folder.iterdir()]
    assert left in ([], [path.name])  # the file or nothing, and no remains
    if left:
        _answer(relblur.imread, path)
        _answer(relblur.read_photograph, path)
        _answer(relblur.load, path)
        _answer(relblur.open_stack, path)


@few
@given(images(), st.floats(-1, 4), st.floats(-1, 4), st.integers(-1, 2))
def test_synth(image, start, stop, axis):
    (array,), channel_axis = image
    ramp = _answer(synth.ramp, array.shape[:2], start, stop, axis)
    if ramp is not None:
        assert ramp.shape == array.shape[:2]
        _answer(synth.blur_with_map, array, ramp, channel_axis=channel_axis)
        _answer(synth.pair, array, ramp, channel_axis=channel_axis)
    _answer(synth.degrade, array, noise=abs(start), bits=8, rng=np.random.default_rng(0))


NUMBERS = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True), st.integers(-3, 3), st.just(np.array([1.0, np.nan, 3.0])[::-1])
)


@pytest.mark.parametrize("name", optics.__all__)
@few
@given(data=st.data())
def test_optics(name, data):
    function = getattr(optics, name)
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    arguments = [data.draw(NUMBERS) for _ in needed if _.kind is not _.KEYWORD_ONLY]
    options = {p.name: data.draw(NUMBERS) for p in needed if p.kind is p.KEYWORD_ONLY}
    with np.errstate(all="ignore"):
        _answer(function, *arguments, **options)


@fewer
@given(st.lists(st.floats(-1, 1.5), max_size=3), st.integers(-1, 6), st.floats(-1, 3))
def test_framework(sigmas, n_radii, radius_limit):
    framework = _answer(relblur.paper.Framework, sigmas, n_radii, radius_limit)
    if framework is not None:
        assert framework.window_size % 2 == 1


def test_open_stack(tmp_path):
    import tifffile

    planes = np.arange(3 * 4 * 5, dtype=np.uint16).reshape(3, 4, 5)
    tifffile.imwrite(tmp_path / "z.tif", planes, photometric="minisblack")
    opened = relblur.open_stack(tmp_path / "z.tif")
    assert len(opened.planes) == 3


def test_no_public_function_is_forgotten():
    functions = {name for name in relblur.__all__ if inspect.isfunction(getattr(relblur, name))}
    covered = {name for name in functions if f"relblur.{name}" in inspect.getsource(inspect.getmodule(_answer))}
    assert functions == covered
