"""The paper's Table I on photographs that lie beside the project; skipped where they are absent."""

from __future__ import annotations

import pytest

from relblur.apps.paper.data_sets import find_data_sets
from relblur.apps.paper.pairs import rows_of


def test_both_data_sets_are_found(shared_data):
    found = {each.data_set: each for each in find_data_sets(shared_data)}
    assert set(found) == {"realmff", "dpdd"}
    for name, near, far in (("realmff", "_a.png", "_b.png"), ("dpdd", "_f4.png", "_f22.png")):
        for pair in found[name].pairs:
            assert (pair.foreground.name, pair.background.name) == (f"{pair.name}{near}", f"{pair.name}{far}")


@pytest.mark.slow
def test_a_real_pair_is_remade_better_than_the_paper_reports(shared_data):
    rows = rows_of(find_data_sets(shared_data / "realmff")[0].pairs[0], "paper")
    assert [row.resolution for row in rows] == ["625x433", "313x217", "157x109"]
    for row in rows:
        assert max(row.score.e_first, row.score.e_second) <= 0.009
        assert row.score.e_first < row.score.held_out_e_first < row.score.held_out_unblurred_e_first
    # As measured for all points, and for those that are neither flat nor clipped.
    assert rows[0].score.e_first == pytest.approx(0.0026, abs=2e-4)
    assert rows[0].score.answered_e_first == pytest.approx(0.0014, abs=3e-4)
