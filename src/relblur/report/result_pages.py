"""Pages of maps (blur, depth, stacks), depth ranges and scores.

If the pair is given, a page also shows the photographs, the re-made image, its error and the error without blurring
(the baseline). The page of a saved result shows the result alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..base._typing import AnyArray, UInt8Array
from ..blur.blur_map import BlurMap, Flag, has_flag
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import PairScore, evaluate_pair, observed_blurrier, resynthesize
from ..blur.result import MapResult, flag_name
from ..depth.depth_map import DepthMap
from ..depth.relation import DepthRange
from ..plot.colours import MapView, look_of, scale_for
from ..stacks.stack_map import StackMap
from .embedded import (
    Layer,
    ReadOut,
    colour_bar,
    flag_legend,
    flag_png,
    histogram,
    map_png,
    photo_jpeg,
    view_html,
)
from .html import Html, Table, join
from .page import About, Figure, ResultPage, Space
from .summary import key_figures, percent, score_cells, score_columns, settings_rows, summarise_range

__all__ = ["map_page", "range_page", "score_page"]

#: Longest side of a thumbnail (px) and its maximum size (bytes) in the overview; maximum size of other maps (bytes).
THUMBNAIL_PX, THUMBNAIL_BYTES, MAP_BYTES = 120, 8_000, 700_000

#: Fractions of pixels at the limit, without a value, and clipped, above which a page contains a warning.
MANY_AT_LIMIT, MANY_UNANSWERED, MANY_CLIPPED = 0.02, 0.3, 0.1

#: Number of frames above which their table is collapsed.
MANY_FRAMES = 12

#: Settings that appear elsewhere on the page.
_WARNINGS = ("model_warnings", "doubts")
_SHOWN_ELSEWHERE = ("notes", "images", *_WARNINGS)


def map_page(
    result: MapResult,
    about: About,
    *,
    pair: ComparablePair | None = None,
    picture: AnyArray | None = None,
    summary: Mapping[str, Any] | None = None,
) -> ResultPage:
    """Return the page of a map.

    ``pair`` contains the photographs of the map, ``picture`` is the fused picture of a stack in display values, and
    ``summary`` is the content of a saved ``summary.json``.
    """
    view, summary = MapView.of(result), summary or {}
    figures = pair_figures(pair, about)
    if picture is not None:
        figures.append(Figure("sharp everywhere", photo_jpeg(picture, about.picture_px), result.shape))
    figures.append(_figure(view.name, view.values, view.scale, about, view_html(view), view.opacity))
    stderr = scale_for(view.stderr, "stderr")
    figures.append(_figure("standard error", view.stderr, stderr, about, colour_bar(stderr, view.unit)))
    flags = flag_png(result.flags, about.picture_px)
    figures.append(Figure("flags", flags, result.shape, flag_legend(result.flags)))
    what = "Depth along the optical axis" if view.unit == "m" else view.name.capitalize()
    facts, tables, more = _specific(result, about, pair, summary)
    layers = [
        Layer(view.name, view.unit, view.values, "ratio" if view.unit == "m" else "linear", view.kind == "sigma"),
        Layer("standard error", view.unit, view.stderr, "log"),
        Layer("flags", "", result.flags, "flags"),
    ]
    is_alone = isinstance(result, DepthMap) and not about.is_one_of_many
    return ResultPage(
        about,
        subtitle=f"{what}, {result.shape[1]} x {result.shape[0]} px{facts}.",
        key_figures=[*key_figures(result), *_roughness(summary.get("topography"))],
        figures=[*figures, *more],
        tables=tables,
        warnings=[*_model_warnings(result, summary), *_pixel_warnings(view.values, result.flags)],
        settings={name: value for name, value in result.settings.items() if name not in _SHOWN_ELSEWHERE},
        read_out=ReadOut(layers, tuple(flag_name(flag) for flag in Flag)),
        space=Space(result.camera.focal_length_px) if isinstance(result, DepthMap) and is_alone else None,
        thumbnail=_thumbnail(about, view),
    )


def _specific(
    result: MapResult, about: About, pair: ComparablePair | None, summary: Mapping[str, Any]
) -> tuple[str, list[Table], list[Figure]]:
    """Return the additions for one type of map: part of the subtitle, tables, figures."""
    method = f"method {result.settings.get('method', 'unknown')}"
    if isinstance(result, DepthMap):
        camera = Table("Camera", ("field", "value"), settings_rows(result.camera.as_dict()))
        return "", [camera], []
    if isinstance(result, StackMap):
        return f", {len(result.places)} frames, {method}", [_frame_table(result, summary)], []
    facts = f", {method}. Positive: the second image is the blurrier"
    if pair is not None and isinstance(result, BlurMap):
        return facts, *_agreement(pair, result, about)
    if isinstance(error := summary.get("remade_mean_absolute_error"), float):
        note = "A saved result does not contain the photographs, so the error without blurring is unknown."
        rows = [("blurrier image re-made", f"{error:.5f}")]
        return facts, [Table("Agreement with the pair", ("", "mean error"), rows, note)], []
    return facts, [], []


def _roughness(figures: Any) -> list[tuple[str, str]]:
    """Return the roughness Sa and Sq of a summary as key figures."""
    if not isinstance(figures, dict):
        return []
    level = ", tilt removed" if figures.get("tilt_removed_um_per_px") else ""
    try:
        return [
            (f"{name}{level}", f"{figures[f'{key}_um']:.4g} ± {figures[f'{key}_stderr_um']:.2g} µm")
            for name, key in (("Sa", "sa"), ("Sq", "sq"))
        ]
    except (KeyError, TypeError, ValueError):  # the summary was edited
        return []


def _frame_table(stack: StackMap, summary: Mapping[str, Any]) -> Table:
    """Return a table of the frames in order of focus."""
    listed = summary.get("files")
    listed = listed if isinstance(listed, list) else []
    files = {str(each.get("name")): each for each in listed if isinstance(each, dict)}
    names, distances = stack.settings.get("images", ()), stack.settings.get("focus_m")
    rows = []
    for place, number in enumerate(stack.order):
        name = str(names[number]) if number < len(names) else f"images[{number}]"
        focus = f"{distances[place]:g} m" if distances else "-"
        hashed = files.get(name.partition("[")[0], {}).get("sha256") or "-"
        rows.append((str(place), name, focus, str(hashed)))
    return Table("Frames", ("order", "image", "in focus at", "SHA-256"), rows, is_long=len(rows) > MANY_FRAMES)


def _agreement(pair: ComparablePair, blur_map: BlurMap, about: About) -> tuple[list[Table], list[Figure]]:
    """Return a table of errors with their baselines, and figures of the re-made image and its error."""
    axis = pair.channel_axis
    score = evaluate_pair(pair.first, pair.second, blur_map, channel_axis=axis, held_out=False)
    rows = [
        (
            name,
            _number(error, ".5f"),
            _number(base, ".5f"),
            percent(error / base) if not math.isnan(error) and base > 0 else "-",
            percent(share),
        )
        for name, error, base, share in (
            ("first", score.e_first, score.unblurred_e_first, score.second_sharper_fraction),
            ("second", score.e_second, score.unblurred_e_second, score.first_sharper_fraction),
        )
    ]
    columns = ("re-made image", "error", "without blurring", "ratio", "pixels where it is the blurrier")
    note = "Mean absolute errors of grey values on the images' scale."
    made = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
    error = np.abs(made - observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis))
    error = error.mean(axis=2) if error.ndim == 3 else error
    error[~np.isfinite(blur_map.sigma)] = np.nan
    picture = photo_jpeg(look_of(pair)(made), about.picture_px)
    scale = scale_for(error, "error")
    return [Table("Agreement with the pair", columns, rows, note)], [
        Figure("the blurrier image, re-made from the sharper", picture, pair.shape),
        _figure("error of the re-made image", error, scale, about, colour_bar(scale, "on the images' scale")),
    ]


def range_page(found: DepthRange, about: About, pair: ComparablePair | None = None) -> ResultPage:
    """Return the page of a depth range."""
    summary, probability = summarise_range(found), found.probability
    span = f"{found.nearest_m:g} to {found.farthest_m:g} m"
    title = f"probability of {span}"
    scale = scale_for(probability, "count", 1.0)
    below = join(histogram(probability, scale, title), colour_bar(scale, ""))
    unused = np.zeros(probability.shape, np.uint8)
    view = MapView(title, "", "count", probability, probability, unused, scale)
    return ResultPage(
        about,
        subtitle=f"Points at {span}, {probability.shape[1]} x {probability.shape[0]} px.",
        key_figures=[
            ("range", span),
            ("pixels in it", percent(summary["between_fraction"])),
            ("certain at 95 %, inside or outside", percent(summary["sure_fraction"])),
            ("unknown", percent(summary["unknown_fraction"])),
        ],
        figures=[*pair_figures(pair, about), _figure(title, probability, scale, about, below)],
        read_out=ReadOut([Layer(title, "", probability)]),
        thumbnail=_thumbnail(about, view),
    )


def score_page(
    scores: Sequence[tuple[str, PairScore]],
    about: About,
    pair: ComparablePair | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ResultPage:
    """Return the page of the errors of the re-made images; ``scores`` are (resolution, score)."""
    columns = ("resolution", *score_columns("first", "second"), "explained")
    rows = [(size, *score_cells(score), _number(score.explained, ".3f")) for size, score in scores]
    best = scores[0][1]
    key = [
        (f"{name} re-made", f"{_number(error, '.5f')}, unblurred {_number(base, '.5f')}")
        for name, error, base in (
            ("first", best.e_first, best.unblurred_e_first),
            ("second", best.e_second, best.unblurred_e_second),
        )
    ]
    worse = [
        f"{name} at {size}"
        for size, score in scores
        for name in ("first", "second")
        if getattr(score, f"e_{name}") > getattr(score, f"unblurred_e_{name}")
    ]
    note = (
        "Mean absolute errors of grey values on a scale of 0 to 1, over the pixels where the image is the blurrier. "
        "The error without blurring is in brackets. Held-out: red and blue, with a blur estimated from green."
    )
    return ResultPage(
        about,
        subtitle=f"Errors of each image re-made from the other, {scores[0][0]}.",
        key_figures=[*key, ("explained, held-out channels", _number(best.explained, ".3f"))],
        figures=pair_figures(pair, about, has_pixels=False),
        tables=[Table("Errors beside their baselines", columns, rows, note)],
        warnings=[f"Re-made images have larger errors than without blurring: {', '.join(worse)}."] if worse else [],
        settings=settings or {},
    )


def pair_figures(pair: ComparablePair | None, about: About, has_pixels: bool = True) -> list[Figure]:
    """Return figures of both photographs; none if the pair is not given."""
    if pair is None:
        return []
    look = look_of(pair)
    return [
        Figure(name, photo_jpeg(look(image), about.picture_px), pair.shape, has_pixels=has_pixels)
        for name, image in (("first", pair.first), ("second", pair.second))
    ]


def _figure(
    title: str, values: AnyArray, scale: Any, about: About, below: Html, opacity: AnyArray | None = None
) -> Figure:
    picture = map_png(values, scale, about.picture_px, MAP_BYTES, opacity)
    return Figure(title, picture, (values.shape[0], values.shape[1]), below)


def _model_warnings(result: MapResult, summary: Mapping[str, Any]) -> list[str]:
    """Return the warnings about the whole map, and the files that were not written."""
    listed = [texts for name in _WARNINGS if isinstance(texts := result.settings.get(name), (list, tuple))]
    warnings = [f"{str(text).rstrip('.')}." for texts in listed for text in texts]
    if isinstance(result, StackMap):
        warnings += [f"left out: {each['name']}, {each['why']}" for each in result.summary()["dropped"]]
    return [*warnings, *(f"left out: {text}" for text in summary.get("left_out", ()))]


def _pixel_warnings(values: AnyArray, flags: UInt8Array) -> list[str]:
    """Return warnings about many pixels without a value, at the limit or clipped, with the remedy."""
    at_limit, clipped = (float(has_flag(flags, flag).mean()) for flag in (Flag.AT_LIMIT, Flag.CLIPPED))
    unknown, warnings = float(np.isnan(values).mean()), []
    if unknown > MANY_UNANSWERED:
        warnings.append(f"{percent(unknown)} of the pixels have no answer: see the flags.")
    if at_limit > MANY_AT_LIMIT:
        warnings.append(
            f"{percent(at_limit)} of the pixels are at the end of the search range, the largest blur or the "
            "range of distances: enlarge it (--max-sigma, --range), or decimate."
        )
    if clipped > MANY_CLIPPED:
        warnings.append(f"{percent(clipped)} of the pixels are clipped or near a clipped one: expose less.")
    return warnings


def _thumbnail(about: About, view: MapView) -> bytes:
    if not about.is_one_of_many:
        return b""
    return map_png(view.values, view.scale, THUMBNAIL_PX, THUMBNAIL_BYTES, view.opacity)


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
