"""Blur of clips: is it right, with which error bar, aligned, smoothed, from cameras, by the command."""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import relblur
from relblur.apps.cli.app import app
from relblur.apps.video.clip import Clip, Frame
from relblur.apps.video.measuring import Settings, VideoMeter
from relblur.apps.video.pairing import pair_by_time
from relblur.apps.video.smoothing import TemporalFilter
from relblur.base.errors import AlignmentError
from relblur.base.tone import encode_srgb
from relblur.blur.blur_map import BlurMap
from video_clips import texture, write_clip

SHAPE = (96, 128)
STILL = Settings(align="off", exposure="off")


def run(*arguments):
    return CliRunner().invoke(app, ["video", *(str(a) for a in arguments)])


def stored(light, noise=0.003, rng=None):
    """8-bit values of light with a sensor's noise."""
    rng = np.random.default_rng(0) if rng is None else rng
    return np.rint(255 * encode_srgb(light + rng.normal(0, noise, light.shape))).astype(np.uint8)


@pytest.fixture(scope="module")
def scene():
    """Light of a pair, the second 1.5 px blurrier."""
    sharp = 0.1 + 0.7 * texture(SHAPE)
    return sharp, relblur.paper.gaussian_bank(sharp, [1.5])[0]


@pytest.fixture(scope="module")
def clips(scene, tmp_path_factory):
    """Two lossless clips of six frames."""
    folder = tmp_path_factory.mktemp("clips")
    rng = np.random.default_rng(1)
    return [
        write_clip(folder / f"{name}.mkv", [stored(light, rng=rng) for _ in range(6)])
        for name, light in zip(("near", "far"), scene, strict=True)
    ]


def frame(light, number=0, noise=0.003, lossy=False):
    return Frame(number, 0.04 * number, np.rint(65535 * light).clip(0, 65535).astype(np.uint16), noise, lossy)


def measure(paths, settings=STILL):
    with Clip(paths[0]) as near, Clip(paths[1]) as far:
        return [m.blur_map.copy() for m in VideoMeter(settings).measure(pair_by_time(near, far, 0.02))]


def inside(array):
    return array[8:-8, 8:-8]


def test_the_blur_of_a_lossless_clip_is_right(clips):
    maps = measure(clips)
    assert len(maps) == 6
    assert np.nanmedian(maps[3].sigma) == pytest.approx(1.5, abs=0.05)
    assert np.nanmedian(measure(clips[::-1])[0].sigma) == pytest.approx(-1.5, abs=0.05)


CODECS = {
    "ffv1": ("ffv1", ".mkv", "gray", {}),
    "mjpeg": ("mjpeg", ".avi", "yuvj420p", {"qmin": "3", "qmax": "3"}),
    "crf 23": ("libx264", ".mp4", "yuv420p", {"crf": "23"}),
}


@pytest.mark.parametrize("kind", CODECS)
def test_error_bars_hold_whatever_the_codec(tmp_path, kind):
    codec, suffix, pixel_format, options = CODECS[kind]
    light = 0.1 + 0.7 * texture((144, 192), seed=3)
    truth = relblur.synth.ramp(light.shape, -2, 2, axis=1)
    rng = np.random.default_rng(2)
    paths = []
    for name, image in zip(("near", "far"), relblur.synth.pair(light, truth), strict=True):
        pictures = [stored(np.roll(image, 2 * n, axis=0), rng=rng) for n in range(6)]
        path = tmp_path / f"{name}{suffix}"
        write_clip(path, pictures, codec=codec, pixel_format=pixel_format, options=options, trc=13)
        paths.append(path)
    blur_map = measure(paths)[4]
    use = (blur_map.flags == 0) & np.isfinite(blur_map.variance_difference)
    off = np.abs(blur_map.variance_difference - np.sign(truth) * truth**2)
    within = (off <= 2 * blur_map.variance_stderr)[use].mean()
    assert use.mean() > 0.3
    # Two standard errors hold 95 % of a normal distribution; a window on a ramp and 8 bits leave less.
    assert within > 0.75
    assert ("stderr_widened_by" in blur_map.settings) == (kind != "ffv1")


def test_a_moved_and_darker_second_clip_is_brought_back(scene):
    first, second = scene
    moved = 0.8 * np.roll(second, (3, -2), axis=(0, 1))
    notes = []
    meter = VideoMeter(Settings(), notify=notes.append)
    maps = [m.blur_map.copy() for m in meter.measure([(frame(first, n), frame(moved, n)) for n in range(2)])]
    for blur_map in maps:
        assert np.nanmedian(inside(blur_map.sigma)) == pytest.approx(1.5, abs=0.05)
    shifts = [abs(float(each)) for each in re.findall(r"[-+]\d+\.\d+", " ".join(notes))]
    assert min(abs(each - 3.0) for each in shifts) < 0.03
    assert any("multiplied by 1.2" in note for note in notes)
    assert (maps[0].flags[:, :1] & relblur.Flag.INVALID).any() or (maps[0].flags[:2] & relblur.Flag.INVALID).any()


def test_two_scenes_are_no_pair(scene):
    other = 0.1 + 0.7 * texture(SHAPE, seed=9)
    with pytest.raises(AlignmentError, match=r"at frames 0 and 0.*--start"):
        list(VideoMeter(Settings()).measure([(frame(scene[0]), frame(other))]))


def test_clipped_pixels_stay_clipped_through_gain_and_motion(scene):
    first, second = scene
    bright = 1.15 * np.roll(second, 2, axis=1)  # which is undone: 1 becomes 0.87
    bright[40:50, 60:70] = 1.0
    blur_map = next(VideoMeter(Settings()).measure([(frame(first), frame(bright))])).blur_map
    assert (blur_map.flags[42:48, 60:66] & relblur.Flag.CLIPPED).all()


def map_of(s, stderr):
    s = np.asarray(s, np.float32)
    zeros = np.zeros(s.shape, np.uint8)
    return BlurMap(s, np.full(s.shape, stderr, np.float32), zeros, zeros.astype(np.int8))


def test_smoothing_lowers_the_error_and_says_how_far():
    rng = np.random.default_rng(0)
    smooth = TemporalFilter(memory_s=0.5)
    for n in range(60):
        last = smooth.update(map_of(2 + rng.normal(0, 0.1, (60, 80)), 0.1), n / 25)
    off = last.variance_difference - 2
    assert last.variance_stderr.mean() < 0.03
    # The standard error is the scatter.
    assert off.std() == pytest.approx(float(last.variance_stderr.mean()), rel=0.3)
    assert (np.abs(off) < 2 * last.variance_stderr).mean() > 0.9


def test_errors_that_stay_are_not_averaged_away():
    wrong = 2 + np.random.default_rng(0).normal(0, 0.1, (60, 80))
    smooth = TemporalFilter(memory_s=0.5)
    for n in range(30):
        last = smooth.update(map_of(wrong, 0.1), n / 25)
    assert last.variance_stderr.mean() == pytest.approx(0.1, rel=0.02)
    assert last.settings["random_share"] == 0


def test_the_filter_begins_anew_where_the_scene_moves():
    rng = np.random.default_rng(0)
    smooth = TemporalFilter(memory_s=2.0)
    for n in range(30):
        truth = np.full((40, 40), 2.0)
        if n >= 20:
            truth[:, 20:] = 4.0
        last = smooth.update(map_of(truth + rng.normal(0, 0.1, truth.shape), 0.1), n / 25)
    assert np.abs(last.variance_difference[:, 20:] - 4).mean() < 0.1
    assert last.variance_stderr[:, :20].mean() < last.variance_stderr[:, 20:].mean()


def test_gaps_in_maps_are_gaps_and_end():
    smooth = TemporalFilter(memory_s=1.0)
    gap = np.full((4, 4), 2.0)
    gap[0, 0] = np.nan
    smooth.update(map_of(np.full((4, 4), 2.0), 0.1), 0.0)
    assert np.isnan(smooth.update(map_of(gap, 0.1), 0.04).variance_difference[0, 0])
    assert smooth.update(map_of(np.full((4, 4), 2.0), 0.1), 0.08).variance_difference[0, 0] == 2


class FakeCamera:
    """Replacement of cv2.VideoCapture with a certain number of frames."""

    def __init__(self, picture, count):
        self.picture, self.count = picture, count
        self.released = False

    def isOpened(self):
        return self.count > 0

    def get(self, _property):
        return 0.0

    def set(self, _property, _value):
        return True

    def grab(self):
        self.count -= 1
        return self.count >= 0

    def retrieve(self):
        return True, self.picture

    def release(self):
        self.released = True


def test_two_cameras_give_pairs_until_one_ends(scene, tmp_path, monkeypatch):
    import cv2

    pictures = [np.repeat(stored(light)[:, :, None], 3, axis=2) for light in scene]
    fakes = [FakeCamera(picture, count) for picture, count in zip(pictures, (8, 5), strict=True)]
    monkeypatch.setattr(cv2, "VideoCapture", lambda number: fakes[number])
    done = run("--camera", 0, 1, "--maps", tmp_path / "m.npz", "--json")
    assert json.loads(done.stdout)["pairs"] == 5
    assert "camera 1: 25 frames a second; sRGB curve" in done.stderr
    assert all(fake.released for fake in fakes)
    with np.load(tmp_path / "m.npz") as arrays:
        assert np.sqrt(np.nanmedian(arrays["variance_difference"][-1])) == pytest.approx(1.5, abs=0.05)
    assert "camera 1 cannot be opened" in run("--camera", 0, 1).stderr


def test_the_command_writes_clip_and_maps(clips, tmp_path):
    out, maps = tmp_path / "out.mp4", tmp_path / "maps.npz"
    done = run(*clips, "-o", out, "--maps", maps, "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads(done.stdout)
    assert summary["pairs"] == 6
    assert summary["frames_per_second"] > 0
    assert summary["dropped"] == {"first": 0, "second": 0}
    with np.load(maps) as arrays:
        assert arrays["variance_difference"].shape == (6, *SHAPE)
        assert arrays["variance_difference"].dtype == np.float32
        assert np.sqrt(np.nanmedian(arrays["variance_difference"])) == pytest.approx(1.5, abs=0.05)
        np.testing.assert_allclose(arrays["time_s"], 0.04 * np.arange(6), atol=1e-3)
        assert list(arrays["first_frame"]) == list(range(6))
    with Clip(out) as side_by_side:
        np.testing.assert_allclose([shown.time_s for shown in side_by_side], 0.04 * np.arange(6), atol=1e-3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["maps.npz", "out.mp4"]


def test_the_side_by_side_clip_shows_blur_in_its_colours(clips, tmp_path):
    import av

    out = tmp_path / "out.mkv"
    assert run(*clips, "-o", out).exit_code == 0
    with av.open(str(out)) as container:
        picture = next(container.decode(video=0)).to_ndarray(format="rgb24")
    # Panels of 256 px (twice 128) and gaps of 6; +1.5 px at the end of the scale is a deep red.
    middle = picture[26 + 60 : 26 + 130, 2 * 262 + 60 : 2 * 262 + 200].reshape(-1, 3)
    red, green, blue = np.median(middle, axis=0)
    assert red > 90
    assert max(green, blue) < 70
    # The number of the pair stands below, titles above.
    assert picture[-26:, :256].max() > 200
    assert picture[:26, :256].max() > 200


def test_the_command_pairs_one_alternating_clip(scene, tmp_path):
    rng = np.random.default_rng(1)
    pictures = [stored(scene[n % 2], rng=rng) for n in range(6)]
    done = run("--alternate", write_clip(tmp_path / "a.mkv", pictures), "--maps", tmp_path / "m.npz", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["pairs"] == 5
    with np.load(tmp_path / "m.npz") as arrays:
        for s in arrays["variance_difference"]:
            assert np.sqrt(np.nanmedian(s)) == pytest.approx(1.5, abs=0.05)


def test_parts_and_an_offset_between_two_recordings(clips):
    assert json.loads(run(*clips, "--frames", "1", "--json").stdout)["frames_per_second"] is None
    assert json.loads(run(*clips, "--start", "0.1", "--json").stdout)["pairs"] == 3
    late = run(*clips, "--offset", "100")
    assert late.exit_code == 2
    assert "--offset" in late.output
    shifted = json.loads(run(*clips, "--offset", "0.08", "--json").stdout)
    assert shifted["pairs"] == 4
    assert shifted["dropped"]["first"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("{near}",), "name two clips, NEAR and FAR, got 1"),
        (("{near}", "{near}"), "given twice"),
        (("{near}", "{far}", "--frames", "0"), "--frames"),
        (("{near}", "{far}", "-o", "{folder}/out.gif"), ".mkv"),
        (("{near}", "{far}", "--maps", "{folder}/out.zip"), ".npz"),
        (("{near}", "{far}", "-o", "{near}", "--force"), "also read by this command"),
        (("{near}", "{far}", "--window", "4"), "window"),
        (("--alternate", "{single}"), "no two frames are near in time"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_leaves_nothing(clips, scene, tmp_path, arguments, words):
    single = write_clip(tmp_path / "single.mkv", [stored(scene[0])])
    before = clips[0].read_bytes()
    names = {"near": clips[0], "far": clips[1], "folder": tmp_path, "single": single}
    done = run(*(argument.format(**names) for argument in arguments))
    assert done.exit_code in (2, 3)
    assert words in done.output
    assert len(done.output.strip().splitlines()[-1:]) == 1
    assert "Traceback" not in done.output
    assert "unexpected" not in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["single.mkv"]
    assert clips[0].read_bytes() == before


def test_an_error_on_the_way_leaves_no_half_file(clips, scene, tmp_path):
    small = write_clip(tmp_path / "small.mkv", [stored(scene[1][:64, :64])] * 3)
    done = run(clips[0], small, "-o", tmp_path / "o.mp4", "--maps", tmp_path / "m.npz")
    assert done.exit_code == 3
    assert "differ in size" in done.output
    assert [path.name for path in tmp_path.iterdir()] == ["small.mkv"]


def test_without_pyav_the_extra_is_named(clips, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    done = run(*clips)
    assert done.exit_code == 4
    assert "relblur[video]" in done.output
