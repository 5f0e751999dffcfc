"""Parts, pairs and files of ``relblur paper reproduce``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import failed, run
from paper_sets import make_data_set
from relblur.apps.paper.claims import Section
from relblur.apps.paper.run import Inputs, reproduce
from relblur.base.errors import InputError, OutputExistsError

MAKERS = ("lens", "framework", "evaluation", "architecture", "pair", "ramps", "table")


@pytest.fixture
def calls(monkeypatch):
    """Every part of the page replaced by a section of its maker's name; the calls."""
    made = []
    for name in (f"show_{each}" for each in MAKERS):

        def make(*arguments, name=name):
            made.append((name, arguments[1] if len(arguments) > 1 else None))
            return Section(name, name, "", "")

        monkeypatch.setattr(f"relblur.apps.paper.run.{name}", make)
    monkeypatch.setattr("relblur.apps.paper.run.load_ramps", lambda images: ["upper", "lower"])
    monkeypatch.setattr("relblur.apps.paper.run.shown_pair", lambda files: f"{files.data_set} {files.name}")
    return made


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    make_data_set(folder / "realmff", "realmff", pairs=3, shape=(16, 20))
    make_data_set(folder / "dpdd", "dpdd", pairs=2, shape=(16, 20))
    return folder


def test_every_part_is_made_in_the_order_of_the_page(tmp_path, calls, data):
    shares = []
    sections, notes = reproduce(tmp_path / "out", Inputs(data, names=("002",)), progress=shares.append)
    order = ["show_ramps", "show_lens", "show_framework", "show_evaluation", "show_architecture", "show_table"]
    assert [section.key for section in sections] == [*order, "show_pair", "show_pair"]
    assert calls[0] == ("show_ramps", ["upper", "lower"])
    assert calls[4] == ("show_architecture", "realmff 002")
    assert [shown for _, shown in calls[6:]] == ["realmff 002", "dpdd 1P0A0001"]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert sorted(notes) == ["DPDD: 2 pairs", "Real MFF: 3 pairs"]


def test_parts_without_their_data_set_are_left_out_or_refused_by_name(tmp_path, calls, data):
    sections, notes = reproduce(tmp_path / "out", Inputs())
    assert len(sections) == 4
    assert notes == ["left out, without their data set (--data): fig5, table1, fig6, fig7"]
    with pytest.raises(InputError, match="fig5 needs Real MFF; add --data DIR"):
        reproduce(tmp_path / "two", Inputs(data / "dpdd"), ("fig5",))
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    ("arguments", "only", "message"),
    [
        ({}, ("fig1", "fig9"), "got fig9"),
        ({}, (), "got nothing"),
        ({"images": 3 * [Path("a")]}, None, r"one or two photographs .* got 3"),
        ({"names": ("a",)}, ("fig2",), "no pair is named a; there are none without --data"),
    ],
)
def test_wrong_arguments_are_refused_before_the_work(tmp_path, calls, arguments, only, message):
    with pytest.raises(InputError, match=message):
        reproduce(tmp_path / "out", Inputs(**arguments), only)
    assert not (tmp_path / "out").exists()
    assert calls == []


def test_no_input_is_replaced(tmp_path, calls):
    image = tmp_path / "fig2.png"
    image.write_bytes(b"mine")
    with pytest.raises(OutputExistsError, match=r"fig2\.png"):
        reproduce(tmp_path, Inputs(images=(image,)), ("fig2",), force=True)
    assert image.read_bytes() == b"mine"


@pytest.mark.slow
def test_the_command_writes_the_page_and_the_tables_and_prints_the_numbers(tmp_path):
    make_data_set(tmp_path / "data", "realmff", shape=(64, 80))
    command = ("paper", "reproduce", "--data", tmp_path / "data", "--only", "table1, fig2", "-o", tmp_path / "out")
    result = run(*command, "--json")
    assert result.exit_code == 0, result.output
    assert "Real MFF: 1 pair" in result.stderr
    found = json.loads(result.stdout)
    assert [row["resolution"] for row in found["table1"]["rows"]] == ["80x64", "40x32", "20x16"]
    assert {"fig2.png", "paper.html", "table1.csv"} == {path.name for path in (tmp_path / "out").iterdir()}
    table = run(*command, "--force").stdout
    for text in ("held-out e_B", "20x16", "0.025", "32.1 px"):
        assert text in table
    assert "paper.html and 2 more would be replaced" in failed(run(*command), 2)
