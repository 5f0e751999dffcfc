"""Stacks of images: order, alignment, index, depth, blur, fused picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal

import relblur
from relblur import Camera, Flag, InputError, estimate_blur, estimate_depth, estimate_stack, prepare_pair, synth
from relblur.base.errors import FileError
from relblur.depth.psf import as_psf
from relblur.filters.guided import enlarge, guided_enlarge
from relblur.stacks.frames import Reading, read_frames
from relblur.stacks.order import focus_order

SIZE = 72
GROWTH = 0.7  # px a frame


@pytest.fixture(scope="module")
def sharp():
    rng = np.random.default_rng(7)
    noise = rng.random((SIZE, SIZE))
    return 0.2 + 0.6 * synth.blur_with_map(noise, 0.5)


def ramp(first, last):
    return np.tile(np.linspace(first, last, SIZE), (SIZE, 1))


def stack_of(sharp, index, count, growth=GROWTH):
    """Frames in focus at 0, 1, ...; blurred by ``growth`` px a frame."""
    return [synth.blur_with_map(sharp, growth * np.abs(index - i)) for i in range(count)]


INSIDE = np.s_[10:-10, 10:-10]


@pytest.fixture(scope="module")
def many(sharp):
    index = ramp(2.0, 7.0)
    frames = stack_of(sharp, index, 10)
    return index, frames, estimate_stack(frames, align="off", exposure="off")


@pytest.fixture(scope="module")
def few(sharp):
    camera = Camera(coc_constant_px_m=16, focus_first_m=1.0, focus_second_m=2.0)
    focus = [1.0, 4 / 3, 2.0]
    u = ramp(1.0, 0.5)
    frames = [synth.blur_with_map(sharp, camera.blur_constants_px_m[0] * np.abs(u - 1 / f)) for f in focus]
    return camera, focus, u, frames


def test_many_frames_tell_the_index_with_an_honest_error(many):
    index, _, found = many
    error = (found.index - index)[INSIDE]
    assert np.sqrt(np.mean(error**2)) < 0.08
    assert abs(error.mean()) < 0.03
    within = np.abs(error) < 2 * found.index_stderr[INSIDE]
    assert within.mean() > 0.8
    assert found.settings["method"] == "symmetric"
    assert found.depth_m is None


def test_absolute_blur_follows_from_the_stack_itself(many):
    index, _, found = many
    assert_allclose(found.growth_px, GROWTH, rtol=0.1)
    assert found.sigma_px.shape == (10, SIZE, SIZE)
    assert_allclose(found.sigma_px[0][INSIDE], GROWTH * index[INSIDE], rtol=0.2)
    expected = found.sigma_px[4] ** 2 - found.sigma_px[2] ** 2
    assert_allclose(found.variance_difference(2, 4), expected, atol=1e-9)


def test_the_fused_picture_is_nearer_to_the_sharp_one_than_any_frame(sharp, many):
    _, frames, found = many
    left = [np.mean((frame - sharp)[INSIDE] ** 2) for frame in frames]
    assert np.mean((found.fused - sharp)[INSIDE] ** 2) < 0.1 * min(left)


@pytest.mark.slow
def test_a_shuffled_stack_gives_the_same_map(many):
    _, frames, found = many
    order = [6, 2, 9, 0, 4, 7, 1, 5, 3, 8]
    shuffled = estimate_stack([frames[i] for i in order], align="off", exposure="off", fuse=False)
    again = [order[i] for i in shuffled.order]
    assert again in (list(range(10)), list(range(9, -1, -1)))
    index = shuffled.index if again[0] == 0 else 9 - shuffled.index
    assert_allclose(index[INSIDE], found.index[INSIDE], atol=0.05)
    assert any("order of focus" in note for note in shuffled.settings["notes"])


def test_the_order_of_a_sorted_stack_is_left_alone_even_of_a_plane(sharp):
    for index in (ramp(1, 6), np.full((SIZE, SIZE), 3.0)):
        assert focus_order(stack_of(sharp, index, 8)) == list(range(8))


def test_few_frames_and_a_camera_tell_the_depth(few):
    camera, focus, u, frames = few
    order = [2, 0, 1]
    found = estimate_stack(
        [frames[i] for i in order], focus_m=[focus[i] for i in order], camera=camera, psf="gaussian", align="off",
        exposure="off",
    )  # fmt: skip
    assert found.order == (1, 2, 0)  # near first
    assert_allclose(found.places, [1, 0.75, 0.5])
    relative = np.abs(found.depth_m * u - 1)[INSIDE]
    assert relative.mean() < 0.01
    error = np.abs(found.index - np.interp(u, [0.5, 0.75, 1], [2, 1, 0]))[INSIDE]
    assert np.quantile(error, 0.99) < 0.06
    assert found.settings["method"] == "joint"


def test_the_engine_that_is_asked_for_changes_nothing_of_a_joint_map(few):
    camera, focus, _, frames = few
    options = {"focus_m": focus, "camera": camera, "psf": "gaussian", "align": "off", "exposure": "off", "fuse": False}
    wanted, found = (estimate_stack(frames, engine=engine, **options) for engine in ("auto", "compiled"))
    assert wanted.settings["method"] == "joint"
    assert_array_equal(found.depth_m, wanted.depth_m)


def test_a_frame_that_contradicts_the_others_widens_the_error_bar(sharp, few):
    camera, focus, _, _ = few
    u, rng = 0.8, np.random.default_rng(0)
    frames = [
        synth.blur_with_map(sharp, np.full(sharp.shape, camera.blur_constants_px_m[0] * abs(u - 1 / f))) for f in focus
    ]
    frames = [frame + 0.002 * rng.standard_normal(frame.shape) for frame in frames]
    options = {"focus_m": focus, "camera": camera, "psf": "gaussian", "align": "off", "exposure": "off", "fuse": False}
    agreed = estimate_stack(frames, **options)
    frames[1] = synth.blur_with_map(frames[1], np.full(sharp.shape, 0.5))  # blurrier than any place allows
    found = estimate_stack(frames, **options)
    for each in (agreed, found):
        error = np.abs(1 / each.depth_m - u)[INSIDE]
        assert (error < 2 * (each.depth_stderr_m / each.depth_m**2)[INSIDE]).mean() > 0.9
    assert np.median(found.index_stderr[INSIDE]) > 3 * np.median(agreed.index_stderr[INSIDE])


def test_a_wall_is_flagged_whatever_the_noise_on_it(sharp, few):
    """Noise that is correlated looks a little more like one blur than like another, and a wall is large."""
    camera, focus, _, _ = few
    wall = np.zeros(sharp.shape, bool)
    wall[:, : sharp.shape[1] // 2] = True
    scene = np.where(wall, 0.5, sharp)
    frames = []
    for number, f in enumerate(focus):
        seen = synth.blur_with_map(scene, np.full(scene.shape, camera.blur_constants_px_m[0] * abs(0.8 - 1 / f)))
        noise = 0.01 * np.random.default_rng(number).standard_normal(scene.shape)
        frames.append(seen + synth.blur_with_map(noise, np.full(scene.shape, 0.3 + 0.4 * number)))
    found = estimate_stack(
        frames, focus_m=focus, camera=camera, psf="gaussian", align="off", exposure="off", fuse=False
    )
    inner = wall.copy()
    inner[:, sharp.shape[1] // 2 - 12 :] = False
    assert (found.flags[inner] != 0).mean() > 0.97
    assert (found.flags[INSIDE][~wall[INSIDE]] != 0).mean() < 0.3


@pytest.mark.slow
def test_few_frames_without_a_camera_measure_the_growth_of_blur(sharp):
    index = ramp(0.5, 3.5)
    found = estimate_stack(stack_of(sharp, index, 5, 1.0), align="off", exposure="off", fuse=False)
    assert_allclose(found.growth_px, 1.0, rtol=0.15)
    assert np.abs(found.index - index)[INSIDE].mean() < 0.1


@pytest.mark.slow
def test_two_images_are_a_pair(few):
    camera, _, _, frames = few
    both = frames[0], frames[2]
    found = estimate_stack(both, camera=camera, psf="gaussian", align="off", exposure="off")
    pair = prepare_pair(*both, align="off", exposure="off")
    blur, depth = estimate_blur(pair), estimate_depth(pair, camera, psf="gaussian")
    assert_array_equal(found.blur_map.variance_difference, blur.variance_difference)
    assert_array_equal(found.variance_difference(1, 0), -blur.variance_difference)
    assert_array_equal(found.depth_m, depth.depth_m)
    assert_array_equal(found.depth_stderr_m, depth.depth_stderr_m)
    assert_array_equal(found.flags, depth.flags)
    unknown = estimate_stack(both, align="off", exposure="off", fuse=False)
    assert np.isnan(unknown.index).all()
    assert unknown.depth_m is None


@pytest.mark.parametrize("place", [0, 2, 3])  # 2: the one on which the others would be laid
def test_a_frame_of_another_scene_is_left_out_and_said(sharp, place):
    frames = stack_of(sharp, ramp(0, 3), 4, 0.8)
    frames.insert(place, np.random.default_rng(3).random((SIZE, SIZE)))
    prepared = read_frames(frames, Reading(), [1.0, 2.0, 3.0, 4.0, 5.0], lambda share: None)
    assert [number for number, _ in prepared.dropped] == [place]
    assert [frame.number for frame in prepared.frames] == [i for i in range(5) if i != place]
    assert [frame.position for frame in prepared.frames] == [i for i in range(5) if i != place]
    assert any(f"left out: images[{place}]" in note for note in prepared.notes)


def test_breathing_and_exposure_drift_are_undone(sharp):
    large = np.pad(sharp, 12, mode="reflect")
    frames = stack_of(sharp, ramp(0, 3), 4, 0.8)
    moved = []
    for i, frame in enumerate(frames):
        wide = np.pad(frame, 12, mode="reflect")
        moved.append((1 - 0.1 * i) * wide[12 + i : 12 + i + SIZE, 12 - i : 12 - i + SIZE])
    assert large.shape == wide.shape
    prepared = read_frames(moved, Reading(), [1.0, 2.0, 3.0, 4.0], lambda share: None)
    assert prepared.dropped == ()
    reference = prepared.frames[1]
    assert reference.motion is None
    full, inside = prepared.full(prepared.frames[3])
    expected = np.pad(frames[3], 12, mode="reflect")[13 : 13 + SIZE, 11 : 11 + SIZE]
    assert_allclose(full[:, :, 0][INSIDE], 0.9 * expected[INSIDE], atol=0.03)
    assert inside is not None
    assert not inside.all()


def test_gaps_and_clipped_pixels_do_not_spread(sharp):
    frames = [np.array(frame) for frame in stack_of(sharp, ramp(2, 7), 9)]
    frames[3][20:24, 30:34] = np.nan
    found = estimate_stack(frames, align="off", exposure="off")
    assert np.isfinite(found.fused).all()
    assert (found.flags[20:24, 30:34] & Flag.INVALID).all()
    assert not (found.flags[50:, 50:] & Flag.INVALID).any()


@pytest.mark.parametrize("value", [np.inf, 3e38])
def test_one_pixel_that_is_infinite_or_overflows_is_left_out(sharp, value):
    frames = [frame.astype(np.float32) for frame in stack_of(sharp, ramp(0.5, 1.5), 3)]
    whole = estimate_stack(frames, align="off", exposure="off", fuse=False)
    frames[0][40, 50] = value
    found = estimate_stack(frames, align="off", exposure="off", fuse=False)
    assert np.nanmedian(np.abs(found.index - whole.index)[:20]) < 0.01
    assert found.flags[40, 50] & Flag.INVALID


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"images": ["one.png"]}, "two images or more"),
        ({"images": 3}, "list of images"),
        ({"images": [np.ones((9, 9))] * 3, "focus_m": [1, 2]}, "2 distances for 3 images"),
        ({"images": [np.ones((9, 9))] * 3, "focus_m": [1, 2, 2]}, "twice"),
        ({"images": [np.ones((9, 9))] * 3, "focus_m": [1, 2, -2]}, "focus_m"),
        ({"images": [np.ones((19, 19)), np.ones((19, 18)), np.ones((19, 19))]}, "differ in size"),
        ({"images": [np.ones((9, 60))] * 9, "align": "off"}, "60x9; a stack needs at least 16x16"),
        ({"images": [np.ones((9, 9))] * 3, "camera": "cam.toml"}, "camera must be a Camera"),
        ({"images": [np.ones((9, 9))] * 3, "decimate": "some"}, "decimate"),
        ({"images": [np.ones((9, 9))] * 3, "align": "much"}, "align"),
    ],
)
def test_bad_requests_are_refused(arguments, match):
    images = arguments.pop("images")
    with pytest.raises(InputError, match=match):
        estimate_stack(images, **arguments)


def test_a_camera_without_distances_is_refused(sharp, few):
    with pytest.raises(InputError, match="focus_m"):
        estimate_stack([sharp, sharp, sharp], camera=few[0], align="off", exposure="off")


@pytest.mark.parametrize("factor", [2, 3])
def test_a_small_map_follows_the_outlines_of_the_picture(factor):
    rows, columns = 61, 80
    picture = np.where(np.arange(columns) < 41, 0.2, 0.8) * np.ones((rows, columns))
    truth = np.where(picture > 0.5, 4.0, 1.0)
    small = truth[::factor, ::factor].copy()
    small[0, 0] = np.nan
    values, stderr = guided_enlarge(small, np.full(small.shape, 0.1), picture, factor)
    plain = enlarge(np.where(np.isnan(small), 1.0, small), picture.shape, factor)
    assert np.abs(values - truth)[5:].max() < 0.5 * np.abs(plain - truth)[5:].max()
    assert np.isnan(values[0, 0])
    assert np.isnan(stderr[0, 0])
    assert_allclose(stderr[30, [5, 75]], 0.1, rtol=0.05)  # far from the outline nothing moved


def test_enlarging_keeps_the_pixels_that_the_map_has():
    small = np.arange(12.0).reshape(3, 4)
    for shape in ((9, 12), (7, 10)):
        assert_allclose(enlarge(small, shape, 3)[::3, ::3], small)
        assert_array_equal(enlarge(small, shape, 3, nearest=True)[::3, ::3], small)


def test_a_stack_map_can_be_saved_shown_and_brought_to_full_size(many, tmp_path):
    _, _, found = many
    found.save(tmp_path / "stack.npz")
    with np.load(tmp_path / "stack.npz") as stored:
        assert_array_equal(stored["index"], found.index)
    with pytest.raises(InputError, match="npz"):
        found.save(tmp_path / "stack.png")
    replace(found, pixel_um=0.5, factor=2).save(tmp_path / "stack.tif")
    with tifffile.TiffFile(tmp_path / "stack.tif") as stored:
        assert_array_equal(stored.asarray()[0], found.index.astype(np.float32))
        assert stored.pages[0].compression == 8  # deflate
        assert stored.pages[0].resolutionunit == 3  # centimetres
        assert stored.pages[0].get_resolution("micrometer") == (1, 1)
    found.save(tmp_path / "stack.npy")
    assert_array_equal(np.load(tmp_path / "stack.npy"), found.index)
    assert "10 frames" in repr(found)
    index, stderr = found.full_size()
    assert index.shape == stderr.shape == found.fused.shape
    with pytest.raises(InputError, match="focus_m"):
        found.full_depth()
    with pytest.raises(InputError, match="fuse"):
        replace(found, fused=None).full_size()
    assert relblur.StackMap is type(found)


def test_all_maps_have_the_same_ways_to_be_looked_at(many):
    """One base: value, stderr, known, plot, to_xarray, copy, notebook view, text, array."""
    import matplotlib

    matplotlib.use("Agg")
    stack = many[2]
    camera = Camera(coc_constant_px_m=16, focus_first_m=1.0, focus_second_m=2.0)
    depth = relblur.DepthMap(1 / (1 + stack.index), stack.index_stderr, stack.flags, camera)
    blur = relblur.BlurMap(stack.index, stack.index_stderr, stack.flags, np.ones(stack.shape))
    for result in (stack, depth, blur, replace(stack, step_um=2.0)):
        assert result.value.shape == result.stderr.shape == result.flags.shape == result.shape
        assert_array_equal(result.known, np.isfinite(result.value))
        assert_array_equal(np.asarray(result), result.value)
        copy = result.copy()
        assert copy is not result
        assert_array_equal(copy.value, result.value)
        assert "flag_masks" in result.to_xarray()["flags"].attrs
        assert result.plot().get_array().shape == result.shape
        assert type(result).__name__ in result._repr_html_()
        assert "answered" in str(result)
        relblur.plot.stderr(result)
        relblur.plot.flags(result)
    filled = np.where(np.arange(SIZE) < 20, np.uint8(Flag.FILLED), np.uint8(0)) * np.ones((SIZE, 1), np.uint8)
    drawn = replace(stack, flags=filled, index_stderr=np.full(stack.shape, 2.0)).plot()
    assert drawn.get_alpha()[:, :20].max() < 0.2 < drawn.get_alpha()[:, 20:].min() == 1
    assert_array_equal(replace(stack, step_um=2.0).to_xarray()["height"], 2 * stack.index)


def test_the_joint_residuals_of_two_frames_are_those_of_the_pair(few):
    """Two frames, one residual: white in noise at every level, and zero at the true place."""
    from relblur.stacks.few import JointTask, _noise_power, _residuals

    camera, focus, _, _ = few
    places = 1 / np.array([focus[0], focus[2]])
    task = JointTask(places, np.array(camera.circle_constants_px_m), as_psf("gaussian", 0.25), (0.4, 1.1), 0.25)
    axis = task.axis(SIZE * SIZE)
    scene = np.random.default_rng(0).random((1, SIZE, SIZE)).astype(np.float32)
    sigma = camera.blur_constants_px_m[0] * np.abs(0.75 - places)
    planes = [synth.blur_with_map(scene[0], each)[None].astype(np.float32) for each in sigma]
    residuals = _residuals(planes, task, axis, 1, lambda share: None)
    power = np.square(residuals[0][:, 12:-12, 12:-12]).mean(axis=(1, 2))
    assert abs(axis.u(axis.levels[power.argmin()]) - 0.75) < 0.02
    assert _noise_power(task, axis).total.max() < 1


def assert_same_stack(read, stack):
    for name in ("index", "index_stderr", "depth_m", "depth_stderr_m", "flags", "places", "place"):
        assert_array_equal(getattr(read, name), getattr(stack, name))
    assert (read.factor, read.order, read.dropped) == (stack.factor, stack.order, stack.dropped)
    assert_array_equal(read.growth_px, stack.growth_px)
    assert read.settings["method"] == stack.settings["method"]


def test_a_saved_stack_is_loaded_again(tmp_path, many, few):
    stack = replace(many[2], dropped=((3, "it does not fit"),), factor=2)
    relblur.save(tmp_path / "many.npz", stack)
    read = relblur.load(tmp_path / "many.npz")
    assert isinstance(read, relblur.StackMap)
    assert_same_stack(read, stack)
    assert_array_equal(read.sigma_px, stack.sigma_px)
    assert read.fused is None
    camera, focus, _, frames = few
    two = estimate_stack([frames[0], frames[2]], focus_m=[focus[0], focus[2]], camera=camera, align="off")
    two.save(tmp_path / "two.npz")
    again = relblur.StackMap.load(tmp_path / "two.npz")
    assert_same_stack(again, two)
    assert_array_equal(again.variance_difference(0, 1), two.variance_difference(0, 1))


def test_a_damaged_stack_file_is_refused_in_one_line(tmp_path, many):
    many[2].save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as whole:
        parts = dict(whole)
    del parts["place"]
    np.savez(tmp_path / "b.npz", **parts)
    with pytest.raises(FileError, match="lacks 'place'"):
        relblur.load(tmp_path / "b.npz")
    parts["place"] = np.zeros((2, 3))
    np.savez(tmp_path / "c.npz", **parts)
    with pytest.raises(FileError, match="place has shape"):
        relblur.load(tmp_path / "c.npz")


def test_masks_noise_and_limits_as_for_pairs(sharp, many, few):
    index, frames, _ = many
    valid = np.ones((SIZE, SIZE), bool)
    valid[20:30, 20:30] = False
    spoilt = [frame.copy() for frame in frames]
    spoilt[4][20:30, 20:30] = 0.9
    masked = estimate_stack(spoilt, align="off", exposure="off", valid=valid, fuse=False)
    assert (masked.flags[22:28, 22:28] & np.uint8(Flag.INVALID)).all()
    assert np.abs(masked.index - index)[INSIDE].mean() < 0.1
    each = np.zeros((10, SIZE, SIZE), bool)
    each[4, 20:30, 20:30] = True
    clipped = estimate_stack(spoilt, align="off", exposure="off", clipped=each, fuse=False)
    assert_array_equal(clipped.flags & np.uint8(Flag.INVALID), masked.flags & np.uint8(Flag.INVALID))
    with pytest.raises(InputError, match="noise is not used for 10 images"):
        estimate_stack(frames, noise=0.01)
    with pytest.raises(InputError, match="3 masks for 10 images"):
        estimate_stack(frames, valid=each[:3])
    camera, focus, _, images = few
    two = estimate_stack(images[:2], align="off", exposure="off", valid=valid, noise=0.01, max_sigma=2.0, fuse=False)
    pair = estimate_blur(
        prepare_pair(*images[:2], align="off", exposure="off", valid=valid, max_sigma=2.0), noise=0.01, max_sigma=2.0
    )
    assert_array_equal(two.blur_map.variance_difference, pair.variance_difference)
    options = {"focus_m": focus, "camera": camera, "psf": "gaussian", "align": "off", "exposure": "off", "fuse": False}
    plain, noisy = (estimate_stack(images, noise=noise, **options) for noise in (1e-3, 3e-2))
    assert np.median(noisy.depth_stderr_m) > 2 * np.median(plain.depth_stderr_m)
    wide = ramp(1.3, 0.5)
    growth = camera.blur_constants_px_m[0]
    images = [synth.blur_with_map(sharp, growth * np.abs(wide - 1 / f)) for f in focus]
    assert estimate_stack(images, **options).place.max() > 1.2
    assert estimate_stack(images, max_sigma=0.3, **options).place.max() < 1 + 0.31 / growth


def test_a_stack_that_tells_little_says_so(sharp, many):
    assert many[2].settings["doubts"] == []
    frames = stack_of(sharp, ramp(2.0, 7.0), 10, growth=0.05)
    doubts = estimate_stack(frames, align="off", exposure="off", fuse=False).settings["doubts"]
    assert any("hardly grows" in each for each in doubts)
    wall = [0.5 + 0 * frame + 1e-3 * np.random.default_rng(n).random(frame.shape) for n, frame in enumerate(frames)]
    wall = [np.where(np.arange(SIZE) < 10, frame, flat) for frame, flat in zip(many[1], wall, strict=True)]
    doubts = estimate_stack(wall, align="off", exposure="off", fuse=False).settings["doubts"]
    assert any("most of the map is not measured" in each for each in doubts)


def test_planes_of_one_file_are_a_stack_with_heights(many, tmp_path):
    _, frames, _ = many
    values = np.rint(60000 * np.stack(frames)).astype(np.uint16)
    scale = {"PhysicalSizeX": 0.4, "PhysicalSizeY": 0.4, "PhysicalSizeZ": 2.5}
    tifffile.imwrite(
        tmp_path / "z.ome.tif", values, metadata={"axes": "ZYX", **scale}, photometric="minisblack", compression="zlib"
    )
    stack = estimate_stack(tmp_path / "z.ome.tif", align="off", exposure="off", fuse=False)
    assert (stack.step_um, stack.pixel_um) == (2.5, 0.4)
    assert_allclose(stack.height_um, 2.5 * stack.index)
    assert_array_equal(stack.index, estimate_stack(list(values), align="off", exposure="off", fuse=False).index)
    assert stack.settings["images"][0] == "z.ome.tif[1]"
    assert "scale: step 2.5 µm, pixel 0.4 µm" in stack.settings["notes"]
    again = estimate_stack(frames[::-1], align="off", exposure="off", fuse=False, step_um=1.0)
    assert again.order == tuple(range(10))  # even steps: the order given is that of the stage
    stack.save(tmp_path / "a.npz")
    assert relblur.load(tmp_path / "a.npz").step_um == 2.5
