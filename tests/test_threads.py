"""Threads that share short work, and those that wait for each other inside compiled code."""

from __future__ import annotations

import _thread
import gc
import signal
import threading
import time

import numba
import numpy as np
import pytest
from relblur.engines.barrier import abort, fetch_add, new_barrier, wait_for_all

from relblur.engines.threads import Team


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


@pytest.mark.parametrize("members", [1, 2, 3])
def test_members_work_at_the_same_time(team, members):
    together = threading.Barrier(members)
    ranks = []

    def work(rank):
        together.wait(10)
        ranks.append(rank)

    team.run_together(work, members)
    assert sorted(ranks) == list(range(members))


def test_members_wait_for_a_team_that_is_busy(team):
    together = threading.Barrier(3)
    others = [threading.Thread(target=team.run_together, args=(lambda rank: together.wait(10), 3)) for _ in range(4)]
    for other in others:
        other.start()
    for other in others:
        other.join(20)
    assert not together.broken
    assert not any(other.is_alive() for other in others)


def test_more_members_than_workers_are_refused(team):
    with pytest.raises(ValueError, match="4 members, but only 3 workers"):
        team.run_together(lambda rank: None, 4)


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


@pytest.mark.parametrize("wrong", [False, True])
def test_helpers_end_with_the_block_that_they_work_in(wrong):
    before = set(threading.enumerate())
    helpers: set[threading.Thread] = set()

    def work():
        with Team(3) as team:
            helpers.update(set(threading.enumerate()) - before)
            done = []
            team.each(done.append, range(5))
            assert sorted(done) == list(range(5))
            if wrong:
                raise ValueError("no")

    if wrong:
        with pytest.raises(ValueError, match="no"):
            work()
    else:
        work()
    assert len(helpers) == 2
    for helper in helpers:
        helper.join(10)
        assert not helper.is_alive()


@numba.njit(nogil=True)
def _count_rounds(place, workers, rounds, counts, wrong):
    """Add one to a count each round; after every barrier all must have done so."""
    for i in range(rounds):
        fetch_add(counts, i, 1)
        wait_for_all(place, workers)
        if counts[i] != workers:
            fetch_add(wrong, 0, 1)


@pytest.mark.parametrize("workers", [1, 2, 3, 8])
def test_nobody_passes_a_meeting_before_all_are_there(workers):
    place, wrong = new_barrier(), np.zeros(1, np.int64)
    counts = np.zeros(500, np.int64)
    team = Team(workers)
    team.run([lambda: _count_rounds(place, workers, len(counts), counts, wrong)] * workers)
    team.close()
    assert wrong[0] == 0
    assert (counts == workers).all()


def test_nobody_waits_for_ever_at_an_abandoned_meeting():
    place, counts, wrong = new_barrier(), np.zeros(1, np.int64), np.zeros(1, np.int64)
    waiting = threading.Thread(target=_count_rounds, args=(place, 2, 1, counts, wrong), daemon=True)
    waiting.start()
    waiting.join(0.2)
    assert waiting.is_alive()
    abort(place)
    waiting.join(10)
    assert not waiting.is_alive()
