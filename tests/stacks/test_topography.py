"""Heights of z-stacks: a known surface through the whole program, roughness, tilt, other channels, scale."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

from command import run
from relblur import InputError, imread, open_stack, synth
from relblur.base.options import Preparing, Stack
from relblur.images.scaled import write_ome_zarr
from relblur.stacks.frames import frames_of_channel
from relblur.stacks.fuse import fuse_by_index
from relblur.stacks.images import stack_images
from relblur.stacks.topography import Surface

from .conftest import prepared

STEP, PIXEL, PLANES = 0.8, 0.25, 31
PLAIN = ("--align", "off", "--exposure", "off")


def true_index(shape):
    rows, columns = np.indices(shape)
    return 15 + 6 * np.sin(columns / 25) * np.cos(rows / 31) + 0.02 * (columns - shape[1] / 2)


@pytest.fixture(scope="module")
def scene():
    from skimage import data

    sharp = 0.05 + 0.9 * data.brick()[100:244, 100:260] / 255.0
    return sharp, true_index(sharp.shape)


@pytest.fixture(scope="module")
def z_file(tmp_path_factory, scene):
    """A z-stack of 31 planes, 16 bits, two channels; the second is dark but for the shape of a letter."""
    sharp, index = scene
    letter = 0.1 + 0.4 * ((np.indices(sharp.shape) // 24).sum(axis=0) % 2)
    planes = np.stack(
        [[synth.blur_with_map(each, 0.35 * np.abs(index - n)) for each in (sharp, letter)] for n in range(PLANES)]
    )
    path = tmp_path_factory.mktemp("z") / "z.ome.tif"
    about = {"axes": "ZCYX", "PhysicalSizeX": PIXEL, "PhysicalSizeY": PIXEL, "PhysicalSizeZ": STEP}
    tifffile.imwrite(path, np.rint(60000 * planes).astype(np.uint16), metadata=about, compression="zlib")
    return path


@pytest.fixture(scope="module")
def measured(z_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("out") / "result"
    extra = ("--apply-channel", 1, "--report", "--profile", "10,20,150,20")
    result = run("stack", z_file, "-o", out, "--channel", 0, *PLAIN, *extra, "--json")
    assert result.exit_code == 0, result.output
    return out, json.loads(result.stdout)


def test_a_known_surface_is_measured(measured, scene):
    """Median error at most 0.05 of a step, Sa and Sq within 3 %."""
    out, summary = measured
    index = scene[1]
    height, stderr = tifffile.imread(out / "height.ome.tif")
    assert np.median(np.abs(height / STEP - index)) <= 0.05
    assert np.median(stderr) / STEP < 0.05
    z, rough = STEP * (index - index.mean()), summary["topography"]
    assert abs(rough["sa_um"] / np.abs(z).mean() - 1) < 0.03
    assert abs(rough["sq_um"] / np.sqrt(np.square(z).mean()) - 1) < 0.03
    assert 0 < rough["sa_stderr_um"] < 0.03 * rough["sa_um"]


def test_written_files_carry_the_scale(measured):
    out, summary = measured
    with tifffile.TiffFile(out / "height.ome.tif") as file:
        assert file.series[0].axes == "CYX"
        pixels = tifffile.xml2dict(file.ome_metadata)["OME"]["Image"]["Pixels"]
        assert (pixels["PhysicalSizeX"], pixels["PhysicalSizeXUnit"]) == (PIXEL, "µm")
        assert [each["Name"] for each in pixels["Channel"]] == ["height (µm)", "standard error (µm)"]
    with tifffile.TiffFile(out / "height_16bit.tif") as file:
        about = json.loads(file.pages[0].description)
        height = about["offset_um"] + about["scale_um"] * file.asarray().astype(float)
    assert_allclose(height, tifffile.imread(out / "height.ome.tif")[0], atol=about["scale_um"])
    for name in ("height_16bit.tif", "index.tif", "fused_other.tif"):
        with tifffile.TiffFile(out / name) as file:
            assert_allclose(file.pages[0].get_resolution("micrometer"), 1 / PIXEL)
    with Image.open(out / "fused.png") as picture:
        assert_allclose(picture.info["dpi"], 25_400 / PIXEL, rtol=1e-4)
    assert (summary["step_um"], summary["pixel_um"]) == (STEP, PIXEL)
    assert len(summary["files"][0]["sha256"]) == 64


def test_a_profile_has_the_heights_along_a_line(measured):
    out, _ = measured
    table = np.genfromtxt(out / "profile.csv", delimiter=",", names=True)
    assert table.dtype.names == ("column", "row", "distance_px", "height_um", "stderr", "measured")
    height, stderr = tifffile.imread(out / "height.ome.tif")[:, 20, 10:151]
    assert_allclose(table["column"], np.arange(10, 151))
    assert_allclose(table["distance_px"], np.arange(141))
    assert_allclose(table["height_um"], height, rtol=1e-5)
    assert_allclose(table["stderr"], stderr, rtol=1e-5)


def test_another_channel_is_fused_by_the_same_index(measured, scene):
    letter = 0.1 + 0.4 * ((np.indices(scene[0].shape) // 24).sum(axis=0) % 2)
    fused = imread(measured[0] / "fused_other.tif") * 65535 / 60000
    soft = synth.blur_with_map(letter, 0.35 * np.abs(scene[1] - 15))
    assert np.abs(fused - letter).mean() < 0.3 * np.abs(soft - letter).mean()


def test_detail_of_the_other_channel_does_not_count():
    rng = np.random.default_rng(0)
    light = [np.full((40, 50), 0.2 + 0.1 * n) for n in range(5)]
    light[4] = light[4] + 0.1 * rng.random((40, 50))  # noise, which looks like detail
    frames = prepared([rng.random((40, 50)) for _ in range(5)], align="off", exposure="off")

    def channel(images):
        return frames_of_channel(frames, stack_images(images, Preparing(), Stack()))

    other = channel(light)
    fused = fuse_by_index(other, np.full((40, 50), 1.0), np.full((40, 50), 0.01), print)[:, :, 0]
    weights = np.exp(-np.square(np.arange(5) - 1.0) / (2 * 0.75**2))
    expected = sum(w * each for w, each in zip(weights, light, strict=True)) / weights.sum()
    assert_allclose(fused, expected, atol=2e-3)
    with pytest.raises(InputError, match="50x30, the stack 50x40"):
        channel([each[:30] for each in light])


def test_the_page_shows_the_heights(measured):
    out, _ = measured
    page = (out / "report.html").read_text()
    for text in ("<dt>Sa</dt>", "sharp everywhere", "height", "z.ome.tif[1]", "standard error"):
        assert text in page


def test_aligned_planes_go_to_one_file(z_file, tmp_path):
    result = run("stack", z_file, "-o", tmp_path / "a.ome.tif", "--align-only", "--channel", 0, *PLAIN)
    assert result.exit_code == 0, result.output
    planes = open_stack(tmp_path / "a.ome.tif")
    assert (planes.step_um, planes.pixel_um, len(planes)) == (STEP, PIXEL, PLANES)
    values = tifffile.imread(tmp_path / "a.ome.tif")
    assert values.dtype == np.uint16
    assert_allclose(values.astype(float), tifffile.imread(z_file)[:, 0], atol=1)


def test_aligned_frames_go_to_ome_zarr(tmp_path):
    models = pytest.importorskip("ome_zarr_models.v05")
    zarr = pytest.importorskip("zarr")
    planes = [np.full((20, 24, 3), 100 * n, np.uint16) for n in range(4)]
    write_ome_zarr(tmp_path / "a.ome.zarr", planes, 4, name="a", pixel_um=PIXEL, step_um=STEP)
    image = models.Image.from_zarr(zarr.open_group(tmp_path / "a.ome.zarr", mode="r"))
    (scales,) = image.attributes.ome.multiscales
    assert [axis.name for axis in scales.axes] == ["c", "z", "y", "x"]
    assert scales.datasets[0].coordinateTransformations[0].scale == [1.0, STEP, PIXEL, PIXEL]
    stack = open_stack(tmp_path / "a.ome.zarr", channel=1)
    assert (stack.step_um, stack.pixel_um, len(stack)) == (STEP, PIXEL, 4)


def test_roughness_counts_measured_pixels_and_has_an_error():
    rng = np.random.default_rng(0)
    truth, stderr = 2 * np.sin(np.arange(180) / 7.0) * np.ones((180, 1)), np.full((180, 180), 0.3)
    measured = np.tile(np.arange(180) < 90, (180, 1))
    found = []
    for _ in range(200):  # errors that are alike in squares of 9 px
        noise = 0.3 * np.kron(rng.normal(size=(20, 20)), np.ones((9, 9)))
        found.append(Surface(np.where(measured, truth + noise, 1e6), stderr, measured).roughness())
    for value, error in (("sa_um", "sa_stderr_um"), ("sq_um", "sq_stderr_um")):
        spread = np.std([getattr(each, value) for each in found])
        assert 0.7 < spread / np.mean([getattr(each, error) for each in found]) < 1.4
    z = truth[:, :90] - truth[:, :90].mean()
    clean = Surface(truth, stderr, measured).roughness()
    assert (clean.sa_um, clean.sq_um) == pytest.approx((np.abs(z).mean(), z.std()))
    assert np.isnan(Surface(truth, stderr, ~measured & False).roughness().sa_um)


def test_tilt_is_removed_by_the_measured_pixels():
    rows, columns = np.indices((40, 50))
    height = 3 + 0.2 * rows - 0.1 * columns + np.sin(columns / 2.0)
    measured = rows >= 5
    flat = Surface(np.where(measured, height, 100.0), np.ones(height.shape), measured).levelled()
    assert flat.tilt == pytest.approx((0.2, -0.1), abs=0.02)
    assert abs(flat.height_um[measured].mean()) < 1e-9
    with pytest.raises(InputError, match="the tilt cannot be fitted"):
        Surface(height, height, ~measured & False).levelled()
