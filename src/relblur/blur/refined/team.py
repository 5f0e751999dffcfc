"""The thread team of an estimate, and how work is shared out among it.

What runs on it must give the same numbers however it is shared out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ...engines.threads import Team

__all__ = ["SERIAL", "WORTH_SHARING", "ThreadTeam"]

#: Elements below which starting a thread costs more than it saves.
WORTH_SHARING = 150_000


class ThreadTeam:
    """Some threads, the caller's among them.

    Parameters
    ----------
    workers : int
        How many; with one, everything is serial.
    """

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers
        self._team = Team(workers)

    def each(self, work: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Run ``work`` on every item."""
        self._team.each(work, items)

    def share_rows(self, work: Callable[[slice], None], height: int, size: int) -> None:
        """Run ``work`` on blocks of rows, a block a thread, if the arrays of ``size`` elements are worth sharing."""
        if self.workers == 1 or size < WORTH_SHARING or height < self.workers:
            work(slice(0, height))
            return
        edges = np.linspace(0, height, self.workers + 1).astype(int).tolist()
        self._team.run([partial(work, slice(top, bottom)) for top, bottom in pairwise(edges)])

    def together(self, work: Callable[[int], None], members: int) -> None:
        """Run ``work`` once for each of some members, all at the same time, so that they may wait at a barrier."""
        self._team.run_together(work, members)

    def close(self) -> None:
        """End the threads."""
        self._team.close()


#: The calling thread alone.
SERIAL = ThreadTeam()
