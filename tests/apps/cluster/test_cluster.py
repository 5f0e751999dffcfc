"""A data set on several processes: whole, resumed, with a worker killed, with a pair that kills its worker."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from paper_sets import make_data_set
from relblur import synth
from relblur.apps.cli.app import app
from relblur.apps.cluster import batch as batches
from relblur.apps.cluster.pairs import find_pairs
from relblur.apps.cluster.runners import started
from relblur.base.errors import RelblurError

pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that end processes

PAIRS = 5
TLS_ALERT = b"\x15"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Five small colour pairs as Real-MFF lies on a disk; relblur itself is tested elsewhere."""
    folder = tmp_path_factory.mktemp("data")
    make_data_set(folder, "realmff", pairs=PAIRS, shape=(70, 90))
    return folder


@pytest.fixture(scope="module")
def threads():
    """Client of Dask's scheduler with two workers in this process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def processes():
    """Workers as a user has them, for what processes alone can do; the last test that uses them kills them."""
    with started(2) as client:
        yield client


@pytest.fixture
def on_threads(threads, monkeypatch):
    """Let ``relblur tools batch`` use the workers that are there."""
    monkeypatch.setattr(batches, "started", lambda *_: nullcontext(threads))


def _batch(data, output, *options):
    return CliRunner().invoke(app, ["tools", "batch", str(data), "-o", str(output), "-m", "window", *options])


def _scores(output):
    with open(output / "scores.csv", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def undisturbed(data, threads, tmp_path_factory):
    output = tmp_path_factory.mktemp("results") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "started", lambda *_: nullcontext(threads))
        done = _batch(data, output)
    assert done.exit_code == 0, done.output
    return output


@pytest.mark.slow
def test_workers_have_one_thread_and_their_ports_are_closed_to_other_programs(processes):
    import socket
    import ssl

    import cv2

    assert set(processes.run(cv2.getNumThreads).values()) == {1}
    info = processes.scheduler_info()
    addresses = [info["address"], *info["workers"], *(each["nanny"] for each in info["workers"].values())]
    assert len(addresses) == 5
    no_key = ssl.create_default_context()
    no_key.check_hostname, no_key.verify_mode = False, ssl.CERT_NONE
    for address in addresses:
        host, _, port = address.removeprefix("tls://").rpartition(":")
        assert host == "127.0.0.1"
        with socket.create_connection((host, int(port)), timeout=20) as plain:
            plain.sendall(bytes(64))  # no handshake, so TLS ends the connection; an open port of Dask greets
            with suppress(ConnectionError):
                assert plain.recv(1) in (b"", TLS_ALERT)
        with pytest.raises(OSError), no_key.wrap_socket(socket.create_connection((host, int(port)))) as stranger:
            stranger.recv(1)


def test_a_set_gives_a_table_and_a_page(undisturbed, data):
    from relblur.apps.paper.data_sets import find_data_sets
    from relblur.apps.paper.pairs import rows_of

    rows = _scores(undisturbed)
    assert len(rows) == 3 * PAIRS  # at full size, a half and a quarter
    expected = rows_of(find_data_sets(data)[0], "window")
    for row, wanted in zip(rows[:3], expected, strict=True):
        assert float(row["e_f"]) == pytest.approx(wanted.score.e_second, rel=1e-6)
        assert row["resolution"] == wanted.resolution
    page = (undisturbed / "summary.html").read_text()
    assert "default-src 'none'" in page
    assert page.count("<figure>") == page.count("data:image/png;base64") == PAIRS
    assert 'src="http' not in page
    assert json.loads((undisturbed / "batch.json").read_bytes())["options"]["method"] == "window"


@pytest.mark.slow
def test_what_is_done_is_not_done_again_and_damaged_scores_are_one_line(undisturbed, data, on_threads, tmp_path):
    output = shutil.copytree(undisturbed, tmp_path / "out")
    before = {path: path.stat().st_mtime_ns for path in output.glob("*/scores.json")}
    done = _batch(data, output)
    assert done.exit_code == 0, done.output
    assert done.output.count("was done") >= PAIRS
    assert {path: path.stat().st_mtime_ns for path in output.glob("*/scores.json")} == before
    path = next(output.glob("*/scores.json"))
    for text in ("{", "[[]]", "[{}]"):
        path.write_text(text.ljust(path.stat().st_size))
        done = _batch(data, output)
        assert done.exit_code == 3
        assert "has no scores" in done.output


def _kill(path: Path) -> None:
    """End the process that runs this, once."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


class Kills(batches.Score):
    """The work on a pair, in whose middle the worker is killed: once for one pair, each time for another."""

    def __call__(self, first, second, folder):
        (folder / "half.txt").write_text("half of a result")
        if "001" in first.name:
            _kill(folder.parents[3] / "killed")  # beside the output
        if "003" in first.name:
            os.kill(os.getpid(), signal.SIGKILL)
        (folder / "half.txt").unlink()
        super().__call__(first, second, folder)


@pytest.mark.slow
def test_a_worker_that_is_killed_costs_its_pair_once_and_a_pair_that_kills_is_reported(
    undisturbed, data, processes, tmp_path, monkeypatch
):
    import cloudpickle

    monkeypatch.setattr(batches, "Score", Kills)
    monkeypatch.setattr(batches, "started", lambda *_: nullcontext(processes))
    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file
    try:
        done = _batch(data, tmp_path / "out", "--json")
    finally:
        cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
    assert done.exit_code == 3, done.output
    assert (tmp_path / "killed").exists()
    report = json.loads(done.stdout)
    assert list(report["failures"]) == ["Real_MFF_003"]
    assert "its worker ended twice" in report["failures"]["Real_MFF_003"]
    assert "its worker ended twice" in (tmp_path / "out" / "summary.html").read_text()
    expected = [row for row in _scores(undisturbed) if row["pair"] != "003"]
    for row, wanted in zip(_scores(tmp_path / "out"), expected, strict=True):
        assert [row["pair"], row["resolution"]] == [wanted["pair"], wanted["resolution"]]
        # Sums over an array differ in their last digits by where in memory it lies.
        assert float(row["e_b"]) == pytest.approx(float(wanted["e_b"]), rel=1e-8)
    assert not list(tmp_path.glob("out/*/half.txt"))


def test_a_file_that_cannot_be_read_is_reported(data, on_threads, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"no picture")
    good = [data / "imageA" / "001_A.png", data / "imageB" / "001_B.png"]
    listed = tmp_path / "set.csv"
    listed.write_text(f"name,first,second\ngood,{good[0]},{good[1]}\n=bad,{good[0]},bad.png\n")
    done = _batch(listed, tmp_path / "out", "--json")
    assert done.exit_code == 3
    report = json.loads(done.stdout)
    assert report["done"] == report["failed"] == 1
    assert "bad.png" in report["failures"]["pairs__bad"]
    assert len(_scores(tmp_path / "out")) == 1


def test_chunks_of_a_picture_are_done_on_the_workers(threads, tmp_path):
    zarr = pytest.importorskip("zarr")
    import relblur
    from relblur.apps.cluster.large import estimate_large
    from relblur.blur.estimating import Estimating

    first = synth.blur_with_map(np.random.default_rng(0).random((90, 1100)), 0.8)
    second = synth.blur_with_map(first, 1.2)
    files = (tmp_path / "a.zarr", tmp_path / "b.zarr")
    for file, image in zip(files, (first, second), strict=True):
        zarr.create_array(file, data=image, chunks=(50, 50))
    preparing = {"align": "off", "exposure": "off", "linear": False, "gamma": None, "decimate": 1, "max_sigma": 2.0}
    options = Estimating(method="window", max_sigma=2.0, engine="opencv")
    done, _ = estimate_large(files, tmp_path / "out.zarr", preparing, options, client=threads)
    assert done.settings["chunks"] == 2
    whole = relblur.estimate_blur(first, second, method="window", max_sigma=2.0, engine="opencv")
    found = relblur.load(tmp_path / "out.zarr").variance_difference.compute()
    np.testing.assert_array_equal(found, whole.variance_difference.astype("f4"))


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_cleanly(data, tmp_path):
    output = tmp_path / "out"
    command = [sys.executable, "-m", "relblur", "tools", "batch", str(data), "-o", str(output), "--processes", "1"]
    listening = "import signal, os; signal.signal(signal.SIGINT, signal.default_int_handler)"
    code = f"{listening}; os.execv({command[0]!r}, {command!r})"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 200
    while not list(output.glob("Real*")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to everyone
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130, errors
    assert "the same command continues" in errors
    assert "Traceback" not in errors
    for folder in output.glob("Real*"):
        assert (folder / "scores.json").exists()


def test_pairs_are_found_in_lists_and_layouts(data, tmp_path):
    pairs = find_pairs(data)
    assert [pair.name for pair in pairs] == [f"{n:03d}" for n in range(1, PAIRS + 1)]
    assert pairs[0].first == data / "imageB" / "001_B.png"  # I_B
    assert pairs[0].factors(625) == (1, 2, 4)
    listed = tmp_path / "pairs.csv"
    (tmp_path / "x.png").touch()
    for text, message in (
        ("first,second\nx.png,none.png\n", "line 2: there is no file"),
        ("one,two\n", "columns first,second"),
    ):
        listed.write_text(text)
        with pytest.raises(RelblurError, match=message):
            find_pairs(listed)
    with pytest.raises(RelblurError, match="no pairs"):
        find_pairs(tmp_path / "nothing")


def test_a_list_of_pairs_is_not_replaced(data, tmp_path):
    listed = tmp_path / "scores.csv"
    listed.write_text(f"first,second\n{data}/imageA/001_A.png,{data}/imageB/001_B.png")
    done = _batch(listed, tmp_path, "--force")
    assert done.exit_code == 2
    assert "scores.csv is also read by this command" in done.output
    assert sorted(os.listdir(tmp_path)) == ["scores.csv"]


def test_a_scheduler_that_is_not_there_gets_one_line(data, tmp_path, monkeypatch):
    from relblur.apps.cluster import runners

    monkeypatch.setattr(runners, "PATIENCE_S", 1)
    done = _batch(data, tmp_path / "out", "--scheduler", "tcp://127.0.0.1:1")
    assert done.exit_code == 3
    assert "no scheduler answers" in done.output
    assert not (tmp_path / "out").exists()
