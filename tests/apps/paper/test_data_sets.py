"""The layouts of the paper's data sets on a disk."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

from paper_sets import make_data_set
from relblur import InputError
from relblur.apps.paper.data_sets import factors, find_data_sets
from relblur.base.errors import FileError
from relblur.paper import compare_sharpness


def read(path):
    return np.asarray(Image.open(path)) / 255.0


@pytest.mark.parametrize(
    ("layout", "data_set", "near", "far", "how"),
    [
        ("realmff", "realmff", "imageA/001_A.png", "imageB/001_B.png", "as it unpacks"),
        ("realmff flat", "realmff", "001_a.png", "001_b.png", "flat"),
        ("dpdd", "dpdd", "test_c/source/1P0A0001.png", "test_c/target/1P0A0002.png", "as it unpacks"),
        ("dpdd flat", "dpdd", "01_f4.png", "01_f22.png", "flat"),
    ],
)
def test_a_data_set_is_found_in_its_layouts_with_its_images_in_their_places(tmp_path, layout, data_set, near, far, how):
    make_data_set(tmp_path / "set", layout, pairs=2)
    (found,) = find_data_sets(tmp_path / "set")
    assert (found.data_set, found.layout, found.folder) == (data_set, how, tmp_path / "set")
    assert found.describe().endswith(f"2 pairs in {tmp_path / 'set'} ({how})")
    pair = found.pairs[0]
    assert (pair.foreground, pair.background) == (tmp_path / "set" / near, tmp_path / "set" / far)
    sharper = compare_sharpness(read(pair.background), read(pair.foreground), 9, channel_axis=-1)
    assert (sharper[:, :20] == -1).mean() > 0.9
    assert (sharper[:, -20:] == 1).mean() > 0.9


def test_published_folders_are_found_below_the_one_given(tmp_path):
    make_data_set(tmp_path / "Real-MFF", "realmff")
    make_data_set(tmp_path / "sets" / "dd_dp_dataset_png", "dpdd")
    make_data_set(tmp_path / "lytro", "realmff flat")  # _a and _b, but of another set
    found = find_data_sets(tmp_path)
    assert [(each.data_set, each.folder.name) for each in found] == [
        ("realmff", "Real-MFF"),
        ("dpdd", "dd_dp_dataset_png"),
    ]


def test_a_list_names_pairs_of_both_sets(tmp_path):
    make_data_set(tmp_path, "list")
    for place in (tmp_path, tmp_path / "pairs.csv"):
        found = find_data_sets(place)
        assert [(each.data_set, each.layout, len(each.pairs)) for each in found] == [
            ("realmff", "a list", 1),
            ("dpdd", "a list", 1),
        ]
        assert found[1].pairs[0].foreground == tmp_path / "files" / "2_near.png"
        assert found[1].pairs[0].background == tmp_path / "files" / "2_far.png"


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("name,near,far\n1,a,b\n", InputError, "must have the columns data_set,name,foreground,background"),
        ("data_set,name,foreground,background\n", InputError, "at least one row"),
        ("data_set,name,foreground,background\nlytro,1,a,b\n", InputError, "line 2: data_set must be realmff or dpdd"),
        ("data_set,name,foreground,background\ndpdd,1,a.png,b.png\n", FileError, "line 2: there is no file .*a.png"),
        (b"\xff\xfe\x00", FileError, "cannot be read as a list of pairs"),
    ],
)
def test_a_wrong_list_is_refused_with_its_line(tmp_path, text, error, message):
    (tmp_path / "pairs.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error, match=message):
        find_data_sets(tmp_path)


def test_a_wrong_layout_is_refused_with_those_that_are_known(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "one.png").touch()
    with pytest.raises(InputError) as caught:
        find_data_sets(tmp_path)
    for known in ("imageA/001_A.png", "test_c/source/1P0A0917.png", "pairs.csv", "realmff*/001_a.png"):
        assert known in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".TIF"])
def test_dpdd_is_paired_in_sorted_order_as_published(tmp_path, suffix):
    """The author's lists: 76 names each, none in both, the target before or after its source."""
    names = {"source": ("1P0A0917", "1P0A0984", "1P0A1002"), "target": ("1P0A0916", "1P0A0985", "1P0A1001")}
    for side, stems in names.items():
        (tmp_path / "dd_dp" / "test_c" / side).mkdir(parents=True)
        for stem in stems:
            (tmp_path / "dd_dp" / "test_c" / side / f"{stem}{suffix}").touch()
    (found,) = find_data_sets(tmp_path)
    paired = [(each.foreground.stem, each.background.stem) for each in found.pairs]
    assert paired == list(zip(*names.values(), strict=True))


def test_halves_of_pairs_that_share_a_name_are_left_out(tmp_path):
    for side, stems in (("source", "12"), ("target", "23")):
        (tmp_path / "test_c" / side).mkdir(parents=True)
        for stem in stems:
            (tmp_path / "test_c" / side / f"{stem}.png").touch()
    assert [pair.name for pair in find_data_sets(tmp_path)[0].pairs] == ["2"]


@pytest.mark.parametrize("layout", ["dpdd", "realmff", "dpdd flat"])
def test_a_data_set_that_is_there_but_not_understood_is_an_error(tmp_path, layout):
    """Beside another that is understood."""
    broken = tmp_path / "dpdd_of_mine"
    make_data_set(broken, layout, pairs=2)
    for path in (*broken.glob("test_c/target/*2.png"), *broken.glob("imageB/*"), *broken.glob("*_f4.png")):
        path.unlink()
    make_data_set(tmp_path / "pairs", "realmff flat" if "dpdd" in layout else "dpdd flat")
    (tmp_path / "pairs").rename(tmp_path / ("realmff" if "dpdd" in layout else "dpdd"))
    name = "DPDD" if "dpdd" in layout else "Real MFF"
    with pytest.raises(InputError, match=f"dpdd_of_mine looks like {name}, but its files do not form pairs") as caught:
        find_data_sets(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data_set", "width", "widths"),
    [
        ("realmff", 625, [625, 313, 157]),
        ("dpdd", 1680, [1680, 420, 210, 105]),
        ("dpdd", 840, [840, 420, 210, 105]),
        ("dpdd", 420, [420, 210, 105]),
        ("dpdd", 80, [80, 40, 20]),
    ],
)
def test_table_1_has_the_papers_resolutions(data_set, width, widths):
    assert [-(-width // factor) for factor in factors(data_set, width)] == widths
