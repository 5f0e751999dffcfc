"""``relblur video``: measure the relative blur of clips and cameras, frame by frame."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ...base.options import Estimating, Preparing
from ...base.settings import MAX_SIGMA, WINDOW_WINDOW
from ..terminal.console import UsageError, print_message, print_summary
from ..terminal.options import Force, Json, Only, option, option_of

if TYPE_CHECKING:
    from .cameras import LiveCamera
    from .clip import Clip, Frame
    from .maps import MapsWriter
    from .measuring import MeasuredFrame
    from .side_by_side import ClipWriter

__all__ = ["video"]

_CLIPS = typer.Argument(metavar="[NEAR FAR]", help="Two clips of one scene with different focus.")
_ALTERNATE = option("--alternate", "One clip whose focus alternates: near, far, near, far ...", "FILE")
_OUTPUT = option("--output,-o", "Side-by-side clip: .mkv, .avi (FFV1, lossless), .mp4, .mov (H.264).", "FILE")
_NOISE = option_of(Estimating, "noise", show_default="from rounding and codec")


def video(
    estimating: Annotated[Estimating, Only("sharper")],
    preparing: Annotated[Preparing, Only("align", "exposure", "linear", "gamma")],
    clips: Annotated[list[Path] | None, _CLIPS] = None,
    alternate: Annotated[Path | None, _ALTERNATE] = None,
    camera: Annotated[
        tuple[int, int] | None, option("--camera", "Numbers of two live cameras; Ctrl-C ends the run.", "N N")
    ] = None,
    output: Annotated[Path | None, _OUTPUT] = None,
    maps: Annotated[
        Path | None, option("--maps", "All maps as one .npz; 10 bytes per pixel before compression.", "FILE")
    ] = None,
    window: Annotated[int, option("--window", "Side of the window of neighbours, px, odd.", "N")] = WINDOW_WINDOW,
    max_sigma: Annotated[float, option("--max-sigma", "Largest blur of the search, px.", "NUMBER")] = MAX_SIGMA,
    smooth: Annotated[
        float, option("--smooth", "Time constant of averaging where nothing moves, s; 0: off.", "S")
    ] = 0.0,
    noise: Annotated[float | None, _NOISE] = None,
    start: Annotated[float, option("--start", "Leave out frames before this time, s.", "S")] = 0.0,
    frames: Annotated[
        int | None, option("--frames", "Maximum number of pairs.", "N", min=1, show_default="all")
    ] = None,
    offset: Annotated[float, option("--offset", "Time added to the time stamps of the second clip, s.", "S")] = 0.0,
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
    inputs = _inputs(clips, alternate, camera)
    from ...images.results import refuse_inputs, refuse_to_replace_file
    from .measuring import Settings, VideoMeter

    settings = Settings(estimating.sharper, window, max_sigma, preparing.align, preparing.exposure, smooth, noise)
    refuse_inputs((output, maps), [each for each in inputs if isinstance(each, Path)])
    for each in (output, maps):
        refuse_to_replace_file(each, force)
    with ExitStack() as stack:
        sources = [stack.enter_context(closing(_open(each, preparing.linear, preparing.gamma))) for each in inputs]
        run = _Run(sources, start, offset)
        writers = _writers(stack, output, maps, run, force)
        with suppress(KeyboardInterrupt) if camera else ExitStack():
            for measured in VideoMeter(settings, notify=print_message).measure(islice(run.pairs, frames)):
                for writer in writers:
                    writer.put(measured)
                run.add(measured)
        run.check_count()
        for writer in writers:
            writer.finish()
    summary = run.summary()
    print_summary(f"{run.count} pairs of frames", _rows(summary), summary, as_json)
    for each in (output, maps):
        if each is not None:
            print_message(f"look at {each}")


def _inputs(clips: list[Path] | None, alternate: Path | None, camera: tuple[int, int] | None) -> list[Path] | list[int]:
    """Return the names of one clip or two, or the numbers of two cameras."""
    if sum((bool(clips), alternate is not None, camera is not None)) != 1:
        raise UsageError("name two clips, --alternate FILE or --camera 0 1")
    if alternate is not None:
        return [alternate]
    if clips and len(clips) != 2:
        raise UsageError(f"name two clips, NEAR and FAR, got {len(clips)}; for one clip use --alternate")
    sources: Any = clips or list(camera or ())
    if sources[0] == sources[1]:
        raise UsageError(f"{sources[1]} is given twice; name two")
    return list(sources)


def _open(sources: Path | int, linear: bool, gamma: float | None) -> Clip | LiveCamera:
    if isinstance(sources, int):
        from .cameras import LiveCamera

        return LiveCamera(sources, linear=linear, gamma=gamma)
    from .clip import Clip

    return Clip(sources, linear=linear, gamma=gamma)


def _writers(
    stack: ExitStack, output: Path | None, maps: Path | None, run: _Run, force: bool
) -> list[ClipWriter | MapsWriter]:
    """Return the writers of the requested files; leaving ``stack`` completes the files."""
    from ...images.results import placing
    from .maps import MapsWriter
    from .side_by_side import ClipWriter

    writers: list[ClipWriter | MapsWriter] = []
    if output is not None:
        place = stack.enter_context(placing(output, force=force))
        writers.append(stack.enter_context(closing(ClipWriter(place, run.rate, run.names))))
    if maps is not None:
        place = stack.enter_context(placing(maps, force=force))
        writers.append(stack.enter_context(closing(MapsWriter(place))))
    return writers


class _Run:
    """Pairs of frames from one or two sources, and the figures of the measured pairs."""

    def __init__(self, sources: list[Any], start_s: float, offset_s: float) -> None:
        from .cameras import LiveCamera, pairs_of_cameras
        from .pairing import Dropped, pair_alternating, pair_by_time

        self._sources, self._dropped = sources, Dropped()
        self.rate = min(source.rate for source in sources)
        self.count, self._began, self._seconds = 0, 0.0, 0.0
        self._answered = 0.0
        self._stderr: list[float] = []
        self._settings: dict[str, Any] = {}
        self.pairs: Iterator[tuple[Frame, Frame]]
        near, far = sources[0], sources[-1]
        self.names = ("even frames", "odd frames") if near is far else (near.name, far.name)
        if isinstance(near, LiveCamera) or isinstance(far, LiveCamera):
            self.pairs = pairs_of_cameras(near, far)
        elif near is far:
            self.pairs = pair_alternating(_from(near, start_s), 1 / self.rate)
        else:
            shifted = (replace(frame, time_s=frame.time_s + offset_s) for frame in far)
            self.pairs = pair_by_time(_from(near, start_s), _from(shifted, start_s), 0.5 / self.rate, self._dropped)

    def add(self, measured: MeasuredFrame) -> None:
        """Add a measured pair."""
        import numpy as np

        if self.count == 0:
            for source in self._sources:
                print_message(f"{source.name}: {source.describe()}")
            self._began = time.perf_counter()  # after the alignment
        known = np.isfinite(measured.blur_map.variance_difference)
        self._answered += float(known.mean())
        if self.count % 10 == 0 and known.any():
            self._stderr.append(float(np.median(measured.blur_map.sigma_stderr[known])))
        self._settings = dict(measured.blur_map.settings)
        self.count += 1
        self._seconds = time.perf_counter() - self._began

    def check_count(self) -> None:
        """Raise an error if there was no pair."""
        if self.count == 0:
            raise UsageError(
                "no two frames are near in time; give the second clip's delay with --offset, or an earlier --start"
            )

    def summary(self) -> dict[str, Any]:
        """Return the figures of the run."""
        return {
            "pairs": self.count,
            "frames_per_second": (self.count - 1) / self._seconds if self.count > 1 else None,
            "dropped": {"first": self._dropped.first, "second": self._dropped.second},
            "damaged": sum(getattr(source, "damaged", 0) for source in self._sources),
            "largest_time_difference_s": self._dropped.largest_gap_s,
            "answered_fraction": self._answered / self.count,
            "median_stderr_px": sum(self._stderr) / len(self._stderr) if self._stderr else None,
            "settings": self._settings,
        }


def _from(frames: Iterable[Frame], start_s: float) -> Iterator[Frame]:
    return (frame for frame in frames if frame.time_s >= start_s)


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    rate, dropped = summary["frames_per_second"], summary["dropped"]
    rows = [
        ("sustained", "one pair only" if rate is None else f"{rate:.1f} pairs a second"),
        ("dropped", f"{dropped['first']} of the first, {dropped['second']} of the second"),
        ("damaged", f"{summary['damaged']} frames"),
        ("largest time difference", f"{1e3 * summary['largest_time_difference_s']:.1f} ms"),
        ("pixels answered", f"{summary['answered_fraction']:.1%}"),
    ]
    if summary["median_stderr_px"] is not None:
        rows.append(("median standard error", f"{summary['median_stderr_px']:.3f} px"))
    if summary["settings"].get("stderr_widened_by"):
        rows.append(("lossy codec", f"standard errors widened {summary['settings']['stderr_widened_by']:g} times"))
    return rows


COMMANDS = {"video": video}
