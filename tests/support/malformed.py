"""Malformed and hostile inputs for the readers: files by name, each with what to expect of it.

    python malformed.py CORPUS OUTPUT

writes the files into a folder, reads each by a command or by the function behind it, and prints lines of JSON.
All files follow from fixed seeds. None takes more than a few megabytes on the disk.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import socket
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[2] / "fuzz"))

from commands import LOAD, faults, prepare, run
from commands import Case as Command
from specimens import SIZE, npy, result_files, specimens

from hostile import hostile_files, odd_files, patched, png_chunk, tiff
from hostile_pictures import bad_pictures

#: Damage that a decoder may repair: missing pixels become grey or black, or the damaged part holds no pixels.
REPAIRED = {
    *("no_ispe.heic", "many_scans.jpg", "tall.jpg"),
    "flag_2048_zip.exr",
    *("data_too_short.png", "wrong_checksum.png", "chunk_longer_than_file.png"),
    *("tiff_compression_5.tif", "tiff_compression_34712.tif", "tiff_samples_0.tif"),
    # The bytes beyond the pixels are not used.
    *("strip_lzma_le.tif", "strip_lzma_be.tif", "tile_lzma.tif"),
}

#: Files that can be read but contain nothing that a command could use.
REFUSED_BY_COMMANDS = {"npy_all_nan.npy"}

#: Formats that are left out here: ``hostile.py`` spoils them, or their damage may go unnoticed.
UNSPOILT = (".dng", ".exr", ".pfm", ".tiff", ".pgm", ".j2k")

#: Shapes and types that an array of a picture or a map cannot have.
SHAPES = ("(1000000, 1000000)", "(9223372036854775807,)", "(-6, -8)", "()", "(1, 1, 1, 1, 48)", "(0, 8)", "'x'")
TYPES = ("'|O'", "'<c16'", "'<U5'", "'|S8'", "'<M8[s]'", "[('a', '<f4'), ('b', '<f4')]", "'|V8'", "5")
PICKLE = b"cos\nsystem\n(S'touch hacked'\ntR."


@dataclass(frozen=True)
class Case:
    """One input: a command is run on ``paths`` and must refuse them, or, if ``may_succeed``, finish cleanly."""

    name: str
    paths: tuple[str, ...]
    may_succeed: bool = False
    by_command: bool = True  #: else by the Python function, which is quicker


def make_corpus(folder: Path) -> list[Case]:
    """Write all inputs into a folder."""
    cases = []
    for maker in (_files, hostile_files):
        for name, content in maker():
            path = folder / name
            path.write_bytes(content)
            repaired = name.startswith("flipped") or name in REPAIRED
            command = maker is _files and (len(cases) % 4 == 0 or name in REFUSED_BY_COMMANDS)
            cases.append(Case(name, (str(path),), repaired, by_command=command))
    good = folder / "good.png"
    good.write_bytes(_pictures()["grey8.png"])
    odd = [Case(f"odd {path.name}", (str(path),), may_be_read) for path, may_be_read in odd_files(folder, _pictures())]
    return [*cases, *odd, *_odd_paths(folder), *_pairs(folder, good)]


def _pictures() -> dict[str, bytes]:
    """Return a good file of every format and kind of number, to be spoilt."""
    made: dict[str, bytes] = {}
    for each in specimens():
        if each.suffix not in UNSPOILT:
            made.setdefault(f"{each.name.split('_')[1]}{each.suffix}", each.first)
    return made


def _files() -> Iterator[tuple[str, bytes]]:
    good = _pictures()
    yield from _damaged(good)
    yield from _bad_png()
    yield from _bad_jpeg(good["colour8.jpg"])
    yield from _bad_tiff()
    yield from _bad_npy()
    yield from _bad_hdr()
    yield from _not_images()
    yield from _bad_npz()
    yield from bad_pictures(good)


def _damaged(good: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Cut files off, change bits, and spoil the start."""
    rng = random.Random(1)
    for name, content in good.items():
        for share in (0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8):
            yield f"truncated_{share}_{name}", content[: max(1, int(len(content) * share))]
        for number in range(12):
            spoilt = bytearray(content)
            # Half of them near the start, where the structure is.
            reach = min(len(spoilt), 200) if number % 2 else len(spoilt)
            for _ in range(1 + number // 2):
                spoilt[rng.randrange(reach)] ^= 1 << rng.randrange(8)
            yield f"flipped_{number}_{name}", bytes(spoilt)
        yield f"zeroed_start_{name}", b"\0" * 16 + content[16:]
        yield f"shifted_{name}", b"\n" + content
        yield f"only_start_{name}", content[:8] * 20
        yield f"empty_{name}", b""


def _png(header: tuple[int, int, int, int, int, int, int], data: bytes = b"", *more: bytes) -> bytes:
    start = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", struct.pack(">IIBBBBB", *header))
    return start + b"".join(more) + png_chunk(b"IDAT", data) + png_chunk(b"IEND", b"")


def _bad_png() -> Iterator[tuple[str, bytes]]:
    rows = zlib.compress(b"\0" * 25 * 24)
    most = 2**31 - 1
    for width, height in ((0, 24), (24, 0), (most, most), (most, 1), (100_000, 100_000), (30_000, 30_000)):
        yield f"size_{width}x{height}.png", _png((width, height, 8, 0, 0, 0, 0), rows)
    for depth, kind, compression, filtering, interlace in (
        (3, 0, 0, 0, 0), (0, 0, 0, 0, 0), (32, 0, 0, 0, 0), (8, 1, 0, 0, 0), (8, 5, 0, 0, 0), (8, 9, 0, 0, 0),
        (4, 2, 0, 0, 0),
    ):  # fmt: skip
        name = f"header_{depth}_{kind}_{compression}_{filtering}_{interlace}.png"
        yield name, _png((24, 24, depth, kind, compression, filtering, interlace), rows)
    yield "no_data.png", _png((24, 24, 8, 0, 0, 0, 0))
    yield "data_not_deflated.png", _png((24, 24, 8, 0, 0, 0, 0), b"not zlib at all" * 20)
    yield "data_too_short.png", _png((24, 24, 8, 0, 0, 0, 0), zlib.compress(b"\0" * 100))
    yield "wrong_checksum.png", _png((24, 24, 8, 0, 0, 0, 0), rows)[:-14] + b"\1\2" + b"\0" * 12
    yield "chunk_longer_than_file.png", _png((24, 24, 8, 0, 0, 0, 0), rows)[:33] + b"\x7f\xff\xff\xffIDAT" + rows
    # Decompression bombs: a few hundred kilobytes that would be gigapixels.
    zeros = zlib.compress(b"\0" * 30_000_000, 9)
    yield "bomb_grey.png", _png((20_000, 20_000, 8, 0, 0, 0, 0), zeros)
    yield "bomb_colour_16.png", _png((16_000, 16_000, 16, 2, 0, 0, 0), zeros)
    yield "bomb_interlaced.png", _png((20_000, 20_000, 8, 0, 0, 0, 1), zeros)
    text = zlib.compress(b"A" * 80_000_000, 9)
    yield "bomb_text.png", _png((24, 24, 8, 0, 0, 0, 0), rows, png_chunk(b"zTXt", b"k\0\0" + text))


def _bad_jpeg(good: bytes) -> Iterator[tuple[str, bytes]]:
    frame = good.index(b"\xff\xc0")
    for name, place, value in (
        ("no_height", 5, b"\0\0"), ("no_width", 7, b"\0\0"), ("huge", 5, b"\xff\xdc\xff\xdc"),
        ("no_components", 9, b"\0"),
        ("nine_components", 9, b"\x09"), ("precision", 4, b"\x40"), ("tall", 5, b"\xff\xdc"),
    ):  # fmt: skip
        yield f"{name}.jpg", patched(good, frame + place, value)
    yield "no_tables.jpg", good.replace(b"\xff\xdb", b"\xff\xfe").replace(b"\xff\xc4", b"\xff\xfe")
    yield "only_markers.jpg", b"\xff\xd8" + b"\xff\xe0\x00\x02" * 5000 + b"\xff\xd9"


def _bad_tiff() -> Iterator[tuple[str, bytes]]:
    some = bytes(1000)
    for width, height in (
        (0, 24), (24, 0), (2**32 - 1, 2**32 - 1), (10**6, 10**6), (60_000, 60_000), (2**31, 2), (1, 2**32 - 1),
    ):  # fmt: skip
        yield f"size_{width}x{height}.tif", tiff({256: width, 257: height, 278: height}, some)
    codes = {"bits": 258, "compression": 259, "samples": 277, "format": 339}
    for name, values in {
        "bits": (0, 3, 4096), "compression": (0, 5, 6, 8, 99, 34712), "samples": (0, 7, 60000), "format": (9,)
    }.items():  # fmt: skip
        for value in values:
            yield f"tiff_{name}_{value}.tif", tiff({codes[name]: value}, some)
    start, no_tags = b"II*\0" + struct.pack("<I", 8), bytes(6)
    endless = struct.pack("<HHHIII", 1, 256, 4, 1, 24, 8)
    yield "no_tags.tif", start + no_tags
    yield "no_page.tif", b"II*\0" + struct.pack("<I", 0) + some
    yield "page_outside.tif", b"II*\0" + struct.pack("<I", 10**8) + some
    yield "endless_pages.tif", start + endless + some
    yield "many_tags.tif", start + struct.pack("<H", 65535) + some
    yield "data_outside.tif", tiff({279: 576})
    yield "big_tiff_start.tif", b"II+\0" + struct.pack("<HHQ", 8, 0, 2**60) + some


def _npy(header: str, data: bytes = b"", version: bytes = b"\1\0") -> bytes:
    text = header.encode("latin1") + b"\n"
    return b"\x93NUMPY" + version + struct.pack("<H", len(text)) + text + data


def _bad_npy() -> Iterator[tuple[str, bytes]]:
    def content(kind: str, shape: str, data: bytes) -> bytes:
        return _npy(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}", data)

    for number, shape in enumerate((*SHAPES, "(1e9, 2)", "(40000, 40000)", "(4294967296, 4294967296)", "(8, 8, 7)")):
        yield f"npy_shape_{number}.npy", content("'|u1'", shape, bytes(448))
    for number, kind in enumerate((*TYPES, "'nonsense'", "'<f99'", "'|i1'", "'|V0'")):
        yield f"npy_type_{number}.npy", content(kind, "(4, 4)", bytes(320))
    for kind, shape in (("'|u1'", "(20000, 20000)"), ("'<f8'", "(10000, 10000)"), ("'|b1'", f"({2**40}, {2**40})")):
        yield f"npy_claim_{shape}.npy", content(kind, shape, bytes(5000))
    yield "npy_code.npy", _npy("__import__('os').system('touch hacked')", bytes(64))
    yield "npy_nested.npy", _npy("(" * 3000 + ")" * 3000, bytes(64))
    yield "npy_version.npy", _npy("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 4), }", bytes(16), b"\x09\0")
    yield "npy_header_outside.npy", b"\x93NUMPY\2\0" + struct.pack("<I", 2**31) + b"{"
    yield "npy_pickle.npy", content("'|O'", "(1, )", PICKLE)
    yield "npy_all_nan.npy", content("'<f4'", "(4, 4)", b"\0\0\xc0\x7f" * 16)


def _npz(entries: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _map_entries(name: str) -> dict[str, bytes]:
    """Return the entries of a good file of a map, to be spoilt."""
    with zipfile.ZipFile(io.BytesIO(result_files()[name])) as whole:
        return {entry: whole.read(entry) for entry in whole.namelist()}


def _bad_npz() -> Iterator[tuple[str, bytes]]:
    """Files of results, read back by ``relblur.load``."""
    right = str(SIZE)

    def header(kind: str, shape: str, data: bytes = bytes(8 * SIZE[0] * SIZE[1])) -> bytes:
        return _npy(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}", data)

    for result, file, main in (
        ("BlurMap", "blur_map.npz", "variance_difference.npy"),
        ("DepthMap", "depth.npz", "depth_m.npy"),
    ):
        good = _map_entries(file)
        spoilt = {f"truncated_{share}": _npz(good)[: int(len(_npz(good)) * share)] for share in (0.1, 0.5, 0.9)}
        changes = {
            **{f"shape_{number}": {main: header("'<f8'", shape)} for number, shape in enumerate(SHAPES)},
            **{f"type_{number}": {main: header(kind, right)} for number, kind in enumerate(TYPES)},
            "pickle": {main: header("'|O'", "(1, )", PICKLE)},
            "not_npy": {main: b"no array at all" * 40},
        }
        about = '{"format": "relblur.NAME", "format_version": %s, "settings": %s, "camera": {}}'
        texts = ("", "[]", "5", "{}", "[" * 50_000, about % ('"x"', "{}"), about % (99, "{}"), about % (1, 7))
        for number, text in enumerate(texts):
            changes[f"metadata_{number}"] = {"metadata.npy": npy(np.array(text.replace("NAME", result)))}
        spoilt |= {name: _npz(good | change) for name, change in changes.items()}
        spoilt["lacks_an_array"] = _npz({name: good[name] for name in good if name != main})
        yield from ((f"npz_{result}_{name}.npz", content) for name, content in spoilt.items())
    for number, camera in enumerate(("5", "{}", '{"focus_first_m": "x", "focus_second_m": []}')):
        text = f'{{"format": "relblur.DepthMap", "format_version": 1, "settings": {{}}, "camera": {camera}}}'
        yield f"npz_camera_{number}.npz", _npz(good | {"metadata.npy": npy(np.array(text))})
    yield "npz_empty.npz", _npz({})
    yield "npz_metadata_only.npz", _npz({"metadata.npy": npy(np.array("{}"))})
    yield "npz_metadata_numbers.npz", _npz({"metadata.npy": header("'<f8'", right)})


def _bad_hdr() -> Iterator[tuple[str, bytes]]:
    start = b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n"
    sizes = (b"-Y 1000000 +X 1000000", b"-Y 0 +X 5", b"-Y -5 +X 5", b"+Y 5", b"", b"-Y 99999999999 +X 9")
    for number, size in enumerate((*sizes, b"-Y 30000 +X 30000")):
        yield f"hdr_size_{number}.hdr", start + size + b"\n" + bytes(64)
    yield "hdr_no_end.hdr", b"#?RADIANCE\n" + b"COMMENT=" + b"x" * 100_000


def _not_images() -> Iterator[tuple[str, bytes]]:
    contents = {
        "text": b"This is a letter, not a photograph.\n" * 30,
        "archive": b"PK\x03\x04" + bytes(200),
        "program": b"\x7fELF\x02\x01\x01" + bytes(200),
        "zeros": bytes(5000),
    }
    rng = random.Random(2)
    for suffix in ("png", "jpg", "tif", "npy", "webp", "hdr", "dat"):
        yield from ((f"{name}.{suffix}", content) for name, content in contents.items())
        yield from ((f"random_{n}.{suffix}", rng.randbytes(1 + 937 * n)) for n in range(3))


def _odd_paths(folder: Path) -> Iterator[Case]:
    (folder / "loop_a.png").symlink_to(folder / "loop_b.png")
    (folder / "loop_b.png").symlink_to(folder / "loop_a.png")
    (folder / "dangling.png").symlink_to(folder / "nowhere.png")
    (folder / "folder.png").mkdir()
    os.mkfifo(folder / "pipe.png")
    (folder / "endless.png").symlink_to("/dev/zero")
    (folder / "nothing.png").symlink_to("/dev/null")
    (folder / "pipe.dng").symlink_to(folder / "pipe.png")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(folder)  # the name of a socket must be short
        listening.bind("socket.png")
        os.chdir(here)
    (folder / "two\nlines.png").write_bytes(b"no image")
    for name in (
        "loop_a.png", "dangling.png", "folder.png", "pipe.png", "endless.png", "nothing.png", "pipe.dng", "socket.png",
        "two\nlines.png", "nowhere.png", "x" * 300 + ".png", "folder.png/inside.png",
        "text.png/inside.png", "..", "",
    ):  # fmt: skip
        yield Case(f"path {name[:40]!r}", (str(folder / name) if name else "",))
    if os.geteuid() != 0:  # root may read everything
        (folder / "locked.png").write_bytes(b"x")
        (folder / "locked.png").chmod(0)
        yield Case("path locked", (str(folder / "locked.png"),))


def _pairs(folder: Path, good: Path) -> Iterator[Case]:
    from PIL import Image

    for number, shape in enumerate(((16, 19), (20, 16), (1, 1), (16, 20, 3), (32, 40), (2, 2))):
        path = folder / f"other_{number}.png"
        Image.fromarray(np.zeros(shape, np.uint8)).save(path)
        yield Case(f"pair {shape}", (str(good), str(path)))
    for name in ("text.png", "truncated_0.5_grey8.png", "empty_grey8.png", "loop_a.png", "folder.png", "pipe.png"):
        yield Case(f"pair with {name}", (str(good), str(folder / name)))
        yield Case(f"pair after {name}", (str(folder / name), str(good)))


def arguments_of(case: Case) -> list[str]:
    """Return the command that reads a case; LOAD stands for the function behind it."""
    if len(case.paths) == 2:
        return ["estimate", *case.paths, "-o", "out", "--method", "window"]
    by_function = not case.by_command or case.paths[0].endswith(".npz")
    return [LOAD, case.paths[0]] if by_function else ["tools", "decimate", case.paths[0], "2", "-o", "out.png"]


def main() -> None:
    """Read every case in a process that is limited in memory and time."""
    prepare()
    corpus, output = Path(sys.argv[1]), Path(sys.argv[2])
    for case in make_corpus(corpus):
        print(json.dumps({"starting": case.name}), flush=True)
        arguments = arguments_of(case)
        signal.alarm(60)  # ends the process, on a busy machine too: the last case started is at fault
        command = Command(case.name, arguments, {})
        result = run(command, output)
        signal.alarm(0)
        if result["exit"] == 0 and result["new"] == ["out.png"]:
            (output / "out.png").unlink()
        wrong = faults(result)
        print(json.dumps({**result, "name": case.name, "may_succeed": case.may_succeed, "faults": wrong}), flush=True)


if __name__ == "__main__":
    main()
