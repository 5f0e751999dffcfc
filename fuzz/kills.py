"""Kill `relblur estimate` over many pairs, again and again, and look for anything half or lost.

    python fuzz/kills.py [--random 1000] [--calls 200] [--saves 1000]

Half of the runs are without --force, into a folder that fills up; half replace results of other options with
--force. --random: kill -9 at a random moment. --calls: kill -9 at the k-th call of one kind to the system (rename,
unlink, fsync ...), which needs strace; without it the program kills itself before a change to the disk. --saves:
four threads save to one name so often each while a fifth reads it. Prints counts and failures; the exit code is 1
if there is a failure.

This process imports everything and computes nothing, so that it may fork: a child is a run of the real command.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import relblur.apps.cli.app
from relblur import BlurMap, load, save, synth
from relblur.base.errors import RelblurError
from relblur.images.results import MADE_FROM, entered, listing, missing, read_signature, strangers

PAIRS = ("p0", "p1")
SIZES = ((8, 8), (24, 24))
#: The calls by which files and folders are made, moved, secured and removed.
CALLS = (
    "mkdir",
    "openat",
    "write",
    "flock",
    "fsync",
    "rename",
    "link",
    "unlink",
    "unlinkat",
    "rmdir",
)


class Ground:
    """Pictures, and an output folder to kill runs in."""

    def __init__(self, top: Path) -> None:
        self.top, self.out = top, top / "out"
        rng = np.random.default_rng(0)
        for side in ("near", "far"):
            (top / side).mkdir(parents=True)
        for name, size in zip(PAIRS, SIZES, strict=True):
            image = rng.integers(0, 256, size, dtype=np.uint8)
            save(top / "near" / f"{name}.png", image)
            save(top / "far" / f"{name}.png", np.rint(synth.blur_with_map(image / 255, 0.8) * 255).astype(np.uint8))
        self.out.mkdir()
        (self.out / "notes.txt").write_text("mine")

    def start(self, window: int, force: bool, prepare: Callable[[], None] | None = None) -> int:
        """Start the command in a child and return its number."""
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            with open(self.top / "said", "w") as said:
                os.dup2(said.fileno(), 1)
                os.dup2(said.fileno(), 2)
            if prepare is not None:
                prepare()
            arguments = ["estimate", str(self.top / "near"), str(self.top / "far"), "-o", str(self.out)]
            arguments += ["-m", "window", "--window", str(window), "--no-linear", "--align", "off", "--decimate", "1"]
            relblur.apps.cli.app.app([*arguments, "--exposure", "off", *["--force"] * force])
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 71
            (self.top / "modules").write_text("\n".join(sys.modules))
        finally:
            os._exit(code)

    def done(self) -> dict[str, int]:
        """Return the pairs with results, and the window that they were made with; raise if one is half."""
        found = {}
        for name in PAIRS:
            folder = self.out / name
            if not os.path.lexists(folder):
                continue
            signature = read_signature(folder)
            if signature is None or missing(folder, signature) or strangers(folder, signature):
                raise AssertionError(f"{name} is half: {listing(folder)}")
            found[name] = signature["options"]["window"]
            if load(folder / "blur_map.npz").settings["window"] != found[name]:
                raise AssertionError(f"{name} is of two runs: {MADE_FROM} and the map differ")
        if (self.out / "notes.txt").read_text() != "mine":
            raise AssertionError("the user's file is lost")
        return found

    def check(self, before: dict[str, int], window: int) -> dict[str, int]:
        """Check what a kill left, as it is and when somebody has entered the folder; return what is done."""
        self.done()
        with entered(self.out):
            pass
        after = self.done()
        hidden = [name for name in os.listdir(self.out) if name.startswith(".")]
        if hidden:
            raise AssertionError(f"left: {hidden}")
        for name, was in before.items():
            if after.get(name) not in (was, window):
                raise AssertionError(f"{name} is lost")
        return after


class RandomKill:
    """Kill a run at a random moment of the time that one takes, which is learnt: machines have other work to do."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, ground: Ground, window: int, force: bool, _tries: int) -> bool:
        """Return False if the run ended sooner."""
        start = time.monotonic()
        child = ground.start(window, force)
        moment = random.random() * self.seconds
        while (now := time.monotonic() - start) < moment:
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                self.seconds = now
                return _wait(child)
            time.sleep(min(0.002, moment - now))
        self.seconds *= 1.03
        return _end(child)


def traced_kill(ground: Ground, window: int, force: bool, call: str, number: int) -> bool:
    """Kill a run at a call to the system; False if it made fewer of them."""
    child = ground.start(window, force, lambda: os.kill(os.getpid(), signal.SIGSTOP))
    os.waitpid(child, os.WUNTRACED)
    inject = f"inject={call}:signal=SIGKILL:when={number}"
    trace = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", inject, "-p", str(child)]
    with subprocess.Popen(trace, stderr=subprocess.DEVNULL) as tracer:
        while "TracerPid:\t0" in Path(f"/proc/{child}/status").read_text():
            time.sleep(0.001)
        os.kill(child, signal.SIGCONT)
        killed = _wait(child)
        tracer.wait(timeout=30)
    return killed


def own_kill(ground: Ground, window: int, force: bool, call: str, number: int) -> bool:
    """Let a run kill itself before a change to the disk, where there is no strace."""
    name = {"openat": "open", "unlinkat": "unlink"}.get(call, call)
    if not hasattr(os, name):
        return False
    left = number

    def prepare() -> None:
        real = getattr(os, name)

        def change(*args: object, **kwargs: object) -> object:
            nonlocal left
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        setattr(os, name, change)

    return _wait(ground.start(window, force, prepare))


def _end(child: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return _wait(child)


def _wait(child: int) -> bool:
    """Return whether a child was killed; raise if it ended in an error of its own."""
    status = os.waitpid(child, 0)[1]
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise AssertionError(f"the run ended with exit code {os.WEXITSTATUS(status)}")
    return os.WIFSIGNALED(status)


def import_what_a_run_imports(ground: Ground) -> None:
    """Let a child find out what is needed, so that the others need not wait for it."""
    _wait(ground.start(5, False))
    for name in (ground.top / "modules").read_text().split("\n"):
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def campaign(top: Path, force: bool, count: int, kill: Callable[[Ground, int, bool, int], bool]) -> list[str]:
    """Kill so many runs; without force the folder is emptied when all pairs are done."""
    failures, killed, tries = [], 0, 0
    ground = Ground(top)
    window, done = 5, dict[str, int]()
    if force:
        _wait(ground.start(window, True))
        done = ground.done()
    while killed < count:
        if force:
            window = 12 - window  # 5, 7, 5 ...
        elif len(done) == len(PAIRS):
            for name in PAIRS:
                shutil.rmtree(ground.out / name)
            done = {}
        tries += 1
        try:
            killed += kill(ground, window, force, tries)
            done = ground.check(done, window)
        except (AssertionError, RelblurError, OSError) as error:
            said = (ground.top / "said").read_text()[-300:] if (ground.top / "said").exists() else ""
            failures.append(f"run {tries}: {error} {said}")
            shutil.rmtree(top)
            return failures + campaign(top, force, count - killed - 1, kill)
    print(f"  {'with' if force else 'without'} --force: {killed} kills in {tries} runs", flush=True)
    shutil.rmtree(top)
    return failures


def kills_at_calls(top: Path, force: bool, count: int) -> list[str]:
    """Go through the calls of every kind, from the first to the last that a run makes."""
    kill = traced_kill if shutil.which("strace") else own_kill
    number = dict.fromkeys(CALLS, 0)
    step = {"openat": 17, "write": 5}  # many of them are of the program itself
    hits: collections.Counter[str] = collections.Counter()

    def one(ground: Ground, window: int, force: bool, tries: int) -> bool:
        call = CALLS[tries % len(CALLS)]
        number[call] += step.get(call, 1)
        killed = kill(ground, window, force, call, number[call])
        hits[call] += killed
        if not killed:
            number[call] = 0
        return killed

    failures = campaign(top, force, count, one)
    print("   ", ", ".join(f"{call} {hits[call]}" for call in CALLS), "" if kill is traced_kill else "(no strace)")
    return failures


def saves(top: Path, count: int) -> list[str]:
    """Save to one name from four threads and read it from a fifth."""
    top.mkdir(parents=True)
    path, failures, over = top / "same.npz", list[str](), threading.Event()
    maps = [
        BlurMap(
            np.full((40, 50), float(value)), np.ones((40, 50)), np.zeros((40, 50), np.uint8), np.ones((40, 50), np.int8)
        )
        for value in range(4)
    ]
    reads = 0

    def write(blur_map: BlurMap) -> None:
        for _ in range(count):
            try:
                blur_map.save(path)
            except Exception as error:
                failures.append(f"save: {error!r}")

    def read() -> None:
        nonlocal reads
        while not over.is_set():
            try:
                values = load(path).variance_difference
                if not (values == values[0, 0]).all():
                    failures.append("a file of two writers")
                reads += 1
            except Exception as error:
                failures.append(f"load: {error!r}")

    maps[0].save(path)
    reader = threading.Thread(target=read)
    writers = [threading.Thread(target=write, args=(each,)) for each in maps]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    reader.join()
    if os.listdir(top) != ["same.npz"]:
        failures.append(f"left: {os.listdir(top)}")
    print(f"  4 x {count} saves, {reads} reads meanwhile", flush=True)
    return failures


def main() -> None:
    """Run all three and count."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    for name, default in (("random", 1000), ("calls", 200), ("saves", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    random.seed(asked.seed)
    top = Path(tempfile.mkdtemp(prefix="relblur_kills_"))
    failures = []
    ground = Ground(top / "timing")
    import_what_a_run_imports(ground)
    start = time.monotonic()
    _wait(ground.start(5, True))
    kill = RandomKill(time.monotonic() - start)
    print(f"random kills; a run takes {kill.seconds:.2f} s now", flush=True)
    for force in (False, True):
        half = asked.random // 2
        failures += campaign(top / "random", force, half, kill)
    print("kills at calls to the system", flush=True)
    for force in (False, True):
        failures += kills_at_calls(top / "calls", force, asked.calls // 2)
    print("threads", flush=True)
    failures += saves(top / "saves", asked.saves)
    print(f"{len(failures)} failures", *failures[:20], sep="\n  ")
    shutil.rmtree(top)
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
