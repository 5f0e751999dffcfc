"""`benchmarks/constants.md` is made from the code, and every number that it lists has its reason beside it."""

from __future__ import annotations

import sys

import pytest

from conftest import ROOT

BENCHMARKS = ROOT / "benchmarks"


@pytest.fixture(scope="module")
def constants():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import constants

        yield constants
    finally:
        sys.path.remove(str(BENCHMARKS))


def test_the_table_is_that_of_the_code(constants):
    wrong = "run `python benchmarks/constants.py`"
    assert (BENCHMARKS / "constants.md").read_text() == constants.table(), wrong


def test_every_constant_has_a_comment(constants):
    modules = constants.modules(constants.SOLVER)
    found = [each for module in modules for each in constants.constants(module)]
    assert len(found) > 100
    assert [each.name for each in found if not each.comment] == []
    apart = {f"{module}.{name}" for module, names in constants.COST.items() for name in names}
    assert apart <= {each.name for each in found}
