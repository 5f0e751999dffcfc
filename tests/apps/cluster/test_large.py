"""Zarr in, OME-Zarr out: read in parts, written in chunks."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

import relblur
from relblur import estimate_blur, synth
from relblur.apps.cli.app import app
from relblur.apps.cluster import large
from relblur.blur.dense import run

zarr = pytest.importorskip("zarr")

OPTIONS = ("-m", "window", "--decimate", "1", "--exposure", "off", "--no-linear", "--max-sigma", "2")


def _run(*arguments):
    return CliRunner().invoke(app, [str(each) for each in arguments])


def _pair(shape=(150, 210), channels=1):
    rng = np.random.default_rng(0)
    image = synth.blur_with_map(rng.random((*shape, channels)), 0.7, channel_axis=-1)
    truth = synth.ramp(shape, -1.0, 1.8, axis=1)
    return [synth.degrade(0.1 + 0.7 * each, bits=16) for each in synth.pair(image, truth, channel_axis=-1)]


@pytest.fixture
def pair(tmp_path):
    """Grey Zarr of 16 bits with chunks of different sizes, and their values."""
    images = [each[:, :, 0] for each in _pair()]
    for name, image, chunks in (("a", images[0], (40, 50)), ("b", images[1], (64, 300))):
        zarr.create_array(tmp_path / f"{name}.zarr", data=image, chunks=chunks)
    return images


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(large, "LOCAL_SIDE", 64)
    monkeypatch.setattr(large, "SMALL", 64)


@pytest.fixture
def command(tmp_path, pair, small):
    """Estimate both, into out.zarr unless the options name another output."""

    def estimate(*options):
        images = (tmp_path / "a.zarr", tmp_path / "b.zarr")
        return _run("estimate", *images, "-o", tmp_path / "out.zarr", *OPTIONS, *options)

    return estimate


def _whole(images, **options):
    return estimate_blur(images[0], images[1], method="window", max_sigma=2.0, **options)


def _is_that_of(path, whole):
    """The bits of the whole, rounded to single precision; every array is read back from the disk."""
    found = relblur.load(path)
    assert found.is_lazy
    for name, dtype in (("variance_difference", "f4"), ("variance_stderr", "f4"), ("flags", "u1"), ("sharper", "i1")):
        assert_array_equal(getattr(found, name).compute(), getattr(whole, name).astype(dtype), err_msg=name)
    assert_array_equal(zarr.open_array(path / "0", mode="r")[:], whole.sigma.astype("f4"))
    assert found.settings["method"] == "window"


def test_a_map_in_chunks_is_that_of_the_whole_in_ome_zarr(tmp_path, pair, command):
    models = pytest.importorskip("ome_zarr_models.v05")
    output = tmp_path / "out.zarr"
    done = command()
    assert done.exit_code == 0, done.output
    _is_that_of(output, _whole(pair))
    assert sorted(os.listdir(tmp_path)) == ["a.zarr", "b.zarr", "out.zarr"]
    image = models.Image.from_zarr(zarr.open_group(output, mode="r"))
    assert [each.path for each in image.ome_attributes.multiscales[0].datasets] == ["0", "1", "2"]
    half = zarr.open_array(output / "1", mode="r")[:]
    assert_allclose(half, _whole(pair).sigma.reshape(75, 2, 105, 2).mean(axis=(1, 3)), rtol=1e-5)
    # Tasks that share a chunk lose data (dask#12583): cores are the chunks of every array.
    for name in ("variance_difference", "variance_stderr", "flags", "sharper", "0", "1"):
        assert zarr.open_array(output / name, mode="r").chunks == (64, 64)
    again = command()
    assert again.exit_code == 2
    assert "--force" in again.output
    assert command("--force").exit_code == 0
    _is_that_of(output, _whole(pair))


@pytest.mark.slow
def test_refined_with_decimation_and_exposure(tmp_path, monkeypatch):
    shape = (700, 900)
    rng = np.random.default_rng(1)
    image = synth.blur_with_map(rng.random(shape), 2.0)
    truth = synth.ramp(shape, 2.0, 4.0, axis=1)
    second = 0.8 * synth.blur_with_map(image, truth) + 0.02
    for name, values in (("a", image), ("b", second)):
        zarr.create_array(tmp_path / f"{name}.zarr", data=values.astype("f4"), chunks=(200, 200))
    monkeypatch.setattr(large, "REFINED_SIDE", 192)
    monkeypatch.setattr(run, "SIDES", (96, 960))
    output = tmp_path / "out.zarr"
    done = _run("estimate", tmp_path / "a.zarr", tmp_path / "b.zarr", "-o", output, "--decimate", "2")
    assert done.exit_code == 0, done.output
    assert "second multiplied by 1.2" in done.output
    found = relblur.load(output)
    assert (found.settings["chunks"], found.settings["decimate"]) == (3, 2)
    sigma = found.sigma.compute()
    assert np.median(np.abs(sigma - truth[::2, ::2] / 2)) < 0.03
    whole = relblur.prepare_pair(image, second, decimate=2, align="off")
    assert np.median(np.abs(sigma - estimate_blur(whole).sigma)) < 0.01


def test_ome_zarr_in(tmp_path, small):
    images = _pair(channels=3)
    for name, image in zip("ab", images, strict=True):
        group = zarr.open_group(tmp_path / f"{name}.zarr", mode="w")
        group.create_array("full", data=np.moveaxis(image, -1, 0)[None], chunks=(1, 1, 50, 50))
        axes = [{"name": axis} for axis in "tcyx"]
        group.attrs["ome"] = {"version": "0.5", "multiscales": [{"axes": axes, "datasets": [{"path": "full"}]}]}
    output = tmp_path / "out.zarr"
    done = _run("estimate", tmp_path / "a.zarr", tmp_path / "b.zarr", "-o", output, *OPTIONS)
    assert done.exit_code == 0, done.output
    _is_that_of(output, _whole(images, channel_axis=-1))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: None, "there is no file"),
        (lambda p: zarr.create_array(p, data=np.zeros((4, 30, 30))), "channels"),
        (lambda p: zarr.create_array(p, data=np.zeros((4, 3, 30, 30))), "shape"),
        (lambda p: zarr.create_array(p, data=np.zeros((40, 30))), "differ in size"),
        (lambda p: zarr.open_group(p, mode="w"), "name the array itself"),
        (lambda p: p.mkdir(), "without a Zarr"),
        (lambda p: p.write_text("text"), "is not a Zarr"),
    ],
)
def test_bad_stores_get_one_line_and_leave_nothing(tmp_path, make, words):
    zarr.create_array(tmp_path / "b.zarr", data=np.zeros((50, 60)))
    make(tmp_path / "a.zarr")
    before = sorted(tmp_path.rglob("*"))
    done = _run("estimate", tmp_path / "a.zarr", tmp_path / "b.zarr", "-o", tmp_path / "out.zarr")
    assert done.exit_code in (2, 3)
    assert words in done.output
    assert len(done.output.strip().splitlines()) == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_only_what_relblur_made_is_replaced_and_an_interrupted_run_leaves_nothing(tmp_path, command, monkeypatch):
    output = tmp_path / "out.zarr"
    zarr.create_array(output, data=np.zeros((5, 5)))
    assert "not made by relblur" in command("--force").output
    shutil.rmtree(output)
    assert "also read" in command("--force", "-o", tmp_path / "a.zarr").output
    assert "must end in .zarr" in command("-o", tmp_path / "folder").output
    with monkeypatch.context() as patch:
        patch.setattr(large, "_ome_metadata", lambda *a: (_ for _ in ()).throw(KeyboardInterrupt))
        assert command().exit_code != 0
        assert sorted(os.listdir(tmp_path)) == ["a.zarr", "b.zarr"]
    assert command().exit_code == 0
    (output / "notes.txt").write_text("mine")
    assert "notes.txt" in command("--force").output
    assert (output / "notes.txt").read_text() == "mine"


def test_a_missing_extra_is_named(tmp_path, monkeypatch):
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "zarr" else found(name, *a))
    done = _run("estimate", tmp_path / "a.zarr", tmp_path / "b.zarr", "-o", tmp_path / "out.zarr")
    assert done.exit_code == 4
    assert "relblur[cluster]" in done.output
