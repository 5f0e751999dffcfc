"""Child processes: limited in memory and time, quiet, and nothing is imported from the current folder."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from relblur import imread, save
from relblur.base import children
from relblur.base.children import ChildError, Limits, run_limited
from relblur.base.errors import FileError

FEW = Limits(500_000_000, 5)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits are enforced by Linux")


@pytest.fixture(autouse=True)
def functions(tmp_path, monkeypatch):
    """A module that children find."""
    (tmp_path / "asked_of_a_child.py").write_text(
        "import os, sys, time\n"
        "from relblur.base.errors import FileError\n"
        "def add(a, b, progress): return a + b\n"
        "def pid(progress): return os.getpid()\n"
        "def path(progress): return sys.path\n"
        "def take(count, progress): return len(bytearray(count))\n"
        "def spin(progress):\n    while True: pass\n"
        "def refuse(progress): raise FileError('no')\n"
        "def fail(progress): raise KeyError('x')\n"
        "def speak(progress):\n    print('hello'); os.write(2, b'hello'); return 1\n"
        "def die(progress): os.abort()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    children._end_idle()


def _run(name, *arguments, limits=FEW):
    return run_limited(f"asked_of_a_child:{name}", *arguments, limits=limits)


def test_answers_and_errors_come_back_and_the_process_is_used_again(capfd):
    assert _run("add", 2, 3) == 5
    assert _run("pid") == _run("pid") != os.getpid()
    with pytest.raises(FileError, match="no"):
        _run("refuse")
    with pytest.raises(ChildError, match="KeyError: 'x'"):
        _run("fail")
    assert _run("speak") == 1
    assert capfd.readouterr() == ("", "")  # what libraries print is dropped


@linux
def test_memory_beyond_the_limit_is_refused():
    assert _run("take", 10_000_000) == 10_000_000
    with pytest.raises(ChildError) as caught:
        _run("take", 600_000_000)
    assert caught.value.memory
    assert _run("take", 600_000_000, limits=Limits(1_000_000_000)) == 600_000_000


@linux
def test_time_beyond_the_limit_ends_the_process():
    start = time.monotonic()
    with pytest.raises(ChildError) as caught:
        _run("spin", limits=Limits(500_000_000, 0.1))
    assert caught.value.time
    assert time.monotonic() - start < 30
    with pytest.raises(ChildError, match="failed"):
        _run("die")
    assert _run("add", 1, 1) == 2  # by another process


def test_nothing_is_imported_from_the_current_folder(tmp_path, monkeypatch):
    downloaded = tmp_path / "downloaded"
    downloaded.mkdir()
    for name in ("pickle.py", "queue.py", "numpy.py"):
        (downloaded / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write('x')")
    monkeypatch.chdir(downloaded)
    monkeypatch.setattr(sys, "path", ["", *sys.path])  # as in a shell of Python
    assert _run("add", 2, 3) == 5
    assert not (tmp_path / "ran").exists()


def test_a_relative_path_is_that_of_the_caller(tmp_path, monkeypatch):
    picture = np.zeros((9, 8, 3), np.uint16)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        save("deep.png", picture)
        assert imread("deep.png").shape == (9, 8, 3)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_children_of_its_own():
    mine = _run("pid")
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, str(_run("pid")).encode())
        children._end_idle()
        os._exit(0)
    os.waitpid(child, 0)
    assert int(os.read(reader, 20)) != mine
    assert _run("pid") == mine


@linux
def test_a_child_ends_with_its_parent():
    program = (
        "import os, signal\nfrom relblur.base.children import Child\n"
        "print(Child().pid, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    pid = int(done.stdout)
    deadline = time.monotonic() + 20
    while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not os.path.exists(f"/proc/{pid}") or "Z" in Path(f"/proc/{pid}/stat").read_text().split()[2]
