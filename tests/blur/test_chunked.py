"""Dask arrays give the map of the whole: to the bit by the local methods, without a seam by the refined one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relblur import Flag, InputError, NoiseModel, estimate_blur, load, synth
from relblur.blur import tiles
from relblur.blur.dense import run

da = pytest.importorskip("dask.array")

FIELDS = ("variance_difference", "variance_stderr", "flags", "sharper")


@pytest.fixture(scope="module")
def pair():
    """A textured colour pair, 131 x 173, blurred both ways, of 16 bits with some clipped pixels."""
    rng = np.random.default_rng(0)
    image = synth.blur_with_map(rng.random((131, 173, 3)), 0.7, channel_axis=-1)
    truth = synth.ramp((131, 173), -1.5, 2.0, axis=1)
    made = []
    for field in (np.maximum(-truth, 0), np.maximum(truth, 0)):
        values = synth.blur_with_map(image, field, channel_axis=-1) + 0.002 * rng.standard_normal(image.shape)
        made.append(np.rint(values.clip(0, 1) * 65535).astype(np.uint16))
    made[0][30:33, 70:75] = 65535
    return made[0], made[1]


@pytest.fixture
def small_chunks(monkeypatch):
    """Make tiles as small as the chunks."""
    monkeypatch.setattr(tiles, "LEAST_HALOS", 0)


def _same_bits(lazy, whole):
    assert lazy.is_lazy
    computed = lazy.compute()
    for name in FIELDS:
        array = getattr(computed, name)
        assert type(array) is np.ndarray
        assert array.dtype == getattr(lazy, name).dtype == getattr(whole, name).dtype
        assert_array_equal(array, getattr(whole, name), err_msg=name)


CHUNKS = {
    "odd": ((37, 41, 53), (50, 73, 30)),
    "smaller than the halo": (26, 21),
    "one row": (1, 73),
    "one column": (61, 1),
    "whole": (131, 153),
}


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("method", ["window", pytest.param("paper", marks=pytest.mark.slow)])
def test_local_methods_give_the_bits_of_the_whole(pair, small_chunks, method, chunks):
    first, second = (image[:, 20:, 1] for image in pair)
    options = {"sigmas": [0.5, 1.0, 2.0], "window": 15} if method == "paper" else {"max_sigma": 2.0}
    options["method"] = method
    whole = estimate_blur(first, second, **options)
    one, two = da.from_array(first, CHUNKS[chunks]), da.from_array(second, (60, 60))
    lazy = estimate_blur(one, two, **options)
    assert (lazy.variance_difference.npartitions > 1) == (chunks != "whole")
    if method == "window" or chunks == "whole":
        _same_bits(lazy, whole)
    else:  # flat and clipped places are filled from their own chunk
        computed, own = lazy.compute(), (whole.flags & np.uint8(Flag.FILLED)) == 0
        for name in FIELDS:
            assert_array_equal(getattr(computed, name)[own], getattr(whole, name)[own], err_msg=name)
        doubtful = np.uint8(Flag.FLAT | Flag.CLIPPED | Flag.INVALID | Flag.EQUAL)
        assert_array_equal(computed.flags & doubtful, whole.flags & doubtful)
        filled = (computed.flags & np.uint8(Flag.FILLED)) != 0
        assert_array_equal(np.isfinite(computed.sigma[~own]), filled[~own])
    assert np.isfinite(whole.sigma).mean() > 0.2
    assert (whole.flags & np.uint8(Flag.CLIPPED)).any()


@pytest.mark.parametrize(
    "options",
    [
        {"channel_axis": -1},
        {"channel_axis": 0},
        {"prefilter": 1.2},
        {"sharper": "first", "noise": 0.004},
        {"valid": True},
        {"engine": "opencv", "clipped": True},
    ],
    ids=lambda options: "+".join(options),
)
def test_every_option_reaches_the_chunks(pair, small_chunks, options):
    first, second = pair
    options = {"method": "window", "max_sigma": 2.0, **options}
    if options.get("channel_axis") == 0:
        first, second = np.moveaxis(first, -1, 0), np.moveaxis(second, -1, 0)
    elif "channel_axis" not in options:
        first, second = first[:, :, 1], second[:, :, 1]
    maps = {
        name: np.random.default_rng(1).random((131, 173)) > share
        for name, share in (("valid", 0.002), ("clipped", 0.999))
        if name in options
    }
    whole = estimate_blur(first, second, **{**options, **maps})
    chunks = (2, 40, 60) if options.get("channel_axis") == 0 else (50, 60, 2)[: first.ndim]
    lazy_maps = {name: da.from_array(values, (30, 50)) for name, values in maps.items()}
    lazy = estimate_blur(da.from_array(first, chunks), da.from_array(second, chunks), **{**options, **lazy_maps})
    assert lazy.variance_difference.npartitions > 1
    _same_bits(lazy, whole)


def test_gaps_and_hot_pixels_are_found_in_chunks(pair, small_chunks):
    first, second = (image[:, :, 1] / 65535 for image in pair)
    first[10:70, 30:100] = np.nan  # wider than a chunk
    second[90, ::7] = np.inf
    first[100, 20], second[100, 120] = 400.0, -300.0
    whole = estimate_blur(first, second, method="window", max_sigma=2.0)
    lazy = estimate_blur(
        da.from_array(first, (30, 40)), da.from_array(second, (40, 30)), method="window", max_sigma=2.0
    ).compute()
    assert (lazy.flags[100, [20, 120]] & np.uint8(Flag.INVALID)).all()
    assert ((lazy.flags ^ whole.flags) & np.uint8(Flag.INVALID) == 0).mean() > 0.999
    known = np.isfinite(whole.sigma) & np.isfinite(lazy.sigma)
    assert known.mean() > 0.2
    apart = np.abs(lazy.variance_difference - whole.variance_difference)[known] / whole.variance_stderr[known]
    assert np.percentile(apart, 99) < 0.1


def test_nothing_is_computed_before_it_is_asked_for(pair, tmp_path):
    first = da.from_array(pair[0][:, :, 1], 64)
    lazy = estimate_blur(first, da.from_array(pair[1][:, :, 1], 64), method="window", max_sigma=2.0)
    assert repr(lazy) == "BlurMap(131x173, method='window', not computed yet)"
    for array in (lazy.sigma, lazy.sigma_stderr):
        assert isinstance(array, da.Array)
        assert array.dtype == np.float64
    whole = estimate_blur(pair[0][:, :, 1], pair[1][:, :, 1], method="window", max_sigma=2.0)
    assert_array_equal(lazy.sigma.compute(), whole.sigma)
    assert_array_equal(lazy.sigma_stderr.compute(), whole.sigma_stderr)
    assert_array_equal(lazy.sigma[:20, :20].compute(), whole.sigma[:20, :20])
    lazy.save(tmp_path / "map.npz")
    _same_bits(lazy, load(tmp_path / "map.npz"))


def test_xarray_keeps_its_labels(pair):
    xr = pytest.importorskip("xarray")
    first, second = (
        xr.DataArray(image, dims=("y", "x", "c"), coords={"y": np.arange(131) * 0.5, "c": list("rgb")}, attrs={"a": 1})
        for image in pair
    )
    options = {"method": "window", "max_sigma": 2.0, "channel_axis": -1}
    whole = estimate_blur(*pair, **options)
    for one in (first, first.chunk({"y": 60, "x": 70})):
        found = estimate_blur(one, second.transpose("x", "y", "c") if one.chunks else second, **options)
        assert found.is_lazy == bool(one.chunks)
        for name in FIELDS:
            array = getattr(found, name)
            assert array.dims == ("y", "x")
            assert_array_equal(array.coords["y"], first.coords["y"])
            assert "c" not in array.coords
            assert_array_equal(array.values, getattr(whole, name))
        assert found.sigma.dims == found.sigma_stderr.dims == ("y", "x")
        assert_array_equal(found.sigma.values, whole.sigma)
        assert_array_equal(found.compute().sigma, whole.sigma)
    assert first.attrs == {"a": 1}


def test_bad_chunked_input_gets_one_line():
    image = da.ones((50, 60), chunks=20)
    with pytest.raises(InputError, match="differ in shape"):
        estimate_blur(image, image[:40])
    with pytest.raises(InputError, match="channel_axis"):
        estimate_blur(da.ones((50, 60, 5)), da.ones((50, 60, 5)))
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        estimate_blur(image[image[:, 0] > 0], image)
    with pytest.raises(InputError, match="int64"):
        estimate_blur(image.astype(int), image, method="window")
    with pytest.raises(InputError, match="valid has shape"):
        estimate_blur(image, image, valid=da.ones((3, 4), bool))
    with pytest.raises(InputError, match="no pixel to use"):
        estimate_blur(image * np.nan, image, method="window")
    with pytest.raises(InputError, match="max_sigma is 100 px"):
        estimate_blur(image, image, method="window", max_sigma=100.0)


@pytest.fixture(scope="module")
def large():
    """A pair of 600 x 640 that is cut into four tiles, with gaps and a plain area across their borders."""
    rng = np.random.default_rng(3)
    image = synth.blur_with_map(rng.random((600, 640)), 1.0)
    image[260:340, 300:400] = 0.5
    truth = synth.ramp((600, 640), -1.0, 2.0, axis=1) + synth.ramp((600, 640), 0.0, 1.0, axis=0)
    pair = []
    for field in (np.maximum(-truth, 0), np.maximum(truth, 0)):
        made = synth.blur_with_map(image, field, kernel="band_limited")
        pair.append(made + 0.004 * rng.standard_normal(made.shape))
    pair[0][380:390, 100:110] = np.nan
    return pair[0], pair[1], truth


@pytest.mark.slow
def test_refined_shows_no_seam(large):
    """Steps of the error across the borders of chunks are those of elsewhere."""
    first, second, truth = large
    lazy = estimate_blur(da.from_array(first, 200), da.from_array(second, (7, 640)))
    rows, columns = lazy.variance_difference.chunks
    assert len(rows) > 1
    assert len(columns) > 1
    found = lazy.compute()
    error = found.sigma - truth
    assert np.nanmedian(np.abs(error)) < 0.02
    for axis, lengths in ((0, rows), (1, columns)):
        step = np.nanmean(np.abs(np.diff(error, axis=axis)), axis=1 - axis)
        borders = np.cumsum(lengths)[:-1]
        assert step[borders - 1].max() < 1.5 * np.median(step)
    assert (found.flags[380:390, 100:110] == Flag.INVALID).all() or np.isnan(found.sigma[380:390, 100:110]).all()
    whole = estimate_blur(first, second)
    apart = np.abs(found.variance_difference - whole.variance_difference) / whole.variance_stderr
    assert np.nanmedian(apart) < 0.3
    assert (found.flags == whole.flags).mean() > 0.97
    assert_allclose(lazy.settings["noise"], whole.settings["noise"], rtol=0.1)
    assert lazy.settings["kernel"] == whole.settings["kernel"]


@pytest.mark.slow
def test_refined_takes_every_option(large, monkeypatch):
    """A swap flips the sign and no more; noise that depends on the light reaches the tiles."""
    monkeypatch.setattr(run, "SIDES", (192, 960))
    first, second = (image[200:350, 150:590] for image in large[:2])
    noise = NoiseModel(0.002, 2e-5), NoiseModel(0.003, 1e-5)
    valid = np.ones(first.shape, bool)
    valid[70:80, 187:197] = False
    lazy = [da.from_array(image, 150) for image in (first, second)]
    one = estimate_blur(*lazy, sharper="first", noise=noise, valid=valid)
    two = estimate_blur(*lazy[::-1], sharper="second", noise=noise[::-1], valid=valid)
    assert one.variance_difference.chunks == ((150,), (192, 192, 56))
    assert one.settings["noise"] == two.settings["noise"][::-1]
    one, two = one.compute(), two.compute()
    assert_allclose(one.variance_difference, -two.variance_difference, rtol=1e-5)
    assert np.isnan(one.sigma[70:80, 187:197]).all()


def test_a_refined_map_of_one_tile_is_that_of_the_whole(pair):
    first, second = (image[:, :, 1] for image in pair)
    _same_bits(estimate_blur(da.from_array(first, 50), da.from_array(second, 31)), estimate_blur(first, second))
