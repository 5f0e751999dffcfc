"""Bombs, and files with wrong headers: the part of the corpus that is made to cost memory and time.

Nothing here is large: what would unpack to gigabytes has some megabytes at most, and the largest files are holes.
"""

from __future__ import annotations

import lzma
import os
import random
import struct
import sys
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "fuzz"))

from specimens import exr, pillow

#: Colours and numbers that a TIFF may hold and that cannot be taken for light; as changes of a page of 24 x 24.
MISTAKABLE = {
    "mask": {262: 4}, "lab": {262: 8, 277: 3}, "icc_lab": {262: 9, 277: 3}, "itu_lab": {262: 10, 277: 3},
    "mosaic": {262: 32803}, "linear_raw": {262: 34892}, "log_luv": {262: 32845, 277: 3}, "colours_99": {262: 99},
    "ycbcr": {262: 6, 277: 3}, "cmyk_3": {262: 5, 277: 3}, "cmyk_inks": {262: 5, 277: 4, 332: 2},
    "cmyk_32": {262: 5, 277: 4, 258: 32}, "cmyk_float": {262: 5, 277: 4, 258: 32, 339: 3}, "no_palette": {262: 3},
    "cmyk_16": {262: 5, 277: 4, 258: 16},
    "palette_16": {262: 3, 258: 16}, "palette_float": {262: 3, 258: 32, 339: 3},
    "white_float": {262: 0, 258: 32, 339: 3}, "white_signed": {262: 0, 258: 16, 339: 2},
    "rgb_1": {262: 2}, "rgb_2": {262: 2, 277: 2}, "int8": {339: 2},
    "complex_64": {258: 64, 339: 6}, "complex_int": {258: 32, 339: 5}, "float_24": {258: 24, 339: 3},
    "float_8": {339: 3}, **{f"bits_{n}": {258: n} for n in (3, 5, 6, 7, 9, 11, 13, 15, 20, 24, 40, 48, 128)},
    "fax_8": {259: 4}, "fax_3": {259: 3, 258: 1, 277: 3}, "jpeg_16": {259: 7, 258: 16}, "jpeg_4": {259: 7, 277: 4},
    "jpeg_cmyk": {259: 7, 277: 4, 262: 5}, "old_jpeg": {259: 6}, "jpeg_2000": {259: 34712}, "next": {259: 32766},
    "predictor_3": {317: 3}, "predictor_9": {317: 9}, "differences_4": {317: 2, 258: 4}, "reversed_bits": {266: 2},
    "volume": {32997: 2}, "channels_9": {277: 9},
}  # fmt: skip


def hostile_files() -> Iterator[tuple[str, bytes]]:
    """Yield names and contents."""
    yield from _tiff_bombs()
    yield from _tiff_claims()
    yield from _mistakable()
    yield from _exr()
    yield from _png()
    yield from _jpeg()
    yield from _webp()
    yield from _npz()
    yield from _others()


def patched(content: bytes, at: int, new: bytes) -> bytes:
    """Return a content with other bytes at a place."""
    return content[:at] + new + content[at + len(new) :]


def tiff(changes: dict[int, int], data: bytes = b"", order: str = "<", more: bytes = b"") -> bytes:
    """A TIFF of one page, 24 x 24 grey unless changed; ``data`` is its only piece, ``more`` follows it."""
    tags = {256: 24, 257: 24, 258: 8, 259: 1, 262: 1, 273: 0, 277: 1, 278: 24, 279: len(data), **changes}
    if 322 in tags:
        tags |= {324: 0, 325: len(data)}
        tags = {tag: value for tag, value in tags.items() if tag not in (273, 278, 279)}
    start = 8 + 2 + 12 * len(tags) + 4
    tags = {tag: start if tag in (273, 324) else value for tag, value in tags.items()}
    entries = b"".join(struct.pack(f"{order}HHII", tag, 4, 1, value) for tag, value in sorted(tags.items()))
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(f"{order}IH", 8, len(tags)) + entries + bytes(4) + data + more


def zeros_deflated(count: int, *, zlib_format: bool = True) -> bytes:
    """``count`` zeros as deflate, made of one block again and again."""
    block = 1 << 22
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    end = packer.compress(bytes(count % block)) + packer.flush(zlib.Z_FINISH)
    raw = first + again * (count // block - 1) + end
    return b"\x78\xda" + raw + struct.pack(">I", (count % 65521) << 16 | 1) if zlib_format else raw


@cache
def _packings() -> dict[str, tuple[int, bytes]]:
    """Much more than a piece may hold, by method."""
    return {
        "deflate": (8, zeros_deflated(3_000_000_000)),
        "old_deflate": (32946, zeros_deflated(1_000_000_000)),
        "lzma": (34925, lzma.compress(bytes(200_000_000), preset=0)),
        "packbits": (32773, b"\x81\0" * 2_000_000),
        "lzw": (5, b"\x80\x00\x60\x50\x38\x24\x16\x0d\x07\x84\x42\x61\x50\xb8\x64\x36" * 100_000),
        "zstd": (50000, b"\x28\xb5\x2f\xfd\xa4\0\xca\x9a\x3b" + b"\2\0\x10\0" * 200_000),
        "none": (1, bytes(5_000_000)),
    }


def _tiff_bombs() -> Iterator[tuple[str, bytes]]:
    for name, (method, data) in _packings().items():
        short, packed = data[:100_000], {259: method}
        wide = packed | {256: 15_000, 257: 15_000, 278: 15_000}
        yield f"strip_{name}_le.tif", tiff(packed, data)
        yield f"strip_{name}_be.tif", tiff(packed, data, ">")
        yield f"tile_{name}.tif", tiff(packed | {322: 32, 323: 32}, data)
        yield f"flat_{name}.tif", tiff(wide, short)
        yield f"padded_{name}.tif", tiff(wide, short, more=bytes(600_000))
        yield f"large_tile_{name}.tif", tiff(packed | {322: 50_000, 323: 50_000}, short)
        yield f"huge_tile_{name}.tif", tiff(packed | {322: 2**31 - 1, 323: 2**31 - 1}, short)
        yield f"shared_{name}.tif", _shared_strips(method, short)
    yield "full_large_tile.tif", tiff({259: 8, 322: 50_000, 323: 50_000}, _packings()["deflate"][1])
    # A dictionary of 4 GB, the largest in the old format's header.
    yield "lzma_dictionary.tif", tiff({259: 34925}, b"\x5d\xff\xff\xff\xff" + b"\xff" * 8 + bytes(500))


def _shared_strips(method: int, data: bytes) -> bytes:
    """9000 rows of 9000 pixels, each a strip of the same bytes."""
    lists = 8 + 2 + 12 * 9 + 4
    start = lists + 2 * 4 * 9000
    tags = [(256, 1, 9000), (257, 1, 9000), (258, 1, 8), (259, 1, method), (262, 1, 1), (273, 9000, lists), (277, 1, 1)]
    tags += [(278, 1, 1), (279, 9000, lists + 36_000)]
    entries = b"".join(struct.pack("<HHII", tag, 4, count, value) for tag, count, value in tags)
    places = np.full(9000, start, "<u4").tobytes() + np.full(9000, len(data), "<u4").tobytes()
    return b"II*\0" + struct.pack("<IH", 8, 9) + entries + bytes(4) + places + data


def _tiff_claims() -> Iterator[tuple[str, bytes]]:
    page = struct.pack("<H", 1) + struct.pack("<HHII", 256, 4, 1, 24)
    links = [struct.pack("<I", 8 + 18 * n) for n in range(1, 300_000)]
    yield "many_pages.tif", b"II*\0" + struct.pack("<I", 8) + b"".join(page + link for link in links) + page + bytes(4)
    for tag in (256, 258, 273, 279, 320, 339, 347, 34675):
        for count in (2**20, 2**32 - 1):
            whole = bytearray(tiff({tag: 1, 259: 7 if tag == 347 else 1}, bytes(576)))
            at = whole.index(struct.pack("<HHI", tag, 4, 1))
            whole[at + 4 : at + 8] = struct.pack("<I", count)
            yield f"tag_{tag}_of_{count}.tif", bytes(whole)
    far = b"II+\0" + struct.pack("<HHQQ", 8, 0, 16, 1) + struct.pack("<HHQQ", 256, 4, 1, 24)
    yield "next_page_far.tif", far + struct.pack("<Q", 2**64 - 1)
    for rows in (0, 1, 7):
        yield f"strips_missing_{rows}.tif", tiff({278: rows}, bytes(576))
    yield "strip_outside.tif", tiff({}, bytes(576))[:-1]
    yield "columns.tif", tiff({256: 1, 257: 2**27, 278: 1}, bytes(576))


def _mistakable() -> Iterator[tuple[str, bytes]]:
    for name, changes in MISTAKABLE.items():
        yield f"colours_{name}.tif", tiff(changes, bytes(24 * 24 * 16))


def _exr() -> Iterator[tuple[str, bytes]]:
    flat = np.zeros((4000, 4000), np.float32)
    for name in ("zip", "dwab"):
        content = exr({"Y": flat}, name)
        yield f"flat_{name}.exr", content
        yield f"flat_{name}_padded.exr", content + bytes(2_000_000)
    rng = random.Random(4)
    content = exr({"Y": np.random.default_rng(3).random((64, 80)).astype(np.float32)}, "zip")
    for share in (0.01, 0.1, 0.3, 0.6, 0.95):
        yield f"truncated_{share}_zip.exr", content[: int(len(content) * share)]
    for number in range(10):
        spoilt = bytearray(content)
        for _ in range(3):
            spoilt[rng.randrange(400 if number % 2 else len(spoilt))] ^= 1 << rng.randrange(8)
        yield f"flipped_{number}_zip.exr", bytes(spoilt)
    window = content.index(b"dataWindow\0box2i\0") + 21
    for number, corners in enumerate(
        ((0, 0, 16_499, 16_499), (0, 0, 99_999, 99_999), (-(2**31), -(2**31), 2**31 - 1, 2**31 - 1), (5, 5, 0, 0),
         (0, 0, 79, 9_999), (0, 0, 2**31 - 1, 0))
    ):  # fmt: skip
        yield f"window_{number}_zip.exr", patched(content, window, struct.pack("<4i", *corners))
    for flag in (0x200, 0x800, 0x1000, 0x1A00):
        yield f"flag_{flag}_zip.exr", patched(content, 4, struct.pack("<I", 2 | flag))
    for name in (b"channels", b"dataWindow"):
        yield f"lacks_{name.decode()}.exr", content.replace(name + b"\0", name[:-1] + b"_\0", 1)
    yield "only_magic.exr", content[:8]
    yield "many_parts.exr", content[:4] + struct.pack("<I", 0x1002) + b"a\0int\0\4\0\0\0\0\0\0\0\0" * 3000


def png_chunk(kind: bytes, content: bytes) -> bytes:
    """Return a chunk of a PNG with its checksum."""
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def _png() -> Iterator[tuple[str, bytes]]:
    start = b"\x89PNG\r\n\x1a\n"
    flat = png_chunk(b"IDAT", zeros_deflated(9001 * 9000))
    wide = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 9000, 9000, 8, 0, 0, 0, 0))
    end = png_chunk(b"IEND", b"")
    filling = random.Random(5).randbytes(900_000)
    yield "flat.png", start + wide + flat + end
    yield "padded_after.png", start + wide + flat + end + filling
    yield "padded_text.png", start + wide + png_chunk(b"tEXt", b"k\0" + filling) + flat + end
    yield "padded_unknown.png", start + wide + png_chunk(b"prVt", filling) + flat + end
    small = png_chunk(b"IHDR", struct.pack(">IIBBBBB", 24, 24, 8, 0, 0, 0, 0))
    data = png_chunk(b"IDAT", zlib.compress(bytes(600)))
    bomb = zeros_deflated(200_000_000)
    for name, kind, content in (
        ("profile", b"iCCP", b"p\0\0" + bomb), ("text", b"zTXt", b"k\0\0" + bomb),
        ("long_text", b"iTXt", b"k\0\1\0\0\0" + bomb),
    ):  # fmt: skip
        yield f"bomb_{name}_again.png", start + small + png_chunk(kind, content) + data + end
    yield "many_chunks.png", start + small + png_chunk(b"prVt", b"") * 200_000 + data[:-9]
    yield "large_chunk.png", start + small + struct.pack(">I", 2**31 - 1) + b"iCCP" + bytes(1000)


def _jpeg() -> Iterator[tuple[str, bytes]]:
    whole = pillow("JPEG", progressive=True)(np.zeros((64, 64), np.uint8))
    scan = whole.rindex(b"\xff\xda")
    yield "many_scans.jpg", whole[:-2] + whole[scan:-2] * 20_000 + b"\xff\xd9"
    yield "many_segments.jpg", whole[:2] + b"\xff\xfe\0\2" * 500_000 + whole[2:-200]
    yield "filling.jpg", whole[:2] + b"\xff" * 3_000_000 + whole[2:-200]
    yield "garbage.jpg", whole[:2] + b"\xff\xfe\0\2" + bytes(3_000_000) + whole[2:-200]
    frame = whole.index(b"\xff\xc2") + 5
    large = patched(whole, frame, struct.pack(">HH", 15_000, 15_000))
    yield "flat.jpg", large
    yield "padded_after.jpg", large + bytes(2_000_000)
    yield "padded_comment.jpg", large[:2] + (b"\xff\xfe\xff\xff" + bytes(65533)) * 40 + large[2:]


def _webp() -> Iterator[tuple[str, bytes]]:
    lossless = b"\x2f" + struct.pack("<I", 15_000 - 1 | (15_000 - 1) << 14) + bytes(1000)
    for name, size in (("flat", len(lossless)), ("long_chunk", 2**32 - 10)):
        body = b"WEBPVP8L" + struct.pack("<I", size) + lossless
        yield f"{name}.webp", b"RIFF" + struct.pack("<I", min(size + 12, 2**32 - 2)) + body


def _archive(size: int, shape: str, padding: int, method: int = 8, name: bytes = b"flags.npy") -> bytes:
    """A ZIP of one array of zeros, written by hand: compressing gigabytes would take long."""
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    head = b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    data = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH) + zeros_deflated(size, zlib_format=False)
    fields = struct.pack("<HHHHIIIHH", 0, method, 0, 0, 0, len(data), len(head) + size, len(name), 0)
    local = b"PK\3\4" + struct.pack("<H", 20) + fields + name
    listed = b"PK\1\2" + struct.pack("<HH", 20, 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    place = len(local) + len(data) + padding
    ending = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(listed), place, 0)
    return local + data + random.Random(6).randbytes(padding) + listed + ending


def _npz() -> Iterator[tuple[str, bytes]]:
    for megabytes in (400, 4000):
        shape = f"({megabytes}, 250000)"
        yield f"npz_flat_{megabytes}.npz", _archive(megabytes * 10**6, shape, 0)
        yield f"npz_padded_{megabytes}.npz", _archive(megabytes * 10**6, shape, 900_000)
    for name in (b"metadata.npy", b"../escape.npy"):
        yield f"npz_bomb_{name[-10:-4].decode()}.npz", _archive(800 * 10**6, "(800, 250000)", 0, 8, name)
    for method in (12, 14, 93, 99):  # bzip2, LZMA, Zstandard, encrypted
        yield f"npz_method_{method}.npz", _archive(10**7, "(10, 250000)", 0, method)


def _others() -> Iterator[tuple[str, bytes]]:
    head = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 12000 +X 12000\n"
    yield "flat.hdr", head + bytes(1000)
    yield "padded.hdr", head + bytes(900_000)
    for number, text in enumerate(
        (b"Pf\n-2 -3\n-1\n", b"Pf\n0 5\n-1\n", b"Pf\n99999 99999\n-1\n", b"Pf\n" + b"9" * 6000 + b" 1\n-1\n",
         b"Pf\n2 2\nx\n", b"Pf\n2\n-1\n", b"PF\n2 2\n-1\n", b"Pf", b"Pf\n2 x\n-1\n")
    ):  # fmt: skip
        yield f"depth_{number}.pfm", text + bytes(16 if number < 8 else 24)


def odd_files(folder: Path, good: dict[str, bytes]) -> Iterator[tuple[Path, bool]]:
    """Make pipes, devices and files that are mostly holes; return whether each may be read."""
    for suffix in ("npz", "tif", "exr", "npy", "nef"):
        os.mkfifo(path := folder / f"fifo.{suffix}")
        yield path, False
    for name in ("/dev/full", "/dev/random", "/dev/tty", "/proc/version", "/proc/self/mem"):
        (path := folder / f"{name.strip('/').replace('/', '_')}.tif").symlink_to(name)
        yield path, False
    for suffix in ("png", "jpg", "webp", "tif", "exr", "npy", "npz", "dng"):
        (path := folder / f"hole.{suffix}").touch()
        os.truncate(path, 4 << 30)
        yield path, False
    for name, content in good.items():
        (path := folder / f"hole_after_{name}").write_bytes(content)
        os.truncate(path, 4 << 30)
        yield path, True  # what follows the picture is not read, or the file is too large
