"""Pages of saved results, and their provenance: input files with SHA-256, command, versions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shlex
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..base.errors import FileError, InputError
from ..blur.result import MapResult
from ..depth.relation import DepthRange
from ..images.images import read_image
from ..images.reading import read_bytes
from .batch import BATCH_FILE
from .io import load
from .page import About, ResultPage
from .result_pages import map_page, range_page
from .summary import SUMMARY_FILE

__all__ = ["digest", "provenance", "read_results"]

#: Files that identify a folder of results, in order of precedence.
MAP_FILES, RANGE_FILE = ("blur_map.npz", "depth.npz", "stack.npz"), "probability.tif"
RESULT_FILES = (*MAP_FILES, RANGE_FILE)

#: Packages whose version may influence the results.
PACKAGES = ("numpy", "opencv-python-headless", "scipy", "pillow", "tifffile")

_LONGEST_SUMMARY = 10_000_000  # bytes


def provenance(inputs: Sequence[Path] = (), command: Sequence[str] = ()) -> list[tuple[str, str]]:
    """Return the provenance of a page as rows of a table: input files, command, versions, date."""
    rows = [(path.name, _content(path)) for path in inputs]
    if command:
        rows.append(("command", shlex.join(command)))
    rows.append(("page made", f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by relblur {__version__}"))
    versions = [f"{name} {version}" for name in PACKAGES if (version := _version(name))]
    rows.append(("with", ", ".join([f"Python {platform.python_version()}", *versions])))
    rows.append(("on", f"{platform.system()} {platform.machine()}"))
    return rows


def digest(path: Path) -> tuple[int | None, str | None]:
    """Return size and SHA-256 of a file; None for a path that is not a readable file, such as a folder."""
    try:
        with open(path, "rb") as stream:
            return path.stat().st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return None, None


def _content(path: Path) -> str:
    size, sha256 = digest(path)
    if sha256 is None:
        return "a folder" if path.is_dir() else "missing"
    return f"{size} bytes, SHA-256 {sha256}"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def read_results(path: Path, about: About) -> tuple[list[ResultPage], list[tuple[str, str]]]:
    """Return the results at a path as pages, and the pairs without a result as (name, reason).

    The path is a saved map, a folder of results, or a folder that contains such folders (a run over many pairs).
    """
    if not path.is_dir():
        result = load(path)
        if not isinstance(result, MapResult):
            raise InputError(
                f"{path} is an image, not a result; name a folder of results, or a .npz that relblur saved"
            )
        return [map_page(result, about)], []
    if _has_result(path):
        return [_read_folder(path, about)], []
    failures = _failed_pairs(path)
    try:
        folders = sorted(each for each in path.iterdir() if each.is_dir() and not each.name.startswith("."))
    except OSError as error:
        raise FileError(f"the folder {path} cannot be read: {error.strerror}") from None
    inside = [each for each in folders if _has_result(each)]
    if not inside and not failures:
        raise FileError(
            f"{path} has no result of relblur ({', '.join(RESULT_FILES)}); "
            "name a folder that 'relblur estimate', 'depth', 'stack' or 'range' wrote"
        )
    many = about.is_one_of_many or len(inside) > 1 or bool(failures)
    pages = []
    for folder in inside:
        try:
            pages.append(_read_folder(folder, replace(about, title=folder.name, is_one_of_many=many)))
        except FileError as error:
            failures.append((folder.name, str(error)))
    return pages, failures


def _has_result(folder: Path) -> bool:
    return any((folder / name).is_file() for name in RESULT_FILES)


def _read_folder(folder: Path, about: About) -> ResultPage:
    content = _read_json(folder / SUMMARY_FILE)
    summary = content if isinstance(content, dict) else {}
    lists = {name: tuple(map(str, v)) if isinstance(v := summary.get(name), list) else () for name in _TEXTS}
    about = replace(about, notes=about.notes or lists["notes"])
    for name in MAP_FILES:
        if (folder / name).is_file():
            result, fused = load(folder / name), folder / "fused.png"
            assert isinstance(result, MapResult)
            picture = read_image(fused) if name == "stack.npz" and fused.is_file() else None
            notes = about.notes or tuple(map(str, result.settings.get("notes", ())))
            saved = {**summary, "left_out": lists["left_out"]}
            return map_page(result, replace(about, notes=notes), picture=picture, summary=saved)
    return range_page(_read_range(folder, summary), about)


_TEXTS = ("notes", "left_out")


def _read_range(folder: Path, summary: dict[str, Any]) -> DepthRange:
    probability = np.asarray(read_image(folder / RANGE_FILE), dtype=np.float64)
    ends = [summary.get(name) for name in ("nearest_m", "farthest_m")]
    if probability.ndim != 2 or not all(isinstance(end, (int, float)) for end in ends):
        raise FileError(f"{folder} is not a complete result of 'relblur range'; make it again")
    with np.errstate(invalid="ignore"):
        between = probability >= 0.5
    return DepthRange(between, probability, float(ends[0] or 0), float(ends[1] or 0))


def _failed_pairs(folder: Path) -> list[tuple[str, str]]:
    """Return (name, error) of the failed pairs in the report of a run over many pairs."""
    report = _read_json(folder / BATCH_FILE)
    pairs = report.get("pairs") if isinstance(report, dict) else None
    return [
        (str(each.get("name")), str(each.get("error")))
        for each in (pairs if isinstance(pairs, list) else ())
        if isinstance(each, dict) and each.get("state") == "failed"
    ]


def _read_json(path: Path) -> Any:
    if not path.is_file() or os.path.getsize(path) > _LONGEST_SUMMARY:
        return None
    try:
        return json.loads(read_bytes(path))
    except (FileError, ValueError, RecursionError):
        return None
