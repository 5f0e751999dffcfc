"""``prepare_pair``: the pipeline that the command line and Python programs share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from typer.testing import CliRunner

import relblur
from relblur import ComparablePair, InputError, estimate_blur, estimate_depth, imread, prepare_pair, save, synth
from relblur.apps.cli.app import app
from relblur.base.tone import encode_srgb
from relblur.photo import pipeline, rough_blur
from relblur.photo.alignment import Motion

CAMERA = relblur.Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2, blur_constant=0.25)


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
        save(folder / name, synth.degrade(encode_srgb(noisy.clip(0, 1)), bits=8))
    return folder / "near.png", folder / "far.png"


@pytest.mark.slow
def test_the_command_line_and_python_give_the_same_depth(tmp_path, files):
    CAMERA.save(tmp_path / "cam.toml")
    arguments = ["depth", *map(str, files), "-c", str(tmp_path / "cam.toml"), "-o", str(tmp_path / "out")]
    done = CliRunner().invoke(app, [*arguments, "--decimate", "2"])
    assert done.exit_code == 0, done.output
    found = estimate_depth(prepare_pair(*files, decimate=2), CAMERA, psf="disc")  # as the command by default
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
        ({"gamma": 2.2, "linear": False}, "gamma and linear=False exclude"),
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
    with pytest.raises(InputError, match="a comparable pair contains both images; leave second out"):
        estimate_blur(pair, image)
    with pytest.raises(InputError, match="valid is part of the pair"):
        estimate_blur(pair, valid=np.ones((40, 50), bool))
    with pytest.raises(InputError, match="second is missing; pass two images"):
        estimate_blur(image)
    with pytest.raises(InputError, match=r"followed by its camera alone: estimate_depth\(pair, camera\)"):
        estimate_depth(pair, image, CAMERA)
    with pytest.raises(InputError, match="second must be an image"):
        estimate_depth(image, CAMERA, CAMERA)


@pytest.mark.parametrize(
    ("shape", "decimate", "matched_at"),
    [((24, 30), 2, (24, 30)), ((24, 31), 2, (12, 16)), ((24, 31), 1, (24, 31)), ((30, 25), 2, (15, 13))],
)
def test_large_pictures_are_matched_after_they_have_been_decimated(shape, decimate, matched_at, monkeypatch):
    seen = []
    monkeypatch.setattr(pipeline, "ENOUGH_PIXELS", 24 * 30)
    monkeypatch.setattr(pipeline, "match_pair", lambda pair, **options: seen.append(pair.shape) or pair)
    image = np.random.default_rng(0).random(shape)
    pair = prepare_pair(image, image, decimate=decimate)
    assert seen == [matched_at]
    assert pair.factor == decimate
    assert pair.full_size == f"{shape[1]}x{shape[0]}"


def test_what_is_not_usable_in_the_second_moves_with_it(monkeypatch):
    """Row r, column c of the first image is row r + 2, column c - 3 of the second."""
    shape = (40, 50)
    transform = np.array([[1.0, 0, 2], [0, 1, -3], [0, 0, 1]])
    motion = Motion(transform, "translation", 3.6, 0.9)
    monkeypatch.setattr(pipeline, "find_motion", lambda *images, model, blur: motion)
    rng = np.random.default_rng(0)
    valid, clipped = np.ones(shape, bool), np.zeros((2, *shape), bool)
    valid[30, 40] = False
    clipped[:, 10, 20] = True
    image = rng.random(shape)
    pair = ComparablePair(image, np.roll(image, (2, -3), (0, 1)), valid=valid, clipped=(clipped[0], clipped[1]))
    found = pipeline.match_pair(pair, exposure="off")
    wanted = np.zeros(shape, bool)
    wanted[:38, 3:] = True  # the rest is out of the frame
    wanted[30, 40] = False  # in the first
    wanted[27:30, 42:45] = False  # in the second, with all that it touches
    assert_array_equal(found.valid, wanted)
    assert_array_equal(found.clipped[0], clipped[0])
    touched = np.zeros(shape, bool)
    touched[7:10, 22:25] = True
    assert_array_equal(found.clipped[1], touched)
    assert_allclose(found.second[5:30, 10:40], image[5:30, 10:40], atol=1e-3)
    assert found.notes[-1] == f"alignment: {motion.describe(shape)}, {1 - wanted.mean():.1%} of the frame lost"
    everything = pipeline.match_pair(replace(pair, valid=None, clipped=None), exposure="off")
    assert_array_equal(everything.valid, motion.inside(shape))
    assert everything.clipped is None


@pytest.mark.parametrize(("shift", "gain"), [((0, 0), 1.0), ((1.3, -0.7), 1.08)])
def test_the_steps_share_two_measurements_of_the_blur(monkeypatch, shift, gain):
    from scipy import ndimage

    measure, calls = rough_blur.RoughBlur.measure, []
    monkeypatch.setattr(rough_blur.RoughBlur, "measure", lambda *a: calls.append(1) or measure(*a))
    sharp = ndimage.gaussian_filter(np.random.default_rng(0).random((200, 240)), 0.8)
    first, second = synth.pair(sharp, synth.ramp(sharp.shape, 1, 2))
    second = gain * ndimage.shift(second, shift, order=5, mode="mirror")
    pair = prepare_pair(first[8:-8, 8:-8], second[8:-8, 8:-8])
    assert len(calls) <= 2
    assert (pair.motion is not None) == (pair.exposure is not None) == (gain != 1)
