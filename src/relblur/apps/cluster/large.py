"""``relblur estimate A.zarr B.zarr -o OUT.zarr``: a map of pictures that are never held.

The tasks of :mod:`relblur.blur.chunked` make the map chunk by chunk; each chunk is then written. A run that was
interrupted goes on with the chunks that are missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ... import __version__
from ...base.errors import FileError, OutputExistsError
from ...blur.chunked import ChunkedEstimate
from ...blur.estimating import Estimating, settings_of
from ...images.results import clear, move_folder_in, refuse_foreign, resuming
from .map_store import MapStore
from .runners import Runner
from .slides import prepare_slides
from .stores import open_store, require

__all__ = ["Finished", "estimate_large"]

#: Sides of the map's chunks, px. A local method repeats what lies 60 px around; ``refined`` 96 px, and takes 1.1 kB a
#: pixel: 0.9 GB.
LOCAL_SIDE, REFINED_SIDE = 1024, 672


@dataclass(frozen=True)
class Finished:
    """What was done."""

    notes: tuple[str, ...]
    shape: tuple[int, int]
    chunks: int
    were_done: int  #: by an earlier run
    settings: Mapping[str, Any]


def estimate_large(
    files: tuple[Path, Path],
    output: Path,
    preparing: Mapping[str, Any],
    options: Estimating,
    runner: Runner,
    *,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Finished:
    """Write the map of two stores.

    ``preparing`` are the arguments of ``prepare_pair``.
    """
    require("zarr", "dask")
    import dask

    _check_output(output, files, force)
    first, second = (open_store(path) for path in files)
    with dask.config.set(scheduler=runner.scheduler):
        pair, noise, notes, settings = prepare_slides(first, second, preparing)
        options = replace(options, workers=runner.threads, noise=noise if options.noise is None else options.noise)
        side = LOCAL_SIDE if options.entry.surveys else REFINED_SIDE
        estimate = ChunkedEstimate.of(pair, options, side)
    tiles, statistics = estimate.tiles, estimate.statistics
    settings = settings_of(statistics.request, {**statistics.notes, "chunks": len(tiles)}, settings)
    identity = {
        "files": [first.identity(), second.identity()],
        "options": {**preparing, **{name: value for name, value in vars(options).items() if name != "workers"}},
        "relblur": __version__,
    }
    with resuming(output.parent, output.name) as new:
        made_from = json.dumps(identity, default=str, sort_keys=True)
        rows, columns = tiles[0].core
        store = MapStore(new.absolute() / output.name, statistics.shape, (rows.stop, columns.stop), made_from)
        store.begin()
        missing = store.missing(tiles)
        were_done = len(tiles) - len(missing)

        def done(count: int) -> None:
            if progress is not None:
                progress((were_done + count) / len(tiles))

        write = dask.delayed(store.write, pure=False)
        planes = estimate.planes(missing)
        runner.run([write(tiles[n], plane) for n, plane in zip(missing, planes, strict=True)], done)
        store.finish(settings)
        move_folder_in(new, output.name, force)
    return Finished(tuple(notes), statistics.shape, len(tiles), were_done, settings)


def _check_output(output: Path, files: tuple[Path, Path], force: bool) -> None:
    """Stop before the work if the output cannot be written or may not be replaced."""
    if output.suffix.lower() != ".zarr":
        raise OutputExistsError(f"-o {output} must end in .zarr for pictures that are read in parts")
    if not output.parent.is_dir():
        raise FileError(f"cannot write {output}: there is no folder {output.parent}; make it first")
    clear(output.parent)
    real = os.path.realpath(output)
    for path in files:
        if Path(os.path.realpath(path)).is_relative_to(real) or Path(real).is_relative_to(os.path.realpath(path)):
            raise OutputExistsError(f"{output} is also read by this command and would be replaced; choose another name")
    if os.path.lexists(output):
        if not force:
            raise OutputExistsError(f"{output} would be replaced; add --force or choose another name")
        refuse_foreign(output)
