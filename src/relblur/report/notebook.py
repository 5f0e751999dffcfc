"""HTML views of results in a notebook: a picture, a histogram, a table."""

from __future__ import annotations

import math
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
from ..plot.colours import MapView, photo
from .embedded import flag_legend, map_png, photo_jpeg, view_html
from .html import NOTHING, Html, details, element, fragment, image, join, table
from .summary import key_figures, percent, score_cells, score_columns, settings_rows

__all__ = ["to_html"]

#: Longest side of a picture (px) and its maximum size (bytes): the view of a result stays below 60 kB.
THUMBNAIL_PX, THUMBNAIL_BYTES = 320, 30_000
#: Maximum length of the plain text (characters).
LONGEST_TEXT = 2000


def to_html(result: Any) -> str:
    """Return a result as HTML for a notebook."""
    if getattr(result, "is_lazy", False):  # a view must not start a computation
        return element("pre", repr(result))
    if isinstance(result, MapResult):
        title, left, right = _map(result)
    elif isinstance(result, PairScore):
        title, left, right = _score(result)
    elif isinstance(result, Alignment):
        title, left, right = _alignment(result)
    else:
        title, left, right = _camera(result)
    plain = repr(result)
    plain = plain if len(plain) < LONGEST_TEXT else f"{plain[:LONGEST_TEXT]} ..."
    return fragment(plain, f"{type(result).__name__}{title}", left, right)


def _map(result: MapResult) -> tuple[str, Html, Html]:
    result = result.compute() if isinstance(result, BlurMap) else result
    settings = {**(result.camera.as_dict() if isinstance(result, DepthMap) else {}), **result.settings}
    method = f", {settings['method']}" if "method" in settings else ""
    view = MapView.of(result)
    picture = map_png(view.values, view.scale, THUMBNAIL_PX, THUMBNAIL_BYTES, view.opacity)
    return (
        f", {_size(result.shape)}{method}",
        join(element("div", view.name), image(picture, view.name), view_html(view)),
        join(table(key_figures(result)), flag_legend(result.flags), _settings(settings)),
    )


def _score(score: PairScore) -> tuple[str, Html, Html]:
    names, cells = score_columns("first", "second"), score_cells(score)
    explained = "-" if math.isnan(score.explained) else f"{score.explained:.3f}"
    return "", NOTHING, table([*zip(names, cells, strict=True), ("explained, held-out channels", explained)])


def _alignment(found: Alignment) -> tuple[str, Html, Html]:
    one, two = (_grey_photo(each) for each in (found.first, found.second))
    overlay = np.stack([one, two, two], axis=2)  # edges that do not coincide are red or cyan
    rows = [
        ("motion", found.motion.describe(found.valid.shape)),
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
        ("working range", span(*working_range_m(camera))),
        ("circle of confusion", f"{one:.4g} px m |1/z - 1/focus|" + ("" if one == two else f", second {two:.4g}")),
        ("blur constant", f"{camera.blur_constant:.4g}"),
    ]
    return "", NOTHING, join(table(rows), _settings(camera.as_dict()))


def _settings(settings: Any) -> Html:
    return details("settings", table(settings_rows(settings))) if settings else NOTHING


def _size(shape: tuple[int, ...]) -> str:
    return f"{shape[1]} x {shape[0]} px"
