"""Decode TIFF pages in a child process, with tifffile, or with libtiff in Pillow and OpenCV.

A page becomes grey or RGB. Other contents are refused, because a wrong guess would still look like a picture.
"""

from __future__ import annotations

import io
import logging
import math
import struct
import warnings
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.errors import FileError, RelblurError
from .decoders import opencv_values, pillow_values
from .exif import Exif
from .reading import Plane, Source, first_line
from .stored import StoredImage, changes_of, turned_upright

__all__ = ["TIFF_MAGIC", "decode_tiff", "open_tiff"]

TIFF_MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")

_LZW, _JPEG = 5, 7
_DEFLATE, _LZMA, _WITHOUT_PREDICTOR = (8, 32946), 34925, (1, 32773)  #: the last: none, PackBits
_WHITE_IS_ZERO, _BLACK_IS_ZERO, _RGB, _PALETTE, _CMYK, _YCBCR = 0, 1, 2, 3, 5, 6
_UNSIGNED, _SIGNED, _FLOAT = 1, 2, 3
_BITS = {_UNSIGNED: (8, 16, 32, 64), _SIGNED: (16, 32, 64), _FLOAT: (16, 32, 64)}
#: Allowed size of a packed piece beyond twice its pixels, bytes: LZW may lengthen data by half, JPEG has a header.
_SPARE_BYTES = 100_000
#: Tags that define the meaning of the pixels.
_TAGS = {*range(256, 260), 262, 273, 274, *range(277, 280), 284, 317, 320, *range(322, 326), 332, 339, 32997, 34675}


def open_tiff(source: Source) -> Any:
    """Return a file as a ``tifffile.TiffFile``."""
    import tifffile

    logging.getLogger("tifffile").addHandler(logging.NullHandler())  # keeps Python from printing the error
    source.stream.seek(0)
    return tifffile.TiffFile(source.stream, name="picture.tif", _multifile=False)


def decode_tiff(source: Source, plane: Plane | None = None) -> StoredImage:
    """Decode the first page of a file, or a given plane."""
    source.check_file()
    number, shift = (0, 0) if plane is None else (plane.number, plane.shift)
    try:
        with open_tiff(source) as file:
            if plane is None and len(file.pages) > 1:
                warnings.warn(f"{source.path} has {len(file.pages)} pages; page 1 is used", stacklevel=2)
            page = _Page(source, file, file.pages[number])
            values = page.values(shift)
    except RelblurError:
        raise
    except IndexError:
        raise FileError(f"{source.path} has no page {number + 1}") from None
    except Exception as error:  # of any type; all mean an unusable file
        raise FileError(f"{source.path} is not a readable TIFF: {first_line(error)}") from None
    return StoredImage(
        turned_upright(values, page.orientation),
        "TIFF",
        icc_profile=page.profile,
        changes=changes_of(page.orientation),
        exif=Exif.of_tiff(source),
    )


class _Page:
    """The tags of a page that describe its pixels."""

    def __init__(self, source: Source, file: Any, page: Any) -> None:
        tags = {tag.code: tag.value for tag in page.tags}
        if damaged := _codes(source, file.tiff, page.offset) & _TAGS - set(tags):  # tifffile omits unreadable tags
            raise ValueError(f"tag {min(damaged)} is damaged")

        def common_value(code: int) -> int:
            """Return the common value of a tag for all samples; 0 if the values differ."""
            values = tags.get(code, 1)
            values = set(values) if isinstance(values, tuple) else {values}
            return int(values.pop()) if len(values) == 1 else 0

        self.source, self.file, self.page = source, file, page
        self.width, self.height, self.samples = int(tags[256]), int(tags[257]), int(tags.get(277, 1))
        self.bits = common_value(258)
        self.kind = _UNSIGNED if common_value(339) == 4 else common_value(339)  #: 4: undefined
        self.compression, self.predictor = int(tags.get(259, 1)), int(tags.get(317, 1))
        self.meaning = int(tags.get(262, _RGB if self.samples >= 3 else _BLACK_IS_ZERO))
        self.is_planar = int(tags.get(284, 1)) == 2 and self.samples > 1
        self.is_plain = int(tags.get(32997, 1)) == int(tags.get(332, 1)) == 1  #: neither a volume nor special inks
        self.is_reversed = int(tags.get(266, 1)) != 1  #: order of bits; programs differ in its meaning
        strip = (min(int(tags.get(278, self.height)), self.height), self.width)
        self.is_tiled, self.has_palette = 322 in tags, 320 in tags
        #: Height and width of a strip or a tile, px.
        self.piece = (int(tags[323]), int(tags[322])) if self.is_tiled else strip
        self.turn, self.orientation = page.tags.get(274), int(tags.get(274, 1))
        self.profile = bytes(tags[34675]) if 34675 in tags else None

    def values(self, shift: int) -> AnyArray:
        """Return the pixels, ``shift`` bytes after those of the page."""
        self._check_size()
        if self._fits_pillow():
            return self._by_pillow()
        if self._fits_opencv():
            return opencv_values(self.source, "TIFF", self._as_first_page())
        if not self._fits_tifffile():
            kind = {_UNSIGNED: "unsigned", _SIGNED: "signed", _FLOAT: "float"}.get(self.kind, "other")
            raise FileError(
                f"{self.source.path} cannot be used: {self.samples} channel(s) of {self.bits} bits ({kind}), colours "
                f"of kind {self.meaning} (tag 262), packed by method {self.compression} (tag 259); save it as grey or "
                f"RGB of 8 or 16 bits, uncompressed or packed by deflate or LZW"
            )
        return self._by_tifffile(shift)

    def _check_size(self) -> None:
        """Refuse declared sizes beyond the limits, before memory is allocated."""
        source, (tall, wide) = self.source, self.piece
        if min(self.height, self.width, self.samples, tall, wide) < 1:
            raise ValueError(f"it declares {self.width} x {self.height} pixels")
        source.check_pixels(self.height, self.width)
        source.check_pixels(tall, wide)
        pieces = math.ceil(self.height / tall) * math.ceil(self.width / wide)
        expected = pieces * (self.samples if self.is_planar else 1)
        if not expected == len(self.page.dataoffsets) == len(self.page.databytecounts):
            raise ValueError(f"it has {len(self.page.dataoffsets)} of {expected} pieces")
        if max(self.page.databytecounts) > 2 * tall * wide * self.samples * max(self.bits, 8) // 8 + _SPARE_BYTES:
            raise ValueError(f"a piece of it declares {max(self.page.databytecounts)} bytes")
        pixels = pieces * tall * wide if self.is_tiled else self.height * self.width
        source.check_expansion(pixels * self.samples * self.bits // 8, lossy=self.compression == _JPEG)

    def _is_grey_or_rgb(self) -> bool:
        least = {_WHITE_IS_ZERO: 1, _BLACK_IS_ZERO: 1, _RGB: 3}.get(self.meaning)
        return self.is_plain and not self.is_reversed and least is not None and self.samples >= least

    def _fits_tifffile(self) -> bool:
        inverted = self.meaning == _WHITE_IS_ZERO and self.kind != _UNSIGNED
        packed = self.compression in (*_DEFLATE, _LZMA) and self.predictor in (1, 2)
        packed = packed or (self.compression in _WITHOUT_PREDICTOR and self.predictor == 1)
        return packed and self.bits in _BITS.get(self.kind, ()) and self._is_grey_or_rgb() and not inverted

    def _fits_pillow(self) -> bool:
        form, colours = (self.bits, self.samples), self.meaning
        if not self.is_plain or self.kind != _UNSIGNED or self.predictor not in (1, 2):
            return False
        if self.compression == _JPEG:
            return form in ((8, 1), (8, 3)) and colours in (_BLACK_IS_ZERO, _RGB, _YCBCR) and not self.is_planar
        if self.compression == _LZW and self._is_grey_or_rgb() and self.bits >= 8:
            return self.bits == 8 or (form == (16, 1) and colours == _BLACK_IS_ZERO)
        if colours == _CMYK:
            return form == (8, 4)
        if colours == _PALETTE and self.has_palette and form == (8, 1):
            return True
        few = form in ((1, 1), (2, 1), (4, 1)) and self.predictor == 1
        return few and (colours in (_WHITE_IS_ZERO, _BLACK_IS_ZERO) or (colours == _PALETTE and self.has_palette))

    def _fits_opencv(self) -> bool:
        if self.is_planar or not self._is_grey_or_rgb() or self.meaning == _WHITE_IS_ZERO:
            return False
        if self.kind == _UNSIGNED:
            return self.bits == 16 and self.compression == _LZW and self.predictor in (1, 2) and self.samples in (3, 4)
        floats = (self.kind, self.bits) == (_FLOAT, 32) and self.samples in (1, 3)
        return floats and (self.compression == _LZW or (self.compression in _DEFLATE and self.predictor == 3))

    def _by_tifffile(self, shift: int) -> AnyArray:
        if shift:
            self.page.dataoffsets = tuple(offset + shift for offset in self.page.dataoffsets)
        values = np.asarray(self.page.asarray(maxworkers=1))
        if self.is_planar:
            values = np.moveaxis(values, 0, 2)
        values = values.reshape(self.height, self.width, self.samples)
        if self.meaning == _WHITE_IS_ZERO:
            colours = self.samples - (self.samples in (2, 4))  # all but alpha
            values[:, :, :colours] = np.iinfo(values.dtype).max - values[:, :, :colours]
        return values.astype(values.dtype.newbyteorder("="), copy=False)

    def _by_pillow(self) -> AnyArray:
        from PIL.TiffImagePlugin import TiffImageFile

        with TiffImageFile(io.BytesIO(self._as_first_page())) as picture:
            picture.load()
            return pillow_values(picture)

    def _as_first_page(self) -> bytes:
        """Return the file with this page as its first one, and without its orientation."""
        content, form = bytearray(self.source.whole()), self.file.tiff
        at = 8 if self.file.is_bigtiff else 4
        struct.pack_into(form.offsetformat, content, at, self.page.offset)
        if self.turn is not None:
            struct.pack_into(f"{form.byteorder}H", content, self.turn.valueoffset, 1)
        return bytes(content)


def _codes(source: Source, form: Any, offset: int) -> set[int]:
    """Return the numbers of the tags in the list at an offset."""
    (count,) = struct.unpack(form.tagnoformat, source.read(offset, form.tagnosize))
    entries = source.read(offset + form.tagnosize, count * form.tagsize)
    return {struct.unpack_from(f"{form.byteorder}H", entries, at)[0] for at in range(0, len(entries) - 1, form.tagsize)}
