"""What a figure or table has to tell, in a form that Markdown and a page can both be made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Claim", "Picture", "Section", "Table", "as_markdown"]


@dataclass(frozen=True)
class Claim:
    """A number of the paper beside ours."""

    what: str
    paper: str
    ours: str
    remark: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture file in the output folder, and what is to be seen on it."""

    file: str
    caption: str


@dataclass(frozen=True)
class Table:
    """Rows of text under headings."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    is_long: bool = False  #: folded on the page until it is opened


@dataclass(frozen=True)
class Section:
    """One figure or table of the paper."""

    key: str  #: fig1 ... table1
    title: str
    paper_shows: str  #: what stands in the paper, in our words
    finding: str  #: what came out here, a sentence or two
    pictures: tuple[Picture, ...] = ()
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()


def as_markdown(sections: Sequence[Section]) -> str:
    """Return the sections as one Markdown text."""
    parts = ["# The paper, reproduced by relblur\n"]
    for section in sections:
        parts.append(f"## {section.title}\n\n**The paper:** {section.paper_shows}\n\n**Here:** {section.finding}\n")
        parts += [f"![{picture.caption}]({picture.file})\n" for picture in section.pictures]
        tables = section.tables
        if section.claims:
            rows = tuple((claim.what, claim.paper, claim.ours, claim.remark) for claim in section.claims)
            tables = (Table("", ("what", "the paper", "here", "remark"), rows), *tables)
        parts += [_markdown_table(table) for table in tables]
    return "\n".join(parts)


def _markdown_table(table: Table) -> str:
    lines = [f"### {table.heading}\n"] if table.heading else []
    lines += [f"| {' | '.join(table.columns)} |", "|" + "---|" * len(table.columns)]
    lines += [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in table.rows]
    if table.note:
        lines += ["", table.note]
    return "\n".join(lines) + "\n"
