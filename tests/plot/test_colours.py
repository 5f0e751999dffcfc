"""Pictures for people: colours, ticks, sizes, and no slow imports on the way."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from relblur import ComparablePair, estimate_blur, synth
from relblur.apps.video.side_by_side import as_seen, white_of_light
from relblur.base.shown import percentages
from relblur.base.tone import encode_srgb
from relblur.blur.blur_map import Flag
from relblur.paper import compare_sharpness
from relblur.plot.colours import (
    ColourScale,
    flag_colours,
    flag_shares,
    look_of,
    photo,
    rgb,
    scale_for,
    tick_labels,
    to_look_at,
    white_of,
)
from relblur.report.panels import Panel, panels_picture


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("viridis", "viridis"),
        ("viridis_backwards", "viridis_r"),
        ("magma", "magma"),
        ("inferno", "inferno"),
        ("cividis", "cividis"),
        ("grey", "gray"),
        ("blue_red", "RdBu_r"),
        ("pink_green", "PiYG"),
    ],
)
def test_the_scales_are_those_of_matplotlib(name, theirs):
    from matplotlib import colormaps

    wanted = colormaps[theirs](np.arange(256), bytes=True)[:, :3].astype(int)
    assert np.abs(ColourScale(0, 1, name).colours.astype(int) - wanted).max() <= 1


def test_values_beyond_the_ends_take_the_colours_of_the_ends_and_nan_is_grey():
    scale = ColourScale(-1.0, 1.0, "blue_red")
    picture = scale.apply(np.array([[-np.inf, -5.0, -1.0, 0.0, 1.0, 5.0, np.nan]]))
    assert (picture[0, [1, 2]] == scale.colours[0]).all()
    assert (picture[0, [4, 5]] == scale.colours[255]).all()
    assert (picture[0, [0, 6]] == rgb("#9a9a9a")).all()
    assert (picture[0, 3] == scale.colours[128]).all()


def test_a_map_of_both_signs_gets_a_scale_with_zero_in_the_middle():
    both, one = np.linspace(-2, 1, 1000)[None], np.linspace(0, 2, 1000)[None]
    assert scale_for(both, "sigma").low == -scale_for(both, "sigma").high
    assert scale_for(one, "sigma").low == -scale_for(one, "sigma").high  # of one kind with those beside it
    assert scale_for(one, "blur").low == 0
    assert scale_for(np.full((3, 3), np.nan), "stderr").high == 1
    assert scale_for(np.zeros((3, 3)), "error").high > 0


@pytest.mark.parametrize(
    ("low", "high", "most", "texts"),
    [
        (0.0, 1.0, 5, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-1.51, 1.51, 8, ["-1.5", "-1.0", "-0.5", "0.0", "0.5", "1.0", "1.5"]),
        (1.204, 1.2152, 5, ["1.2050", "1.2075", "1.2100", "1.2125", "1.2150"]),
        (0.0, 7e-8, 4, ["0", "2e-08", "4e-08", "6e-08"]),
        (0.0, 3.0, 3, ["0", "1", "2", "3"]),
    ],
)
def test_ticks_are_round_numbers(low, high, most, texts):
    ticks = tick_labels(low, high, most)
    assert [text for _, text in ticks] == texts
    assert all(low - 1e-9 <= value <= high + 1e-9 for value, _ in ticks)
    assert [value for value, _ in ticks] == pytest.approx([float(text) for text in texts])


def test_the_later_of_two_flags_shows_and_is_counted():
    flags = np.array([[0, int(Flag.CLIPPED), int(Flag.CLIPPED | Flag.FILLED), 0]], np.uint8)
    picture = flag_colours(flags)
    assert (picture[0, 0] == rgb("#f2f2f2")).all()
    assert (picture[0, 1] == rgb("#e7298a")).all()
    assert (picture[0, 2] == rgb("#74c476")).all()
    shares = {name: share for name, _, share in flag_shares(flags)}
    assert shares == {"no flag": 0.5, "clipped": 0.25, "filled": 0.25}


def test_written_shares_add_up_and_hide_nothing():
    assert percentages([1 / 3, 1 / 3, 1 / 3]) == ["33.4 %", "33.3 %", "33.3 %"]
    assert percentages([0.12937, 0.37733, 0.4933]) == ["13.0 %", "37.7 %", "49.3 %"]  # rounded one by one: 99.9
    assert percentages([0.9999, 0.0001, 0.0]) == ["100.0 %", "< 0.1 %", "0.0 %"]


def test_a_logarithmic_scale_is_even_in_ratios_and_says_so_in_its_ticks():
    scale = scale_for(np.geomspace(0.02, 4.0, 2001)[None], "stderr")
    assert scale.place(np.array([scale.low, np.sqrt(scale.low * scale.high), scale.high])) == pytest.approx([0, 0.5, 1])
    assert [text for _, text in scale.ticks(9)] == ["0.05", "0.1", "0.2", "0.5", "1", "2"]
    assert [text for _, text in scale.ticks(3)] == ["0.03", "0.1", "0.3", "1", "3"]
    narrow = scale_for(np.linspace(1.2, 1.3, 1001)[None], "depth")
    assert narrow.ticks(6) == tick_labels(narrow.low, narrow.high, 6)
    assert scale.apply(np.array([[0.0, 1e9]])).tolist() == [[scale.colours[0].tolist(), scale.colours[255].tolist()]]


def test_a_wide_map_gets_a_panel_of_at_least_700_px_and_its_key_beside_it(tmp_path):
    from PIL import Image

    flags = np.full((300, 900), int(Flag.FILLED), np.uint8)
    panels_picture(tmp_path / "sheet.png", [Panel("flags", flags, "flags")], heading="two\nlines")
    sheet = np.asarray(Image.open(tmp_path / "sheet.png")).astype(int)
    covered = (np.abs(sheet - rgb("#74c476")) < 3).all(axis=2)
    rows = covered.sum(axis=1)
    assert rows.max() >= 700
    inside = covered[rows > 600]
    whole = inside[:, np.flatnonzero(inside[0])[0] :][:, :700]
    assert whole.all()  # nothing is drawn over the map


@pytest.mark.parametrize("shape", [(60, 90), (1, 200), (200, 1), (7, 7)])
def test_a_panel_shows_its_map_whole_and_upright(tmp_path, shape):
    from PIL import Image

    values = np.zeros(shape)
    values[shape[0] // 2 :, shape[1] // 2 :] = 1.0
    path = tmp_path / "sheet.png"
    panels_picture(path, [Panel("map", values, "error", 1.0), Panel("photo", values)], heading="heading")
    sheet = np.asarray(Image.open(path))
    bright, dark = ColourScale(0, 1, "inferno").colours[[255, 0]].astype(int)
    assert 429 * 0.3 < sheet.shape[0] < 429 * 2.3
    rows, columns = np.nonzero((np.abs(sheet[:, :430].astype(int) - bright) < 8).all(axis=2))
    assert rows.size  # the lower right part, in the first panel's half of the sheet
    if min(shape) > 1:
        dark_rows, dark_columns = np.nonzero((np.abs(sheet[:, 14:430].astype(int) - dark) < 8).all(axis=2))
        assert rows.mean() > dark_rows.mean()
        assert columns.mean() > 14 + dark_columns.mean()


def test_panels_need_neither_matplotlib_nor_scipy(tmp_path):
    code = (
        "import sys, numpy as np; from relblur.report.panels import Panel, panels_picture; z = np.ones((20, 30)); "
        f"panels_picture({str(tmp_path / 'a.png')!r}, [Panel('a', z), Panel('b', z, 'sigma'), "
        "Panel('c', z.astype(np.uint8), 'flags')]); print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"matplotlib", "scipy"} & set(done.stdout.split())
    assert (tmp_path / "a.png").exists()


def test_candidates_are_taken_from_the_sharper_image_of_each_pixel(texture, tmp_path, monkeypatch):
    from relblur.report import steps

    drawn = {}
    monkeypatch.setattr(steps, "panels_picture", lambda path, panels, **_: drawn.update({path.name: panels}))
    field = synth.ramp(texture.shape, -2.0, 2.0, axis=1)
    first, second = synth.pair(texture, field)
    pair = ComparablePair(first, second)
    steps.write_steps(tmp_path, pair, estimate_blur(pair, method="window"))
    count, sigma = (panel.image for panel in drawn["4_candidates.png"])
    assert np.nanmedian(sigma[:, :20]) < -1.3
    assert np.nanmedian(sigma[:, -20:]) > 1.3
    sharper = compare_sharpness(first, second)
    assert (np.isfinite(count) == (sharper != 0)).mean() > 0.999


def test_dim_data_are_stretched_for_display_and_no_others():
    twelve_bits = np.linspace(0, 4000, 400).reshape(20, 20)
    for image in (twelve_bits.astype(np.uint16), twelve_bits / 65535):
        assert white_of(image) == pytest.approx(4000 / 65535)
        assert photo(image).max() == pytest.approx(1)
        assert to_look_at(image, True).max() == pytest.approx(1)
    pair = ComparablePair(twelve_bits / 65535, 0.9 * twelve_bits / 65535, is_light=True)
    look = look_of(pair)
    assert look(pair.first).max() == pytest.approx(1)
    assert look(pair.second).max() == pytest.approx(encode_srgb(0.9), abs=1e-6)
    for image in (np.full((4, 4), 40, np.uint8), np.full((4, 4), 20000, np.uint16), np.full((4, 4), 0.4)):
        assert white_of(image) == 1
    assert photo(np.full((4, 4), 40, np.uint8)).max() == pytest.approx(40 / 255)
    assert white_of(np.zeros((4, 4)), np.full((4, 4), np.nan)) == 1
    assert 1.9 < white_of(np.linspace(0, 2, 1000)) < 2
    assert as_seen(np.array([[0, 4000]], np.uint16), white_of_light(twelve_bits.astype(np.uint16))).tolist() == [
        [0, 255]
    ]
