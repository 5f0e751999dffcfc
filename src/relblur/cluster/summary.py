"""``summary.html``: Table I over whole data sets with intervals, distributions, the worst pairs, in one file."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..files.disk import replacing
from ..report.batch import Outcome
from ..studies.paper.claims import PAPER_TABLE
from .scores import MeanRow, Row, loss, mean_rows

__all__ = ["write_stack_summary", "write_summary"]

WORST = 10

COLUMNS = {
    "b_sharper_fraction": "I_B sharper",
    "f_sharper_fraction": "I_F sharper",
    "e_b": "e_B",
    "unblurred_e_b": "e_B unblurred",
    "e_f": "e_F",
    "unblurred_e_f": "e_F unblurred",
    "explained": "explained",
}
SHARES = ("b_sharper_fraction", "f_sharper_fraction", "explained")

#: Pictures and style are inside; there is no script.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"

STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1c; --soft: #5c5c5c; --line: #dcdcdc; --paper: #f6f3ea; --back: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --soft: #a8a8a8; --line: #3c3c3c; --paper: #2b2820; --back: #161616; } }
body { margin: 0 auto; max-width: 72rem; padding: 1.5rem; color: var(--ink); background: var(--back);
  font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .4rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p, li { color: var(--soft); } .wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; width: 100%; }
th, td { text-align: right; padding: .3rem .5rem; border-bottom: 1px solid var(--line);
  font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; }
td small { color: var(--soft); white-space: nowrap; } tr.stated td { background: var(--paper); }
img { max-width: 100%; height: auto; background: white; }
.worst { display: grid; grid-template-columns: repeat(auto-fill, minmax(30rem, 1fr)); gap: 1rem; }
figure { margin: 0; border: 1px solid var(--line); padding: .6rem; } figcaption { font-size: .85rem; }
@media (max-width: 34rem) { .worst { grid-template-columns: 1fr; } }
"""


def write_summary(folder: Path, results: Path, rows: Sequence[Row], outcomes: Sequence[Outcome], title: str) -> None:
    """Write the page into a folder; pictures of pairs are taken from theirs, which lie among the results."""
    failed = [each for each in outcomes if each.state == "failed"]
    pairs = len({(row["data_set"], row["pair"]) for row in rows})
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>{pairs} pairs measured, {len(failed)} failed. Values as the files hold them.</p>",
        "<h2>Table I over the whole set</h2>",
        "<p>Means over pairs, with their 95 % intervals (bootstrap). e: mean absolute error of re-making an image "
        "where it is the less sharp; unblurred: the same if nothing is done; explained: share of the difference "
        "explained on colours that the estimate has not seen.</p>",
        _table(mean_rows(rows, list(COLUMNS))),
        "<h2>Distributions</h2>",
        f'<img alt="histograms of errors and explained shares" src="{_data("image/svg+xml", _histograms(rows))}">',
        f"<h2>The worst {min(WORST, pairs)}</h2>",
        _worst(results, rows),
    ]
    parts.append(_failures(outcomes))
    _write_page(folder, title, parts)


def write_stack_summary(
    folder: Path, results: Path, rows: Sequence[Row], outcomes: Sequence[Outcome], title: str
) -> None:
    """Write the page of a set of stacks: their figures in a table, and each stack's overview."""
    figures = {"frames": "d", "left_out": "d", "answered_fraction": ".1%", "index_50": ".2f", "depth_m_50": ".3f"}
    figures |= {"median_index_stderr": ".3f", "filled_fraction": ".1%", "at_limit_fraction": ".1%", "seconds": ".1f"}
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in ("stack", *figures))
    body = []
    for row in rows:
        cells = "".join(
            f"<td>{format(row[name], form) if math.isfinite(row[name]) else '-'}</td>" for name, form in figures.items()
        )
        body.append(f"<tr><td>{escape(row['stack'])}</td>{cells}</tr>")
    parts = [
        f"<h1>{escape(title)}</h1><p>{len(rows)} stacks.</p>",
        f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>',
        "<h2>Stacks</h2>",
        '<div class="worst">'
        + "".join(_picture(results / row["folder"] / "overview.png", row["stack"]) for row in rows)
        + "</div>",
        _failures(outcomes),
    ]
    _write_page(folder, title, parts)


def _write_page(folder: Path, title: str, parts: Sequence[str]) -> None:
    page = (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>\n"
        + "\n".join(parts)
        + f"\n<p>Made by relblur {escape(__version__)}: relblur batch.</p></body></html>\n"
    )
    with replacing(folder / "summary.html") as stream:
        stream.write(page.encode())


def _failures(outcomes: Sequence[Outcome]) -> str:
    items = "".join(f"<li>{escape(each.name)}: {escape(each.error)}</li>" for each in outcomes if not each.succeeded)
    return f"<h2>Failed</h2><ul>{items}</ul>" if items else ""


def _picture(path: Path, said: str) -> str:
    try:
        image = f'<img alt="{escape(said)}" src="{_data("image/png", path.read_bytes())}">'
    except OSError:
        image = ""
    return f"<figure>{image}<figcaption>{escape(said)}</figcaption></figure>"


def _table(rows: Sequence[MeanRow]) -> str:
    head = "".join(f"<th>{escape(text)}</th>" for text in ("data set", "size", "pairs", *COLUMNS.values()))
    body = []
    for row in rows:
        cells = "".join(f"<td>{_with_interval(name, row.means[name])}</td>" for name in COLUMNS)
        size = f"<td>{escape(row.resolution)}</td><td>{row.pairs}</td>"
        body.append(f"<tr><td>{escape(row.data_set)}</td>{size}{cells}</tr>")
        for stated in PAPER_TABLE:
            if (stated.data_set, stated.resolution) == (row.data_set, row.resolution):
                numbers = {
                    "b_sharper_fraction": stated.b_sharper,
                    "f_sharper_fraction": stated.f_sharper,
                    "e_b": stated.e_b,
                    "e_f": stated.e_f,
                }
                cells = "".join(f"<td>{_number(name, numbers.get(name, math.nan))}</td>" for name in COLUMNS)
                body.append(f'<tr class="stated"><td>the paper, one pair</td><td></td><td>1</td>{cells}</tr>')
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def _number(name: str, value: float) -> str:
    if not math.isfinite(value):
        return "-"
    return f"{value:.1%}" if name in SHARES else f"{value:.4f}"


def _with_interval(name: str, mean: tuple[float, float, float]) -> str:
    if not math.isfinite(mean[0]):
        return "-"
    return f"{_number(name, mean[0])}<br><small>{_number(name, mean[1])} to {_number(name, mean[2])}</small>"


def _histograms(rows: Sequence[Row]) -> bytes:
    """Draw how errors, errors without blurring and explained shares are spread at full size."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    sets = sorted({row["data_set"] for row in rows})
    figure = Figure(figsize=(11, 2.6 * len(sets)), layout="constrained")
    axes = figure.subplots(len(sets), 3, squeeze=False)
    for line, data_set in zip(axes, sets, strict=True):
        here = [row for row in rows if row["data_set"] == data_set]
        full = [row for row in here if row["factor"] == min(row["factor"] for row in here)]
        for axis, (name, what) in zip(line, (("e_b", "e_B"), ("e_f", "e_F"), ("explained", "explained")), strict=True):
            values = _finite(full, name)
            beside = _finite(full, f"unblurred_{name}") if name != "explained" else np.empty(0)
            both = np.concatenate([values, beside])
            if not both.size:
                axis.set_axis_off()
                continue
            edges = np.linspace(min(both.min(), 0), max(both.max(), 1e-6), 31)
            if beside.size:
                axis.hist(beside, edges, color="0.8", label="unblurred")
            axis.hist(values, edges, color="tab:blue", alpha=0.85, label=what)
            axis.set_xlabel(f"{what}, {data_set}")
            axis.spines[["top", "right"]].set_visible(False)
            axis.xaxis.set_major_locator(MaxNLocator(5))
            axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
            axis.legend(frameon=False, fontsize=8)
        line[0].set_ylabel("pairs")
    stream = io.BytesIO()
    figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def _finite(rows: Sequence[Row], name: str) -> np.ndarray:
    values = np.array([row[name] for row in rows], float)
    return values[np.isfinite(values)]


def _worst(folder: Path, rows: Sequence[Row]) -> str:
    full: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: -row["factor"]):
        full[row["folder"]] = row  # the least factor stays
    known = [row for row in full.values() if math.isfinite(loss(row))]
    figures = [_figure(folder, row) for row in sorted(known, key=loss, reverse=True)[:WORST]]
    return f'<div class="worst">{"".join(figures)}</div>'


def _figure(folder: Path, row: dict[str, Any]) -> str:
    errors = f"e_B {_number('e_b', row['e_b'])}, e_F {_number('e_f', row['e_f'])}"
    said = f"{row['data_set']} {row['pair']}: {loss(row):.0%} of the difference unexplained, {errors}"
    return _picture(folder / row["folder"] / "picture.png", said)


def _data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
