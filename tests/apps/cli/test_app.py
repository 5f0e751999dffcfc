"""The program: its commands, help at 80 columns, errors of one line, former names, what it loads."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
import typer

import relblur
from command import failed, run
from relblur.apps.cli.app import app

TOP = "camera calibrate demo depth estimate evaluate fuse range refocus stack video view"
TOOLS = {"tools": "batch bench decimate report synth", "paper": "optics reproduce"}
GROUPS = typer.main.get_command(app).commands
COMMANDS = {name: each for name, each in GROUPS.items() if not each.hidden and name not in TOOLS}
COMMANDS |= {f"{group} {name}": each for group in TOOLS for name, each in GROUPS[group].commands.items()}


def test_there_are_twelve_commands_and_a_laboratory():
    assert sorted(name for name in COMMANDS if " " not in name) == sorted(TOP.split())
    assert {group: " ".join(sorted(GROUPS[group].commands)) for group in TOOLS} == TOOLS
    text = run().stdout
    assert [name for name in (*TOP.split(), *TOOLS) if not re.search(rf"^  {name} ", text, re.MULTILINE)] == []
    assert text == run("-h").stdout
    assert run("--version").stdout.strip() == relblur.__version__


def test_help_teaches_at_80_columns(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    for name, command in COMMANDS.items():
        result = run(*name.split(), "--help")
        assert result.exit_code == 0, name
        assert result.stdout.startswith(f"Usage: relblur {name} "), name
        assert max(map(len, result.stdout.splitlines())) <= 80, name
        example = re.search(rf"^      relblur {name}( .*)?$", result.stdout, re.MULTILINE)
        assert example is not None, f"{name} has no example"
        known = {option for each in command.params for option in each.opts}
        assert set(re.findall(r"(?<= )--?[a-zA-Z][\w-]*", example[0])) <= known, example[0]
        assert [each.name for each in command.params if not (each.help or getattr(each, "hidden", False))] == [], name


@pytest.mark.parametrize("command", ["estimate", "tools"])
def test_a_command_without_arguments_shows_its_help(command):
    assert run(*command.split()).output.startswith(f"Usage: relblur {command} ")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("frobnicate", "no such command 'frobnicate'; see 'relblur --help'"),
        ("tools frobnicate", "no such command 'frobnicate'; see 'relblur tools --help'"),
        ("--nonsense", "no such option: --nonsense; see 'relblur --help'"),
        ("estimate a.png", "missing argument 'SECOND'; see 'relblur estimate --help'"),
        ("estimate a.png b.png", "missing option '--output' / '-o'; see 'relblur estimate --help'"),
        ("estimate a.png b.png -o x --method magic", "'magic' is not one of 'paper', 'window', 'refined'; see"),
        ("estimate a.png b.png -o x --window 1.5", "see 'relblur estimate --help'"),
        ("evaluate a.png b.png --decimate 1,x", "--decimate must be whole numbers separated by commas, got '1,x'"),
        ("estimate a.png b.png c.png -o x", "got unexpected extra argument(s) (c.png); put patterns such as"),
        ("estimate a.png b.png -o=", "an argument is empty"),
        ("paper optics --nonsense", "no such option: --nonsense; see 'relblur paper optics --help'"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(tmp_path, monkeypatch, arguments, line):
    monkeypatch.chdir(tmp_path)
    assert line in failed(run(*arguments.split()), 2)
    assert list(tmp_path.iterdir()) == []


def test_a_former_command_works_and_prints_the_present_one():
    optics = ("optics", "--focal-length", 17, "-N", 2, "--near", 1, "-p", 4.5)
    result = run(*optics)
    assert result.exit_code == 0
    assert result.stderr == f"relblur: note: the new call is: relblur paper {' '.join(map(str, optics))}\n"


def test_debug_shows_the_traceback(tmp_path):
    command = ("tools", "decimate", tmp_path, 2, "-o", tmp_path / "x.png")
    assert isinstance(run("--debug", *command).exception, relblur.RelblurError)
    assert failed(run(*command), 3)  # and is off again


def test_help_loads_no_arithmetic():
    code = "import sys\nfrom relblur.apps.cli.app import app\napp(standalone_mode=False)\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, "--help"], capture_output=True, text=True, check=True)
    assert not {"numpy", "cv2", "scipy", "matplotlib", "rich", "PIL"} & set(done.stdout.splitlines()[-1].split())
