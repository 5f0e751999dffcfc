"""How long the first use takes on a machine that has compiled nothing, and the next one in a new process.

    python benchmarks/compile_time.py [--repeats 3]

Every run is a fresh process; the first of two has an empty cache of compiled code. Wall time is that of the whole
process, Python and imports included; processor time counts both processes that compile. Least of the repeats.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time

import machine

USES = {
    "first `Stream` frame, 480x640": "relblur.Stream((480, 640)).process(image, image)",
}


def seconds(code: str, cache: str) -> tuple[float, float]:
    """Wall and processor seconds of a fresh process."""
    program = f"import numpy as np, relblur; image = np.random.default_rng(0).random((480, 640)); {code}"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env={**os.environ, "NUMBA_CACHE_DIR": cache})
    wall = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(", ".join(f"{key} {value}" for key, value in machine.describe().items()))
    print("\n| | nothing compiled: wall, CPU s | compiled before: wall, CPU s |\n|---|---|---|", flush=True)
    rows = []
    for name, code in USES.items():
        runs = []
        for _ in range(repeats):
            with tempfile.TemporaryDirectory() as cache:
                runs.append((*seconds(code, cache), *seconds(code, cache)))
        least = [min(column) for column in zip(*runs, strict=True)]
        rows.append({"use": name, "runs": runs})
        print(f"| {name} | {least[0]:.1f}, {least[1]:.1f} | {least[2]:.1f}, {least[3]:.1f} |", flush=True)
    machine.write("compile_time", rows)


if __name__ == "__main__":
    main()
