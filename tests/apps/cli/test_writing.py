"""What the commands write: never over an input, all of it or nothing, also when they are stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from command import failed, run
from relblur import Camera, load, save, synth

QUICK = ("--method", "window", "--no-linear", "--align", "off")


@pytest.fixture
def pair(tmp_path, texture):
    save(tmp_path / "a.png", synth.degrade(texture[:40, :48], bits=8))
    save(tmp_path / "b.png", synth.degrade(synth.blur_with_map(texture[:40, :48], 1.2), bits=8))
    return tmp_path / "a.png", tmp_path / "b.png"


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [
        "depth a.png b.png -c camera.toml -o camera.toml",
        "depth overview.png b.png -c camera.toml -o .",
        "calibrate a.png b.png -c camera.toml --distance 1.2 -o camera.toml",
        "calibrate a.png b.png -c camera.toml --depth d.npy -o d.npy",
        "camera camera.toml -o link.toml",
        "tools decimate a.png 2 -o a.png",
        "tools synth first.png -o .",
        "estimate sigma.png b.png -o .",
    ],
)
def test_no_command_replaces_what_it_reads(pair, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    for name in ("overview.png", "sigma.png", "first.png"):
        (tmp_path / name).write_bytes(pair[0].read_bytes())
    Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2).save(tmp_path / "camera.toml")
    (tmp_path / "link.toml").symlink_to("camera.toml")
    np.save(tmp_path / "d.npy", np.ones((40, 48)))
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    failed(run(*arguments.split()), 2)
    line = failed(run(*arguments.split(), "--force"), 2)
    assert "camera.toml is a file" in line or "is also read by this command and would be replaced" in line
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="no devices")
def test_a_pipe_is_not_replaced_by_a_file(pair, tmp_path):
    os.mkfifo(tmp_path / "p.png")
    decimate = ("tools", "decimate", pair[0], 2, "-o", tmp_path / "p.png", "--force")
    assert "pipe or a device" in failed(run(*decimate), 3)
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
            process.send_signal(how)
        _, printed = process.communicate(timeout=30)
    assert how != "full" or (process.returncode, "File too large" in printed) == (3, True)
    assert how != signal.SIGTERM or process.returncode == 143
    assert "Traceback" not in printed
    assert any(name.startswith(".") for name in os.listdir(tmp_path)) == (how == signal.SIGKILL)
    assert not out.exists()
    result = run("estimate", *pair, "-o", out, *QUICK)
    assert result.exit_code == 0, result.output
    assert load(out / "blur_map.npz").shape == (40, 48)
    assert not [name for name in (*os.listdir(out), *os.listdir(tmp_path)) if name.startswith(".")]


@pytest.mark.slow
def test_two_runs_into_one_folder_do_not_mix(pair, tmp_path):
    """Without force one of them is refused; the files are all of one run, and other files stay."""
    out = tmp_path / "out"
    program = [sys.executable, "-m", "relblur", "estimate", *map(str, pair), "-o", str(out), *QUICK]
    runs = [subprocess.Popen([*program, "--window", window], stderr=subprocess.PIPE) for window in ("9", "11")]
    printed = [each.communicate(timeout=100)[1].decode() for each in runs]
    codes = [each.returncode for each in runs]
    assert sorted(codes) == [0, 2], printed
    assert "would be replaced; add --force" in printed[codes.index(2)]
    assert load(out / "blur_map.npz").settings["window"] == (9, 11)[codes.index(0)]
    (out / "notes.txt").write_text("mine")
    assert run("estimate", *pair, "-o", out, *QUICK, "--force").exit_code == 0
    assert (out / "notes.txt").read_text() == "mine"
