"""Many pairs in one run: pairing, failures, resuming, and being killed at any moment."""

from __future__ import annotations

import csv
import json
import os
import threading
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from relblur import Camera, load, save, synth
from relblur.apps.cli.app import app
from relblur.base.errors import FileError, InputError, OutputExistsError
from relblur.depth.defocus import defocused_pair
from relblur.report.batch import Job, find_jobs, is_batch, on_threads, run_batch

#: Reports beside the folders of the pairs.
REPORTS = ("batch.json", "contact_sheet.png", "summary.csv")
QUICK = ("--method", "window", "--no-linear", "--align", "off")


def _run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def _tree(folder):
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def _rows(path):
    with path.open(newline="") as file:
        return {row["pair"]: row for row in csv.DictReader(file)}


def _work(_first, _second, folder):
    (folder / "summary.json").write_text('{"figure": 1.5}')


@pytest.fixture
def folders(tmp_path):
    """Two folders with three pairs, which only a stand-in for the work can read."""
    for side in ("near", "far"):
        (tmp_path / side).mkdir()
        for name in "abc":
            (tmp_path / side / f"{name}.png").write_text("x")
    return tmp_path / "near", tmp_path / "far"


@pytest.fixture(scope="module")
def finished(tmp_path_factory, texture):
    """The folder of a run over three good pairs, a damaged file and a single one; the result of the command."""
    parent = tmp_path_factory.mktemp("finished")
    near, far = parent / "near", parent / "far"
    near.mkdir()
    far.mkdir()
    for number, blur_px in enumerate((0.8, 1.2, 1.6)):
        save(near / f"scene{number}.png", synth.degrade(texture, bits=8))
        save(far / f"scene{number}.png", synth.degrade(synth.blur_with_map(texture, blur_px), bits=8))
    (near / "broken.png").write_bytes((near / "scene0.png").read_bytes()[:300])
    save(far / "broken.png", np.zeros((20, 20), np.uint8))
    save(near / "alone.png", np.zeros((20, 20), np.uint8))
    (near / "notes.txt").write_text("not an image")
    return parent / "out", _run("estimate", near, far, "-o", parent / "out", *QUICK, "--json")


def test_a_bad_pair_does_not_stop_the_others_and_is_named_at_the_end(finished):
    out, result = finished
    assert result.exit_code == 3
    summary = json.loads(result.stdout)
    assert (summary["done"], summary["was done"], summary["failed"]) == (3, 0, 2)
    assert "damaged or incomplete" in summary["failures"]["broken"]
    assert "alone.png has no partner of the same name" in summary["failures"]["alone"]
    assert sorted(p.name for p in out.iterdir()) == sorted([*REPORTS, "scene0", "scene1", "scene2"])
    for number, blur_px in enumerate((0.8, 1.2, 1.6)):
        assert np.nanmedian(load(out / f"scene{number}" / "blur_map.npz").sigma) == pytest.approx(blur_px, rel=0.05)
    assert "Traceback" not in result.output


def test_the_table_has_a_row_for_every_pair_and_its_figures(finished):
    rows = _rows(finished[0] / "summary.csv")
    assert sorted(rows) == ["alone", "broken", "scene0", "scene1", "scene2"]
    assert rows["scene1"]["state"] == "done"
    assert float(rows["scene1"]["sigma_px_percentiles.50"]) == pytest.approx(1.2, rel=0.05)
    assert rows["scene1"]["settings.method"] == "window"
    assert rows["scene1"]["second"].endswith("scene1.png")
    assert "no partner" in rows["alone"]["error"]


def test_the_contact_sheet_shows_all_pairs_in_the_same_colours(finished, tmp_path, monkeypatch):
    from relblur.report import panels

    drawn = []
    monkeypatch.setattr(panels, "panels_picture", lambda _path, sheet, **_: drawn.extend(sheet))
    maps = ((f"scene{n}", load(finished[0] / f"scene{n}" / "blur_map.npz")) for n in range(3))
    panels.contact_sheet(tmp_path / "sheet.png", maps, "heading")
    assert [(panel.title, panel.kind) for panel in drawn] == [(f"scene{n}", "sigma") for n in range(3)]
    assert len({panel.scale for panel in drawn}) == 1
    assert drawn[0].scale.high > 1.5


def test_a_second_run_does_only_what_is_missing_and_whole(folders, tmp_path):
    jobs, out = find_jobs(*folders), tmp_path / "out"
    run_batch(jobs[:2], out, {"window": 9}, _work)
    before = _tree(out / "a")
    assert [each.state for each in run_batch(jobs, out, {"window": 9}, _work)] == ["was done", "was done", "done"]
    assert _tree(out / "a") == before
    assert _rows(out / "summary.csv")["a"]["figure"] == "1.5"
    (folders[0] / "a.png").write_text("changed")
    (out / "b" / "summary.json").write_text("{}")
    (out / "c" / "made_from.json").unlink()
    errors = [each.error for each in run_batch(jobs, out, {"window": 9}, _work)]
    assert "a was made from other files or with other options; add --force" in errors[0]
    assert "b is incomplete: summary.json is missing or changed; add --force" in errors[1]
    assert "c was not made by relblur" in errors[2]
    assert "--force" not in errors[2]
    assert "other options" in run_batch(jobs, out, {"window": 11}, _work)[0].error
    (out / "a" / "notes.txt").write_text("mine")
    forced = run_batch(jobs, out, {"window": 11}, _work, force=True)
    assert [each.state for each in forced] == ["failed", "done", "failed"]
    assert "a holds notes.txt, not made by relblur" in forced[0].error
    assert (out / "a" / "notes.txt").read_text() == "mine"


def test_patterns_pair_by_what_the_star_stands_for(tmp_path):
    for name in ("a_near", "a_far", "b_near", "b_far"):
        (tmp_path / f"{name}.png").touch()
    patterns = (tmp_path / "*_near.png", tmp_path / "*_far.png")
    assert is_batch(*patterns)
    assert [(job.name, job.second.name) for job in find_jobs(*patterns)] == [("a", "a_far.png"), ("b", "b_far.png")]


def test_what_cannot_be_paired_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare").mkdir()
    with pytest.raises(InputError, match="no pair of images in common"):
        find_jobs(tmp_path / "empty", tmp_path / "bare")
    with pytest.raises(InputError, match="must have one star"):
        find_jobs(tmp_path / "*_*.png", tmp_path / "*.png")
    with pytest.raises(FileError, match="there is no folder"):
        find_jobs(tmp_path / "nowhere" / "*.png", tmp_path / "*.png")
    for suffix in ("png", "tif"):
        (tmp_path / "empty" / f"a.{suffix}").touch()
    with pytest.raises(InputError, match="have the same name"):
        find_jobs(tmp_path / "empty", tmp_path / "bare")
    assert _run("estimate", tmp_path / "*.png", tmp_path / "b.png", "-o", tmp_path / "x").exit_code == 3
    assert "--jobs" in _run("estimate", tmp_path, tmp_path, "-o", tmp_path / "x", "--jobs", 0).stderr


def test_an_unexpected_error_is_a_failure_of_its_pair_only(folders, tmp_path):
    def work(first, _second, folder):
        (folder / "half").write_text("half")
        if first.name != "c.png":
            raise ZeroDivisionError("by\nzero") if first.name == "a.png" else MemoryError

    outcomes = run_batch(find_jobs(*folders), tmp_path / "out", {}, work)
    assert outcomes[0].error == "unexpected ZeroDivisionError: by zero"
    assert "not enough memory" in outcomes[1].error
    assert outcomes[2].state == "done"
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["batch.json", "c", "summary.csv"]


def _jobs(home, *names):
    """Jobs of files in home/shots, called NAME_near.png and NAME_far.png, and something precious beside them."""
    for folder in ("shots", "precious"):
        (home / folder).mkdir()
    (home / "precious" / "thesis.txt").write_text("mine")
    for name in names:
        for side in ("near", "far"):
            (home / "shots" / f"{name}_{side}.png").write_text("x")
    return find_jobs(home / "shots" / "*_near.png", home / "shots" / "*_far.png")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_name_may_break_lines_and_is_no_formula(tmp_path):
    run_batch(_jobs(tmp_path, "a\nb", "=1+1"), tmp_path / "out", {}, _work)
    assert sorted(_rows(tmp_path / "out" / "summary.csv")) == ["'=1+1", "a\nb"]


def test_a_pair_called_like_a_way_out_of_the_folder_is_refused_and_the_others_are_done(tmp_path):
    jobs = _jobs(tmp_path, "..", ".", "batch.json", "Summary.csv", "good")
    before = _tree(tmp_path)
    outcomes = {each.name: each for each in run_batch(jobs, tmp_path / "out", {}, _work, force=True)}
    assert outcomes.pop("good").state == "done"
    for name, outcome in outcomes.items():
        assert outcome.error == f"a folder of results cannot have the name {name!r}; rename both files of this pair"
    assert before.items() <= _tree(tmp_path).items()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["batch.json", "good", "summary.csv"]


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_that_relblur_did_not_make_is_never_replaced(tmp_path, force):
    """The folder of an input, a user's folder, and a link to one, under the name of a pair."""
    jobs = _jobs(tmp_path, "shots", "precious", "link")
    (tmp_path / "link").symlink_to("precious")
    before = _tree(tmp_path)
    outcomes = run_batch(jobs, tmp_path, {}, _work, force=force)
    assert {each.state for each in outcomes} == {"failed"}
    assert not any("--force" in each.error for each in outcomes)
    assert before.items() <= _tree(tmp_path).items()
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("kept", ["camera file", "image of another pair", "image of the pair"])
def test_an_input_is_not_replaced_with_a_folder_of_results(tmp_path, kept):
    out, images = tmp_path / "out", [tmp_path / name for name in ("a1", "a2", "b1", "b2")]
    for path in images:
        path.write_text("x")
    jobs = [Job("a", *images[:2]), Job("b", *images[2:])]
    run_batch(jobs, out, {}, _work)
    inside = out / "a" / "summary.json"
    inside.write_text("mine")
    again = {
        "camera file": jobs,
        "image of another pair": [jobs[0], Job("b", inside, images[3])],
        "image of the pair": [Job("a", inside, images[1]), jobs[1]],
    }
    outcomes = run_batch(again[kept], out, {}, _work, reads=[inside] if kept == "camera file" else (), force=True)
    assert [outcome.state for outcome in outcomes] == ["failed", "done"]
    assert "contains a file that this command reads" in outcomes[0].error
    assert inside.read_text() == "mine"
    with pytest.raises(InputError, match="two pairs have the name 'a'"):
        run_batch([jobs[0], jobs[0]], out, {}, _work)
    with pytest.raises(OutputExistsError, match=r"summary\.csv is also read"):
        run_batch([Job("a", tmp_path / "new" / "summary.csv", images[0])], tmp_path / "new", {}, _work, force=True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", [*REPORTS, "report.html"])
def test_a_file_of_the_name_of_a_report_is_not_replaced(folders, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text('{"mine": 1}')
    with pytest.raises(OutputExistsError, match=f"{name} exists and is not from relblur"):
        run_batch(find_jobs(*folders), out, {}, _work, force=True)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [(name, '{"mine": 1}')]


def test_workers_work_at_the_same_time(tmp_path):
    """Each of two pairs waits for the other to have begun."""
    meeting = threading.Barrier(2, timeout=20)
    (tmp_path / "a.png").write_text("x")
    jobs = [Job(name, tmp_path / "a.png", tmp_path / "a.png") for name in ("one", "two")]
    run = partial(on_threads, threads=2)
    outcomes = run_batch(jobs, tmp_path / "out", {}, lambda *_: meeting.wait(), run=run)
    assert [each.state for each in outcomes] == ["done", "done"]


@pytest.mark.slow
def test_folders_for_depth_and_evaluate(tmp_path, texture):
    camera = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
    camera.save(tmp_path / "cam.toml")
    for name, z in (("a", 1.2), ("b", 1.6)):
        for end, image in zip(("near", "far"), defocused_pair(texture, z, camera), strict=True):
            save(tmp_path / f"{name}_{end}.png", synth.degrade(image, bits=16))
    patterns = (tmp_path / "*_near.png", tmp_path / "*_far.png")
    arguments = ("depth", *patterns, "-c", tmp_path / "cam.toml", "-o", tmp_path / "out")
    result = _run(*arguments, "--jobs", 2)
    assert result.exit_code == 0, result.output
    rows = _rows(tmp_path / "out" / "summary.csv")
    assert float(rows["a"]["depth_m_percentiles.50"]) == pytest.approx(1.2, rel=0.01)
    assert float(rows["b"]["depth_m_percentiles.50"]) == pytest.approx(1.6, rel=0.01)
    assert "a: was done" in _run(*arguments).stderr
    camera.with_circles(1.1).save(tmp_path / "cam.toml")
    assert "with other options" in _run(*arguments).stderr
    common = ("evaluate", *patterns, "--decimate", "1", "-m", "window", "--align", "off")
    assert "--output" in _run(*common).stderr
    assert json.loads(_run(*common, "-o", tmp_path / "scores", "--json").stdout)["done"] == 2
    assert float(_rows(tmp_path / "scores" / "summary.csv")["a"]["decimate_1.e_second"]) < 0.05
    assert not (tmp_path / "scores" / "contact_sheet.png").exists()  # a score has no map
