"""Images and results: from the command line, uploaded, or the example."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...base._typing import UInt8Array
from ...base.errors import FileError, InputError
from ...blur.blur_map import BlurMap
from ...blur.chunked import map_description
from ...depth.camera import Camera
from ...depth.depth_map import DepthMap
from ...images.images import RAW_SUFFIXES, READ_SUFFIXES
from ...images.planes import is_stack_file
from ...report.batch import files_of
from ...report.io import load
from ...stacks.stack_map import StackMap

__all__ = ["EXAMPLE_CAMERA", "Images", "SavedResult", "TooLargeError", "example", "forget", "open_paths", "receive"]

_EXAMPLE = Path(__file__).parent / "example"

#: Camera for the demo's pair: its blur goes from +2 px at 1 m to -2 px at 2 m, the distances in focus, because
#: k^2 (1/1 - 1/2)^2 = 2^2 px^2 with k = 4 px m (circle: 16 px m).
EXAMPLE_CAMERA = Camera(focal_length_mm=25.0, f_number=2.0, pixel_pitch_um=20.03, focus_first_m=1.0, focus_second_m=2.0)

#: Maximum size of an uploaded file, bytes.
MOST_BYTES = 100_000_000
_LONGEST_NAME, _LONGEST_STEM = 255, 80
_RESULTS = ("blur_map.npz", "depth.npz", "stack.npz")
#: Pictures in a folder of results that are shown with the maps.
_PICTURES = {"remade.png": "remade", "fused.png": "fused"}


class TooLargeError(InputError):
    """Raised if an upload exceeds the size limit."""


@dataclass(frozen=True)
class Images:
    """Image files of one scene, and their names for display."""

    paths: tuple[Path, ...]
    names: tuple[str, ...]
    kind: str  #: "files" (from the command line), "upload" or "example"

    @property
    def is_pair(self) -> bool:
        """Whether these are two images. Otherwise they are a stack, perhaps in one file."""
        return len(self.paths) == 2

    @property
    def in_commands(self) -> tuple[str, ...]:
        """Paths for the equivalent commands."""
        if self.kind == "example":
            return "relblur_demo/first.png", "relblur_demo/second.png"
        return self.names if self.kind == "upload" else tuple(map(str, self.paths))

    @property
    def title(self) -> str:
        """Heading of the page."""
        count = len(self.names)
        return ", ".join(self.names) if count < 3 else f"{self.names[0]} to {self.names[-1]}, {count} images"

    def forget(self) -> None:
        """Delete the files if they are uploads."""
        if self.kind == "upload":
            for path in self.paths:
                forget(path)

    def with_names(self, text: str) -> str:
        """Return a message on one line, with the original names of uploaded files."""
        if self.kind != "files":
            for path, name in zip(self.paths, self.names, strict=True):
                text = text.replace(str(path), name).replace(path.name, name)
        return " ".join(text.split())


@dataclass(frozen=True, eq=False)
class SavedResult:
    """The contents of a file or folder of results: maps, and 8-bit pictures by name."""

    blur_map: BlurMap | None = None
    depth_map: DepthMap | None = None
    stack: StackMap | None = None
    pictures: tuple[tuple[str, UInt8Array, int], ...] = ()  #: name, pixels, decimation factor of the map
    name: str = ""


def example() -> Images:
    """Return the pair of the demo, stored in this package."""
    names = ("first.png", "second.png")
    return Images(tuple(_EXAMPLE / name for name in names), names, "example")


def open_paths(paths: Sequence[Path], names: Sequence[str] = ()) -> Images | SavedResult:
    """Return the result or the images at these paths. ``names`` are the original names of uploads."""
    kind = "upload" if names else "files"
    if len(paths) == 1:
        (path,), name = paths, names[0] if names else paths[0].name or str(paths[0])
        if path.is_dir() and any((path / each).is_file() for each in _RESULTS):
            return _saved([path / each for each in _RESULTS if (path / each).is_file()], name)
        if path.suffix.lower() == ".npz" or map_description(path) is not None:
            return _saved([path], name)
        if is_stack_file(path):
            return Images((path,), (name,), kind)
        if not path.is_dir():
            raise InputError(
                f"{name} is one image; the viewer takes two or more, one file of many planes, or a result: "
                f"{', '.join(_RESULTS)}"
            )
    paths = [each for path in paths for each in files_of(path)]
    if len(paths) < 2:
        raise FileError(f"{paths[0].parent} holds one image and no result; name two images or more")
    return Images(tuple(paths), tuple(names) or tuple(path.name for path in paths), kind)


def _saved(files: list[Path], name: str) -> SavedResult:
    loaded = [load(file) for file in files]
    blur_map = next((each for each in loaded if isinstance(each, BlurMap)), None)
    depth_map = next((each for each in loaded if isinstance(each, DepthMap)), None)
    stack = next((each for each in loaded if isinstance(each, StackMap)), None)
    shapes = [each.shape for each in (blur_map, depth_map, stack) if each is not None]
    if not shapes:
        raise InputError(f"{name} holds no result of relblur; name {', '.join(_RESULTS)}, or the folder")
    return SavedResult(blur_map, depth_map, stack, _pictures(files[0].parent, shapes[0]), name)


def _pictures(folder: Path, shape: tuple[int, ...]) -> tuple[tuple[str, UInt8Array, int], ...]:
    """Return the 8-bit RGB pictures in a folder whose size is a multiple of ``shape``."""
    from ...images.images import read_image
    from ...plot.colours import photo

    loaded = []
    for file, name in _PICTURES.items():
        if not (folder / file).is_file():
            continue
        image = read_image(folder / file)
        factor = max(1, round(image.shape[0] / shape[0]))
        if max(abs(image.shape[axis] / factor - shape[axis]) for axis in (0, 1)) >= 1:
            continue
        if image.dtype != np.uint8:
            image = np.rint(255 * photo(image)).astype(np.uint8)
        image = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
        loaded.append((name, np.ascontiguousarray(image[:, :, :3]), factor))
    return tuple(loaded)


async def receive(chunks: AsyncIterator[bytes], announced: str | None, name: str, folder: Path) -> Path:
    """Write an upload to a new folder in ``folder`` and return its path; delete it if it is refused.

    The file keeps its name, because results contain the names of images; unsafe characters become ``_``.
    """
    stem, suffix = os.path.splitext(os.path.basename(name)[:_LONGEST_NAME])
    known = (*READ_SUFFIXES, *RAW_SUFFIXES, ".npz")
    if suffix.lower() not in known:
        raise InputError(
            f"{name[:80]} ends in {suffix[:20] or 'nothing'!r}; images end in {', '.join(READ_SUFFIXES)}, maps in .npz"
        )
    size = int(announced) if announced is not None and announced.isascii() and announced.isdigit() else None
    _check_size(size or 0, name)
    stem = re.sub(r"[^\w ().+-]", "_", stem, flags=re.ASCII)[:_LONGEST_STEM] or "image"
    path = folder / f"upload-{secrets.token_hex(8)}" / f"{stem}{suffix}"
    got = 0
    try:
        path.parent.mkdir()
        with open(path, "xb") as stream:
            async for chunk in chunks:
                got += len(chunk)
                _check_size(got, name)
                stream.write(chunk)
        if got == 0:
            raise FileError(f"{name} is empty; choose another file")
        if size is not None and got != size:
            raise FileError(f"{name} ended after {got} of {size} bytes; upload it again")
    except BaseException:
        forget(path)
        raise
    return path


def forget(path: Path) -> None:
    """Delete an upload."""
    shutil.rmtree(path.parent, ignore_errors=True)


def _check_size(size: int, name: str) -> None:
    if size > MOST_BYTES:
        raise TooLargeError(
            f"{name} has more than {MOST_BYTES / 1e6:.0f} MB; open large files by name: relblur view FILE FILE ..."
        )
