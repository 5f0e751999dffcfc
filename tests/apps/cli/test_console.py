"""Streams that are closed, full or narrow, names that look like markup, errors of the system, signals, memory."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from relblur.apps.terminal import console

CAMERA = "focus_first_m = 1\nfocus_second_m = 2\ncoc_constant_px_m = 20\n"
posix = pytest.mark.skipif(os.name != "posix", reason="a POSIX shell")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cam.toml").write_text(CAMERA)
    np.save(tmp_path / "image.npy", np.random.default_rng(0).random((16, 20)))
    return tmp_path


def relblur(folder, words, **environment):
    """Run the program through a shell, which can close streams."""
    command = f'"{sys.executable}" -m relblur {words}'
    env = {**os.environ, "COLUMNS": "200", **environment}
    return subprocess.run(
        command, shell=True, cwd=folder, env=env, capture_output=True, text=True, errors="surrogateescape", check=False
    )


@pytest.mark.slow
@posix
@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("camera cam.toml -o made.json >&-", "the output cannot be written"),
        ("tools decimate image.npy 2 -o made.npy >/dev/full", "No space left on device"),
        ("--help >/dev/full", "No space left on device"),
    ],
)
def test_a_result_that_cannot_be_printed_is_one_line_and_exit_code_3(folder, words, reason):
    done = relblur(folder, words)
    assert done.returncode == 3
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("relblur: ")]
    assert reason in line
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if "-o" in words:
        assert list(folder.glob("made.*"))  # the work is done


@pytest.mark.slow
@posix
def test_without_streams_the_work_is_done_and_a_file_never_gets_their_number(folder):
    done = relblur(folder, "camera cam.toml -o made.json <&- 2>&-")
    assert done.returncode == 0
    assert "distance, m" in done.stdout
    assert "camera file" not in done.stdout  # a message for stderr does not go to stdout
    assert relblur(folder, "tools decimate image.npy 2 -o made.npy <&- >&- 2>&-").returncode == 3
    assert np.load(folder / "made.npy").shape == (8, 10)
    assert relblur(folder, "camera cam.toml | true").stderr == ""  # the reader has left


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="names of any bytes")
@pytest.mark.parametrize("encoding", ["ascii:strict", "utf-8:strict"])
def test_names_that_cannot_be_encoded_are_written_out(folder, encoding):
    name = os.fsdecode(b"n\xff[bold]\xc3\xbc.npy")
    (folder / "image.npy").rename(folder / name)
    done = relblur(folder, f"tools decimate '{name}' 2 -o '{name}.npy'", PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "n\\udcff[bold]" in done.stdout


def test_brackets_and_control_characters_are_shown(capsys):
    console.print_table("a[/b] [bold]c :smile:", ("[red]x", ""), [("[/]", "\x1b[2J\udcff")])
    console.print_message("a\x1b[31mb\x07 ü \u202e")
    printed = capsys.readouterr()
    for each in ("a[/b] [bold]c :smile:", "[red]x", "[/]", "\\x1b[2J\\udcff"):
        assert each in printed.out
    assert printed.err == "a\\x1b[31mb\\x07 ü \\u202e\n"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "out"), 3, "out: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 3, "No space left on device"),
        (MemoryError(), 3, "use --decimate 2 or more"),
        (KeyError("x\ny"), 1, "unexpected KeyError"),
    ],
)
def test_an_error_of_the_system_is_one_line(error, code, words, capsys):
    def program():
        raise error

    assert console.exit_code(program) == code
    line = capsys.readouterr().err
    assert words in line
    assert line.count("\n") == 1


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


@posix
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


def test_freed_memory_is_kept_but_for_large_arrays_where_the_c_library_can(monkeypatch):
    given = {}
    library = type("Library", (), {"mallopt": staticmethod(given.__setitem__)})
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    console.keep_freed_memory()
    assert given[-3] == 32 * 2**20  # M_MMAP_THRESHOLD
    assert given[-1] > 2**30  # M_TRIM_THRESHOLD
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    console.keep_freed_memory()
