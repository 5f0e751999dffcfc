"""Files and folders appear whole or not at all: killed anywhere, by threads, by two runs, under hostile names."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT
from relblur import BlurMap, load
from relblur.base.errors import FileError, OutputExistsError
from relblur.images import results as results_module
from relblur.images.disk import HIDDEN, replacing
from relblur.images.results import (
    entered,
    filling,
    move_folder_in,
    placing,
    refuse_inputs,
    refuse_to_replace,
    sign,
    staging,
)

#: A disk takes ten times as long.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
STAGE = f"{results_module._stage_prefix()}0123456789abcdef"
ELSEWHERE = f"{HIDDEN}-0123456789abcdef-0123456789abcdef"


def _hidden(folder: Path) -> list[str]:
    return [name for name in os.listdir(folder) if name.startswith(".")]


def _map(value: float) -> BlurMap:
    ones = np.ones((24, 30))
    return BlurMap(ones * value, ones, np.zeros((24, 30), np.uint8), np.ones((24, 30), np.int8))


@pytest.mark.slow
@pytest.mark.parametrize("force", ["fresh", "force"])
@pytest.mark.parametrize(("scenario", "moments"), [("file", 2), ("files", 20), ("batch", 25), ("folder", 10)])
def test_killed_before_any_change_to_the_disk(scenario, moments, force):
    if (scenario, force) == ("folder", "force"):
        pytest.skip("a folder of results is not replaced")
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        program = ROOT / "tests" / "support" / "kill_points.py"
        command = [sys.executable, str(program), scenario, force, folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    count, *wrong = done.stdout.split("\n")
    assert int(count.split()[0]) >= moments
    assert not [line for line in wrong if line]


def test_threads_that_save_to_one_name_never_leave_half_a_file(tmp_path):
    path = tmp_path / "same.npz"
    maps = [_map(value) for value in range(4)]
    failed = []

    def save(blur_map):
        for _ in range(25):
            try:
                blur_map.save(path)
                assert load(path).variance_difference[0, 0] in range(4)
            except Exception as error:
                failed.append(error)

    threads = [threading.Thread(target=save, args=(each,)) for each in maps]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert os.listdir(tmp_path) == ["same.npz"]


def test_a_file_has_the_permissions_of_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        _map(1).save(tmp_path / "a.npz")
        with filling(tmp_path / "out") as new:
            _map(1).save(new / "b.npz")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.npz").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "out" / "b.npz").stat().st_mode) == 0o640


def test_names_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("x" * 251 + ".npz")
    _map(2).save(path)
    with placing(path, force=True) as file:
        _map(3).save(file)
    assert load(path).variance_difference[0, 0] == 3


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("x" * 256, "too long"),
        ("a\0b", "null"),
        ("pipe.npz", "pipe or a dev"),
        ("none/x.npz", "no folder"),
        (".", "folder"),
    ],
)
def test_what_cannot_be_written_is_one_line_and_stays_as_it_is(tmp_path, name, why):
    os.mkfifo(tmp_path / "pipe.npz")
    with pytest.raises(FileError, match=why), replacing(f"{tmp_path}/{name}"):
        pass
    with pytest.raises(FileError, match=why), placing(Path(f"{tmp_path}/{name}"), force=True):
        pass
    assert stat.S_ISFIFO((tmp_path / "pipe.npz").stat().st_mode)
    assert os.listdir(tmp_path) == ["pipe.npz"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_error_while_files_are_made_leaves_nothing(tmp_path, error):
    def fill():
        with filling(tmp_path / "b") as new:
            (new / "x").write_text("half")
            raise error

    with pytest.raises((type(error), FileError)):
        fill()
    assert not os.listdir(tmp_path)


def test_force_is_looked_at_when_the_files_move_in(tmp_path):
    def fill():
        with filling(tmp_path) as new:
            (new / "x").write_text("ours")
            (tmp_path / "x").write_text("theirs")  # another run was quicker

    with pytest.raises(OutputExistsError, match="x would be replaced"):
        fill()
    assert (tmp_path / "x").read_text() == "theirs"
    with filling(tmp_path, force=True) as new:
        (new / "x").write_text("ours")
    assert (tmp_path / "x").read_text() == "ours"
    assert not _hidden(tmp_path)


def test_only_one_run_at_a_time(tmp_path):
    with (
        entered(tmp_path),
        pytest.raises(FileError, match="another relblur is at work in"),
        entered(tmp_path, wait_s=0.05),
    ):
        pass
    assert not _hidden(tmp_path)


def _stage(folder: Path, name: str = STAGE) -> Path:
    home = folder / name
    (home / "new").mkdir(parents=True)
    (home / "new" / "thing").write_text("x")
    return home


def test_remains_of_the_dead_are_cleared_and_work_of_the_living_or_of_another_machine_is_not(tmp_path):
    _stage(tmp_path)
    _stage(tmp_path, ELSEWHERE)
    (tmp_path / ".photos.2019.part").mkdir()
    with staging(tmp_path) as new:
        (new / "x").write_text("x")
        with entered(tmp_path):
            pass
        assert (new / "x").exists()
        assert not (tmp_path / STAGE).exists()
    assert sorted(_hidden(tmp_path)) == [".photos.2019.part", ELSEWHERE]


def _by_another_user(home):
    if os.geteuid():
        pytest.skip("only root gives files away")
    os.chown(home, 65534, 65534)


FORGED = {
    "of another user": _by_another_user,
    "a link": lambda home: (home.rename(home.parent / "real"), home.symlink_to("real")),
    "a file": lambda home: (shutil.rmtree(home), home.write_text("mine")),
    "a pipe": lambda home: (shutil.rmtree(home), os.mkfifo(home)),
}


@pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED)
def test_a_stage_that_this_user_did_not_make_is_left_alone(tmp_path, forge):
    out, victims = tmp_path / "out", tmp_path / "victims"
    victims.mkdir()
    (victims / "precious").write_text("mine")
    home = _stage(out)
    forge(home)
    before = sorted(tmp_path.rglob("*"))
    with filling(out) as new:
        (new / "result").write_text("x")
    assert sorted({*before, out / "result"}) == sorted(tmp_path.rglob("*"))
    assert (victims / "precious").read_text() == "mine"
    assert (out / "result").read_text() == "x"


def test_links_in_the_stage_of_a_dead_run_are_not_followed(tmp_path):
    out, victims = tmp_path / "out", tmp_path / "victims"
    victims.mkdir()
    (victims / "precious").write_text("mine")
    (_stage(out) / "new" / "link").symlink_to("../../../victims")
    with filling(out) as new:
        (new / "result").write_text("x")
    assert os.listdir(out) == ["result"]
    assert (victims / "precious").read_text() == "mine"


def test_files_do_not_move_through_a_folder_that_is_a_link(tmp_path):
    out, victims = tmp_path / "out", tmp_path / "victims"
    victims.mkdir()
    out.mkdir()
    (out / "below").symlink_to(victims)

    def fill():
        with filling(out, force=True) as new:
            (new / "below").mkdir()
            (new / "below" / "x").write_text("x")

    with pytest.raises(OutputExistsError, match="below is a link"):
        fill()
    assert not os.listdir(victims)


def _signed(folder: Path) -> Path:
    folder.mkdir()
    (folder / "result").write_text("old")
    sign(folder, {})
    return folder


def _replace_folder(folder: Path, name: str = "p") -> None:
    with staging(folder) as new:
        _signed(new / name)
        move_folder_in(new, name, force=True)


@pytest.mark.parametrize("reason", ["a file put in at the last moment", "a full disk"])
def test_an_old_folder_that_cannot_be_replaced_is_put_back(tmp_path, monkeypatch, reason):
    target = _signed(tmp_path / "p")
    real, full = os.rename, reason == "a full disk"

    def rename(source, destination, **kwargs):
        if full and "new" in Path(source).parts:
            raise OSError(28, "No space left on device")
        if not full and source == target:
            (target / "thesis.txt").write_text("mine")
        real(source, destination, **kwargs)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(FileError, match="No space left" if full else r"thesis\.txt, not made by relblur"):
        _replace_folder(tmp_path)
    assert sorted(os.listdir(target)) == ["made_from.json", "result", *([] if full else ["thesis.txt"])]
    assert os.listdir(tmp_path) == ["p"]


def test_an_output_is_never_an_input_nor_another_output(tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    refuse_inputs((tmp_path / "b", None), (tmp_path / "a", None))
    for one, two in (("a", "a"), ("link", "a"), ("x/../a", "a"), ("b", "b")):
        with pytest.raises(OutputExistsError, match="read by this command and would be replaced"):
            refuse_inputs((tmp_path / one,), (tmp_path / two,))
    with pytest.raises(OutputExistsError, match="already an output"):
        refuse_inputs((tmp_path / "c", tmp_path / "." / "c"), ())
    (tmp_path / "x").symlink_to("nowhere")
    with pytest.raises(OutputExistsError, match="x would be replaced"):
        refuse_to_replace(tmp_path, ("x",), force=False)


def test_a_link_is_replaced_and_not_written_through(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "x.npz").symlink_to("precious")
    _map(1).save(tmp_path / "x.npz")
    assert not (tmp_path / "x.npz").is_symlink()
    assert (tmp_path / "precious").read_text() == "mine"
