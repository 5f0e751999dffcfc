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


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    corpus, output = (tmp_path_factory.mktemp(name) for name in ("corpus", "output"))
    program = ROOT / "tests" / "support" / "malformed.py"
    command = [sys.executable, "-X", "faulthandler", str(program), str(corpus), str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=290)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"the process died at {lines[-1:]}: {done.stderr[-2000:]}"
    found = {line["name"]: line for line in lines if "name" in line}
    assert 2 * len(found) == len(lines)
    return found


def test_there_are_at_least_500_that_must_be_refused(results):
    assert len([case for case in results.values() if not case["may_succeed"]]) >= 500
    assert {name for name, case in results.items() if case["exit"] == 0 and not case["may_succeed"]} == set()


def test_each_ends_soon_in_little_memory_and_leaves_nothing(results):
    assert {name: case["faults"] for name, case in results.items() if case["faults"]} == {}


def test_each_refusal_is_one_line_of_ours(results):
    wrong = {}
    for name, case in results.items():
        lines = [line for line in case["stderr"].splitlines() if not line.startswith("relblur: note: ")]
        codes = (2,) if name == "path ''" else (3, 4)  # an empty argument is refused before it is opened
        fine = case["exit"] in codes and len(lines) == 1 and lines[0].startswith("relblur: ") and not case["stdout"]
        if case["exit"] == 0:  # decoders written in C print nothing of their own; decimate reports both sizes
            fine = all(" -> " in line for line in lines)
        if not fine:
            wrong[name] = (case["exit"], case["stderr"][-300:])
    assert not wrong, "\n".join(f"{name!r}: {what}" for name, what in wrong.items())
