"""The paper's experiments on folders made here: who is who in tables and figures, and that the numbers are right."""

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
from relblur.apps.paper import lens, matrices, pairs, ramps, run
from relblur.apps.paper.claims import CAMERAS
from relblur.apps.paper.data_sets import find_data_sets

# Most of these tests run the whole study on small pairs.
pytestmark = pytest.mark.slow

SHAPE = (32, 40)
#: Columns in which the near image is sharp; the far one is in the others.
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
    """What came out, the figures' panels by file, the shares of progress, and the folder."""
    figures, shares = {}, []

    def draw(path, panels, **how):
        figures[path.name] = (panels, how)
        Image.new("RGB", (8, 8)).save(path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "panels_picture", draw)
        folder = tmp_path_factory.mktemp("made") / "out"
        done = run.reproduce(folder, data, run.Wanted(("table1", "fig6", "fig7")), progress=shares.append)
    return done, figures, shares, folder


PLACES = [
    (number, data_set, factor, size)
    for numbers, data_set in (((1, 2), "Real MFF"), ((3,), "DPDD"))
    for number in numbers
    for factor, size in {1: "160x128", 2: "80x64", 4: "40x32"}.items()
]


def scored(number, factor):
    near, far = (relblur.decimate(image, factor, channel_axis=-1) for image in photographs(number))
    return relblur.evaluate_pair(far, near, channel_axis=-1, method="paper")


@pytest.mark.slow
def test_every_pair_is_scored_at_the_resolutions_of_its_data_set(made):
    done, _, shares, _ = made
    rows = [(row.pair, row.data_set, row.factor, row.resolution) for row in done.table]
    assert rows == [(f"{number:03}", data_set, factor, size) for number, data_set, factor, size in PLACES]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert all(0 < row.seconds < 60 for row in done.table)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(len(PLACES)))
def test_b_is_the_far_image_and_f_the_near_one(made, place):
    number, _, factor, _ = PLACES[place]
    wanted = scored(number, factor)
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
    ("name", "number", "top", "title"),
    [
        ("fig6.png", 1, ["I_F, focused on the foreground", "I_B, focused on the background"], "Real MFF 001, 160x128"),
        ("fig7.png", 3, ["I_B, all in focus (f/22)", "I_F, standard (f/4)"], "DPDD 003, 160x128"),
    ],
)
def test_figures_6_and_7_are_laid_out_as_in_the_paper(made, name, number, top, title):
    done, figures, _, _ = made
    panels, how = figures[name]
    assert how == {"columns": 2}
    assert [panel.title for panel in panels] == [*top, "defocused regions of both", "the same, re-estimated"]
    near, far = photographs(number)
    shown = {"I_F": near, "I_B": far}
    for panel in panels[:2]:
        assert (panel.image == shown[panel.title[:3]]).all()
    near, far = near / 255, far / 255
    sharper = relblur.compare_sharpness(far.mean(axis=2), near.mean(axis=2))
    observed, remade = panels[2].image, panels[3].image
    assert_allclose(observed[sharper == 1], near[sharper == 1], atol=1e-12)
    assert_allclose(observed[sharper == -1], far[sharper == -1], atol=1e-12)
    # Only points of equal sharpness are averaged.
    assert_allclose(observed[sharper == 0], ((near + far) / 2)[sharper == 0], atol=1e-12)
    found = relblur.estimate_blur(far, near, method="paper", channel_axis=-1)
    assert_allclose(remade, relblur.resynthesize(far, near, found, channel_axis=-1), atol=0.01)
    assert np.abs(remade - observed).mean() > 1e-4
    section = next(each for each in done.sections if each.key == name[:4])
    assert section.pictures[0].caption == title
    row = next(row for row in done.table if row.pair == f"{number:03}" and row.factor == 1)
    claims = {claim.what: claim for claim in section.claims}
    assert (claims["e_B"].ours, claims["e_F"].ours) == (f"{row.score.e_first:.4f}", f"{row.score.e_second:.4f}")
    stated = {"fig6.png": ("0.021", "0.025"), "fig7.png": ("0.023", "0.014")}
    assert (claims["e_B"].paper, claims["e_F"].paper) == stated[name]


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
    for row, (data_set, _, size, numbers) in zip(done.table, rows[6:], strict=True):
        assert (row.data_set, row.resolution) == (data_set, size)
        score = row.score
        shares = (score.first_sharper_fraction, score.second_sharper_fraction, score.equal_fraction)
        errors = (
            (score.e_first, score.unblurred_e_first),
            (score.e_second, score.unblurred_e_second),
            (score.held_out_e_first, score.held_out_unblurred_e_first),
            (score.held_out_e_second, score.held_out_unblurred_e_second),
        )
        wanted = [f"{share:.0%}" for share in (*shares, score.scored_fraction)]
        assert numbers.split(" | ") == wanted + [f"{error:.4f} ({before:.4f})" for error, before in errors]
    with open(folder / "table1.csv", newline="") as stream:
        for row, kept in zip(done.table, csv.DictReader(stream), strict=True):
            assert {name: str(value) for name, value in row.as_dict().items()} == kept


def test_a_table_with_stand_ins_says_what_they_are(made):
    rows = made[0].table
    words = "A stand-in is a photograph with blur of our own"
    assert words not in pairs.show_table(rows, "paper").tables[0].note
    stand_ins = [replace(rows[0], data_set=f"{rows[0].data_set} stand-in"), *rows[1:]]
    note = pairs.show_table(stand_ins, "paper").tables[0].note
    assert note.startswith("Mean absolute errors")
    assert words in note


def test_means_are_taken_over_the_pairs_of_a_data_set_and_resolution(made):
    table = made[0].table
    unknown = replace(table[0], score=replace(table[0].score, e_first=float("nan")))
    found = pairs.means([unknown, *table[1:]])
    assert [(row.data_set, row.resolution) for row in found] == [(d, s) for n, d, _, s in PLACES if n != 2]
    assert found[0].score.e_second == pytest.approx((table[0].score.e_second + table[3].score.e_second) / 2)
    assert found[0].score.e_first == table[3].score.e_first  # a pair without an answer does not count


def test_a_limit_counts_for_each_data_set_and_a_pair_can_be_named(data, tmp_path):
    done = run.reproduce(tmp_path / "out", data, run.Wanted(("table1", "fig6"), pairs=("002",), limit=1))
    assert {(row.data_set, row.pair) for row in done.table} == {("Real MFF", "001"), ("DPDD", "003")}
    assert next(each for each in done.sections if each.key == "fig6").pictures[0].caption == "Real MFF 002, 160x128"


def test_what_is_missing_is_replaced_by_stand_ins_that_say_so(tmp_path, monkeypatch):
    monkeypatch.setattr("relblur.apps.paper.stand_ins.photograph", lambda name: photographs(1)[0])
    done = run.reproduce(tmp_path / "out", wanted=run.Wanted(("fig5", "fig7")))
    assert [line.split(" (")[0] for line in done.made_from] == [
        "Real MFF: 1 pair in stand_ins/realmff",
        "DPDD: 1 pair in stand_ins/dpdd",
    ]
    assert all("a stand-in of relblur's own" in line for line in done.made_from)
    captions = [picture.caption for section in done.sections for picture in section.pictures]
    assert captions[1] == "DPDD stand-in 001, 160x128"
    found = find_data_sets(tmp_path / "out" / "stand_ins")
    assert sorted(each.data_set for each in found) == ["dpdd", "realmff"]
    for name in ("fig5.png", "fig7.png", "paper.html"):
        assert (tmp_path / "out" / name).stat().st_size > 1000
    assert not (tmp_path / "out" / "fig6.png").exists()


@pytest.fixture(scope="module")
def small_ramps():
    whole = ramps.photograph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ramps, "photograph", lambda name: whole(name)[250:330, 200:296])
        return ramps.load_ramps()


@pytest.fixture(scope="module")
def fig1(small_ramps, tmp_path_factory):
    """Results, the section, and the panels by file."""
    figures = {}
    folder = tmp_path_factory.mktemp("fig1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ramps, "panels_picture", lambda path, panels, **how: figures.update({path.name: (panels, how)}))
        results = [ramps.make_ramps(ramp) for ramp in small_ramps]
        return results, ramps.show_ramps(folder, small_ramps, results), figures


@pytest.mark.parametrize(
    ("place", "name", "axis", "direction"), [(0, "brick", 0, "top to bottom"), (1, "rocket", 1, "left to right")]
)
def test_fig_1_is_a_ramp_of_known_blur_that_is_found(small_ramps, fig1, place, name, axis, direction):
    ramp, (rows, maps) = small_ramps[place], fig1[0][place]
    assert (ramp.name, ramp.direction) == (name, direction)
    along = np.linspace(1, 2, ramp.truth.shape[axis])
    assert_allclose(ramp.truth, np.broadcast_to(along[:, None] if axis == 0 else along, ramp.truth.shape))
    assert_allclose(ramp.blurred, synth.blur_with_map(ramp.sharp, ramp.truth), atol=1e-12)
    assert [(row.image, row.direction, row.method) for row in rows] == [(name, direction, m) for m in ramps.METHODS]
    for row, sigma in zip(rows, maps, strict=True):
        known = np.isfinite(sigma)
        error = np.abs(np.abs(sigma) - ramp.truth)[known]
        assert row.mean_error_px == pytest.approx(error.mean())
        assert row.mean_relative_error == pytest.approx((error / ramp.truth[known]).mean())
        assert row.error_over_mean == pytest.approx(error.mean() / ramp.truth[known].mean())
        assert row.error_over_largest == pytest.approx(error.mean() / 2)
        assert row.unanswered_fraction == pytest.approx(1 - known.mean())
    by_paper, printed, refined = rows
    assert 0.015 < by_paper.mean_relative_error < 0.02
    assert printed.mean_relative_error > 2 * by_paper.mean_relative_error
    assert refined.mean_relative_error < 0.005
    darker = float(relblur.Framework(normalise=False).F.sum()) * ramp.sharp
    of_darker = relblur.estimate_blur(darker, ramp.blurred, sharper="first", method="paper").sigma
    assert_allclose(maps[1], of_darker)
    remade = synth.blur_with_map(ramp.sharp, np.nan_to_num(maps[0]))
    known = np.isfinite(maps[0])
    assert by_paper.remade_error == pytest.approx(np.abs(remade - ramp.blurred)[known].mean(), rel=1e-6)
    rounded = synth.blur_with_map(ramp.sharp, np.round(ramp.truth, 1))
    assert by_paper.remade_by_rounded_truth == pytest.approx(np.abs(rounded - ramp.blurred).mean(), rel=0.01)


def test_fig_1_is_laid_out_as_in_the_paper(small_ramps, fig1):
    _, section, figures = fig1
    panels, how = figures["fig1.png"]
    assert how == {"columns": 2}
    upper, lower = small_ramps
    for panel, image in zip(panels, (upper.sharp, upper.blurred, lower.sharp, lower.blurred), strict=True):
        assert panel.image is image
    maps, how = figures["fig1_maps.png"]
    assert how["columns"] == 4
    assert len(maps) == 8
    assert [len(table.rows) for table in section.tables] == [6]
    assert {panel.limit for panel in maps} == {2.0}
    stated = [(claim.paper, claim.what.split(",")[1].split(" (")[0].strip()) for claim in section.claims[:2]]
    assert stated == [("1.4 %", "top to bottom"), ("1.47 % (caption), 1.7 % (text)", "left to right")]
    rows = [rows[0] for rows, _ in fig1[0]]
    for claim, row in zip(section.claims[2:], rows, strict=True):
        assert claim.paper == "below 0.0002"
        assert claim.ours == f"{row.remade_error:.6f}"
        assert claim.remark.startswith("holds" if row.remade_error < 0.0002 else "missed")


def test_fig_1_takes_photographs_of_the_user(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (2, 64, 70, 3), dtype=np.uint8)
    for name, image in zip("ab", images, strict=True):
        Image.fromarray(image).save(tmp_path / f"{name}.png")
    upper, lower = ramps.load_ramps([tmp_path / "a.png", tmp_path / "b.png"])
    assert (upper.name, lower.name) == ("a", "b")
    assert_allclose(lower.sharp, images[1].mean(axis=2) / 255)
    assert [ramp.name for ramp in ramps.load_ramps([tmp_path / "a.png"])] == ["a", "a"]
    with pytest.raises(relblur.InputError, match="one or two photographs"):
        run.reproduce(tmp_path / "out", wanted=run.Wanted(images=3 * [tmp_path / "a.png"]))
    Image.fromarray(images[0, :40]).save(tmp_path / "small.png")
    with pytest.raises(relblur.InputError, match=r"small is 70x40; .* at least 64x64 px"):
        ramps.load_ramps([tmp_path / "small.png"])


def test_fig_2_tells_for_which_image_the_circles_hold(tmp_path):
    section = lens.show_lens(tmp_path)
    assert [claim.ours for claim in section.claims] == ["32.1 px", "8.3 px", "47.6 px", "11.9 px"]
    assert [claim.paper for claim in section.claims[::2]] == ["32 px", "48 px"]
    assert lens.circle_px(CAMERAS[1], 105) == pytest.approx(lens.circle_px(CAMERAS[1], 420) / 4)
    with Image.open(tmp_path / "fig2.png") as picture:
        assert picture.width > 800


def test_figs_3_and_4_show_what_is_in_every_block(tmp_path, small_ramps):
    section = matrices.show_framework(tmp_path, small_ramps[0])
    claims = {claim.what: claim.ours for claim in section.claims}
    assert claims["W"] == "5000 x 2601"
    assert claims["different rows of W"] == "50"
    assert claims["sum of F (equation 22)"] == "0.99979"
    assert float(claims["two layers against M separable filters"].split()[0]) < 4e-6
    same = claims["sigma of 40 x 40 px by W and F, and by filters"]
    assert float(re.search(r"([\d.]+)%", same).group(1)) > 99.5
    from relblur.apps.paper.flow import show_evaluation

    error = float(show_evaluation(tmp_path, small_ramps[0]).claims[0].ours)
    ramp = small_ramps[0]
    found = relblur.estimate_blur(ramp.sharp, ramp.blurred, sharper="first", method="paper")
    remade = synth.blur_with_map(ramp.sharp, found.sigma)
    assert error == pytest.approx(np.abs(remade - ramp.blurred).mean(), abs=1e-6)
    for name in ("fig3.png", "fig4.png"):
        with Image.open(tmp_path / name) as picture:
            assert picture.width > 1000


def test_fig_5_has_both_sets_on_their_sides(tmp_path, data, monkeypatch):
    from relblur.apps.paper import flow

    drawn = {}
    monkeypatch.setattr(
        flow.Diagram, "picture", lambda self, place, image, title, **how: drawn.update({title: image}) or place
    )
    shown = pairs.shown_pair(find_data_sets(data / "realmff")[0].pairs[0], "paper")
    section = flow.show_architecture(tmp_path, shown.title, shown.pair, shown.blur_map, shown.score)
    near, far = (image / 255 for image in photographs(1))
    sharper = relblur.compare_sharpness(far.mean(axis=2), near.mean(axis=2))
    # As in the paper: BH and BL are the same points, of I_B and of I_F.
    sides = {
        "BH": (far, sharper == 1),
        "BL": (near, sharper == 1),
        "FH": (near, sharper == -1),
        "FL": (far, sharper == -1),
    }
    for name, (image, where) in sides.items():
        panel = next(value for title, value in drawn.items() if title.startswith(f"{name}:"))
        assert_allclose(panel[where], image[where], atol=1e-12)
        assert (panel[~where] == 1).all()
        if name.endswith("L"):
            hat = next(value for title, value in drawn.items() if f"{{{name}}}" in title)
            assert 0 < np.abs(hat[where] - image[where]).mean() < 0.02
            assert (hat[~where] == 1).all()
    e_b, e_f = f"{shown.score.e_first:.4f}", f"{shown.score.e_second:.4f}"
    assert [claim.ours for claim in section.claims[:2]] == [f"{e_f} / {e_b}", f"{e_b} / {e_f}"]
    shares = [f"{(sharper == side).mean():.0%}" for side in (1, -1, 0)]
    assert section.claims[2].ours == " / ".join(shares)
    assert (shown.blur_map.flags[np.isnan(shown.blur_map.sigma)] & int(Flag.EQUAL)).all()
