"""Reports: one page without other files, with the numbers of every pixel, written like every result."""

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
from relblur import BlurMap, Camera, ComparablePair, DepthMap, Flag, PairScore, save, synth
from relblur.depth.defocus import defocused_pair
from relblur.report.embedded import Layer, ReadOut, colour_bar, map_png, pack
from relblur.report.page import PAGE_FILE, About, make_page, write_page
from relblur.report.result_pages import map_page, score_page
from relblur.report.saved import provenance

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


def _blur_map(shape=(60, 80), seed=0, **settings):
    s = np.random.default_rng(seed).normal(scale=2, size=shape)
    s[3, 4] = np.nan
    flags = np.zeros(shape, np.uint8)
    flags[3, 4] = Flag.FLAT | Flag.FILLED
    return BlurMap(s, np.full(shape, 0.1), flags, np.sign(np.nan_to_num(s)), {"method": "window", **settings})


def _unpacked(page, key="r0"):
    """Decode the numbers in a page as its script does."""
    text = re.search(rf'<script type="application/json" data-for="{key}">(.*?)</script>', page, re.S).group(1)
    about = json.loads(text)
    raw = np.frombuffer(zlib.decompress(base64.b64decode(about["data"])), np.uint8)
    rows, columns = (-(-about[name] // about["every"]) for name in ("height", "width"))
    planes = list(raw.reshape(-1, rows, columns).astype(int))
    layers = {}
    for layer in about["layers"]:
        codes = planes.pop(0) if layer["bytes"] == 1 else planes.pop(0) * 256 + planes.pop(0)
        if layer["coding"] == "flags":
            layers[layer["name"]] = codes
            continue
        values = layer["offset"] + layer["scale"] * codes
        layers[layer["name"]] = np.where(
            codes == 0, np.nan, np.exp(values) if layer["coding"] in ("log", "ratio") else values
        )
    assert not planes
    return about, layers


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


def test_a_page_holds_everything_and_asks_for_nothing(texture):
    first, second = synth.pair(texture, synth.ramp(texture.shape, -1, 2))
    blur = relblur.estimate_blur(first, second, method="window")
    pair = ComparablePair(first, second)
    about = About("a and b", ("aligned",), ("exposures differ",), provenance(command=["relblur", "x y"]))
    page = make_page([map_page(blur, about, pair=pair)])
    _check_alone(page)
    assert page.count("<figure>") == 7
    score = relblur.evaluate_pair(first, second, blur, held_out=False)
    for value in (score.e_first, score.unblurred_e_first, score.e_second, score.unblurred_e_second):
        assert f"<td>{value:.5f}</td>" in page
    for text in ("aligned", "exposures differ", "relblur &#x27;x y&#x27;", "prefilter", "numpy"):
        assert text.lower() in page.lower()


def test_the_numbers_in_a_page_are_those_of_the_map():
    blur = _blur_map()
    about, layers = _unpacked(make_page([map_page(blur, About("x"))]))
    assert about["every"] == 1
    np.testing.assert_allclose(layers["relative blur"], blur.sigma, atol=1e-3)
    np.testing.assert_allclose(layers["standard error"], blur.sigma_stderr, rtol=0.03)
    np.testing.assert_array_equal(layers["flags"], blur.flags)
    assert [about["flags"][bit] for bit in range(8) if blur.flags[3, 4] & (1 << bit)] == ["flat", "filled"]


@pytest.mark.parametrize(
    "values",
    [np.full((4, 5), 2.5), np.full((4, 5), np.nan), np.array([[0.0]]), np.array([[1e-30, 1e30]]), [[-5e-9, 0]]],
)
def test_any_values_can_be_packed(values):
    values = np.array(values)
    packed = pack(ReadOut([Layer("x", "px", values), Layer("e", "px", np.abs(values), "log")]), 10_000)
    _, layers = _unpacked(f'<script type="application/json" data-for="r0">{json.dumps(packed)}</script>')
    np.testing.assert_allclose(layers["x"], values, atol=1e-4 * np.nanmax(np.abs(np.nan_to_num(values))))
    assert (np.isnan(layers["e"]) == np.isnan(values)).all()


def test_numbers_that_do_not_fit_are_thinned_out_then_left_out(monkeypatch):
    layers = ReadOut([Layer("x", "", np.random.default_rng(0).normal(size=(200, 300)))])
    thinned = pack(layers, 40_000)
    assert thinned["every"] > 1
    assert len(thinned["data"]) <= 40_000
    _, found = _unpacked(f'<script type="application/json" data-for="r0">{json.dumps(thinned)}</script>')
    every = thinned["every"]
    np.testing.assert_allclose(found["x"], layers.layers[0].values[::every, ::every], atol=1e-3)
    assert pack(layers, 100) is None
    blur = map_page(_blur_map((400, 500)), About("noise"))
    whole = make_page([blur])
    monkeypatch.setattr("relblur.report.page.MOST_BYTES", len(whole) - 100_000)
    assert len(make_page([blur]).encode()) < len(whole) - 100_000
    assert _unpacked(make_page([blur]))[0]["every"] > 1


def test_text_cannot_become_part_of_the_page(tmp_path):
    blur = _blur_map(**{HOSTILE: HOSTILE})
    plain = _Elements(make_page([map_page(_blur_map(x="y"), About("a", ("b",), ("c",), [("d", "e")]))])).found
    about = About(HOSTILE, (HOSTILE,), (HOSTILE,), [(HOSTILE, HOSTILE)])
    page = make_page([map_page(blur, about)])
    found = _Elements(page).found
    assert [tag for tag, _ in found] == [tag for tag, _ in plain]
    _check_alone(page)
    layer = Layer(HOSTILE, HOSTILE, np.zeros((3, 3)))
    many = make_page([map_page(blur, about)] * 2, failures=[(HOSTILE, HOSTILE)])
    write_page(tmp_path / "page.html", [map_page(blur, About("no text: \udcff"))])
    assert "no text: \\udcff" in (tmp_path / "page.html").read_text()
    _check_alone(many)
    assert pack(ReadOut([layer]), 10_000)["layers"][0]["name"] == HOSTILE


def test_several_results_have_a_table_with_links_to_each():
    depth = DepthMap(np.full((30, 40), 1.5), np.full((30, 40), 0.01), np.zeros((30, 40)), CAMERA)
    pages = [
        map_page(_blur_map(), About("one", is_one_of_many=True)),
        map_page(depth, About("two", is_one_of_many=True)),
    ]
    page = make_page(pages, "both", [("three", "no such file")])
    _check_alone(page)
    anchors = [attributes["href"] for tag, attributes in _Elements(page).found if tag == "a"]
    assert anchors == ["#r0", "#r1"]
    sections = [attributes.get("id") for tag, attributes in _Elements(page).found if tag == "section"]
    assert sections == [None, "r0", "r1"]
    assert "no such file" in page
    np.testing.assert_allclose(_unpacked(page, "r1")[1]["depth"], 1.5)
    # A single page of depth can be turned in space, one of many cannot.
    assert '<div class="space"' not in page
    assert "class Points" not in page
    alone = make_page([map_page(depth, About("one"))])
    assert '<div class="space"' in alone
    assert "class Points" in alone
    assert "export " not in alone


def test_what_should_be_doubted_is_said_first():
    s = np.full((20, 20), 25.0)
    flags = np.full(s.shape, Flag.AT_LIMIT | Flag.CLIPPED, np.uint8)
    page = make_page([map_page(BlurMap(s, s, flags, np.ones(s.shape)), About("x"))])
    assert "100.0 % of the pixels are at the end of the search range" in page
    assert "expose less" in page
    assert page.index("Warnings") < page.index("<figure>")
    assert "Warnings" not in make_page([map_page(_blur_map(), About("x"))])
    warned = make_page([map_page(_blur_map(doubts=["the motion is large"]), About("x"))])
    assert "<li>the motion is large.</li>" in warned


def test_a_score_that_loses_against_not_blurring_says_so():
    names = PairScore.__dataclass_fields__
    good = PairScore(**{name: 0.01 if "unblurred" in name else 0.005 for name in names})
    bad = PairScore(**{name: 0.001 if "unblurred" in name else 0.005 for name in names})
    assert "than without blurring" not in make_page([score_page([("10x10", good)], About("x"))])
    page = make_page([score_page([("10x10", good), ("5x5", bad)], About("x"))])
    assert "larger errors than without blurring: first at 5x5, second at 5x5" in page
    assert "0.0050 (0.0100)" in page


@pytest.mark.parametrize("shape", [(2, 2000), (2000, 2), (1, 1)])
def test_any_shape_has_a_page(shape):
    s = np.ones(shape)
    page = make_page([map_page(BlurMap(s, s, 0 * s, s), About("x"))])
    np.testing.assert_allclose(_unpacked(page)[1]["relative blur"], 1.0)
    widths = [float(width) for width in re.findall(r"max-width:max\(1.5rem,([0-9.]+)rem\)", page)]
    assert all(width * shape[0] / shape[1] <= 40.1 for width in widths)


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
    """A folder with a page, made once."""
    out = scene / "estimated"
    done = run("estimate", scene / "near.png", scene / "far.png", "-o", out, "-m", "window", "--report")
    assert done.exit_code == 0, done.output
    return out, done


def test_estimate_writes_a_page_and_replaces_none_unasked(scene, estimated):
    out, done = estimated
    page = (out / PAGE_FILE).read_text()
    _check_alone(page)
    assert "near.png and far.png" in page
    assert "without blurring" in page
    assert re.search(r"SHA-256 [0-9a-f]{64}", page)
    assert f"look at {out / PAGE_FILE}" in done.stderr
    blur = relblur.load(out / "blur_map.npz")
    np.testing.assert_allclose(_unpacked(page)[1]["relative blur"], blur.sigma, atol=1e-3)
    other = scene / "other"
    other.mkdir()
    (other / PAGE_FILE).write_text("mine")
    line = failed(run("estimate", scene / "near.png", scene / "far.png", "-o", other, "--report"), 2)
    assert "would be replaced" in line
    assert [path.name for path in other.iterdir()] == [PAGE_FILE]


@pytest.mark.slow
def test_depth_and_range_write_pages(scene, tmp_path):
    for command, name in (("depth", "depth"), ("range", "probability of 1 to 2 m")):
        out = tmp_path / command
        pair = (scene / "near.png", scene / "far.png")
        done = run(command, *pair, "-c", scene / "cam.toml", "-o", out, "--report")
        assert done.exit_code == 0, done.output
        page = (out / PAGE_FILE).read_text()
        _check_alone(page)
        assert name in _unpacked(page)[1]
        again = run("tools", "report", out, "-o", tmp_path / f"{command}.html")
        assert again.exit_code == 0, again.output
        read = (tmp_path / f"{command}.html").read_text()
        _check_alone(read)
        np.testing.assert_array_equal(_unpacked(read)[1][name], _unpacked(page)[1][name])


def test_evaluate_writes_a_page_where_it_is_told(scene, tmp_path):
    command = ["evaluate", scene / "near.png", scene / "far.png", "-m", "window", "--decimate", "1,2", "--json"]
    assert "add -o DIR" in failed(run(*command, "--report"), 2)
    out = ("-o", tmp_path / "score")
    done = run(*command, "--report", *out)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "score" / PAGE_FILE).read_text()
    _check_alone(page)
    for score in json.loads(done.stdout):
        assert f"{score['e_first']:.4f} ({score['unblurred_e_first']:.4f})" in page
    assert "would be replaced" in failed(run(*command, "--report", *out), 2)


def test_one_point_at_infinity_does_not_take_the_digits_of_the_others():
    depth = np.linspace(1.0, 2.0, 12).reshape(3, 4)
    depth[0, 0] = 1e7
    packed = pack(ReadOut([Layer("distance", "m", depth, "ratio")]), 10_000)
    layer = packed["layers"][0]
    raw = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), np.uint8).reshape(2, 3, 4).astype(int)
    found = np.exp(layer["offset"] + layer["scale"] * (256 * raw[0] + raw[1]))
    np.testing.assert_allclose(found, depth, rtol=3e-4)


def test_the_colours_of_a_page_go_by_ratio_where_those_of_pictures_do(tmp_path):
    from PIL import Image

    from relblur.plot.colours import scale_for

    depth = np.geomspace(0.5, 50, 400).reshape(20, 20)
    scale = scale_for(depth, "depth")
    assert scale.logarithmic
    (tmp_path / "map.png").write_bytes(map_png(depth, scale, 100))
    drawn = np.asarray(Image.open(tmp_path / "map.png").convert("RGB"), int)
    assert np.abs(drawn - scale.apply(depth).astype(int)).max() <= 6  # 255 colours instead of 256
    places = re.findall(r"left:([0-9.]+)%[^>]*>([0-9.]+)<", colour_bar(scale, "m"))
    assert len(places) >= 3
    for percent, text in places:
        assert float(percent) == pytest.approx(100 * scale.place(np.asarray(float(text))), abs=0.1)


def test_report_reads_folders_and_files_back(estimated, tmp_path):
    out, _ = estimated
    copy = tmp_path / "copy"
    shutil.copytree(out, copy)
    (copy / PAGE_FILE).unlink()
    done = run("tools", "report", copy)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(copy / PAGE_FILE)
    page = (copy / PAGE_FILE).read_text()
    _check_alone(page)
    assert "alignment: " in page
    blur = relblur.load(copy / "blur_map.npz")
    np.testing.assert_allclose(_unpacked(page)[1]["relative blur"], blur.sigma, atol=1e-3)
    assert "would be replaced" in failed(run("tools", "report", copy), 2)
    assert run("tools", "report", copy, "--force").exit_code == 0
    both = run("tools", "report", copy, copy / "blur_map.npz", "-o", tmp_path / "both.html")
    assert both.exit_code == 0, both.output
    assert len(set(re.findall(r'data-for="(r\d)"', (tmp_path / "both.html").read_text()))) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{empty}"], 3, "has no result of relblur"),
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
    copy = tmp_path / "copy"
    shutil.copytree(estimated[0], copy)
    for text in ("[1, 2", '{"notes": 7, "remade_mean_absolute_error": "x", "settings": []}', "[]", "null"):
        (copy / "summary.json").write_text(text)
        assert run("tools", "report", copy, "--force").exit_code == 0
    (copy / "blur_map.npz").write_bytes(b"PK\x03\x04junk")
    assert "save it again" in failed(run("tools", "report", copy, "--force"), 3)


def test_many_pairs_get_one_page_that_names_the_failures(scene, tmp_path):
    for side in ("one", "two"):
        (tmp_path / side).mkdir()
        for name in "pq":
            source = scene / ("near.png" if side == "one" else "far.png")
            shutil.copy(source, tmp_path / side / f"{name}.png")
    (tmp_path / "two" / "q.png").write_text("no picture")
    command = ["estimate", tmp_path / "one", tmp_path / "two", "-o", tmp_path / "out", "-m", "window", "--report"]
    done = run(*command)
    assert done.exit_code == 3, done.output
    page = (tmp_path / "out" / PAGE_FILE).read_text()
    _check_alone(page)
    assert "Without a result" in page
    assert "not an image relblur can read" in page
    assert 'href="#r0">p</a>' in page
    assert run(*command).exit_code == 3  # again: the old page is ours and may go
    (tmp_path / "out" / PAGE_FILE).write_text("mine")
    assert "not from relblur" in failed(run(*command), 2)
    assert (tmp_path / "out" / PAGE_FILE).read_text() == "mine"


def _chromium():
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(_chromium() is None, reason="no Chromium on this machine to look at the page with")
def test_a_browser_tells_the_number_of_the_pixel_pointed_at(tmp_path):
    blur = _blur_map((60, 80))
    page = make_page([map_page(blur, About("x"))])
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
