"""Fuzz whole commands: whatever the files, a result or a short error, soon and in little memory.

    python fuzz/commands.py --files 20000
    python fuzz/commands.py --only f123          # one case again, with all its output

Commands run through the program's own ``main``, many in one process; a process that hangs or dies is replaced. A case
has failed if its exit code is none of 0, 2, 3 and 4, if "unexpected" or a traceback is printed, if an error takes more
than a few lines or leaves or changes files, if an input is changed, or beyond 10 s or 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import specimens
import typer.main
from spoil import spoil

MOST_BYTES, MOST_SECONDS = 1_000_000_000, 10.0
#: A process is replaced after so many cases. A case that takes this long in wall time hangs (s).
MOST_CASES, HANGS = 400, 150
#: Lines that an error may take, by exit code; the command line's own usage errors come in a frame.
MOST_LINES = {2: 12, 3: 4, 4: 4}
#: In place of a command: ``relblur.load`` from Python, with errors printed as commands print them.
LOAD = "load"


@dataclass(frozen=True)
class Case:
    """The files in a folder, and the command that is run there."""

    name: str
    arguments: list[str]
    files: dict[str, bytes]


def make_case(name: str, seed: int) -> Case:
    """Return the case of this name; a seed and a name always give the same one."""
    rng = random.Random(f"{seed} {name}")
    kind = rng.random()
    if kind < 0.12:
        suffix = Path(which := rng.choice(sorted(specimens.CAMERAS))).suffix
        content = spoil(specimens.CAMERAS[which], suffix, rng)
        return Case(name, ["camera", f"camera{suffix}"], {f"camera{suffix}": content})
    if kind < 0.2:
        content = spoil(rng.choice(list(specimens.result_files().values())), ".npz", rng)
        return Case(name, [LOAD, "x.npz"], {"x.npz": content})
    chosen = rng.choice(specimens.specimens())
    one, two = f"first{chosen.suffix}", f"second{chosen.suffix}"
    files = {one: spoil(chosen.first, chosen.suffix, rng), two: chosen.second}
    files["lens.toml"] = specimens.CAMERA_TOML
    commands = [
        ["tools", "decimate", one, "2", "-o", rng.choice(("out.npy", "out.tif", "out.png"))],
        [LOAD, one],
    ]
    if chosen.suffix == ".npy":  # the others may become large, and take long
        commands += [
            ["estimate", one, two, "-o", "out", "-m", rng.choice(("window", "refined"))],
            ["evaluate", two, one, "--decimate", "1", "-m", "window"],
            ["depth", one, two, "-c", "lens.toml", "-o", "out", "--psf", rng.choice(("gaussian", "disc", one))],
            ["tools", "synth", one, "-o", "out"],
        ]
    return Case(name, rng.choice(commands), files)


def run(case: Case, folder: Path) -> dict[str, Any]:
    """Run one case in an empty folder and return what happened."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    before = _listing(folder)
    _forget_peak()
    wall, cpu = time.monotonic(), time.process_time()
    with _in_folder(folder), _captured() as printed:
        code = _call(case.arguments)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    after = _listing(folder)
    return {
        "exit": code,
        "stdout": printed[0],
        "stderr": printed[1],
        "seconds": min(wall, cpu),  # a busy machine is not the program's fault
        "peak": _peak(),
        "new": sorted(set(after) - set(before)),
        "changed": [name for name in before if after.get(name) != before[name]],
    }


def faults(result: dict[str, Any]) -> list[str]:
    """Return what is wrong with a result, nothing if all is well."""
    code, stderr = result["exit"], result["stderr"]
    lines = [line for line in stderr.splitlines() if not line.startswith("relblur: note: ")]
    wrong = {
        f"exit code {code}": code not in (0, 2, 3, 4),
        "an unexpected error": bool(
            re.search(r"unexpected (error|\w+:)", stderr) or "Traceback" in stderr + result["stdout"]
        ),
        f"{len(lines)} lines of error": len(lines) > MOST_LINES.get(code, 25),
        "an error without a word": code not in (0, 2) and not lines,
        f"left behind {result['new'][:4]}": code != 0 and bool(result["new"]),
        f"changed {result['changed'][:4]}": bool(result["changed"]),
        f"{result['seconds']:.0f} s": result["seconds"] > MOST_SECONDS,
        f"{result['peak'] / 1e6:.0f} MB": result["peak"] > MOST_BYTES,
    }
    return [what for what, is_so in wrong.items() if is_so]


def _call(arguments: list[str]) -> int:
    """Run the program as its script does, and return the exit code."""
    sys.argv = ["relblur", *arguments]
    try:
        if arguments[0] == LOAD:
            return _load(arguments[1])
        from relblur.apps.cli.app import main

        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # as the interpreter would
        traceback.print_exc()
        return 1
    return 0


def _load(path: str) -> int:
    import relblur

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            relblur.load(path)
    except relblur.RelblurError as error:
        print(f"relblur: {error}", file=sys.stderr)
        return 3
    return 0


@contextmanager
def _in_folder(folder: Path) -> Iterator[None]:
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir("/")


@contextmanager
def _captured() -> Iterator[list[str]]:
    """Catch what is written to both streams, by libraries in C too."""
    kept = [os.dup(1), os.dup(2)]
    printed: list[str] = []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            yield printed
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, (copy, stream) in enumerate(zip(kept, (out, err), strict=True), start=1):
                os.dup2(copy, number)
                os.close(copy)
                stream.seek(0)
                printed.append(stream.read(10_000).decode("utf-8", "replace"))


def _listing(folder: Path) -> dict[str, Any]:
    """Return every file with its content and every folder, by path."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes() if path.is_file() and path.stat().st_size < 10**6 else path.is_dir()
    return found


def _peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def prepare() -> None:
    """Limit the memory of this process, and make each command once: from annotations it takes half of the time."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    typer.main.get_command = cache(typer.main.get_command)


def work(names: list[str], seed: int) -> None:
    """Run cases one after the other and print a line of JSON before and after each."""
    prepare()
    report = os.fdopen(os.dup(1), "w")
    for name in names[:MOST_CASES]:
        print(json.dumps({"starting": name}), file=report, flush=True)
        signal.alarm(HANGS)
        with tempfile.TemporaryDirectory(prefix="relblur_fuzz_") as folder:
            case = make_case(name, seed)
            result = run(case, Path(folder).resolve())
        signal.alarm(0)
        result |= {"name": name, "faults": faults(result), "command": case.arguments[0]}
        print(json.dumps(result), file=report, flush=True)


def watch(names: list[str], seed: int, results: list[dict[str, Any]]) -> None:
    """Have cases run by processes that are replaced when they hang, die or have done enough; add what happened."""
    command = [sys.executable, "-X", "faulthandler", __file__, "--worker", "--seed", str(seed)]
    while names:
        worker = subprocess.run(command, input=json.dumps(names), capture_output=True, text=True, check=False)
        lines = [json.loads(line) for line in worker.stdout.splitlines()]
        found = [line for line in lines if "name" in line]
        if worker.returncode or not found:
            current = lines[-1].get("starting", names[0]) if lines else names[0]
            what = {"name": current, "faults": [f"died with {worker.returncode}"], "stderr": worker.stderr[-2000:]}
            found.append({**what, "command": "?", "seconds": 0, "peak": 0})
        results += found
        names = names[len(found) :]


def show_one(name: str, seed: int) -> int:
    """Run one case and print everything about it."""
    case = make_case(name, seed)
    with tempfile.TemporaryDirectory(prefix="relblur_fuzz_") as folder:
        result = run(case, Path(folder).resolve())
    wrong = faults(result)
    print(f"relblur {case.arguments}\n{result.pop('stdout')}{result.pop('stderr')}\n{result}", wrong or "fine")
    return int(bool(wrong))


def main() -> int:
    """Read the options and start."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=2000, help="number of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help="one case, such as f123")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(json.load(sys.stdin), chosen.seed)
        return 0
    if chosen.only:
        return show_one(chosen.only, chosen.seed)
    names = [f"f{n}" for n in range(chosen.files)]
    results: list[dict[str, Any]] = []
    parts = [names[part :: chosen.workers] for part in range(chosen.workers)]
    threads = [threading.Thread(target=watch, args=(part, chosen.seed, results)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [result for result in results if result["faults"]]
    for result in failed:
        last = " ".join(result["stderr"].split())[-300:]
        print(f"FAILED {result['name']} {result['command']}: {', '.join(result['faults'])}: {last}")
    exits = Counter(f"{result['command']} {result.get('exit')}" for result in results)
    print(", ".join(f"{name}: {count}" for name, count in sorted(exits.items())))
    longest, largest = (max((result[name] for result in results), default=0) for name in ("seconds", "peak"))
    print(f"{len(results)} cases, {len(failed)} failed; longest {longest:.1f} s, most memory {largest / 1e6:.0f} MB")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
