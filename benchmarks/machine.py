"""Record the command, the machine, its load and the versions beside the figures of a benchmark."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import relblur

RESULTS = Path(__file__).parent / "results"


def describe() -> dict[str, Any]:
    """Return machine, load and versions."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "relblur": relblur.__version__,
        **{name: version(name) for name in ("numpy", "scipy", "opencv-python-headless")},
    }


def write(name: str, rows: Any) -> Path:
    """Write a benchmark's rows as JSON, with the command and the machine beside them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    record = {"command": _command(), "machine": describe(), "rows": rows}
    path.write_text(json.dumps(record, indent=1) + "\n")
    return path.relative_to(RESULTS.parents[1])


def _command() -> str:
    """Return the command as somebody else would type it: of folders of this machine only the last part."""
    program, *arguments = sys.argv
    names = [Path(each).name if os.path.isabs(each) else each for each in arguments]
    return " ".join(["python", f"benchmarks/{Path(program).name}", *names])


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
