"""``relblur fuse``, ``relblur refocus``, ``relblur stack``, and what ``relblur estimate`` writes at full size."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile  # noqa: TID253
from PIL import Image  # noqa: TID253

from command import failed, run
from relblur import Camera, imread, save, synth
from relblur.base.pixels import as_integers
from relblur.base.tone import encode_srgb
from relblur.report.full_size import relative_depth

CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
FOCUS = (1.0, 4 / 3, 2.0)
PLAIN = ("--align", "off", "--exposure", "off")


@pytest.fixture(scope="module")
def files(tmp_path_factory, texture):
    """Three 8-bit sRGB frames of a scene from 1 m on the left to 2 m on the right."""
    folder = tmp_path_factory.mktemp("stack")
    u = synth.ramp(texture.shape, 1.0, 0.5, axis=1)
    for number, focus in enumerate(FOCUS):
        frame = synth.blur_with_map(texture, CAMERA.blur_constants_px_m[0] * np.abs(u - 1 / focus))
        save(folder / f"{number}.png", as_integers(encode_srgb(frame), np.uint8))
    CAMERA.save(folder / "cam.toml")
    return folder


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif"])
def test_fuse_writes_one_tone_whatever_the_format(files, tmp_path, texture, suffix):
    target = tmp_path / f"fused{suffix}"
    done("fuse", files / "0.png", files / "2.png", "-o", target, *PLAIN)
    light, soft, inside = imread(target), imread(files / "2.png"), np.s_[8:-8, 8:-8]
    assert np.abs(light - texture)[inside].mean() < 0.5 * np.abs(soft - texture)[inside].mean()
    assert abs(light.mean() - texture.mean()) < 0.01


def test_stack_writes_depth_if_the_distances_are_known(files, tmp_path):
    out = tmp_path / "out"
    command = ["stack", *(files / f"{number}.png" for number in (2, 0, 1)), "-o", out, *PLAIN]
    done(*command, "--focus", "2,1,1.3333333", "--camera", files / "cam.toml", "--psf", "gaussian", "--json")
    wanted = ["depth.tif", "depth_mm.png", "fused.png", "index.tif", "index_colour.png", "overview.png"]
    assert names(out) == [*wanted, "relative_depth.png", "stack.npz", "summary.json"]
    assert json.loads((out / "summary.json").read_text())["order"] == [1, 2, 0]
    z, stderr = tifffile.imread(out / "depth.tif")
    truth = 1 / synth.ramp(z.shape, 1.0, 0.5, axis=1)
    assert np.abs(z / truth - 1)[8:-8, 8:-8].mean() < 0.03
    assert (stderr > 0).all()
    assert "would be replaced" in failed(run(*command), 2)


@pytest.mark.parametrize("argument", [".", "*.png"])
def test_stack_takes_folders_and_patterns_as_estimate_does(files, tmp_path, monkeypatch, argument):
    monkeypatch.chdir(files)
    result = done("stack", argument, "-o", tmp_path / "out", "--no-fuse", *PLAIN)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["settings"]["images"] == ["0.png", "1.png", "2.png"]
    assert "flags, each pixel once" in result.stdout


def test_frames_that_do_not_fit_are_named(files, tmp_path, texture):
    rng = np.random.default_rng(1)
    for name in ("other", "third"):
        scene = synth.blur_with_map(rng.random(texture.shape), 1.0)
        save(tmp_path / f"{name}.png", np.rint(255 * scene).astype(np.uint8))
    scenes, out = [files / f"{number}.png" for number in range(3)], tmp_path / "out"
    result = done("stack", *scenes, tmp_path / "other.png", "-o", out, "--no-fuse")
    assert "left out: other.png, it does not show the same scene" in result.stderr
    summary = json.loads((out / "summary.json").read_text())
    assert [each["name"] for each in summary["dropped"]] == ["other.png"]
    few = run("stack", scenes[0], tmp_path / "other.png", tmp_path / "third.png", "-o", tmp_path / "few")
    assert "left out: " in failed(few, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fuse", "0.png", "-o", "out.png"], "two or more"),
        (["fuse", "0.png", "0.png", "-o", "out.png"], "twice"),
        (["stack", "*.gif", "-o", "out"], "*.gif matches no file"),
        (["fuse", "0.png", "1.png", "-o", "out"], "name a picture"),
        (["fuse", "0.png", "1.png", "-o", "1.png", "--force"], "1.png"),
        (["fuse", "0.png", "1.png", "-o", ""], "empty"),
        (["stack", "0.png", "1.png", "2.png", "-o", "out", "--focus", "1,2"], "3 numbers"),
        (["stack", "0.png", "1.png", "2.png", "-o", "out", "--psf", "star"], "--psf"),
        (["stack", "0.png", "1.png", "-o", "out", "--remove-tilt"], "--step-um"),
        (["stack", "0.png", "1.png", "-o", "out"], "a stack needs three images"),
        (["stack", "0.png", "1.png", "2.png", "-o", "out", "--profile", "0,0,9"], "4 numbers"),
        (["refocus", "0.png", "1.png", "--at", "3", "-o", "out.png"], "--at"),
    ],
)
def test_wrong_requests_are_one_line_and_write_nothing(files, monkeypatch, arguments, message):
    monkeypatch.chdir(files)
    before = {path: path.read_bytes() for path in files.iterdir()}
    result = run(*arguments)
    assert result.exit_code in (2, 3)
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert {path: path.read_bytes() for path in files.iterdir()} == before


@pytest.mark.slow
def test_refocus_without_a_camera_goes_from_one_image_to_the_other(files, tmp_path):
    images = [imread(files / f"{number}.png") for number in (0, 2)]
    found = []
    for at in (0, 1):
        done("refocus", files / "0.png", files / "2.png", "--at", at, "-o", tmp_path / f"{at}.png", "--align", "off")
        found.append([np.abs(imread(tmp_path / f"{at}.png") - image)[8:-8, 8:-8].mean() for image in images])
    assert found[0][0] < 0.5 * found[0][1]
    assert found[1][1] < 0.5 * found[1][0]


def test_estimate_writes_near_and_far_at_the_size_of_the_photographs(files, tmp_path, texture):
    out = tmp_path / "out"
    done("estimate", files / "0.png", files / "2.png", "-o", out, "--decimate", 2, *PLAIN)
    depth, alpha = np.moveaxis(np.asarray(Image.open(out / "relative_depth.png"), np.float64), 2, 0)
    assert (alpha == 255).all()
    assert depth.shape == texture.shape
    assert depth[:, 10:30].mean() > depth[:, -30:-10].mean() + 100  # the left is in focus in the first


def test_relative_depth_is_transparent_without_an_answer():
    s = np.linspace(-2, 2, 300).reshape(15, 20)
    s[3, 3] = np.nan
    grey, alpha = np.moveaxis(relative_depth(s), 2, 0)
    assert np.argwhere(alpha == 0).tolist() == [[3, 3]]
    assert (grey.max(), grey[alpha > 0].min()) == (255, 1)


def test_pictures_that_relblur_made_are_no_frames_unless_there_are_no_others(files, tmp_path):
    named = [tmp_path / "0.png", tmp_path / "1.png"]
    for path in named:
        path.write_bytes((files / path.name).read_bytes())
    made = [tmp_path / f"fused.{suffix}" for suffix in ("png", "tif")]
    for path in made:
        done("fuse", *named, "-o", path, *PLAIN)
    result = done("fuse", *made, *named, "-o", tmp_path / "out.png", *PLAIN)
    for path in made:
        assert f"left out: {path}, a result of relblur" in result.stderr
    assert "2 images" in result.stderr
    done("fuse", *named, *made[:1], "-o", made[0], *PLAIN, "--force")  # no input, so it may be replaced
    assert "left out" not in done("fuse", *made, "-o", tmp_path / "again.png", *PLAIN).stderr


def test_estimate_takes_pages(files, tmp_path):
    pages = np.stack([np.asarray(Image.open(files / f"{number}.png")) for number in (1, 0, 2)])
    for name, planes in (("z.tif", pages), ("y.tif", pages[1:])):
        tifffile.imwrite(tmp_path / name, planes, photometric="minisblack", compression="zlib")
    command = ["estimate", tmp_path / "z.tif", tmp_path / "y.tif", *PLAIN]
    result = done(*command, "-o", tmp_path / "out", "--page", "2,2", "--report")
    assert "page 1 is used" not in result.stderr
    assert "z.tif[2]" in (tmp_path / "out" / "report.html").read_text()
    done("estimate", files / "0.png", files / "2.png", *PLAIN, "-o", tmp_path / "single")
    np.testing.assert_array_equal(*(tifffile.imread(tmp_path / name / "sigma.tif") for name in ("out", "single")))
    assert "z.tif has 3 pages; page 1 is used" in run(*command, "-o", tmp_path / "first").stderr
    assert "page is 4" in failed(run(*command, "-o", tmp_path / "o", "--page", 4), 3)
    done("estimate", tmp_path / "z.tif", tmp_path / "z.tif", "-o", tmp_path / "same", "--page", "2,3", *PLAIN)


def test_labels_are_written_edited_and_given_back(files, tmp_path):
    images = [files / f"{number}.png" for number in range(3)]
    labels, edited = tmp_path / "labels.tif", tmp_path / "edited.tif"
    done("fuse", *images, "-o", tmp_path / "a.png", "--save-index", labels, *PLAIN)
    found = tifffile.imread(labels)
    assert found.dtype == np.uint8
    assert found[:, 8:20].mean() < 0.5
    assert found[:, -20:-8].mean() > 1.5  # the right is in focus in the last
    found[:40] = 2
    tifffile.imwrite(edited, found)
    done("fuse", *images, "-o", tmp_path / "b.png", "--index", edited, *PLAIN)
    made, last = (np.asarray(Image.open(path)) for path in (tmp_path / "b.png", images[2]))
    np.testing.assert_array_equal(made[:40], last[:40])
    for wrong, text in ((found[:50], "labels of the size of the images"), (np.full_like(found, 7), "index contains 7")):
        tifffile.imwrite(edited, wrong)
        assert text in failed(run("fuse", *images, "-o", tmp_path / "c.png", "--index", edited, *PLAIN), 3)


def test_labels_of_two_images_are_those_of_their_detail(files, tmp_path):
    pair, labels = (files / "0.png", files / "2.png"), tmp_path / "labels.tif"
    done("fuse", *pair, "-o", tmp_path / "a.png", "--save-index", labels, *PLAIN)
    found = tifffile.imread(labels)
    assert found[:, 8:20].mean() < 0.1
    assert found[:, -20:-8].mean() > 0.9
    done("fuse", *pair, "-o", tmp_path / "b.png", "--index", labels, *PLAIN)


def test_align_only_writes_frames_of_full_depth(files, tmp_path):
    third = np.asarray(Image.open(files / "2.png"))
    Image.fromarray(np.roll(third, (3, -2), (0, 1))).save(tmp_path / "2.png")
    command = ["fuse", files / "0.png", files / "1.png", tmp_path / "2.png", "-o", tmp_path / "frames", "--align-only"]
    command += ["--exposure", "off", "--motion", tmp_path / "m.json"]
    done(*command)
    motions = json.loads((tmp_path / "m.json").read_text())["motions"]
    np.testing.assert_allclose(np.array(motions["2"]["transform"])[:2, 2], (3, -2), atol=0.3)
    again = done(*command[:4], "-o", tmp_path / "a.png", *command[-4:])
    assert f"alignment: from {tmp_path / 'm.json'}" in again.stderr
    assert names(tmp_path / "frames") == ["0000_0.tif", "0001_1.tif", "0002_2.tif"]
    moved = tifffile.imread(tmp_path / "frames" / "0002_2.tif")
    assert np.abs(moved.astype(float) - third)[16:-16, 16:-16].mean() < 2
    assert "would be replaced" in failed(run(*command), 2)
