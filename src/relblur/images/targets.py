"""What a command is about to write, looked at before its work: nothing unasked is replaced, and never an input."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ..base.errors import OutputExistsError
from .replacing import check_target, plain_errors
from .staging import entered

__all__ = ["place_of", "refuse_file_name", "refuse_inputs", "refuse_to_replace", "refuse_to_replace_file"]

#: Time for another run to move its files in; one that stays longer is told to the user at once.
_SOON_S = 2.0

#: No folder is called so, unless by mistake.
FILE_SUFFIXES = (
    *(".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".exr", ".heic", ".avif", ".bmp", ".gif", ".pdf", ".svg"),
    *(".npz", ".npy", ".ply", ".pfm", ".csv", ".json", ".html", ".zip", ".txt", ".toml"),
)


def refuse_file_name(folder: Path) -> None:
    """Stop before the work if what is to become a folder is called like a file."""
    if folder.suffix.lower() in FILE_SUFFIXES and not os.path.lexists(folder):
        raise OutputExistsError(
            f"the results are several files and go into a folder, and {folder} is the name of one file; "
            f"choose another, such as {folder.with_suffix('')}"
        )


def refuse_to_replace(folder: Path, names: Iterable[str], force: bool) -> None:
    """Stop before the work if files of these names are in the folder and may not be replaced."""
    if os.path.lexists(folder) and not os.path.isdir(folder):
        raise OutputExistsError(f"{folder} is a file; name a folder for the results")
    refuse_file_name(folder)
    with plain_errors(folder):
        if not os.path.isdir(folder):
            return
        with entered(folder, _SOON_S):
            there = [name for name in names if os.path.lexists(folder / name)]
    if there and not force:
        more = f" and {len(there) - 1} more" if len(there) > 1 else ""
        raise OutputExistsError(f"{folder / there[0]}{more} would be replaced; add --force or choose another folder")


def refuse_to_replace_file(path: Path | None, force: bool) -> None:
    """Stop before the work if this file is there and may not be replaced, or cannot be written anyway."""
    if path is None:
        return
    with plain_errors(path):
        if os.path.lexists(path) and not force and not os.path.isdir(path):
            raise OutputExistsError(f"{path} would be replaced; add --force or choose another name")
    check_target(path)


def refuse_inputs(outputs: Iterable[Path | None], inputs: Iterable[Path | None]) -> None:
    """Stop before the work if an output is one of the inputs, by whatever name, or another output."""
    taken = {place_of(path): "is also read by this command" for path in inputs if path is not None}
    for path in outputs:
        if path is None:
            continue
        place = place_of(path)
        what = taken.get(place)
        if what is not None:
            raise OutputExistsError(f"{path} {what} and would be replaced; choose another name for the output")
        taken[place] = "is already an output of this command"


def place_of(path: Path) -> tuple[int, int] | str:
    """Return what two names of one file have in common: its number on its device, or where it would be."""
    real = os.path.realpath(path)
    try:
        state = os.stat(real)
    except OSError:
        return real
    return state.st_dev, state.st_ino
