"""Discrete decisions: ``labels`` (the start), ``propagate`` (moves in between), ``jumps`` (a prefilter beside them)."""
