"""Frames of a stack: their order, alignment and exposure, and files of many planes."""

from __future__ import annotations

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from relblur.errors import FileError, InputError

import relblur
from relblur import estimate_stack
from relblur.stacks.order import focus_order

from .conftest import INSIDE, PLAIN, SIZE, prepared, ramp, stack_of


def test_a_shuffled_stack_is_brought_into_order(many):
    order = [6, 2, 9, 0, 4, 7, 1, 5, 3, 8]
    frames = prepared([many[1][i] for i in order], **PLAIN)
    again = [order[frame.number] for frame in frames.frames]
    assert again in (list(range(10)), list(range(9, -1, -1)))
    assert any("order of focus" in note for note in frames.notes)


@pytest.mark.parametrize("index", [ramp(1, 6), np.full((SIZE, SIZE), 3.0)])
def test_the_order_of_a_sorted_stack_is_left_alone_even_of_a_plane(sharp, index):
    assert focus_order(stack_of(sharp, index, 8)) == list(range(8))


@pytest.mark.parametrize("place", [0, 2, 3])  # 2: the one to which the others would be aligned
def test_a_frame_of_another_scene_is_left_out_and_named(sharp, place):
    frames = stack_of(sharp, ramp(0, 3), 4, 0.8)
    frames.insert(place, np.random.default_rng(3).random((SIZE, SIZE)))
    found = prepared(frames, [1.0, 2.0, 3.0, 4.0, 5.0])
    assert [number for number, _ in found.dropped] == [place]
    assert [frame.position for frame in found.frames] == [i for i in range(5) if i != place]
    assert any(f"left out: images[{place}]" in note for note in found.notes)


def test_breathing_and_exposure_drift_are_undone(sharp):
    frames = stack_of(sharp, ramp(0, 3), 4, 0.8)
    wide = [np.pad(frame, 12, mode="reflect") for frame in frames]
    moved = [(1 - 0.1 * i) * each[12 + i : 12 + i + SIZE, 12 - i : 12 - i + SIZE] for i, each in enumerate(wide)]
    found = prepared(moved, [1.0, 2.0, 3.0, 4.0])
    assert found.dropped == ()
    assert found.frames[1].motion is None
    full, inside = found.full(found.frames[3])
    expected = wide[3][13 : 13 + SIZE, 11 : 11 + SIZE]
    assert_allclose(full[:, :, 0][INSIDE], 0.9 * expected[INSIDE], atol=0.03)
    assert not inside.all()


def test_a_saved_alignment_replaces_the_search_for_order_and_motions(sharp, tmp_path, monkeypatch):
    wide = [np.pad(frame, 12, mode="reflect") for frame in stack_of(sharp, ramp(0, 5), 6)]
    images = [wide[i][12 + i : 12 + i + SIZE, 12 - i : 12 - i + SIZE] for i in (3, 0, 5, 1, 4, 2)]
    options = {"motion": tmp_path / "m.json", "exposure": "off", "decimate": 2, "fuse": False}
    found = estimate_stack(images, **options)
    monkeypatch.setattr("relblur.stacks.frames.find_motion", None)
    monkeypatch.setattr("relblur.stacks.frames.focus_order", None)
    again = estimate_stack(images, **options)
    assert again.order == found.order != tuple(range(6))
    assert_allclose(again.index, found.index, atol=1e-6)
    assert f"alignment: from {tmp_path / 'm.json'}" in again.settings["notes"]
    for others, text in ((images[:5], "6 images of 72x72, got 5"), ([each[:40] for each in images], "got 6 of 72x40")):
        with pytest.raises(InputError, match=text):
            estimate_stack(others, **options)
    (tmp_path / "m.json").write_text('{"shape": [72, 72], "order": 3}')
    with pytest.raises(FileError, match=r"m\.json is not an alignment"):
        estimate_stack(images, **options)


def test_planes_of_one_file_are_a_stack_with_heights(many, tmp_path):
    _, frames, _ = many
    values = np.rint(60000 * np.stack(frames)).astype(np.uint16)
    scale = {"axes": "ZYX", "PhysicalSizeX": 0.4, "PhysicalSizeY": 0.4, "PhysicalSizeZ": 2.5}
    tifffile.imwrite(tmp_path / "z.ome.tif", values, metadata=scale, photometric="minisblack", compression="zlib")
    stack = estimate_stack(tmp_path / "z.ome.tif", fuse=False, **PLAIN)
    assert (stack.step_um, stack.pixel_um) == (2.5, 0.4)
    assert_allclose(stack.height_um, 2.5 * stack.index)
    assert_array_equal(stack.index, estimate_stack(list(values), fuse=False, **PLAIN).index)
    assert stack.settings["images"][0] == "z.ome.tif[1]"
    assert "scale: step 2.5 µm, pixel 0.4 µm" in stack.settings["notes"]
    again = estimate_stack(frames[::-1], fuse=False, step_um=1.0, **PLAIN)
    assert again.order == tuple(range(10))  # even steps: the given order is that of the stage
    stack.save(tmp_path / "a.npz")
    assert relblur.load(tmp_path / "a.npz").step_um == 2.5
