"""All loops in NumPy and OpenCV together."""

from __future__ import annotations

from ..team import ThreadTeam
from .coordinate import CoordinateLoops
from .evidence import EvidenceLoops
from .labels import LabelLoops
from .prior import PriorLoops
from .slopes import SlopeLoops

__all__ = ["PlainLoops", "make_loops"]


class PlainLoops(EvidenceLoops, CoordinateLoops, LabelLoops, PriorLoops, SlopeLoops):
    """The engine ``"opencv"`` of the refined estimator."""

    def __init__(self, team: ThreadTeam) -> None:
        self.team = team


def make_loops(team: ThreadTeam) -> PlainLoops:
    """Return the loops of one estimate."""
    return PlainLoops(team)
