"""Figures: panels of photographs and maps, drawn with matplotlib and written whole."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._typing import AnyArray, FloatArray, UInt8Array
from .files import PathLike, replacing
from .results import BlurMap, Flag

__all__ = ["Panel", "colour_map_picture", "flag_colours", "lines_picture", "panels_picture", "photo"]

Kind = Literal["photo", "sigma", "stderr", "side", "flags", "error", "count", "grey", "depth", "points"]

DPI = 110

#: Inches: a picture's width, and the room beside it for a colour bar, above it for a title, around all.
PANEL_WIDTH = 3.9
BAR_ROOM = 0.74
TITLE_ROOM = 0.34
MARGIN = 0.12

#: Points of a 3-D view: more take long to draw and hide each other.
MOST_POINTS = 20_000

NO_ANSWER = "#9a9a9a"
FLAG_COLOURS = {
    "ok": "#f2f2f2",
    "invalid": "#7a0177",
    "clipped": "#e7298a",
    "flat": "#6baed6",
    "equal": "#bdbdbd",
    "no root": "#fd8d3c",
    "at limit": "#d7301f",
    "filled": "#74c476",
    "out of range": "#54278f",
}


@dataclass(frozen=True)
class Panel:
    """One picture of a figure: what is shown, under which title, in which manner.

    ``limit`` fixes the colour scale, so that panels can be compared.
    """

    title: str
    image: AnyArray
    kind: Kind = "photo"
    limit: float | None = None


def photo(image: AnyArray) -> FloatArray:
    """Scale an image of any type for display, 0..1."""
    shown = np.asarray(image, dtype=np.float64)
    if np.issubdtype(np.asarray(image).dtype, np.integer):
        return shown / np.iinfo(np.asarray(image).dtype).max
    finite = shown[np.isfinite(shown)]
    top = max(1.0, float(finite.max())) if finite.size else 1.0
    return np.nan_to_num(shown / top).clip(0, 1)


def panels_picture(
    path: PathLike, panels: Sequence[Panel], *, columns: int = 3, heading: str = "", panel_width: float = PANEL_WIDTH
) -> None:
    """Write a figure of several panels to a PNG file; ``panel_width`` is a picture's width in inches.

    Places are computed, not searched for: all pictures of a figure have one size, and
    matplotlib's own layout would draw everything twice.
    """
    height, width = panels[0].image.shape[:2]
    panel_height = min(max(panel_width * height / width, 0.3 * panel_width), 2.0 * panel_width)
    columns = min(columns, len(panels))
    rows = math.ceil(len(panels) / columns)
    top = 0.45 if heading else 0.1
    cell_width, cell_height = panel_width + BAR_ROOM, panel_height + TITLE_ROOM
    figure = _figure(columns * cell_width + MARGIN, rows * cell_height + top + MARGIN)
    total_width, total_height = figure.get_size_inches()
    for index, panel in enumerate(panels):
        row, column = divmod(index, columns)
        left = MARGIN + column * cell_width
        bottom = total_height - top - (row + 1) * cell_height
        place = (left / total_width, bottom / total_height, panel_width / total_width, panel_height / total_height)
        if panel.kind == "points":
            _draw_points(figure.add_axes(place, projection="3d"), panel)
        else:
            _draw(figure, figure.add_axes(place), panel)
    if heading:
        figure.suptitle(heading, fontsize=12, y=1 - 0.12 / total_height, va="top")
    _write(path, figure)


def colour_map_picture(path: PathLike, blur_map: BlurMap) -> None:
    """Write sigma in colours with a colour bar, at about the map's resolution."""
    panel_width = min(max(blur_map.shape[1] / DPI, 4.0), 12.0)
    panels_picture(path, [Panel("relative blur (px)", blur_map.sigma, "sigma")], panel_width=panel_width)


def lines_picture(
    path: PathLike,
    series: Sequence[tuple[str, FloatArray, FloatArray, str]],
    *,
    x_label: str,
    y_label: str,
    title: str = "",
) -> None:
    """Write a line plot of (label, x, y, style) series."""
    figure = _figure(6.4, 4.0)
    axis = figure.add_axes((0.11, 0.13, 0.86, 0.78))
    for label, x, y, style in series:
        axis.plot(x, y, style, label=label, linewidth=1.4)
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    axis.set_title(title, fontsize=11)
    axis.grid(alpha=0.3)
    low, high = axis.get_ylim()
    axis.set_ylim(low, high + 0.1 * len(series) * (high - low))  # room for the legend above the curves
    axis.legend(frameon=False, loc="upper left")
    _write(path, figure)


def _figure(width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=DPI)


def _write(path: PathLike, figure: Any) -> None:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", pil_kwargs={"compress_level": 4})
    with replacing(path) as target:
        target.write(stream.getvalue())


def _draw(figure: Any, axis: Any, panel: Panel) -> None:
    axis.set_title(panel.title, fontsize=10)
    axis.set_xticks([])
    axis.set_yticks([])
    if panel.kind == "photo":
        axis.imshow(photo(panel.image), cmap="gray", vmin=0, vmax=1)
        return
    if panel.kind == "flags":
        _draw_flags(axis, panel.image)
        return
    low, high, name = _scale(panel)
    from matplotlib import colormaps

    colours = colormaps[name].with_extremes(bad=NO_ANSWER)
    shown = axis.imshow(np.ma.masked_invalid(panel.image), cmap=colours, vmin=low, vmax=high, interpolation="nearest")
    bar = figure.colorbar(shown, cax=axis.inset_axes((1.02, 0.0, 0.035, 1.0)))  # as high as the picture
    if panel.kind == "side":
        bar.set_ticks([-1, 0, 1], labels=["second", "neither", "first"])
    bar.ax.tick_params(labelsize=8)


def _draw_points(axis: Any, panel: Panel) -> None:
    """Draw an (H, W, 6) array of positions x, y, z and colours as a cloud seen from above right of the camera."""
    axis.set_title(panel.title, fontsize=10, y=0.97)
    height, width = panel.image.shape[:2]
    every = max(1, math.ceil(math.sqrt(height * width / MOST_POINTS)))
    rows = panel.image[::every, ::every].reshape(-1, 6)
    rows = rows[np.isfinite(rows).all(axis=1)]
    if not len(rows):
        return
    low, high = np.percentile(rows[:, 2], (1, 99))
    rows = rows[(rows[:, 2] >= low) & (rows[:, 2] <= high)]
    x, y, z = rows[:, 0], rows[:, 1], rows[:, 2]
    axis.scatter(x, z, -y, c=rows[:, 3:].clip(0, 1), s=2.2, marker=".", linewidths=0, depthshade=False)
    spans = [max(float(np.ptp(a)), 1e-9) for a in (x, z, y)]
    widest = max(spans)
    # A shallow scene is stretched, up to three times, so that its relief can be seen.
    axis.set_box_aspect([max(span / widest, 0.34) for span in spans], zoom=1.08)
    axis.view_init(elev=24, azim=-62)
    axis.set_ylabel("z (m)", fontsize=7, labelpad=-6)
    axis.tick_params(labelsize=6, pad=-3)
    axis.set_xticks([])
    axis.set_zticks([])
    axis.yaxis.get_major_locator().set_params(nbins=4)


def _scale(panel: Panel) -> tuple[float, float, str]:
    known = panel.image[np.isfinite(panel.image)]
    # The last percent belongs to outliers; they should not flatten the rest.
    top = panel.limit or (float(np.percentile(np.abs(known), 99)) if known.size else 1.0) or 1e-6
    if panel.kind == "side":
        return -1.0, 1.0, "PiYG"
    if panel.kind == "depth":
        low, high = np.percentile(known, (1, 99)) if known.size else (0.0, 1.0)
        return float(low), max(float(high), float(low) + 1e-6), "viridis_r"
    if panel.kind == "sigma":
        signed = bool(known.size) and float(np.percentile(known, 1)) < -0.02 * top < 0
        return (-top, top, "RdBu_r") if signed else (0.0, top, "viridis")
    if panel.kind == "grey":
        return 0.0, top, "gray"
    return 0.0, top, {"stderr": "magma", "error": "inferno", "count": "cividis"}[panel.kind]


def flag_colours(flags: AnyArray) -> UInt8Array:
    """Return flags as an (H, W, 3) picture, one colour a flag; the later of two flags shows."""
    picture = np.empty((*flags.shape, 3), dtype=np.uint8)
    picture[:] = _rgb(FLAG_COLOURS["ok"])
    for flag in Flag:
        picture[(flags & np.uint8(flag)) != 0] = _rgb(FLAG_COLOURS[_flag_name(flag)])
    return picture


def _draw_flags(axis: Any, flags: AnyArray) -> None:
    from matplotlib.patches import Patch

    axis.imshow(flag_colours(flags), interpolation="nearest")
    shares = [("no flag", "ok", float((flags == 0).mean()))]
    shares += [(_flag_name(f), _flag_name(f), float(((flags & np.uint8(f)) != 0).mean())) for f in Flag]
    handles = [
        Patch(facecolor=FLAG_COLOURS[key], edgecolor="0.4", label=f"{name} {share:.1%}")
        for name, key, share in shares
        if share > 0
    ]
    axis.legend(handles=handles, fontsize=7, loc="lower right", framealpha=0.9)


def _flag_name(flag: Flag) -> str:
    return str(flag.name).lower().replace("_", " ")


def _rgb(colour: str) -> tuple[int, int, int]:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return red, green, blue
