"""List the numbers of the paper, and build the page that compares them with those of relblur."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...report.html import Html, Table, bullets, document, element, image, titled_table


@dataclass(frozen=True)
class PaperRow:
    """A row of Table I."""

    data_set: str
    resolution: str
    b_sharper: float
    f_sharper: float
    e_b: float
    e_f: float

    @property
    def equal(self) -> float:
        """Share of points of equal sharpness, which are not scored."""
        return max(0.0, round(1 - self.b_sharper - self.f_sharper, 9))


PAPER_TABLE = (
    PaperRow("Real MFF", "625x433", 0.50, 0.27, 0.021, 0.025),
    PaperRow("Real MFF", "313x217", 0.43, 0.39, 0.016, 0.012),
    PaperRow("Real MFF", "157x109", 0.44, 0.46, 0.014, 0.009),
    PaperRow("DPDD", "420x280", 0.76, 0.24, 0.023, 0.014),
    PaperRow("DPDD", "210x140", 0.67, 0.33, 0.018, 0.010),
    PaperRow("DPDD", "105x70", 0.58, 0.42, 0.017, 0.016),
)

#: "MAE" of sigma in Fig. 1, for each direction of the ramp.
PAPER_FIG1 = {"top to bottom": "1.4 %", "left to right": "1.47 % (caption), 1.7 % (text)"}

#: Mean error of the re-made blurred image of Fig. 1, on a scale of 0 to 1 (conclusions).
REMADE_CLAIM = 0.0002


@dataclass(frozen=True)
class PaperCamera:
    """A camera of section 6 with its circle of confusion by equation 8, as stated in the paper."""

    name: str
    focal_length_mm: float
    f_number: float
    foreground_mm: float
    pixel_pitch_um: float
    sensor_mm: float  #: width
    width_px: int  #: width of the image with this pixel pitch
    table_width_px: int  #: width of the largest image in Table I
    stated_px: float


CAMERAS = (
    PaperCamera("Lytro Illum", 17, 2, 1000, 4.5, 10.82, 2450, 625, 32),
    PaperCamera("Canon 5D Mark IV", 67, 4, 1100, 21.43, 36.0, 1680, 420, 48),
)


@dataclass(frozen=True)
class Claim:
    """A number of the paper, and that of relblur."""

    what: str
    paper: str
    ours: str
    remark: str = ""


@dataclass(frozen=True)
class Section:
    """One figure or table of the paper."""

    key: str  #: fig1 ... table1
    title: str
    paper_shows: str  #: summary of the paper's content
    finding: str  #: result of relblur, one or two sentences
    pictures: tuple[tuple[str, str], ...] = ()  #: files in the output folder, and their captions
    claims: tuple[Claim, ...] = ()
    tables: tuple[Table, ...] = ()
    rows: Sequence[Mapping[str, Any]] = ()  #: numbers for the CSV file

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain dictionaries."""
        return {"claims": [asdict(claim) for claim in self.claims], "rows": list(self.rows)}

    def as_html(self, folder: Path) -> Html:
        """Return the section as HTML, with its pictures from a folder."""
        sides = (("The paper", self.paper_shows), ("Here", self.finding))
        figures = (
            element(
                "figure",
                image((folder / file).read_bytes(), caption),
                element("p", f"{caption} ({file})", class_="note"),
                class_="alone",
            )
            for file, caption in self.pictures
        )
        rows = [(each.what, each.paper, each.ours, each.remark) for each in self.claims]
        tables = [Table("", ("number", "the paper", "here", "remark"), rows)] if rows else []
        return element(
            "section",
            element("h2", self.title),
            element(
                "div", *(element("div", element("b", who), element("p", text)) for who, text in sides), class_="sides"
            ),
            *figures,
            *map(titled_table, [*tables, *self.tables]),
            id=self.key,
        )


def page(folder: Path, sections: Sequence[Section], notes: Sequence[str]) -> str:
    """Return the page of all sections, with their pictures from a folder; ``notes`` list the data sets."""
    links = [element("a", each.title.split(":")[0], href=f"#{each.key}") for each in sections]
    paper = "A. Saadat, Computational Framework for Estimating Relative Gaussian Blur Kernels between Image Pairs"
    intro = f"{paper}: its figures and tables, and the results of relblur. Method, notes and errata: "
    return document(
        "The paper, figure by figure",
        element("p", intro, element("i", "docs/framework.md"), "."),
        bullets(notes),
        element("nav", *links),
        *(each.as_html(folder) for each in sections),
    )
