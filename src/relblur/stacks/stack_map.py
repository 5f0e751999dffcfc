"""``StackMap``: the frame in best focus at every pixel, its depth, height and picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..base._typing import AnyArray, BoolArray, FlagArray, FloatArray
from ..base.errors import FileError, InputError
from ..blur.result import FLAG_TYPE, Flag, MapResult, flag_shares, has_flag, percentiles
from ..filters.guided import enlarge, guided_enlarge
from ..images.archives import check_format, read_npz
from ..images.disk import TIFF_SUFFIXES, PathLike, write_image, write_npz, write_tiff
from ..images.labelled import Labelled
from ..photo.picture_form import PictureForm

__all__ = ["StackEstimate", "StackMap", "read_stack_map"]

FORMAT, FORMAT_VERSION = "relblur.StackMap", 1
SUFFIXES = (".npz", ".tif", ".tiff", ".npy")
_ARRAYS = ("index", "index_stderr", "depth_m", "depth_stderr_m", "flags", "places", "place")


class StackEstimate(NamedTuple):
    """The place of best focus at every pixel, on the axis of the places of the frames.

    ``filled`` pixels have too little detail, pixels ``at_limit`` are at an end of the search. ``noise`` is the standard
    deviation of the frames' noise, ``growth`` that of the blur (px) per unit of distance.
    """

    place: FloatArray
    stderr: FloatArray
    filled: BoolArray
    at_limit: BoolArray
    noise: float
    growth: float


@dataclass(frozen=True, eq=False, repr=False)
class StackMap(MapResult):
    """The frame in best focus at every pixel, with its uncertainty.

    Attributes
    ----------
    index, index_stderr : (h, w) float64
        Frame in best focus and its standard error: fractional, counted from 0 in the order of focus (see ``order``).
    depth_m, depth_stderr_m : (h, w) float64 or None
        Distance in metres; None if the distances in focus are not known.
    flags : (h, w) uint16
        Bits of :class:`relblur.Flag`.
    fused : (H, W) or (H, W, C) float32, or None
        The all-in-focus image at full size, in linear light if the inputs are.
    factor : int
        The maps contain every ``factor``-th pixel of the images.
    order : tuple of int
        Indices of the images in the input list, in order of focus.
    dropped : tuple of (int, str)
        Images that were left out, and the reasons.
    places : (N,) float64
        Places of the focus of the frames: 1/m, or their indices in the order of focus.
    growth_px : float
        Standard deviation of the blur per unit of distance from the place, px of the map; NaN if unknown.
    place : (h, w) float64
        Place of best focus.
    settings : mapping
        Method, options, ``notes``, and ``images``, the names of the images in the input order.
    form : PictureForm or None
        Format of the fused picture: that of the reference frame of the alignment.
    step_um, pixel_um : float or None
        Distance between two frames and the side of a pixel of the images, micrometres, of a stack with even steps.
    steps : mapping
        ``frames``, the aligned and matched images, if ``estimate_stack(..., steps=True)`` made the map. They are not
        saved.
    """

    QUANTITY: ClassVar[str] = "index"
    UNIT: ClassVar[str] = "frames"
    FORM: ClassVar[str] = ".3g"
    FIGURE: ClassVar[str] = "stack"

    index: FloatArray
    index_stderr: FloatArray
    depth_m: FloatArray | None
    depth_stderr_m: FloatArray | None
    flags: FlagArray
    fused: AnyArray | None
    factor: int
    order: tuple[int, ...]
    dropped: tuple[tuple[int, str], ...]
    places: FloatArray
    growth_px: float
    place: FloatArray
    settings: Mapping[str, Any] = field(default_factory=dict)
    form: PictureForm | None = None
    step_um: float | None = None
    pixel_um: float | None = None
    steps: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        reals = ("index", "index_stderr", "depth_m", "depth_stderr_m", "place")
        self._freeze({**dict.fromkeys(reals, np.float64), "flags": FLAG_TYPE})
        self.places.setflags(write=False)
        if self.fused is not None:
            self.fused.setflags(write=False)

    @property
    def value(self) -> FloatArray:
        """``index``, frames."""
        return self.index

    @property
    def stderr(self) -> FloatArray:
        """``index_stderr``, frames."""
        return self.index_stderr

    @property
    def height_um(self) -> FloatArray | None:
        """Height above the first frame, micrometres; None without ``step_um``."""
        return None if self.step_um is None else self.index * self.step_um

    @property
    def height_stderr_um(self) -> FloatArray | None:
        """Standard error of :attr:`height_um`."""
        return None if self.step_um is None else self.index_stderr * abs(self.step_um)

    @property
    def best(self) -> tuple[str, str, FloatArray, FloatArray]:
        """Name, unit, values and standard errors of the quantity of pictures: depth, height or index."""
        if self.depth_m is not None and self.depth_stderr_m is not None:
            return "depth", "m", self.depth_m, self.depth_stderr_m
        if self.height_um is not None and self.height_stderr_um is not None:
            return "height", "µm", self.height_um, self.height_stderr_um
        return "frame in best focus", "frames", self.index, self.index_stderr

    @property
    def sigma_px(self) -> FloatArray:
        """Absolute blur of each frame that was used, (N, h, w) standard deviations in px of the map."""
        return np.asarray(self.growth_px * np.abs(self.place - self.places[:, None, None]))

    def variance_difference(self, first: int, second: int) -> FloatArray:
        """Return ``sigma_second^2 - sigma_first^2`` in px^2 between two of the frames that were used."""
        one, two = (np.square(self.place - self.places[number]) for number in (first, second))
        return np.asarray(self.growth_px**2 * (two - one))

    def with_picture(self, picture: AnyArray, form: PictureForm | None) -> StackMap:
        """Return the map with a fused picture (H, W, C)."""
        return replace(self, fused=picture if picture.shape[2] > 1 else picture[:, :, 0], form=form)

    def full_size(self) -> tuple[FloatArray, FloatArray]:
        """Return index and standard error at the size of the images, along the edges of the fused picture."""
        return self._enlarged(self.index, self.index_stderr)

    def full_depth(self) -> tuple[FloatArray, FloatArray]:
        """Return depth and standard error in metres at the size of the images."""
        if self.depth_m is None or self.depth_stderr_m is None:
            raise InputError("the map has no depth: pass focus_m, the distance in focus of each image, m")
        u, error = self._enlarged(1 / self.depth_m, self.depth_stderr_m / np.square(self.depth_m))
        z = np.divide(1.0, u, out=np.full(u.shape, np.nan), where=u > 0)
        return z, error * np.square(z)

    def full_flags(self) -> FlagArray:
        """Return the flags at the size of the images."""
        shape = self._picture.shape[:2]
        return np.asarray(enlarge(self.flags, shape, self.factor, nearest=True), FLAG_TYPE)

    @property
    def _picture(self) -> AnyArray:
        if self.fused is None:
            raise InputError("fused is None, but the map is enlarged along the outlines of the picture; pass fuse=True")
        return self.fused

    def _enlarged(self, values: FloatArray, stderr: FloatArray) -> tuple[FloatArray, FloatArray]:
        grey = np.atleast_3d(self._picture).mean(axis=2)
        if self.factor == 1:
            return values, stderr
        return guided_enlarge(values, stderr, np.sqrt(np.maximum(grey, 0)).astype(np.float32), self.factor)

    def summary(self) -> dict[str, Any]:
        """Return the main figures of the map."""
        known, names = self.known, self.settings.get("images", {})
        dropped = [
            {"image": number, "name": names[number] if names else f"images[{number}]", "why": why}
            for number, why in self.dropped
        ]
        quantities = {"index": self.index, "depth_m": self.depth_m, "height_um": self.height_um}
        return {
            "width": self.shape[1],
            "height": self.shape[0],
            "frames": len(self.places),
            "order": list(self.order),
            "dropped": dropped,
            "answered_fraction": float(known.mean()),
            **{f"{n}_percentiles": None if v is None else percentiles(v) for n, v in quantities.items()},
            "median_index_stderr": float(np.median(self.index_stderr[known])) if known.any() else None,
            "step_um": self.step_um,
            "pixel_um": self.pixel_um,
            "growth_px": self.growth_px if np.isfinite(self.growth_px) else None,
            "flagged_fraction": {str(flag.name).lower(): float(has_flag(self.flags, flag).mean()) for flag in Flag},
            "flag_shares": flag_shares(self.flags),
            "settings": dict(self.settings),
        }

    def save(self, path: PathLike) -> None:
        """Write the maps, without the fused picture, to one file; the suffix determines the format.

        * ``.npz``: everything, exactly; :func:`relblur.load` reads it.
        * ``.tif``: :attr:`best` and its standard error, two float32 pages.
        * ``.npy``: the index alone.
        """
        suffix = Path(path).suffix.lower()
        if suffix == ".npz":
            arrays = {name: getattr(self, name) for name in _ARRAYS if getattr(self, name) is not None}
            about: dict[str, Any] = {"format": FORMAT, "format_version": FORMAT_VERSION, "factor": self.factor}
            write_npz(path, arrays, {**about, **self.summary()})
        elif suffix in TIFF_SUFFIXES:
            name, unit, *pages = self.best
            about = {"pages": [f"{name} ({unit})", f"standard error ({unit})"], "step_um": self.step_um}
            pixel = None if self.pixel_um is None else self.pixel_um * self.factor
            write_tiff(path, np.stack(pages).astype(np.float32), about, pixel_um=pixel)
        elif suffix == ".npy":
            write_image(path, self.index)
        else:
            raise InputError(f"path ends in {suffix or 'nothing'!r}; a StackMap is written as {', '.join(SUFFIXES)}")

    @classmethod
    def load(cls, path: PathLike) -> StackMap:
        """Read a map that :meth:`save` wrote as ``.npz``; ``fused`` is None."""
        return read_stack_map(path)

    def _variables(self) -> dict[str, Labelled]:
        quantities = (
            ("index", "frames", "frame in best focus, from 0 in the order of focus", self.index, self.index_stderr),
            ("depth", "m", "distance along the optical axis", self.depth_m, self.depth_stderr_m),
            ("height", "um", "height above the first frame", self.height_um, self.height_stderr_um),
        )
        variables: dict[str, Labelled] = {}
        for name, unit, long_name, values, stderr in quantities:
            if values is not None:
                variables[name] = (values, {"units": unit, "long_name": long_name})
                variables[f"{name}_stderr"] = (stderr, {"units": unit})
        return variables

    def _facts(self) -> str:
        return f"{len(self.places)} frames, index "

    def _heading(self) -> str:
        return f", {len(self.places)} frames, method {self.settings.get('method', '?')!r}"


def read_stack_map(path: PathLike) -> StackMap:
    """Read a map that :meth:`StackMap.save` wrote."""
    arrays, about = read_npz(path)
    check_format(path, about, FORMAT, FORMAT_VERSION)
    try:
        maps: dict[str, Any] = {name: arrays[name] for name in _ARRAYS if name in arrays or "depth" not in name}
        if maps["flags"].dtype.kind not in "ui" or maps["places"].ndim != 1:
            raise InputError("flags or places have a wrong type or shape")
        growth = about["growth_px"]
        return StackMap(
            **{"depth_m": None, "depth_stderr_m": None, **maps},
            fused=None,
            factor=int(about["factor"]),
            order=tuple(int(number) for number in about["order"]),
            dropped=tuple((int(each["image"]), str(each["why"])) for each in about["dropped"]),
            growth_px=float("nan") if growth is None else float(growth),
            settings=about["settings"],
            step_um=about.get("step_um"),
            pixel_um=about.get("pixel_um"),
        )
    except KeyError as error:
        raise FileError(f"{path} lacks {error}; it is not a complete StackMap, save it again") from None
    except (InputError, TypeError, ValueError) as error:
        raise FileError(f"{path} is not a usable StackMap: {error}") from None
