"""``relblur evaluate``: scores of a pair at one resolution or more."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from command import run
from relblur import estimate_blur, evaluate_pair, imread, load, prepare_pair


@pytest.mark.parametrize("kind", ["grey", "colour"])
def test_evaluate_gives_one_row_for_each_decimation(request, kind):
    pair = request.getfixturevalue(f"{kind}_pair")
    command = ("evaluate", *pair, "--decimate", "1,2", "--method", "window")
    rows = json.loads(run(*command, "--json").stdout)
    assert [row["decimate"] for row in rows] == [1, 2]
    sizes = {"grey": ["112x96", "56x48"], "colour": ["88x72", "44x36"]}[kind]
    assert [row["resolution"] for row in rows] == sizes
    for row in rows:
        assert_allclose(row["first_sharper_fraction"] + row["second_sharper_fraction"] + row["equal_fraction"], 1)
        assert row["e_second"] < row["unblurred_e_second"]
    assert (rows[0]["explained"] is None) == (kind == "grey")
    table = run(*command).stdout
    errors = f"{rows[0]['e_second']:.4f} ({rows[0]['unblurred_e_second']:.4f})"
    for text in (*sizes, "equal", "scored", "held-out e_second", errors):
        assert text in table


@pytest.mark.parametrize("options", [(), ("--method", "window", "--sharper", "first"), ("--as-stored", "-m", "paper")])
def test_evaluate_scores_the_map_of_estimate(colour_pair, tmp_path, options):
    made = run("estimate", *colour_pair, *options, "-o", tmp_path / "out")
    assert made.exit_code == 0, made.output
    (row,) = json.loads(run("evaluate", *colour_pair, *options, "--json").stdout)
    stored = {"align": "off", "exposure": "off", "linear": False} if "--as-stored" in options else {}
    pair = prepare_pair(*colour_pair, **stored)
    wanted = evaluate_pair(pair.first, pair.second, load(tmp_path / "out" / "blur_map.npz"), held_out=False)
    for name, value in wanted.as_dict().items():
        if "held_out" not in name and name != "explained":
            assert row[name] == pytest.approx(value, nan_ok=True) if row[name] is not None else np.isnan(value)
    assert row["explained"] > 0.7
    notes = [line for line in made.stderr.splitlines() if line.split(":")[0] in ("light", "alignment", "exposure")]
    assert set(notes) <= set(run("evaluate", *colour_pair, *options).stderr.splitlines())


@pytest.mark.slow
def test_as_stored_is_the_papers_setting(grey_pair, tmp_path):
    first, second = (imread(path, linear=False) for path in grey_pair)
    wanted = evaluate_pair(first, second, method="paper")
    paper = ("--method", "paper", "--as-stored", "--json")
    rows = json.loads(run("evaluate", *grey_pair, *paper, "--decimate", "1,2").stdout)
    assert rows[0]["e_second"] == pytest.approx(wanted.e_second)
    result = run("estimate", *grey_pair, *paper, "-o", tmp_path / "out")
    assert "alignment" not in result.stderr
    assert_array_equal(
        load(tmp_path / "out" / "blur_map.npz").sigma, estimate_blur(first, second, method="paper").sigma
    )
