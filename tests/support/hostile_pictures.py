"""HEIC, AVIF, GIF, BMP and PNM: bombs and wrong headers."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from hostile import patched


def bad_pictures(good: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of files that must be refused, made from good ones."""
    yield from _boxes(good)
    yield from _plain(good)
    yield "clip.mp4", b"\0\0\0\x18ftypmp42\0\0\0\0mp42isom" + bytes(500)
    yield "clip.mov", b"\0\0\0\x14ftypqt  \0\0\0\0qt  " + bytes(500)
    yield "clip.mkv", b"\x1aE\xdf\xa3" + bytes(500)
    yield "clip.avi", b"RIFF\0\1\0\0AVI LIST" + bytes(500)


def _boxes(good: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    for kind in ("heic", "avif"):
        content = good.get(f"colour8.{kind}")
        if content is None:
            continue
        size = content.index(b"ispe") + 8
        for width, height in ((0, 0), (2**32 - 1, 2**32 - 1), (20_000, 20_000), (16_000, 15_000)):
            yield f"size_{width}x{height}.{kind}", patched(content, size, struct.pack(">2I", width, height))
        for name in (b"meta", b"iprp", b"iloc", b"ispe", b"ipco"):
            yield f"no_{name.decode()}.{kind}", content.replace(name, b"free")
        place = content.index(b"iloc")
        yield f"many_items.{kind}", patched(content, place + 10, b"\xff\xff")
        yield f"wide_numbers.{kind}", patched(content, place + 8, b"\xff\xff")
        start = content.index(b"meta") - 4
        for length in (0x7FFFFFFF, 7, 12):
            yield f"meta_of_{length}.{kind}", patched(content, start, struct.pack(">I", length))
        yield f"boxes_without_end.{kind}", content[:start] + struct.pack(">I4s", 8, b"free") * 30_000
        yield f"tiny_boxes.{kind}", content[:start] + struct.pack(">I4s", 0, b"meta")
        transfer = content.find(b"nclx")
        if transfer > 0:
            yield f"hdr_tones.{kind}", patched(content, transfer + 6, b"\0\x10")


def _plain(good: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    gif, bmp = good["colour8.gif"], good["colour8.bmp"]
    yield "huge.gif", patched(gif, 6, b"\xff\xff\xff\xff")
    yield "large.gif", patched(gif, 6, struct.pack("<2H", 15_000, 15_000))
    yield "no_picture.gif", gif[:13] + b";"
    yield "comments.gif", gif[:6] + struct.pack("<2H", 15_000, 15_000) + b"\0\0\0" + b"!\xfe\xff" * 9000 + b";"
    for name, width, height in (("huge", 2**31 - 1, 2**31 - 1), ("large", 15_000, 15_000), ("negative", -5, 24)):
        yield f"{name}.bmp", patched(bmp, 18, struct.pack("<2i", width, height))
    yield "no_size.bmp", patched(bmp, 18, bytes(8))
    yield "header_of_5.bmp", patched(bmp, 14, b"\5\0\0\0")
    yield "bits_of_7.bmp", patched(bmp, 28, b"\7\0")
    heads = (b"P6\n99999 99999\n255\n", b"P6\n0 5\n255\n", b"P5\n5 5\n0\n", b"P5\n5 5\n70000\n", b"P6\n5\n")
    heads += (b"P6\n9999999999999999999 1\n255\n", b"P5\n-5 5\n255\n", b"P5\n15000 15000\n65535\n")
    heads += (b"P5 #" * 4000, b"P5" + b" " * 9000 + b"x")
    for number, head in enumerate(heads):
        yield f"head_{number}.ppm", head + bytes(20)
