"""Sheets of panels: maps whole and upright, keys beside them, and commands that never load matplotlib."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from relblur import Camera, save, synth
from relblur.plot.colours import ColourScale
from relblur.report.panels import Panel, panels_picture


@pytest.mark.parametrize("shape", [(60, 90), (1, 200), (200, 1), (7, 7)])
def test_a_panel_shows_its_map_whole_and_upright(tmp_path, shape):
    from PIL import Image

    values = np.zeros(shape)
    values[shape[0] // 2 :, shape[1] // 2 :] = 1.0
    path = tmp_path / "sheet.png"
    panels_picture(path, [Panel("map", values, "error", 1.0), Panel("photo", values)], heading="heading")
    sheet = np.asarray(Image.open(path))
    bright, dark = ColourScale(0, 1, "inferno").colours[[255, 0]].astype(int)
    assert 429 * 0.3 < sheet.shape[0] < 429 * 2.3
    rows, columns = np.nonzero((np.abs(sheet[:, :430].astype(int) - bright) < 8).all(axis=2))
    assert rows.size  # the lower right part, in the first panel's half of the sheet
    if min(shape) > 1:
        dark_rows, dark_columns = np.nonzero((np.abs(sheet[:, 14:430].astype(int) - dark) < 8).all(axis=2))
        assert rows.mean() > dark_rows.mean()
        assert columns.mean() > 14 + dark_columns.mean()


def test_pictures_of_commands_need_no_matplotlib(tmp_path, texture):
    """Importing it takes longer than drawing all of them."""
    first, second = synth.pair(texture, synth.ramp(texture.shape, -1, 1))
    for name, image in (("a", first), ("b", second), ("c", texture)):
        save(tmp_path / f"{name}.png", synth.degrade(image, bits=8))
    Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2).save(tmp_path / "cam.toml")
    code = (
        "import sys, os; os.chdir(sys.argv[1]); from relblur.apps.cli.app import app\n"
        "assert 'matplotlib' not in sys.modules\n"
        "for words in ('estimate a.png b.png -o blur -m window --report', 'depth a.png b.png -c cam.toml -o depth',\n"
        "              'stack a.png b.png c.png -o stack'):\n"
        "    app(words.split(), standalone_mode=False)\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True)
    assert "matplotlib" not in done.stdout.split()
    for name in ("blur/overview.png", "blur/report.html", "depth/overview.png", "stack/overview.png"):
        assert (tmp_path / name).exists()
