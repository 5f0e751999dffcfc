"""``relblur paper reproduce``: what it prints, and arguments that it refuses."""

from __future__ import annotations

import json

import pytest

from command import failed, run
from paper_sets import make_data_set

REPRODUCE = ("paper", "reproduce")


@pytest.mark.slow
def test_reproduce_prints_what_it_found(tmp_path):
    make_data_set(tmp_path / "data", "list", shape=(64, 80))
    command = (*REPRODUCE, "--data", tmp_path / "data", "--only", "table1, fig2", "-o", tmp_path / "out")
    result = run(*command, "--json")
    assert result.exit_code == 0, result.output
    assert "Real MFF: 1 pair in" in result.stderr
    found = json.loads(result.stdout)
    assert found["fig1"] == []
    assert [row["resolution"] for row in found["table1"]] == 2 * ["80x64", "40x32", "20x16"]
    assert {"fig2.png", "paper.html", "table1.csv"} == {path.name for path in (tmp_path / "out").iterdir()}
    table = run(*command, "--force").stdout
    for text in ("held-out e_B", "20x16", "0.025", "32.1 px"):
        assert text in table
    assert "paper.html and 2 more would be replaced" in failed(run(*command), 2)


def test_reproduce_refuses_folders_without_pairs(tmp_path):
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    assert "no pairs in" in failed(run(*REPRODUCE, "-o", out, "--data", tmp_path / "empty"), 3)
    assert "is neither a folder nor a list" in failed(run(*REPRODUCE, "-o", out, "--data", tmp_path / "nowhere"), 3)
    assert "--only takes fig1" in failed(run(*REPRODUCE, "-o", out, "--only", "fig9"), 3)
    assert "no pair has this name" in failed(run(*REPRODUCE, "-o", out, "--pair", "7"), 3)
    assert not out.exists()
