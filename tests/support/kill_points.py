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

#: Every function by which relblur changes the disk.
CHANGES = ("open", "write", "mkdir", "rename", "replace", "link", "unlink", "rmdir")
PARTS = ("one", "below/two")


class Scenario:
    """Something to interrupt, in a folder with a file of the user's own."""

    parts: tuple[str, ...] = PARTS  #: the files that are written
    is_whole = True  #: the files appear together, or none of them does

    def __init__(self, folder: Path) -> None:
        self.out = self.home = folder / "out"
        self.image = folder / "image"
        self.image.write_text("x")

    def prepare(self, force: bool) -> None:
        """Write what is there before: the user's own file, and with force the old results."""
        self.out.mkdir()
        (self.out / "notes.txt").write_text("mine")
        if force:
            self.do("old")

    def do(self, generation: str) -> None:
        """Write the results."""
        with filling(self.out, force=True) as new:
            _write(new, generation)

    def generations(self) -> set[str]:
        """Return the generations of the files that are there, '' for missing ones."""
        return {_generation(self.out / part) for part in self.parts}

    def check(self, at: str) -> list[str]:
        """Return what is wrong after a kill, before and after somebody has entered the folder."""
        found = self.generations()
        wrong = [] if found <= {"old", "new", ""} else [f"{at}: half {found}"]
        wrong += [f"{at}: not one generation {found}"] * (self.is_whole and len(found) > 1)
        with entered(self.home):
            pass
        wrong += self._check_rest(at)
        self.do("new")  # as a user does who repeats the command
        if self.generations() != {"new"}:
            wrong.append(f"{at}: the next run did not finish: {self.generations()}")
        return wrong + self._check_rest(at)

    def _check_rest(self, at: str) -> list[str]:
        hidden = [name for name in os.listdir(self.home) if name.startswith(".") and not name.endswith(".part")]
        lost = self.home == self.out and (self.out / "notes.txt").read_text() != "mine"
        return [f"{at}: left {hidden}"] * bool(hidden) + [f"{at}: the user's file is lost"] * lost


class Files(Scenario):
    """The results of one pair, in a folder that holds other things: they move in one by one, each whole."""

    is_whole = False


class Batch(Scenario):
    """One pair of a run over many."""

    parts = ("p/one", "p/below/two", "p/made_from.json")

    def do(self, generation: str) -> None:
        def work(_first: Path, _second: Path, folder: Path) -> None:
            _write(folder, generation)

        run_batch([Job("p", self.image, self.image)], self.out, {"generation": generation}, work, force=True)


class Folder(Scenario):
    """The results of one pair, in a folder of their own."""

    def prepare(self, force: bool) -> None:
        self.home = self.out.parent

    def do(self, generation: str) -> None:
        if not self.out.exists():
            super().do(generation)


class File(Scenario):
    """One file, saved by a user's own program, which nobody clears up after."""

    parts = ("one",)

    def do(self, generation: str) -> None:
        with replacing(self.out / "one") as stream:
            stream.write(generation.encode() * 1000)


def _write(folder: Path, generation: str) -> None:
    (folder / "below").mkdir()
    for part in PARTS:
        with replacing(folder / part) as stream:
            stream.write(generation.encode() * 1000)


def _generation(path: Path) -> str:
    """Return the generation of a file: old, new, none, or a description of half a file."""
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
        each = kind(place)
        each.prepare(force)
        killed = _killed_before(moment, lambda each=each: each.do("new"))  # type: ignore[misc]
        wrong += each.check(f"moment {moment}")
        shutil.rmtree(place)
    print(moment - 1, "moments")
    print("\n".join(wrong))


if __name__ == "__main__":
    main()
