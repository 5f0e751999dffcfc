"""A real ``relblur view`` in a process of its own, and a client that has its cookie."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import numpy as np


class Viewer:
    """A running viewer: its address, and requests as our page would make them."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process = process
        self.address = address
        self.base = address.partition("/open/")[0]
        self.port = int(self.base.rpartition(":")[2])
        self.jar = CookieJar()
        self._client = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.jar))

    def open_page(self) -> None:
        """Spend the address."""
        self._client.open(self.address).read()

    @property
    def cookie(self) -> str:
        return "; ".join(f"{each.name}={each.value}" for each in self.jar)

    def get(self, path: str) -> bytes:
        return self._client.open(f"{self.base}{path}", timeout=120).read()

    def post(self, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        content = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        request = urllib.request.Request(f"{self.base}{path}", content, {"Origin": self.base, **(headers or {})})
        return json.loads(self._client.open(request, timeout=120).read())

    def state(self) -> dict[str, Any]:
        return json.loads(self.get("/api/state"))

    def wait(self, condition, seconds: float = 120) -> dict[str, Any]:
        """Wait until a state fulfils a condition."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            state = self.state()
            if condition(state):
                return state
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s in vain; the last state is {state}")

    def finished(self) -> dict[str, Any]:
        return self.wait(lambda state: state["job"] is None and (state["final"] or state["message"]))

    def open(self, *paths: Path) -> dict[str, Any]:
        """Send files and open them."""
        ids = [self.post("/api/upload", path.read_bytes(), {"x-file-name": path.name})["id"] for path in paths]
        self.post("/api/open", {"files": ids})
        return self.state()

    def children(self) -> list[int]:
        """Return the processes that do the arithmetic (Linux)."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    fields = (entry / "stat").read_text().rpartition(")")[2].split()
                except OSError:
                    continue
                command = (entry / "cmdline").read_bytes() if int(fields[1]) == self.process.pid else b""
                if b"base.children" in command:
                    found.append(int(entry.name))
        return sorted(found)


def ticks(pid: int) -> int:
    """Return the processor time that a process has had, in ticks; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


@contextmanager
def viewer(*arguments: str, folder: Path | None = None) -> Iterator[Viewer]:
    """Start a viewer, and end it and its children."""
    environment = {**os.environ, **({"TMPDIR": str(folder)} if folder else {})}
    command = [sys.executable, "-m", "relblur", "view", "--no-browser", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        line = process.stdout.readline().strip()
        assert line.startswith("http://127.0.0.1:"), line + process.stderr.read()
        yield Viewer(process, line)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def textured(shape, seed=0):
    noise = np.random.default_rng(seed).random((shape[0] // 2 + 1, shape[1] // 2 + 1))
    return np.kron(noise, np.ones((2, 2)))[: shape[0], : shape[1]]


def stack_files(folder: Path) -> list[Path]:
    """Write seven frames of a tilted plane, 16-bit grey: in focus in frame 1 on the left, in frame 5 on the right."""
    from relblur import save, synth

    sharp = 0.1 + 0.8 * textured((96, 128))
    best = np.tile(np.linspace(1, 5, 128), (96, 1))
    paths = [folder / f"f{number}.png" for number in range(7)]
    for number, path in enumerate(paths):
        save(path, np.clip(synth.blur_with_map(sharp, 0.6 * np.abs(number - best)), 0, 1))
    return paths
