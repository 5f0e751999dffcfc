"""``relblur tools report``: put results on one page; write the pages of ``--report`` for other commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..terminal.console import UsageError, one_line_errors, print_lines, printed_warnings
from ..terminal.options import Force

if TYPE_CHECKING:
    from ...base._typing import AnyArray
    from ...blur.blur_map import BlurMap
    from ...blur.comparable_pair import ComparablePair
    from ...blur.evaluate import PairScore
    from ...depth.depth_map import DepthMap
    from ...depth.relation import DepthRange
    from ...report.page import About, ResultPage
    from ...stacks.stack_map import StackMap

__all__ = [
    "refuse_foreign_page",
    "report",
    "write_folder_page",
    "write_result_page",
    "write_score_page",
    "write_stack_page",
]


@one_line_errors
def report(
    results: Annotated[
        list[Path],
        typer.Argument(help="Folders of results or .npz files.", metavar="RESULTS...", show_default=False),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="HTML file to write.", metavar="FILE", show_default="report.html in the folder"
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Put results on one page: pictures, settings, warnings, provenance, and the numbers of every pixel.

        relblur tools report result depth -o all.html

    The page is one file that any browser shows without a network. For several results, or a folder of many pairs, it
    begins with a table. 'relblur estimate --report' writes more: the photographs, and the errors beside their
    baselines.
    """
    from ...images.results import refuse_inputs, refuse_to_replace_file
    from ...report.page import PAGE_FILE

    if output is None:
        if len(results) > 1:
            raise UsageError("the page of several results needs a name: -o report.html")
        only = results[0]
        output = only / PAGE_FILE if only.is_dir() else only.with_name(f"{only.stem}_{PAGE_FILE}")
    refuse_inputs((output,), results)
    refuse_to_replace_file(output, force)
    pages: list[ResultPage] = []
    failures: list[tuple[str, str]] = []
    for path in results:
        readable, unreadable = _read(path, len(results) > 1)
        pages += readable
        failures += unreadable
    title = results[0].resolve().name if len(results) == 1 else f"{len(pages)} results"
    _write(output, pages, title, failures, force)
    print_lines(output)


def write_result_page(
    path: Path,
    result: BlurMap | DepthMap | DepthRange,
    inputs: Sequence[Path],
    pair: ComparablePair,
    summary: Mapping[str, Any] | None = None,
) -> None:
    """Write the page of a blur map, a depth map or a range, with its photographs."""
    from ...depth.relation import DepthRange
    from ...report.page import write_page
    from ...report.result_pages import map_page, range_page

    about = _about(inputs, pair)
    if isinstance(result, DepthRange):
        page = range_page(result, about, pair)
    else:
        page = map_page(result, about, pair=pair, summary=summary)
    write_page(path, [page])


def write_stack_page(
    path: Path, stack: StackMap, inputs: Sequence[Path], picture: AnyArray | None, summary: Mapping[str, Any]
) -> None:
    """Write the page of a stack map; ``picture`` is the fused picture, encoded for a screen."""
    from ...report.page import About, write_page
    from ...report.result_pages import map_page
    from ...report.saved import provenance

    title = inputs[0].name if len(inputs) == 1 else f"{inputs[0].name} to {inputs[-1].name}"
    sources = provenance(inputs, ["relblur", *sys.argv[1:]])
    about = About(title, tuple(stack.settings.get("notes", ())), printed_warnings(), sources)
    write_page(path, [map_page(stack, about, picture=picture, summary=summary)])


def write_score_page(
    path: Path,
    scores: Sequence[tuple[str, PairScore]],
    inputs: Sequence[Path],
    pair: ComparablePair,
    settings: Mapping[str, Any],
    force: bool,
) -> None:
    """Write the page of the scores of a pair."""
    from ...report.result_pages import score_page

    page = score_page(scores, _about(inputs, pair), pair, settings)
    _write(path, [page], page.about.title, [], force)


def write_folder_page(path: Path, folder: Path) -> None:
    """Write the page of a folder of many pairs; replace an older page."""
    pages, failures = _read(folder, True)
    _write(path, pages, f"{folder.resolve().name}: {len(pages)} pairs", failures, True)


def refuse_foreign_page(path: Path) -> None:
    """Refuse a folder with a file of the page's name that relblur did not write, before the work."""
    import os

    from ...base.errors import OutputExistsError
    from ...report.html import is_our_page

    if os.path.lexists(path) and not is_our_page(path):
        raise OutputExistsError(f"{path} is in the way and not from relblur; choose another output folder")


def _write(
    path: Path, pages: Sequence[ResultPage], title: str, failures: Sequence[tuple[str, str]], force: bool
) -> None:
    from ...images.results import placing
    from ...report.page import write_page

    with placing(path, force=force) as fresh:
        write_page(fresh, pages, title, failures)


def _about(inputs: Sequence[Path], pair: ComparablePair) -> About:
    from ...report.page import About
    from ...report.saved import provenance

    return About(
        title=" and ".join(pair.names if pair.names != ("first", "second") else [path.name for path in inputs[:2]]),
        notes=pair.notes,
        warnings=printed_warnings(),
        provenance=provenance(inputs, ["relblur", *sys.argv[1:]]),
    )


def _read(path: Path, is_one_of_many: bool) -> tuple[list[ResultPage], list[tuple[str, str]]]:
    """Return the pages of the results at a path, and the names of unreadable ones with the reason."""
    from ...report.page import About
    from ...report.saved import provenance, read_results

    return read_results(path, About(path.resolve().name, provenance=provenance(), is_one_of_many=is_one_of_many))
