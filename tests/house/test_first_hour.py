"""What people type in their first hour: each ends in a line that says what to do, and makes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from relblur import InputError, prepare_pair, save, synth
from relblur.apps.cli.app import app


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to be in, with three pictures and a folder of two more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shots").mkdir()
    for number, name in enumerate(("a.png", "b.png", "c.png", "shots/1_near.png", "shots/1_far.png")):
        save(name, np.random.default_rng(number).integers(0, 200, (24, 32), dtype=np.uint8))
    return tmp_path


def run(here, *arguments):
    before = sorted(here.rglob("*"))
    result = CliRunner().invoke(app, list(arguments))
    assert sorted(here.rglob("*")) == before
    (line,) = [line for line in result.stderr.splitlines() if not line.startswith("relblur: note")]
    assert "Traceback" not in result.output
    return result.exit_code, line


def test_three_pictures_or_a_star_without_quotes(here):
    code, line = run(here, "estimate", "a.png", "b.png", "c.png", "shots/1_far.png", "-o", "out")
    assert code == 2
    assert "unexpected extra argument(s) (c.png shots/1_far.png); put patterns such as 'dir/*_near.png' and" in line


@pytest.mark.parametrize("second", ["a.png", "./a.png", "link.png"])
def test_one_file_twice(here, second):
    (here / "link.png").symlink_to("a.png")
    code, line = run(here, "estimate", "a.png", second, "-o", "out")
    assert code == 3
    assert line == "relblur: first and second are one file, a.png; name the two photographs of the pair"
    with pytest.raises(InputError, match="are one file"):
        prepare_pair("a.png", second)


def test_one_folder_twice(here):
    code, line = run(here, "estimate", "shots", "shots/", "-o", "out")
    assert code == 3
    assert "shots is given twice; name two folders, or the files in it by two quoted patterns" in line
    assert "'shots/*_near.png' 'shots/*_far.png'" in line


@pytest.mark.parametrize("pair", [("a.png", "b.png"), ("shots/*_near.png", "shots/*_far.png")])
def test_results_are_no_picture(here, pair):
    code, line = run(here, "estimate", *pair, "-o", "out.png")
    assert code == 2
    assert line.endswith("and out.png is the name of one file; choose another, such as out")


def test_a_folder_that_is_there_may_be_called_anything(here):
    (here / "v1.png").mkdir()
    first = np.random.default_rng(0).random((32, 40))
    for name, image in zip(("a.png", "b.png"), synth.pair(first, 1.0), strict=True):
        save(name, synth.degrade(image, bits=16))
    result = CliRunner().invoke(app, ["estimate", "a.png", "b.png", "-o", "v1.png", "-m", "window", "--as-stored"])
    assert result.exit_code == 0, result.output
    assert (here / "v1.png" / "overview.png").exists()


def test_an_address(here):
    code, line = run(here, "estimate", "https://example.org/a.png", "b.png", "-o", "out")
    assert (code, line) == (3, "relblur: https://example.org/a.png is an address; download the file first")


def test_a_video(here):
    (here / "clip.mp4").write_bytes(b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(100))
    code, line = run(here, "estimate", "clip.mp4", "b.png", "-o", "out")
    assert (code, line) == (3, "relblur: clip.mp4 is a video; save two of its frames as images, and give these")
