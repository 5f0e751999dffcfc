"""Fuzz whole commands: whatever the files and the options, a result or a short error, soon and in little memory.

    python fuzz/commands.py --files 20000 --options 2000
    python fuzz/commands.py --only f123          # one case again, with all that it said

Commands run through the program's own ``main``, many in one process; a process that hangs or dies is replaced. A case
has failed if its exit code is none of 0, 2, 3 and 4, if "unexpected" or a traceback is told, if an error takes more
than a few lines or leaves or changes files, if an input is changed, or beyond 10 s or 1 GB.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
from cases import LOAD, Case, make_case

MOST_BYTES = 1_000_000_000
#: Values of a picture from which on it is only read.
LARGE = 60_000
#: A process is replaced after so many cases, or when it holds so much: memory that one case left is not the next's.
MOST_CASES, MOST_HELD = 400, 500_000_000
#: Lines that an error may take, by exit code; the command line's own usage errors come in a frame.
MOST_LINES = {2: 12, 3: 4, 4: 4}


def run(case: Case, folder: Path) -> dict[str, Any]:
    """Run one case in an empty folder and return what happened."""
    for name, content in case.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    before = _listing(folder)
    _forget_peak()
    wall, cpu = time.monotonic(), time.process_time()
    with _in_folder(folder), _captured() as told:
        code = _call(case.arguments)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    after = _listing(folder)
    changed = [name for name in before if after.get(name) != before[name]]
    return {
        "exit": code,
        "stdout": told[0],
        "stderr": told[1],
        "seconds": min(wall, cpu),  # a busy machine is not the program's fault
        "peak": _memory("VmHWM"),
        "new": sorted(set(after) - set(before)),
        "changed": changed,
    }


def only_read_if_large(case: Case, folder: Path) -> Case:
    """Return a case that only reads what has become a large picture: estimating one takes as long as it takes."""
    import relblur

    for name, content in case.files.items() if case.spoilt else ():
        if not name.endswith((".toml", ".json", ".npz")):
            with _captured(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                path = folder / f"look{Path(name).suffix}"
                path.write_bytes(content)
                try:
                    pixels = np.size(relblur.load(path))
                except Exception:  # the case itself will tell
                    pixels = 0
                path.unlink()
            if pixels > LARGE:
                return replace(case, arguments=[LOAD, name])
    return case


def faults(case: Case, result: dict[str, Any]) -> list[str]:
    """Return what is wrong with a result, nothing if all is well."""
    code, stderr = result["exit"], result["stderr"]
    found = []
    if code not in (0, 2, 3, 4):
        found.append(f"exit code {code}")
    if re.search(r"unexpected (error|\w+:)", stderr) or "Traceback" in stderr + result["stdout"]:
        found.append("an unexpected error")
    lines = [line for line in stderr.splitlines() if not line.startswith("relblur: note: ")]
    batch = any(name.endswith("batch.json") for name in result["new"])  # tells of every pair
    pairs = len(re.findall(r"^\d+/\d+ ", stderr, re.MULTILINE))
    if len(lines) > (9 + 4 * pairs if batch else MOST_LINES.get(code, 25)):
        found.append(f"{len(lines)} lines of error")
    if code not in (0, 2) and not lines:
        found.append("an error without a word")
    left = [name for name in result["new"] if not batch or Path(name).name.startswith(".")]
    if code != 0 and left:
        found.append(f"left behind {left[:4]}")
    inputs = [name for name in result["changed"] if code != 0 or name not in case.outputs]
    if inputs:
        found.append(f"changed {inputs[:4]}")
    if result["seconds"] > case.limit_s:
        found.append(f"{result['seconds']:.0f} s")
    if result["peak"] > MOST_BYTES:
        found.append(f"{result['peak'] / 1e6:.0f} MB")
    return found


def _call(arguments: list[str]) -> int:
    """Run the program as its script does, and return the exit code."""
    sys.argv = ["relblur", *arguments]
    try:
        if arguments[:1] == [LOAD]:
            return _load(arguments[1])
        from relblur.apps.cli.app import main

        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # what the interpreter would do
        import traceback

        traceback.print_exc()
        return 1
    return 0


def _load(path: str) -> int:
    import relblur
    from relblur.images.depth_formats import read_pfm
    from relblur.images.reading import read_bytes

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if path.endswith(".pfm"):
                read_pfm(read_bytes(path), path)
            else:
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
    told: list[str] = []
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        try:
            yield told
        finally:
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            for number, (copy, stream) in enumerate(zip(kept, (out, err), strict=True), start=1):
                os.dup2(copy, number)
                os.close(copy)
                stream.seek(0)
                told.append(stream.read(10_000).decode("utf-8", "replace"))


def _listing(folder: Path) -> dict[str, Any]:
    """Return every file with its content and every folder, by path."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        name = str(path.relative_to(folder))
        found[name] = path.read_bytes() if path.is_file() and path.stat().st_size < 10**6 else path.is_dir()
    return found


def _memory(field: str) -> int:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(field))
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _forget_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def prepare() -> None:
    """Limit the memory of this process, and make each command once: from annotations it takes half of the time."""
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
    typer.main.get_command = cache(typer.main.get_command)


def work(names: list[str], seed: int) -> None:
    """Run cases one after the other and print a line of JSON before and after each, until there are enough."""
    prepare()
    report = os.fdopen(os.dup(1), "w")
    folder = Path(tempfile.mkdtemp(prefix="relblur_fuzz_"))
    inside = folder / "case"
    try:
        for name in names[:MOST_CASES]:
            print(json.dumps({"starting": name}), file=report, flush=True)
            case = make_case(name, seed)
            inside.mkdir()
            case = only_read_if_large(case, inside)
            result = run(case, inside)
            result |= {"name": name, "faults": faults(case, result), "command": (case.arguments or ["none"])[0]}
            print(json.dumps(result), file=report, flush=True)
            shutil.rmtree(inside)
            if _memory("VmRSS") > MOST_HELD:
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def watch(names: list[str], seed: int, results: list[dict[str, Any]]) -> None:
    """Have cases run by processes that are replaced when they hang, die or have done enough; add what happened."""
    while names:
        command = [sys.executable, "-X", "faulthandler", __file__, "--worker", "--seed", str(seed)]
        with tempfile.TemporaryFile("w+") as wanted:
            json.dump(names, wanted)
            wanted.seek(0)
            # Without a buffer: select must see what has not been read.
            worker = subprocess.Popen(command, bufsize=0, stdin=wanted, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert worker.stdout is not None
        current, finished = None, 0
        while True:
            limit = 150.0  # also on a busy machine; what was slow shows in the time it took
            line = worker.stdout.readline() if select.select([worker.stdout], [], [], limit)[0] else None
            if not line:  # the process has ended, or hangs
                break
            result = json.loads(line)
            current = result.get("starting")
            if current is None:
                finished += 1
                results.append(result)
        worker.kill()
        said = worker.communicate()[1].decode("utf-8", "replace")
        if current is not None:
            what = "hung" if line is None else f"died with {worker.returncode}"
            failure = {"name": current, "faults": [what], "stderr": said[-2000:], "command": "?"}
            results.append({**failure, "seconds": 0, "peak": 0})
            finished += 1
        names = names[finished:]


def summarise(results: list[dict[str, Any]]) -> int:
    """Print the failures and the counts by command and exit code; return the number of failures."""
    failed = [result for result in results if result["faults"]]
    for result in failed:
        last = " ".join(result["stderr"].split())[-300:]
        print(f"FAILED {result['name']} {result['command']}: {', '.join(result['faults'])}: {last}")
    exits = Counter(f"{result['command']} {result.get('exit')}" for result in results)
    print(", ".join(f"{name}: {count}" for name, count in sorted(exits.items())))
    longest, largest = (max((result[name] for result in results), default=0) for name in ("seconds", "peak"))
    print(f"{len(results)} cases, {len(failed)} failed; longest {longest:.1f} s, most memory {largest / 1e6:.0f} MB")
    return len(failed)


def show_one(name: str, seed: int) -> int:
    """Run one case and print everything about it."""
    case = make_case(name, seed)
    with tempfile.TemporaryDirectory(prefix="relblur_fuzz_") as folder:
        case = only_read_if_large(case, Path(folder))
        result = run(case, Path(folder).resolve())
    print(f"{case.name}: {case.about}\nrelblur {case.arguments}\n{result['stdout']}{result['stderr']}")
    wrong = faults(case, result)
    print({key: value for key, value in result.items() if key not in ("stdout", "stderr")}, wrong or "fine")
    return int(bool(wrong))


def main() -> int:
    """Read the options and start."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=2000, help="spoilt files")
    parser.add_argument("--options", type=int, default=200, help="option sets")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", help="one case, such as f123 or o45")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(json.load(sys.stdin), chosen.seed)
        return 0
    if chosen.only:
        return show_one(chosen.only, chosen.seed)
    names = [f"f{n}" for n in range(chosen.files)] + [f"o{n}" for n in range(chosen.options)]
    results: list[dict[str, Any]] = []
    parts = [names[part :: chosen.workers] for part in range(chosen.workers)]
    threads = [threading.Thread(target=watch, args=(part, chosen.seed, results)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return int(bool(summarise(results)))


if __name__ == "__main__":
    sys.exit(main())
