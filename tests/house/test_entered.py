"""How much of the program ``relblur estimate a.png b.png`` runs through: files, functions, records of the pair.

The bounds hold the present figures: a change that needs more says why. Comprehensions do not count.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import relblur
from relblur import synth
from support.command import run

SOURCE = str(Path(relblur.__file__).parent)

MOST_FILES, MOST_FUNCTIONS, MOST_RECORDS = 84, 620, 8


class Entered:
    """Functions that were called, and classes of the program that held both images."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.records: set[str] = set()

    def __call__(self, frame, event, _argument):
        code = frame.f_code
        if not code.co_filename.startswith(SOURCE):
            if event == "return" and code.co_name == "__init__":  # of a dataclass
                self._look_at(frame.f_locals.get("self"))
        elif event == "call" and not code.co_name.endswith(("comp>", "genexpr>")):
            self.functions.add((code.co_filename, code.co_qualname))

    def _look_at(self, record):
        values = getattr(record, "__dict__", {})
        images = [name for name in ("first", "second") if np.ndim(values.get(name)) >= 2]
        if type(record).__module__.startswith("relblur.") and len(images) == 2:
            self.records.add(type(record).__qualname__)


@pytest.fixture(scope="module")
def entered(tmp_path_factory):
    from PIL import Image

    folder = tmp_path_factory.mktemp("pair")
    rng = np.random.default_rng(0)
    sharp = rng.random((120, 144, 3)).repeat(2, axis=0)[:120]
    blurry = np.stack([synth.blur_with_map(plane, 1.5) for plane in np.moveaxis(sharp, 2, 0)], axis=2)
    for name, image in (("a", sharp), ("b", blurry)):
        Image.fromarray(np.rint(255 * image).astype(np.uint8)).save(folder / f"{name}.png")
    command = ["estimate", folder / "a.png", folder / "b.png", "-o"]
    assert run(*command, folder / "first").exit_code == 0  # what is loaded once does not count
    seen = Entered()
    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        done = run(*command, folder / "second")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert done.exit_code == 0
    return seen


def test_an_estimate_enters_few_files_and_functions(entered):
    files = {file for file, _ in entered.functions}
    assert 40 < len(files) <= MOST_FILES, sorted(files)
    assert 300 < len(entered.functions) <= MOST_FUNCTIONS, len(entered.functions)


def test_a_pair_has_few_representations(entered):
    assert {"ComparablePair", "RawPair"} <= entered.records
    assert len(entered.records) <= MOST_RECORDS, sorted(entered.records)
