"""The numbers of an image file with their metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, RelblurError
from .compression import JpegTable
from .exif import EXIF_IFD, ORIENTATION, Exif, Shot
from .reading import Source, first_line

__all__ = [
    "StoredImage",
    "changes_of",
    "damage_as_error",
    "described",
    "turned_upright",
]

#: Operations that undo EXIF orientations 2 to 8: (transpose, flip rows, flip columns).
_TURNS = {
    2: (False, False, True),
    3: (False, True, True),
    4: (False, True, False),
    5: (True, False, False),
    6: (True, False, True),
    7: (True, True, True),
    8: (True, True, False),
}


@dataclass(frozen=True)
class StoredImage:
    """The numbers of a file, (H, W) or (H, W, 3), turned upright, and their metadata."""

    values: AnyArray
    format: str
    icc_profile: bytes | None = None
    png_gamma: float | None = None  #: the gAMA chunk: stored = light ** png_gamma
    srgb: bool = False  #: PNG's sRGB chunk, or the box of a HEIC or AVIF
    transfer: int | None = None  #: transfer characteristics of a clip by their number (ITU-T H.273)
    luma: str = ""  #: "limited" or "full": range of a brightness computed from encoded colours (Y'CbCr)
    linear: bool = False  #: the format stores linear light by definition
    changes: tuple[str, ...] = field(default=())  #: changes of the pixels, in words
    jpeg: JpegTable | None = None  #: divisors of a JPEG
    lossy: bool = False  #: lossy compression other than JPEG
    shot: Shot | None = None  #: aperture and focus
    exif: Exif = field(default_factory=Exif)  #: EXIF data that results keep

    @property
    def bits(self) -> int | None:
        """Bits per value; None for floats."""
        return 8 * self.values.dtype.itemsize if np.issubdtype(self.values.dtype, np.integer) else None


@contextmanager
def damage_as_error(source: Source) -> Iterator[None]:
    """Convert any error of a decoder to a one-line error."""
    try:
        yield
    except RelblurError:
        raise
    except Exception as error:  # of any type; all mean an unusable file
        raise FileError(f"{source.path} is damaged or incomplete: {first_line(error)}") from None


def described(array: AnyArray, kind: str, exif: Any, info: Mapping[Any, Any], *, upright: bool = False) -> StoredImage:
    """Return pixels with the metadata of EXIF and of the file; turn them upright unless ``upright``."""
    orientation = 1 if upright else exif.get(ORIENTATION, 1)
    profile = info.get("icc_profile")
    return StoredImage(
        turned_upright(array, orientation),
        kind,
        icc_profile=profile if isinstance(profile, bytes) else None,
        png_gamma=info.get("gamma") if kind == "PNG" else None,
        srgb="srgb" in info,
        changes=changes_of(orientation),
        shot=Shot.of(exif.get_ifd(EXIF_IFD)),
        exif=Exif.of(info.get("exif") or b""),
    )


def turned_upright(array: AnyArray, orientation: int) -> AnyArray:
    """Turn an image upright, by its EXIF orientation."""
    transpose, flip_rows, flip_columns = _TURNS.get(orientation, (False, False, False))
    if transpose:
        array = array.swapaxes(0, 1)
    return array[:: -1 if flip_rows else 1, :: -1 if flip_columns else 1]


def changes_of(orientation: int) -> tuple[str, ...]:
    """Return a note on an orientation that was undone."""
    return ("turned upright by its EXIF orientation",) if orientation in _TURNS else ()
