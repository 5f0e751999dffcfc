"""The one pair that is looked at: where it came from, what was made of it, what is being made.

Only the stage that changed is done again: the pair is read, aligned and exposed once, other choices measure it anew.
A map is made twice: quickly by the window method, then with the chosen settings. Every open page receives both.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from ... import __version__
from ...base.errors import InputError, RelblurError
from ...base.settings import WINDOW_WINDOW
from ...blur.blur_map import BlurMap
from ...depth.camera import Camera
from ...depth.depth_map import DepthMap
from ...depth.relation import Side, blur_to_depth
from . import planes as shown
from .choices import Choices, DepthChoices, command_line, depth_command_line
from .regions import Quantity
from .source import EXAMPLE_CAMERA, PairFiles, SavedResult, example
from .tasks import Prepared
from .workers import Worker, WorkerError

__all__ = ["Session"]

#: So long the window's map may keep the other waiting, s: compiled code is loaded in that time, but not compiled.
PATIENCE_S = 1.5


class Session:
    """A pair, its maps, and the two processes that make them."""

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="relblur-view-"))
        self._delete_folder = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)  # also at exit
        self.last_seen = time.monotonic()
        self.listeners: set[asyncio.Event] = set()
        self.files: PairFiles | None = None
        self.choices = Choices()
        self.prepared: Prepared | None = None
        self.blur_map: BlurMap | None = None
        self.depth_map: DepthMap | None = None
        self.camera: Camera | None = None
        self.depth_choices = DepthChoices()
        self.planes: dict[str, shown.Plane] = {}
        self.versions: dict[str, int] = {}
        self.is_final = False
        self.depth_is_measured = False
        self.pair_key = self.map_key = ""
        self._prepared_with = self.choices
        self._job: dict[str, Any] | None = None
        self._message: dict[str, str] | None = None
        self._loaded = ""
        self._legend = shown.flag_legend()
        self._quantities: tuple[str, dict[str, Quantity]] = ("", {})
        self._version = 0
        self._task: asyncio.Task[None] | None = None
        self.watch: asyncio.Task[None] | None = None  #: who ends the server when nobody looks
        self._quick = quick
        self.slow = slow

    # -- what pages see --------------------------------------------------------------------------------------

    def announce(self) -> None:
        """Tell every open page that something is new."""
        self._version += 1
        for listener in self.listeners:
            listener.set()

    def state(self) -> dict[str, Any]:
        """Return all that a page needs to know, without the maps themselves."""
        maker = self.depth_map if self.blur_map is None else self.blur_map
        shape = None
        if self.prepared is not None:
            shape = self.prepared.pair.shape
        elif maker is not None:
            shape = maker.shape
        return {
            "version": self._version,
            "relblur": __version__,
            "name": self._loaded or (f"{self.files.first_name}, {self.files.second_name}" if self.files else ""),
            "source": "result" if self._loaded else self.files.kind if self.files else "",
            "width": shape[1] if shape else 0,
            "height": shape[0] if shape else 0,
            "notes": list(self.prepared.pair.notes) if self.prepared else [],
            "factor": self.prepared.pair.factor if self.prepared else 1,
            "choices": vars(self.choices),
            "planes": [plane.about(self.versions[name]) for name, plane in self.planes.items()],
            "flags": self._legend,
            "final": self.is_final,
            "made_by": shown.summary_line(maker.settings) if maker is not None else "",
            "depth_made_by": shown.summary_line(self.depth_map.settings) if self.depth_map is not None else "",
            "depth_measured": self.depth_is_measured,
            "focal_px": self.depth_map.camera.focal_length_px if self.depth_map is not None else None,
            "camera": _finite(self.camera.as_dict()) if self.camera is not None else None,
            "depth_choices": vars(self.depth_choices),
            "commands": self._commands(),
            "job": self._job,
            "message": self._message,
            "live": None,
        }

    def _commands(self) -> dict[str, str]:
        if self.files is None:
            return {}
        choices = self.choices
        if self.prepared is not None and choices.max_sigma != self._prepared_with.max_sigma:
            choices = choices.changed({"decimate": self.prepared.pair.factor})  # the pair was not chosen anew
        first, second = self.files.in_commands
        commands = {"estimate": self.files.before + command_line(first, second, choices)}
        if self.camera is not None:
            depth = depth_command_line(first, second, choices, self.depth_choices)
            commands["depth"] = self.files.before + depth
        return commands

    def fetched(self, name: str) -> None:
        """Hear that a page has fetched a plane: of interest to those that change all the time."""

    def quantities(self) -> dict[str, Quantity]:
        """Return the maps that boxes and lines are about."""
        key = f"{self.map_key} {self.versions.get('depth')}"
        if self._quantities[0] == key and self._quantities[1]:
            return self._quantities[1]
        found: dict[str, Quantity] = {}
        if self.blur_map is not None:
            window = _window(self.blur_map.settings, 1)
            found["sigma"] = Quantity(self.blur_map.sigma, self.blur_map.sigma_stderr, "px", "relative blur", window)
            s, stderr = self.blur_map.variance_difference, self.blur_map.variance_stderr
            found["s"] = Quantity(s, stderr, "px²", "variance difference s", window)
        if self.depth_map is not None:
            window = _window(self.depth_map.settings, WINDOW_WINDOW)
            found["depth"] = Quantity(self.depth_map.depth_m, self.depth_map.depth_stderr_m, "m", "depth", window)
        if not found:
            raise InputError("there is no map yet; wait until it is measured")
        self._quantities = (key, found)
        return found

    # -- what pages ask for ----------------------------------------------------------------------------------

    async def open_example(self) -> None:
        """Look at the ready example, with its camera."""
        await self.open_pair(example(), camera=EXAMPLE_CAMERA)

    async def open_pair(self, files: PairFiles, *, camera: Camera | None = None) -> None:
        """Look at another pair, once it has been read; if it cannot be, what is shown stays."""
        await self._stop()
        if self.planes:
            task = self._start(self._replace(files, camera))
            task.add_done_callback(lambda _: None if self.files is files else files.forget())
            return
        if self.files is not None:
            self.files.forget()
        self.files, self.camera, self._loaded = files, camera, ""
        self._start(self._make())

    async def open_result(self, found: SavedResult, name: str) -> None:
        """Look at a map that was saved: a file, or a folder of results."""
        await self._stop()
        if self.files is not None:
            self.files.forget()
        self._clear()
        self.files, self._loaded, self.camera = None, name, None
        for each in found.pictures:
            self._put(each)
        if found.blur_map is not None:
            await self._accept_map(found.blur_map, final=True)
        if found.depth_map is not None:
            self.camera = found.depth_map.camera
            self._accept_depth(found.depth_map, measured=True)
        self.announce()

    async def change(self, values: Mapping[str, Any]) -> None:
        """Measure again with other choices; what they do not touch stays."""
        choices = self.choices.changed(values)
        if self.files is None:
            raise InputError("a saved result has no images that could be measured again; open the pair")
        await self._stop()
        if not choices.same_pair(self._prepared_with) or self.prepared is None:
            self.prepared = None
        self.choices = choices
        self._start(self._make())

    async def set_camera(self, camera: Camera, choices: Mapping[str, Any], *, measure: bool) -> None:
        """Turn the map into depth by a camera, or measure depth as ``relblur depth`` does."""
        depth_choices = self.depth_choices.changed(choices)
        arguments = depth_choices.arguments
        if self.blur_map is None and self.prepared is None:
            raise InputError("there is no pair whose depth could be measured; open one")
        self.camera, self.depth_choices = camera, depth_choices
        if not measure or self.prepared is None:
            self._accept_depth(await asyncio.to_thread(self._depth_of_map), measured=False)
            self.announce()
            return
        await self._stop()
        self._start(self._measure_depth(camera, arguments))

    async def cancel(self) -> None:
        """Stop what is being made, and free the processor; what is there stays."""
        stopped = self._job
        await self._stop()
        if stopped is not None:
            self._message = {"kind": "note", "text": f"stopped: {stopped['what']}"}
        self.announce()

    async def close(self) -> None:
        """End the processes and delete the files that pages sent."""
        await self._stop()
        self._quick.stop()
        self.slow.stop()
        self._delete_folder()

    async def read_result(self, path: Path) -> SavedResult:
        """Read a result in the process that answers at once, whose memory is limited."""
        found: SavedResult = await self._quick.run("read", str(path))
        return found

    def kept(self, *names: str) -> dict[str, tuple[str, Any]]:
        """Return large values for a worker, each with the key by which it knows whether it has them."""
        if self.prepared is None:
            raise InputError("there is no pair yet; wait until it is read, or open one")
        values: dict[str, tuple[str, Any]] = {
            "pair": (self.pair_key, self.prepared.pair),
            "blur_map": (self.map_key, self.blur_map),
        }
        return {name: values[name] for name in names}

    # -- making ----------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._message = None
        self._task = asyncio.create_task(self._report(work))
        self._task.add_done_callback(lambda _: work.close())  # it may be cancelled before it begins
        return self._task

    async def _report(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except (WorkerError, RelblurError) as error:
            self._message = {"kind": "error", "text": _by_name(str(error), self.files)}
        finally:
            self._job = None
            self.announce()

    async def _stop(self) -> None:
        while self._task is not None and not self._task.done():  # another request may have started one meanwhile
            self._task.cancel()
            await asyncio.wait({self._task})
            self.slow.start()  # the next request finds a process that is ready
        self._task = None

    def _begin(self, what: str) -> Callable[[float], None]:
        """Announce a job and return where its progress goes."""
        self._job = {"what": what, "share": 0.0}
        self.announce()

        def tell(share: float) -> None:
            if self._job is not None:
                self._job["share"] = round(share, 3)
                self.announce()

        return tell

    async def _make(self) -> None:
        """Prepare the pair if it is not, and measure it: at once, then as asked for."""
        assert self.files is not None
        self.is_final = False
        if self.prepared is None:
            tell = self._begin("reading and aligning the pair")
            first, second = str(self.files.first), str(self.files.second)
            wanted = self.choices
            self._accept_pair(await self.slow.run("prepare", first, second, wanted.preparing, progress=tell), wanted)
        estimating = self.choices.estimating
        tell = self._begin(f"measuring blur, method {self.choices.method}")
        quick = asyncio.create_task(self._make_quick(estimating))
        try:
            await asyncio.wait({quick}, timeout=PATIENCE_S)
            found = await self.slow.run("estimate", estimating, keep=self.kept("pair"), progress=tell)
        finally:
            quick.cancel()
        await self._accept_map(found, final=True)
        tell = self._begin("making pictures")
        assert self.prepared is not None
        made = await self.slow.run("pictures", self.prepared.white, keep=self.kept("pair", "blur_map"), progress=tell)
        self._put(shown.picture("remade", "blurrier image, re-made", made["remade"]))
        self._put(shown.picture("fused", "sharp everywhere", made["fused"]))

    async def _replace(self, files: PairFiles, camera: Camera | None) -> None:
        """Read another pair and measure it in the place of what is shown."""
        tell, wanted = self._begin("reading and aligning the pair"), self.choices
        try:
            first, second = str(files.first), str(files.second)
            prepared = await self.slow.run("prepare", first, second, wanted.preparing, progress=tell)
        except WorkerError as error:
            self._message = {"kind": "error", "text": _by_name(str(error), files)}
            if not self.is_final and self.prepared is not None:  # what was being measured has been stopped for this
                await self._make()
            return
        if self.files is not None:
            self.files.forget()
        self.files, self.camera, self._loaded = files, camera, ""
        self._accept_pair(prepared, wanted)
        await self._make()

    async def _make_quick(self, estimating: Mapping[str, Any]) -> None:
        try:
            found = await self._quick.run("quick", estimating, self.choices.max_sigma, keep=self.kept("pair"))
        except WorkerError:
            return  # the other map says what is wrong
        if not self.is_final:
            await self._accept_map(found, final=False)
            self.announce()

    async def _measure_depth(self, camera: Camera, arguments: Mapping[str, Any]) -> None:
        tell = self._begin("measuring depth")
        found = await self.slow.run("measure_depth", camera, arguments, keep=self.kept("pair"), progress=tell)
        self._accept_depth(found, measured=True)

    def _depth_of_map(self) -> DepthMap:
        if self.blur_map is None or self.camera is None:
            raise InputError("there is no map yet; wait until it is measured")
        factor = self.prepared.pair.factor if self.prepared is not None else 1
        side: Side = "front" if self.depth_choices.side == "front" else "behind"
        return blur_to_depth(self.blur_map, self.camera.decimated(factor), side=side)

    # -- accepting -------------------------------------------------------------------------------------------

    def _accept_pair(self, prepared: Prepared, wanted: Choices) -> None:
        self._clear()
        self.prepared, self._prepared_with = prepared, wanted
        self.pair_key = secrets.token_hex(8)
        self._put(shown.picture("first", "first", prepared.first))
        self._put(shown.picture("second", "second", prepared.second))
        self.announce()

    async def _accept_map(self, blur_map: BlurMap, *, final: bool) -> None:
        made = await asyncio.to_thread(shown.blur_planes, blur_map)
        self.blur_map, self.is_final = blur_map, final
        self.map_key = secrets.token_hex(8)
        for plane in made:
            self._put(plane)
        if self.camera is not None and not self.depth_is_measured:
            try:
                self._accept_depth(await asyncio.to_thread(self._depth_of_map), measured=False)
            except RelblurError as error:
                self._message = {"kind": "error", "text": str(error)}

    def _accept_depth(self, depth_map: DepthMap, *, measured: bool) -> None:
        self.depth_map, self.depth_is_measured = depth_map, measured
        for plane in shown.depth_planes(depth_map):
            self._put(plane)
        if self.blur_map is None:
            self._put(shown.Plane("flags", "flags", "flags", depth_map.flags))

    def _put(self, plane: shown.Plane) -> None:
        """Add a plane or replace it, in the order in which pages list them."""
        self.planes[plane.name] = plane
        if plane.name == "flags":
            self._legend = shown.flag_legend(plane.data)
        self.versions[plane.name] = self._version = self._version + 1
        order = ("first", "second", "sigma", "stderr", "flags", "remade", "fused", "depth", "depth_stderr")
        known = sorted(self.planes, key=lambda name: order.index(name) if name in order else len(order))
        self.planes = {name: self.planes[name] for name in known}

    def _clear(self) -> None:
        self.prepared = self.blur_map = self.depth_map = None
        self._quantities = ("", {})
        self.is_final = self.depth_is_measured = False
        self.planes, self.versions, self._message = {}, {}, None
        self._legend = shown.flag_legend()


def _by_name(text: str, files: PairFiles | None) -> str:
    """Return a message in one line that calls files as their owner does."""
    if files is not None and files.kind != "files":
        text = text.replace(str(files.first), files.first_name)
        text = text.replace(str(files.second), files.second_name)
    return " ".join(text.split())


def _window(settings: Mapping[str, Any], usual: int) -> int:
    """Return the window that made a map; the usual one if its settings hold no such number."""
    value = settings.get("window")
    return value if isinstance(value, int) and 1 <= value < 10_000 else usual


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace infinities by the word: JSON does not know them, and the camera reads it."""
    return {name: "inf" if value == float("inf") else value for name, value in values.items()}
