"""The page's server: on 127.0.0.1 only, on a free port, until it is stopped or nobody has looked for a while."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import uvicorn

from ..base.errors import FileError
from ..depth.camera import Camera
from .guard import Keys
from .routes import build
from .session import Session
from .source import PairFiles, SavedResult, read_result

__all__ = ["EXPIRE_MINUTES", "MEMORY_GB", "serve"]

#: Without an open page the server, its pair and its files go away after this long.
EXPIRE_MINUTES = 30.0
#: Memory of each of the two processes that do the arithmetic: 12 megapixels in colour take 3 GB in tiles.
MEMORY_GB = 6.0
#: A page has a few connections; more are not ours.
_MOST_CONNECTIONS = 64
_LONGEST_SOCKET_MESSAGE = 4096


def serve(
    what: PairFiles | Path | None,
    *,
    camera: Camera | None = None,
    port: int = 0,
    memory_gb: float = MEMORY_GB,
    expire_minutes: float = EXPIRE_MINUTES,
    opened: Callable[[str], None],
) -> None:
    """Show a pair, a saved result or (None) the example, until somebody stops it.

    ``opened`` is called with the address, which works once, as soon as it can be opened.
    """
    found = read_result(what) if isinstance(what, Path) else what  # before a page waits for it
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise FileError(f"port {port} of 127.0.0.1 cannot be had: {error.strerror}; choose another --port") from None
    keys = Keys(listener.getsockname()[1])
    session = Session(round(memory_gb * 1e9))
    server = uvicorn.Server(
        uvicorn.Config(
            build(session, keys, lambda: _start(session, server, found, camera, expire_minutes)),
            log_level="warning",
            access_log=False,
            server_header=False,
            ws="websockets-sansio",
            ws_max_size=_LONGEST_SOCKET_MESSAGE,
            limit_concurrency=_MOST_CONNECTIONS,
            timeout_graceful_shutdown=1,
        )
    )
    opened(keys.new_address())
    with contextlib.suppress(KeyboardInterrupt), listener:
        server.run(sockets=[listener])


async def _start(
    session: Session,
    server: uvicorn.Server,
    what: PairFiles | SavedResult | None,
    camera: Camera | None,
    expire_minutes: float,
) -> None:
    """Begin with what is to be looked at, and watch whether anybody does."""
    session.warm_up()
    opening: Awaitable[None]
    if what is None:
        opening = session.open_example()
    elif isinstance(what, PairFiles):
        opening = session.open_pair(what, camera=camera)
    else:
        opening = session.open_result(what, what.name)
    await opening
    session.watch = asyncio.create_task(_expire(session, server, 60 * expire_minutes))


async def _expire(session: Session, server: uvicorn.Server, seconds: float) -> None:
    while session.listeners or time.monotonic() - session.last_seen < seconds:
        await asyncio.sleep(min(5.0, seconds / 2))
    server.should_exit = True
