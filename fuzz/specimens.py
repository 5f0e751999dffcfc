"""Good tiny files of every format that relblur reads, to be spoilt: pairs of 16 x 20 pixels, cameras, results."""

from __future__ import annotations

import io
import json
import tempfile
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
def smooth_pair() -> tuple[np.ndarray, np.ndarray]:
    """Return two grey pictures of 48 x 64, large enough to be aligned and decimated."""
    import cv2

    noise = np.random.default_rng(1).standard_normal((48, 64))
    cloud = cv2.GaussianBlur(noise, (0, 0), 3.0) * 8 + cv2.GaussianBlur(noise, (0, 0), 0.7)
    first = 0.1 + 0.8 * (cloud - cloud.min()) / np.ptp(cloud)
    return first, cv2.GaussianBlur(first, (0, 0), 0.9)


@cache
def specimens() -> tuple[Specimen, ...]:
    """Return a pair of every format."""
    made = [*_pillow(), *_tiff(), *_numpy(), *_other()]
    return tuple(Specimen(name, suffix, *both) for name, suffix, both in made)


def _as(kind: str) -> list[np.ndarray]:
    """Return both pictures as ``grey`` or ``colour``, and ``8`` or ``16`` bits or ``float``, such as ``grey8``."""
    pictures = [picture if kind.startswith("colour") else picture[:, :, 1] for picture in picture_pair()]
    if kind.endswith("float"):
        return [picture.astype(np.float32) for picture in pictures]
    top, dtype = (65535, np.uint16) if kind.endswith("16") else (255, np.uint8)
    return [np.rint(picture * top).astype(dtype) for picture in pictures]


def _pillow() -> list[tuple[str, str, list[bytes]]]:
    from PIL import Image

    kinds: list[tuple[str, str, str, str, dict[str, Any]]] = [
        ("PNG", ".png", "grey8", "L", {}),
        ("PNG", ".png", "colour8", "RGB", {}),
        ("PNG", ".png", "grey16", "I;16", {}),
        ("PNG", ".png", "colour8", "P", {}),
        ("PNG", ".png", "colour8", "RGBA", {}),
        ("PNG", ".png", "grey8", "1", {}),
        ("JPEG", ".jpg", "grey8", "L", {"quality": 95}),
        ("JPEG", ".jpg", "colour8", "RGB", {"quality": 95, "exif": _exif()}),
        ("JPEG", ".jpeg", "colour8", "RGB", {"quality": 95, "progressive": True}),
        ("JPEG", ".jpg", "colour8", "CMYK", {"quality": 95}),
        ("WEBP", ".webp", "colour8", "RGB", {"lossless": True}),
        ("WEBP", ".webp", "colour8", "RGBA", {"quality": 90}),
        ("GIF", ".gif", "grey8", "L", {}),
        ("BMP", ".bmp", "colour8", "RGB", {}),
        ("BMP", ".bmp", "colour8", "P", {}),
        ("PPM", ".ppm", "colour8", "RGB", {}),
        ("PPM", ".pgm", "grey16", "I;16", {}),
        ("JPEG2000", ".jp2", "colour8", "RGB", {}),
        ("JPEG2000", ".jp2", "grey16", "I;16", {"irreversible": True}),
        ("JPEG2000", ".j2k", "grey8", "L", {"no_jp2": True}),
        ("TIFF", ".tif", "colour8", "CMYK", {}),
        ("TIFF", ".tif", "colour8", "P", {}),
        ("TIFF", ".tif", "colour8", "LAB", {}),
        ("TIFF", ".tif", "grey8", "1", {"compression": "group4"}),
        ("TIFF", ".tif", "colour8", "RGB", {"compression": "jpeg"}),
        ("TIFF", ".tif", "colour8", "RGB", {"compression": "tiff_lzw"}),
        ("TIFF", ".tif", "grey8", "L", {"compression": "packbits"}),
    ]
    Image.init()
    if "AVIF" in Image.SAVE:
        kinds += [("AVIF", ".avif", "colour8", "RGB", {"exif": _exif()}), ("AVIF", ".avif", "grey8", "L", {})]
    with suppress(ImportError):
        import pillow_heif

        pillow_heif.register_heif_opener()  # so that Pillow writes it; relblur reads it without
        kinds += [("HEIF", ".heic", "colour8", "RGB", {"exif": _exif()}), ("HEIF", ".heif", "grey8", "L", {})]
    found = []
    for format_, suffix, kind, mode, options in kinds:
        both = []
        for array in _as(kind):
            picture = Image.fromarray(array)
            if mode not in (picture.mode, "LAB"):
                picture = picture.convert(mode)
            elif mode == "LAB":
                picture = Image.merge("LAB", picture.split())
            stream = io.BytesIO()
            picture.save(stream, format_, **options)
            both.append(stream.getvalue())
        label = "_".join(str(v) if isinstance(v, str) else k for k, v in options.items())
        found.append((f"{format_}_{mode}_{label}", suffix, both))
    return found


def _exif() -> Any:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 1
    fields = exif.get_ifd(0x8769)
    fields.update({0x920A: 35.0, 0x829D: 2.8, 0x9206: 1.5, 0xA20E: 4000.0, 0xA210: 3, 0xA002: SIZE[1]})
    return exif


def _tiff() -> list[tuple[str, str, list[bytes]]]:
    import tifffile

    wide: dict[str, Any] = {"photometric": "rgb"}
    kinds: list[tuple[str, dict[str, Any]]] = [
        ("grey8", {}),
        ("grey16", {"bigtiff": True}),
        ("greyfloat", {"byteorder": ">"}),
        ("colour8", wide),
        ("colour16", {**wide, "planarconfig": "separate"}),
        ("colourfloat", wide),
        ("colour8", {**wide, "compression": "zlib", "predictor": True}),
        ("colour8", {**wide, "compression": "lzma"}),
        ("grey8", {"compression": "zlib", "rowsperstrip": 3}),
        ("grey16", {"tile": (16, 16)}),
        ("colour8", {**wide, "tile": (16, 16), "compression": "zlib", "bigtiff": True}),
        ("grey8", {"photometric": "miniswhite"}),
    ]
    found = []
    for number, (kind, options) in enumerate(kinds):
        both = []
        for array in _as(kind):
            stored = np.moveaxis(array, 2, 0) if options.get("planarconfig") else array
            stream = io.BytesIO()
            tifffile.imwrite(stream, stored, metadata=None, **options)
            both.append(stream.getvalue())
        found.append((f"TIFF_{number}_{kind}", ".tif", both))
    pages = []
    for array in _as("grey16"):
        stream = io.BytesIO()
        tifffile.imwrite(stream, np.stack([array, array, array]), metadata=None, photometric="minisblack")
        pages.append(stream.getvalue())
    return [*found, ("TIFF_pages", ".tiff", pages), ("DNG", ".dng", [_dng(array) for array in _as("grey16")])]


def _dng(picture: np.ndarray) -> bytes:
    import tifffile

    matrix = [round(10000 * value) for row in np.eye(3) for value in row]
    tags = [
        (50706, "B", 4, (1, 4, 0, 0), True),  # DNGVersion
        (50708, "s", 0, "relblur fuzz", True),  # UniqueCameraModel
        (33421, "H", 2, (2, 2), True),  # CFARepeatPatternDim
        (33422, "B", 4, (0, 1, 1, 2), True),  # CFAPattern
        (50717, "H", 1, 65535, True),  # WhiteLevel
        (50721, "2i", 9, tuple(part for value in matrix for part in (value, 10000)), True),  # ColorMatrix1
        (50728, "2I", 3, (1, 1, 1, 1, 1, 1), True),  # AsShotNeutral
        (50778, "H", 1, 21, True),  # CalibrationIlluminant1
    ]
    stream = io.BytesIO()
    mosaic = np.tile(picture, (2, 2))  # the raw library refuses sensors of a few pixels
    tifffile.imwrite(stream, mosaic, photometric="cfa", metadata=None, extratags=tags)
    return stream.getvalue()


def _numpy() -> list[tuple[str, str, list[bytes]]]:
    found = []
    kinds = ("bool", "uint8", "int8", ">u2", "int16", "int32", "uint64", "float16", "float32", ">f8", "complex64")
    for dtype in kinds:
        whole = np.dtype(dtype).kind in "iu"
        top = float(np.iinfo(dtype).max) * 0.9 if whole else 1.0
        both = [(picture * top).astype(dtype) for picture in _as("greyfloat")]
        found.append((f"NPY_{dtype.strip('>')}", ".npy", [npy(array) for array in both]))
    return [*found, ("NPY_colour", ".npy", [npy(array) for array in _as("colourfloat")])]


def png(array: np.ndarray) -> bytes:
    """Return a picture of bytes as the content of a PNG file."""
    return _encoded(array, "PNG")


def jpeg(array: np.ndarray) -> bytes:
    """Return a picture of bytes as the content of a JPEG file that names its camera."""
    return _encoded(array, "JPEG", quality=97, exif=_exif())


def _encoded(array: np.ndarray, kind: str, **options: Any) -> bytes:
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(array).save(stream, kind, **options)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    """Return an array as the content of an NPY file."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=False)
    return stream.getvalue()


def _other() -> list[tuple[str, str, list[bytes]]]:
    import cv2

    found = [("HDR", ".hdr", [bytes(cv2.imencode(".hdr", array)[1]) for array in _as("colourfloat")])]
    pfm = [b"Pf\n20 16\n-1.0\n" + array[::-1].astype("<f4").tobytes() for array in _as("greyfloat")]
    found.append(("PFM", ".pfm", pfm))
    try:
        import OpenEXR
    except ImportError:
        return found
    for name, compression in (("none", "NO_COMPRESSION"), ("zip", "ZIP_COMPRESSION"), ("piz", "PIZ_COMPRESSION")):
        header = {"compression": getattr(OpenEXR, compression), "type": OpenEXR.scanlineimage}
        both = []
        for array in _as("colourfloat"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "picture.exr"
                OpenEXR.File(header, {"RGB": np.ascontiguousarray(array)}).write(str(path))
                both.append(path.read_bytes())
        found.append((f"EXR_{name}", ".exr", both))
    return found


@cache
def result_files() -> dict[str, bytes]:
    """Return a BlurMap and a DepthMap as files."""
    from relblur.blur.blur_map import BlurMap
    from relblur.depth.camera import Camera
    from relblur.depth.depth_map import DepthMap

    values = picture_pair()[0][:, :, 0]
    flags, side = np.zeros(SIZE, np.uint8), np.ones(SIZE, np.int8)
    camera = Camera(focus_first_m=1, focus_second_m=2, coc_constant_px_m=4)
    settings = json.loads('{"method": "window", "version": "0"}')
    made = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, result in (
            ("blur_map.npz", BlurMap(values, values, flags, side, settings)),
            ("depth.npz", DepthMap(1 + values, values, flags, camera, settings)),
        ):
            result.save(Path(folder) / name)
            made[name] = (Path(folder) / name).read_bytes()
    return made
