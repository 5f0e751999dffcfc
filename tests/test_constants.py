"""`benchmarks/constants.md` says what the code says."""

from __future__ import annotations

import ast
import importlib
import re

import pytest
from conftest import ROOT

TABLE = ROOT / "benchmarks" / "constants.md"
ROWS = re.findall(r"^\| `([\w.]+)` \| (.+?) \| (.+?) \|$", TABLE.read_text(), re.MULTILINE)
#: Packages all of whose constants in capitals are in the table, unless they are named here.
WHOLE = (
    "photo/alignment",
    "photo/warps",
    "photo/at_rest",
    "photo/resolution",
    "photo/rough_equal_blur",
    "depth/equal_blur/edges",
)
ONLY_COST = {"WORKING_PIXELS", "COARSE_PIXELS"}


@pytest.mark.parametrize(("name", "value"), [row[:2] for row in ROWS], ids=[row[0] for row in ROWS])
def test_the_table_has_the_value_in_use(name, value):
    module, constant = name.rsplit(".", 1)
    one, *over = [ast.literal_eval(part) for part in value.split(" / ")]
    used = getattr(importlib.import_module(f"relblur.{module}"), constant)
    assert used == (one / over[0] if over else one)


@pytest.mark.parametrize("module", WHOLE)
def test_no_public_constant_of_these_is_missing(module):
    tree = ast.parse((ROOT / "src" / "relblur" / f"{module}.py").read_text())
    targets = [node.targets[0] for node in tree.body if isinstance(node, ast.Assign)]
    names = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
    wanted = {name for name in names if name.isupper() and not name.startswith("_")} - ONLY_COST
    assert wanted
    assert {f"{module.replace('/', '.')}.{name}" for name in wanted} <= {row[0] for row in ROWS}
