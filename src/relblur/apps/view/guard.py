"""Access control of the page's server.

The server listens on 127.0.0.1, where every local program and every web page in a browser can reach it. Therefore:

* ``Host`` must be 127.0.0.1 or localhost, otherwise the status is 400 (DNS rebinding);
* POST requests and WebSockets must have the ``Origin`` of the page, otherwise the status is 403;
* reads that the browser marks as cross-site (``Sec-Fetch-Site``) are refused;
* every request needs a random token in a cookie that scripts cannot read and other sites cannot send. An address that
  works once sets the cookie, so a copy of it in a terminal or a history is useless.

Every response forbids scripts, frames and connections of other origins.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Awaitable, Callable, MutableMapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

__all__ = ["COOKIE_HOURS", "Guard", "Keys"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Life of the cookie, hours: a working day.
COOKIE_HOURS = 12
#: Methods that change no state.
_READS = ("GET", "HEAD")
#: Path of one-time addresses.
ONE_TIME_PATH = "/open/"

_REFUSALS = {
    400: "This server answers to 127.0.0.1 and localhost only.",
    403: "The address that 'relblur view' printed opens this page once. "
    "Copy a fresh address from a page that is open ('?' and then 'new address'), or run 'relblur view' again.",
}


class Keys:
    """The token of the session, its expiry, and the one-time addresses."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32)
        self.cookie = f"relblur_{port}"  # cookies ignore the port, so each viewer needs a name
        self._ends = time.monotonic() + COOKIE_HOURS * 3600
        self._once: set[str] = set()

    @property
    def hosts(self) -> tuple[str, ...]:
        """Accepted values of ``Host``."""
        return (f"127.0.0.1:{self.port}", f"localhost:{self.port}")

    def new_address(self) -> str:
        """Return an address that opens the page once."""
        word = secrets.token_urlsafe(24)
        self._once.add(word)
        return f"http://127.0.0.1:{self.port}{ONE_TIME_PATH}{word}"

    def spend(self, word: str) -> bool:
        """Return whether a one-time word is valid, and invalidate it."""
        known = next((each for each in self._once if hmac.compare_digest(each.encode(), word.encode())), None)
        if known is None:
            return False
        self._once.discard(known)
        return True

    def admits(self, header: str) -> bool:
        """Return whether a ``Cookie`` header contains the token and the session has not expired."""
        try:
            morsel = SimpleCookie(header).get(self.cookie)
        except CookieError:
            return False
        given = morsel.value if morsel is not None else ""
        return hmac.compare_digest(given.encode(), self.token.encode()) and time.monotonic() < self._ends

    def set_cookie(self) -> str:
        """Return the ``Set-Cookie`` header with the token."""
        return f"{self.cookie}={self.token}; Path=/; Max-Age={COOKIE_HOURS * 3600}; HttpOnly; SameSite=Strict"


class Guard:
    """ASGI middleware: refuses foreign requests and adds headers to every response."""

    def __init__(self, app: App, keys: Keys) -> None:
        self._app = app
        self._keys = keys
        sockets = " ".join(f"ws://{host}" for host in keys.hosts)
        policy = (
            f"default-src 'self'; connect-src 'self' {sockets}; object-src 'none'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )
        self._headers = [
            (b"content-security-policy", policy.encode()),
            (b"x-frame-options", b"DENY"),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), usb=()"),
            (b"cache-control", b"no-store"),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one connection."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message.get("headers", [])}
                extra = [(name, value) for name, value in self._headers if name not in present]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        status = self._refusal(scope)
        if status is not None:
            await _refuse(scope, with_headers, status)
        elif scope["type"] == "http" and scope["path"].startswith(ONE_TIME_PATH):
            await self._open(scope, with_headers)
        else:
            await self._app(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> int | None:
        """Return the status of a refusal, or None for an allowed request."""
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == "host"]
        if len(hosts) != 1 or hosts[0].lower() not in self._keys.hosts:
            return 400
        values = dict(headers)
        changes = scope["type"] == "websocket" or scope["method"] not in _READS
        origin = values.get("origin")
        if origin != f"http://{hosts[0].lower()}" and (changes or origin is not None):
            return 403
        is_one_time = scope["type"] == "http" and scope["path"].startswith(ONE_TIME_PATH) and not changes
        if values.get("sec-fetch-site", "none") not in ("same-origin", "none") and not is_one_time:
            return 403
        return None if is_one_time or self._keys.admits(values.get("cookie", "")) else 403

    async def _open(self, scope: Scope, send: Send) -> None:
        """Set the cookie and redirect to the page; without a valid word or cookie, refuse."""
        cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
        if self._keys.spend(scope["path"].removeprefix(ONE_TIME_PATH)):
            headers = [(b"location", b"/"), (b"set-cookie", self._keys.set_cookie().encode())]
        elif self._keys.admits(cookies):
            headers = [(b"location", b"/")]
        else:
            await _refuse(scope, send, 403)
            return
        await send({"type": "http.response.start", "status": 303, "headers": [*headers, (b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})


async def _refuse(scope: Scope, send: Send, status: int) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})  # closing before acceptance gives status 403
        return
    body = f"{_REFUSALS[status]}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    headers.append((b"connection", b"close"))  # the body of the request is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
