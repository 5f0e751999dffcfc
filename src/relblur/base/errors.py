"""Errors that relblur raises on purpose.

All derive from :class:`RelblurError` and from the built-in error that callers already catch. A message names the
argument, the value received, the values allowed, and the remedy.
"""

from __future__ import annotations

__all__ = ["AlignmentError", "FileError", "InputError", "MissingDependencyError", "OutputExistsError", "RelblurError"]


class RelblurError(Exception):
    """The root of all errors that relblur raises on purpose."""


class InputError(RelblurError, ValueError):
    """An argument cannot be used: wrong shape, type, value or combination."""


class AlignmentError(InputError):
    """Two images cannot be aligned: they do not show the same scene."""


class FileError(RelblurError, OSError):
    """A file cannot be read or written."""


class OutputExistsError(FileError, FileExistsError):
    """The output exists and may not be replaced."""


class MissingDependencyError(RelblurError, ImportError):
    """An optional package is missing."""
