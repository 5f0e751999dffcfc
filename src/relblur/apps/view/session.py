"""The session: images, their results, and the work in progress.

Only the stages whose settings have changed run again. Images are shown before their map. All open pages show the same
state. If work is stopped or fails, the last finished result is restored.
"""

from __future__ import annotations

import asyncio
import secrets
import shutil
import tempfile
import time
import weakref
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...base._typing import UInt8Array
from ...base.errors import InputError, RelblurError
from ...blur.blur_map import BlurMap
from ...blur.comparable_pair import ComparablePair
from ...depth.camera import Camera
from ...depth.depth_map import DepthMap
from ...depth.relation import blur_to_depth
from ...stacks.stack_map import StackMap
from . import planes as shown
from .choices import Choices
from .content import Content
from .files import EXAMPLE_CAMERA, Images, SavedResult, example, forget
from .retouch import Painting, Stroke
from .tasks import Aligned
from .workers import Worker

__all__ = ["Session"]

#: Number of cached frames at full size: the brush and the slider use one or two.
_FULL_FRAMES = 2
_PICTURES = {"remade": "blurrier image, re-made", "fused": "sharp everywhere"}


class Session:
    """State of all pages, and the two worker processes."""

    def __init__(self, quick: Worker, slow: Worker) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="relblur-view-"))
        self._delete_folder = weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)  # also at exit
        self.last_seen = time.monotonic()
        self.listeners: set[asyncio.Event] = set()
        self.now = Content()
        self._finished = Content()  #: the last finished state
        self._job: dict[str, Any] | None = None
        self._message: dict[str, str] | None = None
        self._version = 0
        self._task: asyncio.Task[None] | None = None
        self._full_frames: OrderedDict[tuple[str, int], UInt8Array] = OrderedDict()
        self.watch: asyncio.Task[None] | None = None  #: ends the server when no page is open
        self.quick, self.slow = quick, slow

    # -- state of pages --------------------------------------------------------------------------------------

    def announce(self) -> None:
        """Notify every open page."""
        self._version += 1
        for listener in self.listeners:
            listener.set()

    def state(self) -> dict[str, Any]:
        """Return the state without the pixels, for JSON."""
        return {**self.now.about(), "version": self._version, "job": self._job, "message": self._message}

    async def full_frame(self, place: int) -> UInt8Array:
        """Return an aligned frame at full size."""
        aligned = self.now.aligned
        if aligned is None or place not in [frame.position for frame in aligned.frames.frames]:
            raise InputError(f"there is no frame {place} yet; wait until the images are aligned")
        key = (self.now.keys["aligned"], place)
        if key not in self._full_frames:
            self._full_frames[key] = await self.quick.run("frame", place, keep=self.kept("aligned"))
            while len(self._full_frames) > _FULL_FRAMES:
                self._full_frames.popitem(last=False)
        self._full_frames.move_to_end(key)
        return self._full_frames[key]

    # -- requests of pages -----------------------------------------------------------------------------------

    async def open_example(self) -> None:
        """Open the example, with its camera."""
        await self.open_images(example(), camera=EXAMPLE_CAMERA)

    async def open_images(self, images: Images, *, camera: Camera | None = None) -> None:
        """Open images; if they cannot be read, the last finished result is restored."""
        await self._stop()
        before = self.now.images
        if before is not None and before is not self._finished.images:
            before.forget()  # uploads that were not read
        self.now = Content(images, choices=replace(self.now.choices, focus_m=None, prefer="any"), camera=camera)
        self._start(self._make())

    async def open_result(self, result: SavedResult, name: str) -> None:
        """Open a saved result."""
        await self._stop()
        self._forget_files()
        self.now = now = Content(result_name=name, choices=self.now.choices)
        for picture, data, factor in result.pictures:
            self._put(shown.picture(picture, _PICTURES[picture], data, factor))
        if result.blur_map is not None:
            await self._accept_map(result.blur_map)
        if result.stack is not None:
            await self._accept_map(result.stack)
        if result.depth_map is not None:
            now.camera = result.depth_map.camera
            self._accept_depth(result.depth_map, measured=True)
        now.is_final = True
        self._finish()

    async def change(self, values: Mapping[str, Any]) -> None:
        """Change settings; repeat only the stages that depend on them."""
        choices = self.now.choices.changed(values)
        if self.now.images is None:
            raise InputError("a saved result contains no images to measure; open the images")
        await self._stop()
        now, before = self.now, self.now.prepared_with
        again = choices.reading != before.reading
        again |= choices.focus_m != before.focus_m
        only_prefer = replace(choices, prefer=now.choices.prefer) == now.choices and now.is_final and not again
        now.choices = choices
        if only_prefer:
            self._start(self._fuse())
            return
        if again or now.pair is None:
            now.pair = now.aligned = None
        self._start(self._make())

    async def set_camera(self, camera: Camera, choices: Mapping[str, Any], *, measure: bool) -> None:
        """Convert the map of a pair to depth, or measure depth as ``relblur depth`` does."""
        now = self.now
        depth_choices = now.depth_choices.changed(choices)
        arguments = depth_choices.arguments(camera)
        if now.blur_map is None and now.pair is None:
            raise InputError("there is no pair to measure depth of; open one")
        if measure and now.pair is None:
            raise InputError("a saved result contains no images to measure; open the pair")
        await self._stop()
        now.camera, now.depth_choices = camera, depth_choices
        if measure:
            self._start(self._measure_depth(camera, arguments))
        elif now.blur_map is not None:
            self._accept_depth(self._depth_of_map(), measured=False)
            self._finish()

    async def fuse_by_labels(self, path: Path) -> None:
        """Fuse by labels, the position of a frame for every pixel."""
        await self._stop()
        self._start(self._fuse(path))

    async def paint(self, form: Mapping[str, Any]) -> None:
        """Replace a region of the fused picture by one frame."""
        painting, aligned = self.now.painting, self.now.aligned
        if painting is None or aligned is None:
            raise InputError("there is no fused picture yet; wait until it is made")
        stroke = Stroke.from_form(form, [frame.position for frame in aligned.frames.frames])
        frame = await self.full_frame(stroke.frame)
        if self.now.painting is painting:
            self._patched(painting.paint(stroke, frame))

    def undo(self) -> None:
        """Remove the last stroke."""
        if self.now.painting is None:
            raise InputError("there is no stroke to undo")
        self._patched(self.now.painting.undo())

    def _patched(self, box: tuple[int, int, int, int] | None) -> None:
        now = self.now
        if box is not None:
            before = now.versions["fused"]
            now.versions["fused"] = self._version = self._version + 1
            now.patch = {"from": before, "to": self._version, "box": box}
        self.announce()

    async def cancel(self) -> None:
        """Stop the work and restore the last finished result."""
        was_busy = self._job is not None
        await self._stop()
        if was_busy:
            self._restore()
            kept = " The last finished result stays." if self.now.is_final else ""
            self._message = {"kind": "note", "text": f"stopped.{kept} Change a setting, or open images."}
        self.announce()

    async def close(self) -> None:
        """Stop all work and delete all files."""
        for task in (self.watch, self._task):
            if task is not None:
                task.cancel()
        self.slow.stop()
        self.quick.stop()
        self._delete_folder()

    def kept(self, *names: str) -> dict[str, tuple[str, Any]]:
        """Return large values for a worker, each with a key; the worker keeps a value until its key changes."""
        now = self.now
        light = None if now.painting is None else now.painting.light
        values = {name: light if name == "light" else getattr(now, name) for name in names}
        return {name: (now.keys.get(_KEYS.get(name, name), ""), value) for name, value in values.items()}

    # -- work ------------------------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        self._message = None
        self._task = asyncio.create_task(self._report(work))
        self._task.add_done_callback(lambda _: work.close())  # if it is cancelled before it starts
        return self._task

    async def _report(self, work: Coroutine[Any, Any, None]) -> None:
        images = self.now.images
        try:
            await work
        except RelblurError as error:
            text = str(error) if images is None else images.with_names(str(error))
            self._message = {"kind": "error", "text": " ".join(text.split())}
            self._restore()
        finally:
            self._job = None
            self.announce()

    async def _stop(self) -> None:
        while self._task is not None and not self._task.done():  # another request may start a task during the wait
            self._task.cancel()
            await asyncio.wait({self._task})
            self.slow.start()  # so that the next request need not wait for it
        self._task = None

    def _finish(self) -> None:
        """Store the state as finished, to be restored if later work is stopped or fails."""
        self._finished = self.now.copy()
        self.announce()

    def _restore(self) -> None:
        """Restore the last finished state, unless other images have been read since."""
        now, last = self.now, self._finished
        if now.is_final or not last.planes:
            return
        if last.images is now.images or (now.pair is None and now.aligned is None):
            if now.images is not None and now.images is not last.images:
                now.images.forget()
            self.now = last.copy()

    def _forget_files(self) -> None:
        """Delete the uploads of the current and the last finished state."""
        for images in {id(each): each for each in (self.now.images, self._finished.images) if each}.values():
            images.forget()

    def _begin(self, what: str, share: float | None = 0.0) -> Callable[[float], None]:
        """Announce a job and return a function that reports its progress."""
        self._job = {"what": what, "share": share}
        self.announce()

        def report(done: float) -> None:
            if self._job is not None:
                self._job["share"] = round(done, 3)
                self.announce()

        return report

    async def _make(self) -> None:
        """Read the images if necessary, measure them and make the pictures."""
        images = self.now.images
        assert images is not None
        self.now.is_final = False
        early = asyncio.create_task(self._preview(images))
        try:
            await (self._measure_pair(images) if images.is_pair else self._measure_stack(images))
        finally:
            early.cancel()
        self._finish()
        aligned = self.now.aligned
        if images.is_pair and aligned is not None:
            report = self._begin("making pictures")
            remade = await self.slow.run("remake", aligned.white, keep=self.kept("pair", "blur_map"), progress=report)
            self._put(shown.picture("remade", _PICTURES["remade"], remade))
        await self._fuse()

    async def _preview(self, images: Images) -> None:
        """Show the images unaligned while they are being read and aligned."""

        def is_early() -> bool:
            return (
                self.now.images is images
                and not self.now.versions.keys() & {"s", "index"}
                and (self.now.pair is None and self.now.aligned is None)
            )

        for path, name in zip(images.paths, ("first", "second") if images.is_pair else ("first",), strict=False):
            try:
                data = await self.quick.run("preview", str(path), self.now.choices.linear) if is_early() else None
            except RelblurError:
                return  # the slow process reports the error
            if data is not None and is_early():
                title = name if images.is_pair else images.names[0]
                self._put(shown.picture(name, f"{title}, not aligned", data))
                self.announce()

    async def _measure_pair(self, images: Images) -> None:
        if self.now.pair is None:
            report = self._begin("reading and aligning the pair", None)
            paths, choices = [str(path) for path in images.paths], self.now.choices
            pair, aligned = await self.slow.run("prepare", paths, choices.preparing, progress=report)
            self._accept_frames(aligned, choices, pair)
        choices = self.now.choices
        report = self._begin(f"measuring blur, method {choices.method}")
        result = await self.slow.run("estimate", choices.estimating, keep=self.kept("pair"), progress=report)
        await self._accept_map(result)

    async def _measure_stack(self, images: Images) -> None:
        count = len(images.paths)
        what = f"{count} images" if count > 1 else images.names[0]
        report, choices = self._begin(f"reading and aligning {what}"), self.now.choices

        def accept(aligned: Aligned) -> None:
            self._accept_frames(aligned, choices)
            if self._job is not None:
                self._job["what"] = f"measuring {len(aligned.names)} frames"
            self.announce()

        arguments = ([str(path) for path in images.paths], choices.reading, choices.focus_m, self.now.camera)
        result = await self.slow.run("stack", *arguments, progress=report, partial=accept)
        await self._accept_map(result)

    async def _fuse(self, labels: Path | None = None) -> None:
        now = self.now
        try:
            if now.aligned is None or now.measured is None:
                raise InputError("there is no map yet; wait until it is measured")
            report = self._begin("fusing")
            path = None if labels is None else str(labels)
            keep = self.kept("aligned", "measured")
            light, picture = await self.slow.run("fuse", now.choices.prefer, path, keep=keep, progress=report)
        finally:
            if labels is not None:
                forget(labels)
        now.painting, now.keys["light"] = Painting(light, picture), secrets.token_hex(8)
        now.has_labels, now.patch = labels is not None, None
        self._put(shown.picture("fused", _PICTURES["fused"], now.painting.shown, now.aligned.frames.factor))
        self._finish()

    async def _measure_depth(self, camera: Camera, arguments: Mapping[str, Any]) -> None:
        report = self._begin("measuring depth")
        keep = self.kept("pair")
        result = await self.slow.run("measure_depth", camera, arguments, keep=keep, progress=report)
        self._accept_depth(result, measured=True)
        self._finish()

    def _depth_of_map(self) -> DepthMap:
        now = self.now
        if now.blur_map is None or now.camera is None:
            raise InputError("there is no map yet; wait until it is measured")
        side = "front" if now.depth_choices.side == "front" else "behind"
        return blur_to_depth(now.blur_map, now.camera.decimated(now.factor), side=side)

    # -- results ---------------------------------------------------------------------------------------------

    def _accept_frames(self, aligned: Aligned, choices: Choices, pair: ComparablePair | None = None) -> None:
        self._clear()
        now = self.now
        now.pair, now.aligned, now.prepared_with = pair, aligned, choices
        now.keys |= {"pair": secrets.token_hex(8), "aligned": secrets.token_hex(8)}
        if pair is not None:
            for name, data in zip(("first", "second"), aligned.pictures, strict=True):
                self._put(shown.picture(name, name, data))
        self.announce()

    async def _accept_map(self, result: BlurMap | StackMap) -> None:
        made = await asyncio.to_thread(shown.map_planes, result)
        now = self.now
        if isinstance(result, StackMap):
            now.stack = result
        else:
            now.blur_map = result
        now.is_final = True
        now.keys["map"] = secrets.token_hex(8)
        for plane in made:
            self._put(plane)
        self._fade(await asyncio.to_thread(shown.opacity, result))
        if isinstance(result, BlurMap) and now.camera is not None and not now.depth_is_measured:
            try:
                self._accept_depth(await asyncio.to_thread(self._depth_of_map), measured=False)
            except RelblurError as error:
                self._message = {"kind": "error", "text": str(error)}

    def _accept_depth(self, depth_map: DepthMap, *, measured: bool) -> None:
        now = self.now
        now.depth_map, now.depth_is_measured = depth_map, measured
        now.keys["depth_map"] = secrets.token_hex(8)
        for plane in shown.map_planes(depth_map):
            if plane.name != "flags" or now.measured is None:
                self._put(plane)
        if now.measured is None:
            self._fade(shown.opacity(depth_map))

    def _fade(self, opacity: shown.Plane | None) -> None:
        if opacity is None:
            self.now.planes.pop(shown.OPACITY, None)
        else:
            self._put(opacity)

    def _put(self, plane: shown.Plane) -> None:
        self._version += 1
        self.now.put(plane, self._version)

    def _clear(self) -> None:
        """Delete all results of the images, and the images of the last finished state."""
        now, last = self.now, self._finished.images
        if last is not None and last is not now.images:
            last.forget()
            self._finished = Content()
        self.now = Content(now.images, now.result_name, now.choices, now.camera, now.depth_choices)
        self._message = None


#: Keys of values that are stored under another name.
_KEYS = {"blur_map": "map", "measured": "map"}
