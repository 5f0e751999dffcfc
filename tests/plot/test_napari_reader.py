"""What napari gets of a result, without napari."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import relblur
from relblur import BlurMap, Camera, DepthMap, Flag, StackMap
from relblur.plot.napari_reader import get_reader

CAMERA = Camera(focal_length_mm=35, f_number=2.8, pixel_pitch_um=6, focus_first_m=1, focus_second_m=2)


@pytest.fixture
def blur_file(tmp_path):
    s = np.linspace(0.5, 4, 300).reshape(15, 20)
    s[2, 3] = np.nan
    flags = np.zeros(s.shape, np.uint8)
    flags[2, 3] = Flag.FLAT | Flag.CLIPPED
    BlurMap(s, 0 * s + 0.1, flags, np.ones(s.shape), {"method": "window"}).save(tmp_path / "one.npz")
    return tmp_path / "one.npz"


def _layers(path):
    reader = get_reader(str(path))
    assert reader is not None
    layers = reader(str(path))
    assert [kind for _, _, kind in layers] == ["image", "image", "labels"]
    return layers


def test_a_blur_map_is_an_image_with_symmetric_limits_and_labels(blur_file):
    image, _, labels = _layers(blur_file)
    np.testing.assert_allclose(image[0], relblur.load(blur_file).sigma.astype(np.float32))
    low, high = image[1]["contrast_limits"]
    assert low == -high < 0
    assert image[1]["metadata"]["settings"]["method"] == "window"
    assert image[1]["colormap"]["colors"].shape == (256, 4)
    assert labels[0].dtype.kind == "i"
    assert labels[0][2, 3] == Flag.FLAT | Flag.CLIPPED
    assert labels[1]["features"] == {"index": [6], "flags": ["clipped, flat"]}


def test_folders_of_depth_and_of_a_stack_have_their_own_units(tmp_path):
    depth = np.tile(np.linspace(1, 2, 40), (30, 1))
    (tmp_path / "depth").mkdir()
    DepthMap(depth, 0.01 * depth, np.zeros(depth.shape), CAMERA).save(tmp_path / "depth" / "depth.npz")
    assert _layers(tmp_path / "depth")[0][1]["name"] == "depth: depth (m)"
    index = np.tile(np.linspace(1, 5, 40), (30, 1))
    stack = StackMap(index, 0.1 + 0 * index, None, None, np.zeros(index.shape), None, 1, (0, 1, 2), (), np.arange(3.0),
                     0.5, index, step_um=2.0)  # fmt: skip
    stack.save(tmp_path / "stack.npz")
    image, stderr, _ = _layers(tmp_path)
    np.testing.assert_allclose(image[0], 2 * index, rtol=1e-6)
    assert image[1]["name"].endswith("height (µm)")
    np.testing.assert_allclose(stderr[0], 0.2)


def test_what_is_not_ours_is_left_to_others(tmp_path, blur_file):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    (tmp_path / "text.npz").write_text("no")
    (tmp_path / "empty").mkdir()
    for path in ("other.npz", "text.npz", "empty", "missing.npz"):
        assert get_reader(str(tmp_path / path)) is None
    assert get_reader([str(blur_file)] * 2) is None
    assert get_reader([str(blur_file)]) is not None


def test_the_reader_imports_neither_napari_nor_matplotlib(blur_file):
    code = (
        f"from relblur.plot.napari_reader import get_reader; get_reader({str(blur_file)!r})({str(blur_file)!r})\n"
        "import sys; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"napari", "matplotlib", "npe2"} & set(done.stdout.split())
