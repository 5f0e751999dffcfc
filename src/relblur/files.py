"""Files as bytes, and arrays into files: whole files or none.

Everything written goes to a temporary name beside the target and is renamed when it is
complete, so that a crash leaves no half file. Everything that can go wrong while reading
becomes a one-line :class:`~relblur.errors.FileError`.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ._typing import AnyArray
from .errors import FileError, InputError

__all__ = [
    "IMAGE_SUFFIXES",
    "check_format",
    "is_npz",
    "read_npz",
    "replacing",
    "write_image",
    "write_npz",
    "write_tiff",
]

PathLike = str | os.PathLike[str]

PILLOW_SUFFIXES = (".png", ".jpg", ".jpeg")
TIFF_SUFFIXES = (".tif", ".tiff")
IMAGE_SUFFIXES = (*PILLOW_SUFFIXES, *TIFF_SUFFIXES, ".npy")

_ZIP_MAGIC = b"PK\x03\x04"

#: An archive with more entries, or one that unpacks to more than this and to so many times its own size, is
#: taken for hostile. Maps shrink by 1 to 20, and by 230 if there is no answer at all.
_MOST_ENTRIES = 32
_MOST_EXPANSION, _LEAST_SUSPECT_BYTES = 400, 50_000_000


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file that appears under its name only when it has been written to the end."""
    target = Path(path)
    if target.is_dir():
        raise FileError(f"cannot write {target}: it is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileError(f"cannot write {target}: there is no folder {target.parent}; make it first")
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with open(temporary, "wb") as stream:
            yield stream
        os.replace(temporary, target)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}") from error
    finally:
        temporary.unlink(missing_ok=True)


def check_readable(source: Path) -> None:
    """Refuse what is not a file on disk: a pipe or a device would be waited for, or read, for ever."""
    try:
        kind = source.stat().st_mode
    except FileNotFoundError:
        raise FileError(f"there is no file {source}; check the path") from None
    except PermissionError:
        raise FileError(f"{source} may not be read by this user; check its permissions") from None
    except (OSError, ValueError) as error:  # a loop of links, a name that is too long or holds a zero byte
        raise FileError(f"{str(source)!r} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(kind):
        raise FileError(f"{source} is a folder; name an image file in it")
    if not stat.S_ISREG(kind):
        raise FileError(f"{source} is a pipe or a device; name an image file")


def read_bytes(path: PathLike) -> bytes:
    """Return a file's content, or say in one line why it cannot be had."""
    source = Path(path)
    check_readable(source)
    try:
        content = source.read_bytes()
    except PermissionError:
        raise FileError(f"{source} may not be read by this user; check its permissions") from None
    except OSError as error:
        raise FileError(f"{source} cannot be read: {error.strerror or error}") from None
    if not content:
        raise FileError(f"{source} is empty (0 bytes); it may not have been written to the end")
    return content


def write_image(path: PathLike, array: AnyArray, text: Mapping[str, str] | None = None, *, light: bool = False) -> None:
    """Write uint8, uint16 or float values exactly as they are; the suffix chooses the format.

    With ``light`` an 8-bit PNG says that its values are light, not sRGB.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".npy":
        with replacing(path) as stream:
            np.save(stream, array, allow_pickle=False)
    elif suffix in TIFF_SUFFIXES:
        write_tiff(path, array, dict(text or {}))
    elif suffix in PILLOW_SUFFIXES:
        content = _encode_picture(suffix, array, text or {}, light)
        with replacing(path) as stream:
            stream.write(content)
    else:
        raise InputError(f"path ends in {suffix or 'nothing'!r}; use one of {', '.join(IMAGE_SUFFIXES)}")


def write_tiff(path: PathLike, array: AnyArray, description: Mapping[str, Any]) -> None:
    """Write one array, or a stack of pages (P, H, W), with a JSON description."""
    import tifffile

    photometric = "rgb" if array.ndim == 3 and array.shape[2] == 3 else "minisblack"
    with replacing(path) as stream:
        tifffile.imwrite(stream, array, photometric=photometric, description=json.dumps(description), metadata=None)


def write_npz(path: PathLike, arrays: Mapping[str, AnyArray], metadata: Mapping[str, Any]) -> None:
    """Write arrays and a JSON description into one compressed NPZ, readable by NumPy alone."""
    contents: dict[str, AnyArray] = {**arrays, "metadata": np.array(json.dumps(metadata))}
    # Level 1: numpy.savez_compressed takes four times as long for a tenth less.
    with replacing(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in contents.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array), allow_pickle=False)


def is_npz(path: PathLike) -> bool:
    """Tell whether a file is an NPZ by its first bytes."""
    try:
        with open(path, "rb") as stream:
            return stream.read(4) == _ZIP_MAGIC
    except OSError:
        return False


def read_npz(path: PathLike, names: Collection[str] | None = None) -> tuple[dict[str, AnyArray], dict[str, Any]]:
    """Return what :func:`write_npz` wrote: the arrays of these names (all), and the description."""
    content = read_bytes(path)
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            _check_expansion(path, [entry.file_size for entry in entries.values()], len(content))
            text = _read_entry(archive, entries.pop("metadata"), "U")
            metadata = json.loads(str(text[()]))
            arrays = {
                name: _read_entry(archive, entry, "fiub")
                for name, entry in entries.items()
                if names is None or name in names
            }
    except FileError:
        raise
    except Exception as error:  # damaged archives raise many types, and so do hostile headers
        what = " ".join(str(error).split()) or type(error).__name__
        raise FileError(f"{path} is not a complete relblur file ({what[:200]}); save it again") from None
    if not isinstance(metadata, dict):
        raise FileError(f"{path} is not a relblur file: its metadata is not a table; save it again")
    return arrays, metadata


def check_format(path: PathLike, metadata: Mapping[str, Any], wanted: str, version: int) -> None:
    """Refuse a file of another kind, or of a later relblur."""
    if metadata.get("format") != wanted:
        raise FileError(
            f"{path} holds {str(metadata.get('format'))[:60]!r}, not a {wanted}; choose a file made by its save"
        )
    found = metadata.get("format_version", 0)
    if not isinstance(found, int) or found > version:
        raise FileError(f"{path} was written by a newer relblur (format {str(found)[:20]}); upgrade relblur")
    if not isinstance(metadata.get("settings"), dict):
        raise FileError(f"{path} lacks its settings; it is not a complete {wanted}, save it again")


def _check_expansion(path: PathLike, sizes: list[int], file_bytes: int) -> None:
    """Refuse an archive that unpacks to far more than a map does, before memory is taken for it."""
    total = sum(sizes)
    if len(sizes) > _MOST_ENTRIES or (total > _LEAST_SUSPECT_BYTES and total > _MOST_EXPANSION * file_bytes):
        claim = f"{len(sizes)} arrays of {total / 1e6:.0f} MB in {file_bytes} bytes"
        raise FileError(f"{path} claims to hold {claim}; it is damaged or hostile")


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, kinds: str) -> AnyArray:
    """Return one array whose header agrees with its entry's size: nothing is allocated on a header's word alone."""
    with archive.open(entry) as stream:
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        size = dtype.itemsize * math.prod(int(n) for n in shape)
        if dtype.kind not in kinds or len(shape) > 3 or min(shape, default=0) < 0:
            raise ValueError(f"{entry.filename[:60]} holds {str(dtype)[:60]} of shape {str(shape)[:60]}")
        if stream.tell() + size != entry.file_size:
            raise ValueError(f"{entry.filename[:60]} claims {size} bytes and has {entry.file_size - stream.tell()}")
    with archive.open(entry) as stream:
        return np.asarray(np.lib.format.read_array(stream, allow_pickle=False))


def _encode_picture(suffix: str, array: AnyArray, text: Mapping[str, str], light: bool) -> bytes:
    from PIL import Image, PngImagePlugin

    colour = array.ndim == 3
    if suffix != ".png" and array.dtype != np.uint8:
        raise InputError(f"JPEG holds 8 bits, got {array.dtype}; write .png, .tif or .npy")
    if array.dtype == np.uint16 and colour:  # beyond Pillow
        import cv2

        done, data = cv2.imencode(".png", array[:, :, ::-1])
        if not done:
            raise FileError("OpenCV could not encode the PNG")
        return bytes(data)
    if array.dtype not in (np.uint8, np.uint16):
        raise InputError(f"PNG and JPEG hold uint8 or uint16, got {array.dtype}; write .tif or .npy")
    stream = io.BytesIO()
    picture = Image.fromarray(np.ascontiguousarray(array))
    if suffix == ".png":
        info = PngImagePlugin.PngInfo()
        if light:
            info.add(b"gAMA", (100_000).to_bytes(4, "big"))
        for key, value in text.items():
            info.add_text(key, value)
        picture.save(stream, "PNG", pnginfo=info, compress_level=3)
    else:
        picture.save(stream, "JPEG", quality=95)
    return stream.getvalue()
