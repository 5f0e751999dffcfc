"""``relblur demo``: its pictures and its scores."""

from __future__ import annotations

import json

import pytest
from PIL import Image  # noqa: TID253

from command import failed, run


def _is_picture(path):
    with Image.open(path) as picture:
        picture.load()  # raises if it is not complete
        return min(picture.size) > 50


@pytest.mark.slow
def test_demo_writes_its_pictures_and_scores_every_method(tmp_path, monkeypatch):
    # A smaller picture than the real one: the chain is the same.
    monkeypatch.setattr("relblur.apps.demo.program.SIZE", (128, 160))
    result = run("demo", "-o", tmp_path / "demo", "--json")
    assert result.exit_code == 0, result.output
    rows = {row["method"]: row for row in json.loads(result.stdout)}
    assert set(rows) == {"paper", "window", "refined"}
    for row in rows.values():
        assert row["median error (px)"] < 0.2
        assert row["answered"] > 0.5
    for name in ("first.png", "second.png", "comparison.png", "refined/overview.png"):
        assert _is_picture(tmp_path / "demo" / name)
    assert "would be replaced" in failed(run("demo", "-o", tmp_path / "demo"), 2)
