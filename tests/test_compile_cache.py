"""Compiled code is a pickle: it is read only from where nobody else can put it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from relblur.engines import compile_cache as compiled

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and permissions of POSIX")

numba = pytest.importorskip("numba")

STRANGER = 1


@pytest.fixture
def candidates(monkeypatch):
    """Set the directories that are looked at; the choice is made anew."""

    def look_at(*roots: Path) -> Path | None:
        monkeypatch.setattr(compiled, "_candidates", lambda: list(roots))
        compiled._chosen_directory.cache_clear()
        return compiled.cache_directory()

    yield look_at
    monkeypatch.undo()
    compiled._chosen_directory.cache_clear()


@pytest.fixture
def home(tmp_path):
    """Return a folder that the user owns alone, below the temporary one."""
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def test_a_directory_of_the_users_own_is_made_for_the_user_alone_whatever_the_umask(candidates, home):
    before = os.umask(0)
    try:
        assert candidates(home / ".cache" / "relblur") == home / ".cache" / "relblur" / "relblur-compiled"
    finally:
        os.umask(before)
    for made in (".cache", ".cache/relblur", ".cache/relblur/relblur-compiled"):
        assert (home / made).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o702])
@pytest.mark.parametrize("which", ["cache", "cache/relblur", "cache/relblur/relblur-compiled"])
def test_a_directory_that_others_can_write_anywhere_above_is_not_used(candidates, home, which, mode):
    (home / "cache" / "relblur" / "relblur-compiled").mkdir(parents=True)
    assert candidates(home / "cache" / "relblur") is not None
    (home / which).chmod(mode)
    assert candidates(home / "cache" / "relblur") is None
    assert candidates(home / "cache" / "relblur", home / "other") == home / "other" / "relblur-compiled"  # the next


def test_others_may_write_beside_it_where_the_sticky_bit_protects(candidates, home):
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)
    assert candidates(home / "tmp" / "relblur-0") is not None
    (home / "tmp" / "relblur-0" / "relblur-compiled").chmod(0o1777)  # the directory itself holds what is read
    assert candidates(home / "tmp" / "relblur-0") is None


def test_the_directory_and_what_is_above_it_must_belong_to_the_user_or_to_root(candidates, home, monkeypatch):
    assert candidates(home) is not None
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert candidates(home) is None


def test_a_link_in_place_of_the_directory_is_not_followed(candidates, home):
    (home / "elsewhere").mkdir(mode=0o700)
    (home / "relblur-compiled").symlink_to(home / "elsewhere")
    assert candidates(home) is None


def test_the_directory_is_looked_at_again_before_every_use(candidates, home):
    path = candidates(home)
    assert path is not None
    path.chmod(0o777)
    assert compiled.cache_directory() is None
    path.chmod(0o700)
    assert compiled.cache_directory() == path
    path.rename(home / "away")
    path.symlink_to(home / "away")
    assert compiled.cache_directory() is None


def kept(function):
    """Return the cache of a function that numba has not compiled yet."""
    cache = compiled._attach_cache(function)
    assert cache is not None
    return cache


def test_nothing_is_read_when_the_directory_has_been_exchanged(candidates, home, monkeypatch):
    path = candidates(home)
    twice = numba.njit(lambda x: 2 * x)
    cache, types = kept(twice), (numba.float64,)
    compiled.prepare([(twice, types)])
    assert cache.holds(types, twice.targetctx)
    assert cache.load_overload(types, twice.targetctx) is not None
    path.chmod(0o777)
    monkeypatch.setattr(compiled.pickle, "loads", lambda data: pytest.fail("read"))
    assert not cache.holds(types, twice.targetctx)
    assert cache.load_overload(types, twice.targetctx) is None
    cache.save_overload(types, twice.overloads[types])
    assert [file.suffix for file in path.iterdir()] == [".nbc"]


def test_what_was_compiled_as_a_part_of_something_else_is_kept_when_it_is_asked_for(candidates, home):
    path = candidates(home)
    half = numba.njit(lambda x: x / 2)
    quarter = numba.njit(lambda x: half(half(x)))
    types = (numba.float64,)
    compiled.prepare([(quarter, types)])
    assert types in half.overloads
    assert len(list(path.iterdir())) == 1
    compiled.prepare([(half, types)])
    assert len(list(path.iterdir())) == 2
    assert kept(half).holds(types, half.targetctx)


def test_two_versions_of_the_package_keep_their_code_side_by_side(candidates, home, monkeypatch):
    candidates(home)
    for version in ("one", "other"):
        monkeypatch.setattr(compiled, "_digest_of_sources", lambda version=version: version)
        thrice = numba.njit(lambda x: 3 * x)
        assert not compiled.is_ready([(thrice, (numba.int64,))])
        compiled.prepare([(thrice, (numba.int64,))])
    for version in ("one", "other"):
        monkeypatch.setattr(compiled, "_digest_of_sources", lambda version=version: version)
        assert compiled.is_ready([(numba.njit(thrice.py_func), (numba.int64,))])


def test_many_who_save_at_the_same_time_lose_nothing(candidates, home):
    candidates(home)

    def save(number):
        files = compiled._Files("function")
        files.save(("types", number), [number] * 1000)
        files.save("types of all", [number])
        return files.load("types of all")

    with ThreadPoolExecutor(8) as pool:
        seen = list(pool.map(save, range(200)))
    files = compiled._Files("function")
    assert all(files.load(("types", number)) == [number] * 1000 for number in range(200))
    assert all(isinstance(each, list) and len(each) == 1 for each in seen)
    assert len(list((home / "relblur-compiled").iterdir())) == 201


def test_a_file_is_used_for_its_own_key_only(candidates, home):
    candidates(home)
    files = compiled._Files("function")
    files.save("one", 1)
    files.path("one").rename(files.path("other"))
    assert files.load("one") is None
    assert files.load("other") is None


def test_code_that_nobody_has_loaded_for_long_is_deleted_and_nothing_else(candidates, home):
    path = candidates(home)
    files = compiled._Files("function")
    long_ago = time.time() - (compiled.DAYS_KEPT + 1) * 86400
    for key in ("loaded", "forgotten"):
        files.save(key, key)
        os.utime(files.path(key), (long_ago, long_ago))
    for name in ("half.tmp", "list.nbi", "mine.txt"):
        (path / name).write_text("")
        os.utime(path / name, (long_ago, long_ago))
    (path / "young.tmp").write_text("")
    assert files.load("loaded") == "loaded"
    compiled._clear_out()
    assert {file.name for file in path.iterdir()} == {files.path("loaded").name, "mine.txt", "young.tmp"}


@pytest.fixture
def shared():
    """Return a folder such as /tmp; those of pytest are closed to other users."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o1777)
        yield Path(folder).resolve()


TWO_USERS = """
import os, sys, tempfile
from pathlib import Path
from relblur.engines import compile_cache as compiled
os.environ.update(HOME="/nonexistent", XDG_CACHE_HOME="")
tempfile.tempdir = sys.argv[1]
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
print(compiled.cache_directory())
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="two users need root")
def test_a_directory_that_another_user_has_prepared_is_not_used(shared):

    def directory() -> str:
        environment = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
        command = [sys.executable, "-c", TWO_USERS, str(shared)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return done.stdout.strip()

    prepared = shared / "relblur-65534"
    prepared.mkdir()
    os.chown(prepared, STRANGER, STRANGER)
    prepared.chmod(0o777)
    inside = prepared / "relblur-compiled"
    inside.mkdir(mode=0o700)
    os.chown(inside, 65534, 65534)  # the user's own, but its parent's owner can exchange it
    assert directory() == "None"
    inside.rmdir()
    prepared.rmdir()
    assert directory() == str(inside)
