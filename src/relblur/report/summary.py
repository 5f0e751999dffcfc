"""A result in words and numbers: ``summary.json``, key figures, captions of pictures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..blur.blur_map import BlurMap, Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..blur.result import percentiles
from ..depth.depth_map import DepthMap
from ..depth.relation import DepthRange
from ..images.disk import replacing
from ..plot.colours import Kind, flag_shares
from ..stacks.stack_map import StackMap

__all__ = [
    "KINDS",
    "blur_figures",
    "caption",
    "depth_figures",
    "percent",
    "photo_titles",
    "settings_rows",
    "stack_figures",
    "summarise",
    "summarise_depth",
    "summarise_range",
    "write_summary",
]

#: Characters of a setting that are shown, values of a list that are shown in full.
LONGEST, MOST_VALUES = 120, 6

#: Settings that a caption names unless they are zero or missing.
_CAPTIONS = {"window": "window {} px", "prefilter": "prefilter {:g} px", "engine": "engine {}"}


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write ``summary.json``."""
    with replacing(folder / "summary.json") as stream:
        stream.write(json.dumps(summary, indent=2).encode())


def summarise(blur_map: BlurMap) -> dict[str, Any]:
    """Return the main figures of a blur map."""
    sides = {
        "first_sharper_fraction": float((blur_map.sharper == 1).mean()),
        "second_sharper_fraction": float((blur_map.sharper == -1).mean()),
        "neither_sharper_fraction": float((blur_map.sharper == 0).mean()),
    }
    return _summary(blur_map, blur_map.sigma, blur_map.sigma_stderr, ("sigma_px", "px"), sides)


def summarise_depth(depth_map: DepthMap) -> dict[str, Any]:
    """Return the main figures of a depth map."""
    unflagged = {"unflagged_fraction": float((depth_map.known & (depth_map.flags == 0)).mean())}
    return _summary(depth_map, depth_map.depth_m, depth_map.depth_stderr_m, ("depth_m", "m"), unflagged)


def _summary(
    result: BlurMap | DepthMap, values: AnyArray, stderr: AnyArray, names: tuple[str, str], shares: dict[str, float]
) -> dict[str, Any]:
    known = np.isfinite(values)
    spread, median = None, None
    if known.any():
        spread = dict(zip(("5", "50", "95"), np.percentile(values[known], (5, 50, 95)).tolist(), strict=True))
        median = float(np.median(stderr[known]))
    return {
        "width": values.shape[1],
        "height": values.shape[0],
        "answered_fraction": float(known.mean()),
        **shares,
        f"{names[0]}_percentiles": spread,
        f"median_stderr_{names[1]}": median,
        "flagged_fraction": {str(flag.name).lower(): float(has_flag(result.flags, flag).mean()) for flag in Flag},
        # Each pixel counts once here, and they add up to 1.
        "flag_shares": {name: share for name, _, share in flag_shares(result.flags)},
        "settings": dict(result.settings),
    }


def summarise_range(found: DepthRange) -> dict[str, Any]:
    """Return the main figures of a depth range; shares are of all pixels."""
    with np.errstate(invalid="ignore"):
        sure = (found.probability > 0.95) | (found.probability < 0.05)
    return {
        "height": found.probability.shape[0],
        "width": found.probability.shape[1],
        "nearest_m": found.nearest_m,
        "farthest_m": found.farthest_m,
        "between_fraction": float(found.between.mean()),
        "unknown_fraction": float(np.isnan(found.probability).mean()),
        "sure_fraction": float(sure.mean()),
    }


def blur_figures(blur_map: BlurMap) -> list[tuple[str, str]]:
    """Return (name, value) of the key figures of a blur map."""
    found = summarise(blur_map)
    figures = [
        ("pixels answered", percent(found["answered_fraction"])),
        ("first sharper", percent(found["first_sharper_fraction"])),
        ("second sharper", percent(found["second_sharper_fraction"])),
    ]
    if spread := found["sigma_px_percentiles"]:
        figures.append(("blur, 5 / 50 / 95 %", " / ".join(f"{value:+.2f}" for value in spread.values()) + " px"))
        figures.append(("median standard error", f"{found['median_stderr_px']:.3g} px"))
    return figures


def depth_figures(depth_map: DepthMap) -> list[tuple[str, str]]:
    """Return (name, value) of the key figures of a depth map."""
    found = summarise_depth(depth_map)
    figures = [
        ("pixels answered", percent(found["answered_fraction"])),
        ("without any flag", percent(found["unflagged_fraction"])),
    ]
    if spread := found["depth_m_percentiles"]:
        figures.append(("distance, 5 / 50 / 95 %", " / ".join(f"{value:.3f}" for value in spread.values()) + " m"))
        figures.append(("median standard error", f"{1000 * found['median_stderr_m']:.3g} mm"))
    return figures


#: Colours of a map of a stack, by its unit; the others are levels.
KINDS: dict[str, Kind] = {"m": "depth", "px": "sigma"}


def stack_figures(stack: StackMap) -> list[tuple[str, str]]:
    """Return (name, value) of the key figures of a stack."""
    name, unit, values, stderr = stack.best
    figures = [
        ("frames", str(len(stack.places))),
        ("pixels answered", percent(float(np.isfinite(values).mean()))),
        ("without any flag", percent(float((stack.flags == 0).mean()))),
    ]
    if (spread := percentiles(values)) is not None:
        figures.append((f"{name}, 5 / 50 / 95 %", " / ".join(f"{each:.4g}" for each in spread.values()) + f" {unit}"))
        figures.append(("median standard error", f"{np.nanmedian(stderr):.3g} {unit}"))
    if stack.dropped:
        figures.append(("images left out", str(len(stack.dropped))))
    return figures


def percent(share: float) -> str:
    """Return a share of pixels as text."""
    return f"{100 * share:.1f} %"


def settings_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return settings as rows of a table, long lists shortened."""
    return [(str(name).replace("_", " "), _shown(value)) for name, value in settings.items()]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and len(value) > MOST_VALUES:
        return f"{_shown(value[0])}, {_shown(value[1])} ... {_shown(value[-1])} ({len(value)} values)"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_shown, value))
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."


def caption(pair: ComparablePair, settings: Mapping[str, Any], what: str = "") -> str:
    """Return two lines about a map: its files, and its method; ``what`` replaces the method's name."""
    one, two = pair.names
    names = "first and second" if pair.names == ("first", "second") else f"first: {one}    second: {two}"
    parts = [what or f"method {settings.get('method', '?')}"]
    parts += [form.format(settings[name]) for name, form in _CAPTIONS.items() if settings.get(name)]
    factor = int(settings.get("decimate", 1))
    full = f", decimated by {factor} from {settings.get('full_size')}: 1 px here is {factor} px there"
    parts += [f"{pair.size} px{full if factor > 1 else ''}", f"relblur {settings.get('relblur', '')}".strip()]
    return f"{names}\n{', '.join(parts)}"


def photo_titles(pair: ComparablePair) -> tuple[str, str]:
    """Return the titles of the two photographs."""
    if pair.names == ("first", "second"):
        return pair.names
    return f"first: {pair.names[0]}", f"second: {pair.names[1]}"
