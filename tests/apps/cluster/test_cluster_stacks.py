"""``relblur batch`` on focal stacks: found, measured, in one table, resumed; here without processes."""

from __future__ import annotations

import csv
import json
from contextlib import nullcontext

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

from relblur import load, synth
from relblur.apps.cli.app import app
from relblur.apps.cluster import batch as batches
from relblur.apps.cluster.stacks import find_stacks
from relblur.images.disk import write_image

pytest.importorskip("pyarrow")

FOCUS_M = (1.0, 1.25, 1.75)


class InThisProcess:
    """Stands for the workers, which other tests start."""

    def stream(self, function, jobs, _lost):
        return map(function, jobs)


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "set"
    sharp = 0.2 + 0.6 * synth.blur_with_map(np.random.default_rng(0).random((48, 56)), 0.5)
    place = np.tile(np.linspace(0.2, 1.8, 56), (48, 1))
    for stack, names in (("plain", ("1", "2", "3")), ("far and near", [f"focus_{f}m" for f in FOCUS_M])):
        (folder / stack).mkdir(parents=True)
        for number, name in enumerate(names):
            frame = synth.blur_with_map(sharp, 0.8 * np.abs(place - number))
            write_image(folder / stack / f"{name}.png", np.rint(255 * frame.clip(0, 1)).astype(np.uint8))
    (folder / "no stack").mkdir()
    write_image(folder / "no stack" / "1.png", np.zeros((8, 8), np.uint8))
    np.save(folder / "plain" / "truth.npy", np.zeros((8, 8)))
    return folder


def run(data, output, monkeypatch, *options):
    monkeypatch.setattr(batches, "require", lambda *_: None)
    monkeypatch.setattr(batches, "started", lambda *_: nullcontext(InThisProcess()))
    return CliRunner().invoke(app, ["tools", "batch", str(data), "-o", str(output), *options])


def test_stacks_are_found_with_the_distances_that_names_tell(data):
    named, plain = find_stacks(data)
    assert (named.name, plain.name) == ("far and near", "plain")
    assert named.focus_m == list(FOCUS_M)
    assert plain.focus_m is None
    assert [path.name for path in plain.images] == ["1.png", "2.png", "3.png"]  # no array among them
    assert plain.job.name == "plain"
    assert named.job.name == "far_and_near"
    assert find_stacks(data / "plain") == []


def test_a_set_of_stacks_is_measured_once(data, tmp_path, monkeypatch):
    output = tmp_path / "out"
    done = run(data, output, monkeypatch, "--json")
    assert done.exit_code == 0, done.output
    table = {row["stack"]: row for row in json.loads(done.stdout)["table"]}
    assert table["plain"]["frames"] == 3
    assert table["plain"]["depth_m_50"] is None
    assert_allclose(table["far and near"]["depth_m_50"], 1.25, rtol=0.15)
    with open(output / "scores.csv", newline="") as stream:
        assert {row["stack"] for row in csv.DictReader(stream)} == set(table)
    page = (output / "summary.html").read_text()
    assert "far and near" in page
    assert page.count("data:image/png") == 2
    assert_allclose(load(output / "plain" / "stack.npz").index[8:-8, 8:-8].mean(), 1.0, atol=0.15)

    again = run(data, output, monkeypatch)
    assert again.exit_code == 0
    assert "2 was done" in again.output

    frame = data / "plain" / "3.png"
    frame.write_bytes(frame.read_bytes() + b"\0")  # the last one of a stack counts, too
    changed = run(data, output, monkeypatch)
    assert changed.exit_code == 3
    assert "other files" in " ".join(changed.output.split())


def test_one_stack_that_cannot_be_read_is_reported(data, tmp_path, monkeypatch):
    (data / "plain" / "2.png").write_bytes(b"no picture")
    found = run(data, tmp_path / "out", monkeypatch)
    assert found.exit_code == 3
    assert "2.png" in "".join(found.output.split())
    assert (tmp_path / "out" / "far_and_near" / "overview.png").exists()
