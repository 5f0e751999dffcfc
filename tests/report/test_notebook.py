"""Results in a notebook."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace

import numpy as np
import pytest

import relblur
from relblur import BlurMap, Camera, DepthMap, synth

CAMERA = Camera(coc_constant_px_m=22, focus_first_m=1, focus_second_m=2)


def _noise_map(shape=(480, 640), **settings):
    s = np.random.default_rng(0).normal(size=shape)
    s.flat[::17] = np.nan
    flags = np.random.default_rng(1).integers(0, 256, shape)
    return BlurMap(s, np.abs(s) + 0.01, flags, np.sign(np.nan_to_num(s)), settings)


def _results(texture):
    first, second = synth.pair(texture, synth.ramp(texture.shape, -1, 1.5))
    blur = relblur.estimate_blur(first, second, method="window")
    score = relblur.evaluate_pair(first, second, blur)
    return [blur, relblur.blur_to_depth(blur, CAMERA), score, relblur.align(first, second), CAMERA]


def test_every_result_has_a_fallback_a_table_and_no_address_or_script(texture):
    for result in _results(texture):
        html = result._repr_html_()
        assert len(html.encode()) < 60_000
        fallback = re.search(r'<pre class="rb-plain">(.*?)</pre>', html, re.S).group(1)
        assert fallback.startswith(type(result).__name__ + "(")
        assert '<div class="rb cell" style="display:none">' in html
        assert "<table" in html
        assert ".rb-plain { display: none; }" in html
        assert ".rb.cell { display: block !important;" in html
        assert "--jp-content-font-color0" in html
        assert 'data-theme="dark"' in html
        without_pictures = re.sub(r"data:image/[a-z]+;base64,[A-Za-z0-9+/=]+", "", html)
        assert not re.search(r"https?:|//|<script|@import|url\(", without_pictures)


def test_noise_of_any_size_stays_small_and_its_picture_is_a_picture():
    from PIL import Image

    html = _noise_map((1500, 2000))._repr_html_()
    assert len(html.encode()) < 60_000
    data = re.search(r'src="data:image/png;base64,([^"]+)"', html).group(1)
    picture = Image.open(io.BytesIO(base64.b64decode(data)))
    assert 150 < picture.width <= 320
    assert picture.width / picture.height == pytest.approx(4 / 3, abs=0.02)


def test_a_smooth_map_has_a_thumbnail_of_320_pixels_in_its_colours():
    from PIL import Image

    from relblur.plot.colours import NO_ANSWER, rgb

    s = np.tile(np.linspace(-4, 4, 800), (400, 1))
    s[:100] = np.nan
    html = BlurMap(s, 0 * s + 0.1, np.zeros(s.shape), np.sign(np.nan_to_num(s)))._repr_html_()
    data = re.search(r'src="data:image/png;base64,([^"]+)"', html).group(1)
    picture = np.array(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"), int)
    assert picture.shape == (160, 320, 3)
    assert tuple(picture[10, 100]) == rgb(NO_ANSWER)
    assert picture[100, 5, 2] > picture[100, 5, 0]  # first is blurrier: blue
    assert picture[100, 315, 0] > picture[100, 315, 2]
    assert picture[100, 160].min() > 225


def test_text_is_escaped_everywhere():
    bad = "<img src=x onerror=alert(1)>&\"'"
    html = _noise_map((20, 20), method=bad, noise=[bad] * 9, **{bad: 1})._repr_html_()
    assert bad not in html
    assert "onerror=alert" in html
    assert "&lt;img src=x onerror" in html
    assert html.count("<img") == 1


@pytest.mark.parametrize("shape", [(1, 1), (2, 4000), (4000, 2)])
def test_any_shape_and_no_answer_at_all(shape):
    s = np.full(shape, np.nan)
    nothing = BlurMap(s, s, np.full(shape, 4), 0 * np.nan_to_num(s))
    html = nothing._repr_html_()
    assert "flat 100.0 %" in html
    assert "<td>0.0 %</td>" in html
    depth = DepthMap(s, s, np.zeros(shape), replace(CAMERA, focus_second_m=np.inf))
    assert "answered" in depth._repr_html_()


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
