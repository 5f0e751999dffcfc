"""Settings of the page: their checks, and the equivalent commands."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from ...base.arguments import as_choice
from ...base.errors import InputError
from ...base.options import Depth, Estimating, Preparing, Stack, option_fields
from ...base.settings import MAX_SIGMA, PAPER_SIGMA_STEP, WINDOW_WINDOW
from ...depth.camera import Camera
from ...depth.psf import usual_psf

__all__ = ["Choices", "DepthChoices", "commands", "form"]

_FIELDS = {**option_fields(Depth), **option_fields(Stack), **option_fields(Estimating), **option_fields(Preparing)}
#: Upper limits of the form. Limits that depend on the images are checked when the images are read.
_MOST = {"window": 101, "max_sigma": 100.0, "prefilter": 20.0, "decimate": 64}
_PREPARING = ("align", "exposure", "linear", "decimate")


@dataclass(frozen=True)
class _Checked:
    def changed(self, values: Mapping[str, Any]) -> Self:
        """Return a copy with the values of a form."""
        if not isinstance(values, Mapping):
            raise InputError("settings must be a table of names and values")
        known = asdict(self)
        unknown = [name for name in values if name not in known]
        if unknown:
            raise InputError(f"there is no setting {str(unknown[0])[:40]!r}; there are {', '.join(known)}")
        return replace(self, **{name: _value(name, value) for name, value in values.items()})


@dataclass(frozen=True)
class Choices(_Checked):
    """Preparation and measurement: options of ``relblur estimate``, ``stack`` and ``fuse``."""

    method: str = Estimating.method
    window: int = WINDOW_WINDOW
    max_sigma: float = MAX_SIGMA
    prefilter: float = Estimating.prefilter
    sharper: str = Estimating.sharper
    decimate: int | str = Preparing.decimate
    align: str = Preparing.align
    exposure: str = Preparing.exposure
    linear: bool = Preparing.linear
    focus_m: tuple[float, ...] | None = None  #: of a stack, in the order of the images
    prefer: str = Stack.prefer

    @property
    def reading(self) -> dict[str, Any]:
        """Arguments of :func:`relblur.estimate_stack`, and of :func:`relblur.prepare_pair` except ``max_sigma``."""
        return {name: getattr(self, name) for name in _PREPARING}

    @property
    def preparing(self) -> dict[str, Any]:
        """Arguments of :func:`relblur.prepare_pair`."""
        return {**self.reading, "max_sigma": self.max_sigma}

    @property
    def estimating(self) -> dict[str, Any]:
        """Arguments of :func:`relblur.estimate_blur`."""
        chosen: dict[str, Any] = {name: getattr(self, name) for name in ("method", "sharper", "window", "prefilter")}
        return {**chosen, "max_sigma": None if self.max_sigma == MAX_SIGMA else self.max_sigma}

    def words(self, names: Sequence[str]) -> list[str]:
        """Return the command-line options of all values that differ from the defaults."""
        defaults, words = Choices(), list[str]()
        for name in names:
            value = getattr(self, name)
            if value == getattr(defaults, name):
                continue
            if name == "focus_m":
                words += ["--focus", ",".join(f"{each:g}" for each in value)]
            else:
                words += ["--no-linear"] if name == "linear" else [f"--{name.replace('_', '-')}", f"{value}"]
        return words


@dataclass(frozen=True)
class DepthChoices(_Checked):
    """Measurement of the depth of a pair: options of ``relblur depth``."""

    psf: str = Depth.psf
    prefilter: float = Depth.prefilter
    side: str = Depth.side
    nearest_m: float | None = None
    farthest_m: float | None = None

    def arguments(self, camera: Camera) -> dict[str, Any]:
        """Return the arguments of :func:`relblur.estimate_depth`."""
        span = None
        if (self.nearest_m is None) != (self.farthest_m is None):
            raise InputError("give both the nearest and the farthest distance, or neither")
        if self.nearest_m is not None:
            span = (self.nearest_m, self.farthest_m)
        psf = usual_psf(camera) if self.psf == "auto" else self.psf
        return {"psf": psf, "prefilter": self.prefilter, "side": self.side, "depth_range_m": span}


def form() -> dict[str, dict[str, Any]]:
    """Return the help text and the choices of every option in the forms of the page."""
    names = (*asdict(Choices()), *asdict(DepthChoices()))
    known = {name: _FIELDS[name].metadata for name in names if name in _FIELDS}
    return {name: {"help": about["help"], "words": about["choices"]} for name, about in known.items()}


def _value(name: str, value: Any) -> Any:
    words = _FIELDS[name].metadata["choices"] if name in _FIELDS else ()
    if words:
        return as_choice(value, name, words)
    if name == "linear":
        if not isinstance(value, bool):
            raise InputError(f"linear must be true or false, got {value!r}")
        return value
    if name == "focus_m":
        return _distances(value)
    if (name == "decimate" and value == "auto") or (name in ("nearest_m", "farthest_m") and value is None):
        return value
    number = _number(name, value)
    if name in ("window", "decimate"):
        if number != int(number) or not 1 <= number <= _MOST[name] or (name == "window" and number % 2 == 0):
            kind = "odd number" if name == "window" else "whole number, or auto,"
            raise InputError(f"{name} must be an {kind} from 1 to {_MOST[name]}, got {number:g}")
        return int(number)
    least = PAPER_SIGMA_STEP if name == "max_sigma" else 0.0
    if not least <= number <= _MOST.get(name, math.inf):
        raise InputError(f"{name} must be from {least:g} to {_MOST.get(name, math.inf):g}, got {number:g}")
    return number


def _distances(value: Any) -> tuple[float, ...] | None:
    if value is None or value == []:
        return None
    if not isinstance(value, (list, tuple)) or len(value) > 1000:
        raise InputError(f"focus_m must be a list of distances in m, got {str(value)[:40]!r}")
    return tuple(math.inf if each == "inf" else _number("focus_m", each) for each in value)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} must be a number, got {str(value)[:40]!r}")
    return float(value)


def commands(images: Sequence[str], choices: Choices, depth: DepthChoices | None = None) -> dict[str, str]:
    """Return the commands that give the same results; depth uses the exported camera file."""
    if len(images) != 2:
        words = choices.words((*_PREPARING, "focus_m", "prefer"))
        return {"stack": shlex.join(["relblur", "stack", *images, "-o", "result", *words])}
    names = [name for name in asdict(choices) if name not in ("focus_m", "prefer")]
    lines = {"estimate": shlex.join(["relblur", "estimate", *images, "-o", "result", *choices.words(names)])}
    if depth is not None:
        words = ["relblur", "depth", *images, "-c", "camera.toml", "-o", "result_depth", *choices.words(_PREPARING)]
        defaults = DepthChoices()
        for name in ("psf", "prefilter", "side"):
            if getattr(depth, name) != getattr(defaults, name):
                words += [f"--{name}", f"{getattr(depth, name)}"]
        if depth.nearest_m is not None:
            words += ["--range", f"{depth.nearest_m:g},{depth.farthest_m:g}"]
        lines["depth"] = shlex.join(words)
    return lines
