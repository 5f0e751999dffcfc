"""Zarr and TIFF that are read in parts: the values that zarr reads, and the limits of every other format."""

from __future__ import annotations

import json
import os
import threading
import zlib

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

import relblur
from relblur.apps.cli.app import app
from relblur.base.errors import RelblurError
from relblur.blur.chunked import STORED
from relblur.images.map_formats import FORMAT
from relblur.images.zarr_arrays import open_zarr_array

zarr = pytest.importorskip("zarr")
numcodecs = pytest.importorskip("numcodecs")

SHAPE = (37, 50)
VALUES = np.random.default_rng(0).integers(0, 4000, SHAPE).astype("u2")
PLACES = [np.s_[0:37, 0:50], np.s_[3:30, 11:12], np.s_[36:37, 40:50]]

KINDS = {
    "plain": {"compressors": None},
    "zstd": {},
    "blosc": {"compressors": zarr.codecs.BloscCodec()},
    "gzip": {"compressors": zarr.codecs.GzipCodec()},
    "checksum": {"compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
    "checksum of the values": {"compressors": [zarr.codecs.Crc32cCodec(), zarr.codecs.ZstdCodec()]},
    "big endian": {"serializer": zarr.codecs.BytesCodec(endian="big")},
    "transposed": {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    "shards": {"shards": (32, 32)},
    "shards, plain": {"shards": (32, 32), "compressors": None},
    "keys of version 2": {"chunk_key_encoding": {"name": "v2", "separator": "/"}},
    "version 2": {"zarr_format": 2},
    "version 2, F": {"zarr_format": 2, "order": "F"},
    "version 2, plain": {"zarr_format": 2, "compressors": None},
    **{
        f"version 2, {compressor['id']}": {"zarr_format": 2, "compressors": numcodecs.get_codec(compressor)}
        for compressor in ({"id": "zlib"}, {"id": "gzip"}, {"id": "lz4"}, {"id": "blosc", "shuffle": 2})
    },
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["u1", "<u2", ">f4", "f8"])
def test_the_values_are_those_that_zarr_reads(tmp_path, kind, dtype):
    fill = 7 if np.dtype(dtype).kind == "u" else np.nan
    options = {"chunks": (16, 8), "fill_value": fill, **KINDS[kind]}
    written = zarr.create_array(tmp_path / "a.zarr", shape=SHAPE, dtype=dtype, **options)
    written[:30] = VALUES[:30].astype(dtype)  # the last chunks are not there
    array = open_zarr_array(tmp_path / "a.zarr")
    assert array.shape == SHAPE
    for place in PLACES:
        found = array[place]
        assert_array_equal(found, written[place])
        assert found.dtype == np.dtype(dtype).newbyteorder("=")


def _old(path, change=(), chunk=b""):
    """Write an array of version 2 by hand."""
    path.mkdir(parents=True)
    about = {"zarr_format": 2, "shape": [128, 160], "chunks": [128, 160], "dtype": "<f4", "fill_value": 0, "order": "C"}
    about |= {"compressor": {"id": "zlib", "level": 1}, "filters": None, **dict(change)}
    (path / ".zarray").write_text(json.dumps(about))
    if chunk:
        (path / "0.0").write_bytes(chunk)
    return path


def _new(path, change=(), chunk=b""):
    """Write an array of version 3 by hand."""
    (path / "c" / "0").mkdir(parents=True)
    about = {"zarr_format": 3, "node_type": "array", "shape": [128, 160], "data_type": "float32", "fill_value": 0}
    about |= {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [128, 160]}}}
    about |= {"chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}], **dict(change)}
    if about["node_type"] == "group":
        about = {name: about[name] for name in ("zarr_format", "node_type", "attributes")}
    (path / "zarr.json").write_text(json.dumps(about))
    if chunk:
        (path / "c" / "0" / "0").write_bytes(chunk)
    return path


def _by(codec, size):
    return bytes(numcodecs.get_codec({"id": codec}).encode(np.zeros(size, "u1")))


def _replaced(path, make):
    path.unlink(missing_ok=True)
    make(path)


BOMB = zlib.compress(bytes(300_000_000), 9)
PICKLE = [{"id": "vlen-utf8"}, {"id": "pickle"}]
OME = {"axes": [{"name": "y"}, {"name": "x"}], "datasets": [{"path": "../b.zarr"}]}
SHARDS = {"chunk_shape": [1, 1], "codecs": [], "index_codecs": []}
HOSTILE = {
    "bomb of zlib": lambda p: _old(p, chunk=BOMB),
    **{
        f"bomb of {codec}": lambda p, codec=codec: _old(p, {"compressor": {"id": codec}}, _by(codec, 200_000_000))
        for codec in ("zstd", "blosc")
    },
    "bomb of LZMA": lambda p: _old(p, {"compressor": {"id": "lzma"}}, b"x"),
    "too little": lambda p: _old(p, {"compressor": {"id": "zstd"}}, _by("zstd", 100)),
    "chunk of 2 GB": lambda p: _old(p, {"shape": [23000, 23000], "chunks": [23000, 23000]}, BOMB),
    "chunk too long": lambda p: _old(p, {"compressor": None}, bytes(81921)),
    "chunk as a pipe": lambda p: os.mkfifo(_old(p) / "0.0"),
    "a pipe": os.mkfifo,
    "chunk as a device": lambda p: (_old(p) / "0.0").symlink_to("/dev/zero"),
    "description as a pipe": lambda p: _replaced(_old(p) / ".zarray", os.mkfifo),
    "description of another kind": lambda p: (_new(p) / "zarr.json").write_text("[" * 100_000),
    "objects": lambda p: _old(p, {"dtype": "|O", "filters": PICKLE}, b"\x80\x04."),
    "pickle as a filter": lambda p: _old(p, {"filters": PICKLE[1:]}, b"\x80\x04."),
    "pickle, new": lambda p: _new(p, {"codecs": [{"name": "numcodecs.pickle", "configuration": {}}]}, b"\x80\x04."),
    "text": lambda p: _new(p, {"data_type": "string", "codecs": [{"name": "vlen-utf8"}]}),
    "complex": lambda p: _new(p, {"data_type": "complex64"}),
    "enormous": lambda p: _new(p, {"shape": [10**9, 10**9]}),


    "OME elsewhere": lambda p: _new(p, {"node_type": "group", "attributes": {"multiscales": [OME]}}),
    "OME that is a number": lambda p: _new(p, {"node_type": "group", "attributes": {"ome": 3}}),
    "shards of millions": lambda p: _new(
        p,
        {
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [12800, 16000]}},
            "codecs": [{"name": "sharding_indexed", "configuration": SHARDS}],
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_stores_are_refused_in_one_line(tmp_path, case):
    zarr.create_array(tmp_path / "b.zarr", data=np.zeros((128, 160), "f4"), chunks=(64, 64))
    HOSTILE[case](tmp_path / "a.zarr")
    _refused(tmp_path, "a.zarr")


def _refused(folder, name):
    """Run the command in a thread, so that one that waits for ever is a failure."""
    results = []
    command = ["estimate", str(folder / name), str(folder / "b.zarr"), "-o", str(folder / "o.zarr"), "-m", "window"]
    worker = threading.Thread(target=lambda: results.append(CliRunner().invoke(app, command)), daemon=True)
    worker.start()
    worker.join(60)
    assert results, "it hangs"
    assert results[0].exit_code in (2, 3), results[0].output
    assert "unexpected" not in results[0].output
    assert len(results[0].output.strip().splitlines()) == 1, results[0].output
    assert not (folder / "o.zarr").exists()


def _map(path, change=None, settings=None, version=1):
    about = {"format": FORMAT, "format_version": version, "settings": {} if settings is None else settings}
    group = zarr.create_group(path, attributes={"relblur": about})
    for name, dtype in STORED.items():
        values = np.zeros((20, 24), dtype)
        data = values if change is None else change(values)
        group.create_array(name, data=data, chunks=(10,) * data.ndim)
    return path


HOSTILE_MAPS = {
    "one dimension": lambda p: _map(p, lambda v: v[0]),
    "three dimensions": lambda p: _map(p, lambda v: v[None]),
    "complex": lambda p: _map(p, lambda v: v.astype("c8")),
    "objects": lambda p: (_map(p), (p / "flags" / "zarr.json").unlink(), _old(p / "flags" / "x"),
                          (p / "flags" / "x" / ".zarray").rename(p / "flags" / ".zarray")),
    "another type": lambda p: _map(p, lambda v: v.astype("f8")),
    "settings that are no table": lambda p: _map(p, settings=[1]),
    "later version": lambda p: _map(p, version=10**30),
    "no format": lambda p: zarr.create_group(p, attributes={"relblur": {"format": "x"}}),
    "attributes that are no table": lambda p: (p.mkdir(), (p / "zarr.json").write_text(
        '{"zarr_format": 3, "node_type": "group", "attributes": 3}')),
    "no array": lambda p: zarr.create_group(p, attributes={"relblur": {"format": FORMAT, "settings": {}}}),
    "other shapes": lambda p: (_map(p), zarr.create_array(p / "flags", data=np.zeros((5, 5), "u1"), overwrite=True)),
    "no pixel": lambda p: (_map(p), _new(p / "sharper" / "x", {"shape": [0, 0], "data_type": "int8"}),
                           (p / "sharper" / "x" / "zarr.json").replace(p / "sharper" / "zarr.json")),
    "enormous": lambda p: (_map(p), _new(p / "sharper" / "x", {"shape": [10**9, 10**9], "data_type": "int8"}),
                           (p / "sharper" / "x" / "zarr.json").replace(p / "sharper" / "zarr.json")),
}  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE_MAPS)
def test_hostile_maps_are_refused_with_an_error_of_ours(tmp_path, case):
    HOSTILE_MAPS[case](tmp_path / "a.zarr")
    with pytest.raises(RelblurError) as caught:
        relblur.load(tmp_path / "a.zarr")
    assert "\n" not in str(caught.value)


def test_a_chunk_of_a_map_that_unpacks_to_too_much_is_refused(tmp_path):
    path = _map(tmp_path / "a.zarr")
    (path / "flags" / "c" / "0").mkdir(parents=True, exist_ok=True)
    (path / "flags" / "c" / "0" / "0").write_bytes(_by("zstd", 100_000_000))
    with pytest.raises(RelblurError, match="damaged"):
        relblur.load(path).flags.compute()


def test_a_stack_in_a_zarr_is_no_map(tmp_path):
    from relblur.apps.view.files import Images, SavedResult, open_paths

    assert isinstance(open_paths([_map(tmp_path / "map.zarr")]), SavedResult)
    for version in (2, 3):
        group = zarr.open_group(tmp_path / f"{version}.zarr", mode="w", zarr_format=version)
        group.create_array("0", data=np.zeros((3, 20, 24), "u1"))
        images = [{"axes": [{"name": name} for name in "zyx"], "datasets": [{"path": "0"}]}]
        group.attrs.update({"multiscales": images} if version == 2 else {"ome": {"multiscales": images}})
        assert isinstance(open_paths([tmp_path / f"{version}.zarr"]), Images)
