"""What a notebook shows of a result: a picture, a histogram, a table.

A notebook that is not trusted runs no style sheet: then the plain text in ``<pre>`` is seen and the rest stays hidden.
Colours are the theme's, light or dark: Jupyter's and VS Code's variables, else those of the page around.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from ..base._typing import AnyArray
from ..blur.blur_map import BlurMap, PairScore
from ..depth.camera import Camera
from ..depth.depth_map import DepthMap
from ..depth.working_range import working_range_m
from ..photo.alignment import Alignment
from .colours import Kind, photo, scale_for
from .html import colour_bar, data_address, flag_legend, histogram, map_png, photo_jpeg, settings_rows, table
from .key_figures import blur_figures, depth_figures, percent

__all__ = ["to_html"]

#: Longest side of a picture, px, and the most bytes of its file: with all around it, a result stays below 60 kB.
THUMBNAIL_PX = 320
THUMBNAIL_BYTES = 30_000


def to_html(result: Any) -> str:
    """Return a result as HTML for a notebook."""
    if isinstance(result, BlurMap):
        return f"<pre>{escape(repr(result))}</pre>" if result.is_lazy else _framed(result, *_blur(result.compute()))
    if isinstance(result, DepthMap):
        return _framed(result, *_depth(result))
    if isinstance(result, PairScore):
        return _framed(result, "PairScore", "", _score(result))
    if isinstance(result, Alignment):
        return _framed(result, *_alignment(result))
    assert isinstance(result, Camera)
    return _framed(result, *_camera(result))


def _framed(result: Any, title: str, pictures: str, text: str) -> str:
    style = files(__package__).joinpath("notebook.css").read_text(encoding="utf-8")
    plain = repr(result)
    plain = plain if len(plain) < 2000 else f"{plain[:2000]} ..."
    left = f'<div class="rb-left">{pictures}</div>' if pictures else ""
    return (
        f'<div><style>{style}</style><pre class="rb-plain">{escape(plain)}</pre>'
        f'<div class="rb-wrap" style="display:none"><div class="rb-title">{escape(title)}</div>'
        f'<div class="rb-body">{left}<div class="rb-right">{text}</div></div></div></div>'
    )


def _map_pictures(values: AnyArray, kind: Kind, unit: str, name: str) -> str:
    scale = scale_for(values, kind)
    picture = data_address(map_png(values, scale, THUMBNAIL_PX, THUMBNAIL_BYTES))
    return (
        f'<img alt="{escape(name)}" src="{picture}">'
        + histogram(values, scale, f"how often each value of {name} occurs")
        + colour_bar(scale, unit)
    )


def _blur(blur_map: BlurMap) -> tuple[str, str, str]:
    height, width = blur_map.shape
    signed = scale_for(blur_map.sigma, "sigma").low < 0
    unit = "σ (px), positive: second is blurrier" if signed else "σ (px)"
    return (
        f"BlurMap, {width} x {height} px, {blur_map.settings.get('method', 'method unknown')}",
        _map_pictures(blur_map.sigma, "sigma", unit, "relative blur"),
        table(blur_figures(blur_map)) + flag_legend(blur_map.flags) + _settings(settings_rows(blur_map.settings)),
    )


def _depth(depth_map: DepthMap) -> tuple[str, str, str]:
    height, width = depth_map.shape
    return (
        f"DepthMap, {width} x {height} px",
        _map_pictures(depth_map.depth_m, "depth", "distance (m)", "distance"),
        table(depth_figures(depth_map))
        + flag_legend(depth_map.flags)
        + _settings([*settings_rows(depth_map.camera.as_dict()), *settings_rows(depth_map.settings)]),
    )


def _score(score: PairScore) -> str:
    def errors(name: str) -> tuple[str, str, str, str]:
        pairs = [
            (getattr(score, f"{kind}e_{name}"), getattr(score, f"{kind}unblurred_e_{name}"))
            for kind in ("", "held_out_")
        ]
        (grey, grey_base), (unseen, unseen_base) = pairs
        return f"{grey:.5f}", f"{grey_base:.5f}", f"{unseen:.5f}", f"{unseen_base:.5f}"

    columns = ("re-made", "error", "without blurring", "unseen channels", "without blurring")
    rows = [(name, *(_or_dash(cell) for cell in errors(name))) for name in ("first", "second")]
    shares = [
        ("first sharper", percent(score.first_sharper_fraction)),
        ("second sharper", percent(score.second_sharper_fraction)),
        ("equal", percent(score.equal_fraction)),
        ("scored", percent(score.scored_fraction)),
        ("explained, unseen channels", _or_dash(f"{score.explained:.3f}")),
    ]
    return table(rows, columns, "rb-grid") + table(shares)


def _or_dash(text: str) -> str:
    return "-" if text == "nan" else text


def _alignment(found: Alignment) -> tuple[str, str, str]:
    height, width = found.valid.shape
    one, two = (_grey_photo(image) for image in (found.first, found.second))
    overlay = np.stack([one, two, two], axis=2)  # what does not lie on its like is red or cyan
    picture = data_address(photo_jpeg(overlay, THUMBNAIL_PX))
    rows = [
        ("what was done", found.motion.describe((height, width))),
        ("largest displacement", f"{found.motion.largest_px:.3f} px"),
        ("correlation", f"{found.motion.correlation:.5f}"),
        ("usable in both", percent(float(found.valid.mean()))),
    ]
    matrix = [tuple(f"{value:.6g}" for value in row) for row in found.motion.transform]
    return (
        f"Alignment, {width} x {height} px",
        f'<img alt="both images" src="{picture}"><div class="rb-unit">first in red, second in cyan</div>',
        table(rows) + _settings([("transform", ", ".join(row)) for row in matrix]),
    )


def _grey_photo(image: AnyArray) -> AnyArray:
    shown = photo(image)
    return shown.mean(axis=2) if shown.ndim == 3 else shown


def _camera(camera: Camera) -> tuple[str, str, str]:
    near, far = working_range_m(camera)
    one, two = camera.circle_constants_px_m
    rows = [
        (
            "pair",
            {"focus": "two focus settings", "aperture": "two apertures", "mixed": "focus and aperture"}[camera.kind],
        ),
        ("in focus", f"{camera.focus_first_m:g} m and {camera.focus_second_m:g} m"),
        ("measures", f"{near:.3g} m to {'infinity' if np.isinf(far) else f'{far:.3g} m'}"),
        ("circle of confusion", f"{one:.4g} px m |1/z - 1/focus|" + ("" if one == two else f", second {two:.4g}")),
        ("blur constant", f"{camera.blur_constant:.4g}"),
    ]
    return (
        "Camera",
        _circles(camera, near, far),
        table(rows) + _settings(settings_rows(camera.as_dict())),
    )


def _circles(camera: Camera, near: float, far: float) -> str:
    """Return both circles of confusion over distance, as a small drawing."""
    finite = [z for z in (camera.focus_first_m, camera.focus_second_m, near) if np.isfinite(z)]
    far = min(far, 5 * max(finite))
    depth = 1 / np.linspace(1 / near, 1 / far, 60)
    circles = np.abs(camera.circle_px(depth))
    top = float(circles.max()) or 1.0
    x = 300 * (depth - depth.min()) / max(float(np.ptp(depth)), 1e-12)
    lines = "".join(
        f'<polyline class="rb-line{k}" points="{_points(x, 110 - 100 * circle / top)}"/>'
        for k, circle in enumerate(circles, start=1)
    )
    return (
        f'<svg class="rb-plot" viewBox="-4 0 308 116" role="img" aria-label="circles of confusion over distance">'
        f'<path d="M0 5V110H300"/>{lines}</svg>'
        f'<div class="rb-ends"><span>{depth.min():.3g} m</span><span>circle, up to {top:.3g} px</span>'
        f"<span>{depth.max():.3g} m</span></div>"
        '<div class="rb-unit"><b class="rb-line1">first</b>, <b class="rb-line2">second</b></div>'
    )


def _points(x: AnyArray, y: AnyArray) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _settings(rows: Sequence[tuple[str, str]]) -> str:
    return f"<details><summary>settings</summary>{table(rows)}</details>" if rows else ""
