"""How code is compiled and kept: inner functions, the second process, the digest of the sources."""

import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

from relblur.blur.window.realtime import runner
from relblur.engines import compile_cache, compile_helper
from relblur.engines.compile_inner import INNER

numba = pytest.importorskip("numba")

CALLS = runner._calls(["float64"])[1:4]


@numba.njit(**INNER)
def doubled(x):
    return 2 * x


@numba.njit(**INNER)
def sum_of_doubled(values):
    total = 0.0
    for x in values:
        total += doubled(x)
    return total


@numba.njit
def outer(values):
    return sum_of_doubled(values) + doubled(1.0)


def test_inner_functions_are_compiled_into_their_callers_and_nowhere_else():
    assert outer(np.arange(5.0)) == 22
    for inner in (doubled, sum_of_doubled):
        (compiled,) = inner.overloads.values()
        assert compiled.library.get_pointer_to_function(compiled.fndesc.mangled_name) == 0
    (compiled,) = outer.overloads.values()
    assert compiled.library.get_pointer_to_function(compiled.fndesc.mangled_name) != 0


def test_a_call_with_plain_numbers_does_not_compile_the_real_time_loops_again():
    """A constant that a loop hands on has a type of its own unless NumPy's type is given."""
    from relblur.blur.window.realtime import filters, tiles

    constants = [getattr(tiles, name) for name in ("_MADE", "_CARRIED", "_A", "_B", "_START", "_FIRST", "_SECOND")]
    assert {type(value) for value in (*constants, filters._START, filters._NEXT)} == {np.int64}
    assert {type(tiles._YES), type(tiles._NO)} == {np.bool_}


@pytest.fixture
def helpers(monkeypatch):
    """The processes that are started."""
    started = []
    start = compile_helper._start

    def watched(program):
        started.append(start(program))
        return started[-1]

    monkeypatch.setattr(compile_helper, "_start", watched)
    monkeypatch.setattr(compile_helper, "_cores", lambda: 2)
    yield started
    assert all(helper.poll() is not None for helper in started)


@pytest.mark.slow
def test_a_second_process_compiles_into_the_cache_meanwhile(helpers, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    here = []

    def compile_slowly(call):
        here.append(call)
        until = time.monotonic() + 100
        while len(list(tmp_path.rglob("*.nbc"))) < 2 and time.monotonic() < until:
            time.sleep(0.05)

    compile_helper.compile_in_two_processes(CALLS, compile_slowly, compile_cache._HELP_OUT)
    assert here == CALLS[:1]
    assert sorted(path.name.split("-")[0] for path in tmp_path.rglob("*.nbc")) == [
        "barrier.wait_for_all",
        "reach.run_reach",
    ]
    assert len(helpers) == 1


@pytest.mark.parametrize("program", ["raise SystemExit(1)", "import time; time.sleep(600)", "print('hello')"])
def test_without_the_second_process_no_more_than_what_it_was_given_is_left(program, helpers, monkeypatch):
    monkeypatch.setattr(compile_helper, "PATIENCE", 0.5)
    here = []
    start = time.monotonic()
    compile_helper.compile_in_two_processes(CALLS, here.append, program)
    assert time.monotonic() - start < 60
    assert len(here) >= len(CALLS) - 2
    assert CALLS[0] in here
    assert len(helpers) == 1


def test_an_error_here_ends_the_second_process(helpers):
    def fail(call):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compile_helper.compile_in_two_processes(CALLS, fail, "import time; time.sleep(600)")
    assert len(helpers) == 1


@pytest.mark.parametrize(("name", "value"), [("executable", None), ("executable", "/usr/bin/editor"), ("frozen", True)])
def test_no_second_process_inside_another_program(name, value, monkeypatch):
    monkeypatch.setattr(sys, name, value, raising=False)
    monkeypatch.setattr(compile_helper, "_cores", lambda: 2)
    assert compile_helper._start("") is None


def test_whatever_the_second_process_leaves_is_compiled(monkeypatch):
    monkeypatch.setattr(compile_cache, "is_ready", lambda calls: False)
    monkeypatch.setattr(compile_cache, "_is_there", lambda call: False)
    monkeypatch.setattr(compile_cache, "compile_in_two_processes", lambda *rest: None)
    compile_cache.prepare(CALLS)
    assert all(types in function.overloads for function, types in CALLS)


def test_compiled_code_is_forgotten_when_a_source_changes_that_it_may_be_made_of(tmp_path, monkeypatch):
    for package in compile_cache.SOURCES:
        shutil.copytree(compile_cache._ROOT / package, tmp_path / package)
    digest = compile_cache._digest_of_sources.__wrapped__
    before = digest()
    monkeypatch.setattr(compile_cache, "_ROOT", tmp_path)
    assert digest() == before
    seen = {before}
    for name in (
        "base/settings.py",
        "engines/simd.py",
        "filters/blur_levels.py",
        "blur/noise.py",
        "blur/window/realtime/plan.py",
        "blur/window/realtime/tiles.py",
        "blur/dense/run.py",
    ):
        with (tmp_path / name).open("a") as file:
            file.write("#\n")
        assert digest() not in seen
        seen.add(digest())


def test_compiled_functions_take_nothing_from_other_packages():
    code = (
        "import sys, relblur.blur.window.realtime.runner;"
        "print(*{m.__name__.split('.')[1] for n, m in sys.modules.items() if n.startswith('relblur.')})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages = set(done.stdout.split())
    assert {"engines", "filters", "blur"} <= packages
    assert packages <= set(compile_cache.SOURCES)
