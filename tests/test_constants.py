"""`benchmarks/constants.md` says what the code says."""

from __future__ import annotations

import ast
import importlib
import re

import numpy as np
import pytest
from conftest import ROOT

TABLE = ROOT / "benchmarks" / "constants.md"
SOURCE = ROOT / "src" / "relblur"
ROWS = re.findall(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \|$", TABLE.read_text(), re.MULTILINE)
#: Modules all of whose public constants in capitals are in the table, unless they are named below.
WHOLE = (
    "photo/alignment",
    "photo/warps",
    "photo/at_rest",
    "photo/resolution",
    "photo/rough_equal_blur",
    "depth/equal_blur/edges",
)
#: Modules of which the private ones are there too. Compiled loops take theirs from the plain ones.
REFINED = [
    path.relative_to(SOURCE).with_suffix("").as_posix()
    for path in sorted((SOURCE / "blur" / "refined").rglob("*.py"))
    if path.parent.name != "compiled"
]
#: Sizes of blocks, tables and memory.
ONLY_COST = {"WORKING_PIXELS", "COARSE_PIXELS", "BAND", "WORTH_SHARING", "TILE_BYTES", "BYTES_PER_PIXEL", "ROWS"}
ONLY_COST |= {"_TILE", "_FINER"}
#: Made from others, or names for the parts of a table.
MADE = {"_REST", "_OWN", "_PASSED", "_IN_ED", "_IN_DD"}


def _used(name):
    """The value in the code; the last part may be the field of a record."""
    *home, constant = ["relblur", *name.split(".")]
    if home[-1].isupper():
        return getattr(_used(".".join(home[1:])), constant)
    return getattr(importlib.import_module(".".join(home)), constant)


def _constants(module):
    """Names in capitals that a module sets to numbers, or to tuples or dictionaries of numbers."""
    tree = ast.parse((SOURCE / f"{module}.py").read_text())
    targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    values = {name: _used(f"{module.replace('/', '.')}.{name}") for name in names if name.isupper()}
    return {name for name, value in values.items() if _is_number(value)} - ONLY_COST - MADE


def _is_number(value):
    if isinstance(value, (tuple, dict)):
        return all(_is_number(each) for each in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, (int, float, np.number))


def _missing(module, names):
    return {f"{module.replace('/', '.')}.{name}" for name in names} - {row[0] for row in ROWS}


@pytest.mark.parametrize(("name", "value"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_table_has_the_value_in_use(name, value):
    one, *over = [ast.literal_eval(part) for part in value.split(" / ")]
    used, wanted = _used(name), one / over[0] if over else one
    assert used == (type(used)(wanted) if isinstance(used, np.floating) else wanted)


@pytest.mark.parametrize("module", WHOLE)
def test_no_public_constant_of_these_is_missing(module):
    wanted = {name for name in _constants(module) if not name.startswith("_")}
    assert wanted
    assert not _missing(module, wanted)


@pytest.mark.parametrize("module", REFINED)
def test_no_constant_of_the_refined_estimator_is_missing(module):
    assert not _missing(module, _constants(module))


def test_the_search_sees_private_constants():
    assert {"_BORDER", "_JUMP_PLACE"} <= _constants("blur/refined/uncertainty")
    assert "_MOVES" in _constants("blur/refined/descent")
