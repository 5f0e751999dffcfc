"""``relblur range``: the points between the two distances in focus."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile  # noqa: TID253
from PIL import Image  # noqa: TID253

from command import failed, run
from relblur import Camera, save, synth
from relblur.depth.defocus import defocused_pair
from relblur.report.result_files import RANGE_FILES


def test_range_finds_the_points_between_the_planes(scene, tmp_path):
    folder, depth = scene
    out = tmp_path / "out"
    command = ["range", folder / "near.png", folder / "far.png", "-c", folder / "cam.toml", "-o", out, "--prefilter", 0]
    result = run(*command, "--json")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == sorted(RANGE_FILES)
    inside = (depth > 1.1) & (depth < 1.8)
    outside = (depth < 0.92) | (depth > 2.25)
    probability = tifffile.imread(out / "probability.tif")
    assert np.nanmedian(probability[inside]) > 0.95
    assert np.nanmedian(probability[outside]) < 0.05
    between = np.asarray(Image.open(out / "between.png"))
    assert set(np.unique(between)) <= {0, 128, 255}
    assert (between[inside] == 255).mean() > 0.95
    assert (between[outside] == 0).mean() > 0.9
    with Image.open(out / "overview.png") as picture:
        assert picture.width > 700
    summary = json.loads(result.stdout)
    assert (summary["nearest_m"], summary["farthest_m"]) == (1, 2)
    assert summary["between_fraction"] == pytest.approx((between == 255).mean())
    assert "would be replaced" in failed(run(*command), 2)


def test_a_plain_area_is_unknown(scene, tmp_path, texture):
    camera = Camera.load(scene[0] / "cam.toml")
    plain = np.arange(texture.shape[1]) >= 56
    pair = defocused_pair(np.where(plain, 0.6, texture), np.where(plain, 5.0, 1.4) * np.ones(texture.shape), camera)
    for name, image in zip(("near", "far"), pair, strict=True):
        save(tmp_path / f"{name}.png", synth.degrade(image, bits=8, noise=0.003, rng=len(name)))
    camera.save(tmp_path / "cam.toml")
    out = tmp_path / "out"
    result = run("range", tmp_path / "near.png", tmp_path / "far.png", "-c", tmp_path / "cam.toml", "-o", out, "--json")
    assert result.exit_code == 0, result.output
    between = np.asarray(Image.open(out / "between.png"))
    assert (between[:, 90:] == 128).mean() > 0.95
    assert (between[20:-20, 15:40] == 255).mean() > 0.8
    summary = json.loads(result.stdout)
    assert summary["unknown_fraction"] == pytest.approx((between == 128).mean())
    assert summary["between_fraction"] == pytest.approx((between == 255).mean())


def test_range_needs_two_distances(scene, tmp_path):
    folder, _ = scene
    Camera(coc_constant_px_m=(20, 7), focus_first_m=1.7, focus_second_m=1.7).save(tmp_path / "one.toml")
    line = failed(run("range", folder / "near.png", folder / "far.png", "-c", tmp_path / "one.toml", "-o", "x"), 3)
    assert "needs two focus distances" in line
