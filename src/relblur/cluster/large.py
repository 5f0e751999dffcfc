"""``relblur estimate A.zarr B.zarr -o OUT.zarr``: a map of pictures that are never held.

One task makes one chunk of the map: it reads the rectangle with what lies around it, estimates, and writes. With
``refined`` it gives what it found to the tasks of its neighbours first, whose borders pass into its own. A run that
was interrupted goes on with the chunks that are missing.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import __version__
from ..base.errors import FileError, OutputExistsError
from ..blur.asked import Asked, settings_of
from ..blur.parts import RefinedTile, answer_part, blend_tile, neighbours, refine_tile
from ..blur.shared import Shared, find_shared, refined_halo
from ..blur.tiles import Region, Tile, cut_into_tiles
from ..files.staging import clear, move_folder_in, refuse_foreign, resuming
from .map_store import MapStore
from .runners import Runner
from .slides import SlidePair, prepare_slides
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
    asked: Asked,
    runner: Runner,
    *,
    force: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Finished:
    """Write the map of two stores.

    ``preparing`` are the arguments of ``prepare_pair``.
    """
    require("zarr", "dask")
    _check_output(output, files, force)
    first, second = (open_store(path) for path in files)
    pair, found = prepare_slides(first, second, runner, preparing)
    asked = replace(asked, workers=runner.threads, noise=found["noise"] if asked.noise is None else asked.noise)
    shared = find_shared(pair, asked)
    tiles = _tiles(shared)
    identity = {
        "files": [first.identity(), second.identity()],
        "options": {**preparing, **{name: value for name, value in vars(asked).items() if name != "workers"}},
        "relblur": __version__,
    }
    chunks = tuple(max(tile.core[axis].stop - tile.core[axis].start for tile in tiles) for axis in (0, 1))
    made_from = json.dumps(identity, default=str, sort_keys=True)
    with resuming(output.parent, output.name) as new:
        store = MapStore(new.absolute() / output.name, shared.shape, (chunks[0], chunks[1]), made_from)
        store.begin()
        missing = store.missing(tiles)
        were_done = len(tiles) - len(missing)

        def done(count: int) -> None:
            if progress is not None:
                progress((were_done + count) / len(tiles))

        runner.run(_tasks(pair, store, shared, tiles, missing), done)
        notes = {**shared.notes, "chunks": len(tiles)}
        settings = settings_of(shared.request, notes, found["settings"])
        store.finish(settings)
        move_folder_in(new, output.name, force)
    return Finished(pair.notes, shared.shape, len(tiles), were_done, settings)


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


def _tiles(shared: Shared) -> list[Tile]:
    if shared.request.method == "refined":
        return cut_into_tiles(shared.shape, REFINED_SIDE, refined_halo(shared.request))
    halo = -(-shared.halo // 32) * 32  # filters work on groups of columns: their bits are those of the whole
    spans = [
        [
            (slice(a, min(a + LOCAL_SIDE, n)), slice(max(a - halo, 0), min(a + LOCAL_SIDE + halo, n)))
            for a in range(0, n, LOCAL_SIDE)
        ]
        for n in shared.shape
    ]
    return [Tile((rows[0], columns[0]), (rows[1], columns[1])) for rows in spans[0] for columns in spans[1]]


def _tasks(
    pair: SlidePair, store: MapStore, shared: Shared, tiles: Sequence[Tile], missing: Sequence[int]
) -> list[Any]:
    """Return a task for each missing chunk, with those that it needs."""
    import dask

    together = dask.delayed((pair, store, shared), traverse=False, pure=False)
    if shared.request.method != "refined":
        answer = dask.delayed(_answer, pure=False)
        return [answer(together, tiles[number]) for number in missing]
    refine, blend = dask.delayed(_refine, pure=False), dask.delayed(_blend, pure=False)
    around = {number: neighbours(number, tiles) for number in missing}
    needed = sorted({other for others in around.values() for other in others})
    found = {number: refine(together, tiles[number].outer) for number in needed}
    return [
        blend(together, tiles[number], [tiles[n] for n in others], [found[n] for n in others])
        for number, others in around.items()
    ]


Together = tuple[SlidePair, MapStore, Shared]


def _answer(together: Together, tile: Tile) -> None:
    pair, store, shared = together
    store.write(tile, answer_part(pair.part(tile.outer), tile, shared))


def _refine(together: Together, outer: Region) -> RefinedTile:
    pair, _, shared = together
    return refine_tile(pair.part(outer), shared)


def _blend(together: Together, tile: Tile, others: Sequence[Tile], found: Sequence[RefinedTile]) -> None:
    _, store, shared = together
    store.write(tile, blend_tile(tile, list(zip(others, found, strict=True)), shared))
