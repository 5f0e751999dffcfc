"""Widgets and sample data of napari, without napari and without Qt; the manifest through npe2."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import relblur
from relblur import BlurMap, InputError
from relblur.plot.napari_widgets import measure_pair, measure_stack, sample_pair, sample_stack


def layer_of(data, name="image", scale=None, rgb=False):
    scale = np.ones(data.ndim - rgb) if scale is None else scale
    return SimpleNamespace(data=data, name=name, scale=scale, rgb=rgb)


def test_a_pair_of_layers_gives_its_blur_on_the_first_layer():
    (first, _, _), (second, _, _) = sample_pair()
    blur, stderr, flags = measure_pair(layer_of(first, "a", (0.5, 0.5)), layer_of(second, "b"), full_resolution=True)
    assert [blur[2], stderr[2], flags[2]] == ["image", "image", "labels"]
    assert blur[1]["name"].startswith("a, b: relative blur")
    assert blur[1]["scale"] == (0.5, 0.5)
    np.testing.assert_allclose(blur[0][60:120, 200], np.linspace(-2, 2, 256)[200], atol=0.1)
    np.testing.assert_allclose(blur[0][60:120, 50], np.linspace(-2, 2, 256)[50], atol=0.1)


@pytest.mark.parametrize("step_um", [0.0, 2.5])
def test_a_stack_gives_frames_or_heights_and_its_picture(step_um):
    ((frames, _, _),) = sample_stack()
    best, _, _, fused = measure_stack(layer_of(frames, "z"), step_um=step_um, align="translation")
    scale = step_um or 1.0
    expected = scale * np.linspace(1, 7, frames.shape[2])
    assert np.median(np.abs(best[0] - expected)) < 0.15 * scale
    assert ("µm" in best[1]["name"]) == bool(step_um)
    assert fused[0].shape == frames.shape[1:]
    assert fused[1]["name"] == "z: sharp everywhere"


def test_layers_of_another_shape_are_refused_by_name():
    volume = layer_of(np.zeros((5, 32, 32)), "volume")
    with pytest.raises(InputError, match="volume has shape"):
        measure_pair(volume, volume)
    with pytest.raises(InputError, match="a stack is"):
        measure_stack(layer_of(np.zeros((32, 32)), "flat"))


@pytest.mark.slow
def test_npe2_finds_the_manifest_valid_and_runs_by_it(tmp_path):
    pytest.importorskip("npe2")
    s = np.linspace(0.5, 4, 300).reshape(15, 20)
    BlurMap(s, 0 * s + 0.1, np.zeros(s.shape, np.uint8), np.ones(s.shape), {}).save(tmp_path / "one.npz")
    manifest = Path(relblur.__file__).parent / "plot" / "napari.yaml"
    code = f"""
import sys
import npe2
manager = npe2.PluginManager.instance()
manifest = npe2.PluginManifest.from_file({str(manifest)!r})
manifest.validate_imports()
manager.register(manifest)
print(*[kind for _, _, kind in npe2.read([{str(tmp_path / "one.npz")!r}], stack=False)])
print(*[widget.display_name for widget in manager.iter_widgets()], sep="; ")
for _, samples in manager.iter_sample_data():
    for sample in samples:
        print(sample.key, *[data.shape for data, *_ in sample.open()])
print({{"qtpy", "napari", "magicgui"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "image image labels",
        "Relative blur of a pair; Focal stack",
        "pair (192, 256) (192, 256)",
        "stack (9, 192, 256)",
        "set()",
    ], done.stderr
