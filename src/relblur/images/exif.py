"""EXIF data: tags to copy from a photograph to results, the program that wrote a file, aperture and focus.

Tags are copied as bytes without decoding, so all information of a camera is kept. Damaged tags are left out.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from .. import __version__
from .reading import Source

__all__ = [
    "EXIF_IFD",
    "ORIENTATION",
    "SOFTWARE",
    "Exif",
    "Shot",
    "Tags",
    "exif_of",
    "packed_tags",
    "smaller_aperture",
]

#: Name of the program in results.
SOFTWARE = f"relblur {__version__}"

#: A tag by its number: kind, count and content, or a list of tags.
Tags = dict[int, Union[tuple[int, int, bytes], "Tags"]]

EXIF_IFD, _GPS_IFD, _INTEROPERABILITY_IFD = 0x8769, 0x8825, 0xA005
_LISTS = (EXIF_IFD, _GPS_IFD, _INTEROPERABILITY_IFD)
_DESCRIPTION, ORIENTATION, _SOFTWARE, _HISTORY = 0x010E, 0x0112, 0x0131, 0x9213
_COLOUR_SPACE, _WIDTH, _HEIGHT, _MAKER_NOTE = 0xA001, 0xA002, 0xA003, 0x927C
#: Description, maker, model, resolution and its unit, date, artist, host, rating, copyright, Windows' titles: tags of
#: the first list that describe the photograph. The others describe how a file stores its pixels.
_KEPT = {_DESCRIPTION, 271, 272, 282, 283, 296, _SOFTWARE, 306, 315, 316, 18246, 33432, *range(40091, 40096)}
#: Beginnings of descriptions that only a program reads (tifffile, OME, ImageJ); they are wrong for another picture.
_OF_PROGRAMS = (b"{", b"<", b"ImageJ=")
#: Size of a value by its kind, bytes.
_SIZES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8}
_ASCII, _SHORT, _LONG = 2, 3, 4
#: Largest size of the EXIF data (bytes) and of the text on the processing (letters): a JPEG has room for 65533 bytes.
_MOST_BYTES, _MOST_LETTERS = 60_000, 1000
#: Largest number of bytes that is read for one list of tags.
_MOST_LIST_BYTES = 1_000_000
_F_NUMBER, _FOCAL_LENGTH, _SUBJECT_DISTANCE = 0x829D, 0x920A, 0x9206
#: Largest ratio of equal f-numbers: half a third of a stop.
_ALIKE_APERTURES = 2 ** (1 / 12)
#: Largest ratio of equal lengths and distances: EXIF rounds them.
_ALIKE = 1.005


@dataclass(frozen=True, eq=False)
class Exif:
    """The tags of a photograph that results keep, in the byte order of its file."""

    order: str = "<"
    tags: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, content: bytes) -> Exif:
        """Read the EXIF data of JPEG, PNG and similar files."""
        content = content.removeprefix(b"Exif\0\0")
        return cls._read(lambda offset, count: content[offset : offset + count])

    @classmethod
    def of_tiff(cls, source: Source) -> Exif:
        """Read the EXIF data of a TIFF's first page."""
        return cls._read(source.read)

    @classmethod
    def _read(cls, read: Callable[[int, int], bytes]) -> Exif:
        start = read(0, 8)
        order = {b"II*\0": "<", b"MM\0*": ">"}.get(start[:4])
        if order is None or len(start) < 8:
            return cls()
        return cls(order, _tags_at(read, order, struct.unpack(f"{order}I", start[4:])[0], {*_KEPT, *_LISTS[:2]}))

    @property
    def space(self) -> str:
        """The colour space in the tags: "sRGB", "Adobe RGB", or "" if unknown."""
        details = self._details
        stated = details.get(_COLOUR_SPACE, (0, 0, b""))[2]
        value = struct.unpack(f"{self.order}H", stated)[0] if len(stated) == 2 else 0
        index = details.get(_INTEROPERABILITY_IFD, {}).get(1, (0, 0, b""))[2]
        if value == 2 or (value == 0xFFFF and index.startswith(b"R03")):
            return "Adobe RGB"
        return "sRGB" if value == 1 else ""

    @property
    def software(self) -> str:
        """The program that wrote the file."""
        return _text(self.tags.get(_SOFTWARE))

    @property
    def names_relblur(self) -> bool:
        """Whether relblur wrote the file."""
        return self.software.startswith(SOFTWARE.split()[0] + " ")

    @property
    def _details(self) -> dict[int, Any]:
        return dict(self.tags.get(EXIF_IFD, {}))

    def of_result(self, size: tuple[int, int], processing: str, *, srgb: bool = False) -> Exif:
        """Return the tags of a result: an upright picture of (width, height) made from the photograph.

        ``srgb`` sets the colour space to sRGB.
        """
        tags, details = dict(self.tags), self._details
        if _text(tags.get(_DESCRIPTION)).encode().lstrip().startswith(_OF_PROGRAMS):
            del tags[_DESCRIPTION]
        before = f"; before: {self.software}" if self.software else ""
        details[_HISTORY] = _as_text(f"{SOFTWARE}: {processing[:_MOST_LETTERS]}{before}")
        tags[ORIENTATION], tags[_SOFTWARE] = (_SHORT, 1, self._packed("H", 1)), _as_text(SOFTWARE)
        for number, length in zip((_WIDTH, _HEIGHT), size, strict=True):
            if number in details:
                details[number] = (_LONG, 1, self._packed("I", length))
        if srgb:
            details[_COLOUR_SPACE] = (_SHORT, 1, self._packed("H", 1))
        tags[EXIF_IFD] = details
        if len(packed_tags(self.order, tags, 8)) > _MOST_BYTES:
            details.pop(_MAKER_NOTE, None)
        if len(packed_tags(self.order, tags, 8)) > _MOST_BYTES:
            return Exif().of_result(size, processing, srgb=srgb)
        return Exif(self.order, tags)

    def packed(self) -> bytes:
        """Return the bytes of EXIF data: a TIFF without a picture."""
        start = (b"II" if self.order == "<" else b"MM") + struct.pack(f"{self.order}HI", 42, 8)
        return start + packed_tags(self.order, self.tags, 8)

    def _packed(self, kind: str, number: int) -> bytes:
        return struct.pack(f"{self.order}{kind}", number)


def _tags_at(read: Callable[[int, int], bytes], order: str, at: int, selected: set[int] | None) -> Tags:
    """Return the tags of the list at an offset, or the selected ones, without tags that extend beyond the file."""
    tags: Tags = {}
    room = _MOST_LIST_BYTES
    count = int.from_bytes(read(at, 2), "little" if order == "<" else "big")
    table = read(at + 2, 12 * count)
    for start in range(0, len(table) - 11, 12):
        tag, kind, length = struct.unpack_from(f"{order}HHI", table, start)
        size = _SIZES.get(kind, 0) * length
        if not 0 < size <= _MOST_BYTES or (selected is not None and tag not in selected):
            continue
        (place,) = struct.unpack_from(f"{order}I", table, start + 8)
        if tag in _LISTS:  # a list inside the first one, or the interoperability list inside such a list
            inner = {1} if tag == _INTEROPERABILITY_IFD else None if selected else set()
            if below := _tags_at(read, order, place, inner):
                tags[tag] = below
            continue
        room -= size
        if room < 0:
            break
        content = table[start + 8 : start + 8 + size] if size <= 4 else read(place, size)
        if len(content) == size:
            tags[tag] = (kind, length, content)
    return tags


def packed_tags(order: str, tags: Mapping[int, Any], at: int) -> bytes:
    """Return the bytes of a list of tags for an offset in a TIFF: the list, then the values that it points to."""
    head = 2 + 12 * len(tags) + 4
    table, body = struct.pack(f"{order}H", len(tags)), b""
    for tag, value in sorted(tags.items()):
        place = at + head + len(body)
        if isinstance(value, dict):
            kind, count, content = _LONG, 1, packed_tags(order, value, place)
            is_inline = False
        else:
            kind, count, content = value
            is_inline = len(content) <= 4
        inline = content.ljust(4, b"\0") if is_inline else struct.pack(f"{order}I", place)
        body += b"" if is_inline else content + bytes(len(content) % 2)
        table += struct.pack(f"{order}HHI", tag, kind, count) + inline
    return table + bytes(4) + body


def exif_of(content: bytes) -> Any:
    """Decode EXIF data with Pillow; the result is empty if they are damaged."""
    from PIL.Image import Exif as Decoded

    exif = Decoded()
    with suppress(Exception):
        exif.load(content)
    return exif


def _text(value: Any) -> str:
    return value[2].split(b"\0")[0].decode("utf-8", "replace").strip() if isinstance(value, tuple) else ""


def _as_text(text: str) -> tuple[int, int, bytes]:
    content = text.encode("ascii", "replace") + b"\0"
    return _ASCII, len(content), content


@dataclass(frozen=True)
class Shot:
    """Aperture, focal length in mm and distance of focus in m."""

    f_number: float
    focal_length_mm: float
    focus_m: float

    @classmethod
    def of(cls, exif: Mapping[int, Any]) -> Shot | None:
        """Return the values in EXIF data; None if one is missing."""
        values = [_positive(exif.get(tag)) for tag in (_F_NUMBER, _FOCAL_LENGTH, _SUBJECT_DISTANCE)]
        return None if None in values else cls(*values)  # type: ignore[arg-type]


def smaller_aperture(first: Shot | None, second: Shot | None) -> Literal["first", "second"] | None:
    """Return the photograph with the smaller aperture; None if other settings differ too, or are unknown."""
    if first is None or second is None:
        return None
    if not _alike(first.focal_length_mm, second.focal_length_mm, _ALIKE):
        return None
    if not _alike(first.focus_m, second.focus_m, _ALIKE) or _alike(first.f_number, second.f_number, _ALIKE_APERTURES):
        return None
    return "first" if first.f_number > second.f_number else "second"


def _positive(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError, ArithmeticError):
        return None
    return number if 0 < number < math.inf else None


def _alike(one: float, two: float, factor: float) -> bool:
    return max(one, two) <= factor * min(one, two)
