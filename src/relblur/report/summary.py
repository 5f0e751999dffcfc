"""Results as text and numbers: ``summary.json``, key figures, captions, tables of scores."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..base.shown import as_json, csv_table
from ..blur.blur_map import BlurMap, Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import PairScore
from ..blur.result import MapResult, percentiles
from ..depth.relation import DepthRange
from ..images.disk import replacing
from ..plot.colours import MapView, flag_shares
from ..stacks.stack_map import StackMap

__all__ = [
    "SCORE_FILES",
    "SUMMARY_FILE",
    "caption",
    "key_figures",
    "percent",
    "photo_titles",
    "score_cells",
    "score_columns",
    "settings_rows",
    "stack_caption",
    "summarise",
    "summarise_range",
    "write_scores",
    "write_summary",
]

SUMMARY_FILE = "summary.json"
SCORE_FILES = ("scores.csv", SUMMARY_FILE)
_SIDES = ("first", "second")

#: Maximum number of characters of a setting, values of a list, and file names in a caption that are written in full.
LONGEST, MOST_VALUES, MOST_NAMES = 120, 6, 4


def write_summary(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write ``summary.json`` into a folder."""
    with replacing(folder / SUMMARY_FILE) as stream:
        stream.write(as_json(summary, indent=2).encode())


def summarise(result: MapResult) -> dict[str, Any]:
    """Return the main figures of a map for ``summary.json``."""
    if isinstance(result, StackMap):
        return result.summary()
    values, stderr, known = result.value, result.stderr, result.known
    name = "sigma_px" if isinstance(result, BlurMap) else "depth_m"
    shares = {"answered_fraction": float(known.mean())}
    if isinstance(result, BlurMap):
        for side, words in ((1, "first"), (-1, "second"), (0, "neither")):
            shares[f"{words}_sharper_fraction"] = float((result.sharper == side).mean())
    else:
        shares["unflagged_fraction"] = float((known & (result.flags == 0)).mean())
    return {
        "width": values.shape[1],
        "height": values.shape[0],
        **shares,
        f"{name}_percentiles": percentiles(values),
        f"median_stderr_{result.UNIT}": float(np.median(stderr[known])) if known.any() else None,
        "flagged_fraction": {str(flag.name).lower(): float(has_flag(result.flags, flag).mean()) for flag in Flag},
        # Each pixel counts once, so these shares sum to 1.
        "flag_shares": {name: share for name, _, share in flag_shares(result.flags)},
        "settings": dict(result.settings),
    }


def summarise_range(depth_range: DepthRange) -> dict[str, Any]:
    """Return the main figures of a depth range, with shares relative to all pixels."""
    with np.errstate(invalid="ignore"):
        sure = (depth_range.probability > 0.95) | (depth_range.probability < 0.05)
    return {
        "height": depth_range.probability.shape[0],
        "width": depth_range.probability.shape[1],
        "nearest_m": depth_range.nearest_m,
        "farthest_m": depth_range.farthest_m,
        "between_fraction": float(depth_range.between.mean()),
        "unknown_fraction": float(np.isnan(depth_range.probability).mean()),
        "sure_fraction": float(sure.mean()),
    }


def key_figures(result: MapResult) -> list[tuple[str, str]]:
    """Return (name, value) of the key figures of a map."""
    view = MapView.of(result)
    known = np.isfinite(view.values)
    figures = [("frames", str(len(result.places)))] if isinstance(result, StackMap) else []
    figures.append(("pixels answered", percent(float(known.mean()))))
    if isinstance(result, BlurMap):
        sides = (("first sharper", 1), ("second sharper", -1))
        figures += [(name, percent(float((result.sharper == side).mean()))) for name, side in sides]
    else:
        figures.append(("without any flag", percent(float((known & (result.flags == 0)).mean()))))
    if (spread := percentiles(view.values)) is not None:
        form = {"px": "+.2f", "m": ".3f"}.get(view.unit, ".4g")
        written = " / ".join(format(value, form) for value in spread.values())
        figures.append((f"{view.name}, 5 / 50 / 95 %", f"{written} {view.unit}"))
        scale, unit = (1000, "mm") if view.unit == "m" else (1, view.unit)
        figures.append(("median standard error", f"{scale * np.median(view.stderr[known]):.3g} {unit}"))
    return figures


def percent(share: float) -> str:
    """Return a share of pixels as text."""
    return f"{100 * share:.1f} %"


def settings_rows(settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return settings as rows of a table, without empty ones and with long lists shortened."""
    return [(str(name).replace("_", " "), _shown(value)) for name, value in settings.items() if value is not None]


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
    """Return two lines for a map: its files, then its method; ``what`` replaces the name of the method."""
    names = "first and second" if pair.names == ("first", "second") else "    ".join(photo_titles(pair))
    factor = int(settings.get("decimate", 1))
    full = f", decimated by {factor} from {settings.get('full_size')}" if factor > 1 else ""
    method = what or f"method {settings.get('method', '?')}"
    return f"{names}\n{method}, {pair.size} px{full}, relblur {settings.get('relblur', '')}"


def stack_caption(stack: StackMap) -> str:
    """Return two lines for a stack: its files, then its method and size."""
    names = [str(name) for name in stack.settings.get("images", ())]
    if len(names) > MOST_NAMES:
        names = [*names[: MOST_NAMES - 1], "...", names[-1]]
    parts = [f"{len(stack.places)} frames", f"method {stack.settings.get('method', '?')}"]
    parts.append(
        f"{stack.shape[1]}x{stack.shape[0]} px" + (f", decimated by {stack.factor}" if stack.factor > 1 else "")
    )
    lengths = (("step", stack.step_um), ("pixel", stack.pixel_um))
    parts += [f"{name} {length:.4g} µm" for name, length in lengths if length is not None]
    return f"{', '.join(names)}\n{', '.join(parts)}, relblur {stack.settings.get('relblur', '')}"


def photo_titles(pair: ComparablePair) -> tuple[str, str]:
    """Return the titles of the two photographs."""
    if pair.names == ("first", "second"):
        return pair.names
    return f"first: {pair.names[0]}", f"second: {pair.names[1]}"


def write_scores(folder: Path, results: Sequence[tuple[int, str, PairScore]], factors: Sequence[int | str]) -> None:
    """Write the scores of a pair at several (factor, size) into an empty folder, as a table and as a summary.

    ``factors`` are the requested factors, including ``"auto"``. They name the entries of the summary, so all pairs of a
    folder have the same entries.
    """
    rows = [{"decimate": factor, "resolution": size, **score.as_dict()} for factor, size, score in results]
    with replacing(folder / "scores.csv") as stream:
        stream.write(csv_table(rows))
    write_summary(folder, {f"decimate_{name}": row for name, row in zip(factors, rows, strict=True)})


def score_columns(first: str, second: str) -> tuple[str, ...]:
    """Return the headings of :func:`score_cells` for images with these names."""
    errors = (f"{kind}e_{name} (unblurred)" for kind in ("", "held-out ") for name in (first, second))
    return f"{first} sharper", f"{second} sharper", "equal", "scored", *errors


def score_cells(score: PairScore) -> tuple[str, ...]:
    """Return a score as text: shares of all pixels, and errors (grey, held-out channels) with their baselines."""
    shares = (f"{name}_fraction" for name in ("first_sharper", "second_sharper", "equal", "scored"))
    pairs = [(f"{kind}e_{name}", f"{kind}unblurred_e_{name}") for kind in ("", "held_out_") for name in _SIDES]
    errors = ((getattr(score, error), getattr(score, base)) for error, base in pairs)
    written = ("-" if math.isnan(error) else f"{error:.4f} ({unblurred:.4f})" for error, unblurred in errors)
    return (*(f"{getattr(score, name):.0%}" for name in shares), *written)
