"""Pages: one file without other files, with the numbers of every pixel, written like every result."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import zlib
from html.parser import HTMLParser

import numpy as np
import pytest

import relblur
from command import failed, run
from relblur import BlurMap, Camera, DepthMap, Flag, save, synth
from relblur.depth.defocus import defocused_pair
from relblur.report.page import PAGE_FILE, Entry, make_page, write_page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)> & \"'"
CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2, blur_constant=0.27)


class _Elements(HTMLParser):
    """Every element of a page with its attributes."""

    def __init__(self, page):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))


def _blur_map(shape=(60, 80), **settings):
    s = np.random.default_rng(0).normal(scale=2, size=shape)
    s[3, 4] = np.nan
    flags = np.zeros(shape, np.uint8)
    flags[3, 4] = Flag.FLAT | Flag.FILLED
    return BlurMap(s, np.full(shape, 0.1), flags, np.sign(np.nan_to_num(s)), {"method": "window", **settings})


def _depth_map(depth):
    return DepthMap(depth, 0.01 * depth, np.zeros(depth.shape), CAMERA)


def _unpacked(page, key="r0"):
    """Decode the numbers in a page as its script does."""
    text = re.search(rf'<script type="application/json" data-for="{key}">(.*?)</script>', page, re.S).group(1)
    about = json.loads(text)
    raw = np.frombuffer(zlib.decompress(base64.b64decode(about["data"])), np.uint8)
    shape = [-(-about[name] // about["every"]) for name in ("height", "width")]
    planes = raw.reshape(9, -1)
    values, stderr = (np.ascontiguousarray(part.T).view("<f4").reshape(shape) for part in (planes[:4], planes[4:8]))
    return about, values, stderr, planes[8].reshape(shape)


def _check_alone(page):
    """No address but those inside the page."""
    for tag, attributes in _Elements(page).found:
        for name in ("src", "href", "action", "data", "poster", "srcset"):
            assert attributes.get(name, "#").startswith(("data:image/", "#")), (tag, name)
        assert not {"onerror", "onclick", "onload"} & set(attributes)
        assert tag not in ("link", "iframe", "object", "embed", "base", "form")
    without_pictures = re.sub(r"base64,[A-Za-z0-9+/=]+", "", page)
    assert not re.search(r"https?:|wss?:|//[a-z]+\.|@import|url\(", without_pictures)
    assert "default-src 'none'" in page
    assert not re.search(r"\b(fetch|XMLHttpRequest|WebSocket|import\()\s*\(", page)


def test_the_numbers_in_a_page_are_those_of_the_map():
    blur = _blur_map()
    page = make_page([Entry("x", blur)])
    about, values, stderr, flags = _unpacked(page)
    assert about["every"] == 1
    np.testing.assert_allclose(values, blur.sigma, rtol=3e-4)
    np.testing.assert_allclose(stderr, blur.sigma_stderr, rtol=0.03)
    np.testing.assert_array_equal(flags, blur.flags)
    assert [about["flags"][bit] for bit in range(8) if blur.flags[3, 4] & (1 << bit)] == ["flat", "filled"]
    far = np.geomspace(1e-9, 1e9, 12).reshape(3, 4)
    np.testing.assert_allclose(_unpacked(make_page([Entry("x", _depth_map(far))]))[1], far, rtol=3e-4)


def test_numbers_that_do_not_fit_are_thinned_out(monkeypatch):
    blur = _blur_map((400, 500))
    monkeypatch.setattr("relblur.report.page.VALUE_BYTES", 40_000)
    about, values, *_ = _unpacked(make_page([Entry("x", blur)]))
    assert len(about["data"]) <= 40_000
    assert about["every"] > 1
    np.testing.assert_allclose(values, blur.sigma[:: about["every"], :: about["every"]], rtol=3e-4)


@pytest.mark.parametrize("shape", [(2, 2000), (2000, 2), (1, 1)])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_any_shape_has_a_page(shape, value):
    s = np.full(shape, value)
    page = make_page([Entry("x", BlurMap(s, s, 0 * np.ones(shape), np.ones(shape)))])
    np.testing.assert_allclose(_unpacked(page)[1], s, rtol=3e-4)
    widths = [float(width) for width in re.findall(r"max-width:max\(1.5rem,([0-9.]+)rem\)", page)]
    assert all(width * shape[0] / shape[1] <= 40.1 for width in widths)


def test_text_cannot_become_part_of_the_page(tmp_path):
    def entry(text):
        return Entry(text, _blur_map(**{text: text}), (), {"notes": [text]}, (text,), [(text, text)])

    plain, hostile = (_Elements(make_page([entry(text)])).found for text in ("a", HOSTILE))
    assert [tag for tag, _ in hostile] == [tag for tag, _ in plain]
    _check_alone(make_page([entry(HOSTILE)]))
    _check_alone(make_page([entry(HOSTILE)] * 2, HOSTILE, failures=[(HOSTILE, HOSTILE)]))
    write_page(tmp_path / "page.html", [entry("no text: \udcff")])
    assert "no text: \\udcff" in (tmp_path / "page.html").read_text()


def test_several_results_have_a_table_with_links_to_each():
    entries = [Entry("one", _blur_map()), Entry("two", _depth_map(np.full((30, 40), 1.5)))]
    page = make_page(entries, failures=[("three", "no picture")])
    _check_alone(page)
    for number, name in enumerate(("one", "two")):
        assert f'href="#r{number}">{name}</a>' in page
        assert f'<section id="r{number}">' not in page.partition(f'href="#r{number}"')[0]
        assert _unpacked(page, f"r{number}")
    assert "no picture" in page
    assert "coc constant px m" in page
    assert "median standard error" in page


def test_warnings_name_the_remedy():
    blur = _blur_map()
    clean = make_page([Entry("x", BlurMap(np.ones((9, 9)), np.ones((9, 9)), np.zeros((9, 9)), np.ones((9, 9))))])
    assert '<div class="warn">' not in clean
    flags = np.full(blur.shape, Flag.AT_LIMIT | Flag.CLIPPED)
    page = make_page([Entry("x", BlurMap(np.full(blur.shape, np.nan), blur.sigma_stderr, flags, 0 * flags))])
    for remedy in ("have no value", "--max-sigma", "reduce the exposure"):
        assert remedy in page
    assert "<li>the motion is large.</li>" in make_page([Entry("x", _blur_map(model_warnings=["the motion is large"]))])


@pytest.fixture(scope="module")
def scene(tmp_path_factory, texture):
    folder = tmp_path_factory.mktemp("report")
    depth = 1 / synth.ramp(texture.shape, 1 / 0.8, 1 / 3, axis=1)
    for name, image in zip(("near", "far"), defocused_pair(texture, depth, CAMERA, psf="gaussian"), strict=True):
        save(folder / f"{name}.png", synth.degrade(image, bits=16))
    CAMERA.save(folder / "cam.toml")
    return folder


@pytest.fixture(scope="module")
def estimated(scene):
    """A folder with a page, made once, and the run that made it."""
    out = scene / "estimated"
    done = run("estimate", scene / "near.png", scene / "far.png", "-o", out, "-m", "window", "--report")
    assert done.exit_code == 0, done.output
    return out, done


def test_estimate_writes_a_page_and_replaces_none_without_force(scene, estimated, tmp_path):
    out, done = estimated
    page = (out / PAGE_FILE).read_text()
    _check_alone(page)
    assert page.count("<figure>") == 5
    for text in ("near.png and far.png", "alignment: ", "re-made image, error (unblurred)", "page made"):
        assert text in page
    assert re.search(r"SHA-256 [0-9a-f]{64}", page)
    assert f"look at {out / PAGE_FILE}" in done.stderr
    np.testing.assert_allclose(_unpacked(page)[1], relblur.load(out / "blur_map.npz").sigma, rtol=3e-4)
    (tmp_path / PAGE_FILE).write_text("mine")
    line = failed(run("estimate", scene / "near.png", scene / "far.png", "-o", tmp_path, "--report"), 2)
    assert "would be replaced" in line
    assert [path.name for path in tmp_path.iterdir()] == [PAGE_FILE]


def test_report_reads_folders_and_files_back(estimated, tmp_path):
    copy = shutil.copytree(estimated[0], tmp_path / "copy")
    (copy / PAGE_FILE).unlink()
    done = run("tools", "report", copy)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(copy / PAGE_FILE)
    page = (copy / PAGE_FILE).read_text()
    _check_alone(page)
    assert "alignment: " in page
    assert "would be replaced" in failed(run("tools", "report", copy), 2)
    assert run("tools", "report", copy, "--force").exit_code == 0
    both = run("tools", "report", copy, copy / "blur_map.npz", "-o", tmp_path / "both.html")
    assert both.exit_code == 0, both.output
    assert len(set(re.findall(r'data-for="(r\d)"', (tmp_path / "both.html").read_text()))) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{empty}"], 3, "contains no result of relblur"),
        (["{empty}/missing"], 3, "there is no file"),
        (["{scene}/near.png"], 3, "is an image, not a result"),
        (["{empty}", "{scene}"], 2, "several results needs a name"),
        (["{out}/blur_map.npz", "-o", "{out}/blur_map.npz"], 2, "also read by this command"),
        (["{out}", "-o", "{empty}/no/such/folder.html"], 3, "there is no folder"),
    ],
)
def test_what_is_no_result_is_refused_in_one_line(scene, estimated, tmp_path, arguments, code, message):
    places = {"empty": tmp_path, "scene": scene, "out": estimated[0]}
    assert message in failed(run("tools", "report", *(text.format(**places) for text in arguments)), code)
    assert list(tmp_path.iterdir()) == []


def test_a_spoilt_summary_does_not_stop_a_page(estimated, tmp_path):
    copy = shutil.copytree(estimated[0], tmp_path / "copy")
    for text in ("[1, 2", '{"notes": 7, "remade_mean_absolute_error": "x", "topography": 3, "files": [4]}', "null"):
        (copy / "summary.json").write_text(text)
        assert run("tools", "report", copy, "--force").exit_code == 0
    (copy / "blur_map.npz").write_bytes(b"PK\x03\x04junk")
    assert "save it again" in failed(run("tools", "report", copy, "--force"), 3)


def test_many_pairs_get_one_page_that_names_the_failures(scene, tmp_path):
    for side, source in (("one", "near.png"), ("two", "far.png")):
        (tmp_path / side).mkdir()
        for name in "pq":
            shutil.copy(scene / source, tmp_path / side / f"{name}.png")
    (tmp_path / "two" / "q.png").write_text("no picture")
    command = ["estimate", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "out", "-m", "window", "--report"]
    assert run(*command).exit_code == 3
    page = (tmp_path / "out" / PAGE_FILE).read_text()
    _check_alone(page)
    for text in ("Without a result", "not an image relblur can read", 'href="#r0">p</a>'):
        assert text in page
    (tmp_path / "out" / "damaged").mkdir()
    (tmp_path / "out" / "damaged" / "depth.npz").write_text("no map")
    assert run("tools", "report", tmp_path / "out", "-o", tmp_path / "again.html").exit_code == 0
    assert "damaged" in (tmp_path / "again.html").read_text()
    assert run(*command).exit_code == 3  # the page of the first run may be replaced


def _chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(_chromium() is None, reason="no Chromium on this machine to look at the page with")
def test_a_browser_shows_the_number_of_the_pixel_pointed_at(tmp_path):
    blur = _blur_map((60, 80))
    page = make_page([Entry("x", blur)])
    # A finger on row 20, column 50 once the page has unpacked its numbers; the policy allows no script from outside.
    pointing = """<script>
    const wait = setInterval(() => {
      if (!document.querySelector("[data-ready]")) return;
      clearInterval(wait);
      const pane = document.querySelectorAll(".pane")[1], box = pane.getBoundingClientRect();
      pane.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * 50.5 / 80,
        clientY: box.top + box.height * 20.5 / 60}));
      const seen = document.querySelector(".readout").textContent;
      pane.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
      document.body.innerHTML = "<pre>" + seen + "|" + document.querySelector(".readout").textContent + "</pre>";
    }, 20);</script>"""
    (tmp_path / "page.html").write_text(page.replace("</body>", f"{pointing}</body>"))
    command = [_chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "page.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    seen, beside = re.search(r"<pre>(.*?)</pre>", done.stdout, re.S).group(1).split("|")
    for text, column in ((seen, 50), (beside, 51)):
        value = blur.sigma[20, column]
        side = "second" if value > 0 else "first"
        form = rf"relative blur = ([+−][0-9.]+) px \({side} is blurrier\) ± ([0-9.]+) px, no flag"
        found = re.fullmatch(f"row 20, column {column}: {form}", text)
        assert found, text
        assert float(found.group(1).replace("−", "-")) == pytest.approx(value, abs=2e-3)
        assert float(found.group(2)) == pytest.approx(blur.sigma_stderr[20, column], rel=0.06)
