"""Many planes in one file: which planes there are, what they hold, and the scale that the file states."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image  # noqa: TID253

from relblur import InputError, imread, open_stack
from relblur.base.errors import FileError, RelblurError
from relblur.images.images import read_stored
from relblur.images.planes import page_of

VALUES = np.random.default_rng(0).integers(0, 60000, (2, 5, 3, 24, 20)).astype(np.uint16)  # T, Z, C, Y, X


def planes_of(path, **chosen):
    stack = open_stack(path, **chosen)
    return stack, np.stack([read_stored(plane).values for plane in stack])


@pytest.fixture(params=["imagej", "ome", "ome packed", "zarr"])
def hyperstack(request, tmp_path):
    """T, Z, C, Y, X with steps of 0.5 µm and pixels of 0.2 µm."""
    scale = {"PhysicalSizeX": 0.2, "PhysicalSizeY": 0.2, "PhysicalSizeZ": 0.5}
    if request.param == "imagej":
        path = tmp_path / "z.tif"
        about = {"axes": "TZCYX", "spacing": 0.5, "unit": "um"}
        tifffile.imwrite(path, VALUES, imagej=True, resolution=(5, 5), metadata=about)
    elif request.param.startswith("ome"):
        path = tmp_path / "z.ome.tif"
        packed = {"compression": "zlib"} if "packed" in request.param else {}
        tifffile.imwrite(path, VALUES, metadata={"axes": "TZCYX", **scale}, photometric="minisblack", **packed)
    else:
        zarr = pytest.importorskip("zarr")
        path = tmp_path / "z.ome.zarr"
        axes = [{"name": name, "type": "space", "unit": "micrometer"} for name in "zyx"]
        axes = [{"name": "t", "type": "time"}, axes[0], {"name": "c", "type": "channel"}, *axes[1:]]
        data = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 0.5, 1, 0.2, 0.2]}]}]
        group = zarr.open_group(path, mode="w")
        group.create_array("0", data=VALUES, chunks=(1, 1, 1, 24, 20))
        group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": data}]}
    return path


def test_hyperstacks_are_stacks_along_z(hyperstack):
    stack, values = planes_of(hyperstack, channel=2, time=1)
    assert_array_equal(values, VALUES[1, :, 2])
    assert_allclose([stack.step_um, stack.pixel_um], [0.5, 0.2])
    assert stack.notes == ()
    stack, values = planes_of(hyperstack)
    assert_array_equal(values, VALUES[0, :, 0])
    assert set(stack.notes) == {"channel 0 of 3 (--channel)", "time 0 of 2 (--time)"}
    with pytest.raises(InputError, match="channel is 3"):
        open_stack(hyperstack, channel=3)
    with pytest.raises(InputError, match="series is 1"):
        open_stack(hyperstack, series=1)


def test_a_file_without_z_is_a_stack_along_time(tmp_path):
    tifffile.imwrite(tmp_path / "t.tif", VALUES[:, 0, 0], imagej=True, metadata={"axes": "TYX"})
    stack, values = planes_of(tmp_path / "t.tif")
    assert_array_equal(values, VALUES[:, 0, 0])
    assert stack.notes == ("no Z: the stack is along time",)
    with pytest.raises(InputError, match="leave it out"):
        open_stack(tmp_path / "t.tif", time=1)


def test_pages_of_any_tiff_are_a_stack_and_pages(tmp_path):
    path = tmp_path / "pages.tif"
    tifffile.imwrite(path, VALUES[0, :, 0], photometric="minisblack", metadata=None, resolution=(300, 300))
    stack, values = planes_of(path)
    assert_array_equal(values, VALUES[0, :, 0])
    assert (stack.step_um, stack.pixel_um) == (None, None)  # a resolution for printers is no scale
    assert stack[1].name == "pages.tif[2]"
    assert_array_equal(read_stored(page_of(path, 5)).values, VALUES[0, 4, 0])
    with pytest.raises(InputError, match="page is 6"):
        page_of(path, 6)
    with pytest.warns(UserWarning, match="has 5 pages; page 1 is used"):
        imread(path)


@pytest.mark.parametrize("name", ["frames.gif", "frames.webp", "frames.mpo"])
def test_pictures_of_several_frames_are_stacks(tmp_path, name):
    frames = [
        Image.fromarray(np.full((24, 20), 40 * n, np.uint8)) for n in range(1, 4)
    ]  # Pillow misplaces a fourth in MPO
    options = {} if name.endswith("mpo") else {"lossless": True, "duration": 100, "optimize": False}
    frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:], **options)
    _, values = planes_of(tmp_path / name)
    assert_allclose(values.reshape(3, -1).mean(axis=1), [40, 80, 120], atol=2)


def test_one_picture_is_no_stack_and_damage_is_told(tmp_path):
    tifffile.imwrite(tmp_path / "one.tif", VALUES[0, 0, 0])
    with pytest.raises(FileError, match="one picture"):
        open_stack(tmp_path / "one.tif")
    (tmp_path / "bad.tif").write_bytes(b"II*\0" + 40 * b"\xff")
    with pytest.raises(FileError, match="readable TIFF"):
        open_stack(tmp_path / "bad.tif")
    with pytest.raises(FileError, match="no Zarr"):
        open_stack(tmp_path)
    (tmp_path / "no.zarr").mkdir()
    (tmp_path / "no.zarr" / "zarr.json").write_text(
        json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"ome": {"multiscales": [{"axes": 3}]}}})
    )
    with pytest.raises(FileError, match="OME-Zarr"):
        open_stack(tmp_path / "no.zarr")


def test_a_claim_of_many_planes_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("relblur.images.planes.MOST_PLANES", 4)
    Image.new("L", (20, 24)).save(
        tmp_path / "z.gif", save_all=True, append_images=[Image.new("L", (20, 24), n) for n in range(1, 5)]
    )
    with pytest.raises(FileError, match="declares 5 planes"):
        open_stack(tmp_path / "z.gif")


@pytest.mark.parametrize("kind", ["z.ome.tif", "z.tif", "z.gif", "z.webp"])
def test_damaged_files_give_planes_or_one_line(tmp_path, kind):
    rng = np.random.default_rng(5)
    small = VALUES[0, :, 0]
    if kind.endswith("tif"):
        form = {"imagej": True, "metadata": {"axes": "ZYX", "spacing": 1.0, "unit": "um"}} if kind == "z.tif" else {}
        tifffile.imwrite(tmp_path / kind, small, **form)
    else:
        frames = [Image.fromarray((plane // 256).astype(np.uint8)) for plane in small]
        frames[0].save(tmp_path / kind, save_all=True, append_images=frames[1:])
    whole = (tmp_path / kind).read_bytes()
    refusals = []
    for _ in range(40):
        spoilt = bytearray(whole[: len(whole) if rng.random() < 0.6 else rng.integers(8, len(whole))])
        for place in rng.integers(4, min(len(spoilt), 1500), 6):
            spoilt[place] = rng.integers(256)
        (tmp_path / kind).write_bytes(bytes(spoilt))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for plane in open_stack(tmp_path / kind):
                    read_stored(plane)
        except RelblurError as error:
            refusals.append(str(error))
    assert refusals
    assert not any("\n" in each for each in refusals)
