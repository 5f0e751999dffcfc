"""``ComparablePair``: two images of one scene that differ in blur and noise only, with their metadata.

:func:`relblur.prepare_pair` makes it. :func:`relblur.estimate_blur`, :func:`relblur.estimate_depth` and the reports
take it in place of two images.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base._typing import AnyArray, BoolArray
from ..base.inputs import check_pair
from ..base.pixels import clipped_pixels
from ..base.settings import Sharper
from ..filters.decimation import decimate, keeps_light
from .noise import NoiseModel

if TYPE_CHECKING:
    from ..images.compression import JpegTable
    from ..photo.alignment import Motion
    from ..photo.exposure import Exposure
    from ..photo.picture_form import PictureForm

__all__ = ["ComparablePair", "brightness"]

#: Luminance of linear red, green and blue (ITU-R BT.709, whose primaries sRGB has).
_LUMINANCE = np.array([0.2126, 0.7152, 0.0722])


@dataclass(frozen=True, eq=False)
class ComparablePair:
    """Two images that differ in blur and noise only.

    Attributes
    ----------
    first, second : (H, W) or (H, W, 3) arrays
    valid : (H, W) bool, optional
        False where an image has no value, including pixels outside the second image.
    clipped : (first, second), optional
        Pixels of each at the top of its range; by default those of integers at full scale.
    noise : NoiseModel, optional
        Read and shot noise, if the values are light.
    factor : int
        Factor of the decimation.
    full_size : str
        Width x height before the decimation; empty without one.
    because : str
        Reason for the factor.
    is_light : bool
        True for linear light, False for stored values.
    rounding : (first, second), optional
        Noise from the rounding to integers in the files.
    notes : tuple of str
        Steps of the preparation, a line each.
    sharper : {"auto", "first", "second"}
        The image that is sharper everywhere, if only the apertures differ in the EXIF data.
    names : (first, second)
        Names of the images in reports: those of their files.
    motion, exposure : optional
        Registration of ``second`` on ``first``, in px before decimation, and correction of its exposure.
    jpeg : (first, second)
        Compression of each image, if its pixels are still at their positions in the file.
    form : PictureForm, optional
        Format of pictures made from the pair: that of the first photograph.
    """

    first: AnyArray
    second: AnyArray
    valid: BoolArray | None = None
    clipped: tuple[BoolArray, BoolArray] | None = None
    noise: NoiseModel | None = None
    factor: int = 1
    full_size: str = ""
    because: str = ""
    is_light: bool = False
    rounding: tuple[NoiseModel, NoiseModel] | None = None
    notes: tuple[str, ...] = ()
    sharper: Sharper = "auto"
    names: tuple[str, str] = ("first", "second")
    motion: Motion | None = None
    exposure: Exposure | None = None
    jpeg: tuple[JpegTable | None, JpegTable | None] = (None, None)
    form: PictureForm | None = None

    def __repr__(self) -> str:
        kind = "colour" if self.first.ndim == 3 else "grey"
        return f"ComparablePair({self.size} {kind}{''.join(f'; {note}' for note in self.notes)})"

    @property
    def channel_axis(self) -> int | None:
        """-1 for colour, None for grey."""
        return -1 if self.first.ndim == 3 else None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.first.shape[0], self.first.shape[1])

    @property
    def size(self) -> str:
        """Width x height, as photographers write it."""
        return f"{self.shape[1]}x{self.shape[0]}"

    @property
    def clipped_in_either(self) -> BoolArray | None:
        """Pixels at which one of the images is at the top of its range."""
        return None if self.clipped is None else self.clipped[0] | self.clipped[1]

    @property
    def measured(self) -> tuple[AnyArray, AnyArray]:
        """The two images for the estimate: the brightness alone if they are compressed light.

        JPEG stores colour at half the resolution and rounds it more coarsely than brightness.
        """
        compressed = self.rounding is not None and any(one.compressed for one in self.rounding)
        if not (compressed and self.is_light and self.first.ndim == 3):
            return self.first, self.second
        return brightness(self.first), brightness(self.second)

    @property
    def usable(self) -> BoolArray:
        """Pixels at which both images are valid and not clipped."""
        usable = np.ones(self.shape, dtype=bool) if self.valid is None else self.valid.copy()
        if self.clipped_in_either is not None:
            usable &= ~self.clipped_in_either
        return usable

    @property
    def settings(self) -> dict[str, Any]:
        """The decimation, for the settings of a map."""
        if not self.full_size:
            return {}
        return {"decimate": self.factor, "full_size": self.full_size, "decimate_because": self.because}

    def without_bad_pixels(self) -> ComparablePair:
        """Return the pair with finite values everywhere; filled pixels and hot pixels become invalid."""
        checked = check_pair(self.first, self.second, valid=self.valid, channel_axis=self.channel_axis)
        if checked.finite is None:
            return self
        shape = self.first.shape
        return replace(
            self, first=checked.first.reshape(shape), second=checked.second.reshape(shape), valid=checked.finite
        )

    def decimated(self, factor: int) -> ComparablePair:
        """Return the pair at a lower resolution; pixels are valid and unclipped if all pixels of their block are."""
        if factor == 1:
            return self
        first, second = (decimate(one, factor, channel_axis=self.channel_axis) for one in (self.first, self.second))
        at_top = (_at_top(self.first), _at_top(self.second)) if self.clipped is None else self.clipped
        valid = None if self.valid is None else keeps_light(self.valid, factor)
        return replace(
            self,
            first=first,
            second=second,
            valid=None if valid is None or valid.all() else valid,
            clipped=(~keeps_light(~at_top[0], factor), ~keeps_light(~at_top[1], factor)),
            rounding=None,
            jpeg=(None, None),
        )


def brightness(light: AnyArray) -> AnyArray:
    """Return the luminance of (H, W, 3) light."""
    return np.asarray(light @ _LUMINANCE.astype(light.dtype))


def _at_top(image: AnyArray) -> BoolArray:
    clipped = clipped_pixels(image)
    return np.zeros(image.shape[:2], dtype=bool) if clipped is None else clipped
