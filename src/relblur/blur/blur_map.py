"""``BlurMap``, the result of ``estimate_blur``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np

from ..base._typing import AnyArray, FlagArray, FloatArray, Int8Array, PathLike
from ..base.errors import FileError, InputError
from ..base.inputs import is_chunked
from ..images.labelled import Labelled
from ..images.map_formats import read_map, write_map
from .result import FLAG_TYPE, Flag, MapResult, flag_name, flag_shares, has_flag, mark

__all__ = ["BlurMap", "Flag", "flag_name", "flag_shares", "has_flag", "labelled", "mark", "signed_sigma"]

#: Fields of a map that are arrays.
_ARRAYS = ("variance_difference", "variance_stderr", "flags", "sharper")


def signed_sigma(s: AnyArray) -> AnyArray:
    """Return relative blur in px, ``sign(s) sqrt(|s|)``, of a difference of variances in px^2."""
    return each_chunk(lambda s: np.asarray(np.sign(s) * np.sqrt(np.abs(s))), s)


def signed_sigma_stderr(s: AnyArray, stderr: AnyArray) -> AnyArray:
    """Return the standard error of sigma: half the distance between the sigmas of ``s + stderr`` and ``s - stderr``.

    It is ``stderr / (2 |sigma|)`` to first order. Around zero, where the square root is steep, it is at most
    ``sqrt(stderr)``.
    """
    return each_chunk(lambda s, se: np.asarray((signed_sigma(s + se) - signed_sigma(s - se)) / 2), s, stderr)


def each_chunk(function: Callable[..., AnyArray], *arrays: Any) -> AnyArray:
    """Apply a function to arrays of one size; keep the labels of xarray and the chunks of Dask."""
    if hasattr(arrays[0], "dims"):
        return arrays[0].copy(data=each_chunk(function, *(each.data for each in arrays)))
    if is_chunked(*arrays):
        return arrays[0].map_blocks(
            function, *arrays[1:], dtype=arrays[0].dtype, meta=np.empty((0, 0), arrays[0].dtype)
        )
    return function(*arrays)


@dataclass(frozen=True, eq=False, repr=False)
class BlurMap(MapResult):
    """Relative blur at every pixel, with its uncertainty.

    Attributes
    ----------
    variance_difference : (H, W) float64 (float32 from a Stream)
        ``s = sigma_second^2 - sigma_first^2`` in px^2, positive where ``second`` is the
        blurrier; NaN without an answer.
    variance_stderr : (H, W), of the same type
        Standard error of ``s`` in px^2.
    flags : (H, W) uint16
        Bits of :class:`Flag`.
    sharper : (H, W) int8
        +1 where ``first`` is the sharper, -1 where ``second`` is, 0 where neither.
    settings : mapping
        Method, window, sigmas, noise, engine, version.
    steps : mapping
        Intermediate maps by name, if ``estimate_blur(..., steps=True)`` made the map. They are not saved.

    Notes
    -----
    A map made from Dask arrays contains Dask arrays, which :meth:`compute` computes. A map made from xarray has its
    labels.
    """

    QUANTITY: ClassVar[str] = "sigma"
    UNIT: ClassVar[str] = "px"
    FORM: ClassVar[str] = ".3g"
    SIGNED: ClassVar[str] = ", + where second is the blurrier"
    FIGURE: ClassVar[str] = "blur"

    variance_difference: FloatArray
    variance_stderr: FloatArray
    flags: FlagArray
    sharper: Int8Array
    settings: Mapping[str, Any] = field(default_factory=dict)
    steps: Mapping[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # float32 of a Stream is kept: it takes half the memory, and OpenEXR stores it exactly.
        real = np.float32 if np.asarray(self.variance_difference).dtype == np.float32 else np.float64
        self._freeze({"variance_difference": real, "variance_stderr": real, "flags": FLAG_TYPE, "sharper": np.int8})

    @classmethod
    def of_views(
        cls,
        variance_difference: AnyArray,
        variance_stderr: AnyArray,
        flags: AnyArray,
        sharper: AnyArray,
        settings: Mapping[str, Any],
    ) -> BlurMap:
        """Make a map of read-only arrays without checks; flags are converted to 16 bits."""
        blur_map = object.__new__(cls)
        flags = flags if flags.dtype == FLAG_TYPE else flags.astype(FLAG_TYPE)
        values: tuple[Any, ...] = (variance_difference, variance_stderr, flags, sharper, settings, {})
        for f, value in zip(fields(cls), values, strict=True):
            object.__setattr__(blur_map, f.name, value)
        return blur_map

    @property
    def value(self) -> FloatArray:
        """``sigma``, px."""
        return self.sigma

    @property
    def stderr(self) -> FloatArray:
        """``sigma_stderr``, px."""
        return self.sigma_stderr

    @property
    def sigma(self) -> FloatArray:
        """Signed relative blur ``sign(s) sqrt(|s|)`` in px."""
        return signed_sigma(self.variance_difference)

    @property
    def sigma_stderr(self) -> FloatArray:
        """Standard error of ``sigma`` in px."""
        return signed_sigma_stderr(self.variance_difference, self.variance_stderr)

    @property
    def is_lazy(self) -> bool:
        """Whether the arrays are Dask arrays that have not been computed."""
        return is_chunked(self.variance_difference)

    def compute(self) -> BlurMap:
        """Return the map with NumPy arrays: compute all chunks, and drop the labels of xarray."""
        arrays = [getattr(self, name) for name in _ARRAYS]
        plain = [each.data if hasattr(each, "dims") else each for each in arrays]
        if is_chunked(*plain):
            import dask

            plain = list(dask.compute(*plain))
        elif not any(hasattr(each, "dims") for each in arrays):
            return self
        return BlurMap(plain[0], plain[1], plain[2], plain[3], self.settings)

    def save(self, path: PathLike) -> None:
        """Write the map to one file, in the format of the suffix.

        * ``.npz``: all arrays, exact.
        * ``.exr``: all arrays, in single precision (the extra ``exr``).
        * ``.tif``: sigma (px) and its standard error as two float32 pages.
        * ``.npy``: sigma alone, in its own precision.
        * ``.png``: sigma as 16 bits. The text of the file states the scale,
          ``sigma_px = offset + scale * value``, with value 0 for "no answer".

        :meth:`load` reads the first three formats.
        """
        computed = self.compute()
        arrays = {name: getattr(computed, name) for name in _ARRAYS}
        write_map(path, arrays, computed.sigma, computed.sigma_stderr, computed.settings)

    @classmethod
    def load(cls, path: PathLike) -> BlurMap:
        """Read a map that :meth:`save` wrote as ``.npz``."""
        arrays, settings = read_map(path)
        values: dict[str, Any] = {**arrays, "settings": settings}
        try:
            return cls(**values)
        except InputError as error:
            raise FileError(f"{path} is not a usable BlurMap: {error}") from None

    def _variables(self) -> dict[str, Labelled]:
        sign = {"comment": "positive where second is the blurrier"}
        return {
            "sigma": (self.sigma, {"units": "px", **sign}),
            "sigma_stderr": (self.sigma_stderr, {"units": "px"}),
            "variance_difference": (self.variance_difference, {"units": "px2", **sign}),
            "variance_stderr": (self.variance_stderr, {"units": "px2"}),
            "sharper": (self.sharper, {"comment": "+1 first, -1 second, 0 neither"}),
        }

    def __getitem__(self, part: Any) -> BlurMap:
        """Return the map of a part of the image: ``blur[100:200, 50:]``.

        Only slices are accepted. For numbers at a pixel use ``blur.sigma[row, column]``.
        """
        parts = part if isinstance(part, tuple) else (part,)
        if not all(isinstance(each, slice) or each is Ellipsis for each in parts) or len(parts) > 2:
            raise InputError(
                "index a BlurMap by slices, blur[100:200, 50:]; for numbers index one of its arrays, "
                "blur.sigma[row, column]"
            )
        arrays: dict[str, Any] = {name: getattr(self, name)[part] for name in _ARRAYS}
        if not arrays["flags"].size:
            raise InputError(f"this part of a BlurMap of {self.shape[0]}x{self.shape[1]} pixels is empty")
        return BlurMap(**arrays, settings=self.settings)

    def __iter__(self) -> Iterator[Any]:
        """Refuse an iteration over rows."""
        raise TypeError("a BlurMap is not a sequence; iterate over blur.sigma or another of its arrays")

    def _facts(self) -> str:
        return f"method={self.settings.get('method', '?')!r}, sigma "

    def _heading(self) -> str:
        text = f", method {self.settings.get('method', '?')!r}"
        if self.settings.get("decimate", 1) != 1:
            text += f", decimated by {self.settings['decimate']} from {self.settings['full_size']}"
        return text

    def __str__(self) -> str:
        """Return a summary: share answered, range, error and flags, one line each; the repr of a lazy map."""
        return repr(self) if self.is_lazy else MapResult.__str__(self.compute())

    def __repr__(self) -> str:
        if self.is_lazy:
            height, width = self.shape
            return f"BlurMap({height}x{width}, method={self.settings.get('method', '?')!r}, not computed yet)"
        return MapResult.__repr__(self.compute())


#: Name and unit of each array of a map.
_MEANING = {
    "variance_difference": {"long_name": "sigma_second^2 - sigma_first^2", "units": "px^2"},
    "variance_stderr": {"long_name": "standard error of variance_difference", "units": "px^2"},
    "flags": {"long_name": "bits of relblur.Flag"},
    "sharper": {"long_name": "+1 where first is the sharper, -1 where second is"},
}


def labelled(blur_map: BlurMap, image: Any, channel_axis: int | None) -> BlurMap:
    """Return the map with the labels of an image of xarray; unchanged for other images."""
    if not (hasattr(image, "dims") and hasattr(image, "isel")):
        return blur_map
    if channel_axis is not None:
        image = image.isel({image.dims[channel_axis]: 0}, drop=True)
    arrays = []
    for name, attributes in _MEANING.items():
        array = image.copy(data=getattr(blur_map, name))
        array.name, array.attrs = name, dict(attributes)
        arrays.append(array)
    return BlurMap.of_views(arrays[0], arrays[1], arrays[2], arrays[3], blur_map.settings)
