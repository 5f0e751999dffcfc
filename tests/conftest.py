"""What several test files share: photographs, read-only arrays, the data beside the project."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


#: Files that take long alone are begun first: none of them is left for one process at the end.
LONGEST = ("test_readme", "test_page", "test_serve", "test_malformed", "test_reproduce")
LONGEST += ("test_estimate", "test_chunked", "test_cluster", "test_tiles", "test_pixels", "test_large", "test_cli")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the longest files to the front; the rest stays as it is."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.stem, len(LONGEST)))


def _frozen(array: np.ndarray) -> np.ndarray:
    copy = np.array(array)
    copy.setflags(write=False)
    return copy


@pytest.fixture(scope="session")
def read_only() -> Callable[[np.ndarray], np.ndarray]:
    """Give a copy that raises as soon as somebody writes to it."""
    return _frozen


@pytest.fixture(scope="session")
def texture() -> np.ndarray:
    """Grey brick wall, 96 x 112, float64 in 0.05..0.95, on no grid of 8 or 16 bits, read-only."""
    from skimage import data

    crop = data.brick()[100:196, 100:212].astype(np.float64)
    # The wobble takes the values off the 8-bit grid, so that the image counts as float data.
    wobble = 1e-3 * np.sin(np.arange(crop.size)).reshape(crop.shape)
    return _frozen(0.05 + 0.9 * (crop - crop.min()) / np.ptp(crop) + wobble)


@pytest.fixture(scope="session")
def colour() -> np.ndarray:
    """Coffee cup in colour, 72 x 88 x 3, float64 below 0.95, read-only."""
    from skimage import data

    return _frozen(data.coffee()[120:192, 220:308] / 255.0 * 0.93)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder with Real-MFF and other pairs beside the project; skipped where it is absent."""
    folder = ROOT.parent / "shared" / "data"
    if not (folder / "realmff").is_dir():
        pytest.skip(f"no photographs at {folder}: they are not part of the repository")
    return folder
