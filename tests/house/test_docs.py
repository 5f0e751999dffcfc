"""Documentation: links lead somewhere, every public name has its page, what quick starts say works."""

from __future__ import annotations

import ast
import importlib.util
import re
import shlex
import sys
import textwrap

import numpy as np
import pytest
from typer.testing import CliRunner

import relblur
from conftest import ROOT
from relblur.apps.cli.app import app

DOCS = ROOT / "docs"
MADE = {"_build", "api", "commands", "gallery"}  # by the build
PAGES = [ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")]
PAGES += [page for page in sorted(DOCS.rglob("*.md")) if page.relative_to(DOCS).parts[0] not in MADE]
EXAMPLES = sorted((DOCS / "examples").glob("*.py"))

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def _module(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(DOCS))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(DOCS))
    return module


def _anchors(page):
    """Headings as code hosts name them."""
    headings = re.findall(r"^#+ +(.*)$", _FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    wrong = []
    for link in _LINK.findall(_FENCE.sub("", page.read_text())):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, place = link.partition("#")
        if path.rstrip("/").split("/")[-1] in MADE:
            continue
        to = (page.parent / path).resolve() if path else page
        if not to.exists() or (place and to.suffix == ".md" and place not in _anchors(to)):
            wrong.append(link)
    assert not wrong


def test_pages_of_evidence_are_those_of_the_records():
    wrong = "run `python docs/make_evidence.py`"
    assert _module("make_evidence").stale() == [], wrong


def test_pages_of_evidence_begin_with_a_plot_and_their_tables_are_small():
    evidence = _module("make_evidence")
    for page in evidence.all_pages():
        assert page.sections[0].draw is not None, page.name
        for section in page.sections:
            assert len(section.columns) <= 5, section.title
            assert 1 <= len(section.rows) <= 8, section.title
            assert {len(row) for row in section.rows} == {len(section.columns)}, section.title


def _prose(page):
    text = re.sub(r"<!--.*?-->", "", page.read_text(), flags=re.DOTALL)
    text = re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^(?:    |\||#|!\[).*$", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "code", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_and_sentences_are_short(page):
    """Lines of 100 columns but for tables, pictures and code; sentences of 30 words."""
    lines = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL).splitlines()
    assert [line for line in lines if len(line) > 100 and not line.startswith(("|", "!", "    "))] == []
    blocks = re.split(r"\n\s*\n|\n(?=\s*(?:[-*:]|\d+\.) )", _prose(page))
    sentences = [each for block in blocks for each in re.split(r"(?<!Fig)(?<=[.:?!])\s+", " ".join(block.split()))]
    assert [each for each in sentences if len(each.split()) > 30] == []


def test_every_command_and_option_is_in_the_reference():
    made = _module("command_pages")
    pages = made.pages()
    for name, command in made.commands().items():
        page = name.replace(" ", "_")
        assert f"<{page}>" in pages["index"]
        for option in command.params:
            if option.param_type_name == "option" and not getattr(option, "hidden", False):
                assert option.opts[0] in pages[page], (name, option.opts)


def test_every_public_name_has_a_place_in_the_reference():
    pages = _module("api_pages").pages()
    for name in relblur.__all__:
        if not name.startswith("__"):
            assert re.search(rf"^   {name}$", pages["index"], re.MULTILINE), name
    assert "automodule:: relblur.optics" in pages["optics"]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_use_public_names_only(example):
    """The build runs them; here only what would break silently for those who copy them."""
    tree = ast.parse(example.read_text())
    title = ast.get_docstring(tree).splitlines()
    assert set(title[1]) == {"="}
    assert len(title[1]) >= len(title[0])
    modules = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert not [name for name in modules if name.startswith("relblur.")]
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "relblur"
    }
    assert used <= set(relblur.__all__)


@pytest.fixture
def photographs(tmp_path, monkeypatch):
    """near, middle and far, as PNG and JPEG, in the working folder."""
    from PIL import Image

    rng = np.random.default_rng(0)
    light = 0.2 + 0.6 * relblur.paper.gaussian_bank(rng.random((96, 128)), [0.7])[0]
    pair = relblur.synth.pair(light, relblur.synth.ramp(light.shape, -1.5, 1.5, axis=1))
    for name, image in zip(("near", "middle", "far"), (pair[0], light, pair[1]), strict=True):
        stored = Image.fromarray(relblur.synth.degrade(image ** (1 / 2.2), bits=8))
        stored.save(tmp_path / f"{name}.png")
        stored.save(tmp_path / f"{name}.jpg", quality=95)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_notebook_page_runs_from_top_to_bottom(photographs, capsys):
    blocks = re.findall(
        r"^```python\n(.*?)^```", (DOCS / "start" / "notebook.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(blocks) >= 2
    names = {}
    for block in blocks:
        exec(compile(block, "notebook.md", "exec"), names)
    assert "+-" in capsys.readouterr().out
    assert names["blur"].shape == (96, 128)


@pytest.mark.slow
def test_the_photographers_commands_run_as_written(photographs):
    text = (DOCS / "start" / "photographer.md").read_text()
    commands = [shlex.split(line, comments=True) for line in re.findall(r"^    (relblur .*)$", text, re.MULTILINE)]
    assert [command[1] for command in commands] == ["demo", "fuse", "stack", "estimate", "view", "evaluate"]
    for command in commands:
        if command[1] in ("demo", "view"):  # run by the README's test; has no end
            continue
        done = CliRunner().invoke(app, command[1:])
        assert done.exit_code == 0, done.output
    for path in ("sharp.jpg", "stacked/fused.png", "result/overview.png", "result/report.html"):
        assert (photographs / path).exists()
    assert "explained" in done.output


@pytest.mark.slow
def test_the_microscopists_lines_run_as_written(tmp_path, monkeypatch):
    import tifffile

    rng = np.random.default_rng(0)
    light = relblur.paper.gaussian_bank(rng.random((64, 64)), [0.7])[0]
    frames = [relblur.synth.blur_with_map(light, 0.6 * abs(number - 3.0)) for number in range(7)]
    stored = [relblur.synth.degrade(frame, bits=16) for frame in frames]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slices").mkdir()
    for number, frame in enumerate(stored):
        tifffile.imwrite(tmp_path / "slices" / f"{number}.tif", frame)
    tifffile.imwrite("zstack.ome.tif", np.stack(stored), metadata={"axes": "ZYX", "PhysicalSizeZ": 0.5})
    text = (DOCS / "start" / "microscope.md").read_text()
    for line in re.findall(r"^    (relblur .*)$", text, re.MULTILINE):
        done = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
        assert done.exit_code == 0, done.output
    for path in ("result/report.html", "result/height.ome.tif", "separate/height.ome.tif", "result/index.tif"):
        assert (tmp_path / path).exists()
    assert np.nanmedian(tifffile.imread("result/height.ome.tif")[0]) == pytest.approx(1.5, abs=0.1)
    names = {}
    exec(compile(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], "microscope.md", "exec"), names)
    assert np.nanmedian(names["stack"].height_um) == pytest.approx(1.5, abs=0.1)
    assert tifffile.imread("sharp.tif").dtype == np.uint16


@pytest.mark.slow
def test_the_lines_for_a_rig_run_as_written():
    rng = np.random.default_rng(0)
    light = relblur.paper.gaussian_bank(rng.random((480, 640)), [1.0])[0]
    pair = tuple(relblur.synth.degrade(each, bits=8) for each in relblur.synth.pair(light, np.full(light.shape, 1.5)))
    names = {"frames": [pair, pair], "first": pair[0], "second": pair[1]}
    text = (DOCS / "start" / "rig.md").read_text()
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(textwrap.dedent(block), "rig.md", "exec"), names)
        assert np.nanmedian(names["stream"].process(*pair).sigma) == pytest.approx(1.5, abs=0.05)


def test_options_that_pages_name_exist():
    """Every ``--option`` in a line that begins with ``relblur COMMAND`` is one of that command's."""
    commands = _module("command_pages").commands()
    wrong = []
    for page in PAGES:
        if page.name == "CHANGELOG.md":
            continue
        for words in re.findall(r"^ {4,}relblur (.*)$", page.read_text(), re.MULTILINE):
            first, second, *_ = [*words.split(), "", ""]
            name = f"{first} {second}" if first in ("tools", "paper") else first
            if name not in commands:
                wrong.append(f"{page.name}: relblur {name}")
                continue
            known = {option for each in commands[name].params for option in (*each.opts, *each.secondary_opts)}
            named = re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", words.split("#")[0])
            wrong += [f"{page.name}: relblur {name} {option}" for option in named if option not in known | {"--help"}]
    assert not wrong
