"""Write the evidence pages and the figures quoted elsewhere from the records in benchmarks/results.

    python docs/make_evidence.py            # pages, plots and the marked passages of other pages
    python docs/make_evidence.py --check    # list what differs from the records, change nothing

A page of ``docs/evidence`` has a plot, a table of at most 5 columns and 8 rows, and the command and date of the
record.  A passage between ``<!-- evidence: NAME -->`` and ``<!-- end -->`` in another page is replaced by
:func:`passages`.  A page whose record is missing is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import evidence_records
import numpy as np
from evidence_pages import Page, Rows, all_pages, compression
from evidence_records import accuracy_of, record, short, span

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "evidence"
#: Key of the PNG text that holds the digest of the records a plot was made from.
DIGEST = "relblur-records"


def passages() -> dict[str, str]:
    """Return the sentences with figures that user pages quote, by name."""
    pairs = record("accuracy")["rows"]
    floats, bits = (np.median(accuracy_of(pairs, kind, "refined auto")) for kind in ("float", "8 bit"))
    noisy = np.median(accuracy_of(pairs, "noise 0.01", "refined auto"))
    honest = record("honest")["rows"]
    wrong = {
        place: [100 * row["wrong"] / row["unflagged"] for row in honest["scenes"] if row["place"] == place]
        for place in ("off edges", "all")
    }
    within = [[100 * row["coverage_unflagged"][k] for row in honest["scenes"] if row["place"] == "all"] for k in (0, 1)]
    flagged = [100 - 100 * row["unflagged"] for row in honest["scenes"] if row["place"] == "all"]
    jpeg = {row[0]: row[2] for row in compression()[0].rows}
    renders = {(row["method"], row["scene"]): row for row in record("depth")["rows"]["renders"]}
    disc = [short(renders['estimate_depth, psf="disc"', scene]["all"]) for scene in ("plane", "stairs", "poles")]
    stacks = {name: section["rows"] for name, section in record("stacks")["rows"].items()}
    generated = [row["rms"] for row in stacks["generated"]]
    halo = {
        method: short(np.mean([row["halo"] for row in stacks["halo"] if row["method"] == method]))
        for method in ("relblur", "maximum_of_pyramids", "focus_stack")
    }
    large = stacks["memory"][-1]
    return {
        "speed": _speed(pairs),
        "accuracy": f"The median error of sigma on ten photographs is {short(floats)} % in floating point,\n"
        f"{short(bits)} % in 8 bits and {short(noisy)} % with 1 % noise.",
        "scenes": f"- Away from depth edges, {span(wrong['off edges'], 1)} % of the unflagged pixels are wrong.\n"
        f"- With the edges, {span(wrong['all'], 1)} % are wrong.\n"
        f"- Of the unflagged pixels, {span(within[0])} % lie within one standard error and\n"
        f"  {span(within[1])} % within two. Normal errors would give 68 and 95 %.\n"
        f"- {span(flagged)} % of each scene is flagged.",
        "jpeg": f"The mean error of unflagged pixels is {jpeg['PNG']} % in PNG. At JPEG quality 95, 85 and 75 it is\n"
        f"{jpeg['JPEG 95']}, {jpeg['JPEG 85']} and {jpeg['JPEG 75']} %.",
        "depth": "The mean error of depth on three rendered scenes, with the disc, is\n"
        f"{disc[0]} % (plane), {disc[1]} % (stairs) and {disc[2]} % (thin poles).",
        "stacks": f"On three generated stacks of 41 frames the error is {span(generated, 3)} frames (RMS).",
        "halo": f"The RMS error beside the bristles is {halo['relblur']} of 255, mean of three scenes. It is\n"
        f"{halo['maximum_of_pyramids']} for a maximum of Laplacian pyramids and {halo['focus_stack']} for focus-stack.",
        "memory": f"A stack of {large['frames']} frames of {large['megapixels']:g} megapixels took "
        f"{large['peak_mb'] / 1000:.1f} GB.",
    }


def _speed(pairs: Rows) -> str:
    seconds = np.mean([row["cpu_s"] for row in pairs])
    text = (
        f"A map of 512 x 512 px takes about {seconds:.1f} s of processor time.\n"
        "`Stream` measures a pair of 480 x 640 px in "
    )
    stream = record("speed")["rows"]["sizes"]["480x640"]["Stream, auto"]["cpu_median"]
    plot = "![Milliseconds a pair, relblur and other programs](docs/evidence/speed.png)"
    return f"{text}{stream:.0f} ms of processor time.\n\n{plot}\n"


_PASSAGE = re.compile(r"(<!-- evidence: (\w+) -->\n)(?:(?!<!--).)*(<!-- end -->)", re.DOTALL)


def with_passages(text: str) -> str:
    """Return a page with its marked passages replaced."""
    found = passages()
    return _PASSAGE.sub(lambda match: f"{match[1]}{found[match[2]]}\n{match[3]}", text)


def quoting() -> list[Path]:
    """Return the pages that hold marked passages."""
    patterns = ("README.md", "paper/*.md", "docs/*.md", "docs/[hs]*/*.md")
    pages = [page for pattern in patterns for page in sorted(ROOT.glob(pattern))]
    return [page for page in pages if _PASSAGE.search(page.read_text())]


def markdown(page: Page) -> str:
    """Return a page's text."""
    lines = [
        "<!-- made by docs/make_evidence.py -->",
        "",
        f"# {page.title}",
        "",
    ]
    for number, section in enumerate(page.sections):
        made = record(section.record)
        machine = made["machine"]
        if len(page.sections) > 1:
            lines += [f"## {section.title}", ""]
        if section.draw is not None:
            lines += [f"![{section.title}]({page.name}{number or ''}.png)", ""]
        lines += [*_wrapped(section.measured), "", *_table(section.columns, section.rows), ""]
        if section.record not in [later.record for later in page.sections[number + 1 :]]:
            lines += [f"    {made['command']}", ""]
            source = f"[{section.record}.json](../../benchmarks/results/{section.record}.json)"
            lines += _wrapped(
                f"Measured {machine['time'][:10]}, {machine['processor']}, {machine['cores']} cores, "
                f"load {machine['load']:.0f}. All figures: {source}."
            )
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _table(columns: Sequence[str], rows: Rows) -> list[str]:
    head, *lines = ["| " + " | ".join(cells) + " |" for cells in (columns, *rows)]
    return [head, "|" + "---|" * len(columns), *lines]


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)


def index(pages: Sequence[Page]) -> str:
    """Return the text of the first page."""
    lines = [
        "<!-- made by docs/make_evidence.py -->",
        "",
        "# Evidence",
        "",
        "Every figure here comes from a record of a benchmark. `python docs/make_evidence.py` writes these",
        "pages. The programs are in `benchmarks`, the records in `benchmarks/results`.",
        "",
        *(f"- [{page.title}]({page.name}.md)" for page in pages),
        "",
        "`relblur paper reproduce` makes the figures and tables of [the paper](../framework.md).",
        "",
        "```{toctree}",
        ":hidden:",
        "",
        *(page.name for page in pages),
        "```",
    ]
    return "\n".join(lines) + "\n"


def digest(page: Page) -> str:
    """Return the digest of the records of a page."""
    records = dict.fromkeys(section.record for section in page.sections)
    content = b"".join((evidence_records.RESULTS / f"{each}.json").read_bytes() for each in records)
    return hashlib.sha256(content).hexdigest()[:16]


def draw(page: Page) -> None:
    """Draw the plots of a page."""
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure

    for number, section in enumerate(page.sections):
        if section.draw is not None:
            figure = Figure(figsize=(8, 3.6), layout="constrained")
            section.draw(figure)
            for axis in figure.axes:
                axis.spines[["top", "right"]].set_visible(False)
                axis.grid(alpha=0.3)
                axis.set_axisbelow(True)
            metadata = {DIGEST: digest(page), "Software": None}
            figure.savefig(PAGES / f"{page.name}{number or ''}.png", dpi=110, metadata=metadata)


def _digest_in(plot: Path) -> str | None:
    """Return the digest that a plot holds."""
    from PIL import Image

    if not plot.exists():
        return None
    with Image.open(plot) as picture:
        return picture.info.get(DIGEST)


def texts() -> dict[Path, str]:
    """Return the texts of all pages of evidence, and of those that quote figures."""
    pages = all_pages()
    found = {PAGES / f"{page.name}.md": markdown(page) for page in pages} | {PAGES / "index.md": index(pages)}
    return found | {page: with_passages(page.read_text()) for page in quoting()}


def stale() -> list[str]:
    """Return a line for every page or plot that differs from its records."""
    found = [
        f"{path.relative_to(ROOT)} differs from its record"
        for path, text in texts().items()
        if not path.exists() or path.read_text() != text
    ]
    for page in all_pages():
        for number, section in enumerate(page.sections):
            plot = PAGES / f"{page.name}{number or ''}.png"
            if section.draw and _digest_in(plot) != digest(page):
                found.append(f"{plot.relative_to(ROOT)} was drawn from another record")
    return found


def main() -> None:
    """Write or check everything."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="list what is out of date and end with 1")
    if parser.parse_args().check:
        found = stale()
        print(*found, sep="\n")
        raise SystemExit(1 if found else 0)
    for path, text in texts().items():
        path.write_text(text)
    for page in all_pages():
        draw(page)


if __name__ == "__main__":
    main()
