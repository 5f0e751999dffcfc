"""A figure or table of the paper beside ours, and the page of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...report.html import Html, Table, bullets, document, element, image, titled_table

__all__ = ["Claim", "Picture", "Section", "page"]

_PAPER = "Computational Framework for Estimating Relative Gaussian Blur Kernels between Image Pairs"


@dataclass(frozen=True)
class Claim:
    """A number of the paper beside ours."""

    what: str
    paper: str
    ours: str
    remark: str = ""


@dataclass(frozen=True)
class Picture:
    """A picture file in the output folder with its caption."""

    file: str
    caption: str


@dataclass(frozen=True)
class Section:
    """One figure or table of the paper."""

    key: str  #: fig1 ... table1
    title: str
    paper_shows: str  #: content of the paper, in our words
    finding: str  #: our result, a sentence or two
    pictures: tuple[Picture, ...] = ()
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()

    def as_html(self, folder: Path) -> Html:
        """Return the section of the page; its pictures lie in a folder."""
        sides = [
            element("div", element("b", name), element("p", text))
            for name, text in (("The paper", self.paper_shows), ("Here", self.finding))
        ]
        figures = [
            element(
                "figure",
                image((folder / each.file).read_bytes(), each.caption),
                element("p", f"{each.caption} ({each.file})", class_="note"),
                class_="alone",
            )
            for each in self.pictures
        ]
        rows = [(each.what, each.paper, each.ours, each.remark) for each in self.claims]
        tables = [Table("", ("number", "the paper", "here", "remark"), rows)] if rows else []
        tables += self.tables
        return element(
            "section",
            element("h2", self.title),
            element("div", *sides, class_="sides"),
            *figures,
            *map(titled_table, tables),
            id=self.key,
        )


def page(folder: Path, sections: Sequence[Section], made_from: Sequence[str]) -> str:
    """Return the page of sections whose pictures lie in a folder; ``made_from`` names the data."""
    links = [element("a", each.title.split(":")[0], href=f"#{each.key}") for each in sections]
    intro = f"A. Saadat, {_PAPER}: what it shows or states, and what relblur gets. Method, notes and errata: "
    return document(
        "The paper, figure by figure",
        element("p", intro, element("i", "docs/framework.md"), "."),
        bullets(made_from),
        element("nav", *links),
        *(each.as_html(folder) for each in sections),
    )
