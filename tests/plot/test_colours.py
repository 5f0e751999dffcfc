"""Colours of maps, ticks, fading, photographs for a screen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from relblur import BlurMap, Camera, ComparablePair, DepthMap
from relblur.base.shown import percentages
from relblur.base.tone import encode_srgb
from relblur.blur.blur_map import Flag
from relblur.plot.colours import (
    NO_ANSWER,
    ColourScale,
    MapView,
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


def test_every_bar_has_three_ticks():
    for low, high in ((0.0, 1.0), (0.6, 1.1), (3.0, 3.4), (0.01, 0.02), (1.0, 900.0), (2.0, 9.0)):
        for kind in ("level", "stderr", "depth"):
            ticks = scale_for(np.linspace(low, high, 200), kind).ticks(2)
            assert len({text for _, text in ticks}) == len(ticks) >= 3, (low, high, kind)


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
    for place, colour in enumerate(("#f2f2f2", "#e7298a", "#74c476")):
        assert (flag_colours(flags)[0, place] == rgb(colour)).all()
    shares = {name: share for name, _, share in flag_shares(flags)}
    assert shares == {"no flag": 0.5, "clipped": 0.25, "filled": 0.25}


def test_written_shares_add_up_and_hide_nothing():
    assert percentages([1 / 3, 1 / 3, 1 / 3]) == ["33.4 %", "33.3 %", "33.3 %"]
    assert percentages([0.9999, 0.0001, 0.0]) == ["100.0 %", "< 0.1 %", "0.0 %"]


def test_a_logarithmic_scale_is_even_in_ratios_and_says_so_in_its_ticks():
    scale = scale_for(np.geomspace(0.02, 4.0, 2001)[None], "stderr")
    assert scale.place(np.array([scale.low, np.sqrt(scale.low * scale.high), scale.high])) == pytest.approx([0, 0.5, 1])
    assert [text for _, text in scale.ticks(9)] == ["0.05", "0.1", "0.2", "0.5", "1", "2"]
    assert [text for _, text in scale.ticks(3)] == ["0.03", "0.1", "0.3", "1", "3"]
    narrow = scale_for(np.linspace(1.2, 1.3, 1001)[None], "depth")
    assert narrow.ticks(6) == tick_labels(narrow.low, narrow.high, 6)
    assert scale.apply(np.array([[0.0, 1e9]])).tolist() == [[scale.colours[0].tolist(), scale.colours[255].tolist()]]


def test_filled_pixels_fade_by_their_standard_error():
    s = np.full((1, 4), 1.0)
    flags = np.array([[0, Flag.FILLED, Flag.FILLED, Flag.FILLED]], np.uint8)
    view = MapView.of(BlurMap(s, np.array([[9.0, 0.0, 0.4, np.inf]]), flags, s))
    assert view.label == "relative blur (px), positive: second is blurrier"
    one = replace(view, scale=ColourScale(-1.0, 1.0, "blue_red"))
    assert one.opacity[0].tolist() == pytest.approx([1.0, 1.0, 0.5, 0.0], abs=0.02)  # the third has 0.2 px
    assert one.scale.apply(view.values, one.opacity)[0, 3].tolist() == list(rgb(NO_ANSWER))
    assert MapView.of(BlurMap(s, s, 0 * flags, s)).opacity is None
    small = view.thinned(2)
    assert (small.values.shape, small.flags.tolist()) == ((1, 2), [[0, 64]])


def test_pixels_without_a_flag_determine_the_scale_of_a_depth_map():
    depth = np.linspace(1.0, 2.0, 200).reshape(10, 20)
    flags = np.zeros(depth.shape, np.uint8)
    depth[0, :5], flags[0, :5] = 1000.0, Flag.FILLED
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    assert MapView.of(DepthMap(depth, 0.1 * depth, flags, camera)).scale.high < 2
    assert MapView.of(DepthMap(depth, 0.1 * depth, flags | Flag.FILLED, camera)).scale.high > 100


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
