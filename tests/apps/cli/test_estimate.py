"""``relblur estimate``: files, options, preparation, errors."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

from command import failed, run
from relblur import load, save, synth


def test_files_that_are_missing_spoilt_or_of_two_sizes_are_one_line(tmp_path, grey_pair):
    out = ("-o", tmp_path / "out")
    assert "there is no file" in failed(run("estimate", grey_pair[0], tmp_path / "nowhere.png", *out), 3)
    save(tmp_path / "small.png", np.zeros((20, 30), np.uint8))
    line = failed(run("estimate", grey_pair[0], tmp_path / "small.png", *out), 3)
    assert "112x96" in line
    assert "30x20" in line
    (tmp_path / "a.png").write_text("no image")
    for arguments in (
        ("estimate", tmp_path / "a.png", grey_pair[1], *out),
        ("evaluate", tmp_path / "a.png", grey_pair[1]),
        ("tools", "decimate", tmp_path / "a.png", 2, "-o", tmp_path / "made.png"),
        ("tools", "synth", tmp_path / "a.png", *out),
    ):
        assert "a.png is not an image relblur can read" in failed(run(*arguments), 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "small.png"]


def test_bad_values_are_one_line(tmp_path, grey_pair):
    command = ("estimate", *grey_pair, "-o", tmp_path / "out")
    assert "window must be an odd" in failed(run(*command, "--window", 4), 3)
    assert "max_sigma must be finite and > 0" in failed(run(*command, "--max-sigma", 0), 3)
    assert "decimate must be" in failed(run(*command, "--decimate", 0), 3)
    assert "leave one of them out" in failed(run(*command, "--gamma", 2, "--no-linear"), 3)
    assert list(tmp_path.iterdir()) == []


def test_estimate_writes_all_results_and_replaces_nothing_without_force(tmp_path, grey_pair):
    out = tmp_path / "out"
    command = ("estimate", *grey_pair, "-o", out, "--method", "window", "--json")
    out.mkdir()
    (out / "overview.png").write_bytes(b"mine")
    assert "overview.png would be replaced; add --force or choose another folder" in failed(run(*command), 2)
    assert [(each.name, each.read_bytes()) for each in out.iterdir()] == [("overview.png", b"mine")]
    result = run(*command, "--force")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["width"], summary["height"]) == (112, 96)
    assert summary["answered_fraction"] > 0.9
    assert summary["settings"]["method"] == "window"
    assert -2.1 < summary["sigma_px_percentiles"]["5"] < -1.5 < 1.5 < summary["sigma_px_percentiles"]["95"] < 2.1
    written = {p.name for p in out.iterdir()}
    assert {"blur_map.npz", "sigma.tif", "sigma.png", "sigma_colour.png"} <= written
    assert {"flags.png", "remade.png", "overview.png", "summary.json"} <= written
    for name in written:
        if name.endswith(".png"):
            with Image.open(out / name) as picture:
                picture.load()  # raises if it is not complete
    found = load(out / "blur_map.npz")
    assert np.nanmedian(np.abs(found.sigma - synth.ramp(found.shape, -2, 2, axis=1))) < 0.1
    (tmp_path / "file").write_text("a file")
    assert "file is a file; name a folder" in failed(run("estimate", *grey_pair, "-o", tmp_path / "file"), 2)


@pytest.fixture
def camera_pair(tmp_path, colour):
    """An 8-bit sRGB pair, blurred in light by 1.5 px; the second is shifted by (2, -3) px and 5 % brighter."""
    from scipy import ndimage

    from relblur.base.tone import SRGB, encode_srgb

    light = 0.8 * np.kron(SRGB.undo(colour, np.float64), np.ones((3, 3, 1)))
    light = ndimage.gaussian_filter(light, (0.8, 0.8, 0))
    blurred = synth.blur_with_map(light, 1.5, channel_axis=-1)
    moved = 1.05 * blurred[8:-12, 13:-7]
    paths = []
    for name, image in (("near.png", light[10:-10, 10:-10]), ("far.png", moved)):
        save(tmp_path / name, synth.degrade(encode_srgb(image), bits=8))
        paths.append(tmp_path / name)
    return paths


@pytest.mark.slow
def test_estimate_undoes_curve_motion_and_exposure_and_states_it(tmp_path, camera_pair):
    done = run("estimate", *camera_pair, "-o", tmp_path / "out", "--json", "--sharper", "first", "--decimate", 1)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["sigma_px_percentiles"]["50"] == pytest.approx(1.5, abs=0.03)
    light, alignment, exposure = summary["notes"]
    assert light == "light: 8-bit PNG, sRGB curve undone (usual for 8 bits)"
    down, right = (float(alignment.split()[index]) for index in (4, 7))
    assert (down, right) == (pytest.approx(-2, abs=0.15), pytest.approx(3, abs=0.15))
    assert "second multiplied by 0.95" in exposure
    assert all(note in done.stderr for note in summary["notes"])
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["notes"] == summary["notes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "note"),
    [
        ((), "sRGB curve undone"),
        (("--no-linear",), "taken as linear"),
        (("--gamma", "1.8"), "gamma 1.8 undone"),
    ],
)
def test_every_step_has_an_off_switch(tmp_path, camera_pair, option, note):
    switches = ("--align", "off", "--exposure", "off", *option)
    done = run("estimate", *camera_pair, "-o", tmp_path / "out", "--json", "--method", "window", *switches)
    assert done.exit_code == 0, done.output
    (light,) = json.loads(done.stdout)["notes"]
    assert note in light


@pytest.mark.slow
def test_estimate_does_not_load_matplotlib(tmp_path):
    """It takes longer to load than the pair takes to estimate."""
    sharp = np.random.default_rng(0).random((64, 80, 3))
    moved = synth.blur_with_map(sharp, 1.5, channel_axis=-1)[1:-1, 2:]  # aligned, so resampled
    save(tmp_path / "a.png", np.rint(255 * sharp[:-2, :-2]).astype(np.uint8))
    save(tmp_path / "b.png", np.rint(255 * moved.clip(0, 1)).astype(np.uint8))
    code = (
        "import sys\nfrom relblur.apps.cli.app import app\napp(standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    arguments = ["estimate", str(tmp_path / "a.png"), str(tmp_path / "b.png"), "-o", str(tmp_path / "out"), "--report"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert "second moved by" in done.stderr
    assert "matplotlib" not in done.stderr.split()
