"""``relblur view``: show images and their maps in the browser."""

from __future__ import annotations

import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from ...base.errors import MissingDependencyError
from ...base.settings import VIEW_MEMORY_GB
from ..terminal.console import UsageError, print_lines, print_message

__all__ = ["announce_page", "require_viewer", "view"]


def view(
    images: Annotated[
        list[Path] | None,
        typer.Argument(
            help="Two or more images, a folder of them, or one file of many planes; or a result: a folder, "
            "blur_map.npz, depth.npz, stack.npz.",
            metavar="[IMAGES...]",
            show_default="an example",
        ),
    ] = None,
    camera: Annotated[
        Path | None,
        typer.Option(
            "--camera",
            "-c",
            metavar="FILE",
            help="Camera file, for depth; the files of a stack must then state their focus.",
            show_default=False,
        ),
    ] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port on 127.0.0.1; 0: any free port.")] = 0,
    memory: Annotated[
        float, typer.Option(metavar="GB", min=0.5, max=1e6, help="Memory limit of each worker process, GB.")
    ] = VIEW_MEMORY_GB,
) -> None:
    """Show a pair or a stack and its maps in the browser: zoom, compare, click on a pixel, change settings.

        relblur view near.jpg far.jpg

    The page is served on this machine only. The printed address works once, for one browser. Ctrl-C ends the viewer.
    """
    require_viewer()
    from ...depth.camera import Camera
    from .files import Images, open_paths
    from .serve import serve

    for path in images or ():
        if not path.exists():
            raise UsageError(f"there is no {path}")
    source = open_paths(images) if images else None
    if camera is not None and not isinstance(source, Images):
        raise UsageError("--camera is for two images or a stack; a depth result contains its camera")
    model = None if camera is None else Camera.load(camera)

    def opened(address: str) -> None:
        announce_page(address, browser=browser)
        print_message("Ctrl-C ends it")

    serve(source, camera=model, port=port, memory_gb=memory, opened=opened)


def require_viewer() -> None:
    """Raise an error if a package of the server is missing."""
    missing = [name for name in ("starlette", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        raise MissingDependencyError(f"the viewer needs {', '.join(missing)}: pip install 'relblur[view]'")


def announce_page(address: str, *, browser: bool) -> None:
    """Print an address; open it in the browser if ``browser`` is true."""
    print_lines(address)
    if browser:  # in a thread, because some browsers block until they are closed
        threading.Thread(target=_open_browser, args=(address,), daemon=True).start()


def _open_browser(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        print_message("no browser could be opened; open the address by hand")


COMMANDS = {"view": view}
