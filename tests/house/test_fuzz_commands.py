"""A short run of the fuzzer over whole commands; ``fuzz/commands.py`` makes as many cases as there is time for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT

FUZZER = ROOT / "fuzz" / "commands.py"

pytestmark = pytest.mark.skipif(
    not (FUZZER.exists() and sys.platform.startswith("linux")), reason="needs fuzz/ and a Linux to measure memory on"
)


@pytest.mark.slow
def test_spoilt_files_end_in_a_result_or_a_short_error():
    command = [sys.executable, str(FUZZER), "--files", "150", "--seed", "0", "--workers", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert "150 cases, 0 failed" in done.stdout


def test_the_fuzzer_sees_what_is_wrong(monkeypatch):
    """Each kind of fault is told from a case that is well."""
    monkeypatch.syspath_prepend(str(FUZZER.parent))
    from commands import faults, make_case

    fine = {"exit": 3, "stdout": "", "stderr": "relblur: no\n", "seconds": 0.1, "peak": 10**8, "new": [], "changed": []}
    case = make_case("f0", 0)
    assert faults(fine) == []
    assert make_case("f0", 0) == case  # the same every time
    for wrong in (
        {"exit": 1},
        {"exit": -11},
        {"stderr": "relblur: unexpected ValueError: x\n"},
        {"stderr": "Traceback (most recent call last):\n"},
        {"stderr": "x\n" * 9},
        {"stderr": ""},
        {"new": ["out"]},
        {"changed": ["first.png"]},
        {"seconds": 11.0},
        {"peak": 2 * 10**9},
    ):
        assert len(faults({**fine, **wrong})) == 1, wrong
