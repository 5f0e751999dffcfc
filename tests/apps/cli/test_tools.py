"""``relblur tools synth`` and ``decimate``, ``relblur paper optics``."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

import relblur
from command import failed, run
from relblur import imread, synth

DECIMATE, SYNTH, OPTICS = ("tools", "decimate"), ("tools", "synth"), ("paper", "optics")


@pytest.mark.parametrize(("bits", "tolerance"), [(16, 1e-4), (8, 5e-3)])
def test_synth_makes_the_pair_of_its_options(tmp_path, grey_pair, bits, tolerance):
    out = tmp_path / "out"
    arguments = ("--start", -1.0, "--stop", 2.0, "--axis", 1, "--bits", bits)
    result = run(*SYNTH, grey_pair[0], "-o", out, *arguments)
    assert result.exit_code == 0, result.output
    assert result.stdout.split() == [str(out / name) for name in ("first.png", "second.png", "truth.tif")]
    truth = tifffile.imread(out / "truth.tif")
    assert_allclose(truth, synth.ramp((96, 112), -1, 2, axis=1), atol=1e-6)
    wanted = synth.pair(imread(grey_pair[0]), truth.astype(float))
    for name, image in zip(("first", "second"), wanted, strict=True):
        assert_allclose(imread(out / f"{name}.png"), image, atol=tolerance)
    assert "would be replaced" in failed(run(*SYNTH, grey_pair[0], "-o", out, *arguments), 2)


def test_synth_makes_the_pair_of_fig_1(tmp_path):
    stored = np.random.default_rng(0).integers(0, 256, (40, 48), dtype=np.uint8)
    Image.fromarray(stored).save(tmp_path / "sharp.png")
    options = ("--as-stored", "--kernel", "sampled", "--bits", 8)
    result = run(*SYNTH, tmp_path / "sharp.png", "-o", tmp_path / "out", *options)
    assert result.exit_code == 0, result.output
    wanted = synth.blur_with_map(stored, synth.ramp(stored.shape, 1, 2))
    assert_allclose(imread(tmp_path / "out" / "second.png", linear=False), wanted, atol=0.502 / 255)


def test_decimate_writes_the_smaller_image(tmp_path, grey_pair):
    path, softer = tmp_path / "small.png", tmp_path / "softer.png"
    result = run(*DECIMATE, grey_pair[0], 3, "-o", path)
    assert (result.exit_code, result.stdout.strip()) == (0, str(path))
    assert "112x96 -> 38x32" in result.stderr
    assert_allclose(imread(path), relblur.decimate(imread(grey_pair[0]), 3).clip(0, 1), atol=1e-4)
    assert run(*DECIMATE, grey_pair[0], 3, "-o", softer, "-L", 6, "--beta", 4).exit_code == 0
    wanted = relblur.decimate(imread(grey_pair[0]), 3, half_width=6, beta=4).clip(0, 1)
    assert_allclose(imread(softer), wanted, atol=1e-4)
    assert np.abs(imread(softer) - imread(path)).max() > 1e-3
    assert "small.png would be replaced; add --force" in failed(run(*DECIMATE, grey_pair[0], 3, "-o", path), 2)
    assert run(*DECIMATE, grey_pair[0], 2, "-o", path, "--force").exit_code == 0
    assert imread(path).shape == (48, 56)


@pytest.mark.parametrize(
    ("arguments", "pixels", "factor"),
    [
        (("--focal-length", 17, "-N", 2, "--near", 1, "-p", 4.5), 32, 7),
        (("--focal-length", 67, "-N", 4, "--near", 1.1, "-p", 21.43), 48, 11),
    ],
    ids=["Lytro Illum", "Canon 5D IV"],
)
def test_optics_gives_the_papers_circles(arguments, pixels, factor):
    values = json.loads(run(*OPTICS, *arguments, "--json").stdout)
    assert round(values["c_max_far_background_px"]) == pixels
    assert values["decimate_by"] == factor
    assert 0.5 <= values["c_max_after_decimation_px"] <= 5
    assert f"{values['c_max_far_background_px']:.4g}" in run(*OPTICS, *arguments).stdout
    back = json.loads(run(*OPTICS, *arguments[2:], "--c-max", 5, "--json").stdout)["focal_length_for_c_max_mm"]
    circle = relblur.optics.max_circle_mm(0.1, back / arguments[3], back, 1000 * arguments[5])
    assert_allclose(relblur.optics.mm_to_px(circle, arguments[7]), 5)


def test_values_that_do_not_fit_are_one_line(tmp_path, grey_pair):
    for command, code, words in (
        ((*OPTICS, "--focal-length", 50, "-N", -2, "--near", 1, "-p", 5), 3, "f_number must be finite"),
        ((*OPTICS, "-N", 2, "--near", 1, "-p", 5), 2, "add --focal-length"),
        ((*DECIMATE, grey_pair[0], 5000, "-o", tmp_path / "x.png"), 3, "factor=5000 exceeds the image"),
        ((*SYNTH, grey_pair[0], "-o", tmp_path / "out", "--start", "inf"), 2, "--start and --stop must be finite"),
    ):
        assert words in failed(run(*command), code)
    assert list(tmp_path.iterdir()) == []
