"""What every benchmark prints beside its figures: the machine, its load, the versions."""

from __future__ import annotations

import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def describe() -> dict[str, Any]:
    """Return machine, load and versions."""
    return {
        "time": time.strftime("%Y-%m-%dT%H:%M:%S"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        **{name: version(name) for name in ("relblur", "numpy", "scipy", "opencv-python-headless")},
    }


def write(name: str, rows: Any) -> Path:
    """Write a benchmark's rows as JSON, with the machine beside them."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": describe(), "rows": rows}, indent=1))
    return path


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
