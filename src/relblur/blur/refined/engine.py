"""Which loops an estimate runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .loops import Loops
from .plain.loops import PlainLoops
from .team import ThreadTeam

__all__ = ["open_loops"]


@contextmanager
def open_loops(engine: str, workers: int) -> Iterator[Loops]:
    """Lend the loops of an engine, "opencv" or "numba"; threads and work arrays end with the block."""
    team = ThreadTeam(workers)
    try:
        yield _loops(engine, team)
    finally:
        team.close()


def _loops(engine: str, team: ThreadTeam) -> Loops:
    if engine != "numba":
        return PlainLoops(team)
    from .compiled.loops import CompiledLoops, load  # brings numba with it

    load()
    return CompiledLoops(team)
