"""Many pairs in one run: pairing, failures, resuming, and being killed at any moment."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from relblur import Camera, load, save, synth
from relblur.apps.cli.app import app
from relblur.base.errors import FileError, InputError, OutputExistsError
from relblur.depth.defocus import defocused_pair
from relblur.report.batch import Job, find_jobs, is_batch, on_threads, run_batch

#: What stands beside the folders of the pairs.
REPORTS = ("batch.json", "contact_sheet.png", "summary.csv")
QUICK = ("--method", "window", "--no-linear", "--align", "off")


def _run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def folders(tmp_path, texture):
    """Two folders with three good pairs, one damaged file and one file without a partner."""
    return _make_folders(tmp_path, texture)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, texture):
    """The same, the folder of a run over them, and its result; read-only."""
    folder = tmp_path_factory.mktemp("finished")
    pairs = _make_folders(folder, texture)
    return pairs, folder / "out", _run("estimate", *pairs, "-o", folder / "out", *QUICK, "--json")


@pytest.fixture
def copied(finished, tmp_path):
    """The two folders and a copy of the results, which may be changed."""
    return finished[0], shutil.copytree(finished[1], tmp_path / "out")


def _make_folders(parent, texture):
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
    return near, far


def _tree(folder):
    return {str(p.relative_to(folder)): p.stat().st_mtime_ns for p in sorted(folder.rglob("*")) if p.is_file()}


def test_a_bad_pair_does_not_stop_the_others_and_is_named_at_the_end(finished):
    _, out, result = finished
    assert result.exit_code == 3
    summary = json.loads(result.stdout)
    assert (summary["done"], summary["was done"], summary["failed"]) == (3, 0, 2)
    assert "damaged or incomplete" in summary["failures"]["broken"]
    assert "alone.png has no partner of the same name" in summary["failures"]["alone"]
    assert sorted(p.name for p in out.iterdir()) == sorted([*REPORTS, "scene0", "scene1", "scene2"])
    for number, blur_px in enumerate((0.8, 1.2, 1.6)):
        found = load(out / f"scene{number}" / "blur_map.npz")
        assert np.nanmedian(found.sigma) == pytest.approx(blur_px, rel=0.05)
    assert "Traceback" not in result.output
    report = json.loads((out / "batch.json").read_text())
    assert [each["state"] for each in report["pairs"]].count("failed") == 2


@pytest.mark.slow
def test_a_second_run_does_only_what_is_missing(folders, tmp_path):
    out = tmp_path / "out"
    _run("estimate", *folders, "-o", out, *QUICK)
    before = _tree(out)
    (folders[0] / "broken.png").write_bytes((folders[0] / "scene0.png").read_bytes())
    (folders[1] / "broken.png").write_bytes((folders[1] / "scene2.png").read_bytes())
    (folders[0] / "alone.png").unlink()
    result = _run("estimate", *folders, "-o", out, *QUICK)
    assert result.exit_code == 0
    assert "broken: done" in result.stderr
    assert "scene1: was done" in result.stderr
    after = _tree(out)
    assert {name: when for name, when in after.items() if name in before and name not in REPORTS} == {
        name: when for name, when in before.items() if name not in REPORTS
    }
    assert "broken/blur_map.npz" in after


@pytest.mark.slow
def test_other_options_or_files_are_not_taken_for_done(folders, tmp_path):
    out = tmp_path / "out"
    _run("estimate", *folders, "-o", out, *QUICK)
    result = _run("estimate", *folders, "-o", out, *QUICK, "--window", 11, "--json")
    assert result.exit_code == 3
    assert "with other options; add --force" in json.loads(result.stdout)["failures"]["scene0"]
    forced = _run("estimate", *folders, "-o", out, *QUICK, "--window", 11, "--json", "--force")
    assert json.loads(forced.stdout)["done"] == 3
    assert load(out / "scene0" / "blur_map.npz").settings["window"] == 11
    save(folders[0] / "scene1.png", np.zeros((20, 20), np.uint8))
    changed = _run("estimate", *folders, "-o", out, *QUICK, "--window", 11, "--json")
    assert "made from other files" in json.loads(changed.stdout)["failures"]["scene1"]
    (out / "scene2" / "made_from.json").unlink()
    foreign = _run("estimate", *folders, "-o", out, *QUICK, "--window", 11, "--json")
    refusal = json.loads(foreign.stdout)["failures"]["scene2"]
    assert "was not made by relblur" in refusal
    assert "--force" not in refusal


def test_patterns_pair_by_what_the_star_stands_for(tmp_path, texture):
    for name in ("a", "b"):
        save(tmp_path / f"{name}_near.png", synth.degrade(texture, bits=8))
        save(tmp_path / f"{name}_far.png", synth.degrade(synth.blur_with_map(texture, 1.5), bits=8))
    patterns = (tmp_path / "*_near.png", tmp_path / "*_far.png")
    assert is_batch(*patterns)
    assert [job.name for job in find_jobs(*patterns)] == ["a", "b"]
    result = _run("estimate", *patterns, "-o", tmp_path / "out", *QUICK)
    assert result.exit_code == 0
    assert (tmp_path / "out" / "a" / "overview.png").exists()


def test_what_cannot_be_paired_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare").mkdir()
    with pytest.raises(InputError, match="no pair of images in common"):
        find_jobs(tmp_path / "empty", tmp_path / "bare")
    with pytest.raises(InputError, match="must have one star"):
        find_jobs(tmp_path / "*_*.png", tmp_path / "*.png")
    with pytest.raises(FileError, match="there is no folder"):
        find_jobs(tmp_path / "nowhere" / "*.png", tmp_path / "*.png")
    save(tmp_path / "empty" / "a.png", np.zeros((20, 20), np.uint8))
    save(tmp_path / "empty" / "a.tif", np.zeros((20, 20), np.uint8))
    with pytest.raises(InputError, match="have one name"):
        find_jobs(tmp_path / "empty", tmp_path / "bare")
    assert _run("estimate", tmp_path / "*.png", tmp_path / "b.png", "-o", tmp_path / "x").exit_code == 3


def test_an_unexpected_error_is_a_failure_of_its_pair_only(folders, tmp_path):
    def work(first, _second, folder):
        (folder / "half").write_text("half")
        if "scene1" in first.name:
            raise ZeroDivisionError("by\nzero")
        if "scene2" in first.name:
            raise MemoryError

    out = tmp_path / "out"
    outcomes = {each.name: each for each in run_batch(find_jobs(*folders), out, {}, work)}
    assert outcomes["scene1"].error == "unexpected ZeroDivisionError: by zero"
    assert "not enough memory" in outcomes["scene2"].error
    assert outcomes["scene0"].state == "done"
    assert sorted(p.name for p in out.iterdir()) == ["batch.json", "broken", "scene0", "summary.csv"]


KILLED = """
import sys, time
from pathlib import Path
from relblur.report.batch import Job, find_jobs, run_batch
near, far, out = map(Path, sys.argv[1:])
def work(first, second, folder):
    for part in range(20):
        (folder / str(part)).write_text("x" * 1000)
        time.sleep(0.005)
run_batch(find_jobs(near, far), out, {}, work)
"""


@pytest.mark.slow
def test_killed_at_any_moment_nothing_is_lost_and_nothing_is_half_done(tmp_path):
    near, far, out = (tmp_path / name for name in ("near", "far", "out"))
    for folder in (near, far):
        folder.mkdir()
        for number in range(8):
            (folder / f"{number}.png").write_text("x")
    command = [sys.executable, "-c", KILLED, str(near), str(far), str(out)]
    finished: set[str] = set()
    for kill in range(40):
        process = subprocess.Popen(command)
        deadline = time.monotonic() + 20
        # Let it do a pair or two, then kill it at a moment that differs each time.
        while process.poll() is None and time.monotonic() < deadline:
            if out.is_dir() and len(_visible(out) - finished) >= 1:
                time.sleep(0.013 * (kill % 7))
                break
            time.sleep(0.002)
        if process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        now = _visible(out)
        assert finished <= now  # nothing finished was lost
        for name in now:
            assert len(list((out / name).iterdir())) == 21  # whole, with made_from.json
            assert all((out / name / str(part)).stat().st_size == 1000 for part in range(20))
        finished = now
        if len(finished) == 8:
            break
    assert len(finished) == 8
    subprocess.run(command, check=True)
    assert sorted(p.name for p in out.iterdir()) == sorted(
        [*map(str, range(8)), "batch.json", "summary.csv"]
    )  # no remains


def _visible(folder):
    return {p.name for p in folder.iterdir() if not p.name.startswith(".") and p.is_dir()}


def _pictures(home, texture, *names):
    """Pairs of pictures in home/shots, called NAME_near.png and NAME_far.png, and something precious beside them."""
    (home / "shots").mkdir()
    (home / "precious").mkdir()
    (home / "precious" / "thesis.txt").write_text("mine")
    for name in names:
        save(home / "shots" / f"{name}_near.png", synth.degrade(texture, bits=8))
        save(home / "shots" / f"{name}_far.png", synth.degrade(synth.blur_with_map(texture, 1.2), bits=8))
    return "shots/*_near.png", "shots/*_far.png"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_a_name_may_break_lines_and_is_no_formula(tmp_path, texture, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = _run("estimate", *_pictures(tmp_path, texture, "a\nb", "=1+1"), "-o", "out", *QUICK)
    assert result.exit_code == 0, result.output
    with open("out/summary.csv", newline="") as stream:
        assert [row["pair"] for row in csv.DictReader(stream)] == ["'=1+1", "a\nb"]


def test_a_pair_called_like_a_way_out_of_the_folder_is_refused_and_the_others_are_done(tmp_path, texture, monkeypatch):
    monkeypatch.chdir(tmp_path)
    patterns = _pictures(tmp_path, texture, "..", ".", "batch.json", "Summary.csv", "good")
    before = _tree(tmp_path)
    result = _run("estimate", *patterns, "-o", "out", *QUICK, "--force", "--json")
    assert result.exit_code == 3
    summary = json.loads(result.stdout)
    assert (summary["done"], summary["failed"]) == (1, 4)
    for name in ("..", ".", "batch.json", "Summary.csv"):
        assert summary["failures"][name] == (
            f"a folder of results cannot be called {name!r}; rename both files of this pair"
        )
    after = _tree(tmp_path)
    assert before.items() <= after.items()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == sorted([*REPORTS, "good"])


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_that_relblur_did_not_make_is_never_replaced(tmp_path, texture, monkeypatch, force):
    """The folder of an input, a user's folder, and a link to one, under the name of a pair."""
    monkeypatch.chdir(tmp_path)
    patterns = _pictures(tmp_path, texture, "shots", "precious", "link")
    (tmp_path / "link").symlink_to("precious")
    before = _tree(tmp_path)
    result = _run("estimate", *patterns, "-o", ".", *QUICK, *["--force"] * force, "--json")
    failures = json.loads(result.stdout)["failures"]
    assert set(failures) == {"shots", "precious", "link"}
    assert not any("--force" in failure for failure in failures.values())
    assert before.items() <= _tree(tmp_path).items()
    assert (tmp_path / "link").is_symlink()


@pytest.mark.slow
def test_a_users_file_among_the_results_is_kept(folders, tmp_path):
    out = tmp_path / "out"
    _run("estimate", *folders, "-o", out, *QUICK)
    (out / "scene0" / "notes.txt").write_text("mine")
    assert "scene0: was done" in _run("estimate", *folders, "-o", out, *QUICK).stderr
    forced = _run("estimate", *folders, "-o", out, *QUICK, "--force", "--json")
    assert "scene0 holds notes.txt, not made by relblur" in json.loads(forced.stdout)["failures"]["scene0"]
    assert json.loads(forced.stdout)["done"] == 2
    assert (out / "scene0" / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("kept", ["camera file", "image of another pair", "image of the pair"])
def test_an_input_is_not_replaced_with_a_folder_of_results(tmp_path, kept):
    out, images = tmp_path / "out", [tmp_path / name for name in ("a1", "a2", "b1", "b2")]
    for path in images:
        path.write_text("x")

    def work(_first, _second, folder):
        (folder / "camera.toml").write_text("x")

    jobs = [Job("a", *images[:2]), Job("b", *images[2:])]
    run_batch(jobs, out, {}, work)
    inside = out / "a" / "camera.toml"
    inside.write_text("mine")
    again = {
        "camera file": jobs,
        "image of another pair": [jobs[0], Job("b", inside, images[3])],
        "image of the pair": [Job("a", inside, images[1]), jobs[1]],
    }
    outcomes = run_batch(again[kept], out, {}, work, reads=[inside] if kept == "camera file" else (), force=True)
    assert [outcome.state for outcome in outcomes] == ["failed", "done"]
    assert "holds a file that this command reads" in outcomes[0].error
    assert inside.read_text() == "mine"
    with pytest.raises(InputError, match="two pairs are called 'a'"):
        run_batch([jobs[0], jobs[0]], out, {}, work)
    with pytest.raises(OutputExistsError, match=r"summary\.csv is also read"):
        run_batch([Job("a", tmp_path / "new" / "summary.csv", images[0])], tmp_path / "new", {}, work, force=True)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_is_not_whole_is_not_taken_for_done(copied):
    folders, out = copied
    (out / "scene0" / "sigma.tif").unlink()
    (out / "scene1" / "summary.json").write_text("{}")
    failures = json.loads(_run("estimate", *folders, "-o", out, *QUICK, "--json").stdout)["failures"]
    assert "scene0 is not whole: sigma.tif is missing or changed; add --force" in failures["scene0"]
    assert "scene1 is not whole: summary.json" in failures["scene1"]


WAITING = KILLED.replace("time.sleep(0.005)", "print('in', flush=True); sys.stdin.readline()")


@pytest.mark.slow
def test_a_second_run_on_one_output_folder_is_told(folders, tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", WAITING, *map(str, folders), str(out)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as first:
        first.stdout.readline()
        result = _run("estimate", *folders, "-o", out, *QUICK)
        assert result.exit_code == 3
        assert "another relblur is at work in " in result.stderr
        first.kill()
    assert _run("estimate", *folders, "-o", out, *QUICK).stderr.count(": done") == 3  # a dead one is not waited for
    assert not [name for name in os.listdir(out) if name.startswith(".")]


def test_an_output_folder_that_cannot_be_written_is_one_line(folders, tmp_path, monkeypatch):
    """Root may write anywhere, so the system's answer is put in."""
    out = tmp_path / "out"
    out.mkdir()
    real = os.open

    def refuse(path, *args, **kwargs):
        if str(path).startswith(str(out)):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    result = _run("estimate", *folders, "-o", out, *QUICK)
    assert result.exit_code == 3
    assert "cannot write" in result.stderr
    assert "Permission denied" in result.stderr
    assert "unexpected" not in result.stderr


def test_a_folder_that_may_not_be_looked_into_is_no_batch(tmp_path, monkeypatch):
    def refuse(path, **_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(os, "stat", refuse)
    assert not is_batch(tmp_path / "closed" / "a.png", tmp_path / "closed" / "b.png")


def _rows(path):
    with path.open(newline="") as file:
        return {row["pair"]: row for row in csv.DictReader(file)}


def test_the_table_has_a_row_for_every_pair_and_its_figures(copied):
    folders, out = copied
    again = _run("estimate", *folders, "-o", out, *QUICK)  # most were done before: they are in the table all the same
    assert again.exit_code == 3
    rows = _rows(out / "summary.csv")
    assert sorted(rows) == ["alone", "broken", "scene0", "scene1", "scene2"]
    assert rows["scene1"]["state"] == "was done"
    assert float(rows["scene1"]["sigma_px_percentiles.50"]) == pytest.approx(1.2, rel=0.05)
    assert rows["scene1"]["settings.method"] == "window"
    assert rows["scene1"]["second"].endswith("scene1.png")
    assert "no partner" in rows["alone"]["error"]
    shares = [float(value) for name, value in rows["scene1"].items() if name.startswith("flag_shares.") and value]
    assert sum(shares) == pytest.approx(1)


def test_the_contact_sheet_shows_all_pairs_in_the_same_colours(folders, tmp_path, monkeypatch):
    from relblur.report import panels

    drawn = []
    monkeypatch.setattr(panels, "panels_picture", lambda path, sheet, **_: (path.touch(), drawn.append(sheet)))
    _run("estimate", *folders, "-o", tmp_path / "out", *QUICK)
    drawn = drawn[-1]
    assert [(panel.title, panel.kind) for panel in drawn] == [(f"scene{n}", "sigma") for n in range(3)]
    assert [float(np.nanmedian(panel.image)) for panel in drawn] == pytest.approx([0.8, 1.2, 1.6], rel=0.05)
    assert len({panel.scale for panel in drawn}) == 1
    assert drawn[0].scale.high > 1.5


def test_workers_work_at_the_same_time(tmp_path):
    """Each of two pairs waits for the other to have begun."""
    meeting = threading.Barrier(2, timeout=20)
    (tmp_path / "a.png").write_text("x")
    jobs = [Job(name, tmp_path / "a.png", tmp_path / "a.png") for name in ("one", "two")]
    run = partial(on_threads, threads=2)
    outcomes = run_batch(jobs, tmp_path / "out", {}, lambda *_: meeting.wait(), run=run)
    assert [each.state for each in outcomes] == ["done", "done"]
    assert "--jobs" in _run("estimate", tmp_path, tmp_path, "-o", tmp_path / "x", "--jobs", 0).stderr


@pytest.mark.parametrize("name", REPORTS)
def test_a_file_of_the_name_of_a_report_is_not_replaced(folders, tmp_path, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / name).write_text('{"mine": 1}')
    result = _run("estimate", *folders, "-o", out, *QUICK, "--force")
    assert result.exit_code == 2
    assert f"{name} is in the way and not from relblur" in result.stderr
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [(name, '{"mine": 1}')]


@pytest.mark.slow
def test_folders_for_evaluate(folders, tmp_path):
    common = ("evaluate", *folders, "--decimate", "1", "-m", "window", "--align", "off")
    assert "--output" in _run(*common).stderr
    result = _run(*common, "-o", tmp_path / "out", "--jobs", 2, "--json")
    assert json.loads(result.stdout)["done"] == 3
    rows = _rows(tmp_path / "out" / "summary.csv")
    alone = _run("evaluate", *(folder / "scene2.png" for folder in folders), "-m", "window", "--align", "off", "--json")
    score = json.loads(alone.stdout)[0]
    assert float(rows["scene2"]["decimate_1.e_second"]) == pytest.approx(score["e_second"], rel=1e-9)
    assert not (tmp_path / "out" / "contact_sheet.png").exists()  # a score has no map


@pytest.mark.slow
def test_folders_for_depth(tmp_path, texture):
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
