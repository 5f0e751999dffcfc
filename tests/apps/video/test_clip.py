"""Frames of video files: light, time stamps, damage, the codec's error, pairs by time."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

from profiles import gamma_element, icc
from relblur import read_photograph
from relblur.apps.video.clip import Clip, Frame
from relblur.apps.video.pairing import Dropped, pair_alternating, pair_by_time
from relblur.base.errors import FileError, RelblurError
from relblur.base.tone import SRGB, encode_srgb
from video_clips import texture, write_clip


def at(*times):
    return [Frame(number, time_s, np.zeros((4, 4), np.uint16), 0.001) for number, time_s in enumerate(times)]


def times_of(pairs):
    return [(round(a.time_s, 3), round(b.time_s, 3)) for a, b in pairs]


@pytest.mark.parametrize("swapped", [False, True])
def test_unequal_rates_pair_each_frame_of_the_slower_with_the_nearest(swapped):
    fast, slow = at(*(n / 30 for n in range(30))), at(*(n / 24 for n in range(24)))
    dropped = Dropped()
    pairs = list(pair_by_time(*((slow, fast) if swapped else (fast, slow)), 0.5 / 24, dropped))
    if swapped:
        pairs = [(a, b) for b, a in pairs]
    assert [b.number for _, b in pairs] == list(range(24))
    for a, b in pairs:
        assert abs(a.time_s - b.time_s) == min(abs(other.time_s - b.time_s) for other in fast)
    assert (dropped.first, dropped.second) == ((0, 6) if swapped else (6, 0))
    assert dropped.largest_gap_s <= 0.5 / 24


def test_missing_frames_and_uneven_stamps_leave_partners_together():
    first, second = at(0, 0.04, 0.12, 0.16, 0.31), at(0.001, 0.08, 0.119, 0.165, 0.3)
    dropped = Dropped()
    pairs = times_of(pair_by_time(first, second, 0.02, dropped))
    assert pairs == [(0, 0.001), (0.12, 0.119), (0.16, 0.165), (0.31, 0.3)]
    assert (dropped.first, dropped.second) == (1, 1)
    assert not list(pair_by_time(at(0, 1, 2), at(10, 11, 12), 0.5))


def test_alternating_frames_give_a_map_each_and_a_missing_one_does_not_exchange_them():
    assert times_of(pair_alternating(at(0, 0.1, 0.2, 0.3), 0.1)) == [(0, 0.1), (0.2, 0.1), (0.2, 0.3)]
    # Stamps 0 to 3, 5, 7, 8: frames 4 and 6 are missing; 5 and 7 are of the second kind.
    assert times_of(pair_alternating(at(0, 1, 2, 3, 5, 7, 8), 1.0)) == [(0, 1), (2, 1), (2, 3), (8, 7)]


def frames_of(path, **options):
    with Clip(path, **options) as clip:
        return list(clip), clip


def test_lossless_grey_is_light_exactly(tmp_path):
    picture = np.arange(256, dtype=np.uint8).reshape(16, 16)
    path = write_clip(tmp_path / "a.mkv", [picture] * 3, times=(0, 0.04, 0.1))
    frames, clip = frames_of(path)
    assert [frame.number for frame in frames] == [0, 1, 2]
    assert [frame.time_s for frame in frames] == pytest.approx([0, 0.04, 0.1], abs=1e-3)
    np.testing.assert_array_equal(frames[0].light, np.rint(65535 * SRGB.undo(picture, np.float64)))
    assert clip.lossless
    assert not frames[0].lossy
    assert frames_of(path, linear=False)[0][0].light[8, 0] == round(65535 * 128 / 255)
    assert frames_of(path, gamma=2.0)[0][0].light[8, 0] == round(65535 * (128 / 255) ** 2)


@pytest.mark.parametrize(
    ("pixel_format", "layout"),
    [("yuv420p", "gray"), ("yuv422p10le", "gray16le"), ("gray10le", "gray16le"), ("bgr0", "rgb24"),
     ("gbrp16le", "rgb48le")],
)  # fmt: skip
def test_every_pixel_format_holds_the_same_light(tmp_path, pixel_format, layout):
    grey = encode_srgb(0.1 + 0.8 * texture((32, 48)))
    full = 65535 if layout.endswith(("16le", "48le")) else 255
    stored = np.rint(full * grey).astype(np.uint16 if full > 255 else np.uint8)
    if layout.startswith("rgb"):
        stored = np.repeat(stored[:, :, None], 3, axis=2)
    path = write_clip(tmp_path / "a.mkv", [stored], pixel_format=pixel_format, layout=layout, trc=13)
    (frame,), _ = frames_of(path)
    # A level of 8 bits at the steepest place of the curve, and limited range has fewer.
    assert_allclose(frame.light / 65535, 0.1 + 0.8 * texture((32, 48)), atol=0.012)


@pytest.mark.parametrize("pixel_format", ["gray", "yuv420p"])
def test_white_is_clipped_in_full_and_in_limited_range(tmp_path, pixel_format):
    picture = np.full((16, 16), 100, np.uint8)
    picture[4:8, 4:8] = 255
    (frame,), _ = frames_of(write_clip(tmp_path / "a.mkv", [picture], pixel_format=pixel_format))
    assert (frame.light == 65535).sum() == 16


def test_a_turned_clip_is_set_upright(tmp_path):
    av = pytest.importorskip("av")
    if not hasattr(av.VideoStream, "set_display_rotation"):
        pytest.skip("this version of PyAV cannot write a clip that is turned")
    picture = np.zeros((16, 32), np.uint8)
    picture[:, :8] = 200
    path = write_clip(tmp_path / "a.mp4", [picture] * 2, codec="libx264", pixel_format="yuv420p", rotation=90)
    frames, _ = frames_of(path)
    assert frames[0].light.shape == (32, 16)
    # Turned counterclockwise by 90 degrees, left comes to the bottom.
    assert frames[0].light[-4:].mean() > 10 * frames[0].light[:4].mean() + 1000


def test_high_dynamic_range_is_refused_unless_a_curve_is_given(tmp_path):
    path = write_clip(tmp_path / "a.mkv", [np.full((16, 16), 99, np.uint8)], pixel_format="yuv420p", trc=16)
    with pytest.raises(FileError, match=r"PQ.*--gamma"):
        frames_of(path)
    assert frames_of(path, gamma=2.2)[0]


def test_what_is_no_video_is_one_line(tmp_path):
    text = tmp_path / "a.mp4"
    text.write_text("not a video at all")
    with pytest.raises(FileError, match="cannot be read as video"):
        Clip(text)
    for name in (tmp_path / "absent.mkv", tmp_path, "https://example.invalid/a.mp4"):
        with pytest.raises(FileError, match="there is no file"):
            Clip(name)


def test_no_playlist_leads_elsewhere(tmp_path):
    write_clip(tmp_path / "a.mkv", [np.full((16, 16), 99, np.uint8)])
    playlist = tmp_path / "a.m3u8"
    playlist.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n")
    with pytest.raises(FileError):
        frames_of(playlist)
    playlist = tmp_path / "b.mkv"
    playlist.write_text("ffconcat version 1.0\nfile a.mkv\n")
    with pytest.raises(FileError, match="list of other files"):
        frames_of(playlist)


NOISY = list(np.random.default_rng(1).integers(0, 255, (8, 48, 64)).astype(np.uint8))
LIGHT = [np.rint(65535 * SRGB.undo(picture, np.float64)) for picture in NOISY]


def test_damaged_bytes_never_end_in_anything_else(tmp_path):
    whole = write_clip(tmp_path / "a.avi", NOISY, codec="mjpeg", pixel_format="yuvj420p").read_bytes()
    for seed in range(12):
        broken = bytearray(whole)
        for place in np.random.default_rng(seed).integers(0, len(whole), 20):
            broken[place] ^= 0xFF
        path = tmp_path / "broken.avi"
        path.write_bytes(broken)
        with suppress(RelblurError):  # anything else is a bug
            frames_of(path)


def test_no_damaged_frame_of_a_lossless_clip_is_taken(tmp_path):
    broken = bytearray(write_clip(tmp_path / "a.mkv", NOISY, options={"level": "3", "slicecrc": "1"}).read_bytes())
    for place in np.linspace(0.3 * len(broken), 0.7 * len(broken), 4):
        broken[int(place)] ^= 0xFF
    path = tmp_path / "broken.mkv"
    path.write_bytes(broken)
    frames, clip = frames_of(path)
    assert clip.damaged >= 1
    assert 1 <= len(frames) < 8
    for frame in frames:
        assert any(np.array_equal(frame.light, each) for each in LIGHT)


PROFILE = {"icc_profile": icc(gamma_element(1.8))}


@pytest.mark.parametrize(
    ("suffix", "dtype", "tags", "wanted"),
    [
        (".tif", np.uint16, {}, "linear"),  # FFmpeg states gamma 2.2 for every TIFF
        (".png", np.uint8, {}, "sRGB curve"),
        (".png", np.uint16, PROFILE, "profile's tone curve"),
        (".jpg", np.uint8, PROFILE, "profile's tone curve"),
    ],
)
def test_numbered_images_have_the_tone_curve_that_imread_finds(tmp_path, suffix, dtype, tags, wanted):
    codes = np.linspace(0, np.iinfo(dtype).max, 64 * 64).reshape(64, 64).astype(dtype)
    for number in range(2):
        Image.fromarray(codes).save(tmp_path / f"f_{number:03d}{suffix}", **tags)
    frames, clip = frames_of(tmp_path / f"f_%03d{suffix}")
    assert len(frames) == 2
    photograph = read_photograph(tmp_path / f"f_000{suffix}", dtype=np.float64)
    assert clip.curve[0].name == photograph.info["curve"] == wanted
    assert clip.curve[1] == photograph.info["because"]
    assert clip.lossless == (suffix != ".jpg")
    assert_allclose(frames[0].light / 65535, photograph.light, atol=2e-2 if suffix == ".jpg" else 2e-5)


@pytest.mark.parametrize(
    ("codec", "suffix", "pixel_format", "wanted"),
    [("ffv1", ".mkv", "gray", "sRGB curve"), ("ffv1", ".mkv", "gray16le", "linear"),
     ("mpeg4", ".mkv", "yuv420p", "BT.709 curve"), ("mjpeg", ".avi", "yuvj420p", "sRGB curve")],
)  # fmt: skip
def test_a_clip_that_states_no_curve_has_that_of_its_container(tmp_path, codec, suffix, pixel_format, wanted):
    deep = pixel_format == "gray16le"
    picture = np.full((64, 64), 100, np.uint16 if deep else np.uint8)
    path, layout = tmp_path / f"clip{suffix}", "gray16le" if deep else "gray"
    write_clip(path, [picture], codec=codec, pixel_format=pixel_format, layout=layout)
    assert frames_of(path)[1].curve[0].name == wanted


@pytest.mark.parametrize(
    ("codec", "suffix", "pixel_format", "options"),
    [
        ("mjpeg", ".avi", "yuvj420p", {"qmin": "3", "qmax": "3"}),
        ("libx264", ".mp4", "yuv420p", {"crf": "18"}),
        ("libx264", ".mp4", "yuv420p", {"crf": "26"}),
    ],
)
def test_the_noise_of_a_lossy_frame_is_near_its_real_error(tmp_path, codec, suffix, pixel_format, options):
    rng = np.random.default_rng(2)
    scene = texture((144, 176))
    pictures = [
        np.rint(255 * (0.2 + 0.6 * np.roll(scene, n, axis=1)) + rng.normal(0, 1.5, scene.shape)).astype(np.uint8)
        for n in range(6)
    ]
    path = write_clip(tmp_path / f"a{suffix}", pictures, codec=codec, pixel_format=pixel_format, options=options)
    frames, _ = frames_of(path, linear=False)
    real = np.std(frames[4].light / 65535 - pictures[4] / 255)
    assert frames[4].lossy
    assert 0.5 * real < frames[4].noise < 2 * real


def test_lossless_h264_adds_no_noise_and_an_unknown_quantiser_counts_as_coarse(tmp_path):
    kind = {"codec": "libx264", "pixel_format": "yuv420p", "options": {"qp": "0"}}
    assert not any(frame.lossy for frame in frames_of(write_clip(tmp_path / "a.mp4", NOISY[:3], **kind))[0])
    path = write_clip(tmp_path / "b.mp4", NOISY[:3], codec="mpeg4", pixel_format="yuv420p")
    frame = frames_of(path, linear=False)[0][0]
    assert frame.lossy
    assert frame.noise * 255 == pytest.approx(4, rel=0.2)
