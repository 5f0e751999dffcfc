"""TIFF files to pixels, piece by piece: no strip or tile unpacks to more than it may hold.

Tags are read by tifffile. Deflate is unpacked here by Python's own module; every other codec in a child process: LZMA
by Python's module, LZW, PackBits and Zstandard by libtiff (in Pillow) as bare bytes, fax and JPEG by libtiff as pixels.
Whatever a file means by its values becomes grey or red, green and blue, or is refused: a wrong guess would look like a
picture.
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
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import FileError, RelblurError
from .exif import Exif, tiff_of_strips
from .reading import Plane, Source, first_line, in_child, opened
from .stored import StoredImage, said_of, turned_upright

__all__ = ["TIFF_MAGIC", "Page", "TiffPicture", "decode_tiff", "read_page", "tiff_pixels"]

TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

_NONE, _LZMA, _JPEG = 1, 34925, 7
_FAX = (2, 3, 4)
_DEFLATE = (8, 32946)
_BY_LIBTIFF = (5, 32773, 50000)  # LZW, PackBits, Zstandard

_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _CMYK, _YCBCR = 0, 1, 2, 3, 5, 6
_MEANINGS = (_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _CMYK, _YCBCR)
_REFUSED = {4: "a mask", 8: "Lab", 9: "Lab", 10: "Lab", 32803: "the mosaic of a sensor", 34892: "camera raw"}

#: Kinds of numbers, by (1 unsigned, 2 signed, 3 float; bits).
_TYPES = {
    **{(1, bits): np.uint8 for bits in (1, 2, 4, 8)},
    **{(1, bits): np.uint16 for bits in (10, 12, 14, 16)},
    (1, 32): np.uint32, (1, 64): np.uint64, (2, 16): np.int16, (2, 32): np.int32, (2, 64): np.int64,
    (3, 16): np.float16, (3, 32): np.float32, (3, 64): np.float64,
}  # fmt: skip

#: Packing what does not shrink makes it longer, at most by half (LZW), and JPEG pieces have a head.
_SPARE_BYTES = 100_000

#: Rows of an uncompressed strip that are read at a time.
_STRIP_ROWS = 64

#: Tags without which a picture would be taken for another.
_WANTED = {*range(256, 260), 262, 273, 274, *range(277, 280), 284, 317, 320, *range(322, 326), 332, 339, 32997, 34675}
#: Tags that go to the decoders of fax and JPEG as they are: fill order, fax options, JPEG tables, YCbCr subsampling.
_DECODER_TAGS = (266, 292, 293, 347, 530)


class Page:
    """The tags of a page that describe how it is packed."""

    def __init__(self, source: Source, file: Any, number: int) -> None:
        """Read a page, counted from 0, of a ``tifffile.TiffFile``."""
        page = file.pages[number]
        tags = {tag.code: tag for tag in page.tags}
        lost = _codes(source, file.tiff, page.offset) & _WANTED - set(tags)
        if lost or len(page.dataoffsets) != len(page.databytecounts):  # tifffile leaves out what it cannot read
            what = f"tag {min(lost)} is damaged" if lost else "its lists of pieces differ in length"
            raise FileError(f"{source.path} is not a readable TIFF: {what}")

        def value(code: int, default: Any = None) -> Any:
            return tags[code].value if code in tags else default

        def only(code: int) -> int:
            """Return a tag that is the same for all samples; 0 if it differs."""
            found = value(code, 1)
            found = set(found) if isinstance(found, tuple) else {found}
            return int(found.pop()) if len(found) == 1 else 0

        self.source, self.number, self.pages = source, number, 1
        self.order = file.byteorder
        self.width, self.height, self.samples = int(value(256)), int(value(257)), int(value(277, 1))
        self.bits = only(258)
        self.kind = 1 if only(339) == 4 else only(339)  #: unsigned, 2 signed, 3 float; 4: the writer did not know
        self.compression, self.predictor = int(value(259, 1)), int(value(317, 1))
        self.photometric = int(value(262, 2 if self.samples >= 3 else 1))
        self.separate_planes = int(value(284, 1)) == 2 and self.samples > 1
        self.tiled = 322 in tags
        #: Height and width of a strip or a tile; and where each begins in the file, and how many bytes it has.
        strip = (min(int(value(278, self.height)), self.height), self.width)
        self.piece = (int(value(323)), int(value(322))) if self.tiled else strip
        self.places = list(zip(page.dataoffsets, page.databytecounts, strict=True))
        self.colours = None if 320 not in tags else _palette(np.asarray(value(320), np.uint16), self.bits, source)
        self.is_plain = int(value(32997, 1)) == int(value(332, 1)) == 1  #: no stack in depth, no inks of its own
        self.decoder_tags = {code: value(code) for code in _DECODER_TAGS if code in tags}
        self.orientation, self.description = int(value(274, 1)), str(value(270, ""))
        self.profile = bytes(value(34675)) if 34675 in tags else None

    @property
    def in_child(self) -> bool:
        """Whether its codec needs a child process."""
        return self.compression not in (_NONE, *_DEFLATE)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of its numbers."""
        return np.dtype(_TYPES[self.kind, self.bits])


def read_page(source: Source, number: int = 0, *, count: bool = False) -> Page:
    """Return a page of a TIFF file, counted from 0; ``count`` the pages."""
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # else Python prints what the error says
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
        raise FileError(f"{source.path} is not a readable TIFF: {first_line(error)}") from None


def _codes(source: Source, form: Any, offset: int) -> set[int]:
    """Return the tags that the list at an offset has."""
    (count,) = struct.unpack(form.tagnoformat, source.read(offset, form.tagnosize))
    entries = source.read(offset + form.tagnosize, count * form.tagsize)
    return {struct.unpack_from(f"{form.byteorder}H", entries, at)[0] for at in range(0, len(entries) - 1, form.tagsize)}


def _palette(stored: AnyArray, bits: int, source: Source) -> AnyArray:
    """Return a palette as 8-bit (N, 3)."""
    if bits > 8 or stored.size != 3 << bits:
        raise FileError(f"{source.path} is not a readable TIFF: its palette does not fit its {bits} bits")
    if stored.max() > 255:  # some writers store 8 bits
        stored = stored >> 8
    return np.ascontiguousarray(stored.reshape(3, -1).T).astype(np.uint8)


def decode_tiff(source: Source, plane: Plane | None = None) -> StoredImage:
    """Decode the first page of a file, or the plane that is named."""
    source.budget.check_file()
    page = read_page(source, 0 if plane is None else plane.number, count=plane is None)
    if plane is not None and plane.shift:
        page.places = [(offset + plane.shift, count) for offset, count in page.places]
    array = tiff_pixels(page)
    if page.pages > 1 and plane is None:
        warnings.warn(f"{source.path} has {page.pages} pages; page 1 is used", stacklevel=5)
    return StoredImage(
        turned_upright(array, page.orientation),
        "TIFF",
        icc_profile=page.profile,
        changes=said_of(page.orientation),
        exif=Exif.of_tiff(source),
    )


@dataclass(frozen=True)
class TiffPicture:
    """The first page of a file as (H, W, samples), of which rectangles are read by index."""

    path: str
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    chunks: tuple[int, int, int]
    photometric: int
    profile: bytes | None

    @classmethod
    def of(cls, path: PathLike) -> TiffPicture:
        """Look at a file."""
        with opened(path) as source:
            page = _in_rows(read_page(source))
            _check(page, ())
            shape, chunks = (page.height, page.width, page.samples), (*page.piece, page.samples)
            return cls(os.fspath(path), shape, page.dtype, chunks, page.photometric, page.profile)

    def __getitem__(self, place: tuple[slice, slice, Any]) -> AnyArray:
        with opened(self.path) as source:
            return tiff_pixels(_in_rows(read_page(source)), place[:2])[:, :, place[2]]


def tiff_pixels(page: Page, region: tuple[slice, slice] | None = None) -> AnyArray:
    """Return a page, or some of its rows and columns, as (H, W, samples).

    The samples are grey or red, green, blue, and what is there beside them.
    """
    try:
        _check(page, None if region is None else _touched(page, *region))
        if page.in_child:
            return np.asarray(in_child(f"{__name__}:_pixels", page.source, page.number, region))
        return _unpack(page, region)
    except RelblurError:
        raise
    except Exception as error:  # decoders raise many types; all mean an unusable file
        raise FileError(f"{page.source.path} is not a readable TIFF: {first_line(error)}") from None


def _pixels(source: Source, number: int, region: tuple[slice, slice] | None) -> AnyArray:
    return _unpack(read_page(source, number), region)


def _refuse(page: Page, why: str) -> FileError:
    remedy = "save it as grey or RGB of 8 or 16 bits, uncompressed or packed by deflate or LZW"
    return FileError(f"{page.source.path} cannot be used: {why}; {remedy}")


def _in_rows(page: Page) -> Page:
    """Return an uncompressed page of large strips as one of small ones, of which few are read for a rectangle."""
    row = math.ceil(page.width * (1 if page.separate_planes else page.samples) * page.bits / 8)
    tall = page.piece[0]
    if page.tiled or page.compression != _NONE or tall <= _STRIP_ROWS or row < 1:
        return page
    rows = _STRIP_ROWS if tall >= page.height else next(n for n in range(_STRIP_ROWS, 0, -1) if tall % n == 0)
    places = []
    for number, (offset, count) in enumerate(page.places):
        strips = -(-page.height // tall)
        height = min(tall, page.height - number % strips * tall)
        for top in range(0, height, rows):
            start, stop = top * row, min(top + rows, height) * row
            if stop > count:
                raise FileError(f"{page.source.path} is not a readable TIFF: strip {number} has {count} bytes")
            places.append((offset + start, stop - start))
    cut = copy(page)
    cut.piece, cut.places = (rows, page.width), places
    return cut


def _touched(page: Page, rows: slice, columns: slice) -> list[int]:
    """Return the numbers of the pieces that a rectangle lies on."""
    tall, wide = page.piece
    across, down = math.ceil(page.width / wide), math.ceil(page.height / tall)
    return [
        plane * across * down + row * across + column
        for plane in range(page.samples if page.separate_planes else 1)
        for row in range(rows.start // tall, math.ceil(rows.stop / tall))
        for column in range(columns.start // wide, math.ceil(columns.stop / wide))
    ]


def _check(page: Page, wanted: Sequence[int] | None = None) -> None:
    """Refuse what is not understood, and what claims too much, before memory is taken for it.

    Of a page that is read in parts, only the pieces that are wanted count.
    """
    budget, (tall, wide) = page.source.budget, page.piece
    if min(page.height, page.width, page.samples, tall, wide) < 1:
        raise FileError(f"{page.source.path} is not a readable TIFF: it claims {page.width} x {page.height} pixels")
    budget.check_pixels(*page.piece)
    if wanted is None:
        budget.check_pixels(page.height, page.width)
    if page.samples > 5 or not page.is_plain:
        raise _refuse(page, f"it has {page.samples} channels, or inks or a depth of its own")
    _check_meaning(page)
    per_plane = math.ceil(page.height / tall) * math.ceil(page.width / wide)
    pieces = per_plane * (page.samples if page.separate_planes else 1)
    budget.check_parts(page.height * page.width, pieces)
    if len(page.places) != pieces:
        raise FileError(f"{page.source.path} is not a readable TIFF: it has {len(page.places)} of {pieces} pieces")
    if wanted is None and not page.tiled:
        unpacked = page.height * page.width * page.samples
    else:
        count = pieces if wanted is None else len(wanted)
        unpacked = count * tall * wide * (1 if page.separate_planes else page.samples)
    unpacked *= page.dtype.itemsize * (3 if page.photometric == _PALETTE else 1)
    page.source.check_expansion(unpacked, lossy=page.compression == _JPEG)


def _check_meaning(page: Page) -> None:
    """Refuse numbers and colours that relblur does not know how to take."""
    name = {1: "unsigned", 2: "signed", 3: "floating-point"}.get(page.kind, "other")
    as_pixels, meaning, bits = page.compression in (_JPEG, *_FAX), page.photometric, page.bits
    codec = "fax" if page.compression in _FAX else "JPEG"
    form = (page.kind, bits, page.samples)
    least = {_RGB: 3, _CMYK: 4, _YCBCR: 3}.get(meaning, 1)
    reasons = {
        f"its values are {name} numbers of {bits or 'several sizes of'} bits": (page.kind, bits) not in _TYPES,
        f"it holds {_REFUSED.get(meaning, f'colours of kind {meaning}')}": meaning not in _MEANINGS,
        "it holds YCbCr colours that are not JPEG": meaning == _YCBCR and page.compression != _JPEG,
        "its colours are no unsigned numbers": meaning in (_WHITE_IS_ZERO, _PALETTE, _CMYK) and page.kind != 1,
        f"its inks have {bits} bits": meaning == _CMYK and bits not in (8, 16),
        "it has no palette": meaning == _PALETTE and page.colours is None,
        f"it has {page.samples} channels and its colours need {least}": page.samples < least,
        f"it holds {page.samples} channels of {bits} bits as {codec}": as_pixels
        and (form not in ([(1, 1, 1)] if codec == "fax" else [(1, 8, 1), (1, 8, 3)]) or page.separate_planes),
        f"it holds a palette or inks as {codec}": as_pixels and meaning in (_PALETTE, _CMYK),
        f"it is packed by method {page.compression}": not as_pixels
        and page.compression not in (_NONE, *_DEFLATE, _LZMA, *_BY_LIBTIFF),
        "the bits of its bytes are in reverse order": not as_pixels and page.decoder_tags.get(266, 1) != 1,
        f"its values are predicted by method {page.predictor}": page.predictor not in (1, 2, 3)
        or (page.predictor == 3) > (page.kind == 3),
        f"differences of {bits} bits are stored": page.predictor != 1 and bits % 8 > 0,
    }
    for why, applies in reasons.items():
        if applies:
            raise _refuse(page, why)


def _unpack(page: Page, region: tuple[slice, slice] | None) -> AnyArray:
    """Return the pieces in their places: (H, W, samples) as colours."""
    rows, columns = region or (slice(0, page.height), slice(0, page.width))
    wanted = range(len(page.places)) if region is None else _touched(page, rows, columns)
    tall, wide = page.piece
    across = math.ceil(page.width / wide)
    per_plane = across * math.ceil(page.height / tall)
    size = (rows.stop - rows.start, columns.stop - columns.start, page.samples)
    pixels: AnyArray = np.zeros(size, page.dtype)
    for index, piece in _pieces(page, per_plane, wanted):
        plane, rest = divmod(index, per_plane)
        top, left = rest // across * tall - rows.start, rest % across * wide - columns.start
        channels = slice(plane, plane + 1) if page.separate_planes else slice(None)
        target = pixels[max(top, 0) : top + tall, max(left, 0) : left + wide, channels]
        inside = piece[max(-top, 0) :, max(-left, 0) :]
        target[...] = inside[: target.shape[0], : target.shape[1]]
    return _as_colours(page, pixels)


def _pieces(page: Page, per_plane: int, wanted: Sequence[int]) -> Iterator[tuple[int, AnyArray]]:
    """Yield the number and the pixels of every piece that is there."""
    tall, wide = page.piece
    samples = 1 if page.separate_planes else page.samples
    row_bytes = math.ceil(wide * samples * page.bits / 8)
    for start in range(0, len(page.places), per_plane):
        there = [n for n in wanted if start <= n < start + per_plane and page.places[n][1]]  # others are zero
        rows = [tall if page.tiled else min(tall, page.height - n % per_plane * tall) for n in there]
        if there and page.compression in (_JPEG, *_FAX, *_BY_LIBTIFF):
            packed = [_packed(page, n, 2 * tall * row_bytes + _SPARE_BYTES) for n in there]
            as_pixels = page.compression not in _BY_LIBTIFF
            found = _by_libtiff(packed, wide if as_pixels else row_bytes, tall, sum(rows), page, as_pixels=as_pixels)
            blocks = np.split(found, np.cumsum(rows)[:-1])
            for number, block in zip(there, blocks, strict=True):
                pixels = block.reshape(len(block), wide, samples) if as_pixels else _numbers(page, block, wide, samples)
                yield number, pixels
            continue
        for number, count in zip(there, rows, strict=True):
            page.source.budget.check_time()
            content = _packed(page, number, 2 * tall * row_bytes + _SPARE_BYTES)
            unpacked = _unpacked(page, content, count * row_bytes, tall * row_bytes)
            values = np.frombuffer(unpacked, np.uint8, count * row_bytes).reshape(count, row_bytes)
            yield number, _numbers(page, values, wide, samples)


def _packed(page: Page, number: int, most: int) -> bytes:
    offset, count = page.places[number]
    if count > most:
        raise FileError(f"{page.source.path} is not a readable TIFF: piece {number} claims {count} bytes")
    content = page.source.read(offset, count)
    if len(content) < count:
        raise FileError(f"{page.source.path} is not a readable TIFF: piece {number} reaches beyond the file")
    return content


def _unpacked(page: Page, content: bytes, least: int, most: int) -> bytes:
    """Return the bytes of a piece: at least what is needed, and never more than a piece may hold."""
    if page.compression in _DEFLATE:
        content = zlib.decompressobj().decompress(content, most + 1)
    elif page.compression == _LZMA:
        content = lzma.LZMADecompressor().decompress(content, most + 1)
    if len(content) < least or (len(content) > most and page.compression != _NONE):
        what = "too little" if len(content) < least else "more than it may hold"
        raise FileError(f"{page.source.path} is not a readable TIFF: a piece of it unpacks to {what} ({most} bytes)")
    return content


def _numbers(page: Page, rows: AnyArray, wide: int, samples: int) -> AnyArray:
    """Return rows of bytes as numbers (rows, columns, samples), with the predictor undone."""
    kind = page.dtype
    if page.bits % 8:
        bits = np.unpackbits(rows, axis=1, count=wide * samples * page.bits).reshape(
            len(rows), wide, samples, page.bits
        )
        values = np.zeros(bits.shape[:3], kind)
        for bit in range(page.bits):
            values = (values << 1) | bits[..., bit]
        return values
    if page.predictor == 3:  # differences of bytes, the highest bytes of a row first (Adobe, technical note 3)
        planes = np.cumsum(rows.reshape(len(rows), -1, samples), axis=1, dtype=np.uint8)
        planes = planes.reshape(len(rows), kind.itemsize, wide * samples).swapaxes(1, 2)
        values = np.ascontiguousarray(planes).view(kind.newbyteorder(">"))
        return values.reshape(len(rows), wide, samples)
    values = np.ascontiguousarray(rows).view(kind.newbyteorder(page.order)).reshape(len(rows), wide, samples)
    if page.predictor == 2:
        whole = np.dtype(f"u{kind.itemsize}")
        values = np.cumsum(values.astype(kind).view(whole), axis=1, dtype=whole).view(kind)
    return values


def _by_libtiff(pieces: Sequence[bytes], wide: int, tall: int, height: int, page: Page, *, as_pixels: bool) -> AnyArray:
    """Unpack pieces as the strips of a TIFF made for them: of the page's pixels, or of bare bytes as 8-bit grey."""
    from PIL.TiffImagePlugin import TiffImageFile

    samples, undefined = page.samples if as_pixels else 1, 7
    numbers: dict[int, Sequence[int]] = {
        256: [wide],
        257: [height],
        258: [page.bits if as_pixels else 8] * samples,
        259: [page.compression],
        262: [page.photometric if as_pixels else _BLACK_IS_ZERO],
        277: [samples],
        278: [tall],
    }
    others = {}
    for tag, value in page.decoder_tags.items() if as_pixels else ():
        if isinstance(value, bytes):
            others[tag] = (undefined, len(value), value)
        else:
            numbers[tag] = value if isinstance(value, tuple) else (value,)
    content = tiff_of_strips("<", numbers, others, pieces)
    with TiffImageFile(io.BytesIO(content)) as picture:
        picture.load()
        found = np.asarray(picture)
    return found.astype(np.uint8) * np.uint8(255) if found.dtype == bool else found


def _as_colours(page: Page, values: AnyArray) -> AnyArray:
    """Return stored values as grey or red, green and blue."""
    if page.compression in (_JPEG, *_FAX):  # libtiff has done it
        return values
    if page.photometric == _PALETTE and page.colours is not None:
        return np.concatenate([page.colours[values[:, :, 0]], _scaled(values[:, :, 1:], page.bits)], axis=2)
    if page.photometric == _WHITE_IS_ZERO:
        colours = values[:, :, : page.samples - (page.samples in (2, 4))]  # all but alpha
        np.subtract(values.dtype.type((1 << page.bits) - 1), colours, out=colours)
    values = _scaled(values, page.bits)
    if page.photometric == _CMYK:
        top = np.iinfo(values.dtype).max
        paper = (top - values[:, :, :4]).astype(np.uint32)
        inks = (paper[:, :, :3] * paper[:, :, 3:] + top // 2) // top
        return np.concatenate([inks.astype(values.dtype), values[:, :, 4:]], axis=2)
    return values


def _scaled(values: AnyArray, bits: int) -> AnyArray:
    """Return 1, 2 and 4 bits on the scale of 8. 10 to 14 bits stay as a sensor gives them."""
    return values * np.uint8(255 // ((1 << bits) - 1)) if bits < 8 else values
