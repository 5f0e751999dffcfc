"""How the site is built: ``make docs``. Nothing is fetched from the network, and warnings are errors."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
from sphinx.ext import autosummary

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import api_pages  # noqa: E402
import command_pages  # noqa: E402
from page_files import write_pages  # noqa: E402

import relblur  # noqa: E402

mpl.use("agg")
autosummary.WELL_KNOWN_ABBREVIATIONS += ("Fig.", "Figs.")  # no end of a sentence

project = "relblur"
author = "relblur contributors"
project_copyright = author
version = release = relblur.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
# Tables of seconds, which load scripts from elsewhere, are left out.
exclude_patterns = ["_build", "examples", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
default_role = "literal"

# Pages stay readable as plain Markdown; headings are anchors as code hosts make them.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]

autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections say it in words
numpydoc_show_class_members = False  # the template lists them, with their text

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 30,
    "within_subsection_order": "FileNameSortKey",
    "image_srcset": [],
    "plot_gallery": "True",
    # Machine paths have no place in a page.
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "relblur"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["relblur.css"]
html_copy_source = False
html_show_sourcelink = False
# A page of its own has no section to navigate in.
html_sidebars = {name: [] for name in ("index", "trust")}
html_theme_options = {
    "logo": {"text": "relblur"},
    "navbar_end": ["theme-switcher"],
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}

write_pages(HERE / "api", api_pages.pages())
write_pages(HERE / "commands", command_pages.pages())


def _stay_inside(_app: object, _name: str, source: list[str]) -> None:
    """Lead links that suit a code host to pages of the site.

    Files beside docs/ (../SECURITY.md) are included by pages of their own; examples become the gallery.
    """
    source[0] = re.sub(r"\]\(\.\./([A-Z]+)\.md", lambda found: f"]({found[1].lower()}.md", source[0])
    source[0] = re.sub(r"\]\(((?:\.\./)?)(api|commands)/\)", r"](\1\2/index)", source[0])
    source[0] = re.sub(r"\]\(((?:\.\./)?)examples/(\w*)(?:\.py)?\)", _gallery_link, source[0])


def _gallery_link(found: re.Match[str]) -> str:
    return f"]({found[1]}gallery/{found[2] or 'index'})"


def _lead_included(_app: object, _path: object, _parent: str, content: list[str]) -> None:
    """Lead links between included files (SECURITY.md) to their pages of the site."""
    content[0] = re.sub(r"\]\(([A-Z]+)\.md", lambda found: f"]({found[1].lower()}.md", content[0])


def setup(app: Any) -> None:
    """Connect the changes of links to Sphinx."""
    app.connect("source-read", _stay_inside)
    app.connect("include-read", _lead_included)
