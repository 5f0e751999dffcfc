"""TIFF files to pixels, whole or in parts, with a limit on the unpacked size of each strip and tile.

tifffile reads the tags. Uncompressed and deflated pieces are unpacked in this process, the other codecs in a child:
LZMA by Python's module, LZW, PackBits and Zstandard by libtiff (in Pillow) as plain bytes, JPEG by libtiff as pixels.
Pillow decodes palettes, inks and pages of 1 to 4 bits as a whole. A page becomes grey or RGB. Other contents are
refused, because a wrong guess would still look like a picture.
"""

from __future__ import annotations

import io
import logging
import lzma
import math
import os
import struct
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import FileError, RelblurError
from .exif import Exif, tiff_of_strips
from .reading import Plane, Source, first_line, in_child, opened
from .stored import StoredImage, changes_of, turned_upright

__all__ = ["TIFF_MAGIC", "Page", "TiffPicture", "decode_tiff", "read_page", "tiff_pixels"]

TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

_NONE, _JPEG, _LZMA = 1, 7, 34925
_DEFLATE, _BYTES_BY_LIBTIFF = (8, 32946), (5, 32773, 50000)
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _CMYK, _YCBCR = 0, 1, 2, 3, 5, 6
_REFUSED = {
    3: "an unusual palette",
    4: "a mask",
    5: "unusual inks",
    8: "Lab",
    9: "Lab",
    10: "Lab",
    32803: "the mosaic of a sensor",
}

#: Kinds of numbers, by (1 unsigned, 2 signed, 3 float; bits).
_TYPES = {
    (1, 8): np.uint8, **{(1, bits): np.uint16 for bits in (10, 12, 14, 16)}, (1, 32): np.uint32, (1, 64): np.uint64,
    (2, 16): np.int16, (2, 32): np.int32, (2, 64): np.int64,
    (3, 16): np.float16, (3, 32): np.float32, (3, 64): np.float64,
}  # fmt: skip

#: Allowed size of a packed piece beyond twice its pixels, bytes: LZW may lengthen data by half, JPEG has a header.
_SPARE_BYTES = 100_000

#: Rows of an uncompressed page that are read together.
_ROWS = 64

#: Tags that decide the meaning of the pixels.
_WANTED = {*range(256, 260), 262, 273, 274, *range(277, 280), 284, 317, 320, *range(322, 326), 332, 339, 32997, 34675}
#: Tags for the JPEG decoder: tables, YCbCr subsampling.
_JPEG_TAGS = (347, 530)


class Page:
    """The tags of a page that describe its packing."""

    def __init__(self, source: Source, file: Any, number: int) -> None:
        """Read a page, counted from 0, of a ``tifffile.TiffFile``."""
        page = file.pages[number]
        tags = {tag.code: tag for tag in page.tags}
        lost = _codes(source, file.tiff, page.offset) & _WANTED - set(tags)
        if lost or len(page.dataoffsets) != len(page.databytecounts):  # tifffile omits unreadable tags
            raise _unreadable(source, f"tag {min(lost)} is damaged" if lost else "its lists of pieces differ in length")

        def value(code: int, default: Any = None) -> Any:
            return tags[code].value if code in tags else default

        def only(code: int) -> int:
            """Return the common value of a tag for all samples; 0 if the values differ."""
            values = value(code, 1)
            values = set(values) if isinstance(values, tuple) else {values}
            return int(values.pop()) if len(values) == 1 else 0

        self.source, self.number, self.pages = source, number, 1
        self.order = file.byteorder
        self.width, self.height, self.samples = int(value(256)), int(value(257)), int(value(277, 1))
        self.bits = only(258)
        self.kind = 1 if only(339) == 4 else only(339)  #: 1 unsigned, 2 signed, 3 float; 4 (undefined) counts as 1
        self.compression, self.predictor = int(value(259, 1)), int(value(317, 1))
        self.photometric = int(value(262, 2 if self.samples >= 3 else 1))
        self.separate_planes = int(value(284, 1)) == 2 and self.samples > 1
        self.tiled = 322 in tags
        strip = (min(int(value(278, self.height)), self.height), self.width)
        #: Height and width of a strip or a tile, px; offset and number of bytes of each.
        self.piece = (int(value(323)), int(value(322))) if self.tiled else strip
        self.places = list(zip(page.dataoffsets, page.databytecounts, strict=True))
        self.is_plain = int(value(32997, 1)) == int(value(332, 1)) == 1  #: neither a volume nor special inks
        self.has_palette = 320 in tags
        self.reversed_bits = self.compression != _JPEG and int(value(266, 1)) != 1
        self.jpeg_tags = {code: value(code) for code in _JPEG_TAGS if code in tags}
        self.orientation, self.description = int(value(274, 1)), str(value(270, ""))
        self.profile = bytes(value(34675)) if 34675 in tags else None

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its numbers."""
        return np.dtype(_TYPES[self.kind, self.bits])

    @property
    def by_pillow(self) -> bool:
        """Whether Pillow decodes the page."""
        plain = self.is_plain and (self.predictor == 1 or self.bits == 8)
        form, meaning = (self.kind, self.samples, plain), self.photometric
        return (
            (form == (1, 1, True) and meaning == _PALETTE and self.bits <= 8 and self.has_palette)
            or (form == (1, 1, True) and meaning in (_WHITE_IS_ZERO, _BLACK_IS_ZERO) and self.bits in (1, 2, 4))
            or (form == (1, 4, True) and meaning == _CMYK and self.bits == 8)
        )

    @property
    def together(self) -> int:
        """Number of samples of a pixel in one piece."""
        return 1 if self.separate_planes else self.samples

    @property
    def per_plane(self) -> int:
        """Number of pieces of a plane."""
        return math.ceil(self.height / self.piece[0]) * math.ceil(self.width / self.piece[1])


def read_page(source: Source, number: int = 0, *, count: bool = False) -> Page:
    """Return a page of a TIFF file, counted from 0; ``count`` also sets the number of pages."""
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # keeps Python from printing the error
    try:
        source.stream.seek(0)
        with tifffile.TiffFile(source.stream, name="picture.tif") as file:
            page = Page(source, file, number)
            page.pages = len(file.pages) if count else 1
            return page
    except RelblurError:
        raise
    except IndexError:
        raise FileError(f"{source.path} has no page {number + 1}") from None
    except Exception as error:  # of any type; all mean an unusable file
        raise _unreadable(source, first_line(error)) from None


def _codes(source: Source, form: Any, offset: int) -> set[int]:
    """Return the numbers of the tags in the list at an offset."""
    (count,) = struct.unpack(form.tagnoformat, source.read(offset, form.tagnosize))
    entries = source.read(offset + form.tagnosize, count * form.tagsize)
    return {struct.unpack_from(f"{form.byteorder}H", entries, at)[0] for at in range(0, len(entries) - 1, form.tagsize)}


def decode_tiff(source: Source, plane: Plane | None = None) -> StoredImage:
    """Decode the first page of a file, or a given plane."""
    source.budget.check_file()
    page = read_page(source, 0 if plane is None else plane.number, count=plane is None)
    if page.pages > 1:
        warnings.warn(f"{source.path} has {page.pages} pages; page 1 is used", stacklevel=5)
    if page.by_pillow:
        stored: StoredImage = in_child("relblur.images.decoders:decode_picture", source, "TIFF", page.number)
        return replace(stored, exif=Exif.of_tiff(source))
    if plane is not None and plane.shift:
        page.places = [(offset + plane.shift, count) for offset, count in page.places]
    array = tiff_pixels(page)
    return StoredImage(
        turned_upright(array, page.orientation),
        "TIFF",
        icc_profile=page.profile,
        changes=changes_of(page.orientation),
        exif=Exif.of_tiff(source),
    )


@dataclass(frozen=True)
class TiffPicture:
    """The first page of a file as (H, W, samples), of which rectangles are read by index."""

    path: str
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    photometric: int
    profile: bytes | None

    @classmethod
    def of(cls, path: PathLike) -> TiffPicture:
        """Open a file and check its description."""
        with opened(path) as source:
            page = read_page(source)
            _cut_into_rows(page)
            _check(page, ())
            shape = (page.height, page.width, page.samples)
            return cls(os.fspath(path), shape, page.dtype, page.photometric, page.profile)

    def __getitem__(self, place: tuple[slice, slice, Any]) -> AnyArray:
        with opened(self.path) as source:
            page = read_page(source)
            _cut_into_rows(page)
            return tiff_pixels(page, place[:2])[:, :, place[2]]


def tiff_pixels(page: Page, region: tuple[slice, slice] | None = None) -> AnyArray:
    """Return a page, or a rectangle of it, as (H, W, samples): grey or RGB, then further samples."""
    try:
        _check(page, None if region is None else _touched(page, *region))
        if page.compression in (_NONE, *_DEFLATE):
            return _unpack(page, region)
        return np.asarray(in_child(f"{__name__}:_pixels", page.source, page.number, region))
    except RelblurError:
        raise
    except Exception as error:  # decoders raise many types; all mean an unusable file
        raise _unreadable(page.source, first_line(error)) from None


def _pixels(source: Source, number: int, region: tuple[slice, slice] | None) -> AnyArray:
    return _unpack(read_page(source, number), region)


def _unreadable(source: Source, why: str) -> FileError:
    return FileError(f"{source.path} is not a readable TIFF: {why}")


def _cut_into_rows(page: Page) -> None:
    """Divide an uncompressed page of contiguous strips into low strips, of which a rectangle needs few."""
    row = math.ceil(page.width * page.together * page.bits / 8)
    ends = [offset + count for offset, count in page.places]
    in_one = all(end == offset for end, (offset, _) in zip(ends, page.places[1:], strict=False))
    whole = page.height * row
    if page.tiled or page.compression != _NONE or page.separate_planes or not in_one or not page.places:
        return
    if ends[-1] - page.places[0][0] < whole:
        raise _unreadable(page.source, f"its strips have {ends[-1] - page.places[0][0]} of {whole} bytes")
    start, tall = page.places[0][0], min(_ROWS, page.height)
    page.piece = (tall, page.width)
    page.places = [
        (start + top * row, min(tall, page.height - top) * row) for top in range(0, page.height, max(tall, 1))
    ]


def _touched(page: Page, rows: slice, columns: slice) -> list[int]:
    """Return the numbers of the pieces that a rectangle overlaps."""
    tall, wide = page.piece
    across = math.ceil(page.width / wide)
    return [
        plane * page.per_plane + row * across + column
        for plane in range(page.samples // page.together)
        for row in range(rows.start // tall, math.ceil(rows.stop / tall))
        for column in range(columns.start // wide, math.ceil(columns.stop / wide))
    ]


def _check(page: Page, wanted: Sequence[int] | None = None) -> None:
    """Refuse unknown kinds of pixels and declared sizes beyond the limits, before memory is allocated.

    In a page that is read in parts only the ``wanted`` pieces count.
    """
    budget, (tall, wide) = page.source.budget, page.piece
    if min(page.height, page.width, page.samples, tall, wide) < 1:
        raise _unreadable(page.source, f"it declares {page.width} x {page.height} pixels")
    budget.check_pixels(*page.piece)
    if wanted is None:
        budget.check_pixels(page.height, page.width)
    _check_meaning(page)
    pieces = page.per_plane * (page.samples // page.together)
    budget.check_parts(page.height * page.width, pieces)
    if len(page.places) != pieces:
        raise _unreadable(page.source, f"it has {len(page.places)} of {pieces} pieces")
    if wanted is None and not page.tiled:
        unpacked = page.height * page.width * page.samples
    else:
        unpacked = (pieces if wanted is None else len(wanted)) * tall * wide * page.together
    page.source.check_expansion(unpacked * page.dtype.itemsize, lossy=page.compression == _JPEG)


def _check_meaning(page: Page) -> None:
    """Refuse unknown kinds of numbers and colours."""
    name = {1: "unsigned", 2: "signed", 3: "floating-point"}.get(page.kind, "other")
    is_jpeg, meaning, bits = page.compression == _JPEG, page.photometric, page.bits
    least = 3 if meaning in (_RGB, _YCBCR) else 1
    reasons = {
        f"it has {page.samples} channels, or inks or a depth of its own": page.samples > 5 or not page.is_plain,
        f"its values are {name} numbers of {bits or 'several sizes of'} bits": (page.kind, bits) not in _TYPES,
        f"it holds {_REFUSED.get(meaning, f'colours of kind {meaning}')}": meaning
        not in (_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _YCBCR),
        "it holds YCbCr colours that are not JPEG": meaning == _YCBCR and not is_jpeg,
        "its colours are no unsigned numbers": meaning == _WHITE_IS_ZERO and page.kind != 1,
        f"it has {page.samples} channels and its colours need {least}": page.samples < least,
        f"it holds {page.samples} channels of {bits} bits as JPEG": is_jpeg
        and (page.kind, bits, page.samples, page.separate_planes) not in ((1, 8, 1, False), (1, 8, 3, False)),
        f"it is packed by method {page.compression}": page.compression
        not in (_NONE, *_DEFLATE, _LZMA, _JPEG, *_BYTES_BY_LIBTIFF),
        "the bits of its bytes are in reverse order": page.reversed_bits,
        f"its values are predicted by method {page.predictor}": page.predictor not in (1, 2, 3)
        or (page.predictor == 3 and page.kind != 3),
        f"differences of {bits} bits are stored": page.predictor != 1 and bits % 8 > 0,
    }
    for why, applies in reasons.items():
        if applies:
            remedy = "save it as grey or RGB of 8 or 16 bits, uncompressed or packed by deflate or LZW"
            raise FileError(f"{page.source.path} cannot be used: {why}; {remedy}")


def _unpack(page: Page, region: tuple[slice, slice] | None) -> AnyArray:
    """Unpack the pieces of a rectangle, or of the page, into an array (H, W, samples)."""
    rows, columns = region or (slice(0, page.height), slice(0, page.width))
    wanted = range(len(page.places)) if region is None else _touched(page, rows, columns)
    tall, wide = page.piece
    across = math.ceil(page.width / wide)
    size = (rows.stop - rows.start, columns.stop - columns.start, page.samples)
    pixels: AnyArray = np.zeros(size, page.dtype)
    for index, piece in _pieces(page, [n for n in wanted if page.places[n][1]]):  # pieces without bytes are zero
        plane, rest = divmod(index, page.per_plane)
        top, left = rest // across * tall - rows.start, rest % across * wide - columns.start
        channels = slice(plane, plane + 1) if page.separate_planes else slice(None)
        target = pixels[max(top, 0) : top + tall, max(left, 0) : left + wide, channels]
        inside = piece[max(-top, 0) :, max(-left, 0) :]
        target[...] = inside[: target.shape[0], : target.shape[1]]
    if page.photometric == _WHITE_IS_ZERO and page.compression != _JPEG:  # libtiff inverts JPEG
        colours = pixels[:, :, : page.samples - (page.samples in (2, 4))]  # all but alpha
        np.subtract(pixels.dtype.type((1 << page.bits) - 1), colours, out=colours)
    return pixels


def _pieces(page: Page, numbers: Sequence[int]) -> Iterator[tuple[int, AnyArray]]:
    """Yield the number and the pixels of pieces."""
    tall, wide = page.piece
    row_bytes = math.ceil(wide * page.together * page.bits / 8)
    rows = {n: tall if page.tiled else min(tall, page.height - n % page.per_plane * tall) for n in numbers}
    packed = ((n, _packed(page, n, 2 * tall * row_bytes + _SPARE_BYTES)) for n in numbers)
    if page.compression in (_JPEG, *_BYTES_BY_LIBTIFF):
        # A plane at a time, because only the last strip of a TIFF can be lower than the others.
        for plane in range(page.samples // page.together):
            here = [n for n in numbers if n // page.per_plane == plane]
            blocks = _by_libtiff(page, [next(packed)[1] for _ in here], row_bytes, [rows[n] for n in here])
            yield from zip(here, blocks, strict=True)
        return
    for number, content in packed:
        page.source.budget.check_time()
        unpacked = _unpacked(page, content, rows[number] * row_bytes, tall * row_bytes)
        stored = np.frombuffer(unpacked, np.uint8, rows[number] * row_bytes).reshape(rows[number], row_bytes)
        yield number, _numbers(page, stored)


def _packed(page: Page, number: int, most: int) -> bytes:
    offset, count = page.places[number]
    if count > most:
        raise _unreadable(page.source, f"piece {number} declares {count} bytes")
    content = page.source.read(offset, count)
    if len(content) < count:
        raise _unreadable(page.source, f"piece {number} reaches beyond the file")
    return content


def _unpacked(page: Page, content: bytes, least: int, most: int) -> bytes:
    """Unpack the bytes of a piece; refuse fewer than ``least`` and more than ``most`` bytes."""
    if page.compression in _DEFLATE:
        content = zlib.decompressobj().decompress(content, most + 1)
    elif page.compression == _LZMA:
        content = lzma.LZMADecompressor().decompress(content, most + 1)
    if len(content) < least or (len(content) > most and page.compression != _NONE):
        what = "too little" if len(content) < least else "more than it may hold"
        raise _unreadable(page.source, f"a piece of it unpacks to {what} ({most} bytes)")
    return content


def _numbers(page: Page, rows: AnyArray) -> AnyArray:
    """Convert rows of bytes to numbers (rows, columns, samples), and undo the predictor."""
    kind, shape = page.dtype, (len(rows), page.piece[1], page.together)
    if page.bits % 8:  # values of 10 to 14 bits are not scaled
        bits = np.unpackbits(rows, axis=1, count=shape[1] * shape[2] * page.bits).reshape(*shape, page.bits)
        return (bits @ (1 << np.arange(page.bits)[::-1])).astype(kind)
    if page.predictor == 3:  # differences of bytes, the highest bytes of a row first (Adobe, technical note 3)
        planes = np.cumsum(rows.reshape(len(rows), -1, shape[2]), axis=1, dtype=np.uint8)
        planes = planes.reshape(len(rows), kind.itemsize, shape[1] * shape[2]).swapaxes(1, 2)
        return np.ascontiguousarray(planes).view(kind.newbyteorder(">")).reshape(shape)
    values = np.ascontiguousarray(rows).view(kind.newbyteorder(page.order)).reshape(shape)
    if page.predictor == 2:
        whole = np.dtype(f"u{kind.itemsize}")
        values = np.cumsum(values.astype(kind).view(whole), axis=1, dtype=whole).view(kind)
    return values


def _by_libtiff(page: Page, packed: Sequence[bytes], row_bytes: int, rows: Sequence[int]) -> Iterator[AnyArray]:
    """Yield the pixels of pieces; libtiff unpacks them as strips of a temporary TIFF.

    The strips contain JPEG pixels, or plain bytes declared as 8-bit grey.
    """
    from PIL.TiffImagePlugin import TiffImageFile

    is_jpeg, (tall, wide) = page.compression == _JPEG, page.piece
    samples, undefined = page.samples if is_jpeg else 1, 7
    numbers: dict[int, Sequence[int]] = {
        256: [wide if is_jpeg else row_bytes],
        257: [sum(rows)],
        258: [8] * samples,
        259: [page.compression],
        262: [page.photometric if is_jpeg else _BLACK_IS_ZERO],
        277: [samples],
        278: [tall],
    }
    others = {}
    for tag, value in page.jpeg_tags.items() if is_jpeg else ():
        if isinstance(value, bytes):
            others[tag] = (undefined, len(value), value)
        else:
            numbers[tag] = value if isinstance(value, tuple) else (value,)
    if packed:
        with TiffImageFile(io.BytesIO(tiff_of_strips("<", numbers, others, packed))) as picture:
            picture.load()
            pixels = np.asarray(picture)
        for block in np.split(pixels, np.cumsum(rows)[:-1]):
            yield block.reshape(len(block), wide, samples) if is_jpeg else _numbers(page, block)
