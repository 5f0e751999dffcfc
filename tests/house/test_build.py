"""The compiled loops use the processor's vectors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

import pytest

from conftest import ROOT

KERNELS = ROOT / "src" / "kernels"
FILES = sorted(path for path in KERNELS.glob("*.cpp") if path.name != "module.cpp")
OPTIONS = re.search(r"set\(OPTIONS (.*)\)", (ROOT / "CMakeLists.txt").read_text())[1].split()


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.name)
def test_loops_that_are_marked_are_vectorised(file):
    """A compiler leaves a loop scalar without a word; the speed is then a fifth."""
    compiler = shutil.which("g++")
    if compiler is None or os.uname().machine != "x86_64":
        pytest.skip("needs GCC on x86-64")
    command = [compiler, "-std=c++20", *OPTIONS, "-march=x86-64-v3", "-DLEVEL=v3", "-DALL_LEVELS"]
    command += ["-fopt-info-vec-optimized", "-c", str(file), "-o", os.devnull]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    done = {int(line) for line in re.findall(rf"{file.name}:(\d+):\d+: optimized: loop vectorized", report)}
    marks = [n for n, line in enumerate(file.read_text().split("\n"), 1) if "#pragma omp simd" in line]
    missed = [n for n in marks if not done & {n, n + 1, n + 2}]  # reported at the loop or its first statement
    assert not missed, f"{file.name}: the loops at lines {missed} are scalar"
