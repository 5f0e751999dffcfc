"""Old names of the Python API: they work until version 1.1, with a warning that prints the new call."""

from __future__ import annotations

import warnings

__all__ = ["warn_of_old_call"]


def warn_of_old_call(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn that a call is deprecated and print its replacement; the default level is the caller's caller."""
    warnings.warn(f"{old} is deprecated and ends with relblur 1.1; use {new}", DeprecationWarning, stacklevel + 1)
