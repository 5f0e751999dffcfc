"""Requests of the page: reads are GET, changes are POST, which :mod:`.guard` accepts only from the page itself."""

from __future__ import annotations

import asyncio
import json
import math
import mimetypes
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ...base.errors import FileError, InputError, RelblurError
from ...base.shown import as_json
from ...depth.camera import Camera
from ...depth.working_range import resolution_table, working_range_m
from .choices import form
from .exports import Exports
from .files import Images, TooLargeError, forget, open_paths, receive
from .guard import Guard, Keys
from .inspection import box, describe_pixel, line, pixel_of_stack
from .planes import colour_tables
from .session import Session

__all__ = ["Page", "build"]

STATIC = Path(__file__).parent / "static"
#: Maximum size of a form, bytes; a stroke has up to 5000 points.
MOST_JSON = 262_144
#: Maximum number and total size (bytes) of uploads that are not opened yet.
MOST_FILES, MOST_UPLOADED = 500, 8_000_000_000
#: Number of points of the chart of a camera.
CAMERA_POINTS = 60

Answer = Callable[[Request], Awaitable[Response]]


class Json(Response):
    """A response in JSON, with null for numbers that are not finite."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the body."""
        return as_json(content).encode()


def _with_plain_errors(answer: Answer) -> Answer:
    """Return errors as JSON: one line, with a status."""

    async def run(request: Request) -> Response:
        try:
            return await answer(request)
        except ClientDisconnect:
            return Response(status_code=400)
        except RelblurError as error:
            status = 413 if isinstance(error, TooLargeError) else 404 if isinstance(error, FileError) else 422
            headers = {"connection": "close"} if status == 413 else None
            return Json({"error": " ".join(str(error).split())}, status, headers=headers)
        except OSError as error:
            return Json({"error": f"a file cannot be written: {error.strerror or error}; check the space"}, 500)
        except Exception as error:
            text = " ".join(str(error).split())[:300]
            return Json({"error": f"unexpected {type(error).__name__}: {text}; please report it"}, 500)

    return run


class Page:
    """The handlers of all requests."""

    def __init__(self, session: Session, keys: Keys) -> None:
        self.session = session
        self.keys = keys
        self._exports = Exports(session)
        self._files = {path.name: path.read_bytes() for path in sorted(STATIC.iterdir()) if path.is_file()}
        self._received: dict[str, tuple[Path, str]] = {}

    def routes(self) -> list[Any]:
        """Return the routes."""
        reads: dict[str, Answer] = {
            "/": self.index,
            "/static/{name}": self.static,
            "/api/state": self.state,
            "/api/colours": self.colours,
            "/api/form": self.form,
            "/api/plane/{name}": self.plane,
            "/api/frame/{place:int}": self.frame,
            "/api/pixel": self.pixel,
            "/api/box": self.box,
            "/api/line": self.line,
            "/api/export/{name:path}": self.export,
        }
        changes: dict[str, Answer] = {
            "/api/upload": self.upload,
            "/api/open": self.open,
            "/api/settings": self.settings,
            "/api/camera": self.camera,
            "/api/depth": self.depth,
            "/api/labels": self.labels,
            "/api/paint": self.paint,
            "/api/undo": self.undo,
            "/api/cancel": self.cancel,
            "/api/address": self.address,
        }
        routes: list[Any] = [Route(path, _with_plain_errors(answer)) for path, answer in reads.items()]
        routes += [Route(path, _with_plain_errors(answer), methods=["POST"]) for path, answer in changes.items()]
        return [*routes, WebSocketRoute("/ws", self.socket)]

    def _state(self) -> dict[str, Any]:
        return {**self.session.state(), "exports": self._exports.names()}

    # -- reads -----------------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        """Return the page."""
        return Response(self._files["index.html"], media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """Return a file of the page by its name."""
        name = request.path_params["name"]
        if name not in self._files:
            raise FileError(f"there is no file {name[:60]!r}")
        kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
        return Response(self._files[name], media_type=kind or "application/octet-stream")

    async def state(self, request: Request) -> Response:
        """Return the state without the pixels."""
        self.session.last_seen = time.monotonic()
        return Json(self._state())

    async def colours(self, request: Request) -> Response:
        """Return the colour scales."""
        return Json(await asyncio.to_thread(colour_tables))

    async def form(self, request: Request) -> Response:
        """Return the help text and the choices of every option in the forms."""
        return Json(form())

    async def plane(self, request: Request) -> Response:
        """Return the pixels of a picture or map, or of a box of it."""
        name = request.path_params["name"]
        plane = self.session.now.planes.get(name)
        if plane is None or plane.data is None:
            raise FileError("there is no such picture yet; wait until it is made")
        part = None
        if "x0" in request.query_params:
            height, width = plane.data.shape[:2]
            left, top, right, bottom = _whole(request, "x0", "y0", "x1", "y1")
            part = (left, top, right, bottom)
            if not (0 <= left < right <= width and 0 <= top < bottom <= height):
                raise InputError(f"the box lies outside the {width}x{height} pixels of {name}")
        return Response(plane.bytes(part), media_type="application/octet-stream")

    async def frame(self, request: Request) -> Response:
        """Return an aligned frame of a stack as 8-bit RGB, small or at full size."""
        place, aligned = request.path_params["place"], self.session.now.aligned
        if "full" in request.query_params:
            data = await self.session.full_frame(place)
        else:
            places = [] if aligned is None else [frame.position for frame in aligned.frames.frames]
            if aligned is None or place not in places:
                raise FileError(f"there is no frame {place}; wait until the images are aligned")
            data = aligned.pictures[places.index(place)]
        return Response(data.tobytes(), media_type="application/octet-stream")

    async def pixel(self, request: Request) -> Response:
        """Return the values and curves of a pixel."""
        column, row = _whole(request, "x", "y")
        now = self.session.now
        if now.stack is not None:
            frames = now.aligned.frames if now.aligned is not None else None
            return Json(await asyncio.to_thread(pixel_of_stack, frames, now.stack, row, column))
        return await self._of_pair(describe_pixel, row, column)

    async def _of_pair(self, describe: Callable[..., dict[str, Any]], row: int, column: int) -> Response:
        now = self.session.now
        if now.blur_map is None:
            raise InputError("there is no blur map yet; wait until it is measured")
        return Json(await asyncio.to_thread(describe, now.pair, now.blur_map, row, column))

    async def box(self, request: Request) -> Response:
        """Return the statistics of a box."""
        x0, y0, x1, y1 = _whole(request, "x0", "y0", "x1", "y1")
        quantities = await asyncio.to_thread(self.session.now.quantities)
        flags: Any = self.session.now.planes["flags"].data
        return Json(await asyncio.to_thread(box, quantities, flags, (x0, y0, x1, y1)))

    async def line(self, request: Request) -> Response:
        """Return a profile along a line."""
        x0, y0, x1, y1 = _whole(request, "x0", "y0", "x1", "y1")
        quantities = await asyncio.to_thread(self.session.now.quantities)
        shape = next(iter(quantities.values())).values.shape
        return Json(await asyncio.to_thread(line, quantities, shape, (x0, y0, x1, y1)))

    async def export(self, request: Request) -> Response:
        """Return a result file."""
        name = request.path_params["name"]
        path = await self._exports.file(name)
        return FileResponse(path, filename=name.rpartition("/")[2], headers={"cache-control": "no-store"})

    # -- changes ---------------------------------------------------------------------------------------------

    async def upload(self, request: Request) -> Response:
        """Receive a file; return its identifier."""
        sizes = [path.stat().st_size for path, _ in self._received.values() if path.exists()]
        if len(sizes) >= MOST_FILES or sum(sizes) > MOST_UPLOADED:
            raise TooLargeError(
                f"more than {MOST_FILES} files or {MOST_UPLOADED / 1e9:g} GB; open them by name: relblur view FOLDER"
            )
        name = unquote(request.headers.get("x-file-name", "image.png"))
        path = await receive(request.stream(), request.headers.get("content-length"), name, self.session.folder)
        identifier = path.parent.name
        self._received[identifier] = (path, Path(name).name or path.name)
        return Json({"id": identifier, "bytes": path.stat().st_size})

    def _take(self, identifiers: Any) -> tuple[list[Path], list[str]]:
        """Return paths and names of the uploads with these identifiers; delete the others."""
        received, self._received = self._received, {}
        requested = identifiers if isinstance(identifiers, list) else []
        uploads = [received.pop(each) for each in requested if isinstance(each, str) and each in received]
        for path, _ in received.values():
            forget(path)
        if not requested or len(uploads) < len(requested):
            for path, _ in uploads:
                forget(path)
            raise InputError("files must be a list of uploaded files; upload them first")
        return [path for path, _ in uploads], [name for _, name in uploads]

    async def open(self, request: Request) -> Response:
        """Open uploaded files or the example."""
        form = await _json(request)
        if form.get("what") == "example":
            await self.session.open_example()
            return Json({"opened": "example"})
        paths, names = self._take(form.get("files"))
        images = Images(tuple(paths), tuple(names), "upload")
        try:
            if len(paths) == 1 and paths[0].suffix == ".npz":
                result = await self.session.quick.run("read", [str(paths[0])], names)
                await self.session.open_result(result, names[0])
                images.forget()
            else:
                chosen = await asyncio.to_thread(open_paths, paths, names)
                assert isinstance(chosen, Images)
                await self.session.open_images(chosen)
        except RelblurError as error:
            images.forget()
            raise InputError(images.with_names(str(error))) from None
        return Json({"opened": names})

    async def labels(self, request: Request) -> Response:
        """Fuse by uploaded labels."""
        paths, _ = self._take((await _json(request)).get("files"))
        await self.session.fuse_by_labels(paths[0])
        return Json(self._state())

    async def paint(self, request: Request) -> Response:
        """Replace a region of the fused picture by one frame."""
        await self.session.paint(await _json(request))
        return Json(self._state())

    async def undo(self, request: Request) -> Response:
        """Remove the last stroke of the brush."""
        self.session.undo()
        return Json(self._state())

    async def settings(self, request: Request) -> Response:
        """Change settings and measure again."""
        await self.session.change(await _json(request))
        return Json(self._state())

    async def camera(self, request: Request) -> Response:
        """Return the working range and the resolution of a camera."""
        model = Camera.from_dict(await _json(request), "the form")
        near, far = working_range_m(model)
        planes = [z for z in (model.focus_first_m, model.focus_second_m, near) if math.isfinite(z)]
        shown = 1 / np.linspace(1 / near, 1 / min(far, 3 * max(planes)), CAMERA_POINTS)
        rows = [vars(row) for row in resolution_table(model, shown)]
        return Json(
            {"kind": model.kind, "nearest_m": near, "farthest_m": far if math.isfinite(far) else None, "table": rows}
        )

    async def depth(self, request: Request) -> Response:
        """Convert the blur map to depth, or measure depth."""
        form = await _json(request)
        model = Camera.from_dict(form.get("camera", {}), "the form")
        await self.session.set_camera(model, form.get("choices", {}), measure=bool(form.get("measure")))
        return Json(self._state())

    async def cancel(self, request: Request) -> Response:
        """Stop the work."""
        await self.session.cancel()
        return Json(self._state())

    async def address(self, request: Request) -> Response:
        """Return a new one-time address, for another browser."""
        return Json({"address": self.keys.new_address()})

    async def socket(self, websocket: WebSocket) -> None:
        """Send the state at every change; incoming messages are ignored."""
        await websocket.accept()
        changed = asyncio.Event()
        changed.set()
        self.session.listeners.add(changed)

        async def until_closed() -> None:
            while (await websocket.receive())["type"] != "websocket.disconnect":
                pass

        closed = asyncio.create_task(until_closed())
        try:
            while not closed.done():
                waiting = asyncio.create_task(changed.wait())
                await asyncio.wait({waiting, closed}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if changed.is_set():
                    changed.clear()
                    self.session.last_seen = time.monotonic()
                    await websocket.send_text(as_json(self._state()))
                    await asyncio.sleep(0.03)  # combine small steps of progress into one message
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            closed.cancel()
            self.session.listeners.discard(changed)
            self.session.last_seen = time.monotonic()


def build(session: Session, keys: Keys, on_start: Callable[[], None]) -> Guard:
    """Return the application."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        on_start()
        yield
        await session.close()

    return Guard(Starlette(routes=Page(session, keys).routes(), lifespan=lifespan), keys)


async def _json(request: Request) -> dict[str, Any]:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > MOST_JSON:
            raise TooLargeError(f"the form has more than {MOST_JSON} bytes")
    try:
        result = json.loads(bytes(content) or b"{}", parse_int=_integer)
    except (ValueError, RecursionError):
        raise InputError("the request is not JSON") from None
    if not isinstance(result, dict):
        raise InputError("the request is not a JSON object")
    return result


def _integer(digits: str) -> int | float:
    """Parse an integer of JSON; long ones as float, which may overflow to infinity."""
    return int(digits) if len(digits) < 16 else float(digits)


def _whole(request: Request, *names: str) -> list[int]:
    return [_number(request.query_params.get(name, ""), name) for name in names]


def _number(text: str, name: str) -> int:
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise InputError(f"{name} must be a whole number, got {text[:40]!r}")
    return int(text)
