"""What the page may ask for. Reads are GET; what changes something is POST, which the guard takes from our page."""

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
from .exports import Exports
from .guard import Guard, Keys
from .pixel import describe_pixel, refined_costs
from .planes import colour_tables
from .regions import box, line
from .session import Session
from .source import PairFiles
from .uploads import SLOTS, TooLargeError, receive

__all__ = ["Page", "build"]

STATIC = Path(__file__).parent / "static"
#: Shared with the pages that are one file.
POINTS = Path(__file__).parents[2] / "report" / "points.js"
#: What a form sends is small.
MOST_JSON = 65_536
#: Of a camera's chart.
CAMERA_POINTS = 60

Answer = Callable[[Request], Awaitable[Response]]


class Json(Response):
    """JSON of any numbers and any text."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return what is sent."""
        return as_json(content).encode()


def _with_plain_errors(answer: Answer) -> Answer:
    """Turn our errors into one line with a status."""

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
    """The answers, and the session that they are about."""

    def __init__(self, session: Session, keys: Keys) -> None:
        self.session = session
        self.keys = keys
        self._exports = Exports(session)
        self._files = {path.name: path.read_bytes() for path in (*sorted(STATIC.iterdir()), POINTS) if path.is_file()}
        self._received: dict[str, tuple[Path, str]] = {}

    def routes(self) -> list[Any]:
        """Return every address, and who answers there."""
        reads: dict[str, Answer] = {
            "/": self.index,
            "/static/{name}": self.static,
            "/api/state": self.state,
            "/api/colours": self.colours,
            "/api/plane/{name}": self.plane,
            "/api/pixel": self.pixel,
            "/api/costs": self.costs,
            "/api/box": self.box,
            "/api/line": self.line,
            "/api/export/{name:path}": self.export,
        }
        changes: dict[str, Answer] = {
            "/api/upload/{slot}": self.upload,
            "/api/open": self.open,
            "/api/settings": self.settings,
            "/api/camera": self.camera,
            "/api/depth": self.depth,
            "/api/cancel": self.cancel,
            "/api/address": self.address,
        }
        routes: list[Any] = [Route(path, _with_plain_errors(answer)) for path, answer in reads.items()]
        routes += [Route(path, _with_plain_errors(answer), methods=["POST"]) for path, answer in changes.items()]
        return [*routes, WebSocketRoute("/ws", self.socket)]

    # -- reads -----------------------------------------------------------------------------------------------

    async def index(self, request: Request) -> Response:
        """Answer with the page."""
        return Response(self._files["index.html"], media_type="text/html; charset=utf-8")

    async def static(self, request: Request) -> Response:
        """Answer with one of the page's files; there are no others, whatever the path says."""
        name = request.path_params["name"]
        if name not in self._files:
            raise FileError(f"there is no file {name[:60]!r}")
        kind = "text/javascript" if name.endswith(".js") else mimetypes.guess_type(name)[0]
        return Response(self._files[name], media_type=kind or "application/octet-stream")

    async def state(self, request: Request) -> Response:
        """Answer with all that there is, without the maps."""
        self.session.last_seen = time.monotonic()
        return Json(self.session.state())

    async def colours(self, request: Request) -> Response:
        """Answer with the colour scales."""
        return Json(await asyncio.to_thread(colour_tables))

    async def plane(self, request: Request) -> Response:
        """Answer with the bytes of a picture or map."""
        name = request.path_params["name"]
        plane = self.session.planes.get(name)
        if plane is None or plane.data is None:
            raise FileError("there is no such picture yet; wait until it is made")
        self.session.fetched(name)
        return Response(plane.bytes(), media_type="application/octet-stream")

    async def pixel(self, request: Request) -> Response:
        """Answer with the curve of a pixel."""
        return await self._about_pixel(request, describe_pixel)

    async def costs(self, request: Request) -> Response:
        """Answer with what the refined method minimises at a pixel."""
        return await self._about_pixel(request, refined_costs)

    async def _about_pixel(self, request: Request, describe: Callable[..., dict[str, Any]]) -> Response:
        column, row = _whole(request, "x", "y")
        session = self.session
        if session.blur_map is None:
            raise InputError("there is no blur map yet; wait until it is measured")
        pair = session.prepared.pair if session.prepared is not None else None
        return Json(await asyncio.to_thread(describe, pair, session.blur_map, row, column))

    async def box(self, request: Request) -> Response:
        """Answer with mean, spread and plane of a box."""
        x0, y0, x1, y1 = _whole(request, "x0", "y0", "x1", "y1")
        quantities = self.session.quantities()
        flags: Any = self.session.planes["flags"].data
        return Json(await asyncio.to_thread(box, quantities, flags, (x0, y0, x1, y1)))

    async def line(self, request: Request) -> Response:
        """Answer with a profile."""
        x0, y0, x1, y1 = _whole(request, "x0", "y0", "x1", "y1")
        quantities = self.session.quantities()
        shape = next(iter(quantities.values())).values.shape
        return Json(await asyncio.to_thread(line, quantities, shape, (x0, y0, x1, y1)))

    async def export(self, request: Request) -> Response:
        """Answer with a file that the command line would have written."""
        name = request.path_params["name"]
        path = await self._exports.file(name)
        return FileResponse(path, filename=name.rpartition("/")[2], headers={"cache-control": "no-store"})

    # -- changes ---------------------------------------------------------------------------------------------

    async def upload(self, request: Request) -> Response:
        """Take one file."""
        slot = request.path_params["slot"]
        if slot not in SLOTS:
            raise FileError(f"a file is sent as one of {', '.join(SLOTS)}")
        name = unquote(request.headers.get("x-file-name", "image.png"))
        path = await receive(request.stream(), request.headers.get("content-length"), name, self.session.folder)
        old = self._received.pop(slot, None)
        if old is not None:
            old[0].unlink(missing_ok=True)
        self._received[slot] = (path, Path(name).name or slot)
        return Json({"slot": slot, "bytes": path.stat().st_size})

    async def open(self, request: Request) -> Response:
        """Look at what was sent, or at the example."""
        wanted = (await _json(request)).get("what")
        if wanted == "example":
            await self.session.open_example()
        elif wanted == "pair":
            if not {"first", "second"} <= self._received.keys():
                raise InputError("two images make a pair; send the other one too")
            (first, first_name), (second, second_name) = (self._received.pop(slot) for slot in ("first", "second"))
            await self.session.open_pair(PairFiles(first, second, first_name, second_name, "upload"))
        elif wanted == "result":
            if "result" not in self._received:
                raise InputError("send the file of a result first")
            path, name = self._received.pop("result")
            try:
                await self.session.open_result(await self.session.read_result(path), name)
            except RelblurError as error:
                raise InputError(str(error).replace(str(path), name)) from None
            finally:
                path.unlink(missing_ok=True)
        else:
            raise InputError("what must be 'example', 'pair' or 'result'")
        return Json({"opened": wanted})

    async def settings(self, request: Request) -> Response:
        """Measure again with other choices."""
        await self.session.change(await _json(request))
        return Json(self.session.state())

    async def camera(self, request: Request) -> Response:
        """Answer what a camera can measure, while it is being typed."""
        model = Camera.from_dict(await _json(request), "the form")
        near, far = working_range_m(model)
        planes = [z for z in (model.focus_first_m, model.focus_second_m, near) if math.isfinite(z)]
        shown = 1 / np.linspace(1 / near, 1 / min(far, 3 * max(planes)), CAMERA_POINTS)
        rows = [vars(row) for row in resolution_table(model, shown)]
        return Json(
            {"kind": model.kind, "nearest_m": near, "farthest_m": far if math.isfinite(far) else None, "table": rows}
        )

    async def depth(self, request: Request) -> Response:
        """Turn blur into depth, or measure it."""
        asked = await _json(request)
        model = Camera.from_dict(asked.get("camera", {}), "the form")
        await self.session.set_camera(model, asked.get("choices", {}), measure=bool(asked.get("measure")))
        return Json(self.session.state())

    async def cancel(self, request: Request) -> Response:
        """Stop what is being made."""
        await self.session.cancel()
        return Json(self.session.state())

    async def address(self, request: Request) -> Response:
        """Answer with an address that opens the page once, for another browser."""
        return Json({"address": self.keys.new_address()})

    async def socket(self, websocket: WebSocket) -> None:
        """Send the state whenever it changes; what the page says is not listened to."""
        await websocket.accept()
        news = asyncio.Event()
        news.set()
        self.session.listeners.add(news)

        async def until_closed() -> None:
            while (await websocket.receive())["type"] != "websocket.disconnect":
                pass

        closed = asyncio.create_task(until_closed())
        try:
            while not closed.done():
                waiting = asyncio.create_task(news.wait())
                await asyncio.wait({waiting, closed}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                if news.is_set():
                    news.clear()
                    self.session.last_seen = time.monotonic()
                    await websocket.send_text(as_json(self.session.state()))
                    await asyncio.sleep(0.03)  # many small steps of progress become one message
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            closed.cancel()
            self.session.listeners.discard(news)
            self.session.last_seen = time.monotonic()


def build(session: Session, keys: Keys, on_start: Callable[[], None]) -> Guard:
    """Return the whole application."""

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
        found = json.loads(bytes(content) or b"{}", parse_int=_integer)
    except (ValueError, RecursionError):
        raise InputError("what was sent is not JSON") from None
    if not isinstance(found, dict):
        raise InputError("what was sent is not a table of names and values")
    return found


def _integer(digits: str) -> int | float:
    """Return a number of JSON; long ones as floats, which overflow to infinity."""
    return int(digits) if len(digits) < 16 else float(digits)


def _whole(request: Request, *names: str) -> list[int]:
    return [_number(request.query_params.get(name, ""), name) for name in names]


def _number(text: str, name: str) -> int:
    if not re.fullmatch("-?[0-9]{1,9}", text):
        raise InputError(f"{name} must be a whole number, got {text[:40]!r}")
    return int(text)
