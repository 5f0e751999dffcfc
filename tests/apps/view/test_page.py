"""The viewer's page in Chromium, as a person sees and uses it. Skipped where there is no Chromium."""

from __future__ import annotations

import base64
import io
import re
import shutil
import time

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

import relblur
from relblur.apps.view.files import example
from view_server import stack_files, textured, ticks, viewer

sync_api = pytest.importorskip("playwright.sync_api", reason="the page's tests need playwright")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="there is no Chromium; apt-get install chromium (as root: make chromium)"
    ),
]

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --enable-unsafe-swiftshader"
)
LONG_MS = 60_000


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    with viewer(folder=tmp_path_factory.mktemp("tmp")) as started:
        yield started


@pytest.fixture(scope="module")
def browser(running):
    with sync_api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS.split())
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def context(browser):
    """A browser that notes every request, and every message but those of a driver about its speed."""
    made = browser.new_context(viewport={"width": 1280, "height": 800}, color_scheme="light", accept_downloads=True)
    made.set_default_timeout(LONG_MS)
    made.requests, made.errors = [], []
    made.on("request", lambda request: made.requests.append(request.url))
    made.on("weberror", lambda error: made.errors.append(str(error.error)))

    def note(message):
        if message.type in ("error", "warning") and "GPU stall" not in message.text:
            made.errors.append(f"{message.text} {message.location}")

    made.on("console", note)
    return made


@pytest.fixture(scope="module")
def opened(context, running):
    """The one page of all tests; the tests of the example come first, so that it is measured once."""
    page = context.new_page()
    page.goto(running.address)
    arrived(page, "fused", "remade", "depth", "s_stderr", "flags")
    idle(page)
    return page


@pytest.fixture
def page(opened):
    """The page with the pair's panes side by side and the first tab open."""
    opened.bring_to_front()
    opened.click("#tab-inspect")
    for key in ("g", "p", "f"):
        opened.keyboard.press(key)
    return opened


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A grey 16-bit pair of odd size whose second image is blurrier by 1.5 px; a name that would be markup."""
    folder = tmp_path_factory.mktemp("pair")
    sharp = 0.1 + 0.8 * textured((91, 127))
    relblur.save(folder / "far.png", relblur.synth.blur_with_map(sharp, 1.5))
    relblur.save(folder / "<b>near.png", sharp)
    return folder / "<b>near.png", folder / "far.png"


@pytest.fixture(scope="module")
def frames(tmp_path_factory):
    return stack_files(tmp_path_factory.mktemp("stack"))


def arrived(page, *planes):
    for name in planes:
        page.wait_for_selector(f"body[data-arrived~={name}]", timeout=LONG_MS)


def until(page, expression: str, seconds: float = LONG_MS / 1000):
    """Wait until something is true in the page, whose policy forbids to compile what a test would leave there."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, f"waited in vain for {expression}"
        page.wait_for_timeout(50)


def says(page, identity: str, text: str):
    """Wait until an element shows a text."""
    until(page, f"document.getElementById('{identity}').textContent.includes({text!r})")


def idle(page):
    page.wait_for_selector("#job", state="hidden", timeout=LONG_MS)


def shot(page, selector) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(page.locator(selector).screenshot())).convert("RGB"), int)


def click_pixel(page, column: int, row: int):
    """Click on a pixel of the compared pair, which fills the stage."""
    page.keyboard.press("c")
    page.keyboard.press("f")
    stage = page.locator("#picture").bounding_box()
    width, height = (int(n) for n in re.findall(r"\d+", page.locator("#pair-size").inner_text())[:2])
    zoom = 0.98 * min(stage["width"] / width, stage["height"] / height)
    x = stage["x"] + stage["width"] / 2 + (column + 0.5 - width / 2) * zoom
    y = stage["y"] + stage["height"] / 2 + (row + 0.5 - height / 2) * zoom
    page.mouse.move(x, y)
    page.mouse.click(x, y)
    page.get_by_role("heading", name=f"Column {column}, row {row}").wait_for()


def drag(page, *points):
    page.mouse.move(*points[0])
    page.mouse.down()
    for point in points[1:]:
        page.mouse.move(*point, steps=4)
    page.mouse.up()


def upload(page, *paths):
    page.click("#open")
    page.set_input_files("#file-many", paths)
    page.click("#open-go")
    page.wait_for_selector("#open-dialog", state="hidden")


def drop(page, *paths):
    listed = [{"name": path.name, "data": base64.b64encode(path.read_bytes()).decode()} for path in paths]
    transfer = page.evaluate_handle(
        """files => { const carried = new DataTransfer();
        for (const { name, data } of files) {
          const content = Uint8Array.from(atob(data), c => c.charCodeAt(0));
          carried.items.add(new File([content], name));
        }
        return carried; }""",
        listed,
    )
    page.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
    assert page.locator("#drop").is_visible()
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    assert page.locator("#drop").is_hidden()


def axe_violations(page) -> list[str]:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe-core comes with axe-playwright-python"
    )
    page.wait_for_timeout(250)
    return [f"{each['id']}: {each['nodes'][0]['html'][:120]}" for each in axe.Axe().run(page).response["violations"]]


def test_it_opens_on_an_example(page):
    assert page.locator("#pair-name").inner_text() == "Example"
    labels = [text.splitlines()[0] for text in page.locator("#labels .name").all_inner_texts()]
    assert labels[:5] == ["first", "second", "sharp everywhere", "relative blur (px)", "standard error (px)"]
    assert "refined · window 9" in page.locator("#labels .active").inner_text()
    assert len(np.unique(shot(page, "#picture").reshape(-1, 3), axis=0)) > 5000


def test_the_read_out_and_the_curve_are_those_of_the_api(page):
    column, row = 400, 100
    click_pixel(page, column, row)
    pair = relblur.prepare_pair(example().paths[0], example().paths[1])
    blur_map = relblur.estimate_blur(pair)
    sigma, stderr = blur_map.sigma[row, column], blur_map.sigma_stderr[row, column]
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", page.locator("#pixel-card td").first.inner_text())]
    assert numbers[0] == pytest.approx(sigma, abs=2 * stderr)
    assert numbers[1] == pytest.approx(stderr, rel=0.1)
    assert f"{column}, {row}" in page.locator("#readout").inner_text()
    curve = relblur.pixel_curve(pair, row, column, blur_map=blur_map)
    shown = page.evaluate("JSON.parse(document.getElementById('pixel-card').dataset.roots)")
    assert sigma > 0
    assert shown
    assert shown == pytest.approx(curve.roots[curve.roots >= 0].tolist(), abs=1e-6)
    assert page.locator("#pixel-card svg.chart").get_attribute("aria-label").startswith("Curve of the first image")


def test_zoom_to_single_pixels_and_back(page):
    click_pixel(page, 300, 150)  # beside the curtain
    before = shot(page, "#picture")
    for _ in range(12):
        page.mouse.wheel(0, -240)
        page.wait_for_timeout(20)
    page.wait_for_timeout(400)
    inside = shot(page, "#picture")
    assert "300, 150" in page.locator("#readout").inner_text()  # what is under the pointer stays there
    middle = inside[inside.shape[0] // 2 - 20 :: 1][:3, 40:120]
    runs = (np.abs(np.diff(middle, axis=1)).sum(axis=2) > 0).mean()
    assert runs < 0.15  # pixels are squares of many screen pixels
    page.keyboard.press("f")
    page.wait_for_timeout(400)
    assert np.abs(shot(page, "#picture") - before).mean() < 1.5


def test_the_curtain_shows_one_side_and_the_other(page):
    page.keyboard.press("c")
    page.select_option("#left-plane", "first")
    page.select_option("#right-plane", "sigma")
    page.wait_for_timeout(400)
    middle = shot(page, "#picture")
    handle = page.locator("#curtain").bounding_box()
    at = (handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    drag(page, at, (handle["x"] + 250, handle["y"] + 200))
    page.wait_for_timeout(400)
    assert int(page.locator("#curtain").get_attribute("aria-valuenow")) > 70
    change = np.abs(shot(page, "#picture") - middle).sum(axis=2)[100:-100].mean(axis=0)
    half = middle.shape[1] // 2
    assert change[: half - 30].mean() < 3
    assert change[half + 30 : half + 200].mean() > 40
    page.locator("#curtain").focus()
    page.keyboard.press("Home")
    assert page.locator("#curtain").get_attribute("aria-valuenow") == "0"
    page.keyboard.press("End")


def test_colour_limits_are_instant_and_symmetric(page):
    page.keyboard.press("c")
    page.select_option("#left-plane", "sigma")
    page.mouse.click(300, 400)
    page.wait_for_selector("#pixel-card")
    before = shot(page, "#picture")
    page.locator("#high").fill("0.5")
    page.wait_for_timeout(300)
    assert page.locator("#low-value").inner_text() == "-0.500 px"
    assert np.abs(shot(page, "#picture") - before).mean() > 10
    page.click("#reset-colours")


def test_box_and_line(page):
    page.keyboard.press("c")
    page.keyboard.press("b")
    drag(page, (300, 300), (420, 380))
    page.wait_for_selector("#box-card")
    assert page.get_by_text("mean ± standard error").count() >= 1
    page.keyboard.press("l")
    drag(page, (200, 300), (700, 320))
    page.wait_for_selector("#line-card")
    assert page.locator("#findings svg polygon").count() >= 1


def test_the_scene_in_space_is_not_blank(page):
    page.keyboard.press("d")
    page.wait_for_timeout(500)
    before = shot(page, "#cloud")
    assert len(np.unique(before.reshape(-1, 3), axis=0)) > 2000
    assert "points" in page.locator("#cloud-info").inner_text()
    page.locator("#cloud").focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert np.abs(shot(page, "#cloud") - before).mean() > 5  # it turns
    # While it moves a sample is drawn, at rest all of it.
    page.keyboard.press(" ")
    until(page, "Number(document.getElementById('cloud').dataset.moved) > 0")
    page.keyboard.press(" ")
    moved, points = (int(page.locator("#cloud").get_attribute(f"data-{name}")) for name in ("moved", "points"))
    assert 0 < moved <= points
    assert points > 150_000
    until(page, "document.getElementById('cloud').width === document.getElementById('cloud').clientWidth")
    page.select_option("#cloud-colour", "depth")
    page.wait_for_timeout(300)
    assert len(np.unique(shot(page, "#cloud").reshape(-1, 3), axis=0)) > 50
    page.select_option("#cloud-colour", "photo")


def test_the_working_range_follows_what_is_typed(page):
    page.click("#tab-depth")
    assert page.input_value("#depth-form [name=psf]") == "auto"  # as the command begins
    before = page.locator("#working-range").inner_text()
    page.fill("[name=focus_second_m]", "4")
    until(page, f"![null, {before!r}].includes(document.getElementById('working-range')?.textContent ?? null)")
    page.fill("[name=focus_second_m]", "-4")
    says(page, "camera-error", "focus_second_m")
    page.fill("[name=focus_second_m]", "2")


def test_axe_finds_nothing_and_a_phone_scrolls_down_only(page):
    page.keyboard.press("t")  # dark; light further down
    page.click("#tab-measure")
    assert axe_violations(page) == []
    page.keyboard.press("t")
    for tab in ("inspect", "depth", "retouch", "export"):
        page.click(f"#tab-{tab}")
        assert axe_violations(page) == [], tab
    page.set_viewport_size({"width": 400, "height": 844})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.locator("#picture").bounding_box()["height"] > 300
    page.click("#tab-measure")
    assert page.locator("[name=method]").is_visible()
    page.set_viewport_size({"width": 1280, "height": 800})


def test_keys_are_listed_and_help_hands_out_an_address(page, browser):
    page.keyboard.press("?")
    assert "curtain" in page.locator("#keys").inner_text()
    page.click("#new-address")
    page.wait_for_selector("#new-address-text:visible")
    address = page.locator("#new-address-text").inner_text()
    page.keyboard.press("Escape")
    other = browser.new_context()
    stranger = other.new_page()
    assert stranger.goto(page.url).status == 403  # another browser has no token
    assert stranger.goto(address).status == 200
    other.close()


def test_a_dropped_pair_is_measured_and_its_result_comes_back(page, files, tmp_path):
    drop(page, *files)
    says(page, "pair-name", "near.png")
    assert page.locator("#pair-name b").count() == 0  # a name is text
    arrived(page, "fused", "s_stderr")
    idle(page)
    page.keyboard.press("c")
    for side in ("left", "right"):
        page.select_option(f"#{side}-plane", "sigma")
    page.wait_for_timeout(400)
    seen = shot(page, "#picture")  # 1.5 px of about 1.5 px: the red end of the scale, nearly everywhere in the middle
    red = seen[seen.shape[0] // 3 : -seen.shape[0] // 3, seen.shape[1] // 3 : -seen.shape[1] // 3].mean(axis=(0, 1))
    assert red[0] > red[2] + 30
    click_pixel(page, 60, 45)
    sigma = float(re.match(r"-?[\d.]+", page.locator("#pixel-card td").first.inner_text()).group())
    assert sigma == pytest.approx(1.5, abs=0.02)
    page.click("#tab-export")
    with page.expect_download() as waiting:
        page.click("text=blur_map.npz")
    waiting.value.save_as(tmp_path / "map.npz")
    expected = relblur.estimate_blur(relblur.prepare_pair(*files))
    np.testing.assert_array_equal(relblur.load(tmp_path / "map.npz").variance_difference, expected.variance_difference)
    upload(page, tmp_path / "map.npz")
    says(page, "pair-name", "map.npz")
    arrived(page, "sigma")
    click_pixel(page, 60, 45)
    says(page, "pixel-card", "no curve")  # once the answer is there: the old card stays until then
    page.keyboard.press("d")  # a relief, without any camera
    until(page, "Number(document.getElementById('cloud').dataset.points) > 10000")
    assert "relief" in page.locator("#cloud-info").inner_text()


def test_a_stack_is_dropped_looked_through_and_fused_by_hand(page, frames, tmp_path):
    drop(page, *frames)
    arrived(page, "index", "index_stderr", "frame", "fused")
    idle(page)
    assert "7 images" in page.locator("#pair-name").inner_text()
    assert page.locator("#tab-depth").is_hidden()
    click_pixel(page, 50, 48)  # beside the curtain
    value = float(re.match(r"-?[\d.]+", page.locator("#pixel-card td").first.inner_text()).group())
    assert value == pytest.approx(1 + 4 * 50 / 127, abs=0.15)
    assert "f3.png" in page.locator("#pixel-card").inner_text()
    assert "in focus in frame" in page.locator("#readout").inner_text()
    page.keyboard.press("d")
    until(page, "Number(document.getElementById('cloud').dataset.points) > 5000")
    page.click("#tab-retouch")
    assert page.locator("#labels .name").all_inner_texts() == ["frame 0: f0.png", "sharp everywhere"]
    page.locator("#frame").fill("6")
    says(page, "labels", "frame 6: f6.png")
    version = page.evaluate("document.body.dataset.fused")
    page.keyboard.press("r")
    page.wait_for_timeout(300)
    before = shot(page, "#picture")
    stage = page.locator("#picture").bounding_box()
    middle = (stage["x"] + stage["width"] / 4, stage["y"] + stage["height"] / 2)
    drag(page, middle, (middle[0] + 40, middle[1]))
    says(page, "strokes", "1 stroke")
    until(page, f"document.body.dataset.fused !== '{version}'")
    page.mouse.move(5, 5)
    page.wait_for_timeout(400)
    painted = shot(page, "#picture")
    half = painted.shape[1] // 2
    assert np.abs(painted - before)[:, half:].mean() > 1  # the picture on the right has changed
    assert np.abs(painted - before)[:, : half - 20].mean() < 0.5
    with page.expect_download() as waiting:
        page.click("#labels-link")
    waiting.value.save_as(tmp_path / "labels.tif")
    page.keyboard.press("z")
    says(page, "strokes", "0 strokes")
    page.wait_for_timeout(500)
    assert np.abs(shot(page, "#picture") - before).mean() < 0.5
    page.set_input_files("#labels-file", tmp_path / "labels.tif")
    says(page, "fused-how", "your labels")
    page.select_option("#prefer", "near")
    says(page, "fused-how", "the map")
    assert axe_violations(page) == []


def test_two_windows_show_the_same_and_a_window_changes_both(page, context, running, files):
    upload(page, *files)
    says(page, "pair-name", "near.png")
    arrived(page, "fused")
    idle(page)
    other = context.new_page()
    other.goto(running.base)
    arrived(other, "remade")
    before = page.evaluate("document.body.dataset.version")
    page.click("#tab-measure")
    page.fill("[name=window]", "15")
    page.keyboard.press("Tab")
    for each in (page, other):
        until(each, f"document.body.dataset.version !== '{before}'")
        idle(each)
        says(each, "labels", "window 15")
    other.click("#tab-export")
    assert "--window 15" in other.locator("#commands").inner_text()
    other.close()


def test_a_truncated_file_gives_a_message_and_what_was_shown_stays(page, files, tmp_path):
    idle(page)
    name, planes = (page.evaluate(read) for read in ("document.title", "document.body.dataset.arrived"))
    content = files[0].read_bytes()
    (tmp_path / "cut.png").write_bytes(content[: len(content) // 2])
    upload(page, files[0], tmp_path / "cut.png")
    says(page, "message", "cut.png")
    assert page.get_by_role("alert").is_visible()
    idle(page)
    assert planes
    arrived(page, *planes.split())
    assert page.evaluate("document.title") == name
    assert page.locator("#empty").is_hidden()


def test_a_file_of_101_megabytes_is_not_even_sent(page, context, tmp_path, files):
    with open(tmp_path / "big.png", "wb") as stream:
        stream.truncate(101_000_000)
    sent = len([url for url in context.requests if "upload" in url])
    page.click("#open")
    page.set_input_files("#file-many", [tmp_path / "big.png", files[1]])
    page.click("#open-go")
    says(page, "open-message", "100 MB")
    page.keyboard.press("Escape")
    assert len([url for url in context.requests if "upload" in url]) == sent


def test_cancel_stops_the_work_and_the_finished_map_stays(page, running, tmp_path):
    sharp = textured((600, 900))
    relblur.save(tmp_path / "a.png", sharp)
    relblur.save(tmp_path / "b.png", relblur.synth.blur_with_map(sharp, 1.0))
    upload(page, tmp_path / "a.png", tmp_path / "b.png")
    page.click("#tab-measure")
    page.select_option("[name=method]", "window")
    says(page, "labels", "window · window")
    arrived(page, "fused")
    idle(page)
    page.select_option("[name=method]", "refined")
    until(page, "document.getElementById('job-text').textContent.startsWith('measuring blur')")
    until(page, "document.getElementById('job-share').value > 0")
    at_work = running.children()
    page.click("#cancel")
    says(page, "message", "stopped. The last finished result stays")
    gone = set(at_work) - set(running.children())
    if at_work:  # as Linux reports
        assert len(gone) == 1
        assert ticks(gone.pop()) == 0
    assert page.input_value("[name=method]") == "window"
    says(page, "labels", "window · window")
    page.click("#tab-export")
    assert page.get_by_role("link", name="blur_map.npz").is_visible()


def test_nothing_was_requested_of_another_machine_and_nothing_went_wrong(context, running):
    assert len(context.requests) > 50
    foreign = {
        url for url in context.requests if not url.startswith((running.base, running.base.replace("http", "ws")))
    }
    assert not {url for url in foreign if not url.startswith(("blob:", "data:"))}
    # A refused camera is an error to the browser, too; and so is a plane that a new map has replaced while the page was
    # fetching it.
    assert not [text for text in context.errors if "422" not in text and not ("404" in text and "/api/" in text)]
