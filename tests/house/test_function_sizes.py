"""Functions stay short, and take few parameters.

Public functions and commands may have more parameters, and only the lines after their docstring count.
"""

from __future__ import annotations

import ast
from pathlib import Path

import relblur

MOST_LINES, MOST_PARAMETERS = 60, 8

SOURCE = Path(relblur.__file__).parent
#: Modules all of whose names are public.
PUBLIC_MODULES = [SOURCE / f"{name}.py" for name in relblur._MODULES]
FILES = sorted(SOURCE.rglob("*.py"))


def _is_for_users(function: ast.FunctionDef, path: Path) -> bool:
    home = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
    is_public = relblur._HOME.get(function.name) == home or (path in PUBLIC_MODULES and function.name[0] != "_")
    is_public |= function.name in relblur.paper.__all__
    # A class is called by the parameters of its __init__; modules with a public class have no other written out.
    is_public |= function.name == "__init__" and home in relblur._HOME.values()
    is_command = "\n    relblur " in (ast.get_docstring(function) or "")  # the example in its help
    return is_public or is_command


def _parameters(function: ast.FunctionDef) -> int:
    """How many a caller may give: without ``self``, ``*args`` counting one."""
    given = function.args
    named = [each.arg for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    stars = [each for each in (given.vararg, given.kwarg) if each is not None]
    return len(named) + len(stars) - (named[:1] in (["self"], ["cls"]))


def _lines(function: ast.FunctionDef, of_body: bool = False) -> int:
    """Lines from ``def`` to the end, or those after the docstring."""
    last = function.end_lineno or 0
    if not of_body:
        return last - function.lineno + 1
    start = function.body[0]
    return last - ((start.end_lineno or 0) if ast.get_docstring(function) else start.lineno - 1)


def _too_big(text: str, path: Path) -> list[str]:
    """Functions beyond a limit, with their lines and parameters."""
    found = []
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        for_users = _is_for_users(function, path)
        lines, parameters = _lines(function, of_body=for_users), _parameters(function)
        if lines > MOST_LINES or (parameters > MOST_PARAMETERS and not for_users):
            found.append(f"{function.name}: {lines} lines, {parameters} parameters")
    return found


def test_functions_are_short_and_take_few_parameters():
    big = {str(path.relative_to(SOURCE)): _too_big(path.read_text(), path) for path in FILES}
    assert {path: names for path, names in big.items() if names} == {}
