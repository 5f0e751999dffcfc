"""Measure the viewer: time until the page, the pictures of a stack and a curve appear.

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
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright
from scipy.ndimage import gaussian_filter

import relblur

FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --enable-unsafe-swiftshader"
)
LONG_MS = 600_000


def start(*arguments: str) -> tuple[subprocess.Popen[str], str, float]:
    began = time.perf_counter()
    command = [sys.executable, "-m", "relblur", "view", "--no-browser", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip(), began


def report(what: str, value: str, goal: str) -> None:
    print(f"{what:58} {value:>14}   ({goal})", flush=True)


def measure_example(page: Page) -> None:
    process, address, began = start()
    try:
        page.goto(address)
        page.wait_for_selector("body[data-ready=yes]", timeout=LONG_MS)
        report("command to a page that answers", f"{time.perf_counter() - began:.2f} s", "goal 2 s, quiet machine")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megapixels", type=float, default=12.0)
    arguments = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; relblur {relblur.__version__}")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no Chromium: apt-get install chromium")
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS.split())
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto("about:blank")
        measure_example(page)
        measure_stack(page, arguments.megapixels, Path(folder))
        browser.close()
    print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
