"""Imports point downwards only, inside the packages too; programs can be deleted; ``import relblur`` stays light."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import relblur

#: Lowest first; packages between two signs may not import each other.
ORDER = (
    "base < kernels, images < filters < field, synth, optics < blur < depth, paper < photo < stacks < plot < report"
    " < apps < __main__"
)

SOURCE = Path(relblur.__file__).parent
LEVEL = {name: level for level, layer in enumerate(ORDER.split(" < ")) for name in layer.split(", ")}
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]

HEAVY = {"cv2", "matplotlib", "skimage", "scipy", "panel", "typer", "rich", "PIL", "tifffile"}
HEAVY |= {"starlette", "uvicorn", "websockets", "dask", "distributed", "zarr", "xarray", "av"}


def _name(path: Path) -> tuple[str, ...]:
    """``blur/window/method.py`` is ("blur", "window", "method"); ``__init__.py`` is its folder."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _is_module(parts: tuple[str, ...]) -> bool:
    place = SOURCE.joinpath(*parts)
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


@cache
def _imports(path: Path) -> list[tuple[str, bool]]:
    """Modules that a file imports anywhere, absolute, and whether at its top; not those for type checkers."""
    tree = ast.parse(path.read_text())
    checks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"]
    ignored = {id(inner) for check in checks for inner in ast.walk(check)}
    package = ("relblur", *path.relative_to(SOURCE).parts[:-1])
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in ignored:
            found += [(alias.name, node in tree.body) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and id(node) not in ignored:
            above = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join((*above, *([node.module] if node.module else [])))
            found += [(f"{home}.{alias.name}", node in tree.body) for alias in node.names]
    return found


@cache
def _imported(path: Path) -> set[tuple[str, ...]]:
    """Modules of relblur that a file imports."""
    names = [tuple(name.split(".")[1:]) for name, _ in _imports(path) if name.startswith("relblur.")]
    return {name if _is_module(name) else name[:-1] for name in names} - {()}


def _graph(package: Path) -> dict[str, set[str]]:
    """Which part of a package imports which: its modules and the packages in it."""
    inside = package.relative_to(SOURCE).parts
    depth = len(inside)
    graph: dict[str, set[str]] = {}
    for path in FILES:
        name = _name(path)
        if name[:depth] == inside and len(name) > depth:
            others = {other[depth] for other in _imported(path) if other[:depth] == inside and len(other) > depth}
            graph.setdefault(name[depth], set()).update(others - {name[depth]})
    return graph


def test_imports_point_downwards():
    assert {_name(path)[0] for path in FILES} == set(LEVEL)
    wrong = [
        f"{path.relative_to(SOURCE)} imports {'.'.join(other)}"
        for path in FILES
        for other in _imported(path)
        if other[0] != _name(path)[0] and LEVEL[other[0]] >= LEVEL[_name(path)[0]]
    ]
    assert wrong == []


def test_the_parts_of_a_package_form_no_cycle():
    cycles = []
    for package in sorted({path.parent for path in FILES}):
        try:
            TopologicalSorter(_graph(package)).prepare()
        except CycleError as error:
            cycles.append(f"{package.relative_to(SOURCE)}: {' -> '.join(reversed(error.args[1]))}")
    assert cycles == []


def test_matplotlib_is_imported_in_plot_only_and_inside_functions():
    wanted = ("matplotlib", "mpl_toolkits")
    found = {(_name(path)[0], top) for path in FILES for name, top in _imports(path) if name.split(".")[0] in wanted}
    assert found == {("plot", False)}


def _modules_after(code: str) -> set[str]:
    """Packages that are loaded after a program in a process of its own."""
    code += "\nimport sys; print(*{name.split('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


@pytest.mark.parametrize(
    ("statement", "allowed"),
    [
        ("import relblur; relblur.InputError; dir(relblur)", set()),
        ("from relblur import estimate_blur", {"cv2", "scipy"}),
        ("import relblur.apps.cli.app", {"typer"}),
    ],
)
def test_imports_are_light(statement, allowed):
    loaded = _modules_after(statement)
    assert "relblur" in loaded
    assert loaded & HEAVY <= allowed


#: Commands that a program takes with it when its folder is deleted.
LOST = {
    "demo": {"demo", "bench", "reproduce"},
    "paper": {"reproduce", "batch"},
    "cluster": {"batch"},
    "video": {"video"},
    "view": {"view"},
}


@pytest.mark.slow
def test_without_a_program_the_others_work(tmp_path):
    place = tmp_path / "relblur"
    shutil.copytree(SOURCE, place, ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np, relblur\n"
        "from relblur.apps.cli.app import app\n"
        "print(relblur.__file__, *sorted(command.name for command in app.registered_commands))\n"
        "image = np.random.default_rng(0).random((32, 40))\n"
        "relblur.estimate_blur(image, image)\n"
    )

    def commands() -> set[str]:
        call, environment = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
        file, *names = done.stdout.split()
        assert file.startswith(str(tmp_path))
        return set(names)

    before = commands()
    for program, lost in LOST.items():
        (place / "apps" / program).rename(tmp_path / program)
        assert before - commands() == lost, program
        (tmp_path / program).rename(place / "apps" / program)
