"""Which parts of the paper a run makes, from which pairs, what it tells meanwhile, and what it writes."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import pytest

from relblur.apps.paper import run
from relblur.apps.paper.data_sets import DATA_SETS, FoundSet, PairFiles
from relblur.apps.paper.ramps import FILES as FIG1_FILES
from relblur.apps.paper.sections import Section
from relblur.base.errors import InputError, OutputExistsError


def found_set(data_set, *names, folder="."):
    pairs = [PairFiles(data_set, name, Path(f"{name}_f.png"), Path(f"{name}_b.png")) for name in names]
    return FoundSet(data_set, "flat", Path(folder), tuple(pairs))


def test_parts_come_in_the_order_of_the_page():
    assert run.Wanted(("fig7", "table1", "fig1")).parts() == ["fig1", "table1", "fig7"]
    assert run.Wanted().parts() == list(run.PARTS)
    assert run.Wanted(("fig1",), images=(Path("a"), Path("b"))).parts() == ["fig1"]
    with pytest.raises(InputError, match="got fig9, fig0"):
        run.Wanted(("fig1", "fig9", "fig0")).parts()
    with pytest.raises(InputError, match="got nothing"):
        run.Wanted(()).parts()
    with pytest.raises(InputError, match=r"one or two photographs .* got 3"):
        run.Wanted(images=(Path("a"), Path("b"), Path("c"))).parts()


@pytest.mark.parametrize(
    ("parts", "sets"),
    [
        (("fig1", "fig2", "fig3", "fig4"), ()),
        (("fig5", "fig6"), ("realmff",)),
        (("fig7",), ("dpdd",)),
        (("fig6", "fig7"), ("realmff", "dpdd")),
        (("table1",), tuple(DATA_SETS)),
    ],
)
def test_only_the_data_sets_that_are_needed_are_wanted(parts, sets):
    assert run._needed_sets(parts) == sets


def test_the_first_place_of_a_data_set_counts():
    one, two, other = found_set("dpdd", "a"), found_set("dpdd", "b"), found_set("realmff", "c")
    assert run._by_data_set([one, two, other]) == {"dpdd": one, "realmff": other}


def test_the_pair_that_is_shown_is_the_first_or_the_named_one():
    sets = {"realmff": found_set("realmff", "a", "b", "c", "d"), "dpdd": found_set("dpdd", "e", "f")}

    def chosen(*names, **how):
        return {data_set: pair.name for data_set, pair in run._choose_pairs(sets, names, **how).items()}

    assert chosen() == {"realmff": "a", "dpdd": "e"}
    assert chosen("c", "f") == {"realmff": "c", "dpdd": "f"}
    assert chosen("z", strict=False) == chosen()
    with pytest.raises(InputError, match=r"--pair z: .* there are a, b, c, e, f \.\.\."):
        chosen("b", "z")
    with pytest.raises(InputError, match="none without --data"):
        run._choose_pairs({}, ("z",))


def test_files_are_named_before_they_are_made():
    names = run._file_names(["fig1", "fig2", "table1"])
    assert names == ["paper.html", *FIG1_FILES, "fig2.png", "table1.csv"]


def test_a_table_without_rows_is_no_file(tmp_path):
    run._write_csv(tmp_path / "none.csv", [])
    assert not (tmp_path / "none.csv").exists()
    run._write_csv(tmp_path / "two.csv", [{"x": 1, "y": "a,b"}, {"x": 2, "y": ""}])
    with (tmp_path / "two.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["x", "y"], ["1", "a,b"], ["2", ""]]


def test_a_data_set_says_where_it_lies():
    assert found_set("dpdd", "a", "b", folder="there").describe() == "DPDD: 2 pairs in there (flat)"


@dataclass
class Row:
    """What a table has of a pair."""

    pair: str

    def as_dict(self):
        return {"pair": self.pair}


@pytest.fixture
def parts_of(monkeypatch):
    """Every part of the page replaced by a section that says what it was called with; the calls."""
    calls = []

    def stub(name, *extra):
        def called(*arguments):
            calls.append((name, *(argument for argument in arguments if not isinstance(argument, Path))))
            return extra[0] if extra else Section(name, name, "", "")

        monkeypatch.setattr(run, name, called)

    for name in ("show_lens", "show_framework", "show_evaluation", "show_architecture", "show_pair", "show_ramps"):
        stub(name)
    stub("show_table")
    stub("make_ramps", ([], None))
    monkeypatch.setattr(run, "load_ramps", lambda images: ["upper", "lower"])
    monkeypatch.setattr(run, "rows_of", lambda files, method: [Row(f"{files.name} by {method}")])
    monkeypatch.setattr(run, "means", lambda table: table)
    monkeypatch.setattr(run, "shown_pair", lambda files, method: Shown(f"{files.name} by {method}"))
    return calls


@dataclass
class Shown:
    """A pair with its map, of which only the title is looked at."""

    title: str
    pair: str = "pair"
    blur_map: str = "map"
    score: str = "score"


def study(tmp_path, **wanted):
    sets = {"realmff": found_set("realmff", "a", "b", "c"), "dpdd": found_set("dpdd", "d", "e")}
    shown = run._choose_pairs(sets, ("b",))
    return run._Study(tmp_path, "window", run.Wanted(**wanted), sets, shown)


def test_every_part_is_made_by_its_own_function(tmp_path, parts_of):
    made, ignore = study(tmp_path), (lambda share: None)
    keys = [made.section(part, ignore).key for part in ("fig2", "fig3", "fig4", "fig5", "fig6", "fig7")]
    assert keys == ["show_lens", "show_framework", "show_evaluation", "show_architecture", "show_pair", "show_pair"]
    assert parts_of[1:3] == [("show_framework", "upper"), ("show_evaluation", "upper")]
    assert parts_of[3] == ("show_architecture", "b by window", "pair", "map", "score")
    assert [call[1].title for call in parts_of[4:]] == ["b by window", "d by window"]


def test_fig_1_has_both_ramps_and_tells_after_each(tmp_path, parts_of):
    shares = []
    study(tmp_path).section("fig1", shares.append)
    assert shares == [0.5, 1.0]
    assert parts_of[-1] == ("show_ramps", ["upper", "lower"], [([], None), ([], None)])


@pytest.mark.parametrize(("limit", "names"), [(None, "abcde"), (2, "abde"), (1, "ad")])
def test_the_table_has_so_many_pairs_of_each_data_set(tmp_path, parts_of, limit, names):
    made, shares = study(tmp_path, limit=limit), []
    made.section("table1", shares.append)
    assert [row.pair for row in made.table] == [f"{name} by window" for name in names]
    assert shares == pytest.approx([(place + 1) / len(names) for place in range(len(names))])


def test_a_run_writes_its_pages_and_tells_how_far_it_is(tmp_path, parts_of):
    shares = []
    out = tmp_path / "out"
    done = run.reproduce(out, None, run.Wanted(("fig2", "fig1", "fig4")), progress=shares.append)
    assert shares == pytest.approx([1 / 6, 1 / 3, 1 / 3, 2 / 3, 1.0])
    assert sorted(path.name for path in out.iterdir()) == ["paper.html"]
    assert [section.key for section in done.sections] == ["show_ramps", "show_lens", "show_evaluation"]
    assert list(done.as_dict()["claims"]) == []
    assert done.made_from == []
    with pytest.raises(OutputExistsError, match="--force"):
        run.reproduce(out, None, run.Wanted(("fig2",)))
    run.reproduce(out, None, run.Wanted(("fig2",)), force=True)
    with pytest.raises(InputError, match="no pair has this name"):
        run.reproduce(tmp_path / "other", None, run.Wanted(("fig2",), pairs=("a",)))
    with pytest.raises(InputError, match="method"):
        run.reproduce(tmp_path / "other", None, run.Wanted(("fig2",)), method="guess")
    assert not (tmp_path / "other").exists()


def test_a_photograph_is_not_replaced_by_a_figure_of_its_name(tmp_path, parts_of):
    image = tmp_path / "fig2.png"
    image.write_bytes(b"mine")
    with pytest.raises(OutputExistsError, match=r"fig2\.png"):
        run.reproduce(tmp_path, None, run.Wanted(("fig2",), images=(image,)), force=True)
    assert image.read_bytes() == b"mine"
    run.reproduce(tmp_path / "out", None, run.Wanted(("fig2",), images=(image,)))


def test_what_is_not_given_is_made_and_what_is_given_is_taken(tmp_path, parts_of, monkeypatch):
    given = found_set("realmff", "a")
    missing = []

    def make(folder, name):
        missing.append(name)
        return found_set(name, "made")

    monkeypatch.setattr(run, "find_data_sets", lambda data: [given])
    monkeypatch.setattr(run, "make_stand_in", make)
    done = run.reproduce(tmp_path / "out", tmp_path, run.Wanted(("table1",)))
    assert missing == ["dpdd"]
    assert sorted(row.pair for row in done.table) == ["a by paper", "made by paper"]
    assert (tmp_path / "out" / "table1.csv").read_text().splitlines()[0] == "pair"
