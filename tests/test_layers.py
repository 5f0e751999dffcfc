"""Imports point downwards only, and ``import relblur`` stays light."""

from __future__ import annotations

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import relblur

SOURCE = Path(relblur.__file__).parent

# Lowest first. A module may import from its own layer and those below it.
LAYERS = [
    {"errors", "settings", "_typing"},
    {"files", "inputs", "light"},
    {"decoding", "raw"},
    {"results"},
    {"engines", "teamwork"},
    {
        "kernels",
        "noise",
        "resampling",
        "tiles",
        "intensities",
        "bank",
        "framework",
        "sharpness",
        "decimation",
        "optics",
        "camera",
        "camera_files",
        "depth_files",
        "depth_results",
        "synth",
        "paper_method",
        "window_method",
        "refined",
        "realtime",
    },
    {"methods", "level_blur"},
    {"flagging"},
    {"refined_tiles"},
    {"estimate"},
    {"depth", "calibration", "focusing", "psf", "working_range", "defocus"},
    {"equal_blur"},
    {"matching"},
    {"evaluate", "equalising", "stream"},
    {"exposure"},
    {"alignment", "resolution"},
    {"photographs"},
    {"colours", "plots"},
    {"io", "pairs", "pictures"},
    {"comparable", "report", "batch"},
    {"depth_report"},
    {"demo"},
    {"reproduce", "bench"},
    {"cli"},
    {"__main__"},
]
LEVEL = {module: level for level, layer in enumerate(LAYERS) for module in layer}

HEAVY = ["numba", "cv2", "matplotlib", "skimage", "scipy", "dask", "panel", "typer", "rich", "PIL", "tifffile"]


def _top(path: Path) -> str:
    """``cli/app.py`` belongs to ``cli``."""
    return path.relative_to(SOURCE).with_suffix("").parts[0]


def _files() -> list[Path]:
    return [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


def _imported(path: Path) -> set[str]:
    """Top-level modules of relblur imported anywhere in a file, inside functions too."""
    found: set[str] = set()
    depth = len(path.relative_to(SOURCE).parts)  # dots that reach the package itself
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("relblur.")}
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level == depth or (node.level == 0 and module.split(".")[0] == "relblur"):
                inside = module if node.level else module.removeprefix("relblur").lstrip(".")
                names = [inside.split(".")[0]] if inside else [alias.name for alias in node.names]
                found |= {name for name in names if name != "__version__"}
    return found


def test_every_module_has_a_layer_and_every_layer_its_modules():
    assert {_top(path) for path in _files()} == set(LEVEL)


@pytest.mark.parametrize("path", _files(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_downwards(path):
    here = LEVEL[_top(path)]
    upwards = {name for name in _imported(path) if LEVEL[name] > here}
    assert not upwards, f"{path.name} imports {upwards} from above"


def test_modules_do_not_import_each_other_in_circles():
    graph: dict[str, set[str]] = {}
    for path in _files():
        graph.setdefault(_top(path), set()).update(_imported(path) - {_top(path)})
    assert len(list(TopologicalSorter(graph).static_order())) == len(LEVEL)  # raises CycleError


def test_the_walk_sees_imports_inside_functions_and_in_subpackages():
    assert "io" in _imported(SOURCE / "cli" / "making.py")
    assert "report" in _imported(SOURCE / "cli" / "estimating.py")
    assert {"synth", "estimate"} <= _imported(SOURCE / "demo.py")


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
