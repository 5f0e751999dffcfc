"""The viewer's server: who may talk to it, what it takes, what it answers. Nothing is measured here."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("starlette", reason="the viewer needs the extra 'view'")
pytest.importorskip("httpx", reason="starlette's test client needs httpx")

from starlette.testclient import TestClient  # noqa: TID253
from starlette.websockets import WebSocketDisconnect  # noqa: TID253

from relblur import BlurMap, Camera, blur_to_depth
from relblur.apps.view import files, serve
from relblur.apps.view.files import Images, SavedResult
from relblur.apps.view.guard import Keys
from relblur.apps.view.routes import build
from relblur.apps.view.session import Session
from relblur.apps.view.workers import Worker

PORT = 45678
OURS = {"origin": f"http://127.0.0.1:{PORT}"}


def a_map(shape=(12, 17)) -> BlurMap:
    s = np.linspace(-4, 4, shape[0] * shape[1]).reshape(shape)
    s[3, 4] = np.nan
    flags = np.zeros(shape, np.uint8)
    flags[3, 4], flags[5, 6] = 4, 64
    return BlurMap(s, np.full(shape, 0.1), flags, np.sign(np.nan_to_num(s)), {"method": "window", "relblur": "x"})


@pytest.fixture
def server():
    """A server with a saved map, its keys, and a browser that has not opened the address yet."""
    keys = Keys(PORT)
    session = Session(quick=Worker(10**9, stoppable=False), slow=Worker(10**9, stoppable=True))
    blur_map = a_map()

    with TestClient(build(session, keys, lambda: None), base_url=f"http://127.0.0.1:{PORT}") as browser:
        browser.portal.call(session.open_result, SavedResult(blur_map), "map.npz")
        yield browser, keys, session, blur_map


@pytest.fixture
def page(server):
    """The same after the address was opened."""
    browser, keys, *_ = server
    assert browser.get(keys.new_address()).status_code in (200, 303)
    return browser


@pytest.fixture
def listening():
    """A server with nothing to show on a port of its own, and its keys."""
    with serve.listen(0) as listener:
        keys = Keys(listener.getsockname()[1])
        session = Session(quick=Worker(10**9, stoppable=False), slow=Worker(10**9, stoppable=True))
        ready = threading.Event()
        program = serve.make_server(session, keys, ready.set)
        thread = threading.Thread(target=program.run, args=([listener],))
        thread.start()
        try:
            assert ready.wait(30)
            yield keys
        finally:
            program.should_exit = True
            thread.join()


def test_a_refused_socket_prints_nothing(listening, capfd, caplog):
    upgrade = (
        "GET /ws HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", listening.port), timeout=20) as stranger:
        stranger.sendall(upgrade.format(listening.port).encode())
        answer = b"".join(iter(lambda: stranger.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert not capfd.readouterr().err
    assert not caplog.records


def test_the_address_opens_once(server):
    browser, keys, *_ = server
    address = keys.new_address()
    answer = browser.get(address, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    assert keys.token in cookie
    browser.cookies.clear()
    again = browser.get(address, follow_redirects=False)
    assert again.status_code == 403
    assert "once" in again.text
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("path", ["/", "/static/main.js", "/api/state", "/api/plane/s", "/nowhere", "/open/guess"])
def test_without_the_token_everything_is_refused(server, path):
    assert server[0].get(path).status_code == 403


@pytest.mark.parametrize("token", ["", "x", "a" * 43, "é", '"quoted"'])
def test_a_wrong_token_is_refused(server, token):
    browser, keys, *_ = server
    header = f"{keys.cookie}={token}".encode("latin-1")
    assert browser.get("/api/state", headers={b"cookie": header}).status_code == 403


def test_the_token_ends_with_its_session(page, server, monkeypatch):
    assert page.get("/api/state").status_code == 200
    monkeypatch.setattr(server[1], "_ends", 0.0)
    assert page.get("/api/state").status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil:{PORT}", ""]
)
def test_a_foreign_host_is_refused(page, host):
    assert page.get("/api/state", headers={"host": host}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", f"https://127.0.0.1:{PORT}", "http://127.0.0.1:1", None]
)
def test_what_changes_something_must_come_from_our_page(page, origin):
    headers = {} if origin is None else {"origin": origin}
    for path in ("/api/cancel", "/api/settings", "/api/open", "/api/upload", "/api/address"):
        assert page.post(path, headers=headers, json={}).status_code == 403
    assert page.post("/api/cancel", headers=OURS).status_code == 200


def test_a_read_that_a_foreign_page_started_is_refused(page):
    assert page.get("/api/state", headers={"origin": "http://evil.example"}).status_code == 403
    for site in ("cross-site", "same-site"):
        assert page.get("/api/state", headers={"sec-fetch-site": site}).status_code == 403
    assert page.get("/api/state", headers={"sec-fetch-site": "same-origin"}).status_code == 200


@pytest.mark.parametrize(
    ("changed", "admitted"),
    [
        ({"origin": None}, False),
        ({"origin": "http://evil.example"}, False),
        ({"host": "evil.example"}, False),
        ({"cookie": "x=y"}, False),
        ({}, True),
    ],
)
def test_a_socket_must_be_ours(page, server, changed, admitted):
    known = {**OURS, "cookie": f"{server[1].cookie}={server[1].token}", **changed}
    headers = {name: value for name, value in known.items() if value is not None}
    try:
        with page.websocket_connect(f"ws://127.0.0.1:{PORT}/ws", headers=headers) as socket:
            assert socket.receive_json()["name"] == "map.npz"
            found = True
    except WebSocketDisconnect:
        found = False
    assert found == admitted


def test_every_answer_forbids_what_others_could_do(page, server):
    answers = [page.get("/"), page.get("/api/state"), page.get("/nowhere"), page.get("/", headers={"host": "evil"})]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 400]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self'; ")
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-frame-options"] == "DENY"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/static/../routes.py",
        "/static/%2e%2e/routes.py",
        "/static/..%2froutes.py",
        "/static//etc/passwd",
        "/api/plane/../../x",
        "/api/export/../../etc/passwd",
        "/api/export/%2e%2e/session.py",
        "/api/export/depth/../summary.json",
    ],
)
def test_paths_lead_nowhere_else(page, path):
    answer = page.get(path)
    assert answer.status_code in (403, 404)
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_the_page_loads_nothing_from_elsewhere(page):
    text = page.get("/").text
    assert "http:" not in text
    assert "https:" not in text
    for name in ("main.js", "page.css", "icon.svg"):
        assert f"/static/{name}" in text
        assert page.get(f"/static/{name}").status_code == 200
    assert page.get("/static/main.js").headers["content-type"].startswith("text/javascript")


def test_planes_travel_as_they_are(page, server):
    blur_map = server[3]
    state = page.get("/api/state").json()
    planes = {plane["name"]: plane for plane in state["planes"]}
    assert (state["width"], state["height"]) == (17, 12)
    assert planes["sigma"]["derived"]
    assert planes["sigma"]["unit"] == "px"
    assert planes["sigma"]["low"] == -planes["sigma"]["high"]
    s = np.frombuffer(page.get("/api/plane/s").content, "<f4").reshape(12, 17)
    np.testing.assert_array_equal(s, blur_map.variance_difference.astype(np.float32))
    assert page.get("/api/plane/flags").content == blur_map.flags.astype(np.uint8).tobytes()
    assert page.get("/api/plane/sigma").status_code == 404


def test_filled_pixels_are_drawn_faintly(page):
    state = page.get("/api/state").json()
    assert state["opacity"] is not None
    assert "opacity" not in {plane["name"] for plane in state["planes"]}
    opacity = np.frombuffer(page.get("/api/plane/opacity").content, np.uint8).reshape(12, 17)
    assert opacity[5, 6] < 255
    assert np.delete(opacity.ravel(), 5 * 17 + 6).min() == 255


def test_box_and_line_agree_with_the_map(page, server):
    blur_map = server[3]
    found = page.get("/api/box?x0=9&y0=8&x1=2&y1=1").json()
    part = blur_map.variance_difference[1:9, 2:10]
    assert (found["left"], found["top"], found["width"], found["height"]) == (2, 1, 8, 8)
    of_s = found["quantities"]["s"]
    assert of_s["mean"] == pytest.approx(np.nanmean(part))
    assert of_s["spread"] == pytest.approx(np.nanstd(part))
    assert of_s["answered"] == 63
    assert found["flagged"] == pytest.approx(2 / 64)
    profile = page.get("/api/line?x0=0&y0=3&x1=16&y1=3").json()
    values = profile["quantities"]["sigma"]["values"]
    assert values[4] is None
    assert values[5] == pytest.approx(blur_map.sigma[3, 5])
    assert profile["length"] == 16


@pytest.mark.parametrize(
    "query", ["x0=1&y0=1&x1=2", "x0=a&y0=1&x1=2&y1=2", "x0=1e9&y0=1&x1=2&y1=2", "x0=50&y0=50&x1=60&y1=60"]
)
def test_a_box_that_is_none_is_refused(page, query):
    answer = page.get(f"/api/box?{query}")
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_a_pixel_of_a_saved_result_has_words_but_no_curve(page):
    found = page.get("/api/pixel?x=4&y=3").json()
    assert found["s"] is None
    assert found["curve"] is None
    assert [flag["name"] for flag in found["flags"]] == ["flat"]
    assert "texture" in found["flags"][0]["why"]
    assert page.get("/api/pixel?x=17&y=0").status_code == 422


def test_a_saved_result_cannot_be_measured_again(page):
    answer = page.post("/api/settings", json={"window": 11}, headers=OURS)
    assert answer.status_code == 422
    assert "open the images" in answer.json()["error"]


def test_a_camera_is_judged_while_it_is_typed(page):
    fields = {"coc_constant_px_m": 20, "focus_first_m": 1, "focus_second_m": 2}
    found = page.post("/api/camera", json=fields, headers=OURS).json()
    assert found["kind"] == "focus"
    assert found["nearest_m"] < 1
    assert found["farthest_m"] is None
    wrong = page.post("/api/camera", json={**fields, "focus_second_m": -2}, headers=OURS)
    assert wrong.status_code == 422
    assert "focus_second_m" in wrong.json()["error"]


def test_depth_of_a_saved_map(page, server):
    fields = {"coc_constant_px_m": 16, "focus_first_m": 1, "focus_second_m": 2}
    state = page.post("/api/depth", json={"camera": fields}, headers=OURS).json()
    assert {"depth", "depth_stderr"} <= {plane["name"] for plane in state["planes"]}
    depth = np.frombuffer(page.get("/api/plane/depth").content, "<f4").reshape(12, 17)
    np.testing.assert_array_equal(depth, blur_to_depth(server[3], Camera(**fields)).depth_m.astype(np.float32))


def test_a_result_goes_out_and_comes_in_again(page, server):
    content = page.get("/api/export/blur_map.npz").content
    sent = page.post("/api/upload", content=content, headers={**OURS, "x-file-name": "a%20map.npz"})
    assert sent.json()["bytes"] == len(content)
    opening = page.post("/api/open", json={"files": [sent.json()["id"]]}, headers=OURS)
    assert opening.status_code == 200, opening.text
    assert page.get("/api/state").json()["name"] == "a map.npz"
    np.testing.assert_array_equal(server[2].now.blur_map.variance_difference, server[3].variance_difference)
    assert not list(server[2].folder.glob("upload-*"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{", "JSON"),
        (b"[1]", "object"),
        (b'{"files": ["x"]}', "upload them first"),
        (b'{"files": {}}', "upload"),
    ],
)
def test_a_request_that_makes_no_sense_gets_one_line(page, body, text):
    answer = page.post("/api/open", content=body, headers=OURS)
    assert answer.status_code == 422
    assert text in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_deep_json_and_long_forms_are_refused(page):
    assert page.post("/api/settings", content=b"[" * 60_000, headers=OURS).status_code == 422
    assert page.post("/api/settings", content=b" " * 300_000, headers=OURS).status_code == 413


def test_a_file_that_is_too_large_is_refused_by_its_announcement(page, server):
    headers = {**OURS, "content-length": str(files.MOST_BYTES + 1), "x-file-name": "big.png"}
    answer = page.post("/api/upload", content=b"x", headers=headers)
    assert answer.status_code == 413
    assert "100 MB" in answer.json()["error"]


def test_a_file_that_grows_too_large_is_refused_on_the_way(page, server, monkeypatch):
    monkeypatch.setattr(files, "MOST_BYTES", 1000)
    taken = []

    def chunks():
        for _ in range(50):
            taken.append(1)
            yield bytes(100)

    answer = page.post("/api/upload", content=chunks(), headers={**OURS, "x-file-name": "big.png"})
    assert answer.status_code == 413
    assert list(server[2].folder.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("script.sh", b"x", "ends in '.sh'"),
        ("none", b"x", "ends in 'nothing'"),
        ("empty.png", b"", "empty"),
        ("../../up.exe", b"x", "ends in"),
    ],
)
def test_files_that_cannot_be_images_are_refused(page, server, name, content, text):
    answer = page.post("/api/upload", content=content, headers={**OURS, "x-file-name": name})
    assert answer.status_code in (404, 422)
    assert text in answer.json()["error"]
    assert list(server[2].folder.iterdir()) == []


def test_a_name_leads_nowhere(page, server):
    answer = page.post("/api/upload", content=b"abc", headers={**OURS, "x-file-name": "..%2F..%2Fetc%2F<b>x.png"})
    assert answer.status_code == 200
    (path,) = server[2].folder.rglob("*.png")
    assert path.parent.parent == server[2].folder
    assert path.name == "_b_x.png"
    assert path.read_bytes() == b"abc"


def test_a_broken_result_says_so_by_its_own_name(page):
    sent = page.post("/api/upload", content=b"PK\x03\x04 broken", headers={**OURS, "x-file-name": "mine.npz"})
    answer = page.post("/api/open", json={"files": [sent.json()["id"]]}, headers=OURS)
    assert answer.status_code == 422
    assert "mine.npz" in answer.json()["error"]
    assert page.get("/api/state").json()["name"] == "map.npz"  # what was there stays


def test_the_server_ends_when_no_page_is_open(server, monkeypatch):
    browser, _, session, _ = server
    ending = SimpleNamespace(should_exit=False)
    browser.portal.call(serve._expire, session, ending, 0.2)
    assert ending.should_exit


def test_the_state_is_plain_json(page):
    text = page.get("/api/state").text
    assert json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))["planes"]


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    from command import failed, run

    monkeypatch.setattr("relblur.apps.view.command.find_spec", lambda name: None)
    assert "pip install 'relblur[view]'" in failed(run("view"), 4)


def test_numbers_that_are_none_get_one_line(page):
    digits = "9" * 400
    for query in ("/api/pixel?x=--1&y=0", "/api/pixel?x=-&y=0", "/api/box?x0=1&y0=1&x1=²&y1=2"):
        assert "whole number" in page.get(query).json()["error"]
    for body in (f'{{"window": {digits}}}', f'{{"max_sigma": {digits}}}', f'{{"decimate": {digits}}}'):
        answer = page.post("/api/settings", content=body, headers=OURS)
        assert (answer.status_code, "must be a number" in answer.json()["error"]) == (422, True)
    camera = f'{{"focal_length_mm": {digits}, "focus_first_m": 1, "focus_second_m": 2}}'
    assert page.post("/api/camera", content=camera, headers=OURS).status_code == 422


@pytest.mark.filterwarnings("ignore:.* encountered in:RuntimeWarning")
@pytest.mark.parametrize("window", ["x", [1], 0, float("nan"), 10**400, "\ud800"], ids=range(6))
def test_results_of_odd_settings_and_values_are_shown(page, server, window):
    browser, _, session, _ = server
    known = a_map()
    values = np.where(np.arange(17) % 2, 1e308, -1e308) * np.ones((12, 1))
    odd = BlurMap(values, values, known.flags, known.sharper, {"window": window, "method": "\ud800"})
    browser.portal.call(session.open_result, SavedResult(odd), "\ud800.npz")
    for query in ("state", "box?x0=0&y0=0&x1=9&y1=9", "line?x0=0&y0=0&x1=9&y1=9", "pixel?x=1&y=1"):
        assert page.get(f"/api/{query}").status_code == 200, query
    with page.websocket_connect(f"ws://127.0.0.1:{PORT}/ws", headers=OURS) as socket_:
        assert socket_.receive_json()["name"] == "\ud800.npz"


def test_a_fault_of_the_program_is_one_line(page, server, monkeypatch):
    def full(*_args, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("builtins.open", full)
    answer = page.post("/api/upload", content=b"x", headers={**OURS, "x-file-name": "a.png"})
    monkeypatch.undo()
    assert (answer.status_code, "No space left" in answer.json()["error"]) == (500, True)
    monkeypatch.setattr(server[2], "state", lambda: 1 / 0)
    assert "unexpected ZeroDivisionError" in page.get("/api/state").json()["error"]


def test_pairs_opened_at_once_leave_no_uploads(page, server):
    browser, _, session, _ = server

    async def open_many():
        pairs = []
        for number in range(6):
            paths = [session.folder / f"upload-{number}{side}" / "x.png" for side in "ab"]
            for path in paths:
                path.parent.mkdir()
                path.write_bytes(b"")
            pairs.append(Images(tuple(paths), ("a.png", "b.png"), "upload"))
        await asyncio.gather(*(session.open_images(pair) for pair in pairs))
        await session.cancel()
        await asyncio.sleep(0)

    session.slow.start = lambda: None  # nothing is measured
    session.slow.run = session.quick.run = lambda *_args, **_options: asyncio.sleep(100)
    browser.portal.call(open_many)
    assert not list(session.folder.iterdir())


def test_the_folder_is_deleted_whoever_ends_the_program(tmp_path):
    program = (
        "from relblur.apps.view.session import Session; from relblur.apps.view.workers import Worker\n"
        "session = Session(Worker(1, stoppable=False), Worker(1, stoppable=True)); (session.folder / 'a').touch()\n"
        "raise SystemExit(3)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TMPDIR": str(tmp_path)}, timeout=100)
    assert (done.returncode, list(tmp_path.iterdir())) == (3, [])
