"""``paper.html``: every figure and table on one page that needs no other file and no network."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from html import escape
from pathlib import Path

from ... import __version__
from .sections import Picture, Section, Table

__all__ = ["page"]

STYLE = """
:root { color-scheme: light; --ink: #1c1c1c; --soft: #5c5c5c; --line: #dcdcdc; --paper: #f6f3ea; --here: #eef4f8; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1.5rem; color: var(--ink); background: white;
  font: 16px/1.5 Georgia, "Times New Roman", serif; }
h1, h2, h3, nav, th, table, figcaption, .tag { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 1.8rem; margin: 0 0 .4rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .8rem; padding-top: .8rem; border-top: 2px solid var(--ink); }
h3 { font-size: 1rem; margin: 1.4rem 0 .4rem; }
p { margin: .3rem 0; }
nav { display: flex; flex-wrap: wrap; gap: .3rem 1rem; font-size: .9rem; margin: 1rem 0; }
a { color: #1f5f99; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.sides > div { padding: .7rem 1rem; border-radius: .4rem; }
.paper { background: var(--paper); }
.here { background: var(--here); }
.tag { font-size: .75rem; font-weight: 600; letter-spacing: .05em; text-transform: uppercase; color: var(--soft); }
figure { margin: 1rem 0; text-align: center; }
figure img { max-width: 100%; height: auto; border: 1px solid var(--line); }
figcaption { color: var(--soft); font-size: .85rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .76rem; margin: .8rem 0; width: 100%; }
th, td { text-align: left; padding: .28rem .4rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { border-bottom: 2px solid var(--soft); }
td.whole { font-variant-numeric: tabular-nums; white-space: nowrap; }
tr.stated td { background: var(--paper); }
tr.mean td { background: var(--here); font-weight: 600; }
summary { font: 600 1rem system-ui, sans-serif; cursor: pointer; margin: 1.2rem 0 .4rem; }
footer { margin: 3rem 0 1rem; color: var(--soft); font-size: .85rem; border-top: 1px solid var(--line); }
@media (max-width: 46rem) { .sides { grid-template-columns: 1fr; } }
@media print { h2 { break-after: avoid; } figure, tr { break-inside: avoid; } }
"""


def page(folder: Path, sections: Sequence[Section], made_from: Sequence[str]) -> str:
    """Return the page for sections whose pictures lie in a folder; ``made_from`` says what was looked at."""
    links = "".join(f'<a href="#{escape(each.key)}">{escape(_short(each.title))}</a>' for each in sections)
    sources = "".join(f"<li>{escape(text)}</li>" for text in made_from)
    body = "".join(_section(folder, each) for each in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, figure by figure</title><style>{STYLE}</style></head><body>\n"
        "<h1>The paper, figure by figure</h1>\n"
        "<p>A. Saadat, <i>Computational Framework for Estimating Relative Gaussian Blur Kernels between Image "
        "Pairs</i>: what it shows or states, and what relblur gets in its place.</p>\n"
        f"<ul>{sources}</ul>\n<nav>{links}</nav>\n{body}"
        f"<footer><p>Made by relblur {escape(__version__)}: relblur reproduce. Method and notes: docs/framework.md.</p>"
        "</footer>\n</body></html>\n"
    )


def _short(title: str) -> str:
    return title.split(":")[0]


def _section(folder: Path, section: Section) -> str:
    parts = [f'<section id="{escape(section.key)}"><h2>{escape(section.title)}</h2>\n<div class="sides">']
    for kind, tag, text in (("paper", "The paper", section.paper_shows), ("here", "Here", section.finding)):
        parts.append(f'<div class="{kind}"><div class="tag">{tag}</div><p>{escape(text)}</p></div>')
    parts.append("</div>\n")
    parts += [_figure(folder, picture) for picture in section.pictures]
    if section.claims:
        rows = tuple((each.what, each.paper, each.ours, each.remark) for each in section.claims)
        parts.append(_table(Table("", ("number", "the paper", "here", "remark"), rows)))
    parts += [_table(table) for table in section.tables]
    parts.append("</section>\n")
    return "".join(parts)


def _figure(folder: Path, picture: Picture) -> str:
    data = base64.b64encode((folder / picture.file).read_bytes()).decode("ascii")
    caption = escape(picture.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption} '
        f"({escape(picture.file)})</figcaption></figure>\n"
    )


def _table(table: Table) -> str:
    heading = f"<h3>{escape(table.heading)}</h3>" if table.heading else ""
    head = "".join(f"<th>{escape(column)}</th>" for column in table.columns)
    body = "".join(f"<tr{_row_class(row)}>{''.join(_cell(text) for text in row)}</tr>\n" for row in table.rows)
    note = f"<p><small>{escape(table.note)}</small></p>" if table.note else ""
    rows = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    if table.is_long:
        return f"<details><summary>{escape(table.heading)}</summary>{rows}{note}</details>\n"
    return f"{heading}{rows}{note}\n"


def _row_class(row: tuple[str, ...]) -> str:
    if "the paper's" in row:
        return ' class="stated"'
    return ' class="mean"' if any(cell.startswith("mean of ") for cell in row) else ""


def _cell(text: str) -> str:
    whole = len(text) < 20  # stays on one line
    return f'<td class="whole">{escape(text)}</td>' if whole else f"<td>{escape(text)}</td>"
