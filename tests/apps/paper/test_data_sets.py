"""The layouts of the paper's data sets on a disk."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image  # noqa: TID253

from paper_sets import make_data_set
from relblur import InputError
from relblur.apps.paper.data_sets import factors, find_data_sets
from relblur.paper import compare_sharpness


def read(path):
    return np.asarray(Image.open(path)) / 255.0


@pytest.mark.parametrize(
    ("layout", "data_set", "near", "far"),
    [
        ("realmff", "realmff", "imageA/001_A.png", "imageB/001_B.png"),
        ("realmff flat", "realmff", "001_a.png", "001_b.png"),
        ("dpdd", "dpdd", "test_c/source/1P0A0001.png", "test_c/target/1P0A0002.png"),
        ("dpdd flat", "dpdd", "01_f4.png", "01_f22.png"),
    ],
)
def test_a_data_set_is_found_in_its_layouts_with_its_images_in_their_places(tmp_path, layout, data_set, near, far):
    make_data_set(tmp_path / "set", layout, pairs=2)
    pair, other = find_data_sets(tmp_path / "set")
    assert pair.data_set == other.data_set == data_set
    assert (pair.foreground, pair.background) == (tmp_path / "set" / near, tmp_path / "set" / far)
    assert pair.name != other.name
    sharper = compare_sharpness(read(pair.background), read(pair.foreground), 9, channel_axis=-1)
    assert (sharper[:, :20] == -1).mean() > 0.9
    assert (sharper[:, -20:] == 1).mean() > 0.9


def test_published_folders_are_found_below_the_one_given(tmp_path):
    make_data_set(tmp_path / "Real-MFF", "realmff")
    make_data_set(tmp_path / "sets" / "dd_dp_dataset_png", "dpdd")
    make_data_set(tmp_path / "lytro", "realmff flat")  # _a and _b, but of another set
    found = find_data_sets(tmp_path)
    assert [(each.title, each.foreground.name) for each in found] == [
        ("Real MFF", "001_A.png"),
        ("DPDD", "1P0A0001.png"),
    ]


def test_a_folder_without_pairs_is_refused_with_the_layouts(tmp_path):
    make_data_set(tmp_path / "dpdd", "dpdd flat")
    next((tmp_path / "dpdd").glob("*_f4.png")).unlink()
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(InputError) as caught:
            find_data_sets(folder)
        for known in ("no pairs", "imageA/001_A.png", "test_c/source/*.png", "realmff*/001_a.png"):
            assert known in str(caught.value)


@pytest.mark.parametrize("suffix", [".png", ".TIF"])
def test_dpdd_is_paired_in_sorted_order_as_published(tmp_path, suffix):
    """The published names: 76 on each side, none on both, the target before or after its source."""
    names = {"source": ("1P0A0917", "1P0A0984", "1P0A1002"), "target": ("1P0A0916", "1P0A0985", "1P0A1001")}
    for side, stems in names.items():
        (tmp_path / "dd_dp" / "test_c" / side).mkdir(parents=True)
        for stem in stems:
            (tmp_path / "dd_dp" / "test_c" / side / f"{stem}{suffix}").touch()
    paired = [(each.foreground.stem, each.background.stem) for each in find_data_sets(tmp_path)]
    assert paired == list(zip(*names.values(), strict=True))


@pytest.mark.parametrize(
    ("data_set", "width", "widths"),
    [
        ("realmff", 625, [625, 313, 157]),
        ("dpdd", 1680, [1680, 420, 210, 105]),
        ("dpdd", 420, [420, 210, 105]),
        ("dpdd", 80, [80, 40, 20]),
    ],
)
def test_table_1_has_the_papers_resolutions(data_set, width, widths):
    assert [-(-width // factor) for factor in factors(data_set, width)] == widths
