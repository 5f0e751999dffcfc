"""Writing of arrays to files that appear complete or not at all.

Bytes go to a new hidden file beside the target. One rename then gives the file its name. A reader gets the old file or
the new one at any moment, also after ``kill -9``. The hidden name is random and created
exclusively, so writers of one target do not collide, and no link is followed. A target that is a link is replaced; the
file that it points to stays.
"""

from __future__ import annotations

import io
import json
import os
import secrets
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..base._typing import AnyArray, PathLike
from ..base.errors import FileError, InputError, RelblurError
from .exif import SOFTWARE, Exif, packed_tags

__all__ = [
    "IMAGE_SUFFIXES",
    "PathLike",
    "PictureTags",
    "replacing",
    "write_image",
    "write_npz",
    "write_tiff",
]

PILLOW_SUFFIXES = (".png", ".jpg", ".jpeg")
TIFF_SUFFIXES = (".tif", ".tiff")
IMAGE_SUFFIXES = (*PILLOW_SUFFIXES, *TIFF_SUFFIXES, ".npy")

#: Prefix of all names for internal use; results may not have it.
HIDDEN = ".relblur"

#: Flags to create a file that does not exist; links are not followed. Windows has neither flag.
NO_LINKS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
EXCLUSIVE = os.O_RDWR | os.O_CREAT | os.O_EXCL | NO_LINKS

#: Tags of a TIFF: resolution and its unit; pointers to other lists of tags, with their names in tifffile.
_RESOLUTION, _POINTERS, _LONG = {282, 283, 296}, {0x8769: "ExifTag", 0x8825: "GPSTag"}, 4
#: Number of bytes at the start of a TIFF that contain its list of tags.
_START_BYTES = 4096


@contextmanager
def plain_errors(target: PathLike) -> Iterator[None]:
    """Convert errors of the system on writing a target to a one-line error."""
    try:
        yield
    except RelblurError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}; choose another place") from error


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that gets its name when it has been written completely."""
    target = Path(path)
    check_target(target)
    temporary = target.parent / f"{HIDDEN}-{secrets.token_hex(8)}.part"
    with plain_errors(target):
        try:
            # Not tempfile.mkstemp: only the owner can read its files, while open() respects the user's umask.
            with open(temporary, "x+b", opener=_open_exclusively) as stream:
                yield stream
            os.replace(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _open_exclusively(name: str, _flags: int) -> int:
    return os.open(name, EXCLUSIVE, 0o666)


def check_target(target: Path) -> None:
    """Refuse a target that is not a file, and a place that cannot be written to."""
    try:
        kind = os.stat(target).st_mode
    except FileNotFoundError:
        kind = stat.S_IFREG
    except (
        OSError,
        ValueError,
    ) as error:  # a name that is too long or contains a zero byte, a folder without permission
        raise FileError(f"cannot write {str(target)!r}: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(kind):
        raise FileError(f"cannot write {target}: it is a folder; name a file in it")
    if not stat.S_ISREG(kind):
        raise FileError(f"cannot write {target}: it is a pipe or a device; name a file")
    if not os.path.isdir(target.parent):
        raise FileError(f"cannot write {target}: there is no folder {target.parent}; make it first")


@dataclass(frozen=True, eq=False)
class PictureTags:
    """Metadata of a picture's numbers: ICC profile, EXIF, PNG's sRGB and gAMA chunks; side of a pixel, µm."""

    profile: bytes | None = None
    exif: Exif | None = None
    srgb: bool = False
    png_gamma: float | None = None
    pixel_um: float | None = None


def write_image(
    path: PathLike, array: AnyArray, text: Mapping[str, str] | None = None, *, tags: PictureTags | None = None
) -> None:
    """Write uint8, uint16 or float values unchanged, in the format of the suffix.

    ``text`` is written to PNG and TIFF. It marks a result of relblur, which is not used as an image of a stack.
    """
    if text is not None:
        text = {"Software": SOFTWARE, **text}
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        with replacing(path) as stream:
            np.save(stream, array, allow_pickle=False)
    elif suffix in TIFF_SUFFIXES:
        pixel_um = None if tags is None else tags.pixel_um
        write_tiff(path, array, dict(text or {}) if tags is None else {}, pixel_um=pixel_um, tags=tags)
    elif suffix in PILLOW_SUFFIXES:
        content = _encode_picture(suffix, array, text or {}, tags or PictureTags())
        with replacing(path) as stream:
            stream.write(content)
    else:
        raise InputError(f"path ends in {suffix or 'nothing'!r}; use one of {', '.join(IMAGE_SUFFIXES)}")


def write_tiff(
    path: PathLike,
    array: AnyArray,
    description: Mapping[str, Any],
    *,
    pixel_um: float | None = None,
    tags: PictureTags | None = None,
) -> None:
    """Write one array, or pages (P, H, W), as TIFF; with a JSON description or tags the file is packed by deflate.

    ``pixel_um`` is the side of a pixel, micrometres. The file states it as a resolution in pixels per centimetre.
    """
    import tifffile

    exif = Exif() if tags is None or tags.exif is None else tags.exif
    order, lists = exif.order, {tag: each for tag, each in exif.tags.items() if isinstance(each, dict)}
    others = {tag: each for tag, each in exif.tags.items() if tag not in lists}
    extra: list[Any] = [(tag, each[0], None, each[2], True) for tag, each in others.items() if tag not in _RESOLUTION]
    extra += [(_POINTERS[tag], _LONG, 1, 0, True) for tag in lists]
    options: dict[str, Any] = {"extratags": extra}
    if pixel_um is not None:
        options |= {"resolution": (1e4 / pixel_um, 1e4 / pixel_um), "resolutionunit": "CENTIMETER"}
    elif set(others) >= _RESOLUTION:
        across, down, unit = (others[tag][2] for tag in sorted(_RESOLUTION))
        options["resolution"] = [struct.unpack(f"{order}2I", each) for each in (across, down)]
        options["resolutionunit"] = struct.unpack(f"{order}H", unit)[0]
    if tags is not None:
        options |= {"iccprofile": tags.profile, "byteorder": order, "predictor": array.dtype.kind == "u"}
    with replacing(path) as stream:
        tifffile.imwrite(
            stream,
            array,
            photometric="rgb" if array.ndim == 3 and array.shape[2] == 3 else "minisblack",
            description=json.dumps(description) if description or tags is None else None,
            metadata=None,
            software=SOFTWARE if description else False,
            compression="zlib" if description or tags is not None else None,
            **options,
        )
        _append(stream, order, lists)


def _append(stream: BinaryIO, order: str, lists: Mapping[int, Any]) -> None:
    """Append lists of tags to a TIFF of one page whose own list, at its start, has pointers to them."""
    stream.seek(0)
    start = stream.read(_START_BYTES)
    for tag, each in lists.items():
        at = start.index(struct.pack(f"{order}HHI", tag, _LONG, 1)) + 8
        end = stream.seek(0, os.SEEK_END)
        stream.write(packed_tags(order, each, end))
        stream.seek(at)
        stream.write(struct.pack(f"{order}I", end))


def write_npz(path: PathLike, arrays: Mapping[str, AnyArray], metadata: Mapping[str, Any]) -> None:
    """Write arrays and a JSON description into one compressed NPZ, readable by NumPy alone."""
    contents: dict[str, AnyArray] = {**arrays, "metadata": np.array(json.dumps(metadata))}
    # Level 1: the level of numpy.savez_compressed takes four times as long and saves a tenth of the size.
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in contents.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def _encode_picture(suffix: str, array: AnyArray, text: Mapping[str, str], tags: PictureTags) -> bytes:
    from PIL import Image

    if suffix != ".png" and array.dtype != np.uint8:
        raise InputError(f"JPEG holds 8 bits, got {array.dtype}; write .png, .tif or .npy")
    if array.dtype not in (np.uint8, np.uint16):
        raise InputError(f"PNG and JPEG hold uint8 or uint16, got {array.dtype}; write .tif or .npy")
    if array.dtype == np.uint16 and array.ndim == 3:  # Pillow cannot write it
        import cv2

        done, data = cv2.imencode(".png", array[:, :, ::-1])
        if not done:
            raise FileError("OpenCV could not encode the PNG")
        return _with_chunks(bytes(data), text, tags)
    stream = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(array))
    if suffix == ".png":
        picture.save(stream, "PNG", compress_level=3)
        return _with_chunks(stream.getvalue(), text, tags)
    exif = b"" if tags.exif is None else b"Exif\0\0" + tags.exif.packed()
    picture.save(stream, "JPEG", quality=95, exif=exif, icc_profile=tags.profile)
    return stream.getvalue()


def _with_chunks(png: bytes, text: Mapping[str, str], tags: PictureTags) -> bytes:
    """Insert chunks of metadata after the first chunk of a PNG."""
    from PIL.PngImagePlugin import PngInfo

    info = PngInfo()
    if tags.profile is not None:
        info.add(b"iCCP", b"ICC profile\0\0" + zlib.compress(tags.profile))
    elif tags.srgb:
        info.add(b"sRGB", b"\0")
    elif tags.png_gamma:
        info.add(b"gAMA", struct.pack(">I", round(100_000 * tags.png_gamma)))
    if tags.pixel_um is not None:
        per_m = round(1e6 / tags.pixel_um)
        info.add(b"pHYs", struct.pack(">IIB", per_m, per_m, 1))
    if tags.exif is not None:
        info.add(b"eXIf", tags.exif.packed())
    for key, value in text.items():
        info.add_text(key, value)
    chunks = b""
    for kind, content, *_ in info.chunks:
        chunks += struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
    after_head = 8 + 25
    return png[:after_head] + chunks + png[after_head:]
