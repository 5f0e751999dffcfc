"""``relblur evaluate``: scores of a pair at one resolution or more."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from command import failed, run
from relblur import estimate_blur, evaluate_pair, imread, load, prepare_pair


@pytest.mark.parametrize("kind", ["grey", "colour"])
def test_evaluate_gives_one_row_for_each_decimation(request, kind):
    pair = request.getfixturevalue(f"{kind}_pair")
    result = run("evaluate", *pair, "--decimate", "1,2", "--method", "window", "--json")
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    assert [row["decimate"] for row in rows] == [1, 2]
    sizes = {"grey": ["112x96", "56x48"], "colour": ["88x72", "44x36"]}
    assert [row["resolution"] for row in rows] == sizes[kind]
    for row in rows:
        total = row["first_sharper_fraction"] + row["second_sharper_fraction"] + row["equal_fraction"]
        assert_allclose(total, 1)
        assert row["e_second"] < row["unblurred_e_second"]
    assert (rows[0]["explained"] is None) == (kind == "grey")


def test_evaluate_prints_shares_and_errors_with_their_baselines(colour_pair):
    command = ("evaluate", *colour_pair, "--decimate", "2", "--method", "window")
    result = run(*command)
    assert result.exit_code == 0
    row = json.loads(run(*command, "--json").stdout)[0]
    names = [("e_second", "unblurred_e_second"), ("held_out_e_second", "held_out_unblurred_e_second")]
    errors = [f"{row[error]:.4f} ({row[before]:.4f})" for error, before in names]
    for text in ("44x36", "equal", "scored", "held-out e_second", f"{row['scored_fraction']:.0%}", *errors):
        assert text in result.stdout


@pytest.mark.parametrize("options", [(), ("--method", "window", "--sharper", "first"), ("--as-stored", "-m", "paper")])
def test_evaluate_scores_the_map_of_estimate(colour_pair, tmp_path, options):
    made = run("estimate", *colour_pair, *options, "-o", tmp_path / "out")
    assert made.exit_code == 0, made.output
    result = run("evaluate", *colour_pair, *options, "--json")
    assert result.exit_code == 0, result.output
    stored = {"align": "off", "exposure": "off", "linear": False} if "--as-stored" in options else {}
    pair = prepare_pair(*colour_pair, **stored)
    wanted = evaluate_pair(pair.first, pair.second, load(tmp_path / "out" / "blur_map.npz"), held_out=False)
    (row,) = json.loads(result.stdout)
    for name, value in wanted.as_dict().items():
        if "held_out" not in name and name != "explained":
            assert row[name] == pytest.approx(value, nan_ok=True) if row[name] is not None else np.isnan(value)
    assert row["explained"] > 0.7
    notes = [line for line in made.stderr.splitlines() if line.split(":")[0] in ("light", "alignment", "exposure")]
    assert set(notes) <= set(run("evaluate", *colour_pair, *options).stderr.splitlines())


def test_the_papers_protocol_has_three_resolutions(grey_pair):
    rows = json.loads(run("evaluate", *grey_pair, "--protocol", "paper", "--method", "window", "--json").stdout)
    assert [row["decimate"] for row in rows] == [1, 2, 4]


@pytest.mark.slow
def test_as_stored_is_the_papers_setting(grey_pair, tmp_path):
    first, second = (imread(path, linear=False) for path in grey_pair)
    wanted = evaluate_pair(first, second, method="paper")
    rows = json.loads(run("evaluate", *grey_pair, "--protocol", "paper", "--decimate", "1", "--json").stdout)
    assert rows[0]["e_second"] == pytest.approx(wanted.e_second)
    result = run("estimate", *grey_pair, "--method", "paper", "--as-stored", "-o", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.output
    assert "alignment" not in result.stderr
    assert_array_equal(
        load(tmp_path / "out" / "blur_map.npz").sigma, estimate_blur(first, second, method="paper").sigma
    )
    for option in (("--align", "translation"), ("--exposure", "field"), ("--gamma", 2.2)):
        line = failed(run("estimate", *grey_pair, "--as-stored", *option, "-o", tmp_path / "no"), 2)
        assert f"leave {option[0]} out" in line
        assert f"--protocol paper takes the values in the files as they are; leave {option[0]} out" in failed(
            run("evaluate", *grey_pair, "--protocol", "paper", *option), 2
        )
