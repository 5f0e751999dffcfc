"""``relblur depth``, ``calibrate`` and ``camera``."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

from command import failed, run
from relblur import Camera, load
from relblur.report.result_files import DEPTH_FILES


@pytest.fixture(scope="module")
def pair(scene):
    """The arguments that name a pair and its camera."""
    return scene[0] / "near.png", scene[0] / "far.png", "-c", scene[0] / "cam.toml"


@pytest.mark.slow
def test_depth_writes_every_file_and_the_right_numbers(scene, pair, tmp_path):
    depth, out = scene[1], tmp_path / "out"
    arguments = ["depth", *pair, "-o", out, "--range", "0.7,3.5"]
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    pytest.importorskip("OpenEXR", reason="the exr extra is not installed")
    assert {path.name for path in out.iterdir()} == set(DEPTH_FILES) - {"points.ply"}
    assert "points.ply (the camera file has no focal length)" in result.stderr
    summary = json.loads(result.stdout)
    assert summary["answered_fraction"] == 1
    found = load(out / "depth.npz")
    assert np.abs(found.depth_m / depth - 1).mean() < 0.012
    with Image.open(out / "overview.png") as picture:
        assert min(picture.size) > 300
    assert "would be replaced" in failed(run(*arguments), 2)
    assert run(*arguments, "--force").exit_code == 0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--psf", "nowhere.png"], 2, "nowhere.png"),
        (["--range", "1"], 2, "--range"),
        (["--range", "2,1"], 3, "nearest"),
        (["--prefilter", "-1"], 3, "--prefilter"),
        (["-c", "no.toml"], 3, "no.toml"),
    ],
)
def test_depth_refuses_bad_options_in_one_line_before_the_work(pair, tmp_path, monkeypatch, options, code, words):
    from relblur.photo import pipeline

    monkeypatch.setattr(pipeline, "prepare_pair", lambda *_, **__: pytest.fail("work has begun"))
    assert words in failed(run("depth", *pair, "-o", tmp_path / "o", *options), code)
    assert not (tmp_path / "o").exists()


@pytest.mark.slow
@pytest.mark.parametrize("known", [["--depth", "depth.png"], ["--plane"], ["--point"]])
def test_calibrate_finds_the_constant_and_writes_a_camera(scene, pair, tmp_path, known):
    folder, depth = scene
    Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2).save(tmp_path / "sheet.toml")
    if len(known) == 2:
        known = [known[0], folder / known[1]]
    else:
        known = [part for y, x in ((5, 5), (90, 20), (40, 100)) for part in (known[0], f"{y},{x},{depth[y, x]}")]
    arguments = ["calibrate", *pair[:2], "-c", tmp_path / "sheet.toml", *known, "--psf", "gaussian"]
    result = run(*arguments, "-o", tmp_path / "cal.toml")
    assert result.exit_code == 0, result.output
    assert Camera.load(tmp_path / "cal.toml").blur_constant == pytest.approx(0.27, rel=0.02)
    assert "blur_constant" in result.stdout
    assert "would be replaced" in failed(run(*arguments, "-o", tmp_path / "cal.toml"), 2)


def test_calibrate_needs_one_kind_of_distances(pair):
    common = ["calibrate", *pair]
    assert "exactly one" in failed(run(*common), 2)
    assert "exactly one" in failed(run(*common, "--distance", 1, "--point", "1,1,1"), 2)
    assert "3 numbers" in failed(run(*common, "--point", "1,1"), 2)


def test_camera_makes_checks_and_draws(tmp_path):
    result = run(
        "camera", "--focal-length", 35, "-N", "2.8", "--sensor-width", 23.6, "--image-width", 4000, "--focus", "1,2",
        "-o", tmp_path / "c.toml", "--plot", tmp_path / "c.png",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "resolution" in result.stdout
    made = Camera.load(tmp_path / "c.toml")
    assert made.pixel_pitch_um == pytest.approx(5.9)
    assert made.image_width_px == 4000
    with Image.open(tmp_path / "c.png") as picture:
        assert min(picture.size) > 300
    checked = run("camera", tmp_path / "c.toml", "--decimation", 4, "--json")
    told = json.loads(checked.stdout)
    assert told["kind"] == "focus"
    assert told["camera"]["decimation"] == 4
    assert told["nearest_m"] < 1
    assert told["farthest_m"] is None  # infinity, which JSON does not have
    assert all(row["resolution_mm"] > 0 for row in told["table"])


def test_camera_takes_two_apertures_and_says_what_is_wrong():
    told = json.loads(run("camera", "--focal-length", 35, "-N", "2.8,8", "-p", 36, "--focus", "1.7", "--json").stdout)
    assert told["kind"] == "aperture"
    message = failed(run("camera", "--focal-length", 35, "-N", "2.8", "-p", 6, "--focus", "1,0.03"), 3)
    assert "focus_second_m" in message
    assert "0.03 m" in message
    assert "name a camera file" in failed(run("camera", "--force"), 2)
    assert "--image-width" in failed(run("camera", "--sensor-width", 20, "--focus", "1,2"), 2)
    assert "--f-number" in failed(run("camera", "--focal-length", 35, "-N", "1,2,3"), 2)


def test_depth_prints_reasons_to_doubt_its_map(scene, tmp_path):
    """Swapped files are known by their names, a narrow range by the pixels at its ends."""
    folder, _ = scene
    common = ["-c", folder / "cam.toml", "--psf", "disc", "--decimate", 2, "--range", "1.4,1.5"]
    told = run("depth", folder / "far.png", folder / "near.png", *common, "-o", tmp_path / "x")
    assert told.exit_code == 0, told.output
    assert "are the two files swapped?" in told.stderr
    assert "lie at the ends of the search (1.4 m to 1.5 m)" in told.stderr
    assert "a wider --range" in told.stderr


def test_camera_says_which_decimation_opens_the_range():
    lens = ["camera", "--focal-length", 50, "-N", "2.8", "--sensor-width", 23.6, "--focus", "1,2"]
    told = json.loads(run(*lens, "--image-width", 4000, "--json").stdout)
    assert told["farthest_m"] < 1.4
    assert told["openings"] == [4, 7]
    assert "--decimate 4" in run(*lens, "--image-width", 4000).stdout
    assert "--decimate" not in run(*lens, "--image-width", 512).stdout
