"""Where a pair or a result comes from: files named on the command line, files a page sent, the ready example."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...base.errors import FileError, InputError
from ...blur.blur_map import BlurMap
from ...depth.camera import Camera
from ...depth.depth_map import DepthMap
from ...report.io import load
from .planes import Plane, picture

__all__ = ["EXAMPLE_CAMERA", "PairFiles", "SavedResult", "example", "read_result"]

_EXAMPLE = Path(__file__).parent / "example"

#: The example is the demo's pair, -2 to +2 px of blur. This camera makes such blur between 1 and 2 m, where it is in
#: focus: k^2 (1/1 - 1/2)^2 = 2^2 px^2 with k = 4 px m, 16 px m of circle.
EXAMPLE_CAMERA = Camera(focal_length_mm=25.0, f_number=2.0, pixel_pitch_um=20.03, focus_first_m=1.0, focus_second_m=2.0)


@dataclass(frozen=True)
class PairFiles:
    """Two image files, and what they are called."""

    first: Path
    second: Path
    first_name: str
    second_name: str
    kind: str  #: "files" named on the command line, "upload", "example"

    @property
    def in_commands(self) -> tuple[str, str]:
        """What a command line calls them: their path where it is known, otherwise their name."""
        if self.kind == "example":
            return "relblur_demo/first.png", "relblur_demo/second.png"
        if self.kind == "upload":
            return self.first_name, self.second_name
        return str(self.first), str(self.second)

    @property
    def before(self) -> str:
        """A command that must come first."""
        return "relblur demo && " if self.kind == "example" else ""

    def forget(self) -> None:
        """Delete the files if a page sent them."""
        if self.kind == "upload":
            for path in (self.first, self.second):
                path.unlink(missing_ok=True)


@dataclass(frozen=True, eq=False)
class SavedResult:
    """What a file or folder of results holds."""

    blur_map: BlurMap | None
    depth_map: DepthMap | None
    pictures: tuple[Plane, ...]
    name: str = ""


def example() -> PairFiles:
    """Return the demo's pair, as it came with the program."""
    return PairFiles(_EXAMPLE / "first.png", _EXAMPLE / "second.png", "first.png", "second.png", "example")


def read_result(path: Path) -> SavedResult:
    """Read a BlurMap or DepthMap from its file, or the folder of ``relblur estimate`` or ``relblur depth``."""
    if not path.is_dir():
        found = load(path)
        if isinstance(found, BlurMap):
            return SavedResult(found, None, (), path.name)
        if isinstance(found, DepthMap):
            return SavedResult(None, found, (), path.name)
        raise InputError(f"{path.name} is an image; the viewer takes two images, or a result: blur_map.npz, depth.npz")
    maps = [load(path / name) if (path / name).is_file() else None for name in ("blur_map.npz", "depth.npz")]
    blur_map = maps[0] if isinstance(maps[0], BlurMap) else None
    depth_map = maps[1] if isinstance(maps[1], DepthMap) else None
    if blur_map is None and depth_map is None:
        raise FileError(f"{path} holds neither blur_map.npz nor depth.npz; name a folder that relblur wrote")
    return SavedResult(blur_map, depth_map, _pictures(path, blur_map), path.name or str(path))


def _pictures(folder: Path, blur_map: BlurMap | None) -> tuple[Plane, ...]:
    """Return the re-made image that lies beside a map, if it is of its size."""
    import numpy as np

    from ...images.images import read_image

    if blur_map is None or not (folder / "remade.png").is_file():
        return ()
    image = read_image(folder / "remade.png")
    if image.dtype != np.uint8 or image.shape[:2] != blur_map.shape:
        return ()
    colour = image if image.ndim == 3 else np.repeat(image[:, :, None], 3, axis=2)
    return (picture("remade", "blurrier image, re-made", np.ascontiguousarray(colour)),)
