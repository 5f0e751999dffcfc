"""The figures that a person wants to see first, in words: the same in a notebook and on a page."""

from __future__ import annotations

from ..blur.blur_map import BlurMap
from ..depth.depth_map import DepthMap
from .blur_report import summarise
from .depth_report import summarise_depth

__all__ = ["blur_figures", "depth_figures", "percent"]


def blur_figures(blur_map: BlurMap) -> list[tuple[str, str]]:
    """Return (name, value) of what matters most of a blur map."""
    found = summarise(blur_map)
    figures = [
        ("pixels answered", percent(found["answered_fraction"])),
        ("first sharper", percent(found["first_sharper_fraction"])),
        ("second sharper", percent(found["second_sharper_fraction"])),
    ]
    spread = found["sigma_px_percentiles"]
    if spread is not None:
        figures.append(("blur, 5 / 50 / 95 %", " / ".join(f"{spread[p]:+.2f}" for p in ("5", "50", "95")) + " px"))
        figures.append(("median standard error", f"{found['median_stderr_px']:.3g} px"))
    return figures


def depth_figures(depth_map: DepthMap) -> list[tuple[str, str]]:
    """Return (name, value) of what matters most of a depth map."""
    found = summarise_depth(depth_map)
    figures = [
        ("pixels answered", percent(found["answered_fraction"])),
        ("without any flag", percent(found["unflagged_fraction"])),
    ]
    spread = found["depth_m_percentiles"]
    if spread is not None:
        figures.append(("distance, 5 / 50 / 95 %", " / ".join(f"{spread[p]:.3f}" for p in ("5", "50", "95")) + " m"))
        figures.append(("median standard error", f"{1000 * found['median_stderr_m']:.3g} mm"))
    return figures


def percent(share: float) -> str:
    """Return a share of pixels as text."""
    return f"{100 * share:.1f} %"
