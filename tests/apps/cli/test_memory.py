"""What the program asks of the C library, and that it can do without."""

from __future__ import annotations

import ctypes
import sys

import pytest

from relblur.apps.terminal import memory


class _Library:
    def __init__(self) -> None:
        self.asked: dict[int, int] = {}

    def mallopt(self, parameter: int, value: int) -> int:
        self.asked[parameter] = value
        return 1


def test_freed_memory_is_kept_but_for_large_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    library = _Library()
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    memory.keep_freed_memory()
    assert library.asked[-3] == 32 * 2**20  # M_MMAP_THRESHOLD
    assert library.asked[-1] > 2**30  # M_TRIM_THRESHOLD


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch, platform: str) -> None:
    library = _Library()
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library)
    memory.keep_freed_memory()
    assert not library.asked


def test_another_c_library_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    memory.keep_freed_memory()
