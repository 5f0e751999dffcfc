"""The paper's Table I on photographs that lie beside the project; skipped where they are absent."""

from __future__ import annotations

import csv

import pytest

from relblur import evaluate_pair
from relblur.photo.pair import read_pair
from relblur.studies.data_sets import find_pairs
from relblur.studies.reproduce import grey_pair, reproduce


def test_a_real_pair_is_remade_as_well_as_the_papers_best_row(shared_data):
    name, near, far = next(find_pairs(shared_data / "realmff", "realmff"))
    pair = grey_pair(read_pair(far, near)).decimated(4)
    assert pair.size == "157x109"
    score = evaluate_pair(pair.first, pair.second, method="paper", valid=pair.valid)
    assert score.e_first <= 0.009, name
    assert score.e_second <= 0.009, name
    assert score.e_first < score.unblurred_e_first
    assert score.e_second < score.unblurred_e_second
    assert score.first_sharper_fraction > 0.1
    assert score.second_sharper_fraction > 0.1


def test_near_and_far_focus_are_told_apart_in_the_files(shared_data):
    pairs = list(find_pairs(shared_data / "realmff", "realmff"))
    assert len(pairs) > 1
    for name, near, far in pairs:
        assert (near.name, far.name) == (f"{name}_a.png", f"{name}_b.png")


def test_reproduce_writes_the_table_for_one_pair(shared_data, tmp_path, monkeypatch):
    from relblur.studies import reproduce as module

    data = tmp_path / "data"
    (data / "realmff").mkdir(parents=True)
    name, near, far = next(find_pairs(shared_data / "realmff", "realmff"))
    for path in (near, far):
        (data / "realmff" / path.name).symlink_to(path)
    monkeypatch.setattr(module, "RAMPS", ())
    monkeypatch.setattr(module, "DATA_SETS", {"realmff": ("Real MFF", (4,))})
    ramps, table = reproduce(tmp_path / "out", data)
    assert ramps == []
    assert [(row.pair, row.resolution) for row in table] == [(name, "157x109")]
    assert max(table[0].e_b, table[0].e_f) <= 0.009
    with open(tmp_path / "out" / "table.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert float(rows[0]["e_b"]) == pytest.approx(table[0].e_b)
    assert (tmp_path / "out" / "fig6.png").stat().st_size > 1000
    assert "the paper's | 625x433 | 50% | 27% | 0.021 | 0.025" in (tmp_path / "out" / "table.md").read_text()
