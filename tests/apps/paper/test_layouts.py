"""The paper's diagrams are drawn as they were when somebody last looked at them.

`layouts.txt` says in words where each block, picture, curve, text and arrow lies. After a change that is meant:

    python tests/apps/paper/test_layouts.py FOLDER     # writes the file anew, and the figures to be looked at
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from relblur.apps.paper import flow, lens, matrices
from relblur.plot.figures import as_png

KEPT = Path(__file__).with_name("layouts.txt")


def _fig3():
    sigmas = np.linspace(0.1, 5.0, 50)
    framework = SimpleNamespace(
        sigmas=sigmas, n_radii=100, radii=np.linspace(0, 5, 100), F=np.linspace(1, 0, 100), W=np.ones((5000, 9)) / 9
    )
    patch = np.linspace(0, 1, 9).reshape(3, 3)
    return matrices._figure(framework, patch, 0.5 + 0.1 * np.sin(2 * sigmas), 0.55)


def _fig4():
    sharp = np.linspace(0, 1, 144).reshape(12, 12)
    ramp = SimpleNamespace(sharp=sharp, blurred=0.9 * sharp)
    return flow._evaluation_figure(ramp, SimpleNamespace(sigma=np.full((12, 12), 1.5)), 0.8 * sharp)


def _fig5():
    first = np.linspace(0.1, 0.9, 12 * 16).reshape(12, 16)
    pair = SimpleNamespace(first=first, second=first[::-1], shape=(12, 16), channel_axis=None)
    sharper = np.zeros((12, 16), int)
    sharper[:, :6], sharper[:, 10:] = 1, -1
    score = SimpleNamespace(e_first=0.01, e_second=0.02, unblurred_e_first=0.03, unblurred_e_second=0.04)
    return flow._architecture_figure(pair, SimpleNamespace(sharper=sharper), score, 0.5 * first)


FIGURES = {"fig2": lens._figure, "fig3": _fig3, "fig4": _fig4, "fig5": _fig5}


def _numbers(*values):
    """Numbers to a hundredth, without a sign of zero."""
    return " ".join(f"{float(value) + 0.0:.2f}".replace("-0.00", "0.00") for value in values)


def _layout(figure):
    """A line for everything that is drawn: inches for axes, the axes' own units within."""
    width, height = figure.get_size_inches()
    yield f"size {_numbers(width, height)} dpi {figure.dpi:g}"
    for axis in figure.axes:
        box = axis.get_position()
        place = (box.x0 * width, box.y0 * height, box.width * width, box.height * height)
        limits = f"x {_numbers(*axis.get_xlim())} y {_numbers(*axis.get_ylim())}"
        yield f"axes {_numbers(*place)} {limits} {axis.get_xlabel()}"
        for image in axis.images:
            shown = np.asarray(image.get_array())
            yield f"  image {shown.shape} {_numbers(shown.min(), shown.mean(), shown.max(), *image.get_clim())}"
            yield f"    {image.get_cmap().name} {axis.get_aspect()}"
        for line in axis.lines:
            points = np.asarray(line.get_xydata(), float)
            some = points if len(points) < 5 else points[[0, len(points) // 3, -1]]
            look = f"{line.get_color()} {line.get_linewidth():.2f} {line.get_marker()} {line.get_markersize():.2f}"
            yield f"  line {_numbers(*some.ravel())} {look}"
        for patch in axis.patches:
            inside = patch.get_path().get_extents(patch.get_patch_transform())
            yield f"  shape {_numbers(*inside.extents)} {patch.get_linewidth():.2f}"
        for text in axis.texts:
            yield from _text(text)


def _text(text):
    said = " ".join(text.get_text().split())
    if getattr(text, "arrow_patch", None) is not None:
        yield f"  arrow {_numbers(*text.xyann)} to {_numbers(*text.xy)} {text.arrow_patch.get_linewidth():.2f}"
    elif hasattr(text, "xyann"):
        yield f"  note {_numbers(*text.xy)} beside {_numbers(*text.xyann)} {text.get_fontsize():.2f} {said}"
    else:
        yield f"  text {_numbers(*text.get_position())} {text.get_fontsize():.2f} {text.get_ha()} {said}"


def _layouts():
    return {name: [name, *_layout(figure())] for name, figure in FIGURES.items()}


def _kept():
    blocks = KEPT.read_text().strip().split("\n\n")
    return {block.split("\n", 1)[0]: block.split("\n") for block in blocks}


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_as_it_was_looked_at(name):
    assert [name, *(line.rstrip() for line in _layout(FIGURES[name]()))] == _kept()[name]


if __name__ == "__main__":
    KEPT.write_text("\n\n".join("\n".join(line.rstrip() for line in lines) for lines in _layouts().values()) + "\n")
    for name, figure in FIGURES.items():
        (Path(sys.argv[1]) / f"{name}.png").write_bytes(as_png(figure()))
