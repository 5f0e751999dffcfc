"""``relblur view`` as a process: what it prints, what it measures, how it is stopped. No browser is needed."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import zipfile
from pathlib import Path

import numpy as np
import pytest
import tifffile  # noqa: TID253
from numpy.testing import assert_array_equal

import relblur
from command import failed, run
from relblur.apps.view.files import Images, SavedResult, open_paths
from view_server import Viewer, stack_files, textured, ticks, viewer

pytest.importorskip("uvicorn", reason="the viewer needs the extra 'view'")

pytestmark = pytest.mark.slow

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A small pair of odd size, 16 bits, grey, whose second image is blurrier by 1.5 px."""
    folder = tmp_path_factory.mktemp("pair")
    sharp = 0.1 + 0.8 * textured((91, 127))
    relblur.save(folder / "near.png", sharp)
    relblur.save(folder / "far.png", relblur.synth.blur_with_map(sharp, 1.5))
    return folder / "near.png", folder / "far.png"


@pytest.fixture(scope="module")
def live(files, tmp_path_factory) -> Viewer:
    with viewer(*map(str, files), folder=tmp_path_factory.mktemp("tmp")) as running:
        running.open_page()
        running.finished()
        yield running


def raw(viewer: Viewer, request: bytes, close_early: bool = False) -> bytes:
    """Send bytes and return the answer."""
    with socket.create_connection(("127.0.0.1", viewer.port), timeout=30) as connection:
        connection.sendall(request)
        if close_early:
            return b""
        answer = b""
        while True:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:
                return answer
            answer += part
            if not part:
                return answer


def head(viewer: Viewer, method: str, path: str, *more: str, host: str | None = None) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host or viewer.base[7:]}", f"Cookie: {viewer.cookie}", *more, "", ""]
    return "\r\n".join(lines).encode()


def test_the_map_is_that_of_the_command(live, files):
    blur_map = relblur.estimate_blur(relblur.prepare_pair(*files))
    found = np.frombuffer(live.get("/api/plane/s"), "<f4").reshape(blur_map.shape)
    assert_array_equal(found, blur_map.variance_difference.astype(np.float32))
    assert live.state()["commands"]["estimate"] == f"relblur estimate {files[0]} {files[1]} -o result"


def test_everything_that_the_command_writes_can_be_had(live, files, tmp_path):
    run("estimate", *files, "-o", tmp_path / "result")
    with zipfile.ZipFile(io.BytesIO(live.get("/api/export/relblur.zip"))) as archive:
        ours = {each.filename: archive.read(each) for each in archive.infolist()}
    theirs = {path.name: path.read_bytes() for path in (tmp_path / "result").iterdir() if path.is_file()}
    assert ours.keys() == theirs.keys() | {"fused.png", "labels.tif"}
    for name in ("sigma.png", "flags.png", "remade.png"):
        assert ours[name] == theirs[name]
    (tmp_path / "map.npz").write_bytes(ours["blur_map.npz"])
    blur_map = relblur.load(tmp_path / "result" / "blur_map.npz")
    assert_array_equal(relblur.load(tmp_path / "map.npz").variance_difference, blur_map.variance_difference)


def test_a_setting_measures_again_and_leaves_the_pair_alone(live):
    before = {plane["name"]: plane["version"] for plane in live.state()["planes"]}
    live.post("/api/settings", {"method": "window", "window": 13})
    after = live.finished()
    versions = {plane["name"]: plane["version"] for plane in after["planes"]}
    assert versions["first"] == before["first"]
    assert versions["s"] > before["s"]
    assert "window · window 13" in after["made_by"]
    assert after["commands"]["estimate"].endswith("-o result --method window --window 13")
    live.post("/api/settings", {"align": "off"})
    again = {plane["name"]: plane["version"] for plane in live.finished()["planes"]}
    assert again["first"] > versions["first"]
    live.post("/api/settings", {"method": "refined", "window": 9, "align": "auto"})
    live.finished()


def test_the_factor_that_was_found_stays_and_is_stated(live):
    live.post("/api/settings", {"max_sigma": 3})
    assert "--max-sigma 3.0 --decimate 1" in live.finished()["commands"]["estimate"]
    live.post("/api/settings", {"max_sigma": 5})
    live.finished()


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"window": 8}, "odd"),
        ({"window": "9"}, "number"),
        ({"method": "best"}, "method must be"),
        ({"max_sigma": 0}, "max_sigma"),
        ({"max_sigma": None}, "number"),
        ({"sort": 1}, "no setting"),
        ({"linear": 1}, "true or false"),
        ({"decimate": 0}, "decimate"),
    ],
)
def test_settings_that_make_no_sense_are_refused_at_once(live, settings, text):
    before = live.state()["choices"]
    with pytest.raises(urllib.error.HTTPError) as refusal:
        live.post("/api/settings", settings)
    assert refusal.value.code == 422
    assert text in refusal.value.read().decode()
    assert live.state()["choices"] == before


def test_what_only_the_images_refuse_becomes_a_message(live):
    live.post("/api/settings", {"max_sigma": 90})
    assert "half the image" in live.finished()["message"]["text"]
    live.post("/api/settings", {"max_sigma": 5})
    assert live.finished()["message"] is None


def test_depth_is_measured(live):
    camera = {"focal_length_mm": 25, "f_number": 2, "pixel_pitch_um": 20, "focus_first_m": 1, "focus_second_m": 2}
    live.post("/api/depth", {"camera": camera, "choices": {"psf": "gaussian"}, "measure": True})
    state = live.wait(lambda state: state["job"] is None and state["depth_measured"])
    assert "relblur depth" in state["commands"]["depth"]
    depth = np.frombuffer(live.get("/api/plane/depth"), "<f4")
    assert np.nanmedian(depth) == pytest.approx(1.12, abs=0.03)  # s = 2.25 px^2 of 4 at the focal plane


def test_a_broken_pair_is_reported_by_name_and_the_old_one_stays(live, files, tmp_path):
    good = files[0].read_bytes()
    (tmp_path / "cut.png").write_bytes(good[: len(good) // 2])
    before = live.finished()
    live.open(files[0], tmp_path / "cut.png")
    state = live.wait(lambda state: state["message"] is not None and state["job"] is None)
    assert state["planes"] == before["planes"]
    assert state["name"] == before["name"]
    assert state["final"]
    assert state["message"]["kind"] == "error"
    assert "cut.png" in state["message"]["text"]
    assert "/tmp" not in state["message"]["text"]


def test_a_stack_is_that_of_the_command_and_is_fused_by_hand(live, tmp_path):
    frames = stack_files(tmp_path)
    live.open(*frames)
    state = live.wait(lambda state: state["job"] is None and state["painting"])
    assert state["frames"]["names"] == [path.name for path in frames]
    assert state["commands"]["stack"].startswith("relblur stack f0.png f1.png")
    stack = relblur.estimate_stack(frames)
    index = np.frombuffer(live.get("/api/plane/index"), "<f4").reshape(stack.shape)
    assert_array_equal(index, stack.index.astype(np.float32))
    whole = np.frombuffer(live.get("/api/plane/fused"), np.uint8).reshape(*stack.shape, 3)
    frame = np.frombuffer(live.get("/api/frame/6"), np.uint8).reshape(whole.shape)
    assert_array_equal(frame, np.frombuffer(live.get("/api/frame/6?full=1"), np.uint8).reshape(whole.shape))
    state = live.post("/api/paint", {"frame": 6, "radius": 9, "points": [[30, 40], [40, 40]]})
    x0, y0, x1, y1 = state["painting"]["patch"]["box"]
    patch = np.frombuffer(live.get(f"/api/plane/fused?x0={x0}&y0={y0}&x1={x1}&y1={y1}"), np.uint8)
    painted = whole.copy()
    painted[y0:y1, x0:x1] = patch.reshape(y1 - y0, x1 - x0, 3)
    assert_array_equal(painted[40, 35], frame[40, 35])
    with zipfile.ZipFile(io.BytesIO(live.get("/api/export/relblur.zip"))) as archive:
        archive.extractall(tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"stack.npz", "fused.png", "labels.tif", "relative_depth.png", "index_colour.png"} <= names
    assert set(state["exports"]) == names
    labels = relblur.imread(tmp_path / "out" / "labels.tif", linear=False)
    assert labels[40, 35] == pytest.approx(6 / 255)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["settings"]["images"][0] == "f0.png"
    # The labels are those of relblur fuse, in both directions.
    run("fuse", *frames, "-o", tmp_path / "by_labels.png", "--index", tmp_path / "out" / "labels.tif")
    content = (tmp_path / "out" / "labels.tif").read_bytes()
    word = live.post("/api/upload", content, {"x-file-name": "labels.tif"})["id"]
    live.post("/api/labels", {"files": [word]})
    state = live.wait(lambda state: state["job"] is None and state["painting"]["labels"])
    assert state["painting"]["strokes"] == 0
    (tmp_path / "ours.png").write_bytes(live.get("/api/export/fused.png"))
    assert_array_equal(relblur.imread(tmp_path / "ours.png"), relblur.imread(tmp_path / "by_labels.png"))
    live.post("/api/settings", {"prefer": "near"})
    state = live.wait(lambda state: state["job"] is None and not state["painting"]["labels"])
    assert "--prefer near" in state["commands"]["stack"]


@linux
def test_cancel_frees_the_processor(live, tmp_path):
    sharp = textured((600, 900))
    for name, image in (("a.png", sharp), ("b.png", relblur.synth.blur_with_map(sharp, 1.0))):
        relblur.save(tmp_path / name, image)
    live.open(tmp_path / "a.png", tmp_path / "b.png")
    live.post("/api/settings", {"prefilter": 1.6})
    live.wait(
        lambda state: state["job"] and state["job"]["what"].startswith("measuring blur") and state["job"]["share"] > 0
    )
    at_work = live.children()
    state = live.post("/api/cancel")
    assert state["job"] is None
    assert "stopped" in state["message"]["text"]
    left = set(at_work) & set(live.children())
    assert len(left) == len(at_work) - 1  # the one that measured is gone
    time.sleep(3.0)  # the new one has loaded what it needs
    before = {pid: ticks(pid) for pid in live.children()}
    time.sleep(1.0)
    spent = sum(ticks(pid) - before[pid] for pid in before)
    assert spent <= 15, f"{spent} ticks of 100 in a second although nothing is measured"
    live.post("/api/settings", {"prefilter": 0, "method": "window"})  # and it works again
    assert live.finished()["final"]


@linux
def test_an_upload_that_breaks_off_leaves_nothing(live):
    folder = next(Path(_tmp(live)).glob("relblur-view-*"))
    before = sorted(folder.iterdir())
    request = head(live, "POST", "/api/upload", f"Origin: {live.base}", "Content-Length: 5000", "X-File-Name: part.png")
    raw(live, request + b"x" * 100, close_early=True)
    time.sleep(0.5)
    assert sorted(folder.iterdir()) == before
    assert live.state()["width"] > 0


def _tmp(live: Viewer) -> str:
    environment = Path(f"/proc/{live.process.pid}/environ").read_bytes().split(b"\0")
    return next(each for each in environment if each.startswith(b"TMPDIR=")).decode().removeprefix("TMPDIR=")


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_with_its_children_and_files(tmp_path, number):
    with viewer(folder=tmp_path) as running:
        running.open_page()
        running.wait(lambda state: state["job"] is not None)
        children = running.children()
        assert len(children) == 2
        os.kill(running.process.pid, number)
        running.process.wait(timeout=20)
        until = time.monotonic() + 10
        while any(Path(f"/proc/{pid}").exists() for pid in children) and time.monotonic() < until:
            time.sleep(0.05)
        assert not any(Path(f"/proc/{pid}").exists() for pid in children)
        assert not list(tmp_path.glob("relblur-view-*"))


def test_folders_of_results_are_shown(tmp_path, files):
    run("estimate", *files, "-o", tmp_path / "result")
    found = open_paths([tmp_path / "result"])
    assert isinstance(found, SavedResult)
    assert (found.name, found.blur_map is not None, [each[0] for each in found.pictures]) == (
        "result",
        True,
        ["remade"],
    )
    (tmp_path / "frames").mkdir()
    stack_files(tmp_path / "frames")
    images = open_paths([tmp_path / "frames"])
    assert isinstance(images, Images)
    assert (len(images.paths), images.is_pair) == (7, False)
    run("stack", tmp_path / "frames", "-o", tmp_path / "stacked")
    with viewer(str(tmp_path / "stacked")) as running:
        running.open_page()
        state = running.wait(lambda state: state["final"])
        assert state["name"] == "stacked"
        assert {"index", "index_stderr", "flags", "fused"} == {plane["name"] for plane in state["planes"]}


def test_a_file_of_planes_is_a_stack(live, tmp_path):
    planes = [relblur.imread(path) for path in stack_files(tmp_path)]
    tifffile.imwrite(tmp_path / "z.tif", np.rint(65535 * np.stack(planes)).astype(np.uint16))
    live.open(tmp_path / "z.tif")
    state = live.wait(lambda state: state["job"] is None and state["painting"])
    assert state["is_stack"]
    assert state["frames"]["names"][0] == "z.tif[1]"
    assert "index" in {plane["name"] for plane in state["planes"]}


def test_only_this_machine_is_listened_to(live):
    listening = subprocess.run(["cat", "/proc/net/tcp", "/proc/net/tcp6"], capture_output=True, text=True).stdout
    rows = [line.split() for line in listening.splitlines() if f":{live.port:04X} " in line and " 0A " in line]
    if not rows:
        pytest.skip("this system does not list its sockets in /proc")
    assert [row[1] for row in rows] == [f"0100007F:{live.port:04X}"]


def test_bad_arguments_get_one_line(tmp_path, files):
    assert "there is no" in failed(run("view", tmp_path / "none.png"), 2)
    assert "two or more" in failed(run("view", files[0]), 3)
    assert "contains no image" in failed(run("view", tmp_path), 3)
    assert "--camera is for two" in failed(run("view", "--camera", tmp_path / "c.toml"), 2)
