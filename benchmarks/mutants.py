"""Run mutation tests: make one small mistake at a time in a copy of the source, and run the tests that reach it.

    python benchmarks/mutants.py --modules photo/*.py depth/psf.py [--sample 25] [--seed 0] [--record photo]

A mutant is killed if a test fails or exceeds a time limit. It survives if all tests pass. Kinds of mutants:

    comparison    a < b becomes a <= b and a >= b;  ==, in, is become their opposites
    sign          + and - are exchanged, also * and /; ** becomes *; a minus sign is removed
    logic         and, or are exchanged, also & and |; a not is removed
    constant      0 becomes 1, a whole number n + 1, another number 1.5 times itself
    arguments     the two arguments of a call are exchanged

Texts, type hints, error messages, ``__all__`` and assignments of types are not changed. First all tests of the module's
package run once, to record which tests reach which line. Each mutant is then tested by the tests that reach its line,
the quickest first, up to ``--seconds`` of them. Mutants are numbered by position and drawn by ``--seed``, so a run can
be repeated. The program does not write to the work tree, and the copy cannot reach photographs beside the project.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from machine import write

ROOT = Path(__file__).resolve().parents[1]

#: The tests of a package or module, by the start of its path below src/relblur; the longest start counts.
TESTS = {
    "field/uncertainty": "blur/test_uncertainty.py blur/test_dense.py field",
    "apps/paper": "apps/paper",
    "photo/": "photo images/test_exif.py images/test_compression.py base/test_arguments.py",
    "depth/": "depth test_optics.py images/test_exif.py images/test_depth_formats.py "
    "apps/cli/test_depth.py apps/cli/test_range.py",
    "depth/equal_blur/": "depth/test_psf.py depth/test_matching.py depth/test_candidates.py depth/test_edges.py",
}
#: Table of constants, and the test that compares it with the source.
CONSTANTS, CONSTANTS_TEST = Path("benchmarks/constants.md"), "tests/house/test_constants.py"
#: Loaded once, before the first run: each run is a fork of this process. The package itself is not among them.
LIBRARIES = (
    "hypothesis numpy cv2 scipy.ndimage scipy.optimize scipy.special skimage.data PIL.Image tifffile typer.testing"
)
#: Without plugins that only take time; the warning says that one of them was loaded before.
PLAIN = ["-p", "no:cacheprovider", "-p", "no:hypothesispytest", "-W", "ignore::pytest.PytestAssertRewriteWarning"]
#: Calls that are symmetric in their two arguments.
SYMMETRIC = {"min", "max", "minimum", "maximum", "hypot", "array_equal", "broadcast_shapes", "isinstance", "zip"}

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """A piece of the source, by the bytes it takes up, and what stands there instead.

    ``statement`` holds the lines of the statement around it, or nothing if it runs when the module is imported.
    """

    line: int
    statement: range
    start: int
    end: int
    old: str
    new: str

    def applied(self, source: bytes) -> bytes:
        """Return the source with the mistake."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def mutants_of(source: bytes) -> list[Mutant]:
    """Return every mutant of a module, by its place."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    found = []
    tree = ast.parse(source)
    statements = _statements(tree)
    for node in _code(tree):
        if not hasattr(node, "col_offset"):  # operators: their expression is in the list
            continue
        start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        old = source[start:end].decode()
        for other in _mistakes(node):
            new = f"({ast.unparse(ast.fix_missing_locations(other))})"
            # An assignment such as ``a += b`` is a statement and bears no brackets.
            new = new[1:-1] if isinstance(node, ast.AugAssign) else new
            found.append(Mutant(node.lineno, statements.get(node.lineno, range(0)), start, end, old, new))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.end, mutant.new))


def _statements(tree: ast.Module) -> dict[int, range]:
    """Return the lines of the innermost statement, without what it heads, at each line inside a function."""
    found: dict[int, range] = {}
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in (inner for outer in function.body for inner in ast.walk(outer) if isinstance(inner, ast.stmt)):
            body = getattr(node, "body", None)
            lines = range(node.lineno, body[0].lineno if body else (node.end_lineno or node.lineno) + 1)
            found |= dict.fromkeys(lines, lines)
    return found


def _code(node: ast.AST) -> Iterator[Any]:
    """Yield the nodes below one that do something."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "bases"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not _idle(child):
                yield child
                yield from _code(child)


def _idle(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        is_type = isinstance(node.value, ast.BinOp | ast.Subscript) and "[" in ast.unparse(node.value)
        name = target.id if isinstance(target, ast.Name) else ""
        return name == "__all__" or (is_type and name[:1].isupper() and not name.isupper())
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.alias)


def _mistakes(node: ast.AST) -> Iterator[ast.AST]:
    other = copy.deepcopy(node)
    if isinstance(node, ast.Compare):
        for place, operator in enumerate(node.ops):
            for flipped in COMPARISONS[type(operator)]:
                other = copy.deepcopy(node)
                other.ops[place] = flipped()
                yield other
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        if not isinstance(getattr(node, "left", None), ast.Constant | ast.JoinedStr) or _is_number(node.left):
            other.op = OPERATORS[type(node.op)]()
            yield other
    elif isinstance(node, ast.BoolOp):
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield other
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub | ast.Invert):
        yield other.operand
    elif _is_number(node):
        value = node.value
        other.value = value + 1 if value == 0 or isinstance(value, int) else 1.5 * value
        yield other
    elif isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name not in SYMMETRIC and not any(isinstance(argument, ast.Starred) for argument in node.args):
            other.args.reverse()
            yield other


def _is_number(node: Any) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


class Reach:
    """A pytest plugin that notes which lines of some modules each test runs, and how long it takes."""

    def __init__(self, modules: dict[str, str]) -> None:
        self.modules = modules  # name by path
        self.now = ""
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = defaultdict(float)

    def _trace(self, frame: Any, event: str, _: Any) -> Callable[..., Any] | None:
        name = self.modules.get(frame.f_code.co_filename)
        if name is None:
            return None
        self.lines[self.now].add((name, frame.f_lineno))
        return self._trace

    def pytest_sessionstart(self) -> None:
        """Follow the imports of the tests too."""
        self._watch()

    def _watch(self) -> None:
        threading.settrace(self._trace)
        sys.settrace(self._trace)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Lines belong to the file from here: its tests may share what a fixture makes."""
        self.now = item.nodeid.split("::")[0]
        self._watch()  # again: an exception that reaches it ends all tracing

    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Lines belong to this test from here."""
        self.now = item.nodeid

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add up what its fixtures and itself take."""
        self.seconds[report.nodeid] += report.duration

    def pytest_runtest_logfinish(self) -> None:
        """What runs between the tests (imports) belongs to all of them."""
        self.now = ""


def run_forked(folder: Path, arguments: list[str], seconds: float, plugin: Reach | None = None) -> int | None:
    """Run pytest in a fork of this process, on the copy in a folder; None after a time-out."""
    child = os.fork()
    if child == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.chdir(folder)
        with open(folder / "output.txt", "w") as stream:
            os.dup2(stream.fileno(), 1)
            os.dup2(stream.fileno(), 2)
        sys.path.insert(0, str(folder / "src"))
        os.environ["PYTHONPATH"] = str(folder / "src")
        code = 99
        try:
            code = int(pytest.main([*PLAIN, *arguments], [plugin] if plugin else []))
            if plugin is not None:
                lines = {test: sorted(places) for test, places in plugin.lines.items()}
                (folder / "reach.json").write_text(json.dumps({"lines": lines, "seconds": plugin.seconds}))
        finally:
            sys.stdout.flush()
            os._exit(code)
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                child = 0
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None
    finally:
        if child:  # too slow, or this program is being ended
            os.killpg(child, signal.SIGKILL)
            os.waitpid(child, 0)


class Trial:
    """A copy of the project in a temporary folder, and what its tests reach."""

    def __init__(self, folder: Path, modules: list[str], tests: list[str]) -> None:
        self.folder = folder
        for name in ("src", "tests"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(ROOT / "pyproject.toml", folder)
        (folder / CONSTANTS.parent).mkdir()
        shutil.copy(ROOT / CONSTANTS, folder / CONSTANTS)
        files = {str(self.path(module)): module for module in modules}
        # Doctests of the modules are tests like others.
        if run_forked(folder, [*tests, CONSTANTS_TEST, *files], 1800, Reach(files)) != 0:
            raise SystemExit(f"the tests fail before any mistake:\n{(folder / 'output.txt').read_text()[-4000:]}")
        known = json.loads((folder / "reach.json").read_text())
        self.seconds: dict[str, float] = known["seconds"]
        self.lines = {test: {(str(m), int(n)) for m, n in places} for test, places in known["lines"].items()}

    def path(self, module: str) -> Path:
        """Return where the copy of a module lies."""
        return self.folder / "src" / "relblur" / module

    def tests_reaching(self, module: str, statement: range, most_seconds: float) -> list[str]:
        """Return tests that run a statement, the quickest first; what runs at import is reached by all the module's."""
        wanted = {(module, line) for line in statement}
        who = {
            test
            for test, places in self.lines.items()
            if (wanted & places if wanted else any(name == module for name, _ in places))
        }
        if not wanted and who <= {""}:  # a module of data: nobody runs a line of it
            who = set(self.seconds)
        if not wanted:
            who.add(CONSTANTS_TEST)
        chosen, total = [], 0.0
        for test in sorted((t for t in self.seconds if {t, t.split("::")[0]} & who), key=lambda t: self.seconds[t]):
            total += self.seconds[test]
            if chosen and total > most_seconds:
                break
            chosen.append(test)
        return chosen

    def kills(self, module: str, mutant: Mutant, most_seconds: float) -> bool:
        """Whether some test fails with the mistake."""
        path = self.path(module)
        source = path.read_bytes()
        tests = self.tests_reaching(module, mutant.statement, most_seconds)
        if not tests:
            return False
        limit = 60 + 8 * sum(self.seconds[test] for test in tests)
        try:
            self._write(path, mutant.applied(source))
            return run_forked(self.folder, ["-x", *tests], limit) != 0
        finally:
            self._write(path, source)

    def _write(self, path: Path, source: bytes) -> None:
        path.write_bytes(source)
        # Python tells old bytecode by time in seconds and length: a mistake may change neither.
        for old in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            old.unlink()


def tests_of(module: str) -> tuple[str, ...]:
    """Return the test files of a module that exist."""
    starts = [start for start in TESTS if module.startswith(start)]
    if not starts:
        raise SystemExit(f"no tests are named for {module}: add it to TESTS")
    named = [ROOT / "tests" / name for name in TESTS[max(starts, key=len)].split()]
    files = [file for path in named for file in (sorted(path.rglob("test_*.py")) if path.is_dir() else [path])]
    return tuple(str(file.relative_to(ROOT)) for file in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", nargs="+", required=True, help="files or patterns below src/relblur")
    parser.add_argument("--sample", type=int, default=25, help="most mutants of a file (default 25)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=20, help="most seconds of tests a mutant (default 20)")
    parser.add_argument("--record", metavar="NAME", help="write benchmarks/results/mutants_NAME.json")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the copy is removed
    home = ROOT / "src" / "relblur"
    found = {path.relative_to(home).as_posix() for pattern in asked.modules for path in home.glob(pattern)}
    groups: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for module in sorted(found - {name for name in found if name.endswith("__init__.py")}):
        groups[tests_of(module)].append(module)
    for library in LIBRARIES.split():
        importlib.import_module(library)
    rows = []
    for tests, modules in groups.items():
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            trial = Trial(Path(folder).resolve(), modules, list(tests))
            rows += [try_module(trial, module, asked) for module in modules]
    total = {"module": "all"} | {name: sum(row[name] for row in rows) for name in ("mutants", "tried", "killed")}
    print("\n| module | mutants | tried | killed | share |\n|---|---|---|---|---|")
    for row in [*rows, total]:
        share = row["killed"] / max(row["tried"], 1)
        print(f"| {row['module']} | {row['mutants']} | {row['tried']} | {row['killed']} | {share:.0%} |")
    if asked.record:
        print(f"\nrecord: {write(f'mutants_{asked.record}', rows)}")


def try_module(trial: Trial, module: str, asked: argparse.Namespace) -> dict[str, Any]:
    """Try a sample of a module's mutants; return how many there are, were tried, were killed, and who survived."""
    mutants = mutants_of(trial.path(module).read_bytes())
    drawn = random.Random(f"{asked.seed} {module}").sample(range(len(mutants)), min(asked.sample, len(mutants)))
    survivors = []
    for number in sorted(drawn):
        mutant = mutants[number]
        if not trial.kills(module, mutant, asked.seconds):
            old, new = (" ".join(text.split()) for text in (mutant.old, mutant.new))
            survivors.append(f"line {mutant.line}: {old} -> {new}")
            print(f"survived {module} {survivors[-1]}", flush=True)
    killed = len(drawn) - len(survivors)
    print(f"{module}: {killed} of {len(drawn)} killed", flush=True)
    return {
        "module": module,
        "mutants": len(mutants),
        "tried": len(drawn),
        "killed": killed,
        "survivors": survivors,
    }


if __name__ == "__main__":
    main()
