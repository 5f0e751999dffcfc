"""The paper's data sets as they lie on a disk, and stand-ins in the same layouts."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

from relblur import InputError, compare_sharpness
from relblur.base.errors import FileError
from relblur.studies.paper import pairs, stand_ins
from relblur.studies.paper.data_sets import PairFiles, factors, find_data_sets
from relblur.studies.paper.stand_ins import make_data_set


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
    truths = make_data_set(tmp_path / "set", layout, pairs=2, shape=(64, 80))
    (found,) = find_data_sets(tmp_path / "set")
    assert (found.data_set, found.layout, found.folder) == (data_set, how, tmp_path / "set")
    assert found.describe().endswith(f"2 pairs in {tmp_path / 'set'} ({how})")
    pair = found.pairs[0]
    assert (pair.foreground, pair.background) == (tmp_path / "set" / near, tmp_path / "set" / far)
    # I_B is the sharper where I_F was blurred the more.
    sharper = compare_sharpness(read(pair.background), read(pair.foreground), 9, channel_axis=-1)
    clear = np.abs(truths[0]) > 0.5 * np.abs(truths[0]).max()
    assert (sharper == np.sign(truths[0]))[clear].mean() > 0.75


def test_published_folders_are_found_below_the_one_given(tmp_path):
    make_data_set(tmp_path / "Real-MFF", "realmff", shape=(64, 80))
    make_data_set(tmp_path / "sets" / "dd_dp_dataset_png", "dpdd", shape=(64, 80))
    make_data_set(tmp_path / "lytro", "realmff flat", shape=(64, 80))  # _a and _b, but of another set
    found = find_data_sets(tmp_path)
    assert [(each.data_set, each.folder.name) for each in found] == [
        ("realmff", "Real-MFF"),
        ("dpdd", "dd_dp_dataset_png"),
    ]


def test_a_list_names_pairs_of_both_sets(tmp_path):
    make_data_set(tmp_path, "list", shape=(64, 80))
    for place in (tmp_path, tmp_path / "pairs.csv"):
        found = find_data_sets(place)
        assert [(each.data_set, each.layout, len(each.pairs)) for each in found] == [
            ("realmff", "a list", 1),
            ("dpdd", "a list", 1),
        ]
        assert found[1].pairs[0].foreground == tmp_path / "files" / "dpdd_1_near.png"
        assert found[1].pairs[0].background == tmp_path / "files" / "dpdd_1_far.png"


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
    """Beside another that is: no stand-in takes its place."""
    broken = tmp_path / "dpdd_of_mine"
    make_data_set(broken, layout, pairs=2, shape=(64, 80))
    for path in (*broken.glob("test_c/target/*2.png"), *broken.glob("imageB/*"), *broken.glob("*_f4.png")):
        path.unlink()
    make_data_set(tmp_path / "pairs", "realmff flat" if "dpdd" in layout else "dpdd flat", shape=(64, 80))
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


def test_stand_ins_can_be_blurred_as_stored(tmp_path):
    for name, light in (("light", True), ("stored", False)):
        make_data_set(tmp_path / name, "realmff", shape=(64, 80), light=light)
    one, two = (read(tmp_path / name / "imageA" / "001_A.png") for name in ("light", "stored"))
    assert np.abs(one - two).max() > 0.02
    sharp = [read(tmp_path / name / "Fusion" / "001_F.png") for name in ("light", "stored")]
    assert (sharp[0] == sharp[1]).all()


def test_resolutions_that_leave_less_than_16_pixels_are_left_out(tmp_path, monkeypatch):
    """But the pair as it is counts, however small."""
    monkeypatch.setattr(pairs, "score_row", lambda reduced, *_: reduced.shape)
    for side, shapes in ((64, [(64, 80), (32, 40), (16, 20)]), (63, [(63, 80), (32, 40)]), (10, [(10, 80)])):
        for name in "fb":
            Image.fromarray(np.full((side, 80), 99, np.uint8)).save(tmp_path / f"{side}_{name}.png")
        files = PairFiles("realmff", "one", tmp_path / f"{side}_f.png", tmp_path / f"{side}_b.png")
        assert pairs.rows_of(files, "paper") == shapes


def test_stand_ins_have_the_papers_range_of_blur_on_three_photographs(tmp_path, monkeypatch):
    asked = []

    def plain(name):
        asked.append(name)
        return np.full((20, 640, 3), 90, np.uint8)

    monkeypatch.setattr(stand_ins, "photograph", plain)
    for data_set in ("realmff", "dpdd"):
        truths = make_data_set(tmp_path / data_set, data_set, pairs=4)
        assert asked[3] == asked[0]
        assert len(set(asked)) == 3
        asked.clear()
        if data_set == "realmff":  # the far plane is blurred in the one image, the near disc in the other
            assert [truth.min() for truth in truths] == pytest.approx([-1.8] * 4)
            assert [truth.max() for truth in truths] == pytest.approx([2.4, 2.7, 3.0, 3.3])
        else:
            for truth in truths:
                assert truth[0, 0] == pytest.approx(6.0)
                assert truth[-1, 0] == pytest.approx(0.4)
    half = make_data_set(tmp_path / "half", "dpdd", pairs=1, shape=(20, 320))[0]
    assert half[0, 0] == pytest.approx(3.0)  # half as wide, half the blur
