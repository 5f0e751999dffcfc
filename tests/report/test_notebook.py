"""Maps in a notebook."""

from __future__ import annotations

import base64
import io
import re

import numpy as np
import pytest

import relblur
from relblur import BlurMap, Camera, synth
from relblur.plot.colours import NO_ANSWER, rgb

CAMERA = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2)
PICTURE = r'src="data:image/webp;base64,([^"]+)"'


def _noise_map(shape=(480, 640), **settings):
    s = np.random.default_rng(0).normal(size=shape)
    s.flat[::17] = np.nan
    flags = np.random.default_rng(1).integers(0, 256, shape)
    return BlurMap(s, np.abs(s) + 0.01, flags, np.sign(np.nan_to_num(s)), settings)


def test_a_map_has_a_fallback_a_table_and_no_address_or_script(texture):
    first, second = synth.pair(texture, synth.ramp(texture.shape, -1, 1.5))
    blur = relblur.estimate_blur(first, second, method="window")
    for result in (blur, relblur.blur_to_depth(blur, CAMERA), _noise_map((1500, 2000))):
        html = result._repr_html_()
        assert len(html.encode()) < 60_000
        fallback = re.search(r'<pre class="rb-plain">(.*?)</pre>', html, re.S).group(1)
        assert fallback.startswith(type(result).__name__ + "(")
        assert '<div class="rb cell" style="display:none">' in html
        assert "<table" in html
        for rule in (".rb-plain { display: none; }", ".rb.cell { display: block !important;", 'data-theme="dark"'):
            assert rule in html
        without_pictures = re.sub(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]+", "", html)
        assert not re.search(r"https?:|//|<script|@import|url\(", without_pictures)


def test_a_smooth_map_has_a_thumbnail_of_320_pixels_in_its_colours():
    from PIL import Image

    s = np.tile(np.linspace(-4, 4, 800), (400, 1))
    s[:100] = np.nan
    html = BlurMap(s, 0 * s + 0.1, np.zeros(s.shape), np.sign(np.nan_to_num(s)))._repr_html_()
    data = base64.b64decode(re.search(PICTURE, html).group(1))
    picture = np.array(Image.open(io.BytesIO(data)).convert("RGB"), int)
    assert picture.shape == (160, 320, 3)
    assert tuple(picture[10, 100]) == rgb(NO_ANSWER)
    assert picture[100, 5, 2] > picture[100, 5, 0]  # first is blurrier: blue
    assert picture[100, 315, 0] > picture[100, 315, 2]
    assert picture[100, 160].min() > 225


def test_text_is_escaped_everywhere():
    bad = "<img src=x onerror=alert(1)>&\"'"
    html = _noise_map((20, 20), method=bad, noise=[bad] * 9, **{bad: 1})._repr_html_()
    assert bad not in html
    assert "&lt;img src=x onerror" in html
    assert html.count("<img") == 1


@pytest.mark.slow
def test_a_notebook_runs_and_keeps_the_html():
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    code = "import numpy as np, relblur\ns = np.ones((40, 50))\nrelblur.BlurMap(s, 0.1 * s, 0 * s, s)"
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(book, timeout=120, kernel_name="python3").execute()
    shown = book.cells[0].outputs[0]["data"]
    assert shown["text/plain"].startswith("BlurMap(40x50")
    assert "BlurMap, 50 x 40 px" in shown["text/html"]
