"""Threads that share short work."""

from __future__ import annotations

import _thread
import gc
import signal
import threading
import time

import pytest

from relblur.kernels.threads import Team


@pytest.fixture
def team():
    team = Team(3)
    yield team
    team.close()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_every_work_is_done_once(team, count):
    done = []
    for _ in range(5):
        team.run([lambda k=k: done.append(k) for k in range(count)])
    assert sorted(done) == sorted(5 * list(range(count)))


def test_every_item_is_worked_on_once(team):
    done = []
    team.each(done.append, iter(range(50)))
    assert sorted(done) == list(range(50))


def test_a_team_of_one_works_in_the_calling_thread():
    threads = []
    Team(1).run([lambda: threads.append(threading.current_thread())] * 3)
    assert set(threads) == {threading.current_thread()}


@pytest.mark.parametrize("where", [0, 1])
def test_an_error_is_raised_when_all_have_ended(team, where):
    ended = []

    def fail():
        raise ValueError("no")

    def take_long():
        time.sleep(0.05)
        ended.append(True)

    works = [take_long, take_long]
    works.insert(where, fail)
    with pytest.raises(ValueError, match="no"):
        team.run(works)
    assert ended == [True, True]
    team.run([lambda: ended.append(True)] * 3)  # and the team is as good as new
    assert len(ended) == 5


@pytest.fixture
def interruptible():
    """A job in the background ignores SIGINT, and so would the test."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_interruption_waits_for_the_work_to_end(team):
    ended = []

    def interrupt():
        _thread.interrupt_main()
        time.sleep(0.1)
        ended.append(True)

    with pytest.raises(KeyboardInterrupt):
        team.run([lambda: None, interrupt])
    assert ended == [True]


def test_work_may_call_its_own_team(team):
    done = []

    def inner():
        team.run([lambda: done.append(threading.current_thread())] * 3)

    team.run([inner] * 3)
    assert len(done) == 9


@pytest.mark.parametrize("how", ["closed", "forgotten"])
def test_helpers_end_with_their_team(how):
    before = set(threading.enumerate())
    team = Team(4)
    helpers = set(threading.enumerate()) - before
    assert len(helpers) == 3
    if how == "closed":
        team.close()
        team.close()
    del team
    gc.collect()
    for helper in helpers:
        helper.join(10)
        assert not helper.is_alive()
