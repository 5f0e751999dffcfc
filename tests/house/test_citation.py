"""The citation names this version and the paper."""

from __future__ import annotations

import relblur
from conftest import ROOT


def test_the_citation_names_this_version_and_the_paper():
    cff = (ROOT / "CITATION.cff").read_text()
    assert f"version: {relblur.__version__}\n" in cff
    title = cff.split("preferred-citation:")[1].split("title: ")[1].splitlines()[0]
    assert f"title = {{{title}}}" in relblur.__citation__
    assert f"version {relblur.__version__}" in relblur.__citation__
