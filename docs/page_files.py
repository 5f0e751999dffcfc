"""Files of pages that are made when the site is built."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_pages(folder: Path, wanted: Mapping[str, str]) -> None:
    """Write the pages that have changed, and remove all others of the folder."""
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.rst"):
        if path.stem not in wanted:
            path.unlink()
    for name, text in wanted.items():
        path = folder / f"{name}.rst"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
