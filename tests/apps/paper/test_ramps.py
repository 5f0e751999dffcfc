"""Fig. 1: ramps of known blur, and the errors of every estimator on them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

import relblur
from relblur import synth
from relblur.apps.paper import ramps


@pytest.fixture(scope="module")
def fig1(small_ramps, tmp_path_factory):
    """Rows and maps of each ramp, the section, and the panels by file."""
    figures, results, measure = {}, [], ramps.ramp_rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ramps, "panels_picture", lambda path, panels, **how: figures.update({path.name: (panels, how)}))
        patch.setattr(ramps, "ramp_rows", lambda ramp: results.append(measure(ramp)) or results[-1])
        return results, ramps.show_ramps(tmp_path_factory.mktemp("fig1"), small_ramps), figures


@pytest.mark.parametrize(
    ("place", "name", "axis", "direction"), [(0, "brick", 0, "top to bottom"), (1, "rocket", 1, "left to right")]
)
def test_every_row_has_the_errors_of_its_map(small_ramps, fig1, place, name, axis, direction):
    ramp, (rows, maps) = small_ramps[place], fig1[0][place]
    assert (ramp.name, ramp.direction) == (name, direction)
    along = np.linspace(1, 2, ramp.truth.shape[axis])
    assert_allclose(ramp.truth, np.broadcast_to(along[:, None] if axis == 0 else along, ramp.truth.shape))
    assert_allclose(ramp.blurred, synth.blur_with_map(ramp.sharp, ramp.truth), atol=1e-12)
    assert [(row["image"], row["direction"], row["method"]) for row in rows] == [
        (name, direction, m) for m in ramps.METHODS
    ]
    for row, sigma in zip(rows, maps, strict=True):
        known = np.isfinite(sigma)
        error = np.abs(np.abs(sigma) - ramp.truth)[known]
        assert row["error_px"] == pytest.approx(error.mean())
        assert row["relative_error"] == pytest.approx((error / ramp.truth[known]).mean())
        assert row["over_mean"] == pytest.approx(error.mean() / ramp.truth[known].mean())
        assert row["over_largest"] == pytest.approx(error.mean() / 2)
        assert row["unanswered"] == pytest.approx(1 - known.mean())
    by_paper, printed, refined = rows
    assert 0.015 < by_paper["relative_error"] < 0.02  # the grid of 0.1 px
    assert printed["relative_error"] > 2 * by_paper["relative_error"]
    assert refined["relative_error"] < 0.005
    remade = synth.blur_with_map(ramp.sharp, np.nan_to_num(maps[0]))
    known = np.isfinite(maps[0])
    assert by_paper["remade_error"] == pytest.approx(np.abs(remade - ramp.blurred)[known].mean(), rel=1e-6)
    rounded = synth.blur_with_map(ramp.sharp, np.round(ramp.truth, 1))
    assert by_paper["remade_by_rounding"] == pytest.approx(np.abs(rounded - ramp.blurred).mean(), rel=0.01)


def test_fig_1_is_laid_out_as_in_the_paper(small_ramps, fig1):
    results, section, figures = fig1
    panels, how = figures["fig1.png"]
    assert how == {"columns": 2}
    upper, lower = small_ramps
    assert [panel.image for panel in panels] == [upper.sharp, upper.blurred, lower.sharp, lower.blurred]
    maps, how = figures["fig1_maps.png"]
    assert (how["columns"], len(maps)) == (4, 8)
    assert {panel.limit for panel in maps} == {2.0}
    assert [len(table.rows) for table in section.tables] == [6]
    stated = [(claim.paper, claim.what.split(",")[1].split(" (")[0].strip()) for claim in section.claims[:2]]
    assert stated == [("1.4 %", "top to bottom"), ("1.47 % (caption), 1.7 % (text)", "left to right")]
    for claim, (rows, _) in zip(section.claims[2:], results, strict=True):
        assert (claim.paper, claim.ours) == ("below 0.0002", f"{rows[0]['remade_error']:.6f}")


def test_photographs_of_the_user_are_taken(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (2, 64, 70, 3), dtype=np.uint8)
    for name, image in zip("ab", images, strict=True):
        Image.fromarray(image).save(tmp_path / f"{name}.png")
    upper, lower = ramps.load_ramps([tmp_path / "a.png", tmp_path / "b.png"])
    assert (upper.name, lower.name) == ("a", "b")
    assert_allclose(lower.sharp, images[1].mean(axis=2) / 255)
    assert [ramp.name for ramp in ramps.load_ramps([tmp_path / "a.png"])] == ["a", "a"]
    Image.fromarray(images[0, :40]).save(tmp_path / "small.png")
    with pytest.raises(relblur.InputError, match=r"small is 70x40; .* at least 64x64 px"):
        ramps.load_ramps([tmp_path / "small.png"])
