"""Imports point downwards only, inside the packages too, and ``import relblur`` stays light."""

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

#: Lowest first; what stands between two signs may not know each other.
ORDER = (
    "base < kernels, images < filters < field, synth, optics < blur < depth < photo < stacks < plot < report"
    " < apps < __main__"
)

SOURCE = Path(relblur.__file__).parent
LEVEL = {name: level for level, layer in enumerate(ORDER.split(" < ")) for name in layer.split(", ")}
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]
PACKAGES = sorted({path.parent for path in FILES})

HEAVY = ["cv2", "matplotlib", "skimage", "scipy", "panel", "typer", "rich", "PIL", "tifffile"]
HEAVY += ["starlette", "uvicorn", "websockets", "dask", "distributed", "zarr", "pyarrow", "xarray", "av"]


def _name(path: Path) -> tuple[str, ...]:
    """``blur/window/method.py`` is ("blur", "window", "method"); ``__init__.py`` is its folder."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def _is_module(parts: tuple[str, ...]) -> bool:
    place = SOURCE.joinpath(*parts)
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def _for_type_checkers(tree: ast.Module) -> set[int]:
    """Nodes below ``if TYPE_CHECKING``, which nobody runs."""
    tests = [n for n in ast.walk(tree) if isinstance(n, ast.If) and getattr(n.test, "id", "") == "TYPE_CHECKING"]
    return {id(inner) for test in tests for inner in ast.walk(test)}


@cache
def _imported(path: Path) -> set[tuple[str, ...]]:
    """Modules of relblur imported anywhere in a file, inside functions too."""
    package = path.relative_to(SOURCE).parts[:-1]
    tree = ast.parse(path.read_text())
    ignored = _for_type_checkers(tree)
    found: set[tuple[str, ...]] = set()
    for node in ast.walk(tree):
        if id(node) in ignored:
            continue
        if isinstance(node, ast.Import):
            found |= {tuple(alias.name.split(".")[1:]) for alias in node.names if alias.name.startswith("relblur.")}
        elif isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                base = package[: len(package) - node.level + 1] + module
            elif module[:1] == ("relblur",):
                base = module[1:]
            else:
                continue
            found |= {(*base, a.name) if _is_module((*base, a.name)) else base for a in node.names}
    return found - {()}


def _graph(package: Path) -> dict[str, set[str]]:
    """Who imports whom among the parts of a package: its modules and the packages in it."""
    inside = package.relative_to(SOURCE).parts
    depth = len(inside)
    graph: dict[str, set[str]] = {}
    for path in FILES:
        name = _name(path)
        if name[:depth] == inside and len(name) > depth:
            others = {other[depth] for other in _imported(path) if other[:depth] == inside and len(other) > depth}
            graph.setdefault(name[depth], set()).update(others - {name[depth]})
    return graph


def test_the_order_names_what_is_there():
    assert {_name(path)[0] for path in FILES} == set(LEVEL)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(path):
    here = _name(path)[0]
    wrong = {other[0] for other in _imported(path) if other[0] != here and LEVEL[other[0]] >= LEVEL[here]}
    assert not wrong, f"{path.relative_to(SOURCE)} imports {wrong}, which do not lie below it"


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_parts_of_a_package_form_no_knot(package):
    try:
        TopologicalSorter(_graph(package)).prepare()
    except CycleError as error:
        pytest.fail(f"{package.relative_to(SOURCE)}: {' -> '.join(reversed(error.args[1]))}")


def test_the_walk_sees_imports_inside_functions_and_in_subpackages():
    assert ("report", "io") in _imported(SOURCE / "apps" / "cli" / "synth.py")
    assert ("filters", "kernels") in _imported(SOURCE / "blur" / "window" / "method.py")
    assert ("blur", "noise") in _imported(SOURCE / "blur" / "dense" / "sensor.py")
    assert "dense" in _graph(SOURCE / "blur")["methods"]


#: Commands that a program takes with it when its folder is deleted.
LOST = {
    "demo": {"demo", "bench", "reproduce"},
    "paper": {"reproduce", "batch"},
    "cluster": {"batch"},
    "video": {"video"},
    "view": {"view"},
}


@pytest.mark.slow
@pytest.mark.parametrize("program", LOST)
def test_without_a_program_the_others_work(program, tmp_path):
    shutil.copytree(SOURCE, tmp_path / "relblur", ignore=shutil.ignore_patterns("__pycache__"))
    code = (
        "import numpy as np, relblur\n"
        "from relblur.apps.cli.app import app\n"
        "print(relblur.__file__, *sorted(command.name for command in app.registered_commands))\n"
        "image = np.random.default_rng(0).random((32, 40))\n"
        "relblur.estimate_blur(image, image)\n"
    )

    def commands():
        call = [sys.executable, "-c", code]
        environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
        done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment)
        place, *names = done.stdout.split()
        assert place.startswith(str(tmp_path))
        return set(names)

    before = commands()
    shutil.rmtree(tmp_path / "relblur" / "apps" / program)
    assert before - commands() == LOST[program]


@pytest.mark.parametrize("statement", ["import relblur", "import relblur; relblur.InputError; dir(relblur)"])
def test_import_relblur_is_light(statement):
    code = f"{statement}; import sys; print(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "relblur" in loaded
    assert not loaded & set(HEAVY)


def test_importing_the_estimator_does_not_load_what_only_pictures_and_files_need():
    code = "from relblur import estimate_blur; import sys; print(*{m.split('.')[0] for m in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & {"matplotlib", "skimage", "typer", "rich", "PIL", "tifffile", "dask", "panel"}


def test_matplotlib_is_imported_in_plot_only_and_inside_functions():
    importers = {}
    for path in FILES:
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            if any(name.partition(".")[0] in ("matplotlib", "mpl_toolkits") for name in names):
                importers.setdefault(_name(path)[0], []).append((path.name, node in tree.body))
    assert set(importers) == {"plot"}
    assert not any(at_the_top for _, at_the_top in importers["plot"])


def test_a_map_and_its_pictures_are_made_without_matplotlib(tmp_path):
    code = (
        "import sys, numpy as np, relblur, relblur.apps.cli.app as app\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sharp = np.random.default_rng(0).random((48, 64))\n"
        "for name, blur in (('a', 0.6), ('b', 1.2)):\n"
        f"    relblur.save({str(tmp_path)!r} + f'/{{name}}.png', relblur.synth.blur_with_map(sharp, blur))\n"
        f"sys.argv = ['relblur', 'estimate', *({str(tmp_path)!r} + f'/{{name}}.png' for name in 'ab'),"
        f" '-m', 'window', '--report', '-o', {str(tmp_path / 'out')!r}]\n"
        "try:\n    app.main()\nexcept SystemExit as ended:\n    assert not ended.code, ended.code\n"
        "print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "overview.png").exists()
    assert (tmp_path / "out" / "report.html").exists()
    assert not {"matplotlib", "mpl_toolkits"} & {name.partition(".")[0] for name in done.stdout.split()}
