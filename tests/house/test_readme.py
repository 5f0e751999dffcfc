"""README's lines, run as they are written, in their order after the demo, on what the demo leaves."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import relblur
from command import run
from conftest import ROOT
from relblur.apps.demo.program import demo_depth

README = ROOT / "README.md"

pytestmark = pytest.mark.skipif(not README.exists(), reason="the README is not beside the tests")

#: Commands that do not end by themselves.
WITHOUT_END = ("view",)


def _blocks():
    """Yield (kind, lines) of the README's command blocks, indented, and Python blocks, fenced, in their order."""
    lines = README.read_text().splitlines()
    number = 0
    while number < len(lines):
        start = number
        if lines[number].startswith("```python"):
            number = lines.index("```", number) + 1
            yield "python", lines[start + 1 : number - 1]
        elif lines[number].startswith("    ") and (not number or not lines[number - 1].strip()):
            while number < len(lines) and (lines[number].startswith("    ") or not lines[number].strip()):
                number += 1
            yield "shell", [line.strip() for line in lines[start:number] if line.strip()]
        else:
            number += 1


def _commands():
    for kind, lines in _blocks():
        if kind == "python":
            yield "python", "\n".join(lines)
        for line in lines if kind == "shell" else ():
            words = shlex.split(line, comments=True)
            if words[0] == "relblur" and words[1] not in WITHOUT_END:
                yield "relblur", words


def test_the_readme_has_what_a_newcomer_looks_for():
    kinds = [kind for kind, _ in _commands()]
    assert kinds.count("relblur") >= 8
    assert kinds.count("python") >= 3
    text = README.read_text()
    assert "pip install relblur" in text
    assert "source .venv/bin/activate" in text
    assert {"make demo", "make test"} <= {line.split("#")[0].strip() for _, lines in _blocks() for line in lines}


def test_the_readme_is_short():
    text = re.sub(r"<!--.*?-->", "", README.read_text(), flags=re.DOTALL)
    assert len([word for word in text.split() if re.search(r"\w", word)]) <= 700


def test_every_extra_that_is_named_exists_and_all_has_each_of_them():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    named = set(re.findall(r"relblur\[([a-z,]+)\]", README.read_text()))
    assert "all" in named
    assert {extra for group in named for extra in group.split(",")} <= set(extras)
    together = re.fullmatch(r"relblur\[([a-z,]+)\]", extras["all"][0]).group(1).split(",")
    assert set(together) == set(extras) - {"all", "dev", "docs"}


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_lines_run_as_written_in_their_order(tmp_path, monkeypatch):
    """The same folder and the same names for all of them, as for a reader who types them one by one."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    said = ""
    lines = sorted(_commands(), key=lambda line: "demo" not in line[1])  # the first screen shows lines before it
    for kind, what in lines:
        if kind == "python":
            exec(compile(what, str(README), "exec"), names)
            if "estimate_blur" in what:  # "the map of the command, to the last bit"
                of_command = relblur.load("result/blur_map.npz")
                assert_array_equal(names["blur"].sigma, of_command.sigma)
            continue
        done = run(*what[1:])
        assert done.exit_code == 0, f"{shlex.join(what)}\n{done.output}"
        said += done.output
        if what[1] == "demo":
            monkeypatch.chdir(tmp_path / "relblur_demo")
    # What the text says of these lines.
    assert "measures 0.584 m to infinity" in said
    folder = tmp_path / "relblur_demo"
    for path in (
        "result/overview.png",
        "result/report.html",
        "sharp.png",
        "depth/points.ply",
        "depth/depth_colour.png",
        "range/probability.tif",
        "all/summary.csv",
    ):
        assert (folder / path).stat().st_size > 100, path
    between = json.loads((folder / "range" / "summary.json").read_bytes())["between_fraction"]
    assert 0.4 < between < 0.6  # the range splits the scene
    found = names["found"]
    truth = demo_depth(found.shape)
    assert np.median(np.abs(found.depth_m / truth - 1)) < 0.002
    assert relblur.Camera.load(folder / "cal.toml").f_number == pytest.approx(2.8, rel=0.005)
