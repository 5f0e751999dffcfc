"""The page of the paper's figures, and the numbers in the list of its errata."""

from __future__ import annotations

import html
import math
import re

import numpy as np

from conftest import ROOT
from relblur.apps.paper.claims import CAMERAS, PAPER_TABLE, Claim, Section, page
from relblur.apps.paper.theory import circle_px
from relblur.filters.kernels import kernel_radius
from relblur.paper import Framework
from relblur.report.html import Table

ERRATA = (ROOT / "docs" / "framework.md").read_text(encoding="utf-8").partition("## Errata")[2]

SECTION = Section(
    key="fig9",
    title="Fig. 9: a < b",
    paper_shows="what the paper shows & states",
    finding="what came out",
    pictures=(("one.png", "a picture"),),
    claims=(Claim("error", "1 %", "2 %", "a | b"),),
    tables=(Table("Numbers", ("x", "y"), (("1", "the paper's"), ("mean of 3", "<4>")), "a note", (0,)),),
)


def test_the_cameras_are_the_papers():
    """Section 6: focal length, f-number, distance of the foreground in mm; pitch in um; widths in px."""
    lytro, canon = ((c.focal_length_mm, c.f_number, c.foreground_mm, c.pixel_pitch_um) for c in CAMERAS)
    assert lytro == (17, 2, 1000, 4.5)
    assert canon == (67, 4, 1100, 21.43)
    assert [(c.width_px, c.table_width_px, c.stated_px) for c in CAMERAS] == [(2450, 625, 32), (1680, 420, 48)]


def test_the_page_needs_no_other_file_and_contains_everything(tmp_path):
    (tmp_path / "one.png").write_bytes(b"\x89PNG!")
    text = page(tmp_path, [SECTION], ["DPDD: 3 pairs in a & b"])
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["#fig9", "data:image/png;base64,iVBORyE="]
    shown = html.unescape(re.sub("<[^>]*>", " ", text))
    for words in ("Fig. 9: a < b", "shows & states", "what came out", "error", "2 %", "<4>", "a note", "in a & b"):
        assert words in shown
    assert '<tr class="stated"><th scope="row">1</th>' in text


def _errata(words):
    return next(line for line in ERRATA.splitlines() if words in line)


def test_the_list_of_errata_has_the_numbers_that_come_out():
    assert f"{(2 * kernel_radius(5.0) + 1) ** 2} times too small" in _errata("R_s^2")
    assert f"{float(Framework(normalise=False).F.sum()):.5f}" in _errata("sum of F")
    assert f"{math.exp(-12.5):.2e}" in _errata("tail beyond")
    assert f"{_kaiser_side_lobe_db(8, 10.0):.1f} dB" in _errata("-47.1 dB")
    assert f"side tap {math.exp(-0.5 / 0.2**2):.0e}" in _errata("starts at 0.1 px")
    for error in _rounding_errors():
        assert f"{error:.2%}" in _errata("rounding to the grid")
    assert f"{max(max(row.e_b, row.e_f) for row in PAPER_TABLE):.3f}" in _errata("under 2 %")
    here = [f"{circle_px(camera, camera.table_width_px):.1f}" for camera in CAMERAS]
    assert " and ".join(here) in _errata("C_max")


def _rounding_errors():
    """What rounding to 0.1 px costs a ramp from 1 to 2 px: relative, by the mean, by the largest sigma."""
    truth = np.linspace(1, 2, 100_001)
    error = np.abs(np.round(10 * truth) / 10 - truth)
    return (error / truth).mean(), error.mean() / truth.mean(), error.mean() / truth.max()


def _kaiser_side_lobe_db(half_width, beta):
    """The highest side lobe of a Kaiser window, relative to its main lobe."""
    spectrum = np.abs(np.fft.rfft(np.kaiser(2 * half_width + 1, beta), 1 << 16))
    first_zero = int(np.argmax(np.diff(spectrum) > 0))
    return float(20 * np.log10(spectrum[first_zero:].max() / spectrum[0]))
