"""Write OME-TIFF and OME-Zarr with the step of Z and the side of a pixel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import MissingDependencyError
from .disk import replacing
from .exif import SOFTWARE

__all__ = ["write_ome_tiff", "write_ome_zarr"]


def write_ome_tiff(
    path: PathLike,
    array: AnyArray,
    axes: str,
    *,
    channels: Sequence[str] = (),
    pixel_um: float | None = None,
    step_um: float | None = None,
) -> None:
    """Write an array as OME-TIFF packed by deflate, with its scale."""
    import tifffile

    about: dict[str, Any] = {"axes": axes, "Creator": SOFTWARE}
    if channels:
        about["Channel"] = {"Name": list(channels)}
    if pixel_um is not None:
        about |= {"PhysicalSizeX": pixel_um, "PhysicalSizeY": pixel_um}
        about |= {"PhysicalSizeXUnit": "µm", "PhysicalSizeYUnit": "µm"}
    if step_um is not None:
        about |= {"PhysicalSizeZ": step_um, "PhysicalSizeZUnit": "µm"}
    with replacing(path) as stream:
        tifffile.imwrite(
            stream,
            array,
            ome=True,
            metadata=about,
            photometric="rgb" if axes.endswith("S") else "minisblack",
            compression="zlib",
            predictor=array.dtype.kind in "ui",
        )


def write_ome_zarr(
    path: PathLike,
    planes: Iterable[AnyArray],
    count: int,
    *,
    name: str,
    pixel_um: float | None = None,
    step_um: float | None = None,
) -> None:
    """Write planes (H, W) or (H, W, 3) one at a time as OME-Zarr 0.5, axes Z, Y, X or C, Z, Y, X."""
    try:
        import zarr
    except ImportError:
        raise MissingDependencyError("OME-Zarr needs the zarr package: pip install 'relblur[cluster]'") from None
    rest = iter(planes)
    first = next(rest)
    colours = first.ndim == 3
    names = ["c", "z", "y", "x"] if colours else ["z", "y", "x"]
    shape = (*first.shape[2:], count, *first.shape[:2])
    lengths = {"z": step_um, "y": pixel_um, "x": pixel_um}
    axes = []
    for axis in names:
        about = {"name": axis, "type": "channel" if axis == "c" else "space"}
        axes.append({**about, "unit": "micrometer"} if lengths.get(axis) is not None else about)
    scale = [lengths.get(axis) or 1.0 for axis in names]
    data = [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": scale}]}]
    group = zarr.open_group(path, mode="w", zarr_format=3)
    chunks = (*(1 for _ in shape[:-2]), *(min(n, 1024) for n in shape[-2:]))
    array = group.create_array("0", shape=shape, dtype=first.dtype, chunks=chunks, dimension_names=names)
    for number, plane in enumerate(chain([first], rest)):
        array[..., number, :, :] = np.moveaxis(plane, -1, 0) if colours else plane
    group.attrs["ome"] = {"version": "0.5", "multiscales": [{"name": name, "axes": axes, "datasets": data}]}
