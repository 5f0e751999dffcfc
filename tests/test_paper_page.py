"""The page and the Markdown of the paper's figures, and the slips with their numbers."""

from __future__ import annotations

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from relblur.studies.paper.page import page
from relblur.studies.paper.sections import Claim, Picture, Section, Table, as_markdown
from relblur.studies.paper.slips import _side_tap, kaiser_side_lobe_db, rounding_errors, show_slips, slips

SECTION = Section(
    key="fig9",
    title="Fig. 9: a < b",
    paper_shows="what the paper shows & states",
    finding="what came out",
    pictures=(Picture("one.png", "a picture"),),
    claims=(Claim("error", "1 %", "2 %", "a | b"),),
    tables=(Table("Numbers", ("x", "y"), (("1", "the paper's"), ("mean of 3", "<4>")), "a note"),),
)


class Checker(HTMLParser):
    """Opened and closed tags, and what the page would load from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open, self.sources, self.text = [], [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img"):
            self.open.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def test_the_page_needs_no_other_file_and_says_everything(tmp_path):
    (tmp_path / "one.png").write_bytes(b"PNG!")
    text = page(tmp_path, [SECTION], ["DPDD: 3 pairs in a & b"])
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    embedded = "data:image/png;base64," + base64.b64encode(b"PNG!").decode()
    assert checker.sources == ["#fig9", embedded]
    said = " ".join(checker.text)
    for words in ("Fig. 9: a < b", "shows & states", "what came out", "error", "2 %", "<4>", "a note", "in a & b"):
        assert words in said
    assert re.search(r'<tr class="stated"><td class="whole">1</td>', text)
    assert '<tr class="mean">' in text
    assert "http" not in text
    long = replace(SECTION, tables=(replace(SECTION.tables[0], is_long=True),))
    assert "<details><summary>Numbers</summary>" in page(tmp_path, [long], [])


def test_short_cells_stay_on_one_line(tmp_path):
    cells = ("a" * 19, "b" * 20)
    text = page(tmp_path, [replace(SECTION, pictures=(), tables=(Table("", ("x", "y"), (cells,)),))], [])
    assert f'<td class="whole">{cells[0]}</td>' in text
    assert f"<td>{cells[1]}</td>" in text


def test_markdown_has_the_same_in_tables():
    text = as_markdown([SECTION])
    assert "## Fig. 9: a < b" in text
    assert "![a picture](one.png)" in text
    assert "| what | the paper | here | remark |\n|---|---|---|---|\n| error | 1 % | 2 % | a \\| b |" in text
    assert "| mean of 3 | <4> |" in text


def test_slips_are_shown_with_numbers_of_our_own():
    rows = {(where, says): so for where, says, so in slips()}
    assert len(rows) == len(slips()) == len(show_slips().tables[0].rows)

    def told(words):
        return next(f"{says}: {so}" for (_, says), so in rows.items() if words in f"{says} {so}")

    assert "2601 times too small" in told("R_s^2")
    assert "0.99979" in told("sum of F")
    assert "3.73e-06" in told("tail beyond")
    assert "-74.1 dB" in told("-47.1 dB")
    assert "1.73%" in told("rounding to the grid")
    assert "1.67%" in told("rounding to the grid")
    assert "1.25%" in told("rounding to the grid")
    assert "0.025" in told("under 2 %")
    assert "8.3 and 11.9" in told("C_max")


def test_rounding_to_the_grid_costs_what_integration_says():
    assert rounding_errors() == pytest.approx([0.025 * np.log(2), 0.025 / 1.5, 0.0125], rel=2e-3)


def test_the_side_lobe_is_that_of_the_window():
    assert kaiser_side_lobe_db(8, 1e-9) == pytest.approx(-13.0, abs=0.3)  # of a rectangle
    assert kaiser_side_lobe_db() == pytest.approx(-74.1, abs=0.1)


def test_a_neighbours_weight_is_the_gaussians():
    for sigma in (0.1, 0.5, 2.0):
        gaussian = np.exp(-(np.array([0.0, 1.0]) ** 2) / (2 * sigma**2))
        assert _side_tap(sigma) == pytest.approx(gaussian[1] / gaussian[0])
