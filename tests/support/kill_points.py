"""A program that is killed before each of its changes to the disk in turn; test_results.py runs it.

    python kill_points.py SCENARIO fresh|force FOLDER

It prints how many moments there were, and a line for every one after which something was half or lost.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from relblur.images.disk import replacing
from relblur.images.results import entered, filling
from relblur.report.batch import Job, run_batch

#: Every function by which relblur changes the disk or makes sure of a change.
CHANGES = ("open", "write", "fsync", "mkdir", "rename", "replace", "link", "unlink", "rmdir")
os.fsync = lambda _descriptor: None  # what a kill leaves does not depend on it, and it takes the time of a disk
PARTS = ("one", "below/two")


class Scenario:
    """Something to interrupt, in a folder."""

    at_once = True  #: no moment at which some of the files are old and some new; there may be none for a moment
    one_generation = True  #: the next run finds one of them

    def __init__(self, folder: Path, force: bool) -> None:
        self.out, self.force = folder / "out", force
        self.home = self.out  #: where relblur puts things in order
        self.image = folder / "image"

    def prepare(self) -> None:
        """Lay out what is there before: the user's own file, and with force the old results."""
        self.out.mkdir()
        (self.out / "notes.txt").write_text("mine")
        self.image.write_text("x")
        if self.force:
            self.do("old")

    def generation(self) -> set[str]:
        """Return whose files are there: '' if there are none."""
        return {_generation(self.out / part) for part in PARTS}

    def enter(self) -> None:
        """Let the folder be put in order."""
        with entered(self.home):
            pass

    def check_moment(self, at: str) -> list[str]:
        """Return what nobody may see at any moment."""
        found = self.generation()
        whole = found <= {"old", "new", ""} and not (self.at_once and len(found) > 1)
        return [] if whole else [f"{at}: something half {found}"]

    def check(self, at: str) -> list[str]:
        """Return what is wrong after a kill, before and after somebody has entered the folder."""
        before = "old" if self.force else ""
        wrong = self.check_moment(at)
        self.enter()
        if self.one_generation and self.generation() not in ({before}, {"new"}, {""}):
            wrong.append(f"{at}: not one generation {self.generation()}")
        wrong += self._check_rest(at)
        self.do("new")  # as a user does who repeats the command
        if self.generation() != {"new"}:
            wrong.append(f"{at}: the next run did not finish: {self.generation()}")
        return wrong + self._check_rest(at)

    def _check_rest(self, at: str) -> list[str]:
        hidden = [name for name in os.listdir(self.home) if name.startswith(".")]
        lost = self.home == self.out and (self.out / "notes.txt").read_text() != "mine"
        return [f"{at}: left {hidden}"] * bool(hidden) + [f"{at}: the user's file is lost"] * lost

    def do(self, generation: str) -> None:
        """Do the thing."""
        raise NotImplementedError


class Batch(Scenario):
    """One pair of a run over many."""

    def do(self, generation: str) -> None:
        def work(_first: Path, _second: Path, folder: Path) -> None:
            _write(folder, generation)

        job = Job("p", self.image, self.image)
        run_batch([job], self.out, {"generation": generation}, work, force=self.force)

    def generation(self) -> set[str]:
        return {_generation(self.out / "p" / part) for part in (*PARTS, "made_from.json")}


class Folder(Scenario):
    """The results of one pair, in a folder of their own."""

    def prepare(self) -> None:
        """Lay out no folder."""
        self.home = self.out.parent
        self.image.write_text("x")

    def do(self, generation: str) -> None:
        try:
            with filling(self.out) as new:
                _write(new, generation)
        except FileExistsError:
            pass  # whole


class Files(Scenario):
    """The results of one pair, in a folder that holds other things: they move in one by one, each whole."""

    at_once = one_generation = False

    def do(self, generation: str) -> None:
        with filling(self.out, force=True) as new:
            _write(new, generation)


class File(Scenario):
    """One file, saved by a user's own program, which nobody clears up after."""

    def do(self, generation: str) -> None:
        with replacing(self.out / "one") as stream:
            stream.write(generation.encode() * 1000)

    def generation(self) -> set[str]:
        return {_generation(self.out / "one")}

    def _check_rest(self, at: str) -> list[str]:
        for name in os.listdir(self.out):
            if name.endswith(".part"):
                os.unlink(self.out / name)
        return super()._check_rest(at)


def _write(folder: Path, generation: str) -> None:
    (folder / "below").mkdir()
    for part in PARTS:
        with replacing(folder / part) as stream:
            stream.write(generation.encode() * 1000)


def _generation(path: Path) -> str:
    """Return whose file this is: old, new, none, or a description of half a file."""
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    if path.name == "made_from.json":
        return "old" if '"old"' in text else "new" if text.endswith("}") else "half"
    return next((name for name in ("old", "new") if text == name * 1000), f"half: {len(text)}")


def _killed_before(moment: int, what: Callable[[], None]) -> bool:
    """Do it in a process that kills itself before this change to the disk; False if it ended sooner."""
    child = os.fork()
    if child:
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status) and os.WEXITSTATUS(status):
            raise RuntimeError(f"moment {moment}: an error instead of an end")
        return os.WIFSIGNALED(status)
    left = moment

    def counted(real: Callable[..., object]) -> Callable[..., object]:
        def change(*args: object, **kwargs: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        return change

    for name in CHANGES:
        setattr(os, name, counted(getattr(os, name)))
    code = 1
    try:
        what()
        code = 0
    finally:
        os._exit(code)


def main() -> None:
    """Kill at every moment."""
    scenario, force, folder = sys.argv[1], sys.argv[2] == "force", Path(sys.argv[3])
    kind = {"batch": Batch, "folder": Folder, "files": Files, "file": File}[scenario]
    moment, wrong, killed = 0, list[str](), True
    while killed:
        moment += 1
        place = folder / str(moment)
        place.mkdir()
        each = kind(place, force)
        each.prepare()
        killed = _killed_before(moment, lambda each=each: each.do("new"))  # type: ignore[misc]
        wrong += each.check_moment(f"moment {moment}")
        if kind is not File:  # whoever clears up may be killed too
            _killed_before(1 + moment % 11, each.enter)
        wrong += each.check(f"moment {moment}")
        shutil.rmtree(place)
    print(moment - 1, "moments")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
