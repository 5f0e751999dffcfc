"""The short benchmark: its scene, its turns, and its command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from command import failed, run
from relblur import estimate_blur
from relblur.apps.demo.speed import interleave, scene


def test_the_scene_is_blurred_by_its_truth():
    first, second, truth = scene((60, 150))
    assert first.dtype == second.dtype == np.float32
    assert (truth.min(), truth.max()) == (1, 2)
    assert scene((600, 40), ("grass",))[0].shape == (600, 40)  # larger than the photograph
    found = estimate_blur(first, second, method="window", sharper="first", linear=False)
    assert np.nanmedian(np.abs(found.sigma / truth - 1)) < 0.05


def test_runs_take_turns_and_are_scored():
    calls = []

    def work(name, sigma):
        calls.append(name)
        return np.full((2, 2), sigma)

    times = interleave({"a": lambda: work("a", 1.1), "b": lambda: work("b", 2.0)}, 2, np.ones((2, 2)))
    assert calls == ["a", "b"] * 3
    assert [round(t.error_percent) for t in times.values()] == [10, 100]
    assert times["a"].wall_least <= times["a"].wall_median


def test_the_command_prints_a_row_for_each_form():
    rows = json.loads(run("tools", "bench", "40x60", "--json").stdout)["40x60"]
    assert [row["name"] for row in rows] == ["sharper stated", "defaults", "one thread"]
    assert all(row["wall_least"] > 0 for row in rows)
    assert rows[0]["error_percent"] < 4
    assert "one thread" in run("tools", "bench", "40x60").stdout


@pytest.mark.parametrize("size", ["640", "a x b", "4x4", "99999x99999"])
def test_a_bad_size_is_one_line(size):
    assert "size" in failed(run("tools", "bench", size), 2)
