"""Ways to spoil a good file: bytes, blocks and splices for any format, and edits of one format.

Edits of a format repair checksums, so that the damage reaches the code behind them.
"""

from __future__ import annotations

import io
import json
import random
import re
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np
from specimens import npy

#: Numbers at the edges of what the fields of headers hold.
EDGES = (0, 1, 2, 3, 7, 8, 255, 256, 4096, 32767, 32768, 65535, 65536, 20_000, 2**24, 2**31 - 1, 2**31, 2**32 - 1)
#: Tags of TIFF that describe pixels, and values that some of them have.
TAGS = (*range(254, 260), 262, 273, 274, 277, 278, 279, 284, 317, 320, *range(322, 326), 330, 338, 339, 347, 530)
TAGS += (34665, 34675, 50706)
CODES = (*range(1, 10), 16, 32, 64, 32773, 32803, 32946, 34925, 34712, 50000)
#: What people and programs write where a number belongs.
WORDS = (
    *("0", "-0.0", "1", "-1", "2", "2.5", "1e-320", "1e-9", "1e39", "1e308", "1e400", "inf", "-inf", "nan", "true"),
    *('"x"', '"2"', '""', '"inf"', "[]", "[1]", "[1, 2]", "[1, 2, 3]", "[[1, 2], 3]", "[nan, inf]", '["a", "b"]'),
    *("{}", "null", "NaN", "Infinity", "9" * 400, "-" + "9" * 400, "1" * 5000, "[" * 3000, "0x7fffffff", "07:32:00"),
    *("1979-05-27", "1_000", "１", "٣", "\u0000", '"\\ud800"', "'''", "# x"),
)
#: Values that pictures of floats should not have and do.
PIXELS = (np.nan, np.inf, -np.inf, 3.4e38, -3.4e38, 1e10, -1e10, 1e-30, 1e-300, 0.0, -1.0, 65535.0, 1e6)


def spoil(content: bytes, suffix: str, rng: random.Random) -> bytes:
    """Return the content with one to three pieces of damage."""
    ways: list[Callable[[bytes, random.Random], bytes]] = [_flip, _edge, _cut, _blocks, _lines]
    known = KNOWN.get(suffix)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        if known is not None and rng.random() < (0.9 if known is _text else 0.55):  # stray bytes are no text at all
            try:
                content = known(content, rng)
            except Exception:  # spoilt before, so that its format cannot be followed
                content = _flip(content, rng)
        else:
            content = rng.choice(ways)(content, rng)
    return content


def _place(content: bytes, rng: random.Random) -> int:
    """Return an offset; half of them near the start, where the structure is."""
    reach = min(len(content), 160) if rng.random() < 0.5 else len(content)
    return rng.randrange(max(reach, 1))


def _flip(content: bytes, rng: random.Random) -> bytes:
    spoilt = bytearray(content or b"\0")
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        place = _place(spoilt, rng)
        spoilt[place] = rng.choice((spoilt[place] ^ 1 << rng.randrange(8), rng.randrange(256), 0, 255, 127, 128))
    return bytes(spoilt)


def _edge(content: bytes, rng: random.Random) -> bytes:
    """Write a number of two, four or eight bytes somewhere."""
    width = rng.choice("HHIIIQ")
    value = rng.choice(EDGES) % 2 ** (8 * struct.calcsize(width))
    number = struct.pack(rng.choice("<>") + width, value)
    place = _place(content, rng)
    return content[:place] + number + content[place + len(number) :]


def _cut(content: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.3:
        return content + rng.choice((b"\0" * 100, rng.randbytes(50), content))
    return content[: rng.randrange(len(content) + 1)]


def _blocks(content: bytes, rng: random.Random) -> bytes:
    """Take a block out, or write it several times, or clear it."""
    start, length = _place(content, rng), rng.choice((1, 2, 4, 12, 64, 300))
    block = content[start : start + length]
    block = rng.choice((b"", block * rng.choice((2, 3, 50)), b"\0" * len(block), b"\xff" * len(block)))
    return content[:start] + block + content[start + length :]


def _lines(content: bytes, rng: random.Random) -> bytes:
    """Replace a number that stands in the file as text."""
    found = list(re.finditer(rb"[0-9][0-9.]*", content))
    if not found:
        return _flip(content, rng)
    match = rng.choice(found[:40])
    return content[: match.start()] + rng.choice(WORDS).encode() + content[match.end() :]


def _png(content: bytes, rng: random.Random) -> bytes:
    """Spoil one chunk, or take it out, or write it twice; its checksum is right again."""
    place, chunks = 8, []
    while place + 12 <= len(content):
        (length,) = struct.unpack_from(">I", content, place)
        chunks.append((content[place + 4 : place + 8], content[place + 8 : place + 8 + length]))
        place += 12 + length
    index = rng.randrange(len(chunks))
    kind, inside = chunks[index]
    way = rng.randrange(6)
    if way == 0:
        del chunks[index]
    elif way == 1:
        chunks.insert(rng.randrange(len(chunks) + 1), (kind, inside))
    elif way == 2:
        extra = (b"gAMA", b"cHRM", b"iCCP", b"sRGB", b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"pHYs", b"acTL", b"tRNS")
        body = rng.choice((b"", b"\0\0\0\0", rng.randbytes(20), b"a\0\0" + zlib.compress(bytes(10**6))))
        chunks.insert(1, (rng.choice(extra), body))
    elif kind == b"IDAT" and way < 5:
        raw = _flip(zlib.decompress(inside), rng) if way == 3 else bytes(rng.choice((0, 10, 10**7)))
        chunks[index] = (kind, zlib.compress(raw))
    else:
        chunks[index] = (kind, _edge(inside, rng) if rng.random() < 0.5 else _flip(inside, rng))
    body = b"".join(
        struct.pack(">I", len(part)) + kind + part + struct.pack(">I", zlib.crc32(kind + part)) for kind, part in chunks
    )
    return content[:8] + body


def _tiff(content: bytes, rng: random.Random) -> bytes:
    """Change the number, the type, the count or the value of a tag of the first page."""
    import tifffile

    with tifffile.TiffFile(io.BytesIO(content)) as file:
        tag, order, is_big = rng.choice(list(file.pages[0].tags)), file.byteorder, file.is_bigtiff
    spoilt = bytearray(content)
    part = rng.choice((0, 2, 4, 8, 8, 8))
    width = "H" if part < 4 else "Q" if is_big else "I"
    place = tag.offset + (12 if is_big and part == 8 else part)
    (value,) = struct.unpack_from(order + width, spoilt, place)
    others = TAGS if part == 0 else range(20) if part == 2 else (*CODES, *EDGES, len(content), len(content) - 1)
    value = rng.choice((*others, value + 1, value ^ 1 << rng.randrange(16)))
    struct.pack_into(order + width, spoilt, place, value % 2 ** (8 * struct.calcsize(width)))
    return bytes(spoilt)


def _npy(content: bytes, rng: random.Random) -> bytes:
    """Give the array other values, another shape or another type; or edit the header's text."""
    array = np.load(io.BytesIO(content), allow_pickle=False)
    way = rng.randrange(4)
    if way == 0:
        return _lines(content[:80], rng) + content[80:]
    with np.errstate(all="ignore"):
        if way == 1 and array.dtype.kind == "f" and array.size:
            array = array.copy()
            count = min(array.size, rng.choice((1, 2, 20, array.size)))
            array.flat[rng.sample(range(array.size), count)] = rng.choice(PIXELS)
            return npy(array)
        if way == 2:
            shapes = [(1, 20), (16, 1), (1, 1), (0, 20), (20,), (), (2, 2), (2, 3, 3), (3, 16, 20), (16, 20, 4)]
            return npy(np.resize(array, rng.choice([*shapes, (16, 20, 1), (1, 16, 20, 3), (16, 20, 2), (5, 300)])))
        scale = rng.choice((0, 1e-30, 1e-10, 1e10, 1e30, -1, 255, 65535))
        kinds = ("f2", "f4", "f8", ">f4", "u1", "u2", ">i4", "i8", "?", "c8", "U3", "S2", "M8[s]", "V8")
        changed = np.nan_to_num(np.asarray(array, dtype=np.complex128).real) if array.dtype.kind in "fiubc" else array
        return npy((changed * scale).astype(rng.choice(kinds)))


def _npz(content: bytes, rng: random.Random) -> bytes:
    """Spoil one member of the archive, or remove it; the archive is whole again."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(members))
    inside = members.pop(name)
    if rng.random() < 0.8:
        if name.startswith("metadata"):
            text = str(np.load(io.BytesIO(inside), allow_pickle=False)[()])
            members[name] = npy(np.array(_text(text.encode(), rng).decode("utf-8", "replace")))
        else:
            members[name] = _npy(inside, rng)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, inside in members.items():
            archive.writestr(each, inside)
    return stream.getvalue()


def _text(content: bytes, rng: random.Random) -> bytes:
    """Spoil a value, a line or the encoding of a file of fields."""
    text = content.decode("utf-8", "replace")
    values = list(re.finditer(r'(?<=[=:])\s*("[^"]*"|\[[^\]]*\]|[^,\s}\]]+)', text))
    way = rng.randrange(6)
    if way <= 2 and values:
        match = rng.choice(values)
        return (text[: match.start()] + " " + rng.choice(WORDS) + text[match.end() :]).encode("utf-8", "replace")
    if way == 3:
        lines = text.splitlines()
        index = rng.randrange(len(lines) or 1)
        lines[index : index + rng.randrange(2)] = [
            rng.choice(("x = 1", "[camera]", "a" + ".a" * 3000 + " = 1", "[[x]]"))
        ]
        return "\n".join(lines).encode()
    if way == 4:
        whole = (b"[" * 20_000, b'{"a":' * 20_000, json.dumps([text]).encode(), b"null", b'"camera"', b"")
        return rng.choice((b"\xef\xbb\xbf" + content, text.encode("utf-16"), b"\xff" + content, *whole))
    return _flip(content, rng)


KNOWN: dict[str, Callable[[bytes, random.Random], bytes]] = {
    **dict.fromkeys((".tif", ".tiff", ".dng"), _tiff),
    **dict.fromkeys((".toml", ".json"), _text),
    **dict.fromkeys((".hdr", ".pfm"), _lines),
    ".png": _png,
    ".npy": _npy,
    ".npz": _npz,
}
