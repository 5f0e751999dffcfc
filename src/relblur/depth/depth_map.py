"""``DepthMap``: distance at every pixel, with its uncertainty and the camera."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ..base._typing import ArrayLike, FlagArray, FloatArray
from ..base.errors import FileError, InputError
from ..blur.result import FLAG_TYPE, MapResult
from ..images.archives import check_format, read_npz
from ..images.depth_formats import point_cloud, write_exr, write_pfm, write_ply, write_png_mm
from ..images.disk import PathLike, write_image, write_npz, write_tiff
from ..images.labelled import Labelled
from .camera import Camera

__all__ = ["DepthMap"]

FORMAT = "relblur.DepthMap"
FORMAT_VERSION = 1
SUFFIXES = (".npz", ".png", ".tif", ".tiff", ".pfm", ".npy", ".ply", ".exr")


@dataclass(frozen=True, eq=False, repr=False)
class DepthMap(MapResult):
    """Distance at every pixel.

    Attributes
    ----------
    depth_m : (H, W) float64
        Distance along the optical axis in metres; NaN where it is unknown.
    depth_stderr_m : (H, W) float64
        Standard error of ``depth_m`` in metres.
    flags : (H, W) uint16
        Bits of :class:`relblur.Flag`.
    camera : Camera
        The camera of the pair.
    settings : mapping
        Options and notes of the estimate.
    """

    QUANTITY: ClassVar[str] = "depth"
    UNIT: ClassVar[str] = "m"
    FIGURE: ClassVar[str] = "depth"

    depth_m: FloatArray
    depth_stderr_m: FloatArray
    flags: FlagArray
    camera: Camera
    settings: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._freeze({"depth_m": np.float64, "depth_stderr_m": np.float64, "flags": FLAG_TYPE})
        if not isinstance(self.camera, Camera):
            raise InputError(f"camera must be a Camera, got {type(self.camera).__name__}")

    @property
    def value(self) -> FloatArray:
        """``depth_m``."""
        return self.depth_m

    @property
    def stderr(self) -> FloatArray:
        """``depth_stderr_m``."""
        return self.depth_stderr_m

    @property
    def sigma_px(self) -> FloatArray:
        """Absolute blur of ``first`` and ``second``, (2, H, W) in px, from depth and camera."""
        return self.camera.sigma_px(self.depth_m)

    def save(self, path: PathLike, *, image: ArrayLike | None = None) -> None:
        """Write the map to one file; the suffix determines the format.

        * ``.npz``: everything, exactly; :func:`relblur.load` reads it.
        * ``.png``: 16 bits, millimetres (0 = unknown); a text field of the file gives the scale.
        * ``.tif``: depth and standard error in m, two float32 pages.
        * ``.npy``, ``.pfm``, ``.exr``: depth in m, float32.
        * ``.ply``: the known points, coloured by ``image``, with ``scalar_depth_stderr_m`` and ``scalar_flags``;
          y is up and z towards the lens, so that viewers show them upright. The camera needs a focal length.
        """
        suffix = Path(path).suffix.lower()
        depth, stderr = self.depth_m.astype(np.float32), self.depth_stderr_m.astype(np.float32)
        if suffix == ".npz":
            about = {"format": FORMAT, "format_version": FORMAT_VERSION, "camera": self.camera.as_dict()}
            arrays = {name: getattr(self, name) for name in ("depth_m", "depth_stderr_m", "flags")}
            write_npz(path, arrays, {**about, "settings": dict(self.settings)})
        elif suffix == ".png":
            write_png_mm(path, self.depth_m)
        elif suffix in (".tif", ".tiff"):
            about = {"pages": ["depth_m", "depth_stderr_m"], "camera": self._camera_fields()}
            write_tiff(path, np.stack([depth, stderr]), about)
        elif suffix == ".pfm":
            write_pfm(path, depth)
        elif suffix == ".npy":
            write_image(path, depth)
        elif suffix == ".exr":
            write_exr(path, {"Z": depth, "stderr.Z": stderr})
        elif suffix == ".ply":
            distance_px = self.camera.focal_length_px
            if distance_px is None:
                raise InputError("points in space need a camera with focal_length_mm and pixel_pitch_um")
            scalars = {"depth_stderr_m": self.depth_stderr_m, "flags": self.flags}
            write_ply(path, point_cloud(self.depth_m, distance_px), image, scalars)
        else:
            raise InputError(f"path ends in {suffix or 'nothing'!r}; a DepthMap goes to {', '.join(SUFFIXES)}")

    @classmethod
    def load(cls, path: PathLike) -> DepthMap:
        """Read a map that :meth:`save` wrote as ``.npz``. The other formats lack the camera."""
        arrays, metadata = read_npz(path)
        check_format(path, metadata, FORMAT, FORMAT_VERSION)
        try:
            camera = Camera.from_dict(metadata["camera"], f"the camera in {path}")
            if arrays["flags"].dtype.kind not in "ui":
                raise InputError(f"flags must be whole numbers, got {arrays['flags'].dtype}")
            return cls(arrays["depth_m"], arrays["depth_stderr_m"], arrays["flags"], camera, metadata["settings"])
        except KeyError as error:
            raise FileError(f"{path} lacks {error}; it is not a complete DepthMap, save it again") from None
        except InputError as error:
            raise FileError(f"{path} is not a usable DepthMap: {error}") from None

    def _variables(self) -> dict[str, Labelled]:
        return {
            "depth": (self.depth_m, {"units": "m", "long_name": "distance along the optical axis"}),
            "depth_stderr": (self.depth_stderr_m, {"units": "m"}),
        }

    def _about(self) -> dict[str, Any]:
        return {**self.settings, "camera": self._camera_fields()}

    def _camera_fields(self) -> dict[str, Any]:
        """Return the fields of the camera with infinities as ``"inf"``: JSON has no infinity."""
        return {k: "inf" if v == float("inf") else v for k, v in self.camera.as_dict().items()}
