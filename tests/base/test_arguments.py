"""Arguments: arrays of other packages are read, and bad input is one line with the name and the remedy."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import relblur
from relblur import (
    InputError,
    RelblurError,
    decimate,
    estimate_blur,
    imread,
    prepare_pair,
    synth,
)
from relblur.base.arguments import colour_axis, plain_array, shape_of
from relblur.base.errors import FileError
from relblur.base.tone import encode_srgb
from relblur.paper import local_sharpness

GOOD = np.random.default_rng(0).random((32, 40))
COLOUR = np.random.default_rng(0).random((32, 40, 3))


PAIRS = {
    "different sizes": ((GOOD, GOOD[:30]), {}, "32x40 and 30x40; crop or resize them"),
    "grey and colour": ((GOOD, COLOUR), {}, "differ in shape: 32x40 and 32x40x3; one is grey: pass second.mean"),
    "one-dimensional": ((GOOD[0], GOOD[0]), {}, "first has 1 dimension.* not rows and columns"),
    "empty": ((GOOD[:0], GOOD[:0]), {}, "first is empty \\(shape \\(0, 40\\)\\); check how it was read or sliced"),
    "1x1": ((GOOD[:1, :1], GOOD[:1, :1]), {}, "first is 1x1; relative blur needs at least 2x2 pixels"),
    "smaller than the window": ((GOOD[:7, :20], GOOD[:7, :20]), {}, "window=9 is larger .* use window=7"),
    "even window": ((GOOD, GOOD), {"window": 8}, "window must be an odd whole number >= 1, got 8"),
    "complex": ((GOOD * 1j, GOOD), {}, "first has dtype complex128; pass uint8, uint16 or floats"),
    "ragged": (([[1.0, 2.0], [3.0]], GOOD), {}, "first is a list that NumPy cannot read"),
    "all NaN": ((np.full((32, 40), np.nan), GOOD), {}, "first holds no finite pixel; check how the file was read"),
    "nothing finite in both": (
        (np.where(np.arange(40) < 20, np.nan, GOOD), np.where(np.arange(40) >= 20, np.nan, GOOD)),
        {},
        "no pixel to use",
    ),
    "many channels": ((np.concatenate([COLOUR, COLOUR], 2),) * 2, {}, "first has 3 dimension.* channel_axis=-1"),
    "channels first taken for last": ((COLOUR.transpose(2, 0, 1),) * 2, {"channel_axis": -1}, "first has 40 channels"),
    "a path": (("a.png", GOOD), {}, "first is a path, 'a.png'; read it with relblur.imread\\('a.png'\\)"),
    "bytes and 0..255": (((GOOD * 255).astype(np.uint8), GOOD * 255), {}, "first is uint8.* pass second / 255"),
    "negative max_sigma": ((GOOD, GOOD), {"max_sigma": -2}, "max_sigma must be finite and > 0 px, got -2"),
    "sRGB beyond 1": ((GOOD * 9, GOOD * 9), {"linear": True}, "sRGB values are 0..1"),
    "channel_axis for grey": ((GOOD, GOOD), {"channel_axis": -1}, "channel_axis needs three dimensions, leave it out"),
    "channel_axis out of range": (
        (COLOUR, COLOUR),
        {"channel_axis": 3},
        "channel_axis must be a whole number",
    ),
    "zero sigma": (
        (GOOD, GOOD),
        {"method": "paper", "sigmas": [0.0, 2.0]},
        "sigmas must be a list of finite numbers > 0 px",
    ),
    "words for sigmas": ((GOOD, GOOD), {"method": "paper", "sigmas": ["a"]}, "sigmas must be a list of finite numbers"),
    "sigmas wider than the image": (
        (GOOD, GOOD),
        {"method": "paper", "sigmas": [1.0, 17.0]},
        "sigmas is 17 px, more than half",
    ),
    "valid of another shape": ((GOOD, GOOD), {"valid": np.ones((3, 3), bool)}, "valid has shape \\(3, 3\\)"),
    "valid of numbers": ((GOOD, GOOD), {"valid": np.ones((32, 40))}, "valid has dtype float64; pass booleans"),
    "valid nowhere": ((GOOD, GOOD), {"valid": np.zeros((32, 40), bool)}, "valid leaves no pixel to use"),
    "noise in words": ((GOOD, GOOD), {"noise": "low"}, "noise must be a number .*got 'low'"),
    "unknown method": ((GOOD, GOOD), {"method": "magic"}, "method must be one of 'paper', .*; got 'magic'"),
    "unknown engine": ((GOOD, GOOD), {"engine": "gpu"}, "engine must be one of 'auto', .*; got 'gpu'"),
    "no workers": ((GOOD, GOOD), {"workers": 0}, "workers must be a whole number >= 1 or None \\(all cores\\), got 0"),
}


@pytest.mark.parametrize("case", PAIRS)
def test_estimate_blur_refuses_by_name_with_the_remedy(case):
    images, keywords, message = PAIRS[case]
    with pytest.raises(InputError, match=message) as error:
        estimate_blur(*images, **{"method": "window", **keywords})
    assert "\n" not in str(error.value)
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("call", [lambda i: decimate(i, 2), local_sharpness, lambda i: synth.blur_with_map(i, 1.0)])
def test_functions_of_one_image_refuse_by_name(call):
    with pytest.raises(InputError, match="image has 1 dimension"):
        call(GOOD[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.write_text("hello"), "is not an image"),
        (lambda p: p.write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 30), "(is damaged|is not an image)"),
        (lambda p: p.mkdir(), "is a folder"),
        (lambda p: None, "there is no file"),
        (lambda p: p.touch(), "is empty"),
    ],
    ids=["non-image", "truncated", "directory", "missing", "empty"],
)
def test_bad_files_are_file_errors_in_one_line(tmp_path, make, message):
    path = tmp_path / "image.png"
    make(path)
    with pytest.raises(FileError, match=message) as error:
        imread(path)
    assert "\n" not in str(error.value)
    assert "image.png" in str(error.value)
    assert isinstance(error.value, OSError)
    assert isinstance(error.value, RelblurError)


Image = pytest.importorskip("PIL.Image")
Figure = pytest.importorskip("matplotlib.figure").Figure

SCENE = np.random.default_rng(3).random((40, 44, 3)) * 0.8 + 0.1
FIRST, SECOND = synth.pair(SCENE, 1.2, channel_axis=-1)
BYTES = [synth.degrade(image, bits=8) for image in (FIRST, SECOND)]
QUICK = {"method": "window", "engine": "opencv", "linear": False}


def sigma_of(first, second, **options):
    return estimate_blur(first, second, **{**QUICK, **options}).sigma


class Tensor:
    """As much of a torch tensor as matters here."""

    __module__ = "torch"

    def __init__(self, values, needs_gradient=False):
        self.values, self.needs_gradient, self.shape = values, needs_gradient, values.shape

    def detach(self):
        return Tensor(self.values)

    def __array__(self, dtype=None, copy=None):
        if self.needs_gradient:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad.")
        return np.asarray(self.values, dtype)


def test_colour_needs_no_axis():
    assert_array_equal(sigma_of(FIRST, SECOND), sigma_of(FIRST, SECOND, channel_axis=-1))
    assert_array_equal(relblur.decimate(FIRST, 2), relblur.decimate(FIRST, 2, channel_axis=-1))
    assert_array_equal(relblur.align(FIRST, FIRST).second, FIRST)
    blur = estimate_blur(FIRST, SECOND, **QUICK)
    for remake in (relblur.resynthesize, relblur.all_in_focus):
        assert_array_equal(remake(FIRST, SECOND, blur), remake(FIRST, SECOND, blur, channel_axis=-1))
    assert relblur.prepare_pair(FIRST, SECOND).first.shape == FIRST.shape


@pytest.mark.parametrize(
    ("shape", "axis"),
    [((9, 9, 3), -1), ((9, 9, 4), -1), ((9, 9, 1), -1), ((9, 9), None), ((3, 9, 9), None), ((9, 9, 5), None)],
)
def test_the_axis_is_found_where_there_is_no_doubt(shape, axis):
    assert colour_axis(np.zeros(shape), None) == axis
    assert colour_axis(np.zeros(shape), 1) == 1


def test_tensors_are_read_without_their_gradient():
    found = sigma_of(Tensor(FIRST, needs_gradient=True), Tensor(SECOND))
    assert_array_equal(found, sigma_of(FIRST, SECOND))
    assert prepare_pair(Tensor(FIRST), Tensor(SECOND)).shape == (40, 44)


def test_what_numpy_cannot_read_is_one_line():
    class Odd:
        __module__ = "cupy"

        def __array__(self, dtype=None, copy=None):
            raise TypeError("Implicit conversion to a NumPy array is not allowed.\nReally.")

    with pytest.raises(InputError, match=r"first is a Odd that NumPy cannot read \(Implicit .*pass a NumPy array$"):
        plain_array(Odd(), "first")


def test_xarray_is_read():
    xarray = pytest.importorskip("xarray")
    images = [xarray.DataArray(image, dims=("y", "x", "band")) for image in (FIRST, SECOND)]
    assert_array_equal(sigma_of(*images), sigma_of(FIRST, SECOND))


@pytest.fixture(scope="module", params=["memory", "chunks"])
def from_xarray(request):
    """A map made from DataArrays, in memory or in chunks, and the same of plain arrays."""
    xarray = pytest.importorskip("xarray")
    images = [
        xarray.DataArray(image[:, :, 1], dims=("y", "x"), coords={"y": np.arange(40) * 0.5})
        for image in (FIRST, SECOND)
    ]
    if request.param == "chunks":
        pytest.importorskip("dask")
        images = [image.chunk(25) for image in images]
    options = {"method": "window", "max_sigma": 3.0, "engine": "opencv"}
    return estimate_blur(*images, **options), estimate_blur(FIRST[:, :, 1], SECOND[:, :, 1], **options)


def test_a_map_of_xarray_is_used_as_any_other(from_xarray, tmp_path):
    found, plain = from_xarray
    assert str(found) == (repr(found) if found.is_lazy else str(plain))  # a lazy map may not fit into memory
    camera = relblur.Camera(coc_constant_px_m=8, focus_first_m=1, focus_second_m=2)
    uses = (
        lambda blur: np.ma.getdata(relblur.plot.blur(blur, ax=Figure().add_subplot()).get_array()),
        lambda blur: relblur.blur_to_depth(blur, camera).depth_m,
        lambda blur: relblur.in_depth_range(blur, camera).probability,
        lambda blur: relblur.calibrate(blur, camera, depth_m=1.2).camera.blur_constant,
    )
    for use in uses:
        assert_array_equal(use(found), use(plain))
    found.save(tmp_path / "map.npz")
    assert_array_equal(relblur.load(tmp_path / "map.npz").sigma, plain.sigma)


def test_a_map_of_xarray_goes_back_with_its_labels_and_its_pixels(from_xarray):
    found, plain = from_xarray
    dataset = found.to_xarray()
    assert dataset.sigma.dims == ("y", "x")
    assert_array_equal(dataset.y, np.arange(40) * 0.5)
    assert_array_equal(dataset.sigma, plain.sigma)
    assert dataset.sigma.attrs["units"] == "px"
    for one, dims in ((dataset, ("y", "x")), (plain.to_xarray(), ("row", "column"))):
        assert (one.row.dims, one.column.dims) == ((dims[0],), (dims[1],))
        assert_array_equal(one.row, np.arange(40))
        assert_array_equal(one.column, np.arange(44))


@pytest.mark.parametrize("mode", ["L", "RGB", "P", "1", "CMYK", "YCbCr", "I;16", "I", "F"])
def test_pictures_are_intensities(mode):
    picture = Image.fromarray(BYTES[0]).convert("L" if mode[0] in "IF" else "RGB").convert(mode)
    found = plain_array(picture, "first")
    assert shape_of(picture) == found.shape or mode == "1"
    wanted = np.asarray(picture.convert("L" if mode in ("1", "L") else "RGB")) if mode[0] not in "IF" else found
    assert_array_equal(found, wanted)
    if mode == "I":
        assert found.dtype == np.uint16


@pytest.mark.parametrize("axis", [None, -1])
@pytest.mark.parametrize("top", [255, 3], ids=["opaque", "cut out"])
def test_alpha_is_left_out_with_a_warning(axis, top):
    veil = np.full((40, 44, 1), 255, np.uint8)
    veil[:20] = top
    images = [np.concatenate([image, veil], axis=2) for image in BYTES]
    with pytest.warns(UserWarning, match="the last of 4 channels is alpha"):
        found = sigma_of(*images, channel_axis=axis)
    assert_array_equal(found, sigma_of(*BYTES))

    pictures = [Image.fromarray(image) for image in images]
    with pytest.warns(UserWarning, match="alpha channel dropped"):
        found = prepare_pair(*pictures, align="off", exposure="off", decimate=1)
    assert_array_equal(found.first, prepare_pair(*BYTES, align="off", exposure="off", decimate=1).first)


def test_alphas_that_differ_are_refused():
    veils = np.full((2, 40, 44, 1), 255, np.uint8)
    veils[0, :3] = 0
    with pytest.raises(InputError, match="alpha and differs"):
        sigma_of(*(np.concatenate(both, axis=2) for both in zip(BYTES, veils, strict=True)))


def test_masks_are_honoured_with_bytes_too():
    hidden = np.zeros((40, 44, 3), bool)
    hidden[5:8, 6:9] = True
    masked = np.ma.masked_array(BYTES[0], hidden)
    assert (estimate_blur(masked, BYTES[1], **QUICK).flags[5:8, 6:9] & 1).all()
    pair = prepare_pair(masked, BYTES[1], align="off", exposure="off", decimate=1)
    assert not pair.valid[5:8, 6:9].any()
    assert pair.valid[20:].all()
    assert pair.rounding is not None  # still known to be bytes


def test_bytes_are_said_to_be_srgb_once_and_not_if_the_user_says_so():
    with pytest.warns(UserWarning, match="uint8 arrays mostly contain sRGB") as told:
        estimate_blur(*BYTES, method="window", engine="opencv")
    assert len(told) == 1
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimate_blur(*BYTES, **QUICK)
        estimate_blur(FIRST, SECOND, method="window")
        estimate_blur(prepare_pair(*BYTES), method="window")


@pytest.mark.parametrize("method", ["window", "paper", "refined"])
def test_linear_undoes_the_curve_of_srgb(method):
    stored = [synth.degrade(encode_srgb(image), bits=8) for image in (FIRST, SECOND)]
    options = {"method": method, "engine": "opencv"}
    truth = np.nanmedian(estimate_blur(FIRST, SECOND, **options).sigma)
    undone = np.nanmedian(estimate_blur(*stored, linear=True, **options).sigma)
    as_stored = np.nanmedian(estimate_blur(*stored, linear=False, **options).sigma)
    assert abs(undone - truth) <= 0.02
    if method != "paper":  # its grid is coarser than the difference
        assert abs(undone - truth) < abs(as_stored - truth)
    stored[0][10:14, 10:14] = 255
    assert (estimate_blur(*stored, linear=True, **options).flags[10:14, 10:14] & relblur.Flag.CLIPPED).all()


def test_bytes_are_photographs_to_prepare_pair():
    pair = prepare_pair(*BYTES, align="off", exposure="off", decimate=1)
    assert pair.notes == ("light: 8-bit array, sRGB curve undone (usual for 8 bits; gamma=1 if it is light)",)
    light = prepare_pair(*BYTES, gamma=1, align="off", exposure="off", decimate=1)
    assert_allclose(light.first, BYTES[0] / 255, atol=1e-7)
    assert_allclose(encode_srgb(pair.first), light.first, atol=1e-5)
