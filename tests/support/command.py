"""Call the command line inside this process."""

from __future__ import annotations

from typer.testing import CliRunner

from relblur.apps.cli.app import app


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def failed(result, code):
    """Check a one-line error and return it."""
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("relblur: ")
    assert "Traceback" not in result.stderr
    return lines[0]
