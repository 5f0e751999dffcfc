"""One of several pictures in a file or a Zarr, which can stand where the path of an image can."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ["Plane"]


@dataclass(frozen=True)
class Plane(os.PathLike[str]):
    """A page, frame or plane.

    Attributes
    ----------
    path : str
        The file, or the folder of a Zarr array.
    number : int
        Page or frame, counted from 0.
    shift : int
        Bytes by which the pixels lie behind those of the page, in a TIFF that describes the first of its planes alone.
    place : tuple of int
        Indices of all dimensions of a Zarr array but the last two.
    label : str
        What the plane is called in messages.
    """

    path: str
    number: int = 0
    shift: int = 0
    place: tuple[int, ...] = ()
    label: str = ""

    @property
    def name(self) -> str:
        """The file with the number of the plane, counted from 1."""
        return f"{os.path.basename(self.path)}[{self.label or self.number + 1}]"

    def __fspath__(self) -> str:
        return self.path

    def __str__(self) -> str:
        return self.name
