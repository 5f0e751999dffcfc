"""Check a built site: every link within it leads somewhere, and nothing is loaded from elsewhere.

python docs/check_site.py docs/_build/html
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes by which a page loads something at once; a plain link may lead elsewhere.
LOADING = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src"), ("video", "src")}


class Page(HTMLParser):
    """What a page links to, what it loads, and the names of its places."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.places: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag refers to."""
        for name, value in attrs:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.places.add(value)
            elif (tag, name) in LOADING:
                self.loads.append(value)
            elif tag == "a" and name == "href":
                self.links.append(value)


def problems(site: Path) -> list[str]:
    """Return a line for everything that is wrong."""
    found = sorted(path for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "_static")
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in found}
    wrong = [] if pages else [f"{site} holds no page"]
    for path, page in pages.items():
        here = path.relative_to(site)
        for target in (*page.links, *page.loads):
            parts = urlsplit(target)
            to = path if not parts.path else (path.parent / unquote(parts.path)).resolve()
            to = to / "index.html" if to.is_dir() else to
            if parts.scheme or parts.netloc:
                wrong += [f"{here} loads {target}"] if target in page.loads and parts.scheme != "data" else []
            elif not to.exists():
                wrong.append(f"{here} leads to {target}, which is not there")
            elif parts.fragment and to in pages and unquote(parts.fragment) not in pages[to].places:
                wrong.append(f"{here} leads to {target}, which has no such place")
    for path in site.rglob("*.css"):
        text = path.read_text(encoding="utf-8", errors="replace")
        if any(each in text for each in ("url(http", "url(//", '@import "http')):
            wrong.append(f"{path.relative_to(site)} loads from elsewhere")
    return wrong


def main() -> None:
    """Print what is wrong and end with 1 if anything is."""
    found = problems(Path(sys.argv[1]).resolve())
    for line in found:
        print(line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
