"""Measure the viewer: time until the page, the pictures of a stack and a curve appear; frames per second.

    python benchmarks/viewer.py [--megapixels 12]

Chromium draws with SwiftShader on the processor; a graphics card is faster. Times depend on the machine, so its load is
printed beside them. Needs Chromium and the packages of the extra ``dev``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import distribution, requires
from pathlib import Path

import numpy as np
from packaging.requirements import Requirement
from playwright.sync_api import Page, sync_playwright
from scipy.ndimage import gaussian_filter

import relblur

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --enable-unsafe-swiftshader"
)
LONG_MS = 600_000

#: Counts frames that were drawn while the pointer drags for two seconds, as fast as the page takes it.
DRAG = """async (selector) => {
  const canvas = document.querySelector(selector), box = canvas.getBoundingClientRect();
  const send = (kind, x, y) => canvas.dispatchEvent(new PointerEvent(kind,
    { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true, isPrimary: true, buttons: 1 }));
  canvas.setPointerCapture = () => {};
  const before = Number(canvas.dataset.frames ?? 0), start = performance.now();
  send("pointerdown", 200, 200);
  while (performance.now() - start < 2000) {
    const t = (performance.now() - start) / 300;
    send("pointermove", 200 + 120 * Math.sin(t), 200 + 60 * Math.cos(t));
    if (selector === "#picture") canvas.dispatchEvent(new WheelEvent("wheel",
      { clientX: box.left + 300, clientY: box.top + 200, deltaY: 20 * Math.sin(3 * t), cancelable: true }));
    await new Promise(requestAnimationFrame);
  }
  send("pointerup", 200, 200);
  return (Number(canvas.dataset.frames) - before) / ((performance.now() - start) / 1000);
}"""


def extra_megabytes(extra: str) -> tuple[float, list[str]]:
    """Return the size of what an extra installs beyond the core, and its packages."""
    core, more = _closure(""), _closure(extra)
    files = [(name, file) for name in sorted(more - core) for file in distribution(name).files or []]
    sizes = [Path(file.locate()).stat().st_size for _, file in files if Path(file.locate()).is_file()]
    return sum(sizes) / 1e6, sorted(more - core)


def _closure(extra: str) -> set[str]:
    found: set[str] = set()
    wanted = [("relblur", extra)]
    while wanted:
        name, with_extra = wanted.pop()
        for text in requires(name) or []:
            each = Requirement(text)
            if each.marker is not None and not each.marker.evaluate({"extra": with_extra}):
                continue
            plain = each.name.lower().replace("_", "-")
            if plain not in found and plain != "relblur":
                found.add(plain)
                wanted.append((each.name, ""))
    return found


def start(*arguments: str) -> tuple[subprocess.Popen[str], str, float]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "relblur", "view", "--no-browser", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip(), began


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has had (Linux), without its children."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return float("nan")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def report(what: str, value: str, goal: str) -> None:
    print(f"{what:58} {value:>14}   ({goal})", flush=True)


def measure_example(page: Page) -> None:
    process, address, began = start()
    try:
        page.goto(address)
        page.wait_for_selector("body[data-ready=yes]", timeout=LONG_MS)
        report("command to a page that answers", f"{time.perf_counter() - began:.2f} s", "goal 2 s, quiet machine")
        report(
            "... of which the server had the processor", f"{processor_seconds(process.pid):.2f} s", "whatever the load"
        )
        page.wait_for_selector("body[data-arrived~=first]", timeout=LONG_MS)
        report("... and shows the pair", f"{time.perf_counter() - began:.2f} s", "")
        page.wait_for_selector("body[data-arrived~=sigma]", timeout=LONG_MS)
        report("... and its first map", f"{time.perf_counter() - began:.2f} s", "")
        page.wait_for_selector("body[data-arrived~=remade]", timeout=LONG_MS)
        page.wait_for_selector("#job", state="hidden", timeout=LONG_MS)
        box = page.locator("#picture").bounding_box()
        assert box is not None
        times = []
        for step in range(20):
            page.evaluate("document.getElementById('findings').dataset.ms = ''")
            page.mouse.click(box["x"] + 60 + 7 * step, box["y"] + 120)
            while not page.locator("#findings").get_attribute("data-ms"):
                page.wait_for_timeout(5)
            times.append(float(page.locator("#findings").get_attribute("data-ms") or "nan"))
        report("click to curve, median of 20", f"{statistics.median(times):.0f} ms", "goal 150 ms")
        quick = page.evaluate(QUICK)
        report("another window to its first map, 512 x 384", f"{quick:.0f} ms", "goal 300 ms at 640 x 480")
    finally:
        process.terminate()
        process.wait()


QUICK = """async () => {
  const before = document.body.dataset.version, start = performance.now();
  await fetch("/api/settings", { method: "POST", body: JSON.stringify({ window: 11 }) });
  while (document.body.dataset.version === before) await new Promise((r) => setTimeout(r, 4));
  return performance.now() - start;
}"""


def measure_large(page: Page, megapixels: float, folder: Path) -> None:
    height = round((megapixels * 1e6 * 3 / 4) ** 0.5)
    width = round(height * 4 / 3)
    rng = np.random.default_rng(0)
    s = rng.normal(size=(height, width)).cumsum(axis=1)
    s *= 4 / np.abs(s).max()
    zeros = np.zeros((height, width))
    relblur.BlurMap(s, 0.1 + zeros, zeros.astype(np.uint8), np.sign(s), {"method": "window"}).save(folder / "map.npz")
    process, address, _ = start(str(folder / "map.npz"))
    try:
        page.goto(address)
        page.wait_for_selector("body[data-arrived~=flags]", timeout=LONG_MS)
        page.wait_for_selector("body[data-arrived~=stderr]", timeout=LONG_MS)
        page.wait_for_timeout(3000)
        for key, name in (("g", "grid of panes"), ("c", "curtain")):
            page.keyboard.press(key)
            page.wait_for_timeout(500)
            rate = page.evaluate(DRAG, "#picture")
            report(f"pan and zoom, {width} x {height}, {name}", f"{rate:.0f} frames/s", "goal 30")
    finally:
        process.terminate()
        process.wait()


def measure_space(page: Page, folder: Path, shape: tuple[int, int] = (480, 640)) -> None:
    """Turn a scene of 307 200 points: frames a second, and how many of the points are drawn meanwhile."""
    rows, columns = np.mgrid[: shape[0], : shape[1]]
    depth = 1.5 + 0.3 * np.sin(columns / 40) * np.cos(rows / 30)
    camera = relblur.Camera(focal_length_mm=25, f_number=2, pixel_pitch_um=20, focus_first_m=1, focus_second_m=2)
    flags = np.zeros(shape, np.uint8)
    relblur.DepthMap(depth, 0.01 + 0 * depth, flags, camera, {"method": "made"}).save(folder / "depth.npz")
    process, address, _ = start(str(folder / "depth.npz"))
    try:
        page.goto(address)
        page.wait_for_selector("body[data-arrived~=depth]", timeout=LONG_MS)
        page.keyboard.press("d")
        page.wait_for_timeout(1000)
        points = page.locator("#cloud-info").inner_text()
        page.evaluate(DRAG, "#cloud")  # in which it learns how many it can draw
        rate = page.evaluate(DRAG, "#cloud")
        drawn, of = (int(page.locator("#cloud").get_attribute(f"data-{name}") or 0) for name in ("moved", "points"))
        report(f"turning {points}", f"{rate:.0f} frames/s", "goal 30 at 300 000")
        report("... of which are drawn while it turns (all at rest)", f"{100 * drawn / of:.0f} %", "")
        report("... turned with all of them", f"{page.evaluate(ALL):.0f} frames/s", "for comparison")
    finally:
        process.terminate()
        process.wait()


def measure_stack(page: Page, megapixels: float, folder: Path, count: int = 5) -> None:
    """Send a stack of JPEG files to the page: seconds until its first picture, its frames, map and fused picture."""
    height = round((megapixels * 1e6 * 3 / 4) ** 0.5)
    width = round(height * 4 / 3)
    rng = np.random.default_rng(0)
    sharp = np.kron(rng.random((height // 4, width // 4)), np.ones((4, 4)))
    best = np.linspace(0, count - 1, sharp.shape[1])
    paths = [folder / f"{number}.jpg" for number in range(count)]
    for number, path in enumerate(paths):
        soft = [gaussian_filter(sharp, sigma) if sigma else sharp for sigma in range(count)]
        away = np.abs(number - best).round().astype(int)
        relblur.save(path, np.choose(away[None, :], soft).clip(0, 1))
    process, address, _ = start()
    try:
        page.goto(address)
        page.wait_for_selector("body[data-arrived~=fused]", timeout=LONG_MS)
        page.wait_for_selector("#job", state="hidden", timeout=LONG_MS)
        page.click("#open")
        page.set_input_files("#file-many", paths)
        began = time.perf_counter()
        page.click("#open-go")
        steps = {"first picture": "=first", "frames in place": "~=frame", "map": "~=index", "fused picture": "~=fused"}
        for what, arrived in steps.items():
            page.wait_for_selector(f"body[data-arrived{arrived}]", timeout=LONG_MS)
            goal = "goal 6 s" if what == "first picture" else ""
            report(f"stack of {count} x {megapixels:g} MP: {what}", f"{time.perf_counter() - began:.1f} s", goal)
    finally:
        process.terminate()
        process.wait()


#: Frames a second if every frame has all points, finely.
ALL = """async () => {
  const canvas = document.querySelector("#cloud");
  const before = Number(canvas.dataset.frames), start = performance.now();
  while (performance.now() - start < 2000) {
    canvas.dispatchEvent(new CustomEvent("draw-all"));
    await new Promise(requestAnimationFrame);
  }
  return (Number(canvas.dataset.frames) - before) / ((performance.now() - start) / 1000);
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megapixels", type=float, default=12.0)
    arguments = parser.parse_args()
    size, packages = extra_megabytes("view")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; relblur {relblur.__version__}")
    report(f"extra 'view' beyond the core ({', '.join(packages)})", f"{size:.1f} MB", "goal 30 MB")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto("about:blank")
        measure_example(page)
        measure_space(page, Path(folder))
        measure_large(page, arguments.megapixels, Path(folder))
        measure_stack(page, arguments.megapixels, Path(folder))
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
