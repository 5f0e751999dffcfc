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


@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_every_item_is_worked_on_once_before_the_call_returns(team, count):
    for _ in range(50):
        done = []
        team.each(lambda item: (time.sleep(1e-4), done.append(item)), iter(range(count)))  # noqa: B023
        assert sorted(done) == list(range(count))


def test_an_error_is_raised_when_all_have_ended(team):
    ended = []

    def work(item):
        if item == 0:
            raise ValueError("no")
        time.sleep(0.05)
        ended.append(item)

    with pytest.raises(ValueError, match="no"):
        team.each(work, range(3))
    assert sorted(ended) == [1, 2]
    team.each(ended.append, range(3))  # and the team is as good as new
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

    def work(item):
        if threading.current_thread() is threading.main_thread():
            time.sleep(0.05)  # the helper takes the other item
        else:
            _thread.interrupt_main()
            time.sleep(0.2)
        ended.append(item)

    with pytest.raises(KeyboardInterrupt):
        team.each(work, range(2))
    assert len(ended) >= 1
    assert threading.main_thread() is threading.current_thread()


def test_work_may_call_its_own_team(team):
    done = []

    team.each(lambda _: team.each(done.append, range(3)), range(3))
    assert sorted(done) == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("how", ["closed", "forgotten"])
def test_helpers_end_with_their_team(how):
    before = set(threading.enumerate())
    team = Team(4)
    team.each(lambda _: None, range(4))
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
