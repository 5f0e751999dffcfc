"""Results as pages: blur, depth, the range between two distances, scores.

With the pair at hand a page shows the photographs, the image re-made and its error beside that of not blurring at
all; of a result that was saved it shows what the result itself holds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base._typing import AnyArray, UInt8Array
from ..blur.blur_map import BlurMap, Flag, PairScore, has_flag
from ..blur.comparable_pair import ComparablePair
from ..blur.evaluate import evaluate_pair, observed_blurrier, resynthesize
from ..depth.depth_map import DepthMap
from ..depth.relation import DepthRange
from .colours import Kind, look_of, scale_for
from .html import colour_bar, flag_legend, flag_png, histogram, map_png, photo_jpeg, settings_rows
from .key_figures import blur_figures, depth_figures, percent
from .page import Figure, ResultPage, Space, Table
from .range_report import summarise_range
from .read_out import Layer, ReadOut
from .score_table import score_cells, score_columns

__all__ = ["About", "blur_page", "depth_page", "pair_figures", "range_page", "score_page"]

#: Longest side of a picture, px: alone on its page, and one of many.
PICTURE_PX, SMALL_PICTURE_PX, THUMBNAIL_PX = 1000, 480, 120

#: From these shares of pixels on, something is said about them.
MANY_AT_LIMIT, MANY_UNANSWERED, MANY_CLIPPED = 0.02, 0.3, 0.1


@dataclass(frozen=True)
class About:
    """What is known beside the numbers: where the result comes from, and how much room its page has."""

    title: str
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    provenance: Sequence[tuple[str, str]] = ()
    is_one_of_many: bool = False

    @property
    def picture_px(self) -> int:
        """Longest side of a picture."""
        return SMALL_PICTURE_PX if self.is_one_of_many else PICTURE_PX


def blur_page(
    blur_map: BlurMap, about: About, pair: ComparablePair | None = None, summary: Mapping[str, Any] | None = None
) -> ResultPage:
    """Return the page of a blur map; ``summary`` is what was written beside one that was saved."""
    found = summary or {}
    sigma = blur_map.sigma
    tables: list[Table] = []
    remade: list[Figure] = []
    if pair is not None:
        tables, remade = _judged(pair, blur_map, about)
    elif found.get("remade_mean_absolute_error") is not None:
        error = f"{found['remade_mean_absolute_error']:.5f}"
        note = "The photographs are not part of a saved result, so the error without blurring is not known here."
        tables = [Table("How well it explains the pair", ("", "mean error"), [("blurrier image re-made", error)], note)]
    figures = [
        *pair_figures(pair, about),
        _map_figure("relative blur", sigma, "sigma", _sigma_unit(sigma), about, with_histogram=True),
        _map_figure("standard error", blur_map.sigma_stderr, "stderr", "px", about),
        _flag_figure(blur_map.flags, about),
        *remade,
    ]
    return ResultPage(
        title=about.title,
        subtitle=f"Relative blur, {_size(blur_map.shape)}, method {blur_map.settings.get('method', 'unknown')}. "
        "Positive: the second image is the blurrier.",
        key_figures=blur_figures(blur_map),
        figures=figures,
        tables=tables,
        warnings=[*about.warnings, *_doubts(sigma, blur_map.flags)],
        notes=about.notes,
        settings=settings_rows(blur_map.settings),
        provenance=about.provenance,
        read_out=ReadOut(
            [
                Layer("σ", "px", sigma, signed=True),
                Layer("standard error", "px", blur_map.sigma_stderr, "log"),
                Layer("flags", "", blur_map.flags, "flags"),
            ],
            _FLAG_NAMES,
        ),
        thumbnail=map_png(sigma, scale_for(sigma, "sigma"), THUMBNAIL_PX, 8_000) if about.is_one_of_many else b"",
    )


def depth_page(
    depth_map: DepthMap, about: About, pair: ComparablePair | None = None, summary: Mapping[str, Any] | None = None
) -> ResultPage:
    """Return the page of a depth map."""
    found = summary or {}
    depth = depth_map.depth_m
    return ResultPage(
        title=about.title,
        subtitle=f"Distance along the optical axis, {_size(depth_map.shape)}.",
        key_figures=depth_figures(depth_map),
        figures=[
            *pair_figures(pair, about),
            _map_figure("distance", depth, "depth", "m", about, with_histogram=True),
            _map_figure("standard error", depth_map.depth_stderr_m, "stderr", "m", about),
            _flag_figure(depth_map.flags, about),
        ],
        tables=[Table("Camera", ("field", "value"), settings_rows(depth_map.camera.as_dict()))],
        warnings=[
            *about.warnings,
            *(f"left out: {text}" for text in found.get("left_out", ())),
            *_doubts(depth, depth_map.flags),
        ],
        notes=about.notes,
        settings=settings_rows(depth_map.settings),
        provenance=about.provenance,
        read_out=ReadOut(
            [
                Layer("distance", "m", depth, "ratio"),
                Layer("standard error", "m", depth_map.depth_stderr_m, "log"),
                Layer("flags", "", depth_map.flags, "flags"),
            ],
            _FLAG_NAMES,
        ),
        space=None if about.is_one_of_many else Space(depth_map.camera.focal_length_px),
        thumbnail=map_png(depth, scale_for(depth, "depth"), THUMBNAIL_PX, 8_000) if about.is_one_of_many else b"",
    )


def range_page(found: DepthRange, about: About, pair: ComparablePair | None = None) -> ResultPage:
    """Return the page of which points lie between two distances."""
    summary = summarise_range(found)
    span = f"{found.nearest_m:g} to {found.farthest_m:g} m"
    probability = found.probability
    return ResultPage(
        title=about.title,
        subtitle=f"Which points lie at {span}, {_size(probability.shape)}.",
        key_figures=[
            ("range", span),
            ("pixels in it", percent(summary["between_fraction"])),
            ("surer than 95 %, either way", percent(summary["sure_fraction"])),
            ("unknown", percent(summary["unknown_fraction"])),
        ],
        figures=[
            *pair_figures(pair, about),
            _map_figure(f"probability of {span}", probability, "count", "", about, with_histogram=True, limit=1.0),
        ],
        warnings=about.warnings,
        notes=about.notes,
        provenance=about.provenance,
        read_out=ReadOut([Layer(f"probability of {span}", "", probability)]),
        thumbnail=map_png(probability, scale_for(probability, "count", 1.0), THUMBNAIL_PX, 8_000)
        if about.is_one_of_many
        else b"",
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
    note = (
        "Mean absolute errors of grey values on a scale of 0 to 1, where an image is the less sharp one; in brackets "
        "the error if nothing is blurred. Held-out: red and blue, of a blur estimated from green."
    )
    return ResultPage(
        title=about.title,
        subtitle=f"How well each image is re-made from the other, {scores[0][0]}.",
        key_figures=key,
        figures=pair_figures(pair, about, has_pixels=False),
        tables=[Table("Errors beside their baselines", columns, rows, note)],
        warnings=[*about.warnings, *_lost(scores)],
        notes=about.notes,
        settings=settings_rows(settings or {}),
        provenance=about.provenance,
    )


_FLAG_NAMES = tuple(str(flag.name).lower().replace("_", " ") for flag in Flag)


def _judged(pair: ComparablePair, blur_map: BlurMap, about: About) -> tuple[list[Table], list[Figure]]:
    """Return errors beside those of not blurring, and what was re-made."""
    axis = pair.channel_axis
    score = evaluate_pair(pair.first, pair.second, blur_map, channel_axis=axis, held_out=False)
    rows = [
        (name, _number(error, ".5f"), _number(base, ".5f"), _ratio(error, base), percent(share))
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
        _map_figure("error of the re-made image", error, "error", "on the images' scale", about),
    ]


def pair_figures(pair: ComparablePair | None, about: About, has_pixels: bool = True) -> list[Figure]:
    """Return both photographs, if they are known."""
    if pair is None:
        return []
    look = look_of(pair)
    return [
        Figure(name, photo_jpeg(look(image), about.picture_px), pair.shape, has_pixels=has_pixels)
        for name, image in (("first", pair.first), ("second", pair.second))
    ]


def _map_figure(
    title: str,
    values: AnyArray,
    kind: Kind,
    unit: str,
    about: About,
    *,
    with_histogram: bool = False,
    limit: float | None = None,
) -> Figure:
    scale = scale_for(values, kind, limit)
    bars = histogram(values, scale, f"how often each value of {title} occurs") if with_histogram else ""
    shape = (values.shape[0], values.shape[1])
    return Figure(title, map_png(values, scale, about.picture_px, 700_000), shape, bars + colour_bar(scale, unit))


def _flag_figure(flags: AnyArray, about: About) -> Figure:
    shape = (flags.shape[0], flags.shape[1])
    return Figure("flags", flag_png(flags, about.picture_px), shape, flag_legend(flags))


def _sigma_unit(sigma: AnyArray) -> str:
    return "px, positive: second is blurrier" if scale_for(sigma, "sigma").low < 0 else "px"


def _doubts(values: AnyArray, flags: UInt8Array) -> list[str]:
    """Return what a person should know before trusting the map, and what to do about it."""
    at_limit, clipped = (float(has_flag(flags, flag).mean()) for flag in (Flag.AT_LIMIT, Flag.CLIPPED))
    answered, doubts = float(np.isfinite(values).mean()), []
    if answered < 1 - MANY_UNANSWERED:
        doubts.append(f"{percent(1 - answered)} of the pixels have no answer: see the flags.")
    if at_limit > MANY_AT_LIMIT:
        doubts.append(
            f"{percent(at_limit)} of the pixels are at the end of what was looked for, the largest blur or the "
            "range of distances: look further (--max-sigma, --range), or decimate."
        )
    if clipped > MANY_CLIPPED:
        doubts.append(f"{percent(clipped)} of the pixels are clipped or near it: expose less.")
    return doubts


def _lost(scores: Sequence[tuple[str, PairScore]]) -> list[str]:
    worse = [
        f"{name} at {size}"
        for size, score in scores
        for name in ("first", "second")
        if getattr(score, f"e_{name}") > getattr(score, f"unblurred_e_{name}")
    ]
    return [f"Re-making is worse than not blurring at all: {', '.join(worse)}."] if worse else []


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]} px"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)


def _ratio(error: float, base: float) -> str:
    return "-" if math.isnan(error) or not base > 0 else percent(error / base)
