"""Parts, pairs and files of a run of ``relblur reproduce``."""

from __future__ import annotations

from pathlib import Path

import pytest

from paper_sets import make_data_set
from relblur.apps.paper import run
from relblur.apps.paper.claims import Section
from relblur.base.errors import InputError, OutputExistsError

MAKERS = ("show_lens", "show_framework", "show_evaluation", "show_architecture", "show_pair", "show_ramps")


class Row:
    """A row of a table."""

    def as_dict(self):
        return {"pair": "x"}


@pytest.fixture
def parts_of(monkeypatch):
    """Every part of the page replaced by a section of its maker's name; the calls."""
    calls = []

    def stub(name):
        def called(*arguments):
            calls.append((name, *(argument for argument in arguments if not isinstance(argument, Path))))
            return Section(name, name, "", "")

        monkeypatch.setattr(run, name, called)

    for name in (*MAKERS, "show_table"):
        stub(name)
    monkeypatch.setattr(run, "make_ramps", lambda ramp: ([], None))
    monkeypatch.setattr(run, "load_ramps", lambda images: ["upper", "lower"])
    monkeypatch.setattr(run, "rows_of", lambda files, method: [Row()])
    monkeypatch.setattr(run, "shown_pair", lambda files, method: f"{files.data_set} {files.name} by {method}")
    return calls


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    make_data_set(folder / "realmff", "realmff", pairs=3, shape=(16, 20))
    make_data_set(folder / "dpdd", "dpdd", pairs=2, shape=(16, 20))
    return folder


def test_every_part_is_made_in_the_order_of_the_page(tmp_path, parts_of, data):
    shares = []
    done = run.reproduce(tmp_path / "out", run.Study(data, pairs=("002",), method="window"), progress=shares.append)
    order = ["show_ramps", "show_lens", "show_framework", "show_evaluation", "show_architecture"]
    assert [section.key for section in done.sections] == [*order, "show_table", "show_pair", "show_pair"]
    assert parts_of[0] == ("show_ramps", ["upper", "lower"], [([], None), ([], None)])
    assert parts_of[2:5] == [
        ("show_framework", "upper"),
        ("show_evaluation", "upper"),
        ("show_architecture", "realmff 002 by window"),
    ]
    assert [call[1].split()[0] for call in parts_of[6:]] == ["realmff", "dpdd"]
    assert len(done.table) == 5
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert [line.split(":")[0] for line in done.made_from] == ["Real MFF", "DPDD"]


@pytest.mark.parametrize(("limit", "count"), [(None, 5), (2, 4), (1, 2)])
def test_a_limit_counts_for_each_data_set(tmp_path, parts_of, data, limit, count):
    assert len(run.reproduce(tmp_path / "out", run.Study(data, limit=limit), ("table1",)).table) == count


def test_parts_without_their_data_set_are_left_out_or_refused_by_name(tmp_path, parts_of, data):
    done = run.reproduce(tmp_path / "out", run.Study())
    assert [section.key for section in done.sections] == [
        "show_ramps",
        "show_lens",
        "show_framework",
        "show_evaluation",
    ]
    assert done.made_from == ["left out, without their data set (--data): fig5, table1, fig6, fig7"]
    only = run.reproduce(tmp_path / "one", run.Study(data / "dpdd"))
    assert only.made_from[1].endswith("(--data): fig5, fig6")
    with pytest.raises(InputError, match="fig5 needs Real MFF; add --data DIR"):
        run.reproduce(tmp_path / "two", run.Study(data / "dpdd"), ("fig5",))
    assert not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    ("arguments", "only", "message"),
    [
        ({}, ("fig1", "fig9", "fig0"), "got fig9, fig0"),
        ({}, (), "got nothing"),
        ({"images": 3 * [Path("a")]}, None, r"one or two photographs .* got 3"),
        ({"pairs": ("a",)}, ("fig2",), "no pair has this name; there are none without --data"),
        ({"method": "guess"}, ("fig2",), "method"),
    ],
)
def test_wrong_arguments_are_refused_before_the_work(tmp_path, parts_of, arguments, only, message):
    with pytest.raises(InputError, match=message):
        run.reproduce(tmp_path / "out", run.Study(**arguments), only)
    assert not (tmp_path / "out").exists()
    assert parts_of == []


def test_nothing_is_replaced_unasked_and_no_input_ever(tmp_path, parts_of):
    out = tmp_path / "out"
    run.reproduce(out, run.Study(), ("fig2",))
    with pytest.raises(OutputExistsError, match="--force"):
        run.reproduce(out, run.Study(), ("fig2",))
    run.reproduce(out, run.Study(), ("fig2",), force=True)
    image = tmp_path / "fig2.png"
    image.write_bytes(b"mine")
    with pytest.raises(OutputExistsError, match=r"fig2\.png"):
        run.reproduce(tmp_path, run.Study(images=(image,)), ("fig2",), force=True)
    assert image.read_bytes() == b"mine"


def test_a_whole_run_writes_its_page_and_tables(tmp_path):
    make_data_set(tmp_path / "realmff", "realmff", shape=(16, 20))
    done = run.reproduce(tmp_path / "out", run.Study(tmp_path / "realmff", method="window"), ("fig2", "table1"))
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["fig2.png", "paper.html", "table1.csv"]
    assert list(done.as_dict()["claims"]) == ["fig2"]
    assert len(done.as_dict()["table1"]) == 1
