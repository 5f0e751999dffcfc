"""The server of the viewer: on 127.0.0.1, until it is stopped or no page has been open for some time.

Before it imports the other modules, it prints the address and starts both worker processes, because a browser needs
time to start.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...base.errors import FileError
from ...base.settings import VIEW_EXPIRE_MINUTES, VIEW_MEMORY_GB
from .guard import Keys
from .workers import Worker

if TYPE_CHECKING:
    import uvicorn

    from ...depth.camera import Camera
    from .files import Images, SavedResult
    from .session import Session

__all__ = ["listen", "make_server", "serve"]

_LONGEST_SOCKET_MESSAGE = 4096


def serve(
    source: Images | SavedResult | None,
    *,
    camera: Camera | None = None,
    port: int = 0,
    memory_gb: float = VIEW_MEMORY_GB,
    opened: Callable[[str], None],
) -> None:
    """Show images, a saved result or (None) the example, until Ctrl-C or half an hour without a page.

    ``opened`` is called with the one-time address when the server accepts connections.
    """
    with listen(port) as listener:
        keys = Keys(listener.getsockname()[1])
        workers = [Worker(round(memory_gb * 1e9), stoppable=stoppable) for stoppable in (True, False)]
        try:
            for worker in workers:
                worker.start()
            opened(keys.new_address())
            from .session import Session

            session = Session(slow=workers[0], quick=workers[1])
            server = make_server(session, keys, lambda: _start(session, server, source, camera))
            with contextlib.suppress(KeyboardInterrupt):
                server.run(sockets=[listener])
        finally:
            for worker in workers:
                worker.stop()


def listen(port: int) -> socket.socket:
    """Return a socket on 127.0.0.1; port 0 means any free port."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise FileError(f"port {port} of 127.0.0.1 cannot be opened: {error.strerror}; choose another --port") from None
    return listener


def make_server(session: Session, keys: Keys, on_start: Callable[[], None]) -> uvicorn.Server:
    """Return the server of a session; ``on_start`` is called in its event loop."""
    import uvicorn

    from .routes import build

    return uvicorn.Server(
        uvicorn.Config(
            build(session, keys, on_start),
            log_level="error",  # any client can cause warnings
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=_LONGEST_SOCKET_MESSAGE,
            timeout_graceful_shutdown=1,
        )
    )


def _start(
    session: Session, server: uvicorn.Server, source: Images | SavedResult | None, camera: Camera | None
) -> None:
    """Open the images or the result, and end the server when no page is open."""
    from .files import Images

    async def begin() -> None:
        if isinstance(source, Images):
            await session.open_images(source, camera=camera)
        elif source is not None:
            await session.open_result(source, source.name)
        else:
            await session.open_example()
        await _expire(session, server, 60 * VIEW_EXPIRE_MINUTES)

    session.watch = asyncio.create_task(begin())


async def _expire(session: Session, server: uvicorn.Server, seconds: float) -> None:
    while session.listeners or time.monotonic() - session.last_seen < seconds:
        await asyncio.sleep(min(5.0, seconds / 2))
    server.should_exit = True
