"""What `relblur reproduce` draws and quotes: rays to scale, blocks where their arrows end, the paper's own numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur.apps.paper import lens, ramps
from relblur.apps.paper.claims import CAMERAS, PAPER_TABLE
from relblur.plot.diagrams import Diagram, Place

#: Table I, copied from the paper a second time: data set, width x height, shares of B and F in %, e_B, e_F in 1/1000.
TABLE = """
Real MFF, 625x433, 50, 27, 21, 25
Real MFF, 313x217, 43, 39, 16, 12
Real MFF, 157x109, 44, 46, 14, 9
DPDD, 420x280, 76, 24, 23, 14
DPDD, 210x140, 67, 33, 18, 10
DPDD, 105x70, 58, 42, 17, 16
"""


def test_table_1_is_the_papers():
    rows = [line.split(", ") for line in TABLE.strip().splitlines()]
    for row, (data_set, resolution, *numbers) in zip(PAPER_TABLE, rows, strict=True):
        assert (row.data_set, row.resolution) == (data_set, resolution)
        found = (100 * row.b_sharper, 100 * row.f_sharper, 1000 * row.e_b, 1000 * row.e_f)
        assert found == pytest.approx([float(number) for number in numbers])


def test_the_cameras_are_the_papers():
    """Section 6: focal length, f-number, distance of the foreground in mm; pitch in um; widths in px."""
    lytro, canon = ((c.focal_length_mm, c.f_number, c.foreground_mm, c.pixel_pitch_um) for c in CAMERAS)
    assert lytro == (17, 2, 1000, 4.5)
    assert canon == (67, 4, 1100, 21.43)
    assert [(c.width_px, c.table_width_px, c.stated_px) for c in CAMERAS] == [(2450, 625, 32), (1680, 420, 48)]


def test_what_is_said_of_a_claim_that_is_missed():
    row = ramps.RampRow("", "", "", 0, 0, 0, 0, 0.0003, 0.0002, 0, 0)
    assert ramps._why_missed(replace(row, remade_error=0.00019)) == "holds"
    assert "rounded to 0.1 px already makes 0.000200" in ramps._why_missed(replace(row, remade_error=0.0002))
    assert "makes 0.000199 only" in ramps._why_missed(replace(row, remade_by_rounded_truth=0.000199))


def test_pitch_sensor_and_width_of_a_camera_agree():
    for camera in CAMERAS:
        assert 1000 * camera.sensor_mm / camera.width_px == pytest.approx(camera.pixel_pitch_um, rel=0.02)
        assert camera.width_px / camera.table_width_px == pytest.approx(4, rel=0.03)
        assert lens.circle_px(camera) == pytest.approx(camera.stated_px, rel=0.02)


def test_the_rays_of_fig_2_are_to_scale():
    """f = 50 mm, in focus at 150 mm: the sensor is at 75 mm; a point at 230 mm is sharp before it."""
    axis = lens._figure().axes[0]
    drawn = [np.array(line.get_xydata(), float) for line in axis.lines]
    in_focus = [line for line in drawn if len(line) == 3]
    behind = [line for line in drawn if len(line) == 4]
    assert len(in_focus) == len(behind) == 2
    for ray in in_focus:
        assert_allclose(ray[:, 0], [-150, 0, 75])
        assert_allclose(np.abs(ray[:, 1]), [0, 22, 0])
    sharp = 1 / (1 / 50 - 1 / 230)
    for ray in behind:
        assert_allclose(ray[:, 0], [-230, 0, sharp, 75])
        before, after = (ray[2] - ray[1]), (ray[3] - ray[2])
        assert_allclose(before[1] / before[0], after[1] / after[0])  # straight through the point of focus
    ends = sorted(ray[3, 1] for ray in behind)
    bars = [line for line in drawn if len(line) == 2 and line[0, 0] == line[1, 0] == 79]
    assert_allclose(sorted(bars[0][:, 1]), ends)  # the circle of confusion beside the sensor
    (left, right), (bottom, top) = axis.get_xlim(), axis.get_ylim()
    for text in axis.texts:
        x, y = text.get_position()
        assert left < x < right
        assert bottom < y < top


def test_a_block_lies_around_its_middle_and_arrows_end_at_its_edges():
    place = Place(3.0, 2.0, 1.0, 0.5)
    assert place.edge("left") == (2.5, 2.0)
    assert place.edge("right") == (3.5, 2.0)
    assert place.edge("top") == (3.0, 2.25)
    assert place.edge("bottom") == (3.0, 1.75)
    diagram = Diagram(6.0, 4.0)
    assert diagram.box(place, "block") == place
    block = diagram.figure.axes[0].patches[0]
    assert (block.get_x(), block.get_y()) == (2.5, 1.75)
    assert (block.get_width(), block.get_height()) == (1.0, 0.5)
