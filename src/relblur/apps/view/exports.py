"""Files to download: those of the command line, the retouched picture and its labels."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import zipfile
from pathlib import Path
from typing import Any

from ...base.errors import FileError, InputError
from .session import Session
from .tasks import LABELS

__all__ = ["Exports"]

ZIP, CAMERA = "relblur.zip", "camera.toml"


class Exports:
    """Writes the result files at the first download, and again when the state has changed."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._key, self._folder = "", Path()
        self._one_at_a_time = asyncio.Lock()

    def names(self) -> list[str]:
        """Return the names of all files; files of depth are in the folder "depth"."""
        from ...report.full_size import RELATIVE_DEPTH
        from ...report.result_files import BLUR_FILES, DEPTH_FILES, stack_files

        now = self._session.now
        names: list[str] = []
        if not now.is_final:
            return names
        fused = ["fused.png", LABELS] if now.painting is not None else []
        if now.stack is not None:
            known = {"depth": now.stack.depth_m is not None, "heights": now.stack.step_um is not None}
            names = [*fused[1:], *stack_files(fuse=now.painting is not None, **known)]
            names = names if now.aligned is not None else ["stack.npz", "stack.tif"]
        elif now.blur_map is not None:
            files = (*fused, *BLUR_FILES, RELATIVE_DEPTH)
            names = list(files) if now.pair is not None else ["blur_map.npz", "sigma.tif", "sigma.png"]
        if now.depth_map is not None:
            names += [f"depth/{name}" for name in DEPTH_FILES] if now.pair is not None else ["depth/depth.npz"]
        return [*names, CAMERA] if now.camera is not None else names

    async def file(self, name: str) -> Path:
        """Return the path of the file with this name."""
        if name not in (ZIP, *self.names()):
            wait = "" if self._session.now.is_final else "; the map is not finished"
            raise FileError(f"there is no file {name[:60]!r} to export{wait}")
        async with self._one_at_a_time:
            folder = await self._made()
            if name == ZIP:
                return await asyncio.to_thread(_zipped, folder)
        path = folder / name
        if not path.is_file():
            raise FileError(f"{path.name} cannot be made from this map (see summary.json)")
        return path

    async def _made(self) -> Path:
        """Return the folder of all files; rewrite them if the results or the strokes have changed."""
        session, now = self._session, self._session.now
        strokes = () if now.painting is None else tuple(now.painting.strokes)
        key = f"{now.keys} {now.camera} {hash(strokes)}"
        if key == self._key and self._folder.is_dir():
            return self._folder
        if self._key:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder.with_suffix(".zip").unlink(missing_ok=True)
        folder = session.folder / f"export-{secrets.token_hex(8)}"
        folder.mkdir()
        self._key, self._folder = key, folder
        try:
            if now.pair is None and now.aligned is None:
                await asyncio.to_thread(_write_saved, folder, now)
            else:
                keep = session.kept("pair", "aligned", "measured", "depth_map", "light")
                await session.slow.run("export", str(folder), strokes, keep=keep)
            if now.camera is not None:
                now.camera.save(folder / CAMERA)
        except BaseException:
            self._key = ""
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return folder


def _write_saved(folder: Path, now: Any) -> None:
    """Write maps that were opened from a saved result."""
    if now.stack is not None:
        for name in ("stack.npz", "stack.tif"):
            now.stack.save(folder / name)
    if now.blur_map is not None:
        for name in ("blur_map.npz", "sigma.tif", "sigma.png"):
            now.blur_map.save(folder / name)
    if now.depth_map is not None:
        (folder / "depth").mkdir()
        now.depth_map.save(folder / "depth" / "depth.npz")
    if not any(folder.iterdir()):
        raise InputError("there is no map yet; wait until it is measured")


def _zipped(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:  # the files are compressed already
        for each in sorted(folder.rglob("*")):
            if each.is_file():
                archive.write(each, each.relative_to(folder))
    return path
