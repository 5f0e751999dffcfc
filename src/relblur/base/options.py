"""The options of the library and of its programs, in five records: each default and help text stands here only.

Signatures take their defaults from the fields (``sharper: str = Estimating.sharper``), commands make an option of every
field that has a help text (:mod:`relblur.apps.terminal.options`), and the viewer's form reads the same fields. Values
are checked where they are used; a word that is not among the choices is refused at once.
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
    DIRECTIONS,
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
    from ._typing import AnyArray, ArrayLike

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

    ``kind`` is its type on the command line if the default does not show it, ``flag`` its name if that differs from the
    field's, ``unset`` stands for None in help texts, ``least`` is the smallest value.
    """
    about = {"help": text, "kind": kind or type(default), "choices": tuple(choices)}
    return field(default=default, metadata={**about, "flag": flag, "unset": unset, "least": least})


class Record:
    """Base of the records: checks of choices, and the fields as arguments."""

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
    """How files become light: options of :func:`relblur.imread`."""

    PANEL: ClassVar[str] = "Preparation"

    linear: bool = _option(
        True, "Undo the tone curve of the files: defocus blurs light. Or compare values as stored.",
        flag="--linear/--no-linear",
    )  # fmt: skip
    gamma: float | None = _option(
        None, "Tone curve to undo instead: light = value ** GAMMA; 1 for linear values.",
        kind=float, unset="from the file",
    )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Preparing(Reading):
    """How two photographs become comparable: options of :func:`relblur.prepare_pair`, which explains them."""

    align: str = _option(
        "auto", "Motion that is undone. similarity suits focus breathing, bent suits phones.",
        choices=(*ALIGN_MODELS, "off"),
    )  # fmt: skip
    exposure: str = _option(
        "auto", "Brightness that is matched: one gain, or a smooth field of it (vignetting).", choices=EXPOSURES
    )
    decimate: int | str = _option(
        "auto", "Factor that reduces the resolution first. auto: by size and largest blur.", kind=str
    )


@dataclass(frozen=True, kw_only=True)
class Estimating(Record):
    """How relative blur is estimated: options of :func:`relblur.estimate_blur`, which explains them."""

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
    direction: str = field(default="deviation", metadata={"choices": DIRECTIONS})
    tolerance: float = 0.0
    everywhere: bool = False
    engine: str = "auto"
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class Depth(Record):
    """How depth is estimated: options of :func:`relblur.estimate_depth`, which explains them."""

    PANEL: ClassVar[str] = "Depth"

    psf: Any = _option(
        "auto", "Shape of the blur: disc, gaussian, or an image of the aperture. auto: disc, or gaussian for a camera "
        "calibrated for it.", kind=str,
    )  # fmt: skip
    depth_range_m: tuple[float, float] | None = _option(
        None, "Nearest and farthest distance, m, such as 0.8,3.", kind=str, flag="--range", unset="all"
    )
    side: str = _option(
        "behind", "Two apertures, one focus: the side of the focal plane with the scene.", choices=get_args(SideOfFocus)
    )
    prefilter: float = _option(DEPTH_PREFILTER, "psf gaussian: blur both images by this many px first.")
    noise: float | NoiseModel | tuple[float, float] | None = None
    window: int | None = None
    engine: str = "auto"
    workers: int | None = None


@dataclass(frozen=True, kw_only=True)
class Stack(Record):
    """How a focal stack is measured: options of :func:`relblur.estimate_stack` and :func:`relblur.open_stack`."""

    PANEL: ClassVar[str] = "Stack"

    focus_m: Sequence[float] | None = _option(
        None, "Distance in focus of each image, m, such as 0.35,0.5,0.8.", kind=str, flag="--focus", unset="from EXIF"
    )
    psf: str | AnyArray | Any = _option(
        "auto", "Shape of the blur, with a camera. auto: as for 'relblur depth'.", choices=("auto", *PSF_NAMES)
    )
    fuse: bool = _option(True, "Make the picture that is sharp everywhere.", flag="--fuse/--no-fuse")
    prefer: str = _option(
        "any", "Outlines, where two depths show: near (first frames), far, or the sharper.", choices=PREFERENCES
    )
    motion: str | Path | None = _option(None, "Alignment as JSON: used if the file exists, else written.", kind=Path)
    step_um: float | None = _option(
        None, "Distance between two frames, µm. Frames are then in order.", kind=float, unset="from the file"
    )
    pixel_um: float | None = _option(None, "Side of a pixel, µm.", kind=float, unset="from the file")
    noise: float | NoiseModel | tuple[float | NoiseModel, float | NoiseModel] | None = _option(
        None, "Standard deviation of the noise, 0..1 scale; few images only.", kind=float, unset="estimated"
    )
    max_sigma: float | None = _option(
        None, "Largest blur of the search, px; few images only.", kind=float, unset="by method"
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
    """Return the words that a field of a record may have."""
    return next(each for each in _fields(record) if each.name == name).metadata["choices"]
