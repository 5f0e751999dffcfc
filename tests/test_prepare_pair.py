"""``prepare_pair``: the pipeline that the command line and Python programs share."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

import relblur
from relblur import ComparablePair, InputError, estimate_blur, estimate_depth, imread, prepare_pair, save, synth
from relblur.cli.app import app

CAMERA = relblur.Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, blur_constant=0.25)


def _same(found, wanted):
    assert_array_equal(found.variance_difference, wanted.variance_difference)
    assert_array_equal(found.variance_stderr, wanted.variance_stderr)
    assert_array_equal(found.flags, wanted.flags)


@pytest.fixture(scope="module")
def files(tmp_path_factory, colour):
    """Two 8-bit files with motion, another exposure, noise and a clipped corner."""
    folder = tmp_path_factory.mktemp("pair")
    rng = np.random.default_rng(0)
    first, second = synth.pair(np.kron(colour, np.ones((2, 2, 1))), 1.5, channel_axis=-1)
    second = 0.85 * np.roll(second, 1, axis=1)
    first[:12, :12] = 1.2
    for name, light in (("near.png", first), ("far.png", second)):
        noisy = synth.degrade(light, noise=0.003, rng=rng)
        save(folder / name, synth.degrade(relblur.photo.tone_curves.encode_srgb(noisy.clip(0, 1)), bits=8))
    return folder / "near.png", folder / "far.png"


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--decimate", "2"], ["--no-linear", "--align", "off", "--exposure", "off"]])
def test_the_command_line_and_the_readmes_lines_give_the_same_map(tmp_path, files, options):
    done = CliRunner().invoke(app, ["estimate", *map(str, files), "-o", str(tmp_path / "out"), *options])
    assert done.exit_code == 0, done.output
    keywords = {"decimate": 2} if "--decimate" in options else {}
    if "--no-linear" in options:
        keywords = {"linear": False, "align": "off", "exposure": "off"}
    found = estimate_blur(prepare_pair(*files, **keywords))
    wanted = relblur.load(tmp_path / "out" / "blur_map.npz")
    _same(found, wanted)
    assert found.settings == wanted.settings


@pytest.mark.slow
def test_the_command_line_and_python_give_the_same_depth(tmp_path, files):
    CAMERA.save(tmp_path / "cam.toml")
    arguments = ["depth", *map(str, files), "-c", str(tmp_path / "cam.toml"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--decimate", "2"])
    assert done.exit_code == 0, done.output
    found = estimate_depth(prepare_pair(*files, decimate=2), CAMERA)
    wanted = relblur.load(tmp_path / "out" / "depth.npz")
    assert_array_equal(found.depth_m, wanted.depth_m)
    assert_array_equal(found.flags, wanted.flags)
    assert (found.camera.decimation, found.settings["decimate"]) == (2, 2)


def test_all_steps_are_done_and_said(files):
    pair = prepare_pair(*files)
    assert isinstance(pair, ComparablePair)
    assert [note.split(":")[0] for note in pair.notes] == ["light", "alignment", "exposure"]
    assert pair.clipped[0][:12, :12].all()
    assert pair.noise is not None
    assert abs(float(np.median(pair.second[40:-40, 40:-40] / pair.first[40:-40, 40:-40])) - 1) < 0.02
    assert (pair.factor, pair.full_size, pair.settings["decimate"]) == (1, "176x144", 1)


@pytest.mark.parametrize("factor", [1, 2])
def test_a_clipped_area_is_clipped_at_every_resolution(files, factor):
    found = estimate_blur(prepare_pair(*files, decimate=factor))
    corner = found.flags[: 10 // factor, : 10 // factor]
    assert ((corner & relblur.Flag.CLIPPED) != 0).all()


def test_arrays_are_light_and_equal_their_files(files):
    arrays = [imread(path) for path in files]
    found = prepare_pair(*arrays, channel_axis=-1, align="off", exposure="off", decimate=1)
    wanted = prepare_pair(*files, align="off", exposure="off", decimate=1)
    np.testing.assert_allclose(found.first, wanted.first, atol=1e-7)
    assert found.is_light
    assert found.notes == ("light: float array, taken as linear (array holds light)",)


def test_arrays_keep_what_they_say_about_their_pixels():
    image = np.full((40, 50), 100, np.uint8)
    image[3, 4] = 255
    gaps = np.random.default_rng(0).random((40, 50))
    gaps[7, 8] = np.nan
    valid = np.ones((40, 50), bool)
    valid[20] = False
    options = {"align": "off", "exposure": "off", "decimate": 1}
    assert prepare_pair(image, image, **options).clipped_in_either[3, 4]
    found = prepare_pair(gaps, np.nan_to_num(gaps), valid=valid, **options)
    assert np.isfinite(found.first).all()
    assert not found.valid[7, 8]
    assert not found.valid[20].any()
    masked = prepare_pair(np.ma.masked_array(gaps, np.arange(2000).reshape(40, 50) == 55), gaps, **options)
    assert not masked.valid[1, 5]


def test_gamma_is_undone_for_arrays_too():
    image = np.random.default_rng(0).random((40, 50))
    pair = prepare_pair(image**0.5, image**0.5, gamma=2.0, align="off", exposure="off", decimate=1)
    np.testing.assert_allclose(pair.first, image, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"align": "up"}, "align must be one of"),
        ({"exposure": "bright"}, "exposure must be one of"),
        ({"decimate": 0}, 'decimate must be a whole number >= 1 or "auto", got 0'),
        ({"decimate": 1.5}, "decimate must be a whole number"),
        ({"decimate": True}, "decimate must be a whole number"),
        ({"decimate": "half"}, "decimate must be a whole number"),
        ({"max_sigma": -1}, "max_sigma must be finite and > 0 px"),
        ({"gamma": 2.2, "linear": False}, "gamma says how to linearise"),
        ({"valid": np.ones((3, 3), bool)}, "valid has shape"),
        ({"channel_axis": -1}, "channel_axis needs three dimensions"),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(options, message):
    image = np.random.default_rng(0).random((40, 50))
    with pytest.raises(InputError, match=message):
        prepare_pair(image, image, **options)


def test_a_pair_stands_for_both_images_and_brings_its_own_maps():
    image = np.random.default_rng(0).random((40, 50))
    pair = prepare_pair(image, image, align="off", exposure="off", decimate=1)
    with pytest.raises(InputError, match="a comparable pair holds both images; leave second out"):
        estimate_blur(pair, image)
    with pytest.raises(InputError, match="valid came with the pair"):
        estimate_blur(pair, valid=np.ones((40, 50), bool))
    with pytest.raises(InputError, match="second is missing; pass two images"):
        estimate_blur(image)
    with pytest.raises(InputError, match=r"followed by its camera alone: estimate_depth\(pair, camera\)"):
        estimate_depth(pair, image, CAMERA)
    with pytest.raises(InputError, match="second must be an image"):
        estimate_depth(image, CAMERA, CAMERA)
