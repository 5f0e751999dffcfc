"""The examples run as they stand, and measure what they say."""

from __future__ import annotations

import runpy

import pytest

from conftest import ROOT

EXAMPLES = ROOT / "examples"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "wanted"), [("two_cameras.py", (-1.125, 1.125)), ("focus_sweep.py", (-0.99, 0.99))])
def test_a_rig_measures_the_blur_of_its_scene(name, wanted, capsys):
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("frame")]
    assert len(lines) >= 4
    for line in lines:
        found = [float(word) for word in line.replace(",", " ").split() if word[0] in "+-"]
        assert found == pytest.approx(wanted, abs=0.08)
