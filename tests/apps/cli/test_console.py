"""Streams that are closed, full or narrow, names that look like markup, signals, memory."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import typer

from relblur import synth
from relblur.apps.terminal import console

CAMERA = "focus_first_m = 1\nfocus_second_m = 2\ncoc_constant_px_m = 20\n"


@pytest.fixture
def folder(tmp_path) -> Path:
    (tmp_path / "cam.toml").write_text(CAMERA)
    np.save(tmp_path / "image.npy", np.random.default_rng(0).random((16, 20)))
    return tmp_path


def relblur(folder: Path, words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program through a shell, which can close streams."""
    command = f'"{sys.executable}" -m relblur {words}'
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(
        command, shell=True, cwd=folder, env=env, capture_output=True, text=True, errors="surrogateescape", check=False
    )


posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("camera cam.toml -o made.json >&-", "the result cannot be printed: the stream is closed"),
        (
            "tools decimate image.npy 2 -o made.json.npy >/dev/full",
            "the result cannot be printed: No space left on device",
        ),
        ("--help >/dev/full", "the output cannot be printed: No space left on device"),
        ("--version >&-", "the output cannot be printed: the stream is closed"),
    ],
)
def test_a_result_that_cannot_be_printed_is_one_line_and_exit_code_3(folder, words, reason):
    done = relblur(folder, words)
    assert done.returncode == 3
    told = [line for line in done.stderr.splitlines() if line.startswith("relblur: ")]
    assert len(told) == 1
    assert reason in told[0]
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if "-o" in words:
        assert list(folder.glob("made.*"))  # the work is done


@pytest.mark.slow
@posix
def test_without_stderr_and_stdin_the_work_is_done_all_the_same(folder):
    done = relblur(folder, "camera cam.toml -o made.json <&- 2>&-")
    assert done.returncode == 0
    assert "distance, m" in done.stdout
    assert "camera file" not in done.stdout  # what belongs to stderr does not go there instead
    assert (folder / "made.json").read_text().startswith("{")
    assert relblur(folder, "camera --nonsense 2>&-").returncode == 2
    assert relblur(folder, "camera missing.toml 2>/dev/full").returncode == 3


@posix
def test_a_file_never_gets_the_number_of_a_closed_stream(folder):
    """What a library writes to stdout would go into the result."""
    done = relblur(folder, "tools decimate image.npy 2 -o made.npy <&- >&- 2>&-")
    assert done.returncode == 3
    assert np.load(folder / "made.npy").shape == (8, 10)


@posix
def test_a_reader_that_leaves_is_no_error_to_speak_of(folder):
    done = relblur(folder, "camera cam.toml | true")
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of any bytes")
@pytest.mark.parametrize(
    ("command", "environment"),
    [
        ("evaluate NAME other.npy -m window --decimate 1", {"PYTHONIOENCODING": "ascii:strict"}),
        ("tools decimate NAME 2 -o NAME.npy", {"LC_ALL": "C", "PYTHONUTF8": "0"}),
        ("tools decimate NAME 2 -o NAME.npy", {"PYTHONIOENCODING": "utf-8:strict"}),
    ],
    ids=["ascii", "C", "utf-8"],
)
def test_names_that_cannot_be_encoded_are_written_out(folder, command, environment):
    name = os.fsdecode(b"n\xff[bold]\xc3\xbc.npy")
    (folder / "image.npy").rename(folder / name)
    np.save(folder / "other.npy", synth.blur_with_map(np.load(folder / name), 1.5))
    done = relblur(folder, command.replace("NAME", f"'{name}'"), **environment)
    assert done.returncode == 0, done.stderr
    assert "n\\udcff[bold]" in done.stdout


def test_brackets_and_control_characters_in_a_table_are_shown(capsys):
    console.print_table("a[/b] [bold]c :smile:", ("[red]x", ""), [("[/]", "\x1b[2J\udcff")])
    told = capsys.readouterr().out
    for each in ("a[/b] [bold]c :smile:", "[red]x", "[/]", "\\x1b[2J\\udcff"):
        assert each in told


def test_what_is_said_does_not_steer_the_terminal(capsys):
    console.say("a\x1b[31mb\x07 ü \u202e")
    assert capsys.readouterr().err == "a\\x1b[31mb\\x07 ü \\u202e\n"


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied", "out"),
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.ENAMETOOLONG, "File name too long", "x" * 300),
    ],
)
def test_an_error_of_the_system_is_bad_data_not_unexpected(error, capsys):
    @console.one_line_errors
    def command() -> None:
        raise error

    with pytest.raises(typer.Exit) as caught:
        command()
    assert caught.value.exit_code == 3
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert error.strerror in told
    assert "unexpected" not in told


def test_a_width_of_no_pixels_is_refused(folder):
    done = relblur(folder, "camera --focal-length 35 -N 2 --focus 1,2 --sensor-width 36 --image-width 0")
    assert (done.returncode, done.stderr) == (3, "relblur: --image-width must be finite and > 0 px, got 0\n")


def test_child_processes_do_not_import_from_the_current_folder(tmp_path):
    (tmp_path / "multiprocessing.py").write_text("open('was_run', 'w')")
    program = (
        "import sys; sys.path.pop(0)\n"  # an installed relblur does not import from there either
        "import multiprocessing\n"
        "from relblur.apps.cli import app\n"
        "def start(_program):\n"
        "    child = multiprocessing.get_context('spawn').Process(target=print, args=('child',))\n"
        "    child.start(); child.join()\n"
        "app.run_program = start\n"
        "app.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert done.stdout == "child\n", done.stderr
    assert not (tmp_path / "was_run").exists()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_while_the_program_is_loaded_ends_it_without_a_traceback():
    program = (
        "import os, signal, sys\n"
        "from relblur.__main__ import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # background jobs ignore it
        "class Interrupting:\n"
        "    def find_spec(name, *_):\n"
        "        if name == 'relblur.apps.cli.app': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting)\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


class _Library:
    def __init__(self) -> None:
        self.asked: dict[int, int] = {}

    def mallopt(self, parameter: int, value: int) -> int:
        self.asked[parameter] = value
        return 1


def test_freed_memory_is_kept_but_for_large_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    console.keep_freed_memory()
    assert library.asked[-3] == 32 * 2**20  # M_MMAP_THRESHOLD
    assert library.asked[-1] > 2**30  # M_TRIM_THRESHOLD


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    library = _Library()
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    console.keep_freed_memory()
    assert not library.asked


def test_another_c_library_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    console.keep_freed_memory()
