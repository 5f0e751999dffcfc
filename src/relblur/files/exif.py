"""EXIF data of photographs: what is read of them, what a picture made from one keeps, and who wrote a file."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from .. import __version__
from .reading import Source

__all__ = [
    "EXIF_IFD",
    "LISTS",
    "ORIENTATION",
    "SOFTWARE",
    "SOFTWARE_TAG",
    "exif_of",
    "exif_of_tiff",
    "exif_space",
    "kept_exif",
    "result_exif",
]

#: The program that results name as their maker; :func:`relblur.files.images.is_result` looks for its first word.
SOFTWARE = f"relblur {__version__}"

EXIF_IFD, _GPS_IFD, _INTEROPERABILITY_IFD = 0x8769, 0x8825, 0xA005
_DESCRIPTION, ORIENTATION, SOFTWARE_TAG, _HISTORY = 0x010E, 0x0112, 0x0131, 0x9213
#: Tags that are lists of tags: of the shot, and of the place.
LISTS = (EXIF_IFD, _GPS_IFD)
_COLOUR_SPACE, _WIDTH, _HEIGHT, _MAKER_NOTE = 0xA001, 0xA002, 0xA003, 0x927C
#: Description, maker, model, resolution and its unit, date, artist, host, rating, copyright, Windows' titles: tags of
#: the first list that describe the photograph. The others describe how a file stores its pixels.
_KEPT = (
    _DESCRIPTION,
    271,
    272,
    282,
    283,
    296,
    SOFTWARE_TAG,
    306,
    315,
    316,
    18246,
    33432,
    40091,
    40092,
    40093,
    40094,
    40095,
)
#: Descriptions that programs write for themselves begin so (tifffile, OME, ImageJ); they are untrue of another picture.
_OF_PROGRAMS = ("{", "<", "ImageJ=")
#: EXIF data of a TIFF lie among its other tags: at most so many bytes of these are read.
_MOST_TIFF_BYTES = 20_000_000
#: A JPEG has room for 65533 bytes of EXIF data: those of the photograph, and letters about the processing.
_MOST_BYTES = 60_000
_MOST_LETTERS = 1000


def exif_of(content: bytes) -> Any:
    """Return EXIF data from their bytes; none if these are damaged."""
    from PIL.Image import Exif

    exif = Exif()
    with suppress(Exception):
        exif.load(content)
    return exif


def exif_of_tiff(source: Source) -> Any:
    """Return the EXIF data of a TIFF's first page, to be used while it is open; none if they are damaged."""
    from PIL.Image import Exif

    exif = Exif()
    with suppress(Exception):
        exif.load_from_fp(_Bounded(source))  # type: ignore[arg-type]
    return exif


class _Bounded:
    """A file that ends after a number of bytes, wherever these are read."""

    def __init__(self, source: Source) -> None:
        self._source, self._at, self._left = source, 0, _MOST_TIFF_BYTES

    def read(self, size: int = -1) -> bytes:
        size = self._left if size < 0 else size
        if size > self._left:
            raise EOFError
        content = self._source.read(self._at, size)
        self._at, self._left = self._at + len(content), self._left - len(content)
        return content

    def seek(self, offset: int, whence: int = 0) -> int:
        self._at = offset + (0, self._at, self._source.size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at


def exif_space(exif: Any) -> str:
    """Return the colour space that EXIF states: "sRGB", "Adobe RGB", or "" if unknown."""
    colour_space, interoperability = _list_of(exif, EXIF_IFD).get(_COLOUR_SPACE), None
    with suppress(KeyError):  # Pillow before 13 raises it where there is none
        interoperability = exif.get_ifd(_INTEROPERABILITY_IFD).get(1)
    if colour_space == 2 or (colour_space == 0xFFFF and interoperability == "R03"):
        return "Adobe RGB"
    return "sRGB" if colour_space == 1 else ""


def kept_exif(exif: Any) -> bytes:
    """Return what a picture made from a photograph keeps of its EXIF data, without the thumbnail; b"" if nothing."""
    from PIL.Image import Exif

    kept = Exif()
    for tag in _KEPT:
        with suppress(Exception):
            if tag in exif and not (tag == _DESCRIPTION and str(exif[tag]).lstrip().startswith(_OF_PROGRAMS)):
                kept[tag] = exif[tag]
    for number in LISTS:
        values = _list_of(exif, number)
        values.pop(_INTEROPERABILITY_IFD, None)
        if values:
            kept.get_ifd(number).update(values)
    if exif_space(exif) == "Adobe RGB":
        kept.get_ifd(EXIF_IFD)[_INTEROPERABILITY_IFD] = {1: "R03"}
    content = _bytes_of(kept)
    if len(content) > _MOST_BYTES:
        kept.get_ifd(EXIF_IFD).pop(_MAKER_NOTE, None)
        content = _bytes_of(kept)
    return content if 0 < len(content) <= _MOST_BYTES and (len(kept) or _list_of(kept, EXIF_IFD)) else b""


def result_exif(kept: bytes, size: tuple[int, int], processing: str, *, srgb: bool = False) -> Any:
    """Return the EXIF data of an upright picture of (width, height) made from a photograph by relblur.

    With ``srgb`` they state that colour space.
    """
    exif = exif_of(kept)
    before = exif.get(SOFTWARE_TAG)
    exif[ORIENTATION], exif[SOFTWARE_TAG] = 1, SOFTWARE
    details = exif.get_ifd(EXIF_IFD)
    details[_HISTORY] = f"{SOFTWARE}: {processing[:_MOST_LETTERS]}" + (f"; before: {before}" if before else "")
    if _WIDTH in details or _HEIGHT in details:
        details[_WIDTH], details[_HEIGHT] = size
    if srgb:
        details[_COLOUR_SPACE] = 1
    return exif


def _list_of(exif: Any, number: int) -> dict[int, Any]:
    try:
        found: Mapping[int, Any] = exif.get_ifd(number)
    except Exception:  # damaged: of any type
        return {}
    return dict(found)


def _bytes_of(exif: Any) -> bytes:
    try:
        return bytes(exif.tobytes())
    except Exception:  # a value of a type that its tag does not have
        return b""
