"""What is built: loops that use the processor's vectors, and a wheel that needs no compiler."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT

KERNELS = ROOT / "src" / "kernels"
FILES = sorted(path for path in KERNELS.glob("*.cpp") if path.name not in ("module.cpp", "solver.cpp"))
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


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_wheel_runs_where_there_is_no_compiler(tmp_path):
    def pip(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", *arguments],
            capture_output=True,
            text=True,
        )

    made = pip("wheel", "--no-deps", "--no-build-isolation", "-C", f"build-dir={tmp_path}/build", "-w", tmp_path, ROOT)
    assert made.returncode == 0, made.stderr
    (wheel,) = tmp_path.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    installed = pip("--python", python, "install", wheel)
    if installed.returncode != 0 and "No matching distribution" in installed.stderr:
        pytest.skip("the package index does not answer")
    assert installed.returncode == 0, installed.stderr
    code = (
        "import numpy as np, relblur; x = np.random.default_rng(0).random((64, 80)); "
        "print(relblur.__file__, relblur.Stream(x.shape).process(x, x).settings['engine'])"
    )
    alone = {"PATH": str(python.parent), "HOME": str(tmp_path)}
    done = subprocess.run([python, "-c", code], env=alone, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(tmp_path))
    assert done.stdout.split()[-1] == "compiled"
    demo = [python.with_name("relblur"), "demo", "--output", tmp_path / "demo"]
    shown = subprocess.run(demo, env=alone, cwd=tmp_path, capture_output=True, text=True)
    assert shown.returncode == 0, shown.stderr
