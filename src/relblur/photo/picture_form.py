"""The format of pictures made from photographs: bit depth, tone curve and metadata.

A picture has the bit depth, tone curve and metadata of its photograph, so other programs interpret its values in the
same way. Photographs in linear formats (camera raw, OpenEXR, floats) give pictures with the sRGB curve.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.pixels import as_integers
from ..base.tone import LINEAR, SRGB, Curve
from ..images.disk import TIFF_SUFFIXES, PathLike, PictureTags, write_image
from ..images.stored import StoredImage
from .tone_curves import choose_curve

__all__ = ["FOR_SCREENS", "PictureForm"]

#: Number of pixels that are encoded together: limits the memory for intermediate values.
_BAND_PIXELS = 500_000
#: Colour space of an ICC profile (bytes 16 to 19) for each number of channels.
_PROFILE_KINDS = {1: b"GRAY", 3: b"RGB "}


@dataclass(frozen=True, eq=False)
class PictureForm:
    """Metadata of a photograph's file, and the options with which it was read.

    Attributes
    ----------
    stored : StoredImage
        The photograph without its pixels.
    linear, gamma
        As for :func:`relblur.imread`.
    """

    stored: StoredImage
    linear: bool = True
    gamma: float | None = None

    @classmethod
    def of(cls, stored: StoredImage, linear: bool, gamma: float | None) -> PictureForm:
        """Return the form of a photograph."""
        return cls(replace(stored, values=stored.values[:0, :0].copy(), jpeg=None), linear, gamma)

    def write(self, path: PathLike, light: AnyArray, processing: str, pixel_um: float | None = None) -> None:
        """Write (H, W) or (H, W, C) light, with the processing in its EXIF data; NPY contains the light itself.

        PNG and TIFF contain ``pixel_um``, the side of a pixel in micrometres, if it is given.
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".npy":
            write_image(path, _squeezed(light))
            return
        encoded = self.encoded(light, suffix)
        write_image(path, encoded, {}, tags=replace(self._tags(suffix, encoded, processing), pixel_um=pixel_um))

    def encoded(self, light: AnyArray, suffix: str) -> AnyArray:
        """Return (H, W) or (H, W, C) light as the values of a file with this suffix."""
        image, dtype = _squeezed(light), self._dtype(suffix)
        curve, _ = self._curve(suffix)
        encoded = np.empty(image.shape, dtype)
        rows = max(1, _BAND_PIXELS // image.shape[1])
        for start in range(0, len(image), rows):
            band = curve.encode(np.nan_to_num(image[start : start + rows]))
            encoded[start : start + rows] = band if dtype == np.float32 else as_integers(band, dtype)
        return encoded

    def for_screens(self) -> PictureForm:
        """Return the form of an 8-bit picture for screens: with the profile, or with the sRGB curve if it has none."""
        stored = replace(self.stored, values=FOR_SCREENS.stored.values, linear=False)
        if self.linear and stored.icc_profile is None:
            return replace(self, stored=replace(stored, srgb=True, png_gamma=None), gamma=None)
        return replace(self, stored=stored)

    def _dtype(self, suffix: str) -> np.dtype[Any]:
        if suffix in TIFF_SUFFIXES and self.stored.bits is None:
            return np.dtype(np.float32)
        return np.dtype(np.uint8 if suffix in (".jpg", ".jpeg") or self.stored.bits == 8 else np.uint16)

    def _curve(self, suffix: str) -> tuple[Curve, bool]:
        """Return the tone curve of the written values, and whether it is that of the photograph."""
        if not self.linear:
            return LINEAR, True
        curve, _ = choose_curve(self.stored, gamma=self.gamma)
        for_screens = self.stored.linear or self.stored.bits is None
        return (SRGB, False) if for_screens and curve.is_linear and suffix not in TIFF_SUFFIXES else (curve, True)

    def _tags(self, suffix: str, encoded: AnyArray, processing: str) -> PictureTags:
        is_own = self._curve(suffix)[1]
        exif = self.stored.exif.of_result((encoded.shape[1], encoded.shape[0]), processing, srgb=not is_own)
        profile = self.stored.icc_profile if is_own else None
        if profile is not None and profile[16:20] != _PROFILE_KINDS[1 if encoded.ndim == 2 else 3]:
            profile = None
        stored = self.stored
        return PictureTags(profile, exif, not is_own or stored.srgb, stored.png_gamma if is_own else None)


def _squeezed(light: AnyArray) -> AnyArray:
    return light[:, :, 0] if light.ndim == 3 and light.shape[2] == 1 else light


#: Form of pictures without a photograph: 8 bits, sRGB.
FOR_SCREENS = PictureForm(StoredImage(np.zeros((0, 0), np.uint8), "array", srgb=True))
