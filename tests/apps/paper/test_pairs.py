"""Table I and Figs. 5 to 7 on pairs made here: the places of B and F, means, and the numbers."""

from __future__ import annotations

import csv
import html
import re
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

import relblur
from relblur import Flag, synth
from relblur.apps.paper import pairs, run
from relblur.apps.paper.data_sets import PairFiles, find_data_sets

SHAPE = (32, 40)
#: The near image is sharp in the first columns, the far one in the others.
NEAR = 14

PAPER = """
| Real MFF | the paper's | 625x433 | 50% | 27% | 23% | 77% | 0.021 | 0.025 | - | - |
| Real MFF | the paper's | 313x217 | 43% | 39% | 18% | 82% | 0.016 | 0.012 | - | - |
| Real MFF | the paper's | 157x109 | 44% | 46% | 10% | 90% | 0.014 | 0.009 | - | - |
| DPDD | the paper's | 420x280 | 76% | 24% | 0% | 100% | 0.023 | 0.014 | - | - |
| DPDD | the paper's | 210x140 | 67% | 33% | 0% | 100% | 0.018 | 0.010 | - | - |
| DPDD | the paper's | 105x70 | 58% | 42% | 0% | 100% | 0.017 | 0.016 | - | - |
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
    """The numbers, the figures' panels by file, the shares of progress, and the folder."""
    figures, shares = {}, []

    def draw(path, panels, **how):
        figures[path.name] = (panels, how)
        Image.new("RGB", (8, 8)).save(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "panels_picture", draw)
        folder = tmp_path_factory.mktemp("made") / "out"
        done = run.reproduce(folder, run.Study(data), ("table1", "fig5", "fig6", "fig7"), progress=shares.append)
    return done, figures, shares, folder


PLACES = [
    (number, data_set, factor, size)
    for numbers, data_set in (((1, 2), "Real MFF"), ((3,), "DPDD"))
    for number in numbers
    for factor, size in {1: "160x128", 2: "80x64", 4: "40x32"}.items()
]


def test_every_pair_is_scored_at_the_resolutions_of_its_data_set(made):
    done, _, shares, _ = made
    rows = [(row.pair, row.data_set, row.factor, row.resolution) for row in done.table]
    assert rows == [(f"{number:03}", data_set, factor, size) for number, data_set, factor, size in PLACES]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert [section.key for section in done.sections] == ["fig5", "table1", "fig6", "fig7"]


@pytest.mark.parametrize("place", range(0, len(PLACES), 4))
def test_b_is_the_far_image_and_f_the_near_one(made, place):
    number, _, factor, _ = PLACES[place]
    near, far = (relblur.decimate(image, factor, channel_axis=-1) for image in photographs(number))
    wanted = relblur.evaluate_pair(far, near, channel_axis=-1, method="paper")
    row = made[0].table[place].as_dict()
    assert row["b_sharper_fraction"] > 1.3 * row["f_sharper_fraction"]  # 26 of 40 columns against 14
    names = {
        "b_sharper_fraction": wanted.first_sharper_fraction,
        "f_sharper_fraction": wanted.second_sharper_fraction,
        "e_b": wanted.e_first,
        "e_f": wanted.e_second,
        "unblurred_e_b": wanted.unblurred_e_first,
        "unblurred_e_f": wanted.unblurred_e_second,
        "held_out_e_b": wanted.held_out_e_first,
        "held_out_e_f": wanted.held_out_e_second,
    }
    for name, value in names.items():
        assert row[name] == pytest.approx(value, rel=0.02), name
    assert row["scored_fraction"] == pytest.approx(1 - row["equal_fraction"])
    errors = [names[name] for name in ("e_b", "e_f", "unblurred_e_b", "unblurred_e_f")]
    assert min(abs(one / other - 1) for i, one in enumerate(errors) for other in errors[:i]) > 0.02


@pytest.mark.parametrize(
    ("name", "number", "top", "title", "stated"),
    [
        (
            "fig6.png",
            1,
            ["I_F, focused on the foreground", "I_B, focused on the background"],
            "Real MFF 001, 160x128",
            ("0.021", "0.025"),
        ),
        (
            "fig7.png",
            3,
            ["I_B, all in focus (f/22)", "I_F, standard (f/4)"],
            "DPDD 003, 160x128",
            ("0.023", "0.014"),
        ),
    ],
)
def test_figures_6_and_7_are_laid_out_as_in_the_paper(made, name, number, top, title, stated):
    done, figures, _, _ = made
    panels, how = figures[name]
    assert how == {"columns": 2}
    assert [panel.title for panel in panels] == [*top, "defocused regions of both", "the same, re-estimated"]
    near, far = photographs(number)
    shown = {"I_F": near, "I_B": far}
    for panel in panels[:2]:
        assert (panel.image == shown[panel.title[:3]]).all()
    near, far = near / 255, far / 255
    sharper = relblur.paper.compare_sharpness(far.mean(axis=2), near.mean(axis=2))
    observed, remade = panels[2].image, panels[3].image
    assert_allclose(observed[sharper == 1], near[sharper == 1], atol=1e-12)
    assert_allclose(observed[sharper == -1], far[sharper == -1], atol=1e-12)
    assert_allclose(observed[sharper == 0], ((near + far) / 2)[sharper == 0], atol=1e-12)
    assert 1e-4 < np.abs(remade - observed).mean() < 0.02
    section = next(each for each in done.sections if each.key == name[:4])
    assert section.pictures == ((name, title),)
    row = next(row for row in done.table if row.pair == f"{number:03}" and row.factor == 1)
    claims = {claim.what: claim for claim in section.claims}
    assert (claims["e_B"].ours, claims["e_F"].ours) == (f"{row.score.e_first:.4f}", f"{row.score.e_second:.4f}")
    assert (claims["e_B"].paper, claims["e_F"].paper) == stated


def test_fig_5_has_both_sets_on_their_sides(made):
    done, figures, _, _ = made
    drawn = {panel.title: panel.image for panel in figures["fig5.png"][0]}
    near, far = (image / 255 for image in photographs(1))
    sharper = relblur.paper.compare_sharpness(far.mean(axis=2), near.mean(axis=2))
    # As in the paper: BH and BL are the same points, of I_B and of I_F.
    sides = {"BH": (far, 1), "BL": (near, 1), "FH": (near, -1), "FL": (far, -1)}
    for name, (image, side) in sides.items():
        where = sharper == side
        panel = next(value for title, value in drawn.items() if title.startswith(f"{name}:"))
        assert_allclose(panel[where], image[where], atol=1e-6)
        assert (panel[~where] == 1).all()
        if name.endswith("L"):
            remade = next(value for title, value in drawn.items() if title.startswith(f"{name} re-made"))
            assert 0 < np.abs(remade[where] - image[where]).mean() < 0.02
            assert (remade[~where] == 1).all()
    section, row = done.sections[0], done.table[0].score
    e_b, e_f = f"{row.e_first:.4f}", f"{row.e_second:.4f}"
    assert [claim.ours for claim in section.claims[:2]] == [f"{e_f} / {e_b}", f"{e_b} / {e_f}"]
    assert section.claims[2].ours == " / ".join(f"{(sharper == side).mean():.0%}" for side in (1, -1, 0))


def _rows(page):
    """The rows of all tables of a page, a line each."""
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page)]
    return "".join(f"\n| {html.unescape(' | '.join(cells))} |" for cells in rows) + "\n"


def test_the_table_has_the_papers_rows_then_means_then_pairs(made):
    done, _, _, folder = made
    text = _rows((folder / "paper.html").read_text())
    assert PAPER in text
    assert "| data set | pair | resolution | B sharper | F sharper | equal | scored | e_B (unblurred) |" in text
    rows = re.findall(r"^\| (Real MFF|DPDD) \| (mean of \d|\d+) \| (\S+) \| (.*) \|$", text, re.M)
    assert [row[1] for row in rows] == 3 * ["mean of 2"] + 3 * ["mean of 1"] + [row.pair for row in done.table]
    for row, (_, _, size, numbers) in zip(done.table, rows[6:], strict=True):
        assert row.resolution == size
        assert f"{row.score.e_first:.4f} ({row.score.unblurred_e_first:.4f})" in numbers
        assert f"{row.score.held_out_e_second:.4f} ({row.score.held_out_unblurred_e_second:.4f})" in numbers
    with open(folder / "table1.csv", newline="") as stream:
        for row, kept in zip(done.table, csv.DictReader(stream), strict=True):
            assert {name: str(value) for name, value in row.as_dict().items()} == kept


def test_means_are_taken_over_the_pairs_of_a_data_set_and_resolution(made):
    table = made[0].table
    unknown = replace(table[0], score=replace(table[0].score, e_first=float("nan")))
    found = pairs.means([unknown, *table[1:]])
    assert [(row.data_set, row.resolution) for row in found] == [(d, s) for n, d, _, s in PLACES if n != 2]
    assert found[0].score.e_second == pytest.approx((table[0].score.e_second + table[3].score.e_second) / 2)
    assert found[0].score.e_first == table[3].score.e_first  # a pair without an answer does not count


def test_resolutions_that_leave_less_than_16_pixels_are_left_out(tmp_path, monkeypatch):
    """But the pair as it is counts, however small."""
    monkeypatch.setattr(pairs, "score_row", lambda reduced, *_: reduced.shape)
    for side, shapes in ((64, [(64, 80), (32, 40), (16, 20)]), (63, [(63, 80), (32, 40)]), (10, [(10, 80)])):
        for name in "fb":
            Image.fromarray(np.full((side, 80), 99, np.uint8)).save(tmp_path / f"{side}_{name}.png")
        files = PairFiles("realmff", "one", tmp_path / f"{side}_f.png", tmp_path / f"{side}_b.png")
        assert pairs.rows_of(files, "paper") == shapes


@pytest.mark.slow
def test_a_real_pair_is_remade_better_than_the_paper_reports(shared_data):
    sets = {each.data_set: each for each in find_data_sets(shared_data)}
    assert set(sets) == {"realmff", "dpdd"}
    shown = pairs.shown_pair(sets["realmff"].pairs[0], "paper")
    assert (shown.blur_map.flags[np.isnan(shown.blur_map.sigma)] & int(Flag.EQUAL)).all()
    rows = pairs.rows_of(sets["realmff"].pairs[0], "paper")
    assert [row.resolution for row in rows] == ["625x433", "313x217", "157x109"]
    for row in rows:
        assert max(row.score.e_first, row.score.e_second) <= 0.009
        assert row.score.e_first < row.score.held_out_e_first < row.score.held_out_unblurred_e_first
    # Measured over all points, and over those that are neither flat nor clipped.
    assert rows[0].score.e_first == pytest.approx(0.0026, abs=2e-4)
    assert rows[0].score.answered_e_first == pytest.approx(0.0014, abs=3e-4)
