"""Define the options of the library and its programs, with their defaults and help texts, in five records.

Signatures take their defaults from the fields (``sharper: str = Estimating.sharper``). Every field with a
help text becomes an option of commands (:mod:`relblur.apps.terminal.options`) and a field of the viewer's form. The
records check that words are among the choices. Other values are checked by the functions that use them.
"""

# ruff: noqa: RUF009 - _option returns a field of a dataclass
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from .settings import (
    ALIGN_MODELS,
    DEPTH_PREFILTER,
    EXPOSURES,
    MAX_SIGMA,
    METHODS,
    PAPER_WINDOW,
    PREFERENCES,
    PSF_NAMES,
    SIDES,
    SideOfFocus,
)

if TYPE_CHECKING:
    from ..blur.noise import NoiseModel
    from ._typing import AnyArray, ArrayLike, PathLike

__all__ = ["Depth", "Estimating", "Preparing", "Reading", "Record", "Stack", "choices_of", "option_fields"]


def _option(
    default: Any,
    text: str,
    *,
    kind: Any = None,
    choices: Sequence[str] = (),
    flag: str = "",
    unset: str = "",
    least: float | None = None,
) -> Any:
    """Return a field that commands offer as an option.

    ``kind`` is the type on the command line, by default that of the default value. ``flag`` is the name of the option,
    by default that of the field. ``unset`` is the text for None in help texts. ``least`` is the smallest value.
    """
    about = {"help": text, "kind": kind or type(default), "choices": tuple(choices)}
    return field(default=default, metadata={**about, "flag": flag, "unset": unset, "least": least})


class Record:
    """Base class of the records; checks the choices."""

    PANEL: ClassVar[str] = "Options"  #: heading in help texts

    def __post_init__(self) -> None:
        """Refuse words that are not among the choices of their field."""
        from .arguments import as_choice  # loads NumPy

        for each in _fields(type(self)):
            choices, value = each.metadata.get("choices"), getattr(self, each.name)
            if choices and (isinstance(value, str) or each.name != "psf"):  # a psf may be an array or a function
                as_choice(value, each.name, choices)

    def arguments(self, *left_out: str) -> dict[str, Any]:
        """Return the fields by name, as arguments of the function whose options they are."""
        return {each.name: getattr(self, each.name) for each in _fields(type(self)) if each.name not in left_out}


@dataclass(frozen=True, kw_only=True)
class Reading(Record):
    """Options of :func:`relblur.imread`: conversion of stored values to light."""

    PANEL: ClassVar[str] = "Preparation"

    linear: bool = _option(
        True, "Undo the tone curve, because defocus blurs light; or compare stored values.",
        flag="--linear/--no-linear",
    )  # fmt: skip
    gamma: float | None = _option(
        None, "Undo the curve light = value ** GAMMA instead; 1 for linear values.",
        kind=float, unset="from the file",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Preparing(Reading):
    """Options of :func:`relblur.prepare_pair`, explained there: preparation of two photographs."""

    align: str = _option(
        "auto", "Model of the motion to undo. similarity suits focus breathing, bent suits phones.",
        choices=(*ALIGN_MODELS, "off"),
    )  # fmt: skip
    exposure: str = _option(
        "auto", "Match the exposure: by one gain, or by a smooth field of gains (vignetting).", choices=EXPOSURES
    )
    decimate: int | str = _option(
        "auto", "Factor of decimation. auto: chosen from the size and the largest blur.", kind=str
    )


@dataclass(frozen=True, kw_only=True)
class Estimating(Record):
    """Options of :func:`relblur.estimate_blur`, explained there."""

    PANEL: ClassVar[str] = "Estimation"

    method: str = _option(
        "refined", "refined: dense and regularised. window: local, fast. paper: the paper's grid.",
        choices=METHODS, flag="--method,-m",
    )  # fmt: skip
    sharper: str = _option("auto", "The sharper image. auto: decided at every pixel.", choices=SIDES)
    max_sigma: float | None = _option(
        None, "Largest blur of the search, px. Set it just above the largest you expect.",
        kind=float, unset=f"{MAX_SIGMA:g}",
    )  # fmt: skip
    window: int | None = _option(None, "Side of the window of neighbours, px, odd.", kind=int, unset=f"{PAPER_WINDOW}")
    noise: float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel] | None = _option(
        None, "Standard deviation of the noise, for images on a 0..1 scale.", kind=float, unset="estimated"
    )
    prefilter: float = _option(0.0, "Blur both images by this many px first. 1.5 to 2 suits real lenses.")
    sigmas: ArrayLike | Sequence[float] | None = None
    engine: str = "auto"
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class Depth(Record):
    """Options of :func:`relblur.estimate_depth`, explained there."""

    PANEL: ClassVar[str] = "Depth"

    psf: Any = _option(
        "auto", "Shape of the blur: disc, gaussian, or an image of the aperture. auto: disc, or gaussian for a camera "
        "calibrated for it.", kind=str,
    )  # fmt: skip
    depth_range_m: tuple[float, float] | None = _option(
        None, "Nearest and farthest distance, m, such as 0.8,3.", kind=str, flag="--range", unset="all"
    )
    side: str = _option(
        "behind",
        "Side of the focal plane with the scene, for two apertures at one focus.",
        choices=get_args(SideOfFocus),
    )
    prefilter: float = _option(DEPTH_PREFILTER, "psf gaussian: blur both images by this many px first.")
    noise: float | NoiseModel | tuple[float, float] | None = None
    window: int | None = None
    engine: str = "auto"
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class Stack(Record):
    """Options of :func:`relblur.estimate_stack` and :func:`relblur.open_stack`, explained there."""

    PANEL: ClassVar[str] = "Stack"

    focus_m: Sequence[float] | None = _option(
        None, "Distance in focus of each image, m, such as 0.35,0.5,0.8.", kind=str, flag="--focus", unset="from EXIF"
    )
    psf: str | AnyArray | Any = _option(
        "auto", "Shape of the blur, with a camera. auto: as for 'relblur depth'.", choices=("auto", *PSF_NAMES)
    )
    fuse: bool = _option(True, "Make the picture that is sharp everywhere.", flag="--fuse/--no-fuse")
    prefer: str = _option(
        "any", "Frame used at outlines: near (first frames), far, or any, the sharper one.", choices=PREFERENCES
    )
    step_um: float | None = _option(
        None, "Distance between two frames, µm. It implies that frames are in order.", kind=float, unset="from the file"
    )
    pixel_um: float | None = _option(None, "Side of a pixel, µm.", kind=float, unset="from the file")
    noise: float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel] | None = _option(
        None, "Standard deviation of the noise, 0..1 scale; used for few images only.", kind=float, unset="estimated"
    )
    max_sigma: float | None = _option(
        None, "Largest blur of the search, px; used for few images only.", kind=float, unset="by method"
    )
    motion: PathLike | None = _option(
        None, "JSON file of the alignment: used if it exists, written otherwise.", kind=Path, unset="none"
    )
    channel: int | None = _option(None, "Channel of a file of planes, from 0.", kind=int, unset="0", least=0)
    time: int | None = _option(None, "Time point of a file of planes, from 0.", kind=int, unset="0", least=0)
    series: int | None = _option(None, "Series of a file of planes, from 0.", kind=int, unset="0", least=0)
    engine: str = "auto"
    workers: int | None = None


def _fields(record: type[Record]) -> tuple[Field[Any], ...]:
    return fields(record)  # type: ignore[arg-type]


def option_fields(record: type[Record]) -> Mapping[str, Field[Any]]:
    """Return the fields of a record that commands offer, by name."""
    return {each.name: each for each in _fields(record) if "help" in each.metadata}


def choices_of(record: type[Record], name: str) -> tuple[str, ...]:
    """Return the words that a field of a record accepts."""
    return next(each for each in _fields(record) if each.name == name).metadata["choices"]
