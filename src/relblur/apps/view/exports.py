"""Files that the page offers: all that the command line writes."""

from __future__ import annotations

import asyncio
import secrets
import zipfile
from pathlib import Path

from ...base.errors import FileError, InputError
from .session import Session

__all__ = ["BLUR_ZIP", "DEPTH_ZIP", "Exports"]

BLUR_ZIP, DEPTH_ZIP, CAMERA = "relblur_blur.zip", "relblur_depth.zip", "camera.toml"
#: Names that both folders have: the page asks for those of depth with this before them.
DEPTH = "depth/"


class Exports:
    """Makes files in the session's folder when a browser fetches them; those of the present map are kept."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._made: dict[str, tuple[str, Path]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def file(self, name: str) -> Path:
        """Return the path of a file that a page asked for by its name."""
        async with self._one_at_a_time:
            return await self._file(name)

    async def _file(self, name: str) -> Path:
        from ...report.result_files import (
            BLUR_FILES,  # bring the estimators with them
            DEPTH_FILES,
        )

        session = self._session
        if name == CAMERA:
            if session.camera is None:
                raise InputError("there is no camera; describe one in the depth tab")
            path = self._fresh(f"camera {session.camera}") / CAMERA
            session.camera.save(path)
            return path
        if name == BLUR_ZIP or name in BLUR_FILES:
            folder = await self._blur_folder()
        elif name == DEPTH_ZIP or (name.startswith(DEPTH) and name.removeprefix(DEPTH) in DEPTH_FILES):
            folder = await self._depth_folder()
        else:
            raise FileError(f"there is no file {name[:60]!r} to export")
        if name in (BLUR_ZIP, DEPTH_ZIP):
            return await asyncio.to_thread(_zipped, folder)
        path = folder / name.removeprefix(DEPTH)
        if not path.is_file():
            raise FileError(f"{path.name} cannot be made of this map (see summary.json)")
        return path

    async def _blur_folder(self) -> Path:
        session = self._session
        if session.blur_map is None or not session.is_final:
            raise InputError("the map is not finished; wait for it, or choose method window")
        key = f"blur {session.map_key}"
        if session.prepared is None:  # loaded: the map itself can be saved again
            folder = self._fresh(key)
            if not any(folder.iterdir()):
                for name in ("blur_map.npz", "sigma.tif", "sigma.png"):
                    await asyncio.to_thread(session.blur_map.save, folder / name)
            return folder
        folder = self._fresh(key)
        if not any(folder.iterdir()):
            await session.slow.run("export_blur", str(folder), keep=session.kept("pair", "blur_map"))
        return folder

    async def _depth_folder(self) -> Path:
        session = self._session
        if session.depth_map is None:
            raise InputError("there is no depth; describe the camera in the depth tab")
        folder = self._fresh(f"depth {session.versions['depth']}")
        if not any(folder.iterdir()):
            if session.prepared is None:
                await asyncio.to_thread(session.depth_map.save, folder / "depth.npz")
            else:
                keep = {**session.kept("pair"), "depth_map": (f"{session.versions['depth']}", session.depth_map)}
                await session.slow.run("export_depth", str(folder), keep=keep)
        return folder

    def _fresh(self, key: str) -> Path:
        """Return the folder of a kind of files; an empty one if what they were made of has changed."""
        kind = key.split()[0]
        known = self._made.get(kind)
        if known is not None and known[0] == key and known[1].is_dir():
            return known[1]
        if known is not None:
            _remove(known[1])
        folder = self._session.folder / f"export-{secrets.token_hex(8)}"
        folder.mkdir()
        self._made[kind] = (key, folder)
        return folder


def _zipped(folder: Path) -> Path:
    path = folder.with_suffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:  # the files are packed already
        for each in sorted(folder.iterdir()):
            archive.write(each, each.name)
    return path


def _remove(folder: Path) -> None:
    import shutil

    shutil.rmtree(folder, ignore_errors=True)
    folder.with_suffix(".zip").unlink(missing_ok=True)
