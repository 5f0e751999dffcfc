"""Flags of pixels, and ``MapResult``: the common part of blur, depth and stack maps."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from enum import IntFlag
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..base._typing import AnyArray, BoolArray, FlagArray, FloatArray
from ..base.errors import InputError
from ..base.inputs import Pair
from ..base.shown import figure, html_view, percentages
from ..filters.sharpness import local_variance
from ..images.disk import PathLike
from ..images.labelled import Labelled, labelled

if TYPE_CHECKING:
    from .request import Request

__all__ = [
    "FLAG_TYPE",
    "Flag",
    "MapResult",
    "describe_flags",
    "flag_attributes",
    "flag_name",
    "flag_pixels",
    "flag_shares",
    "has_flag",
    "mark",
    "percentiles",
    "refuse_empty_map",
]


#: Type of the flags of a result: eight bits are in use.
FLAG_TYPE = np.uint16


class Flag(IntFlag):
    """The reason why a pixel has no value, or a lower reliability.

    With one of the first four flags the value is NaN, unless ``FILLED`` is set too. ``method="refined"`` fills pixels
    near bad pixels, ``method="paper"`` flat and clipped pixels. With the other flags the pixel has a value.
    """

    INVALID = 1  #: NaN, infinite or declared unusable in an image, here or within reach
    CLIPPED = 2  #: at the top of the integer range in an image, here or within reach
    FLAT = 4  #: too little texture to measure blur here
    EQUAL = 8  #: neither image is sharper by the paper's measure (``method="paper"`` only)
    NO_ROOT = 16  #: no blur on the grid gives the observed value; the nearest is reported
    AT_LIMIT = 32  #: at the largest blur of the search; the true blur may be larger
    FILLED = 64  #: the value comes from the neighbours; the standard error includes this
    OUT_OF_RANGE = 128  #: no distance gives this blur with this camera (depth only); no depth


def mark(flags: FlagArray, where: BoolArray, flag: Flag) -> None:
    """Set a flag on some pixels."""
    flags[where] |= flags.dtype.type(flag)


def has_flag(flags: FlagArray, flag: Flag) -> BoolArray:
    """Return the pixels at which a flag, or one of several, is set."""
    return np.asarray((flags & flags.dtype.type(flag)) != 0)


def flag_name(flag: Flag) -> str:
    """Return the name of a flag in words."""
    return str(flag.name).lower().replace("_", " ")


def flag_shares(flags: FlagArray) -> dict[str, float]:
    """Return the shares of the pixels without a flag and with each flag, by the flag's name.

    Every pixel is counted once, with the last of its flags, so that the sum is 1.
    """
    counts = np.bincount(flags.ravel(), minlength=256)
    last = np.zeros(256, dtype=np.int64)  # number of the highest bit, counted from 1
    for number, flag in enumerate(Flag, start=1):
        last[(np.arange(256) & int(flag)) != 0] = number
    shares = np.bincount(last, counts, minlength=len(Flag) + 1) / flags.size
    names = ["no flag", *map(flag_name, Flag)]
    return {name: float(share) for name, share in zip(names, shares, strict=True) if share > 0}


def describe_flags(flags: FlagArray) -> str:
    """Return :func:`flag_shares` as text."""
    shares = flag_shares(flags)
    written = percentages(list(shares.values()))
    return ", ".join(f"{name} {share}" for name, share in zip(shares, written, strict=True))


def flag_attributes() -> dict[str, Any]:
    """Return the meaning of the bits as attributes of the CF conventions."""
    masks = np.array([flag.value for flag in Flag], np.uint8)
    return {"flag_masks": masks, "flag_meanings": " ".join(str(flag.name).lower() for flag in Flag)}


def percentiles(values: AnyArray) -> dict[str, float] | None:
    """Return 5, 50 and 95 % of the finite values; None if there are none."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return None
    return {str(p): float(v) for p, v in zip((5, 50, 95), np.percentile(finite, (5, 50, 95)), strict=True)}


def refuse_empty_map(values: FloatArray, flags: FlagArray) -> None:
    """Raise an error with the shares of the flags if a map has no value at any pixel."""
    if not np.isfinite(values).any():
        raise InputError(
            f"no pixel of the pair has an answer ({describe_flags(flags)}); the two images must show one scene, with "
            "texture and another focus or aperture"
        )


def flag_pixels(pair: Pair, request: Request, s: FloatArray, flags: FlagArray) -> FlagArray:
    """Add the flags of bad pixels and of rounding to those of a map ``s``."""
    flags = flags.copy()
    sigma = np.sqrt(np.abs(np.nan_to_num(s)))
    mark(flags, _reached(~pair.finite, sigma, request.window), Flag.INVALID)
    mark(flags, _reached(~pair.unclipped, sigma, request.window), Flag.CLIPPED)
    if request.overall is not None:
        mark(flags, _rounded_away(pair, request), Flag.FLAT)
    return flags


def _reached(bad: BoolArray, sigma: FloatArray, window: int) -> BoolArray:
    """Return the pixels with a bad pixel in their window, or within two sigma of it."""
    if not bad.any():
        return np.zeros(bad.shape, dtype=bool)
    import cv2

    distance = cv2.distanceTransform((~bad).astype(np.uint8), cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    half = window // 2
    return np.asarray(distance <= np.maximum(half * math.sqrt(2), half + 2 * sigma))


def _rounded_away(pair: Pair, request: Request) -> BoolArray:
    """Return the pixels at which the local variance of both images is that of rounding.

    Rounding errors are not independent there, because a whole area may round down in one image and up in the other. So
    they do not average out.
    """
    assert request.overall is not None
    rounding_only = [
        local_variance(image, request.window, whole.centre) < 3 * whole.rounding**2
        for image, whole in zip((pair.first, pair.second), request.overall, strict=True)
    ]
    return rounding_only[0] & rounding_only[1]


class MapResult(ABC):
    """A quantity at every pixel with its standard error and flags.

    A subclass is a frozen dataclass with the fields ``flags`` and ``settings``. It defines :attr:`value`,
    :attr:`stderr`, :meth:`save`, :meth:`load` and :meth:`_variables`.
    """

    QUANTITY: ClassVar[str]  #: name of the value in text
    UNIT: ClassVar[str]
    FORM: ClassVar[str] = ".4g"  #: format of a value
    SIGNED: ClassVar[str] = ""  #: meaning of the sign
    FIGURE: ClassVar[str]  #: the function of :mod:`relblur.plot` that draws the map

    flags: FlagArray
    settings: Mapping[str, Any]

    def _repr_html_(self) -> str:
        return html_view(self)

    @property
    @abstractmethod
    def value(self) -> FloatArray:
        """The quantity, (H, W); NaN where there is no answer."""

    @property
    @abstractmethod
    def stderr(self) -> FloatArray:
        """Its standard error, in the same unit."""

    @property
    def best(self) -> tuple[str, str, FloatArray, FloatArray]:
        """Name, unit, values and standard errors of the quantity that pictures show."""
        return self.QUANTITY, self.UNIT, self.value, self.stderr

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return (self.flags.shape[0], self.flags.shape[1])

    @property
    def known(self) -> BoolArray:
        """Pixels that have an answer."""
        return np.isfinite(self.value)

    @abstractmethod
    def save(self, path: PathLike) -> None:
        """Write the map to a file, in the format of its suffix."""

    def copy(self) -> Self:
        """Return a copy of the map; it shares only arrays that the map owns."""
        return replace(self)  # type: ignore[type-var]

    def plot(self, *, ax: Any = None, **options: Any) -> Any:
        """Draw the map into axes of matplotlib, the current ones by default; return the image.

        Options are those of :func:`relblur.plot.blur`, :func:`relblur.plot.depth` or :func:`relblur.plot.stack`.
        """
        return figure(self.FIGURE)(self, ax=ax, **options)

    def to_xarray(self) -> Any:
        """Return the map as an ``xarray.Dataset`` (the extra ``xarray``).

        Its dimensions are ``row`` and ``column``, or those of the images if these were of xarray. The coordinates
        ``row`` and ``column`` count the pixels from 0. Units and the meaning of the flags are in the attributes, in
        the words of the CF conventions.
        """
        return labelled({**self._variables(), "flags": (self.flags, flag_attributes())}, self._about())

    @abstractmethod
    def _variables(self) -> dict[str, Labelled]:
        """Return the arrays of :meth:`to_xarray` and their attributes, without the flags."""

    def _about(self) -> dict[str, Any]:
        """Return the attributes of the dataset of :meth:`to_xarray`."""
        return dict(self.settings)

    def _freeze(self, types: Mapping[str, Any]) -> None:
        """Convert the (H, W) fields to read-only arrays of these types; copy them if other references exist."""
        first = next(iter(types))
        shape = np.shape(getattr(self, first))
        if len(shape) != 2:
            raise InputError(f"{first} must be two-dimensional, got shape {shape}")
        for name, dtype in types.items():
            value = getattr(self, name)
            if value is None:
                continue
            array = np.asarray(value, dtype=dtype)
            if array.flags.writeable or array.base is not None:  # another reference may change it
                array = array.copy()
            if array.shape != shape:
                raise InputError(f"{name} has shape {array.shape}; it must be that of {first}, {shape}")
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return :attr:`value`, for ``numpy.asarray(result)`` and plotting functions."""
        value = self.value
        if copy is False and value.flags.writeable:
            raise ValueError(f"{self.QUANTITY} is computed from the map, so a copy is necessary")
        return np.array(value, dtype=dtype) if copy else np.asarray(value, dtype=dtype)

    def _facts(self) -> str:
        """Return the text of the repr before the range."""
        return ""

    def _heading(self) -> str:
        """Return the text after the size."""
        return ""

    def __repr__(self) -> str:
        known = self.value[self.known]
        span = f"{known.min():{self.FORM}} to {known.max():{self.FORM}} {self.UNIT}" if known.size else "no answer"
        share = f"{self.known.mean():.0%} of pixels"
        return f"{type(self).__name__}({self.shape[0]}x{self.shape[1]}, {self._facts()}{span}, {share})"

    def __str__(self) -> str:
        """Return a summary: share answered, range, error and flags, one line each."""
        value, stderr = self.value, self.stderr
        known = np.isfinite(value)
        size = f"{self.shape[0]} x {self.shape[1]}"
        lines = [f"{type(self).__name__} of {size} pixels (rows x columns){self._heading()}"]
        lines.append(f"  answered  {known.mean():.1%} of the pixels")
        if (shares := percentiles(value)) is not None:
            low, high, middle = value[known].min(), value[known].max(), np.median(stderr[known])
            form = f"+{self.FORM}" if self.SIGNED else self.FORM
            lines.append(f"  {self.QUANTITY:9s} {low:{form}} to {high:{form}} {self.UNIT}{self.SIGNED}")
            each = ", ".join(f"{share:{form}}" for share in shares.values())
            lines.append(f"            {each} {self.UNIT} at 5, 50, 95 % of the answers")
            lines.append(f"  error     {middle:.3g} {self.UNIT}, the median standard error")
        return "\n".join([*lines, f"  flags     {describe_flags(self.flags)}"])
