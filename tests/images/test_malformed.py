"""Whatever is put in: one line of error, soon, in little memory, and nothing left behind.

The corpus runs in one process of its own, so that a crash of a decoder is seen as such. A part of it goes through
commands, the rest through the functions that they call.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from conftest import ROOT

pytestmark = pytest.mark.slow  # the corpus is run once for all

SUPPORT = ROOT / "tests" / "support"

DRIVER = """
import json, os, resource, signal, sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from typer.testing import CliRunner
from malformed import make_corpus
from relblur import RelblurError, imread, load
from relblur.depth.camera_file import camera_fields_from_exif
from relblur.apps.cli.app import app
from relblur.images.depth_formats import read_pfm
from relblur.images.reading import read_bytes

corpus, output = Path(sys.argv[2]), Path(sys.argv[3])
os.chdir(output)
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))

def too_long(*_):
    raise SystemExit("took more than 10 s")

def of_python(path):  # how to read what no command of one picture takes
    if path.endswith(".npz"):
        return load
    if path.endswith(".pfm"):
        return lambda path: read_pfm(read_bytes(path), path)
    if "/exif_" in path:
        return lambda path: camera_fields_from_exif(path, None, None)
    return None

class Called:  # told as the commands tell it
    exit_code, stderr, stdout = 0, "", ""

    def __init__(self, read, path):
        try:
            read(path)
        except RelblurError as error:
            self.exit_code, self.stderr = 3, f"relblur: {error}"
        except Exception as error:
            self.exit_code, self.stderr = 1, f"Traceback: {type(error).__name__} {error}"

def peak_bytes():
    status = Path("/proc/self/status")
    if status.exists():  # of this program; getrusage counts in what the process was before, a copy of the test run
        return 1024 * next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

signal.signal(signal.SIGALRM, too_long)
cases = make_corpus(corpus)
runner = CliRunner()
for case in cases:
    print(json.dumps({"starting": case.name}), flush=True)
    read = of_python(case.paths[0]) or (None if case.by_command else imread)
    if read:
        arguments = None
    elif len(case.paths) == 1:
        arguments = ["tools", "decimate", case.paths[0], "2", "-o", "out.png"]
    else:
        arguments = ["estimate", *case.paths, "-o", "out", "--method", "window"]
    start = time.monotonic()
    signal.alarm(10)
    result = Called(read, case.paths[0]) if read else runner.invoke(app, arguments)
    signal.alarm(0)
    left = sorted(os.listdir(output))
    if result.exit_code == 0 and left == ["out.png"]:
        os.unlink("out.png")
        left = []
    print(json.dumps({
        "name": case.name,
        "may_succeed": case.may_succeed,
        "exit": result.exit_code,
        "stderr": result.stderr,
        "stdout": result.stdout,
        "seconds": time.monotonic() - start,
        "peak": peak_bytes(),
        "left": left,
    }), flush=True)
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    corpus, output = (tmp_path_factory.mktemp(name) for name in ("corpus", "output"))
    command = [sys.executable, "-X", "faulthandler", "-c", DRIVER, str(SUPPORT), str(corpus), str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    last = next((line["starting"] for line in reversed(lines) if "starting" in line), "nothing")
    assert done.returncode == 0, f"the process died at {last}: {done.stderr[-2000:]}"
    assert done.stderr == ""  # decoders written in C have a voice of their own
    return [line for line in lines if "name" in line]


def test_there_are_at_least_500_that_must_be_refused(results):
    refused = [case for case in results if not case["may_succeed"]]
    assert len(refused) >= 500
    assert len({case["name"] for case in results}) == len(results)


def test_each_ends_in_one_line_of_ours(results):
    wrong = {}
    for case in results:
        if case["may_succeed"] and case["exit"] == 0:
            continue
        lines = [line for line in case["stderr"].splitlines() if not line.startswith("relblur: note: ")]
        codes = (2,) if case["name"] == "path ''" else (3, 4)  # an empty argument is refused before it is opened
        fine = case["exit"] in codes and len(lines) == 1 and lines[0].startswith("relblur: ")
        if (
            not fine
            or "unexpected" in case["stderr"]
            or "Traceback" in case["stderr"] + case["stdout"]
            or case["stdout"]
        ):
            wrong[case["name"]] = (case["exit"], case["stderr"][-300:])
    assert not wrong, "\n".join(f"{name!r}: {what}" for name, what in wrong.items())


def test_each_ends_soon_and_in_little_memory(results):
    assert {case["name"]: case["seconds"] for case in results if case["seconds"] > 10} == {}
    assert max(case["peak"] for case in results) < 1e9


def test_nothing_is_left_behind_or_executed(results):
    assert {case["name"]: case["left"] for case in results if case["left"]} == {}
