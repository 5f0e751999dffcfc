"""The command line: results to stdout, talk to stderr, errors in one line, nothing replaced unasked."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image  # noqa: TID253

import relblur
from command import failed, run
from relblur import estimate_blur, evaluate_pair, imread, load, prepare_pair, save, synth

COMMANDS = ["demo", "estimate", "evaluate", "depth", "range", "calibrate", "camera"]
COMMANDS += ["synth", "decimate", "optics", "reproduce", "report", "view", "fuse", "refocus", "stack"]


def _is_picture(path):
    with Image.open(path) as picture:
        picture.load()  # raises if it is not complete
        return min(picture.size) > 50


@pytest.fixture(scope="module")
def grey_pair(tmp_path_factory, texture):
    folder = tmp_path_factory.mktemp("grey")
    first, second = synth.pair(texture, synth.ramp(texture.shape, -2, 2, axis=1))
    save(folder / "a.png", synth.degrade(first, bits=16))
    save(folder / "b.png", synth.degrade(second, bits=16))
    return folder / "a.png", folder / "b.png"


@pytest.fixture(scope="module")
def colour_pair(tmp_path_factory, colour):
    folder = tmp_path_factory.mktemp("colour")
    for name, image in zip("ab", synth.pair(colour, 1.5, channel_axis=-1), strict=True):
        save(folder / f"{name}.png", synth.degrade(image, bits=8))
    return folder / "a.png", folder / "b.png"


# Help


def test_no_arguments_give_help_and_exit_cleanly():
    done = subprocess.run([sys.executable, "-m", "relblur"], capture_output=True, text=True, check=False)
    for command in COMMANDS:
        assert command in done.stdout
    assert done.stderr == ""
    assert done.returncode == 0


@pytest.mark.slow
@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_on_everything(command, flag):
    result = run(*([command] if command else []), flag)
    assert result.exit_code == 0
    assert "Usage" in result.stdout


@pytest.mark.parametrize("command", ["estimate", "evaluate", "synth", "decimate", "optics"])
def test_a_command_without_arguments_shows_its_help(command):
    result = run(command)
    assert f"Usage: relblur {command}" in result.stdout.replace("root", "relblur")
    assert "Traceback" not in result.output


def test_version():
    assert run("--version").stdout.strip() == relblur.__version__


# Usage errors: exit 2


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["frobnicate"], "frobnicate"),
        (["estimate", "a.png"], "second"),
        (["estimate", "a.png", "b.png"], "--output"),
        (["estimate", "a.png", "b.png", "-o", "x", "--method", "magic"], "magic"),
        (["estimate", "a.png", "b.png", "-o", "x", "--decimate", "0"], "--decimate"),
        (["optics", "--nonsense"], "--nonsense"),
    ],
)
def test_wrong_usage_exits_with_2(tmp_path, monkeypatch, arguments, word):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert word.lower() in result.stderr.lower()
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


# Bad data: exit 3


def test_missing_file_is_one_line_and_exit_3(tmp_path, grey_pair):
    result = run("estimate", grey_pair[0], tmp_path / "nowhere.png", "-o", tmp_path / "out")
    assert "there is no file" in failed(result, 3)
    assert not (tmp_path / "out").exists()


def test_text_renamed_to_png_is_one_line_and_exit_3(tmp_path):
    for name in ("a.png", "b.png"):
        (tmp_path / name).write_text("no image")
    for arguments in (
        ("estimate", tmp_path / "a.png", tmp_path / "b.png", "-o", tmp_path / "out"),
        ("evaluate", tmp_path / "a.png", tmp_path / "b.png"),
        ("decimate", tmp_path / "a.png", 2, "-o", tmp_path / "small.png"),
        ("synth", tmp_path / "a.png", "-o", tmp_path / "out"),
    ):
        assert "a.png is not an image relblur can read" in failed(run(*arguments), 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "b.png"]


def test_different_sizes_name_both_files_and_sizes(tmp_path, grey_pair):
    save(tmp_path / "small.png", np.zeros((20, 30), np.uint8))
    line = failed(run("estimate", grey_pair[0], tmp_path / "small.png", "-o", tmp_path / "out"), 3)
    assert "112x96" in line
    assert "30x20" in line
    assert "crop or resize" in line


def test_bad_values_are_one_line_and_exit_3(tmp_path, grey_pair):
    out = tmp_path / "out"
    assert "window must be an odd" in failed(run("estimate", *grey_pair, "-o", out, "--window", 4), 3)
    assert "max_sigma must be finite and > 0" in failed(run("estimate", *grey_pair, "-o", out, "--max-sigma", 0), 3)
    paper = ("estimate", *grey_pair, "-o", out, "--method", "paper")
    assert "max_sigma must be at least 0.1" in failed(run(*paper, "--max-sigma", 0.01), 3)
    assert "below 1000 px" in failed(run(*paper, "--max-sigma", 1e12), 3)
    assert "f_number must be finite" in failed(run("optics", "-f", 50, "-N", -2, "--near", 1), 3)
    assert "factor=5000 exceeds the image" in failed(run("decimate", grey_pair[0], 5000, "-o", tmp_path / "x.png"), 3)
    assert list(tmp_path.iterdir()) == []


def test_options_that_do_not_fit_are_one_line_and_exit_2(tmp_path, grey_pair):
    out = ("-o", tmp_path / "out")
    assert "--decimate must be whole numbers" in failed(run("evaluate", *grey_pair, "--decimate", "1,x"), 2)
    assert "--bits must be 8, 16 or 0" in failed(run("synth", grey_pair[0], *out, "--bits", 12), 2)
    assert "give --focal-length" in failed(run("optics", "-N", 2, "--near", 1), 2)
    assert "--pixel-pitch (um) is needed" in failed(run("optics", "-N", 2, "--near", 1, "--c-max", 5), 2)
    assert list(tmp_path.iterdir()) == []


def test_a_real_process_fails_in_one_line_too(tmp_path):
    command = [
        sys.executable,
        "-m",
        "relblur.apps.cli.app",
        "decimate",
        str(tmp_path),
        "2",
        "-o",
        str(tmp_path / "x.png"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 3
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "is a folder; name an image file in it" in done.stderr


def test_debug_shows_the_traceback(tmp_path):
    result = run("--debug", "decimate", tmp_path, 2, "-o", tmp_path / "x.png")
    assert isinstance(result.exception, relblur.RelblurError)
    assert failed(run("decimate", tmp_path, 2, "-o", tmp_path / "x.png"), 3)  # and is off again


# estimate


def test_estimate_writes_everything_and_prints_json_alone(tmp_path, grey_pair):
    out, steps = tmp_path / "out", tmp_path / "steps"
    result = run("estimate", *grey_pair, "-o", out, "--method", "window", "--json", "--save-steps", steps)
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert (summary["width"], summary["height"]) == (112, 96)
    assert summary["answered_fraction"] > 0.9
    assert summary["settings"]["method"] == "window"
    assert -2.1 < summary["sigma_px_percentiles"]["5"] < -1.5 < 1.5 < summary["sigma_px_percentiles"]["95"] < 2.1
    assert "overview.png" in result.stderr
    written = {p.name for p in out.iterdir()}
    assert {"blur_map.npz", "sigma.tif", "sigma.png", "sigma_colour.png", "stderr.png"} <= written
    assert {"sharper.png", "flags.png", "remade.png", "overview.png", "summary.json"} <= written
    assert all(_is_picture(out / name) for name in written if name.endswith(".png"))
    found = load(out / "blur_map.npz")
    truth = synth.ramp(found.shape, -2, 2, axis=1)
    assert np.nanmedian(np.abs(found.sigma - truth)) < 0.1
    stages = sorted(p.name for p in steps.iterdir())
    assert len(stages) >= 5
    assert stages[0].startswith("1_")
    assert json.loads((out / "summary.json").read_text())["width"] == 112


def test_estimate_does_not_overwrite_without_force(tmp_path, grey_pair):
    out = tmp_path / "out"
    out.mkdir()
    (out / "overview.png").write_bytes(b"mine")
    line = failed(run("estimate", *grey_pair, "-o", out, "--method", "window"), 2)
    assert "overview.png would be replaced; add --force or choose another folder" in line
    assert (out / "overview.png").read_bytes() == b"mine"
    assert len(list(out.iterdir())) == 1
    result = run("estimate", *grey_pair, "-o", out, "--method", "window", "--force")
    assert result.exit_code == 0
    assert (out / "overview.png").read_bytes() != b"mine"


def test_steps_are_not_overwritten_without_force_either(tmp_path, grey_pair):
    steps = tmp_path / "steps"
    steps.mkdir()
    (steps / "1_pair.png").write_bytes(b"mine")
    result = run("estimate", *grey_pair, "-o", tmp_path / "out", "--method", "window", "--save-steps", steps)
    assert "1_pair.png would be replaced" in failed(result, 2)
    assert (steps / "1_pair.png").read_bytes() == b"mine"
    assert not (tmp_path / "out").exists()


def test_a_file_in_place_of_the_folder_is_refused(tmp_path, grey_pair):
    (tmp_path / "out").write_text("a file")
    result = run("estimate", *grey_pair, "-o", tmp_path / "out", "--method", "window")
    assert "out is a file; name a folder" in failed(result, 2)


def test_estimate_decimates_states_the_side_and_prints_a_table(tmp_path, colour_pair):
    out = tmp_path / "out"
    options = ("--method", "paper", "--sharper", "first", "--decimate", 2, "--max-sigma", 3)
    result = run("estimate", *colour_pair, "-o", out, *options)
    assert result.exit_code == 0, result.output
    assert "44x36" in result.stdout
    assert "pixels answered" in result.stdout
    found = load(out / "blur_map.npz")
    assert found.shape == (36, 44)
    assert (found.settings["method"], found.settings["sharper"]) == ("paper", "first")
    assert_allclose(found.settings["sigmas"][-1], 3.0)
    assert_allclose(np.nanmedian(found.sigma), 0.75, atol=0.1)


# evaluate


@pytest.mark.parametrize("kind", ["grey", "colour"])
def test_evaluate_gives_one_row_for_each_decimation(request, kind):
    pair = request.getfixturevalue(f"{kind}_pair")
    result = run("evaluate", *pair, "--decimate", "1,2", "--method", "window", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["decimate"] for row in rows] == [1, 2]
    sizes = {"grey": ["112x96", "56x48"], "colour": ["88x72", "44x36"]}
    assert [row["resolution"] for row in rows] == sizes[kind]
    for row in rows:
        total = row["first_sharper_fraction"] + row["second_sharper_fraction"] + row["equal_fraction"]
        assert_allclose(total, 1)
        assert row["e_second"] < row["unblurred_e_second"]
    assert (rows[0]["explained"] is None) == (kind == "grey")


def test_evaluate_prints_shares_and_errors_with_their_baselines(colour_pair):
    command = ("evaluate", *colour_pair, "--decimate", "2", "--method", "window")
    result = run(*command)
    assert result.exit_code == 0
    row = json.loads(run(*command, "--json").stdout)[0]
    names = [("e_second", "unblurred_e_second"), ("held_out_e_second", "held_out_unblurred_e_second")]
    errors = [f"{row[error]:.4f} ({row[before]:.4f})" for error, before in names]
    for text in ("44x36", "equal", "scored", "held-out e_second", f"{row['scored_fraction']:.0%}", *errors):
        assert text in result.stdout


@pytest.mark.parametrize("options", [(), ("--method", "window", "--sharper", "first"), ("--as-stored", "-m", "paper")])
def test_evaluate_scores_the_map_of_estimate(colour_pair, tmp_path, options):
    made = run("estimate", *colour_pair, *options, "-o", tmp_path / "out")
    assert made.exit_code == 0, made.output
    result = run("evaluate", *colour_pair, *options, "--json")
    assert result.exit_code == 0, result.output
    stored = {"align": "off", "exposure": "off", "linear": False} if "--as-stored" in options else {}
    pair = prepare_pair(*colour_pair, **stored)
    wanted = evaluate_pair(pair.first, pair.second, load(tmp_path / "out" / "blur_map.npz"), held_out=False)
    (row,) = json.loads(result.stdout)
    for name, value in wanted.as_dict().items():
        if "held_out" not in name and name != "explained":
            assert row[name] == pytest.approx(value, nan_ok=True) if row[name] is not None else np.isnan(value)
    assert row["explained"] > 0.7
    notes = [line for line in made.stderr.splitlines() if line.split(":")[0] in ("light", "alignment", "exposure")]
    assert set(notes) <= set(run("evaluate", *colour_pair, *options).stderr.splitlines())


def test_the_papers_protocol_has_three_resolutions(grey_pair):
    rows = json.loads(run("evaluate", *grey_pair, "--protocol", "paper", "--method", "window", "--json").stdout)
    assert [row["decimate"] for row in rows] == [1, 2, 4]


@pytest.mark.slow
def test_as_stored_is_the_papers_setting(grey_pair, tmp_path):
    first, second = (imread(path, linear=False) for path in grey_pair)
    wanted = evaluate_pair(first, second, method="paper")
    rows = json.loads(run("evaluate", *grey_pair, "--protocol", "paper", "--decimate", "1", "--json").stdout)
    assert rows[0]["e_second"] == pytest.approx(wanted.e_second)
    result = run("estimate", *grey_pair, "--method", "paper", "--as-stored", "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    assert "alignment" not in result.stderr
    assert_array_equal(
        load(tmp_path / "out" / "blur_map.npz").sigma, estimate_blur(first, second, method="paper").sigma
    )
    for option in (("--align", "translation"), ("--exposure", "field"), ("--gamma", 2.2)):
        line = failed(run("estimate", *grey_pair, "--as-stored", *option, "-o", tmp_path / "no"), 2)
        assert f"leave {option[0]} out" in line
        assert f"--protocol paper takes the values in the files as they are; leave {option[0]} out" in failed(
            run("evaluate", *grey_pair, "--protocol", "paper", *option), 2
        )


# synth, decimate, optics


@pytest.mark.parametrize(("bits", "suffix", "tolerance"), [(16, ".png", 1e-4), (8, ".png", 5e-3), (0, ".tif", 1e-6)])
def test_synth_makes_the_pair_it_says(tmp_path, grey_pair, bits, suffix, tolerance):
    out = tmp_path / "out"
    arguments = ("--field", "ramp", "--start", -1.0, "--stop", 2.0, "--axis", 1, "--bits", bits)
    result = run("synth", grey_pair[0], "-o", out, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == [str(out / name) for name in (f"first{suffix}", f"second{suffix}", "truth.tif")]
    truth = tifffile.imread(out / "truth.tif")
    assert_allclose(truth, synth.ramp((96, 112), -1, 2, axis=1), atol=1e-6)
    wanted = synth.pair(imread(grey_pair[0]), truth.astype(float))
    for name, image in zip(("first", "second"), wanted, strict=True):
        assert_allclose(imread(out / f"{name}{suffix}"), image, atol=tolerance)
    assert "would be replaced" in failed(run("synth", grey_pair[0], "-o", out, *arguments), 2)


@pytest.mark.parametrize("bits", [8, 0])
def test_synth_makes_the_pair_of_fig_1(tmp_path, bits):
    stored = np.random.default_rng(0).integers(0, 256, (40, 48), dtype=np.uint8)
    Image.fromarray(stored).save(tmp_path / "sharp.png")
    out = tmp_path / "out"
    result = run("synth", tmp_path / "sharp.png", "-o", out, "--as-stored", "--kernel", "sampled", "--bits", bits)
    assert result.exit_code == 0, result.output
    suffix = ".png" if bits else ".tif"
    wanted = synth.blur_with_map(stored, synth.ramp(stored.shape, 1, 2))
    assert_allclose(imread(out / f"second{suffix}", linear=False), wanted, atol=0.502 / 255 if bits else 1e-7)
    assert_allclose(imread(out / f"first{suffix}", linear=False), stored / 255, atol=1e-7)


@pytest.mark.parametrize("field", ["steps", "disc", "sinusoid"])
def test_synth_knows_other_fields_and_repeats_its_noise(tmp_path, grey_pair, field):
    for name in ("one", "two"):
        result = run("synth", grey_pair[0], "-o", tmp_path / name, "--field", field, "--noise", 0.01, "--seed", 3)
        assert result.exit_code == 0, result.output
    truth = tifffile.imread(tmp_path / "one" / "truth.tif")
    assert np.ptp(truth) > 0.5
    assert truth.min() >= 1 - 1e-6
    assert truth.max() <= 2 + 1e-6
    assert (tmp_path / "one" / "first.png").read_bytes() == (tmp_path / "two" / "first.png").read_bytes()


def test_decimate_writes_the_smaller_image(tmp_path, grey_pair):
    path = tmp_path / "small.png"
    result = run("decimate", grey_pair[0], 3, "-o", path)
    assert result.exit_code == 0
    assert result.stdout.strip() == str(path)
    assert "112x96 -> 38x32" in result.stderr
    assert_allclose(imread(path), relblur.decimate(imread(grey_pair[0]), 3).clip(0, 1), atol=1e-4)
    softer = tmp_path / "softer.png"
    assert run("decimate", grey_pair[0], 3, "-o", softer, "-L", 6, "--beta", 4).exit_code == 0
    wanted = relblur.decimate(imread(grey_pair[0]), 3, half_width=6, beta=4).clip(0, 1)
    assert_allclose(imread(softer), wanted, atol=1e-4)
    assert np.abs(imread(softer) - imread(path)).max() > 1e-3
    assert "small.png would be replaced; add --force" in failed(run("decimate", grey_pair[0], 3, "-o", path), 2)
    assert run("decimate", grey_pair[0], 2, "-o", path, "--force").exit_code == 0
    assert imread(path).shape == (48, 56)


@pytest.mark.parametrize(
    ("arguments", "pixels", "factor"),
    [
        (("-f", 17, "-N", 2, "--near", 1, "-p", 4.5), 32, 7),
        (("-f", 67, "-N", 4, "--near", 1.1, "-p", 21.43), 48, 11),
    ],
    ids=["Lytro Illum", "Canon 5D IV"],
)
def test_optics_gives_the_papers_circles(arguments, pixels, factor):
    result = run("optics", *arguments, "--json")
    assert result.exit_code == 0
    values = json.loads(result.stdout)
    assert round(values["c_max_far_background_px"]) == pixels
    assert values["c_max_exact_px"] > values["c_max_small_focal_length_px"]
    assert values["decimate_by"] == factor
    assert 0.5 <= values["c_max_after_decimation_px"] <= 5
    assert values["within_recommended_range"] is True
    assert f"{values['c_max_far_background_px']:.4g}" in run("optics", *arguments).stdout


def test_optics_gives_the_focal_length_for_a_circle():
    result = run("optics", "-N", 2.8, "--near", 2, "-p", 5, "--c-max", 5, "--relative-depth", 0.2, "--json")
    focal = json.loads(result.stdout)["focal_length_for_c_max_mm"]
    back = relblur.optics.max_circle_mm(0.2, focal / 2.8, focal, 2000)
    assert_allclose(relblur.optics.mm_to_px(back, 5), 5)


# demo and reproduce


@pytest.mark.slow
def test_demo_writes_its_pictures_and_scores_every_method(tmp_path, monkeypatch):
    # A smaller picture than the real one: the chain is the same.
    monkeypatch.setattr("relblur.apps.demo.program.SIZE", (128, 160))
    result = run("demo", "-o", tmp_path / "demo", "--json")
    assert result.exit_code == 0, result.output
    rows = {row["method"]: row for row in json.loads(result.stdout)}
    assert set(rows) == {"paper", "window", "refined"}
    for row in rows.values():
        assert row["median_error_px"] < 0.2
        assert row["answered_fraction"] > 0.5
    for name in ("first.png", "second.png", "comparison.png", "refined/overview.png"):
        assert _is_picture(tmp_path / "demo" / name)
    assert "would be replaced" in failed(run("demo", "-o", tmp_path / "demo"), 2)


@pytest.mark.slow
def test_reproduce_prints_what_it_found(tmp_path):
    from paper_sets import make_data_set

    make_data_set(tmp_path / "data", "list", shape=(64, 80))
    command = ("reproduce", "--data", tmp_path / "data", "--only", "table1, fig2", "-o", tmp_path / "out")
    result = run(*command, "--json")
    assert result.exit_code == 0, result.output
    assert "Real MFF: 1 pair in" in result.stderr
    found = json.loads(result.stdout)
    assert found["fig1"] == []
    assert [row["resolution"] for row in found["table1"]] == 2 * ["80x64", "40x32", "20x16"]
    assert {"fig2.png", "paper.html", "table1.csv"} == {path.name for path in (tmp_path / "out").iterdir()}
    table = run(*command, "--force").stdout
    for text in ("held-out e_B", "20x16", "0.025", "32.1 px"):
        assert text in table
    assert "paper.html and 2 more would be replaced" in failed(run(*command), 2)


def test_reproduce_refuses_folders_without_pairs(tmp_path):
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    assert "no pairs in" in failed(run("reproduce", "-o", out, "--data", tmp_path / "empty"), 3)
    assert "is neither a folder nor a list" in failed(run("reproduce", "-o", out, "--data", tmp_path / "nowhere"), 3)
    assert "--only takes fig1" in failed(run("reproduce", "-o", out, "--only", "fig9"), 3)
    assert "no pair has this name" in failed(run("reproduce", "-o", out, "--pair", "7"), 3)
    assert not out.exists()
    assert not out.exists()


# Notes


def test_a_dropped_alpha_channel_is_a_note_on_stderr(tmp_path, colour):
    import cv2

    picture = np.dstack([synth.degrade(colour, bits=8), np.full(colour.shape[:2], 255, np.uint8)])
    cv2.imwrite(str(tmp_path / "alpha.png"), picture)
    result = run("decimate", tmp_path / "alpha.png", 2, "-o", tmp_path / "small.png")
    assert result.exit_code == 0
    assert "note: " in result.stderr
    assert "alpha channel dropped" in result.stderr
    assert imread(tmp_path / "small.png").shape == (36, 44, 3)


def test_estimate_takes_a_prefilter_and_says_so(tmp_path, grey_pair):
    done = run("estimate", *grey_pair, "-o", tmp_path / "out", "--method", "window", "--prefilter", "1", "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["settings"]["prefilter"] == 1.0


# Light, alignment, exposure


@pytest.fixture
def camera_pair(tmp_path, colour):
    """An 8-bit sRGB pair, blurred in light by 1.5 px; the second is shifted by (2, -3) px and 5 % brighter."""
    from scipy import ndimage

    from relblur.photo.tone_curves import SRGB, encode_srgb

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
def test_estimate_undoes_curve_motion_and_exposure_and_says_so(tmp_path, camera_pair):
    done = run("estimate", *camera_pair, "-o", tmp_path / "out", "--json", "--sharper", "first", "--decimate", 1)
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["sigma_px_percentiles"]["50"] == pytest.approx(1.5, abs=0.03)
    light, alignment, exposure = summary["notes"]
    assert light == "light: 8-bit PNG, sRGB curve undone (usual for 8 bits)"
    assert alignment.startswith("alignment: second moved by ")
    down, right = (float(alignment.split()[index]) for index in (4, 7))
    assert (down, right) == (pytest.approx(-2, abs=0.15), pytest.approx(3, abs=0.15))
    assert "of the frame lost" in alignment
    assert "second multiplied by 0.95" in exposure
    assert all(note in done.stderr for note in summary["notes"])
    stored = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert stored["notes"] == summary["notes"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "notes"),
    [
        (("--align", "off", "--exposure", "off"), ["light: 8-bit PNG, sRGB curve undone (usual for 8 bits)"]),
        (
            ("--no-linear", "--align", "off", "--exposure", "off"),
            ["light: 8-bit PNG, taken as linear (asked for)"],
        ),
        (
            ("--gamma", "1.8", "--align", "off", "--exposure", "off"),
            ["light: 8-bit PNG, gamma 1.8 undone (asked for)"],
        ),
    ],
)
def test_every_step_has_an_off_switch(tmp_path, camera_pair, options, notes):
    done = run("estimate", *camera_pair, "-o", tmp_path / "out", "--json", "--method", "window", *options)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["notes"] == notes


def test_two_scenes_are_refused_in_one_line(tmp_path, camera_pair):
    rng = np.random.default_rng(0)
    grey = imread(camera_pair[0]).mean(axis=2)
    other = np.kron(rng.random((40, 40)), np.ones((8, 8)))[: grey.shape[0], : grey.shape[1]]
    save(tmp_path / "grey.png", grey)
    save(tmp_path / "other.png", other)
    said = failed(run("estimate", tmp_path / "grey.png", tmp_path / "other.png", "-o", tmp_path / "out"), 3)
    assert "same scene" in said
    assert not (tmp_path / "out").exists()


def test_gamma_and_no_linear_contradict_each_other(tmp_path, camera_pair):
    said = failed(run("estimate", *camera_pair, "-o", tmp_path / "out", "--gamma", "2", "--no-linear"), 3)
    assert "leave one of them out" in said


@pytest.mark.slow
def test_estimate_loads_neither_scipy_nor_matplotlib(tmp_path):
    """On a fresh install they take longer to load than the pair takes to estimate."""
    sharp = np.random.default_rng(0).random((64, 80, 3))
    moved = synth.blur_with_map(sharp, 1.5, channel_axis=-1)[1:-1, 2:]  # aligned, so resampled
    save(tmp_path / "a.png", np.rint(255 * sharp[:-2, :-2]).astype(np.uint8))
    save(tmp_path / "b.png", np.rint(255 * moved.clip(0, 1)).astype(np.uint8))
    code = (
        "import sys\nfrom relblur.apps.cli.app import app\napp(standalone_mode=False)\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    arguments = ["estimate", str(tmp_path / "a.png"), str(tmp_path / "b.png"), "-o", str(tmp_path / "out")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert "second moved by" in done.stderr
    assert not {"scipy", "matplotlib"} & set(done.stderr.split())
    assert (tmp_path / "out" / "overview.png").exists()


def test_a_small_picture_with_wide_blur_is_reduced_after_all(tmp_path):
    sharp = synth.blur_with_map(np.random.default_rng(0).random((160, 200)), 2.0)
    sharp = (sharp - sharp.min()) / np.ptp(sharp)
    blurry = synth.blur_with_map(sharp, 4.0)
    for name, image in (("a.png", sharp), ("b.png", blurry)):
        save(tmp_path / name, np.rint(65535 * image).astype(np.uint16))
    out = tmp_path / "out"
    result = run("estimate", tmp_path / "a.png", tmp_path / "b.png", "-o", out, "--max-sigma", 2.5, "--json")
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["settings"]["decimate"] == 2
    assert (summary["width"], summary["height"]) == (100, 80)
    assert load(out / "blur_map.npz").shape == (80, 100)
    assert abs(summary["sigma_px_percentiles"]["50"] - 2.0) < 0.2
