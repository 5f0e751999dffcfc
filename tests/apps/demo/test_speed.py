"""The short benchmark: its rivals are right, and its command runs."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from relblur.apps.cli.app import app
from relblur.apps.demo.speed import interleave, opencv_bank, s_transform, scene
from relblur.base.settings import paper_sigmas


@pytest.fixture(scope="module")
def small():
    return scene((60, 150))


def test_the_scene_is_blurred_by_what_it_says(small):
    first, second, truth = small
    assert first.dtype == second.dtype == np.float32
    assert (truth.min(), truth.max()) == (1, 2)
    assert np.median(np.abs(s_transform(first, second) / truth - 1)) < 0.05


def test_the_bank_is_the_papers_grid_search(small):
    first, second, truth = small
    sigma = opencv_bank(first, second)
    assert np.isin(sigma, np.array(paper_sigmas(), dtype=np.float32)).all()
    assert np.median(np.abs(sigma / truth - 1)) < 0.05


def test_runs_take_turns_and_are_scored():
    calls = []

    def run(name, sigma):
        calls.append(name)
        return np.full((2, 2), sigma)

    times = interleave({"a": lambda: run("a", 1.1), "b": lambda: run("b", 2.0)}, 2, np.ones((2, 2)))
    assert calls == ["a", "b"] * 3
    assert [round(t.error_percent) for t in times.values()] == [10, 100]
    assert times["a"].wall_least <= times["a"].wall_median


def test_the_command_prints_a_row_for_everybody():
    done = CliRunner().invoke(app, ["tools", "bench", "40x60", "--repeats", "1", "--json"])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["40x60"]
    assert [row["name"].split(",")[0].split(":")[0] for row in rows] == ["Y1", "S-transform", *["Stream"] * 3]
    assert all(row["wall_least"] > 0 for row in rows)
    assert rows[2]["error_percent"] < 4 < rows[0]["error_percent"]


@pytest.mark.parametrize("size", ["640", "a x b", "4x4", "99999x99999", "480x640x3"])
def test_a_bad_size_is_one_line(size):
    done = CliRunner().invoke(app, ["tools", "bench", size])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1
    assert "size" in done.stderr
