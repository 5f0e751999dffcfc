"""Pages of blur, depth, stacks, the range between two distances, scores.

With the pair at hand a page shows the photographs, the image re-made and its error beside that of not blurring at
all; of a saved result it shows the result alone.
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
from ..blur.result import MapResult
from ..depth.depth_map import DepthMap
from ..depth.relation import DepthRange
from ..plot.colours import Kind, look_of, opacity_of, scale_for
from ..stacks.stack_map import StackMap
from .html import NOTHING, Table, join
from .map_views import colour_bar, flag_legend, flag_png, histogram, map_png, photo_jpeg
from .page import About, Figure, ResultPage, Space
from .read_out import Layer, ReadOut
from .score_table import score_cells, score_columns
from .summary import (
    KINDS,
    blur_figures,
    depth_figures,
    percent,
    settings_rows,
    stack_figures,
    summarise_range,
)

__all__ = ["blur_page", "depth_page", "drawn_stderr", "pair_figures", "range_page", "score_page", "stack_page"]

#: Longest side of a map in the table of all results, px; most bytes of such a map and of any other.
THUMBNAIL_PX, THUMBNAIL_BYTES, MAP_BYTES = 120, 8_000, 700_000

#: Shares of pixels from which on a page warns of them.
MANY_AT_LIMIT, MANY_UNANSWERED, MANY_CLIPPED = 0.02, 0.3, 0.1

_FLAG_NAMES = tuple(str(flag.name).lower().replace("_", " ") for flag in Flag)


def blur_page(
    blur_map: BlurMap, about: About, pair: ComparablePair | None = None, summary: Mapping[str, Any] | None = None
) -> ResultPage:
    """Return the page of a blur map; ``summary`` is that of a saved one."""
    sigma = blur_map.sigma
    tables: list[Table] = []
    remade: list[Figure] = []
    if pair is not None:
        tables, remade = _judged(pair, blur_map, about)
    elif (error := (summary or {}).get("remade_mean_absolute_error")) is not None:
        note = "The photographs are not part of a saved result, so the error without blurring is not known here."
        rows = [("blurrier image re-made", f"{error:.5f}")]
        tables = [Table("How well it explains the pair", ("", "mean error"), rows, note)]
    unit = "px, positive: second is blurrier" if scale_for(sigma, "sigma").low < 0 else "px"
    return ResultPage(
        about,
        subtitle=f"Relative blur, {_size(blur_map.shape)}, method {blur_map.settings.get('method', 'unknown')}. "
        "Positive: the second image is the blurrier.",
        key_figures=blur_figures(blur_map),
        figures=[
            *pair_figures(pair, about),
            _map_figure("relative blur", sigma, ("sigma", unit), about, with_histogram=True, of=blur_map),
            _map_figure("standard error", blur_map.sigma_stderr, ("stderr", "px"), about),
            _flag_figure(blur_map.flags, about),
            *remade,
        ],
        tables=tables,
        warnings=_warnings(sigma, blur_map.flags),
        settings=blur_map.settings,
        read_out=_read_out(Layer("σ", "px", sigma, signed=True), blur_map.sigma_stderr, blur_map.flags),
        thumbnail=_thumbnail(about, sigma, "sigma"),
    )


def depth_page(
    depth_map: DepthMap, about: About, pair: ComparablePair | None = None, summary: Mapping[str, Any] | None = None
) -> ResultPage:
    """Return the page of a depth map."""
    depth = depth_map.depth_m
    left_out = [f"left out: {text}" for text in (summary or {}).get("left_out", ())]
    return ResultPage(
        about,
        subtitle=f"Distance along the optical axis, {_size(depth_map.shape)}.",
        key_figures=depth_figures(depth_map),
        figures=[
            *pair_figures(pair, about),
            _map_figure("distance", depth, ("depth", "m"), about, with_histogram=True, of=depth_map),
            _map_figure("standard error", depth_map.depth_stderr_m, ("stderr", "m"), about),
            _flag_figure(depth_map.flags, about),
        ],
        tables=[Table("Camera", ("field", "value"), settings_rows(depth_map.camera.as_dict()))],
        warnings=[*left_out, *_warnings(depth, depth_map.flags)],
        settings=depth_map.settings,
        read_out=_read_out(Layer("distance", "m", depth, "ratio"), depth_map.depth_stderr_m, depth_map.flags),
        space=None if about.is_one_of_many else Space(depth_map.camera.focal_length_px),
        thumbnail=_thumbnail(about, depth, "depth"),
    )


def stack_page(
    stack: StackMap, about: About, picture: AnyArray | None = None, summary: Mapping[str, Any] | None = None
) -> ResultPage:
    """Return the page of a stack; ``picture`` is the fused one as a screen expects it, ``summary`` the saved one."""
    name, unit, values, stderr = stack.best
    kind = KINDS.get(unit, "level")
    sharp = [] if picture is None else [Figure("sharp everywhere", photo_jpeg(picture, about.picture_px), stack.shape)]
    known = {str(each.get("name")): each for each in (summary or {}).get("files", ()) if isinstance(each, dict)}
    doubts = [f"{doubt}." for doubt in stack.settings.get("doubts", ())]
    dropped = [f"left out: {each['name']}, {each['why']}" for each in stack.summary()["dropped"]]
    signed = kind == "sigma" and scale_for(values, kind).low < 0
    return ResultPage(
        about,
        subtitle=f"{name.capitalize()}, {_size(stack.shape)}, {len(stack.places)} frames, "
        f"method {stack.settings.get('method', 'unknown')}.",
        key_figures=[*stack_figures(stack), *_roughness((summary or {}).get("topography"))],
        figures=[
            *sharp,
            _map_figure(name, values, (kind, unit), about, with_histogram=True, of=stack),
            _map_figure("standard error", stderr, ("stderr", unit), about),
            _flag_figure(stack.flags, about),
        ],
        tables=[_frame_table(stack, known)],
        warnings=[*doubts, *dropped, *_warnings(values, stack.flags)],
        notes=() if about.notes else stack.settings.get("notes", ()),
        settings={k: v for k, v in stack.settings.items() if k not in ("notes", "doubts", "images")},
        read_out=_read_out(Layer(name, unit, values, signed=signed), stderr, stack.flags),
        thumbnail=_thumbnail(about, values, kind),
    )


def _roughness(figures: Any) -> list[tuple[str, str]]:
    """Return Sa and Sq of a summary."""
    if not isinstance(figures, dict):
        return []
    level = ", tilt removed" if figures.get("tilt_removed_um_per_px") else ""
    try:
        return [
            (f"{name}{level}", f"{figures[f'{key}_um']:.4g} ± {figures[f'{key}_stderr_um']:.2g} µm")
            for name, key in (("Sa", "sa"), ("Sq", "sq"))
        ]
    except (KeyError, TypeError, ValueError):  # a summary that somebody changed
        return []


def _frame_table(stack: StackMap, files: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return the frames in their order of focus."""
    names, distances = stack.settings.get("images", ()), stack.settings.get("focus_m")
    rows = []
    for place, number in enumerate(stack.order):
        name = str(names[number]) if number < len(names) else f"images[{number}]"
        focus = f"{distances[place]:g} m" if distances else "-"
        hashed = files.get(name.partition("[")[0], {}).get("sha256") or "-"
        rows.append((str(place), name, focus, str(hashed)))
    return Table("Frames", ("order", "image", "in focus at", "SHA-256"), rows, is_long=len(rows) > 12)


def range_page(found: DepthRange, about: About, pair: ComparablePair | None = None) -> ResultPage:
    """Return the page of which points lie between two distances."""
    summary = summarise_range(found)
    span = f"{found.nearest_m:g} to {found.farthest_m:g} m"
    title, probability = f"probability of {span}", found.probability
    return ResultPage(
        about,
        subtitle=f"Which points lie at {span}, {_size(probability.shape)}.",
        key_figures=[
            ("range", span),
            ("pixels in it", percent(summary["between_fraction"])),
            ("surer than 95 %, either way", percent(summary["sure_fraction"])),
            ("unknown", percent(summary["unknown_fraction"])),
        ],
        figures=[
            *pair_figures(pair, about),
            _map_figure(title, probability, ("count", ""), about, with_histogram=True, limit=1.0),
        ],
        read_out=ReadOut([Layer(title, "", probability)]),
        thumbnail=_thumbnail(about, probability, "count", 1.0),
    )


def score_page(
    scores: Sequence[tuple[str, PairScore]],
    about: About,
    pair: ComparablePair | None = None,
    settings: Mapping[str, Any] | None = None,
) -> ResultPage:
    """Return the page of how well each image is re-made from the other; ``scores`` have their resolution."""
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
    key.append(("explained, unseen channels", _number(best.explained, ".3f")))
    worse = [
        f"{name} at {size}"
        for size, score in scores
        for name in ("first", "second")
        if getattr(score, f"e_{name}") > getattr(score, f"unblurred_e_{name}")
    ]
    lost = [f"Re-making is worse than not blurring at all: {', '.join(worse)}."] if worse else []
    note = (
        "Mean absolute errors of grey values on a scale of 0 to 1, where an image is the less sharp one; in brackets "
        "the error if nothing is blurred. Held-out: red and blue, of a blur estimated from green."
    )
    return ResultPage(
        about,
        subtitle=f"How well each image is re-made from the other, {scores[0][0]}.",
        key_figures=key,
        figures=pair_figures(pair, about, has_pixels=False),
        tables=[Table("Errors beside their baselines", columns, rows, note)],
        warnings=lost,
        settings=settings or {},
    )


def pair_figures(pair: ComparablePair | None, about: About, has_pixels: bool = True) -> list[Figure]:
    """Return both photographs, if they are known."""
    if pair is None:
        return []
    look = look_of(pair)
    return [
        Figure(name, photo_jpeg(look(image), about.picture_px), pair.shape, has_pixels=has_pixels)
        for name, image in (("first", pair.first), ("second", pair.second))
    ]


def _read_out(values: Layer, stderr: AnyArray, flags: AnyArray) -> ReadOut:
    return ReadOut(
        [values, Layer("standard error", values.unit, stderr, "log"), Layer("flags", "", flags, "flags")], _FLAG_NAMES
    )


def _judged(pair: ComparablePair, blur_map: BlurMap, about: About) -> tuple[list[Table], list[Figure]]:
    """Return errors beside those of not blurring, and the image re-made."""
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
    columns = ("re-made image", "error", "without blurring", "of that", "pixels where it is the blurrier")
    note = "Mean absolute errors of grey values on the images' scale."
    made = resynthesize(pair.first, pair.second, blur_map, channel_axis=axis, dtype=np.float32)
    error = np.abs(made - observed_blurrier(pair.first, pair.second, blur_map, channel_axis=axis))
    error = error.mean(axis=2) if error.ndim == 3 else error
    error[~np.isfinite(blur_map.sigma)] = np.nan
    picture = photo_jpeg(look_of(pair)(made), about.picture_px)
    return [Table("How well it explains the pair", columns, rows, note)], [
        Figure("the blurrier image, re-made from the sharper", picture, pair.shape),
        _map_figure("error of the re-made image", error, ("error", "on the images' scale"), about),
    ]


def _map_figure(
    title: str,
    values: AnyArray,
    what: tuple[Kind, str],
    about: About,
    *,
    with_histogram: bool = False,
    limit: float | None = None,
    of: MapResult | None = None,
) -> Figure:
    """Return a map with its colour bar; ``what`` is its kind and its unit.

    Filled pixels of the result ``of`` which it is are faded.
    """
    scale = scale_for(values, what[0], limit)
    bars = histogram(values, scale, title) if with_histogram else NOTHING
    opacity = None if of is None else opacity_of(values, drawn_stderr(of), of.flags, scale)
    picture = map_png(values, scale, about.picture_px, MAP_BYTES, opacity)
    return Figure(title, picture, (values.shape[0], values.shape[1]), join(bars, colour_bar(scale, what[1])))


def _flag_figure(flags: AnyArray, about: About) -> Figure:
    return Figure("flags", flag_png(flags, about.picture_px), (flags.shape[0], flags.shape[1]), flag_legend(flags))


def drawn_stderr(result: MapResult) -> AnyArray:
    """Return the standard error in the unit in which a result is drawn."""
    return result.best[3] if isinstance(result, StackMap) else result.stderr


def _warnings(values: AnyArray, flags: UInt8Array) -> list[str]:
    """Return what limits a map, with the remedy."""
    at_limit, clipped = (float(has_flag(flags, flag).mean()) for flag in (Flag.AT_LIMIT, Flag.CLIPPED))
    unanswered, found = float(np.isnan(values).mean()), []
    if unanswered > MANY_UNANSWERED:
        found.append(f"{percent(unanswered)} of the pixels have no answer: see the flags.")
    if at_limit > MANY_AT_LIMIT:
        found.append(
            f"{percent(at_limit)} of the pixels are at the end of what was looked for, the largest blur or the "
            "range of distances: look further (--max-sigma, --range), or decimate."
        )
    if clipped > MANY_CLIPPED:
        found.append(f"{percent(clipped)} of the pixels are clipped or near it: expose less.")
    return found


def _thumbnail(about: About, values: AnyArray, kind: Kind, limit: float | None = None) -> bytes:
    if not about.is_one_of_many:
        return b""
    return map_png(values, scale_for(values, kind, limit), THUMBNAIL_PX, THUMBNAIL_BYTES)


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]} px"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
