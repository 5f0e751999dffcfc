"""Folders of results, read back: what ``estimate``, ``depth``, ``stack`` and ``range`` left there, one pair or many."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base.errors import FileError
from ..blur.blur_map import BlurMap
from ..depth.depth_map import read_depth_map
from ..depth.relation import DepthRange
from ..images.images import read_image
from ..images.reading import read_bytes
from ..stacks.stack_map import read_stack_map
from .batch import BATCH_FILE
from .page import About, ResultPage
from .result_pages import blur_page, depth_page, range_page, stack_page

__all__ = ["read_folder"]

#: What tells a folder of results, in the order of looking.
BLUR_FILE, DEPTH_FILE, STACK_FILE, RANGE_FILE = "blur_map.npz", "depth.npz", "stack.npz", "probability.tif"
RESULT_FILES = (BLUR_FILE, DEPTH_FILE, STACK_FILE, RANGE_FILE)
SUMMARY_FILE = "summary.json"

_LONGEST_SUMMARY = 10_000_000  # bytes


def read_folder(folder: Path, about: About) -> tuple[list[ResultPage], list[tuple[str, str]]]:
    """Return the results in a folder as pages, and the pairs that have none, with the reason.

    A folder of many pairs, or any that has folders of results in it, gives them all.
    """
    if _holds_result(folder):
        return [_read_one(folder, about)], []
    failures = _failed_pairs(folder)
    inside = [path for path in _folders(folder) if _holds_result(path)]
    if not inside and not failures:
        raise FileError(
            f"{folder} holds no result of relblur ({', '.join(RESULT_FILES)}); "
            "name a folder that 'relblur estimate', 'depth', 'stack' or 'range' wrote"
        )
    many = about.is_one_of_many or len(inside) > 1 or bool(failures)
    pages = []
    for path in inside:
        try:
            pages.append(_read_one(path, replace(about, title=path.name, is_one_of_many=many)))
        except FileError as error:
            failures.append((path.name, str(error)))
    return pages, failures


def _read_one(folder: Path, about: About) -> ResultPage:
    summary = _read_summary(folder)
    about = replace(about, notes=about.notes or _texts(summary.get("notes")))
    if (folder / BLUR_FILE).is_file():
        error = summary.get("remade_mean_absolute_error")
        remade = {"remade_mean_absolute_error": error if isinstance(error, float) else None}
        return blur_page(BlurMap.load(folder / BLUR_FILE), about, summary=remade)
    if (folder / DEPTH_FILE).is_file():
        left_out = {"left_out": _texts(summary.get("left_out"))}
        return depth_page(read_depth_map(folder / DEPTH_FILE), about, summary=left_out)
    if (folder / STACK_FILE).is_file():
        fused = folder / "fused.png"
        picture = read_image(fused) if fused.is_file() else None
        return stack_page(read_stack_map(folder / STACK_FILE), about, picture, summary)
    return range_page(_read_range(folder, summary), about)


def _read_range(folder: Path, summary: dict[str, Any]) -> DepthRange:
    probability = np.asarray(read_image(folder / RANGE_FILE), dtype=np.float64)
    ends = [summary.get(name) for name in ("nearest_m", "farthest_m")]
    if probability.ndim != 2 or not all(isinstance(end, (int, float)) for end in ends):
        raise FileError(f"{folder} is not a complete result of 'relblur range'; make it again")
    with np.errstate(invalid="ignore"):
        between = probability >= 0.5
    return DepthRange(between, probability, float(ends[0] or 0), float(ends[1] or 0))


def _holds_result(folder: Path) -> bool:
    return any((folder / name).is_file() for name in RESULT_FILES)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError as error:
        raise FileError(f"the folder {folder} cannot be read: {error.strerror}") from None


def _read_summary(folder: Path) -> dict[str, Any]:
    found = _read_json(folder / SUMMARY_FILE)
    return found if isinstance(found, dict) else {}


def _failed_pairs(folder: Path) -> list[tuple[str, str]]:
    """Return the pairs of a run over many that failed, as it wrote them down."""
    found = _read_json(folder / BATCH_FILE)
    pairs = found.get("pairs") if isinstance(found, dict) else None
    if not isinstance(pairs, list):
        return []
    return [
        (str(each.get("name")), str(each.get("error")))
        for each in pairs
        if isinstance(each, dict) and each.get("state") == "failed"
    ]


def _read_json(path: Path) -> Any:
    if not path.is_file() or os.path.getsize(path) > _LONGEST_SUMMARY:
        return None
    try:
        return json.loads(read_bytes(path))
    except (FileError, ValueError, RecursionError):
        return None


def _texts(values: Any) -> Sequence[str]:
    return tuple(map(str, values)) if isinstance(values, list) else ()
