"""``StackMap``: saved, loaded, shown, and brought to full size."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal

import relblur
from relblur import Camera, Flag, InputError, estimate_stack
from relblur.base.errors import FileError
from relblur.filters.guided import enlarge, guided_enlarge

from .conftest import INSIDE, SIZE


def test_a_saved_stack_is_loaded_again(tmp_path, many, few):
    _, frames, options = few
    deep = estimate_stack(frames, **options)
    for number, stack in enumerate((replace(many[2], dropped=((3, "it does not fit"),), factor=2), deep)):
        relblur.save(tmp_path / f"{number}.npz", stack)
        read = relblur.load(tmp_path / f"{number}.npz")
        assert isinstance(read, relblur.StackMap)
        for name in ("index", "index_stderr", "depth_m", "depth_stderr_m", "flags", "places", "place", "growth_px"):
            assert_array_equal(getattr(read, name), getattr(stack, name))
        assert (read.factor, read.order, read.dropped) == (stack.factor, stack.order, stack.dropped)
        assert_array_equal(read.variance_difference(0, 1), stack.variance_difference(0, 1))
        assert read.fused is None


def test_a_damaged_stack_file_is_refused_in_one_line(tmp_path, many):
    many[2].save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as whole:
        parts = dict(whole)
    del parts["place"]
    for change, message in (({}, "lacks 'place'"), ({"place": np.zeros((2, 3))}, "place has shape")):
        np.savez(tmp_path / "b.npz", **parts, **change)
        with pytest.raises(FileError, match=message):
            relblur.load(tmp_path / "b.npz")


def test_a_stack_map_is_written_and_brought_to_full_size(many, tmp_path):
    found = many[2]
    with pytest.raises(InputError, match="npz"):
        found.save(tmp_path / "stack.png")
    replace(found, pixel_um=0.5, factor=2).save(tmp_path / "stack.tif")
    with tifffile.TiffFile(tmp_path / "stack.tif") as stored:
        assert_array_equal(stored.asarray()[0], found.index.astype(np.float32))
        assert stored.pages[0].compression == 8  # deflate
        assert stored.pages[0].get_resolution("micrometer") == (1, 1)
    index, stderr = found.full_size()
    assert index.shape == stderr.shape == found.fused.shape
    with pytest.raises(InputError, match="focus_m"):
        found.full_depth()
    with pytest.raises(InputError, match="fuse"):
        replace(found, fused=None).full_size()


def test_all_maps_have_the_same_methods(many):
    import matplotlib

    matplotlib.use("Agg")
    stack = many[2]
    camera = Camera(coc_constant_px_m=16, focus_first_m=1.0, focus_second_m=2.0)
    depth = relblur.DepthMap(1 / (1 + stack.index), stack.index_stderr, stack.flags, camera)
    blur = relblur.BlurMap(stack.index, stack.index_stderr, stack.flags, np.ones(stack.shape))
    for result in (stack, depth, blur, replace(stack, step_um=2.0)):
        assert result.value.shape == result.stderr.shape == result.flags.shape == result.shape
        assert_array_equal(result.known, np.isfinite(result.value))
        assert_array_equal(np.asarray(result.copy()), result.value)
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


def test_the_fused_picture_is_nearer_to_the_sharp_one_than_any_frame(sharp, many):
    _, frames, found = many
    left = [np.mean((frame - sharp)[INSIDE] ** 2) for frame in frames]
    assert np.mean((found.fused - sharp)[INSIDE] ** 2) < 0.1 * min(left)


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
    assert_allclose(plain[::factor, ::factor][1:], small[1:])
