"""Table I and Figs. 5 to 7 on pairs made here: the places of B and F, means, and the numbers."""

from __future__ import annotations

import csv
import html
import re
from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image  # noqa: TID253

import relblur
from relblur import Flag, PairScore, synth
from relblur.apps.paper import pairs, run
from relblur.apps.paper.data_sets import find_data_sets

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
    """The sections by key, the figures' panels by file, and the folder."""
    figures = {}

    def draw(path, panels, **how):
        figures[path.name] = (panels, how)
        Image.new("RGB", (8, 8)).save(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "panels_picture", draw)
        folder = tmp_path_factory.mktemp("made") / "out"
        sections, _ = run.reproduce(folder, run.Inputs(data), ("table1", "fig5", "fig6", "fig7"))
    return {section.key: section for section in sections}, figures, folder


PLACES = [
    (number, data_set, factor, size)
    for numbers, data_set in (((3,), "DPDD"), ((1, 2), "Real MFF"))
    for number in numbers
    for factor, size in {1: "160x128", 2: "80x64", 4: "40x32"}.items()
]


@pytest.mark.parametrize("place", [0, 4, 8])
def test_b_is_the_far_image_and_f_the_near_one(made, place):
    number, data_set, factor, _ = PLACES[place]
    near, far = (relblur.decimate(image, factor, channel_axis=-1) for image in photographs(number))
    wanted = relblur.evaluate_pair(far, near, channel_axis=-1, method="paper")
    rows = made[0]["table1"].rows
    assert [row["resolution"] for row in rows] == [size for *_, size in PLACES]
    row = rows[place]
    assert (row["pair"], row["data_set"], row["factor"]) == (f"{number:03}", data_set, factor)
    assert row["b_sharper_fraction"] > 1.3 * row["f_sharper_fraction"]  # 26 of 40 columns against 14
    for name, value in wanted.as_dict().items():
        assert row[name.replace("first", "b").replace("second", "f")] == pytest.approx(value, rel=0.02), name
    errors = (wanted.e_first, wanted.e_second, wanted.unblurred_e_first, wanted.unblurred_e_second)
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
    sections, figures, _ = made
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
    section = sections[name[:4]]
    assert section.pictures == ((name, title),)
    row = next(row for row in sections["table1"].rows if row["pair"] == f"{number:03}" and row["factor"] == 1)
    claims = {claim.what: claim for claim in section.claims}
    assert (claims["e_B"].ours, claims["e_F"].ours) == (f"{row['e_b']:.4f}", f"{row['e_f']:.4f}")
    assert (claims["e_B"].paper, claims["e_F"].paper) == stated


def test_fig_5_has_both_sets_on_their_sides(made):
    sections, figures, _ = made
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
    claims, row = sections["fig5"].claims, sections["table1"].rows[3]
    e_b, e_f = f"{row['e_b']:.4f}", f"{row['e_f']:.4f}"
    assert [claim.ours for claim in claims[:2]] == [f"{e_f} / {e_b}", f"{e_b} / {e_f}"]
    assert claims[2].ours == " / ".join(f"{(sharper == side).mean():.0%}" for side in (1, 0, -1))


def test_the_table_has_the_papers_rows_then_means_then_pairs(made):
    sections, _, folder = made
    page = (folder / "paper.html").read_text()
    rows = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", page)]
    text = "".join(f"\n| {html.unescape(' | '.join(cells))} |" for cells in rows) + "\n"
    assert PAPER in text
    assert "| data set | pair | resolution | B sharper | F sharper | equal | scored | e_B (unblurred) |" in text
    found = re.findall(r"^\| (Real MFF|DPDD) \| (mean of \d|\d+) \| (\S+) \| (.*) \|$", text, re.M)
    wanted = sections["table1"].rows
    assert [row[1] for row in found] == 3 * ["mean of 1"] + 3 * ["mean of 2"] + [row["pair"] for row in wanted]
    for row, (_, _, size, numbers) in zip(wanted, found[6:], strict=True):
        assert row["resolution"] == size
        assert f"{row['e_b']:.4f} ({row['unblurred_e_b']:.4f})" in numbers
        assert f"{row['held_out_e_f']:.4f} ({row['held_out_unblurred_e_f']:.4f})" in numbers
    with open(folder / "table1.csv", newline="") as stream:
        for row, kept in zip(wanted, csv.DictReader(stream), strict=True):
            assert {name: str(value) for name, value in row.items()} == kept


def test_means_leave_out_pairs_without_a_value():
    score = dict.fromkeys((each.name for each in fields(PairScore)), 1.0)
    rows = [
        pairs.TableRow("DPDD", name, "8x8", 1, PairScore(**{**score, "e_first": value, "e_second": other}))
        for name, value, other in (("a", 2.0, 2.0), ("b", float("nan"), 4.0))
    ]
    (row,) = pairs.means(rows)
    assert (row.pair, row.score.e_first, row.score.e_second) == ("mean of 2", 2.0, 3.0)


@pytest.mark.slow
def test_a_real_pair_is_remade_better_than_the_paper_reports(shared_data):
    (pair, *_) = (each for each in find_data_sets(shared_data) if each.data_set == "realmff")
    shown = pairs.shown_pair(pair)
    assert (shown.blur_map.flags[np.isnan(shown.blur_map.sigma)] & int(Flag.EQUAL)).all()
    rows = pairs.rows_of(pair)
    assert [row.resolution for row in rows] == ["625x433", "313x217", "157x109"]
    for row in rows:
        assert max(row.score.e_first, row.score.e_second) <= 0.009
        assert row.score.e_first < row.score.held_out_e_first < row.score.held_out_unblurred_e_first
    # Measured over all points, and over those that are neither flat nor clipped.
    assert rows[0].score.e_first == pytest.approx(0.0026, abs=2e-4)
    assert rows[0].score.answered_e_first == pytest.approx(0.0014, abs=3e-4)
