"""Find and measure the focal stacks of a data set: a folder of folders, each with the frames of one stack.

Frames are ordered by name, or by the distance in focus if all names end with it (``focus_0.35m.jpg``) or EXIF has it.
"""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...base.errors import FileError
from ...images.images import RAW_SUFFIXES, READ_SUFFIXES
from ...report.batch import Job, named_job, refuse_equal_names
from ...report.result_files import write_stack_files
from ...stacks.estimate import estimate_stack
from .summary import write_scores

__all__ = ["DataStack", "MeasureStack", "find_stacks"]

#: Minimum number of frames; two images are a pair.
LEAST_FRAMES = 3
#: Suffixes of frames; NumPy arrays in the folder are not frames.
_FRAMES = tuple(suffix for suffix in (*READ_SUFFIXES, *RAW_SUFFIXES) if suffix != ".npy")
_DISTANCE = re.compile(r"(?:^|[^0-9.])(\d+(?:\.\d+)?)m$")


@dataclass(frozen=True)
class DataStack:
    """A stack of a data set."""

    name: str
    images: tuple[Path, ...]

    @property
    def job(self) -> Job:
        """Job of the stack, with the name of its result folder."""
        return named_job(self.name, *(path.absolute() for path in self.images))

    @property
    def focus_m(self) -> list[float] | None:
        """Distances in focus, m, if all names end with different ones."""
        matches = [_DISTANCE.search(path.stem) for path in self.images]
        values = [float(each[1]) for each in matches if each is not None]
        return values if len(set(values)) == len(self.images) and min(values) > 0 else None


def find_stacks(data: Path) -> list[DataStack]:
    """Return a stack for each subfolder with three images or more."""
    if not data.is_dir():
        return []
    stacks = []
    try:
        for folder in sorted(path for path in data.iterdir() if path.is_dir() and not path.name.startswith(".")):
            images = sorted(p for p in folder.iterdir() if p.suffix.lower() in _FRAMES and not p.name.startswith("."))
            if len(images) >= LEAST_FRAMES:
                stacks.append(DataStack(folder.name, tuple(images)))
    except OSError as error:
        raise FileError(f"the folder {data} cannot be read: {error.strerror}") from None
    refuse_equal_names((stack.job for stack in stacks), "stacks")
    return stacks


@dataclass(frozen=True)
class MeasureStack:
    """Work on one stack, called by a worker."""

    stacks: dict[Path, DataStack]  #: by first file

    def __call__(self, first: Path, _second: Path, folder: Path) -> None:
        """Write the results of ``relblur stack`` and a row for the table."""
        stack = self.stacks[first]
        start = time.perf_counter()
        result = estimate_stack(stack.images, focus_m=stack.focus_m, workers=1)
        summary = write_stack_files(folder, result, True, depth=result.depth_m is not None, images=stack.images)
        row = {"stack": stack.name, **_figures(summary), "seconds": time.perf_counter() - start}
        write_scores(folder, [row])


def _figures(summary: dict[str, Any]) -> dict[str, float | str]:
    """Return the row of a stack; NaN for missing values."""
    row: dict[str, float | str] = {
        "method": str(summary["settings"]["method"]),
        "frames": summary["frames"],
        "left_out": len(summary["dropped"]),
        "width": summary["width"],
        "height": summary["height"],
        "answered_fraction": summary["answered_fraction"],
        "median_index_stderr": summary["median_index_stderr"] or math.nan,
        "growth_px": summary["growth_px"] or math.nan,
    }
    for key, name in (("index_percentiles", "index"), ("depth_m_percentiles", "depth_m")):
        row |= {f"{name}_{p}": (summary[key] or {}).get(p, math.nan) for p in ("5", "50", "95")}
    return row | {f"{name}_fraction": share for name, share in summary["flagged_fraction"].items()}
