"""Which loops an estimate runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from .loops import ENGINES, Loops
from .team import ThreadTeam

__all__ = ["open_loops"]


@contextmanager
def open_loops(engine: str, workers: int) -> Iterator[Loops]:
    """Lend the loops of an engine; threads and work arrays end with the block."""
    offered = import_module(f".{ENGINES[engine]}", __package__)  # compiled ones bring numba with them
    team = ThreadTeam(workers)
    try:
        yield offered.make_loops(team)
    finally:
        team.close()
