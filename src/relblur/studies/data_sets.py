"""Where the data sets of the paper keep their pairs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

__all__ = ["LAYOUTS", "find_pairs"]

#: Names by which data sets mark the two images of a pair: (near or blurry, far or sharp).
LAYOUTS = {"realmff": ("_a.png", "_b.png"), "dpdd": ("_f4.png", "_f22.png")}


def find_pairs(folder: Path, layout: str) -> Iterator[tuple[str, Path, Path]]:
    """Yield (name, near, far) for the pairs of a data set found in a folder."""
    near_suffix, far_suffix = LAYOUTS[layout]
    for near in sorted(folder.glob(f"*{near_suffix}")):
        name = near.name.removesuffix(near_suffix)
        far = near.with_name(name + far_suffix)
        if far.exists():
            yield name, near, far
