"""What the commands write: never over an input, all of it or nothing, also when they are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from command import failed, run
from relblur import Camera, imread, load, save, synth

DECIMATE, SYNTH = ("tools", "decimate"), ("tools", "synth")
QUICK = ("--method", "window", "--no-linear", "--align", "off")
CAMERA = ("--focal-length", "35", "-N", "2.8", "-p", "6", "--focus", "1,2")


@pytest.fixture
def pair(tmp_path, texture):
    save(tmp_path / "a.png", synth.degrade(texture[:40, :48], bits=8))
    save(tmp_path / "b.png", synth.degrade(synth.blur_with_map(texture[:40, :48], 1.2), bits=8))
    return tmp_path / "a.png", tmp_path / "b.png"


def _content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        ("depth", "a.png", "b.png", "-c", "camera.toml", "-o", ".", "--decimate", "2"),
        ("depth", "overview.png", "b.png", "-c", "cam.toml", "-o", "."),
        ("calibrate", "a.png", "b.png", "-c", "camera.toml", "--distance", "1.2", "-o", "camera.toml"),
        ("calibrate", "a.png", "b.png", "-c", "camera.toml", "--depth", "d.npy", "-o", "d.npy"),
        ("camera", "camera.toml", "--decimation", "2", "-o", "camera.toml"),
        ("camera", "camera.toml", "-o", "link.toml"),
        ("camera", "camera.toml", "--plot", "./camera.toml"),
        (*DECIMATE, "a.png", "2", "-o", "a.png"),
        (*SYNTH, "first.png", "-o", "."),
        ("estimate", "sigma.png", "b.png", "-o", "."),
    ],
)
def test_no_command_replaces_what_it_reads(pair, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("overview.png", "sigma.png", "first.png"):
        (tmp_path / name).write_bytes(pair[0].read_bytes())
    for name in ("camera.toml", "cam.toml"):
        Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2).save(tmp_path / name)
    (tmp_path / "link.toml").symlink_to("camera.toml")
    np.save(tmp_path / "d.npy", np.ones((40, 48)))
    before = _content(tmp_path)
    for force in ((), ("--force",)):
        line = failed(run(*arguments, *force), 2)
        if force:
            assert "is also read by this command and would be replaced; choose another name" in line
    assert _content(tmp_path) == before
    assert not (tmp_path / "out").exists()


def test_a_plot_does_not_replace_the_camera_file_of_the_same_command(tmp_path):
    for force in ((), ("--force",)):
        line = failed(run("camera", *CAMERA, "-o", tmp_path / "x.png", "--plot", tmp_path / "." / "x.png", *force), 2)
        assert "x.png is already an output of this command" in line
    assert not os.listdir(tmp_path)


@pytest.mark.parametrize("size", [244, 255])
def test_names_as_long_as_the_system_allows(pair, tmp_path, size):
    path = tmp_path / ("x" * (size - 4) + ".png")
    assert run(*DECIMATE, pair[0], 2, "-o", path).exit_code == 0
    assert imread(path).shape == (20, 24)
    assert "File name too long" in failed(run(*DECIMATE, pair[0], 2, "-o", tmp_path / ("x" * 252 + ".png")), 3)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices")
def test_a_pipe_is_not_replaced_by_a_file(pair, tmp_path):
    os.mkfifo(tmp_path / "p.png")
    assert "pipe or a device" in failed(run(*DECIMATE, pair[0], 2, "-o", tmp_path / "p.png", "--force"), 3)
    out = tmp_path / "out"
    out.mkdir()
    os.mkfifo(out / "overview.png")
    assert "not a file and is not replaced" in failed(run("estimate", *pair, "-o", out, *QUICK, "--force"), 2)
    assert os.listdir(out) == ["overview.png"]


STOPPED = """
import resource, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # which background jobs are started without
import relblur.report.result_files
from relblur.apps.cli.app import main
if sys.argv.pop(1) == "full":
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
else:
    real = relblur.report.result_files.panels_picture
    def slow(*arguments, **options):
        print("in", flush=True)
        time.sleep(30)
    relblur.report.result_files.panels_picture = slow
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["full", signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_run_that_is_stopped_while_it_writes_leaves_nothing_and_the_next_needs_no_force(pair, tmp_path, how):
    out = tmp_path / "out"
    what = "full" if how == "full" else "slow"
    command = [sys.executable, "-c", STOPPED, what, "estimate", *map(str, pair), "-o", str(out), *QUICK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        if how != "full":
            process.stdout.readline()
            assert not out.exists()
            assert any(name.startswith(".relblur-") for name in os.listdir(tmp_path))
            process.send_signal(how)
        _, said = process.communicate(timeout=30)
    if how == "full":
        assert process.returncode == 3
        assert "File too large" in said
    if how == signal.SIGTERM:
        assert process.returncode == 143
    assert "Traceback" not in said
    hidden = [name for name in os.listdir(tmp_path) if name.startswith(".")]
    assert bool(hidden) == (how == signal.SIGKILL)
    assert not out.exists()
    result = run("estimate", *pair, "-o", out, *QUICK)
    assert result.exit_code == 0, result.output
    assert load(out / "blur_map.npz").shape == (40, 48)
    assert not [name for name in (*os.listdir(out), *os.listdir(tmp_path)) if name.startswith(".")]


@pytest.mark.slow
def test_two_single_runs_into_one_folder_do_not_mix(pair, tmp_path):
    """Without force one of them is told; the files are all of one run."""
    out = tmp_path / "out"
    program = [sys.executable, "-m", "relblur", "estimate", *map(str, pair), "-o", str(out), *QUICK]
    runs = [subprocess.Popen([*program, "--window", window], stderr=subprocess.PIPE) for window in ("9", "11")]
    said = [each.communicate(timeout=100)[1].decode() for each in runs]
    codes = [each.returncode for each in runs]
    assert sorted(codes) == [0, 2], said
    assert "would be replaced; add --force" in said[codes.index(2)]
    assert load(out / "blur_map.npz").settings["window"] == (9, 11)[codes.index(0)]


def test_results_go_into_a_folder_that_holds_other_things(pair, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    start = time.time_ns()
    assert run("estimate", *pair, "-o", tmp_path, *QUICK).exit_code == 0
    assert run("estimate", *pair, "-o", tmp_path, *QUICK, "--force").exit_code == 0
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "notes.txt").stat().st_mtime_ns <= start
