"""What a notebook shows of a result: a picture, a histogram, a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..base.shown import span
from ..blur.blur_map import BlurMap
from ..blur.evaluate import PairScore
from ..blur.result import MapResult
from ..depth.camera import Camera
from ..depth.depth_map import DepthMap
from ..depth.working_range import working_range_m
from ..photo.alignment import Alignment
from ..plot.colours import Kind, opacity_of, photo, scale_for
from ..stacks.stack_map import StackMap
from .html import NOTHING, Html, details, element, fragment, image, join, table
from .map_views import colour_bar, flag_legend, histogram, map_png, photo_jpeg
from .result_pages import drawn_stderr
from .score_table import score_cells, score_columns
from .summary import KINDS, blur_figures, depth_figures, percent, settings_rows, stack_figures

__all__ = ["to_html"]

#: Longest side of a picture, px, and the most bytes of its file: with all around it, a result stays below 60 kB.
THUMBNAIL_PX, THUMBNAIL_BYTES = 320, 30_000
#: Characters of the plain text.
LONGEST_TEXT = 2000


def to_html(result: Any) -> str:
    """Return a result as HTML for a notebook."""
    if getattr(result, "is_lazy", False):  # looking at a result computes nothing
        return element("pre", repr(result))
    view = next(view for kind, view in _VIEWS.items() if isinstance(result, kind))
    title, left, right = view(result)
    plain = repr(result)
    plain = plain if len(plain) < LONGEST_TEXT else f"{plain[:LONGEST_TEXT]} ..."
    return fragment(plain, f"{type(result).__name__}{title}", left, right)


def _blur(blur_map: BlurMap) -> tuple[str, Html, Html]:
    blur_map = blur_map.compute()
    signed = scale_for(blur_map.sigma, "sigma").low < 0
    unit = "σ (px), positive: second is blurrier" if signed else "σ (px)"
    return (
        f", {_size(blur_map.shape)}, {blur_map.settings.get('method', 'method unknown')}",
        _map(blur_map, blur_map.sigma, "sigma", unit, "relative blur"),
        join(table(blur_figures(blur_map)), flag_legend(blur_map.flags), _settings(blur_map.settings)),
    )


def _depth(depth_map: DepthMap) -> tuple[str, Html, Html]:
    settings = {**depth_map.camera.as_dict(), **depth_map.settings}
    return (
        f", {_size(depth_map.shape)}",
        _map(depth_map, depth_map.depth_m, "depth", "distance (m)", "distance"),
        join(table(depth_figures(depth_map)), flag_legend(depth_map.flags), _settings(settings)),
    )


def _stack(stack: StackMap) -> tuple[str, Html, Html]:
    name, unit, values, _ = stack.best
    return (
        f", {_size(stack.shape)}, {len(stack.places)} frames",
        _map(stack, values, KINDS.get(unit, "level"), f"{name} ({unit})", name),
        join(table(stack_figures(stack)), flag_legend(stack.flags), _settings(stack.settings)),
    )


def _map(result: MapResult, values: AnyArray, kind: Kind, unit: str, name: str) -> Html:
    scale = scale_for(values, kind)
    opacity = opacity_of(values, drawn_stderr(result), result.flags, scale)
    picture = image(map_png(values, scale, THUMBNAIL_PX, THUMBNAIL_BYTES, opacity), name)
    return join(picture, histogram(values, scale, name), colour_bar(scale, unit))


def _score(score: PairScore) -> tuple[str, Html, Html]:
    names, cells = score_columns("first", "second"), score_cells(score)
    explained = "-" if math.isnan(score.explained) else f"{score.explained:.3f}"
    return "", NOTHING, table([*zip(names, cells, strict=True), ("explained, unseen channels", explained)])


def _alignment(found: Alignment) -> tuple[str, Html, Html]:
    one, two = (_grey_photo(each) for each in (found.first, found.second))
    overlay = np.stack([one, two, two], axis=2)  # edges that do not coincide are red or cyan
    rows = [
        ("what was done", found.motion.describe(found.valid.shape)),
        ("largest displacement", f"{found.motion.largest_px:.3f} px"),
        ("correlation", f"{found.motion.correlation:.5f}"),
        ("usable in both", percent(float(found.valid.mean()))),
        *(("transform", ", ".join(f"{value:.6g}" for value in row)) for row in found.motion.transform),
    ]
    legend = element("div", "first in red, second in cyan", class_="unit")
    picture = image(photo_jpeg(overlay, THUMBNAIL_PX), "both images")
    return f", {_size(found.valid.shape)}", join(picture, legend), table(rows)


def _grey_photo(picture: AnyArray) -> AnyArray:
    shown = photo(picture)
    return shown.mean(axis=2) if shown.ndim == 3 else shown


def _camera(camera: Camera) -> tuple[str, Html, Html]:
    one, two = camera.circle_constants_px_m
    kinds = {"focus": "two focus settings", "aperture": "two apertures", "mixed": "focus and aperture"}
    rows = [
        ("pair", kinds[camera.kind]),
        ("in focus", f"{camera.focus_first_m:g} m and {camera.focus_second_m:g} m"),
        ("measures", span(*working_range_m(camera))),
        ("circle of confusion", f"{one:.4g} px m |1/z - 1/focus|" + ("" if one == two else f", second {two:.4g}")),
        ("blur constant", f"{camera.blur_constant:.4g}"),
    ]
    return "", NOTHING, join(table(rows), _settings(camera.as_dict()))


def _settings(settings: Any) -> Html:
    return details("settings", table(settings_rows(settings))) if settings else NOTHING


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]} px"


_VIEWS: dict[type, Callable[[Any], tuple[str, Html, Html]]] = {
    BlurMap: _blur,
    DepthMap: _depth,
    StackMap: _stack,
    PairScore: _score,
    Alignment: _alignment,
    Camera: _camera,
}
