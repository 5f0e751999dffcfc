"""The paper's experiments on a folder made here, in the layout of the data sets: who is who in table and figures."""

from __future__ import annotations

import csv
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image  # noqa: TID253

import relblur
from relblur import synth
from relblur.studies import reproduce as module

SHAPE = (32, 40)
#: Columns in which the near image is sharp; the far one is in the others.
NEAR = 14
LUMA = np.array([0.2989, 0.5870, 0.1140])

PAPER = """
| Real MFF | the paper's | 625x433 | 50% | 27% | 0.021 | 0.025 | | |
| Real MFF | the paper's | 313x217 | 43% | 39% | 0.016 | 0.012 | | |
| Real MFF | the paper's | 157x109 | 44% | 46% | 0.014 | 0.009 | | |
| DPDD | the paper's | 420x280 | 76% | 24% | 0.023 | 0.014 | | |
| DPDD | the paper's | 210x140 | 67% | 33% | 0.018 | 0.010 | | |
| DPDD | the paper's | 105x70 | 58% | 42% | 0.017 | 0.016 | | |
"""


def photographs(number):
    """A near and a far image in colour, 8 bits: each sharp where the other is not."""
    from skimage import data

    top = 40 * number
    grey = data.gravel()[top : top + 4 * SHAPE[0], : 4 * SHAPE[1]] / 255.0
    scene = grey[:, :, None] * [1.0, 0.8, 0.5]
    near_blur, far_blur = np.zeros(scene.shape[:2]), np.zeros(scene.shape[:2])
    near_blur[:, 4 * NEAR :], far_blur[:, : 4 * NEAR] = 2.5, 2.0
    return [
        np.uint8(np.round(255 * np.clip(synth.blur_with_map(scene, blur, channel_axis=-1), 0, 1)))
        for blur in (near_blur, far_blur)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, suffixes, numbers in (("realmff", "ab", (1, 2)), ("dpdd_test", ("f4", "f22"), (3,))):
        (folder / name).mkdir()
        for number in numbers:
            for suffix, image in zip(suffixes, photographs(number), strict=True):
                Image.fromarray(image).save(folder / name / f"{number:03}_{suffix}.png")
    return folder


@pytest.fixture(scope="module")
def made(data, tmp_path_factory):
    """Rows, the figures' panels by file, the shares of progress, and the folder; without ramps, which others test."""
    figures, shares = {}, []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RAMPS", ())
        patch.setattr(module, "panels_picture", lambda path, panels, **how: figures.update({path.name: (panels, how)}))
        folder = tmp_path_factory.mktemp("made") / "out"
        _, table = module.reproduce(folder, data, progress=shares.append)
    return table, figures, shares, folder


def grey(image, factor):
    return relblur.decimate(image / 255 @ LUMA, factor)


PLACES = [
    (number, data_set, factor, size)
    for numbers, data_set, sizes in (
        ((1, 2), "Real MFF", {1: "160x128", 2: "80x64", 4: "40x32"}),
        ((3,), "DPDD", {2: "80x64", 4: "40x32", 8: "20x16"}),
    )
    for number in numbers
    for factor, size in sizes.items()
]


@pytest.mark.slow
def test_every_pair_is_scored_at_the_resolutions_of_its_data_set(made):
    rows = [(row.pair, row.data_set, row.resolution) for row in made[0]]
    assert rows == [(f"{number:03}", data_set, size) for number, data_set, _, size in PLACES]
    assert made[2] == pytest.approx([1 / 3, 2 / 3, 1])
    assert all(0 < row.seconds < 60 for row in made[0])


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(PLACES)))
def test_b_is_the_far_image_and_f_the_near_one(made, place):
    number, _, factor, _ = PLACES[place]
    near, far = (grey(image, factor) for image in photographs(number))
    found = relblur.estimate_blur(far, near, method="paper")
    score = relblur.evaluate_pair(far, near, found, held_out=False)
    row = made[0][place]
    assert_allclose(row.b_sharper, (found.sharper == 1).mean(), atol=0.005)
    assert_allclose(row.f_sharper, (found.sharper == -1).mean(), atol=0.005)
    assert row.b_sharper > row.f_sharper  # 26 of 40 columns against 14
    assert_allclose(row.e_b, score.e_first, rtol=0.02)
    assert_allclose(row.e_f, score.e_second, rtol=0.02)
    assert_allclose(row.unblurred_e_b, score.unblurred_e_first, rtol=0.02)
    assert_allclose(row.unblurred_e_f, score.unblurred_e_second, rtol=0.02)
    assert_allclose(row.scored_fraction, score.scored_fraction, atol=0.005)
    errors = [score.e_first, score.e_second, score.unblurred_e_first, score.unblurred_e_second]
    assert min(abs(one / other - 1) for i, one in enumerate(errors) for other in errors[:i]) > 0.02


@pytest.mark.parametrize(
    ("name", "number", "factor", "words"),
    [("fig6.png", 1, 1, "Fig. 6: Real MFF 001, 160x128"), ("fig7.png", 3, 2, "Fig. 7: DPDD 003, 80x64")],
)
def test_the_figure_shows_the_first_pair_of_its_data_set(made, name, number, factor, words):
    table, figures, _, _ = made
    assert set(figures) == {"fig6.png", "fig7.png"}
    panels, how = figures[name]
    near, far = (grey(image, factor) for image in photographs(number))
    row = table[PLACES.index(next(place for place in PLACES if place[0] == number))]
    assert how == {"columns": 2, "heading": f"{words}; e_B {row.e_b:.4f}, e_F {row.e_f:.4f}"}
    titles = ["I_F", "I_B", "defocused regions of both", "the same, re-estimated from the sharper image"]
    assert [panel.title for panel in panels] == titles
    assert_allclose(panels[0].image, near, atol=1e-6)
    assert_allclose(panels[1].image, far, atol=1e-6)
    found = relblur.estimate_blur(far, near, method="paper")
    s = found.variance_difference
    assert_allclose(panels[2].image[s > 0], near[s > 0], atol=1e-6)
    assert_allclose(panels[2].image[s < 0], far[s < 0], atol=1e-6)
    remade = relblur.resynthesize(far, near, found)
    assert np.abs(panels[3].image - panels[2].image).mean() > 10 * np.abs(panels[3].image - remade).mean()


def test_the_table_has_the_papers_rows_then_means_then_pairs(made):
    table, _, _, folder = made
    text = (folder / "table.md").read_text()
    assert PAPER in text
    rows = re.findall(r"^\| (Real MFF|DPDD) \| (mean of \d|\d+) \| (\S+) \| (.*) \|$", text, re.M)
    assert [row[1] for row in rows] == 3 * ["mean of 2"] + 3 * ["mean of 1"] + [row.pair for row in table]
    for row, (data_set, _, size, numbers) in zip(table, rows[6:], strict=True):
        assert (row.data_set, row.resolution) == (data_set, size)
        errors = (row.e_b, row.e_f, row.unblurred_e_b, row.unblurred_e_f)
        wanted = [f"{row.b_sharper:.0%}", f"{row.f_sharper:.0%}", *(f"{error:.4f}" for error in errors)]
        assert numbers.split(" | ") == wanted
    with open(folder / "table.csv", newline="") as stream:
        for row, kept in zip(table, csv.DictReader(stream), strict=True):
            assert {name: str(value) for name, value in vars(row).items()} == kept


def test_means_are_taken_over_the_pairs_of_a_data_set_and_resolution(made):
    table = made[0]
    unknown = replace(table[0], e_b=float("nan"))
    found = module.means([unknown, *table[1:]])
    assert [(row.data_set, row.resolution) for row in found] == [(d, s) for n, d, _, s in PLACES if n != 2]
    assert found[0].e_f == pytest.approx((table[0].e_f + table[3].e_f) / 2)
    assert found[0].e_b == table[3].e_b  # a pair without an answer does not count
    assert found[4].scored_fraction == table[7].scored_fraction


def test_a_limit_counts_for_each_data_set(data):
    work = list(module._pairs(data, 1))
    assert [(layout, name, near.name, far.name) for layout, name, near, far in work] == [
        ("realmff", "001", "001_a.png", "001_b.png"),
        ("dpdd", "003", "003_f4.png", "003_f22.png"),
    ]


def test_a_grey_pair_stays_as_it_is():
    pair = relblur.ComparablePair(np.eye(8), np.eye(8))
    assert module.grey_pair(pair) is pair
    colour = relblur.ComparablePair(np.ones((8, 8, 3)) * [1, 0, 0], np.ones((8, 8, 3)) * [0, 1, 0], np.eye(8) > 0)
    found = module.grey_pair(colour)
    assert_allclose([found.first[0, 0], found.second[0, 0]], LUMA[:2])
    assert found.valid is colour.valid


@pytest.fixture(scope="module")
def ramps(tmp_path_factory):
    """Rows of Fig. 1 on small pictures, the panels and headings by file, the shares of progress, table.md."""
    figures, shares = {}, []
    whole = module.photograph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "photograph", lambda name: whole(name)[250:314, 200:280])
        patch.setattr(module, "panels_picture", lambda path, panels, **how: figures.update({path.name: (panels, how)}))
        folder = tmp_path_factory.mktemp("ramps") / "out"
        rows, table = module.reproduce(folder, progress=shares.append)
    assert table == []
    assert shares == [0.5, 1.0]
    return rows, figures, (folder / "table.md").read_text()


@pytest.mark.parametrize(
    ("place", "name", "axis", "direction", "paper"),
    [
        (0, "brick", 0, "top to bottom", "1.4 %"),
        (2, "rocket", 1, "left to right", "1.47 % (caption) or 1.7 % (text)"),
    ],
)
def test_fig_1_is_a_ramp_of_known_blur_that_is_found(ramps, place, name, axis, direction, paper):
    rows, figures, text = ramps
    panels, how = figures[f"fig1_{name}.png"]
    assert how == {"heading": f"Fig. 1: sigma from 1 to 2 px, {direction}"}
    sharp, blurred, truth = (panel.image for panel in panels[:3])
    stored = module.photograph(name)[250:314, 200:280]
    assert_allclose(sharp, stored / 255 if stored.ndim == 2 else stored.mean(axis=2) / 255, atol=1e-6)
    along = np.linspace(1, 2, truth.shape[axis])
    assert_allclose(truth, np.broadcast_to(along[:, None] if axis == 0 else along, truth.shape))
    assert_allclose(blurred, synth.blur_with_map(sharp, truth), atol=1e-6)
    assert [panel.kind for panel in panels] == ["photo", "photo", *3 * ["sigma"]]
    assert {panel.limit for panel in panels[2:]} == {2.0}
    for row, panel, method, figure in zip(
        rows[place : place + 2], panels[3:], ("paper", "refined"), (paper, ""), strict=True
    ):
        assert (row.image, row.direction, row.method) == (name, direction, method)
        known = np.isfinite(panel.image)
        relative = np.abs(panel.image / truth - 1)[known].mean()
        assert row.mean_relative_error == pytest.approx(relative)
        assert relative < 0.05
        assert panel.title == f"{method}: {100 * relative:.3g} % mean error"
        assert row.flat_fraction == pytest.approx(np.isnan(panel.image).mean())
        remade = synth.blur_with_map(sharp, np.nan_to_num(panel.image))
        assert row.remade_error == pytest.approx(np.abs(remade - blurred)[known].mean(), rel=0.3)
        numbers = f"{100 * relative:.3f} % | {row.remade_error:.6f} | {row.flat_fraction:.2%}"
        assert f"| {name} | {direction} | {method} | {numbers} | {figure} |\n" in text
    assert_array_equal(blurred.shape, sharp.shape)
