"""What the page may set, checked, and the command line that does the same."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, get_args

from ...base.arguments import as_choice
from ...base.errors import InputError
from ...base.settings import (
    DEPTH_PREFILTER,
    EXPOSURES,
    MAX_SIGMA,
    METHODS,
    PAPER_SIGMA_STEP,
    SIDES,
    WINDOW_WINDOW,
    Align,
    SideOfFocus,
)
from ...depth.psf import NAMES

__all__ = ["Choices", "DepthChoices", "command_line", "depth_command_line"]

_WORDS: dict[str, tuple[str, ...]] = {
    "method": METHODS,
    "sharper": SIDES,
    "align": get_args(Align),
    "exposure": EXPOSURES,
    "psf": NAMES,
    "side": get_args(SideOfFocus),
}
#: What fits into the form; what fits the images is checked where they are known.
_MOST = {"window": 101, "max_sigma": 100.0, "prefilter": 20.0, "decimate": 64}


@dataclass(frozen=True)
class Choices:
    """How a pair is prepared and measured: the options of ``relblur estimate`` that the page has."""

    method: str = "refined"
    window: int = WINDOW_WINDOW
    max_sigma: float = MAX_SIGMA
    prefilter: float = 0.0
    sharper: str = "auto"
    decimate: int | str = "auto"
    align: str = "auto"
    exposure: str = "auto"
    linear: bool = True

    def changed(self, values: Mapping[str, Any]) -> Choices:
        """Return these choices with some of them replaced by what a page sent."""
        return replace(self, **_checked(values, asdict(self)))

    @property
    def preparing(self) -> dict[str, Any]:
        """Arguments of :func:`relblur.prepare_pair`."""
        names = ("align", "exposure", "linear", "decimate", "max_sigma")
        return {name: getattr(self, name) for name in names}

    @property
    def estimating(self) -> dict[str, Any]:
        """Arguments of :func:`relblur.estimate_blur`."""
        chosen: dict[str, Any] = {name: getattr(self, name) for name in ("method", "sharper", "window", "prefilter")}
        return {**chosen, "max_sigma": None if self.max_sigma == MAX_SIGMA else self.max_sigma}

    def same_pair(self, other: Choices) -> bool:
        """Tell whether a pair prepared by the others is that of these: then only the map is to be made again.

        The largest sigma changes the pair with ``decimate="auto"`` only. The factor that was found is kept until the
        user chooses ``"auto"`` again; the command line then states it.
        """
        return all(getattr(self, name) == getattr(other, name) for name in ("align", "exposure", "linear", "decimate"))


@dataclass(frozen=True)
class DepthChoices:
    """How depth is measured: the options of ``relblur depth`` that the page has."""

    psf: str = "gaussian"
    prefilter: float = DEPTH_PREFILTER
    side: str = "behind"
    nearest_m: float | None = None
    farthest_m: float | None = None

    def changed(self, values: Mapping[str, Any]) -> DepthChoices:
        """Return these choices with some of them replaced by what a page sent."""
        return replace(self, **_checked(values, asdict(self)))

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of :func:`relblur.estimate_depth`."""
        span = None
        if (self.nearest_m is None) != (self.farthest_m is None):
            raise InputError("give both the nearest and the farthest distance, or neither")
        if self.nearest_m is not None:
            span = (self.nearest_m, self.farthest_m)
        return {"psf": self.psf, "prefilter": self.prefilter, "side": self.side, "depth_range_m": span}


def _checked(values: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(values, Mapping):
        raise InputError("settings must be a table of names and values")
    unknown = [name for name in values if name not in known]
    if unknown:
        raise InputError(f"there is no setting {str(unknown[0])[:40]!r}; there are {', '.join(known)}")
    return {name: _value(name, value) for name, value in values.items()}


def _value(name: str, value: Any) -> Any:
    if name in _WORDS:
        return as_choice(value, name, _WORDS[name])
    if name == "linear":
        if not isinstance(value, bool):
            raise InputError(f"linear must be true or false, got {value!r}")
        return value
    if name == "decimate" and value == "auto":
        return value
    if name in ("nearest_m", "farthest_m") and value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InputError(f"{name} must be a number, got {str(value)[:40]!r}")
    if name in ("window", "decimate"):
        if value != int(value) or not 1 <= value <= _MOST[name] or (name == "window" and value % 2 == 0):
            kind = "odd number" if name == "window" else "whole number, or auto,"
            raise InputError(f"{name} must be an {kind} from 1 to {_MOST[name]}, got {value:g}")
        return int(value)
    least = PAPER_SIGMA_STEP if name == "max_sigma" else 0.0
    if not least <= value <= _MOST.get(name, math.inf):
        raise InputError(f"{name} must be from {least:g} to {_MOST.get(name, math.inf):g}, got {value:g}")
    return float(value)


def command_line(first: str, second: str, choices: Choices) -> str:
    """Return the command that makes the same map of the same files."""
    words = ["relblur", "estimate", first, second, "-o", "result"]
    usual = asdict(Choices())
    for name, value in asdict(choices).items():
        if value != usual[name]:
            words += ["--no-linear"] if name == "linear" else [f"--{name.replace('_', '-')}", f"{value}"]
    return shlex.join(words)


def depth_command_line(first: str, second: str, choices: Choices, depth: DepthChoices) -> str:
    """Return the command that makes the same depth of the same files, with the camera that the page exports."""
    words = ["relblur", "depth", first, second, "-c", "camera.toml", "-o", "result_depth"]
    usual: dict[str, Any] = {**asdict(Choices()), **asdict(DepthChoices())}
    for name in ("align", "exposure", "linear", "decimate"):
        if getattr(choices, name) != usual[name]:
            value = getattr(choices, name)
            words += ["--no-linear"] if name == "linear" else [f"--{name}", f"{value}"]
    for name in ("psf", "prefilter", "side"):
        if getattr(depth, name) != usual[name]:
            words += [f"--{name}", f"{getattr(depth, name)}"]
    if depth.nearest_m is not None:
        words += ["--range", f"{depth.nearest_m:g},{depth.farthest_m:g}"]
    return shlex.join(words)
