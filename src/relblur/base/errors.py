"""Every error relblur raises on purpose.

All of them are :class:`RelblurError`, and each is also the builtin that people already
catch. A message names the argument, what was received, what is allowed, and what to do.
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
