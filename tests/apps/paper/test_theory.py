"""Figs. 2 to 4: rays to scale, the contents of the framework, the image re-made."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

import relblur
from relblur import synth
from relblur.apps.paper import theory
from relblur.apps.paper.claims import CAMERAS


def test_equation_8_holds_for_images_of_the_stated_width(tmp_path):
    section = theory.show_lens(tmp_path)
    assert [claim.ours for claim in section.claims] == ["32.1 px", "8.3 px", "47.6 px", "11.9 px"]
    assert [claim.paper for claim in section.claims[::2]] == ["32 px", "48 px"]
    assert theory.circle_px(CAMERAS[1], 105) == pytest.approx(theory.circle_px(CAMERAS[1], 420) / 4)
    for camera in CAMERAS:
        assert 1000 * camera.sensor_mm / camera.width_px == pytest.approx(camera.pixel_pitch_um, rel=0.02)
        assert camera.width_px / camera.table_width_px == pytest.approx(4, rel=0.03)
        assert theory.circle_px(camera) == pytest.approx(camera.stated_px, rel=0.02)


def test_the_rays_of_fig_2_are_to_scale():
    """f = 50 mm, in focus at 150 mm: the sensor is at 75 mm; the image of a point at 230 mm lies before it."""
    drawn = [np.array(line.get_xydata(), float) for line in theory._lens().axes[0].lines]
    in_focus, behind = ([line for line in drawn if len(line) == count] for count in (3, 4))
    for ray in in_focus:
        assert_allclose(ray[:, 0], [-150, 0, 75])
        assert_allclose(np.abs(ray[:, 1]), [0, 22, 0])
    for ray in behind:
        assert_allclose(ray[:, 0], [-230, 0, 1 / (1 / 50 - 1 / 230), 75])
        before, after = (ray[2] - ray[1]), (ray[3] - ray[2])
        assert_allclose(before[1] / before[0], after[1] / after[0])  # straight through the image of the point


def test_fig_3_has_the_papers_dimensions_and_the_two_layers_are_a_bank(tmp_path, small_ramps):
    claims = {claim.what: claim.ours for claim in theory.show_framework(tmp_path, small_ramps[0]).claims}
    assert claims["W"] == "5000 x 2601"
    assert claims["different rows of W"] == "50"
    assert claims["sum of F (equation 22)"] == "0.99979"
    assert float(claims["two layers against M separable filters"].split()[0]) < 4e-6
    with Image.open(tmp_path / "fig3.png") as picture:
        assert picture.width > 1000


def test_fig_4_re_makes_the_r_image_from_the_estimate(tmp_path, small_ramps):
    ramp = small_ramps[0]
    error = float(theory.show_evaluation(tmp_path, ramp).claims[0].ours)
    found = relblur.estimate_blur(ramp.sharp, ramp.blurred, sharper="first", method="paper")
    remade = synth.blur_with_map(ramp.sharp, found.sigma)
    assert error == pytest.approx(np.abs(remade - ramp.blurred).mean(), abs=1e-6)
    assert (tmp_path / "fig4.png").stat().st_size > 1000
