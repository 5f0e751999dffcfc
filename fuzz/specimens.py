"""Good tiny files of every format that relblur reads, to be spoilt: pairs of 16 x 20 pixels, cameras, results."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

SIZE = (16, 20)

CAMERA_TOML = b"""# relblur camera
focus_first_m = 1.0
focus_second_m = 2.0
focal_length_mm = 35.0
f_number = 2.8
pixel_pitch_um = 60.0
blur_constant = 0.25
variance_offset_px2 = 0.0
decimation = 1
image_width_px = 20
"""
CAMERAS = {
    "lens.toml": CAMERA_TOML,
    "apertures.toml": CAMERA_TOML.replace(b"f_number = 2.8", b"f_number = [2.8, 8.0]"),
    "constant.toml": b"focus_first_m = 1\nfocus_second_m = inf\ncoc_constant_px_m = 4.0\n",
    "table.toml": b"[camera]\nfocus_first_m = 1\nfocus_second_m = 2\ncoc_constant_px_m = [4.0, 1.5]\n",
    "lens.json": b'{"focus_first_m": 1.0, "focus_second_m": "inf", "coc_constant_px_m": 4.0, "decimation": 1}',
}

#: Makes the content of a file from a picture.
Writer = Callable[[np.ndarray], bytes]


@dataclass(frozen=True)
class Specimen:
    """Two files of one format, which can be compared, and how their names end."""

    name: str
    suffix: str
    first: bytes
    second: bytes


@cache
def picture_pair() -> tuple[np.ndarray, np.ndarray]:
    """Return two colour pictures within 0..1, the second blurrier."""
    import cv2

    first = np.random.default_rng(0).random((*SIZE, 3)) * 0.9 + 0.05
    return first, cv2.GaussianBlur(first, (0, 0), 0.8)


@cache
def specimens() -> tuple[Specimen, ...]:
    """Return a pair of every format."""
    made = []
    for number, (suffix, kind, write) in enumerate((*_pillow(), *_tiff(), *_numpy(), *_other())):
        first, second = (write(array) for array in _as(kind))
        made.append(Specimen(f"{suffix[1:]}_{kind}_{number}", suffix, first, second))
    return tuple(made)


def _as(kind: str) -> list[np.ndarray]:
    """Return both pictures as ``grey`` or ``colour``, and ``8`` or ``16`` bits or ``float``, such as ``grey8``."""
    pictures = [picture if kind.startswith("colour") else picture[:, :, 1] for picture in picture_pair()]
    if kind.endswith("float"):
        return [picture.astype(np.float32) for picture in pictures]
    top, dtype = (65535, np.uint16) if kind.endswith("16") else (255, np.uint8)
    return [np.rint(picture * top).astype(dtype) for picture in pictures]


def pillow(format_: str, mode: str = "", **options: Any) -> Writer:
    """Return a writer of a format of Pillow, in a mode of its own."""
    from PIL import Image

    def write(array: np.ndarray) -> bytes:
        picture = Image.fromarray(array)
        if mode:
            picture = Image.merge("LAB", picture.split()) if mode == "LAB" else picture.convert(mode)
        stream = io.BytesIO()
        picture.save(stream, format_, **options)
        return stream.getvalue()

    return write


def _exif() -> Any:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 1
    fields = {0x920A: 35.0, 0x829D: 2.8, 0x9206: 1.5, 0xA20E: 4000.0, 0xA210: 3, 0xA002: SIZE[1]}
    exif.get_ifd(0x8769).update(fields)
    return exif


def _pillow() -> Iterator[tuple[str, str, Writer]]:
    from PIL import Image

    for kind, mode in (("grey8", ""), ("colour8", ""), ("grey16", ""), *(("colour8", m) for m in ("P", "RGBA", "1"))):
        yield ".png", kind, pillow("PNG", mode)
    for options in ({"exif": _exif()}, {"progressive": True}):
        yield ".jpg", "colour8", pillow("JPEG", quality=95, **options)
    yield ".jpg", "grey8", pillow("JPEG")
    yield ".jpg", "colour8", pillow("JPEG", "CMYK")
    yield ".webp", "colour8", pillow("WEBP", lossless=True)
    yield ".webp", "colour8", pillow("WEBP", "RGBA")
    for suffix, format_ in ((".gif", "GIF"), (".bmp", "BMP"), (".ppm", "PPM")):
        yield suffix, "colour8", pillow(format_)
    yield ".bmp", "colour8", pillow("BMP", "P")
    yield ".pgm", "grey16", pillow("PPM")
    for mode in ("CMYK", "P", "LAB"):
        yield ".tif", "colour8", pillow("TIFF", mode)
    yield ".tif", "grey8", pillow("TIFF", "1", compression="group4")
    for compression in ("jpeg", "tiff_lzw", "packbits"):
        yield ".tif", "colour8", pillow("TIFF", compression=compression)
    Image.init()
    kinds = [(".avif", "AVIF")] if "AVIF" in Image.SAVE else []
    with suppress(ImportError):
        import pillow_heif

        pillow_heif.register_heif_opener()  # Pillow writes it; relblur reads it without
        kinds.append((".heic", "HEIF"))
    for suffix, format_ in kinds:
        yield suffix, "colour8", pillow(format_, exif=_exif())
        yield suffix, "grey8", pillow(format_)


def _tiff() -> Iterator[tuple[str, str, Writer]]:
    import tifffile

    def writer(**options: Any) -> Writer:
        def write(array: np.ndarray) -> bytes:
            stream = io.BytesIO()
            rgb = {"photometric": "rgb"} if array.ndim == 3 else {}
            stored = np.moveaxis(array, 2, 0) if options.get("planarconfig") else array
            tifffile.imwrite(stream, stored, metadata=None, **{**rgb, **options})
            return stream.getvalue()

        return write

    packed = {"compression": "zlib"}
    for kind, options in (
        ("grey8", {}), ("grey16", {"bigtiff": True}), ("greyfloat", {"byteorder": ">"}), ("colour8", {}),
        ("colour16", {"planarconfig": "separate"}), ("colourfloat", {}), ("colour8", {**packed, "predictor": True}),
        ("colour8", {"compression": "lzma"}), ("grey8", {**packed, "rowsperstrip": 3}), ("grey16", {"tile": (16, 16)}),
        ("colour8", {**packed, "tile": (16, 16), "bigtiff": True}), ("grey8", {"photometric": "miniswhite"}),
    ):  # fmt: skip
        yield ".tif", kind, writer(**options)
    yield ".tiff", "grey16", lambda array: writer(photometric="minisblack")(np.stack([array] * 3, axis=0))
    matrix = tuple(part for value in np.eye(3).ravel() for part in (round(10000 * value), 10000))
    raw_tags = [
        (50706, "B", 4, (1, 4, 0, 0), True),  # DNGVersion
        (50708, "s", 0, "relblur fuzz", True),  # UniqueCameraModel
        (33421, "H", 2, (2, 2), True),  # CFARepeatPatternDim
        (33422, "B", 4, (0, 1, 1, 2), True),  # CFAPattern
        (50717, "H", 1, 65535, True),  # WhiteLevel
        (50721, "2i", 9, matrix, True),  # ColorMatrix1
        (50728, "2I", 3, (1, 1, 1, 1, 1, 1), True),  # AsShotNeutral
        (50778, "H", 1, 21, True),  # CalibrationIlluminant1
    ]
    # LibRaw refuses sensors of a few pixels.
    yield ".dng", "grey16", lambda array: writer(photometric="cfa", extratags=raw_tags)(np.tile(array, (2, 2)))


def npy(array: np.ndarray) -> bytes:
    """Return an array as the content of an NPY file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _numpy() -> Iterator[tuple[str, str, Writer]]:
    for dtype in ("bool", "u1", "i1", ">u2", "i2", "i4", "u8", "f2", "f4", ">f8", "c8"):
        top = float(np.iinfo(dtype).max) * 0.9 if np.dtype(dtype).kind in "iu" else 1.0
        yield ".npy", "greyfloat", lambda array, dtype=dtype, top=top: npy((array * top).astype(dtype))
    yield ".npy", "colourfloat", npy


def _other() -> Iterator[tuple[str, str, Writer]]:
    import cv2

    yield ".hdr", "colourfloat", lambda array: bytes(cv2.imencode(".hdr", array)[1])
    yield ".pfm", "greyfloat", lambda array: b"Pf\n20 16\n-1.0\n" + array[::-1].astype("<f4").tobytes()
    for name in ("no", "zip", "piz"):
        yield ".exr", "colourfloat", lambda array, name=name: exr({"RGB": np.ascontiguousarray(array)}, name)


def exr(channels: dict[str, np.ndarray], compression: str) -> bytes:
    """Return channels as the content of an EXR file; the compression is "no", "zip" or another of its library."""
    import OpenEXR

    header = {"compression": getattr(OpenEXR, f"{compression.upper()}_COMPRESSION"), "type": OpenEXR.scanlineimage}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "picture.exr"
        OpenEXR.File(header, channels).write(str(path))
        return path.read_bytes()


@cache
def result_files() -> dict[str, bytes]:
    """Return a BlurMap and a DepthMap as files."""
    from relblur.blur.blur_map import BlurMap
    from relblur.depth.camera import Camera
    from relblur.depth.depth_map import DepthMap

    values = picture_pair()[0][:, :, 0]
    flags, side = np.zeros(SIZE, np.uint8), np.ones(SIZE, np.int8)
    camera, settings = Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=4), {"method": "window"}
    results = {
        "blur_map.npz": BlurMap(values, values, flags, side, settings),
        "depth.npz": DepthMap(1 + values, values, flags, camera, settings),
    }
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, result in results.items():
            result.save(Path(folder) / name)
            made[name] = (Path(folder) / name).read_bytes()
    return made
