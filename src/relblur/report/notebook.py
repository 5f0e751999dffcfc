"""HTML view of a map in a notebook: a picture, a histogram, a table."""

from __future__ import annotations

from ..blur.blur_map import BlurMap
from ..blur.result import MapResult
from ..depth.depth_map import DepthMap
from ..plot.colours import MapView
from .embedded import flag_legend, map_webp, view_html
from .html import details, element, fragment, image, join, table
from .summary import key_figures, settings_rows

__all__ = ["to_html"]

#: Longest side of a picture (px) and its maximum size (bytes): the view of a result stays below 60 kB.
THUMBNAIL_PX, THUMBNAIL_BYTES = 320, 30_000


def to_html(result: MapResult) -> str:
    """Return a map as HTML for a notebook."""
    if getattr(result, "is_lazy", False):  # a view must not start a computation
        return element("pre", repr(result))
    result = result.compute() if isinstance(result, BlurMap) else result
    view = MapView.of(result)
    picture = map_webp(view.values, view.scale, THUMBNAIL_PX, THUMBNAIL_BYTES, view.opacity)
    settings = {**(result.camera.as_dict() if isinstance(result, DepthMap) else {}), **result.settings}
    title = f"{type(result).__name__}, {result.shape[1]} x {result.shape[0]} px"
    return fragment(
        repr(result),
        f"{title}, {settings['method']}" if "method" in settings else title,
        join(element("div", view.name), image(picture, view.name), view_html(view)),
        join(
            table(key_figures(result)),
            flag_legend(result.flags),
            details("settings", table(settings_rows(settings))),
        ),
    )
