"""Show a clip in the viewer's page while it is measured (``relblur video --preview``).

The page's server runs in its own thread, behind the viewer's guard. A frame is shown after the page has fetched all
planes of the previous one. A slow browser therefore shows fewer frames and does not delay the measurement. Colour
scales keep the limits of the first map, or those set by hand.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base._typing import AnyArray
from ...base.errors import InputError
from ...base.settings import VIEW_MEMORY_GB
from ...blur.comparable_pair import ComparablePair
from ..view import planes as shown
from ..view.guard import Keys
from ..view.serve import listen, make_server
from ..view.session import Session
from ..view.workers import Worker
from .side_by_side import as_seen, white_of_light

if TYPE_CHECKING:
    from ...depth.camera import Camera
    from ..view.files import Images, SavedResult
    from .measuring import MeasuredFrame

__all__ = ["LiveSession", "Preview"]

#: Time without a fetch after which the next frame is shown before the page has all planes of the last one, s.
PATIENCE_S = 3.0
#: Time over which rates are averaged, s.
RATE_S = 2.0
#: Timeout for the first client to connect, and time for the last message to arrive, s.
OPENING_S, PARTING_S = 30.0, 1.0


class LiveSession(Session):
    """Session that shows the current frame; nothing else can be opened during the run."""

    def __init__(self, name: str) -> None:
        workers = [Worker(round(VIEW_MEMORY_GB * 1e9), stoppable=stoppable) for stoppable in (True, False)]
        super().__init__(slow=workers[0], quick=workers[1])
        self.now.result_name = name
        self.stopped = threading.Event()
        self.opened = threading.Event()
        self._scales: dict[str, shown.Plane] = {}
        self._unfetched: set[str] = set()
        self._fetched_at = 0.0
        self._shown: deque[float] = deque(maxlen=1000)
        self._ended = False
        self._white = 0

    @property
    def is_ready(self) -> bool:
        """Whether a page is open and has fetched the last frame."""
        waited = time.monotonic() - self._fetched_at
        return bool(self.listeners) and (not self._unfetched or waited > PATIENCE_S)

    def state(self) -> dict[str, Any]:
        """Return the state for the page, marked as a clip."""
        self.opened.set()
        return {**super().state(), "source": "clip", "live": {"ended": self._ended}}

    def fetched(self, name: str) -> None:
        """Record that a page has fetched a plane."""
        self._unfetched.discard(name)
        self._fetched_at = time.monotonic()

    def show(self, measured: MeasuredFrame, rate: float) -> None:
        """Show a measured frame; its arrays must not change afterwards."""
        content = self.now
        content.blur_map, content.is_final = measured.blur_map, True
        content.keys["map"] = f"{measured.index}"
        first, second = measured.first.light, measured.second_light
        pair = ComparablePair(first, second)
        self._white = self._white or white_of_light(first, second)
        content.pair = pair
        planes = [shown.picture("first", "first", _grey(first, self._white))]
        planes += [shown.picture("second", "second", _grey(second, self._white)), *shown.map_planes(measured.blur_map)]
        for plane in planes:
            known = self._scales.setdefault(plane.name, plane)
            limits = {name: getattr(known, name) for name in ("low", "high", "least", "most", "scale")}
            self._put(replace(plane, **limits))
        self._unfetched = {plane.name for plane in planes if plane.data is not None}
        now = self._fetched_at = time.monotonic()
        self._shown.append(now)
        shown_rate = sum(now - at < RATE_S for at in self._shown) / RATE_S
        self._job = {
            "what": f"pair {measured.index}, {measured.first.time_s:.2f} s: "
            f"{rate:.1f} per second measured, {shown_rate:.1f} shown",
            "share": None,
            "stop": "Stop",
        }
        self.announce()

    def end(self, text: str) -> None:
        """Show the final message; no frame follows."""
        self._job, self._ended = None, True
        self._message = {"kind": "note", "text": text}
        self.announce()

    async def cancel(self) -> None:
        """End the run after the current frame."""
        self.stopped.set()

    async def change(self, values: Mapping[str, Any]) -> None:
        """Refuse: the command line sets the options of a clip."""
        raise _busy()

    async def open_images(self, images: Images, *, camera: Camera | None = None) -> None:
        """Refuse: only the running clip is shown."""
        raise _busy()

    async def open_result(self, found: SavedResult, name: str) -> None:
        """Refuse: only the running clip is shown."""
        raise _busy()

    async def set_camera(self, camera: Camera, choices: Mapping[str, Any], *, measure: bool) -> None:
        """Refuse: depth of clips is not shown."""
        raise _busy()


class Preview:
    """Writer of measured frames that shows them in a page.

    ``opened`` is called with the address of the page. The address can be used once.
    """

    def __init__(self, name: str, opened: Callable[[str], None]) -> None:
        self._session = LiveSession(name)
        self._listener = listen(0)
        keys = Keys(self._listener.getsockname()[1])
        self._loop: asyncio.AbstractEventLoop | None = None
        ready = threading.Event()

        def started() -> None:
            self._loop = asyncio.get_running_loop()
            ready.set()

        self._server = make_server(self._session, keys, started)
        self._thread = threading.Thread(target=self._server.run, args=([self._listener],), daemon=True)
        self._thread.start()
        ready.wait()
        opened(keys.new_address())
        self._arrivals: deque[float] = deque(maxlen=1000)
        self._pairs = 0

    @property
    def stopped(self) -> bool:
        """Whether the stop button was pressed."""
        return self._session.stopped.is_set()

    def put(self, measured: MeasuredFrame) -> None:
        """Show a frame if the page is ready; its map may be overwritten afterwards."""
        if self._pairs == 0:
            self._session.opened.wait(OPENING_S)  # a short clip would end before the page is open
        self._pairs += 1
        now = time.monotonic()
        self._arrivals.append(now)
        if self._loop is None or not self._session.is_ready:
            return
        recent = [at for at in self._arrivals if now - at < RATE_S]
        rate = (len(recent) - 1) / (now - recent[0]) if len(recent) > 1 else 0.0
        kept = replace(
            measured,
            blur_map=measured.blur_map.copy(),
            first=replace(measured.first, light=measured.first.light.copy()),
            second_light=measured.second_light.copy(),
        )
        self._loop.call_soon_threadsafe(self._session.show, kept, rate)

    def finish(self) -> None:
        """Show on the page that the clip has ended, and end the server."""
        how = "stopped" if self.stopped else "the clip has ended"
        self._close(f"{how} after {self._pairs} pairs; the summary is in the terminal")

    def abandon(self) -> None:
        """End the server after an error."""
        self._close("the measurement has stopped; the terminal shows the error")

    def _close(self, text: str) -> None:
        if self._loop is not None and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._session.end, text)
            if self._session.listeners:
                time.sleep(PARTING_S)
        self._server.should_exit = True
        self._thread.join(timeout=10)
        self._listener.close()


def _busy() -> InputError:
    return InputError("this page shows a clip that is being measured; run 'relblur view' for other images")


def _grey(light: AnyArray, white: int) -> Any:
    return np.repeat(as_seen(light, white)[:, :, None], 3, axis=2)
