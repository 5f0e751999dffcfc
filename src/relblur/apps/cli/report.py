"""``relblur tools report``: put results on one page; write the page of ``--report`` for other commands."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..terminal.console import UsageError, print_lines, printed_warnings
from ..terminal.options import Force

if TYPE_CHECKING:
    from ...base._typing import AnyArray
    from ...blur.comparable_pair import ComparablePair
    from ...blur.result import MapResult

__all__ = ["report", "write_result_page"]


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
    """Put results on one page: maps, settings, warnings, provenance, and the numbers of every pixel.

        relblur tools report result depth -o all.html

    The page is one file that any browser shows without a network. For several results, or a folder of many pairs, it
    begins with a table. 'relblur estimate --report' also shows the photographs.
    """
    from ...images.results import placing, refuse_inputs, refuse_to_replace_file
    from ...report.page import PAGE_FILE, write_page
    from ...report.saved import read_entries

    if output is None:
        if len(results) > 1:
            raise UsageError("the page of several results needs a name: -o report.html")
        only = results[0]
        output = only / PAGE_FILE if only.is_dir() else only.with_name(f"{only.stem}_{PAGE_FILE}")
    refuse_inputs((output,), results)
    refuse_to_replace_file(output, force)
    read = [read_entries(path) for path in results]
    entries, failures = ([each for part in parts for each in part] for parts in zip(*read, strict=True))
    title = results[0].resolve().name if len(results) == 1 else f"{len(entries)} results"
    with placing(output, force=force) as fresh:
        write_page(fresh, entries, title, failures)
    print_lines(output)


def write_result_page(
    folder: Path,
    result: MapResult,
    inputs: Sequence[Path],
    summary: Mapping[str, Any],
    *,
    pair: ComparablePair | None = None,
    fused: AnyArray | None = None,
) -> None:
    """Write the page of a map into its folder, with the photographs of a pair or the fused picture of a stack.

    ``fused`` is in display values.
    """
    from ...plot.colours import look_of
    from ...report.page import PAGE_FILE, Entry, write_page
    from ...report.saved import provenance

    title = f"{inputs[0].name} and {inputs[1].name}" if len(inputs) > 1 else inputs[0].name
    pictures = [] if fused is None else [("sharp everywhere", fused)]
    if pair is not None:
        look = look_of(pair)
        pictures += [("first", look(pair.first)), ("second", look(pair.second))]
        title = title if pair.names == ("first", "second") else " and ".join(pair.names)
    elif len(inputs) > 1:
        title = f"{inputs[0].name} to {inputs[-1].name}"
    # For a stack, the table of frames contains the SHA-256.
    sources = provenance(() if pair is None else inputs, ["relblur", *sys.argv[1:]])
    write_page(folder / PAGE_FILE, [Entry(title, result, pictures, summary, printed_warnings(), sources)])
