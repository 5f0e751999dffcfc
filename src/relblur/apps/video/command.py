"""``relblur video``: measure the relative blur of clips and cameras, frame by frame."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...base.options import Estimating, Preparing
from ...base.settings import MAX_SIGMA, WINDOW_WINDOW
from ..terminal.console import UsageError, one_line_errors, print_json, print_table, say
from ..terminal.options import Force, Json, Only, takes_records

if TYPE_CHECKING:
    from .clip import Clip, Frame
    from .live import Preview
    from .measuring import MeasuredFrame, Settings
    from .pairing import Dropped

    _Show = Callable[[str], Preview]

__all__ = ["video"]


@one_line_errors
@takes_records
def video(
    estimating: Annotated[Estimating, Only("sharper")],
    preparing: Annotated[Preparing, Only("align", "exposure", "linear", "gamma")],
    clips: Annotated[
        list[Path] | None, typer.Argument(metavar="[NEAR FAR]", help="Two clips of one scene with different focus.")
    ] = None,
    alternate: Annotated[
        Path | None,
        typer.Option(
            "--alternate",
            help="One clip whose focus alternates between near and far from frame to frame.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    camera: Annotated[
        tuple[int, int] | None,
        typer.Option(
            "--camera", help="Numbers of two live cameras; Ctrl-C ends the run.", metavar="N N", show_default=False
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="Side-by-side clip: .mkv, .avi (FFV1, lossless), .mp4, .mov (H.264).",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    maps: Annotated[
        Path | None,
        typer.Option(
            "--maps",
            help="All maps as one .npz, or as .zarr with a time axis; 10 bytes per pixel before compression.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show the maps in a page during the run, with a stop button.")
    ] = False,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page of --preview in the browser.")
    ] = True,
    window: Annotated[
        int, typer.Option(help="Side of the window of neighbours, px, odd.", metavar="N")
    ] = WINDOW_WINDOW,
    max_sigma: Annotated[float, typer.Option(help="Largest blur of the search, px.", metavar="NUMBER")] = MAX_SIGMA,
    track: Annotated[
        int,
        typer.Option(
            help="Pairs after which alignment and exposure are measured again; 0: first pair only.", metavar="N"
        ),
    ] = 0,
    smooth: Annotated[
        float, typer.Option(help="Time over which maps are averaged where nothing moves, s; 0: off.", metavar="S")
    ] = 0.0,
    noise: Annotated[
        float | None,
        typer.Option(
            help="Standard deviation of the noise, 0..1 scale.",
            metavar="NUMBER",
            show_default="from rounding and codec",
        ),
    ] = None,
    start: Annotated[float, typer.Option(help="Leave out frames before this time, s.", metavar="S")] = 0.0,
    frames: Annotated[
        int | None, typer.Option(help="Maximum number of pairs.", metavar="N", show_default="all")
    ] = None,
    offset: Annotated[
        float, typer.Option(help="Time added to the time stamps of the second clip, s.", metavar="S")
    ] = 0.0,
    tolerance: Annotated[
        float | None,
        typer.Option(
            help="Largest time between the frames of a pair, s.", metavar="S", show_default="half a frame interval"
        ),
    ] = None,
    limit: Annotated[
        float | None,
        typer.Option(
            help="Blur at the ends of the colour scale, px.", metavar="NUMBER", show_default="from the first map"
        ),
    ] = None,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Measure the relative blur of two clips, of one alternating clip, or of two cameras.

        relblur video near.mkv far.mkv -o maps.mkv

    Frames are paired by their time stamps and read as linear light (brightness only). Alignment and exposure are
    measured on the first pair and undone in all pairs. Blur is measured by the real-time method.

    Lossy codecs remove the fine texture on which blur is measured: record FFV1 or numbered images ('frame_%04d.png') if
    possible. With lossy clips fewer pixels get a value, and standard errors are larger.
    """
    choices = _Choices(preparing.linear, preparing.gamma, start, frames, offset, tolerance, limit, force)
    if preview:
        from ..view.command import require_viewer

        require_viewer()
    from .measuring import Settings

    settings = Settings(
        estimating.sharper, window, max_sigma, preparing.align, preparing.exposure, track, smooth, noise
    )
    _check(clips, alternate, camera, choices)
    inputs = [each for each in (*(clips or ()), alternate) if each is not None]
    with ExitStack() as stack:
        source = _open(stack, clips, alternate, camera, choices)
        run = _Run(source, settings, choices, _preview_opener(preview, browser))
        run.measure(inputs, output, maps)
    _print_result(run.summary(), as_json, [each for each in (output, maps) if each is not None])


@dataclass(frozen=True)
class _Choices:
    """Options of reading and writing."""

    linear: bool
    gamma: float | None
    start: float
    frames: int | None
    offset: float
    tolerance: float | None
    limit: float | None
    force: bool


@dataclass
class _Source:
    """Pairs of frames, and the clips or cameras that they come from."""

    pairs: Iterator[tuple[Frame, Frame]]
    rate: float
    names: tuple[str, str]
    dropped: Dropped
    clips: list[Clip] = field(default_factory=list)
    cameras: Any = None

    def notes(self) -> list[str]:
        cameras = [] if self.cameras is None else self.cameras.describe()
        return [*(f"{clip.path.name}: {clip.describe()}" for clip in self.clips), *cameras]


def _check(clips: list[Path] | None, alternate: Path | None, camera: tuple[int, int] | None, choices: _Choices) -> None:
    if sum((bool(clips), alternate is not None, camera is not None)) != 1:
        raise UsageError("name two clips, --alternate FILE or --camera 0 1")
    if clips and len(clips) != 2:
        one = "pass one clip whose focus alternates by --alternate" if len(clips) == 1 else "leave the others out"
        raise UsageError(f"{len(clips)} clip{'s' if len(clips) > 1 else ''} named, two are needed: NEAR and FAR; {one}")
    if clips:
        from ...images.results import place_of

        if place_of(clips[0]) == place_of(clips[1]):
            raise UsageError(f"{clips[1]} is given twice, perhaps by another name; name two clips")
    if choices.frames is not None and choices.frames < 1:
        raise UsageError(f"--frames must be 1 or more, got {choices.frames}")
    for name, value in (("--tolerance", choices.tolerance), ("--limit", choices.limit)):
        if value is not None and not 0 < value < 1e6:
            raise UsageError(f"{name} must be a number > 0, got {value:g}")


def _open(
    stack: ExitStack,
    clips: list[Path] | None,
    alternate: Path | None,
    camera: tuple[int, int] | None,
    choices: _Choices,
) -> _Source:
    from .pairing import Dropped, pair_alternating, pair_by_time

    dropped = Dropped()
    if camera is not None:
        from .cameras import Cameras

        cameras = stack.enter_context(Cameras(camera, linear=choices.linear, gamma=choices.gamma))
        tolerance = choices.tolerance or 0.5 / cameras.rate
        pairs = pair_by_time(*cameras.sources(), tolerance, dropped)
        names = (f"camera {camera[0]}", f"camera {camera[1]}")
        return _Source(pairs, cameras.rate, names, dropped, cameras=cameras)
    from .clip import Clip

    paths = clips or ([] if alternate is None else [alternate])
    opened = [stack.enter_context(Clip(path, linear=choices.linear, gamma=choices.gamma)) for path in paths]
    if alternate is not None:
        rate = opened[0].rate
        pairs = pair_alternating(_from(opened[0], choices.start), 1 / rate, dropped)
        return _Source(pairs, rate, ("even frames", "odd frames"), dropped, opened)
    near, far = opened
    rate = min(near.rate, far.rate)
    moved = (replace(frame, time_s=frame.time_s + choices.offset) for frame in far)
    tolerance = choices.tolerance or 0.5 / rate
    pairs = pair_by_time(_from(near, choices.start), _from(moved, choices.start), tolerance, dropped)
    return _Source(pairs, rate, (near.path.name, far.path.name), dropped, opened)


def _from(frames: Iterable[Frame], start_s: float) -> Iterator[Frame]:
    return (frame for frame in frames if frame.time_s >= start_s)


class _Run:
    """A run from the first pair to the last, with its summary."""

    def __init__(self, source: _Source, settings: Settings, choices: _Choices, show: _Show | None = None) -> None:
        from .measuring import VideoMeter

        self._show = show
        self._preview: Preview | None = None
        self._source, self._choices = source, choices
        self._meter = VideoMeter(settings, tell=say)
        self._pairs = 0
        self._seconds = 0.0
        self._answered = 0.0
        self._stderr: list[float] = []
        self._settings: dict[str, Any] = {}

    def measure(self, inputs: list[Path], output: Path | None, maps: Path | None) -> None:
        """Measure all pairs and write the clip and the maps."""
        from ...images.results import placing, refuse_inputs, refuse_to_replace_file
        from .maps import MapsWriter, check_maps, placing_maps
        from .side_by_side import ClipWriter, check_suffix

        force = self._choices.force
        refuse_inputs((output, maps), inputs)
        refuse_to_replace_file(output, force)
        if maps is not None:
            check_maps(maps, force)
        writers: list[ClipWriter | MapsWriter | Preview] = []
        with ExitStack() as stack:
            if output is not None:
                check_suffix(output)
                place = stack.enter_context(placing(output, force=force))
                writers.append(ClipWriter(place, self._source.rate, self._source.names, self._choices.limit))
            if maps is not None:
                writers.append(stack.enter_context(placing_maps(maps, force)))
            if self._show is not None:
                self._preview = self._show(" and ".join(self._source.names))
                writers.append(self._preview)
            try:
                self._loop(writers)
                for writer in writers:
                    writer.finish()
            except BaseException:
                for writer in writers:
                    writer.abandon()
                raise

    def _loop(self, writers: list[Any]) -> None:
        began = 0.0
        with suppress(KeyboardInterrupt) if self._source.cameras is not None else ExitStack():
            for measured in self._meter.measure(islice(self._source.pairs, self._choices.frames)):
                if self._pairs == 0:
                    for note in self._source.notes():
                        say(note)
                    began = time.perf_counter()  # after the alignment
                for writer in writers:
                    writer.put(measured)
                self._add_figures(measured)
                self._pairs += 1
                self._seconds = time.perf_counter() - began
                if self._preview is not None and self._preview.stopped:
                    say("stopped from the page")
                    break
        if self._pairs == 0:
            raise UsageError(self._why_none())

    def _add_figures(self, measured: MeasuredFrame) -> None:
        import numpy as np

        known = np.isfinite(measured.blur_map.variance_difference)
        self._answered += float(known.mean())
        if self._pairs % 10 == 0 and known.any():
            self._stderr.append(float(np.median(measured.blur_map.sigma_stderr[known])))
        self._settings = dict(measured.blur_map.settings)

    def _why_none(self) -> str:
        if len(self._source.clips) == 1:
            return "the clip has no two neighbouring frames; --alternate needs at least two"
        return (
            "no two frames belong together in time; give the second clip's delay with --offset, "
            "or a larger --tolerance, or an earlier --start"
        )

    def summary(self) -> dict[str, Any]:
        """Return the figures of the run."""
        source = self._source
        dropped = {"first": source.dropped.first, "second": source.dropped.second}
        overrun = source.cameras.overrun if source.cameras is not None else (0, 0)
        return {
            "pairs": self._pairs,
            "frames_per_second": (self._pairs - 1) / self._seconds if self._pairs > 1 else None,
            "dropped": {name: count + over for (name, count), over in zip(dropped.items(), overrun, strict=True)},
            "damaged": sum(clip.damaged for clip in source.clips),
            "longer": source.dropped.longer or None,
            "largest_time_difference_s": source.dropped.largest_gap_s,
            "lost_track": self._meter.lost_track,
            "answered_fraction": self._answered / max(self._pairs, 1),
            "median_stderr_px": sum(self._stderr) / len(self._stderr) if self._stderr else None,
            "settings": self._settings,
        }


def _preview_opener(preview: bool, browser: bool) -> _Show | None:
    """Return a function that opens the live page of a clip, or None without a preview."""
    if not preview:
        return None

    def show(name: str) -> Preview:
        from ..view.command import announce_page
        from .live import Preview

        return Preview(name, partial(announce_page, browser=browser, tell=say))

    return show


def _print_result(summary: dict[str, Any], as_json: bool, written: list[Path]) -> None:
    if as_json:
        print_json(summary)
    else:
        print_table(f"{summary['pairs']} pairs of frames", ("", ""), _rows(summary))
    for path in written:
        say(f"look at {path}" if path.suffix not in (".npz", ".zarr") else f"maps: {path}")


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rate = summary["frames_per_second"]
    dropped = summary["dropped"]
    rows = [
        ("sustained", "one pair only" if rate is None else f"{rate:.1f} pairs a second"),
        ("dropped", f"{dropped['first']} of the first, {dropped['second']} of the second"),
        ("largest time difference", f"{1e3 * summary['largest_time_difference_s']:.1f} ms"),
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
    ]
    if summary["median_stderr_px"] is not None:
        rows.append(("median standard error", f"{summary['median_stderr_px']:.3f} px"))
    if summary["settings"].get("stderr_widened_by"):
        rows.append(("lossy codec", f"standard errors widened {summary['settings']['stderr_widened_by']:g} times"))
    if summary["longer"]:
        rows.append(("longer source", f"the {summary['longer']}; its remaining frames have no partner"))
    if summary["damaged"]:
        rows.append(("damaged", f"{summary['damaged']} frames left out"))
    if summary["lost_track"]:
        rows.append(("alignment failed", f"{summary['lost_track']} times; the previous one was kept"))
    return rows


COMMANDS = {"video": video}
