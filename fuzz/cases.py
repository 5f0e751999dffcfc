"""Numbered cases: the files that lie in a folder, and the command that is run there.

``f12`` is the case number 12 of spoilt files, ``o7`` number 7 of option sets. A seed and a name always give the
same case.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import option_sets
import specimens
from spoil import spoil

#: In place of a command: ``relblur.load`` from Python, told as commands tell.
LOAD = "load"


@dataclass(frozen=True)
class Case:
    """What is run on what."""

    name: str
    arguments: list[str]
    files: dict[str, bytes]
    about: str = ""
    limit_s: float = 10.0
    #: Whether its pictures are spoilt.
    spoilt: bool = False
    #: Files that the command may replace, because it was told to.
    outputs: frozenset[str] = field(default_factory=frozenset)


def make_case(name: str, seed: int) -> Case:
    """Return the case of this name."""
    rng = random.Random(f"{seed} {name}")
    return _with_files(name, rng) if name[0] == "f" else _with_options(name, rng)


@cache
def _others() -> list[bytes]:
    return [each.first for each in specimens.specimens()]


@cache
def _good() -> dict[str, bytes]:
    """Return the files beside which option sets are tried: a pair in several formats, cameras, results."""
    files: dict[str, bytes] = {**specimens.CAMERAS, **specimens.result_files()}
    for name, picture in zip(("first", "second"), specimens.smooth_pair(), strict=True):
        stored = np.rint(255 * picture).astype(np.uint8)
        files[f"{name}.png"], files[f"{name}.jpg"] = specimens.png(stored), specimens.jpeg(stored)
        files[f"{name}.npy"] = specimens.npy(picture)
    files |= {"near/p1.png": files["first.png"], "far/p1.png": files["second.png"]}
    files |= {"near/alone.png": files["first.png"], "psf.png": files["first.png"]}
    return {**files, "depth.npy": specimens.npy(1.2 + 0.5 * picture)}


def _with_files(name: str, rng: random.Random) -> Case:
    if rng.random() < 0.12:
        return _with_camera(name, rng)
    if rng.random() < 0.06:
        which = rng.choice(sorted(specimens.result_files()))
        content = spoil(specimens.result_files()[which], ".npz", rng, _others())
        return Case(name, [LOAD, "x.npz"], {"x.npz": content}, f"{which} spoilt")
    specimen = rng.choice(specimens.specimens())
    content = spoil(specimen.first, specimen.suffix, rng, _others())
    suffix = (
        specimen.suffix if rng.random() < 0.95 else rng.choice((".png", ".tif", ".npy", ".dng", ".exr", ".txt", ""))
    )
    one, two = f"first{suffix}", f"second{specimen.suffix}"
    both = rng.random()
    files = {one: content, two: specimen.second if both < 0.7 else content, "lens.toml": specimens.CAMERA_TOML}
    pair = [one, two] if rng.random() < 0.7 else [two, one]
    batch = rng.random() < 0.04
    if batch:
        files = {f"near/p{suffix}": content, f"far/p{suffix}": specimen.second, "near/q.png": _good()["first.png"]}
        files["far/q.png"] = _good()["second.png"]
        arguments = ["estimate", "near", "far", "-o", "out", "-m", "window"]
    else:
        arguments = _command(pair, one, files, rng)
    return Case(name, arguments, files, f"{specimen.name} spoilt", spoilt=True)


def _command(pair: list[str], spoilt: str, files: dict[str, bytes], rng: random.Random) -> list[str]:
    target = rng.choice(("out.npy", "out.tif", "out.png"))
    method = rng.choice(("window", "window", "refined"))
    known = rng.choice((["--distance", "1.4"], ["--depth", "depth.npy"], ["--depth", spoilt]))
    commands = {
        "decimate": (8, ["tools", "decimate", spoilt, "2", "-o", target]),
        "evaluate": (4, ["evaluate", *pair, "--decimate", "1", "-m", rng.choice(("window", "paper"))]),
        "estimate": (2, ["estimate", *pair, "-o", "out", "-m", method, *rng.choice(([], ["--align", "off"]))]),
        "synth": (2, ["tools", "synth", spoilt, "-o", "out", "--bits", rng.choice("08") or "16"]),
        "depth": (
            1,
            ["depth", *pair, "-c", "lens.toml", "-o", "out", "--psf", rng.choice(("gaussian", "disc", spoilt))],
        ),
        "calibrate": (0.6, ["calibrate", *pair, "-c", "lens.toml", *known]),
        "camera": (2, ["camera", "--exif", spoilt, "--focus", "1,2", "-p", "60"]),
        LOAD: (6, [LOAD, spoilt]),
    }
    chosen = rng.choices(list(commands), [weight for weight, _ in commands.values()])[0]
    if chosen == "calibrate":
        files["depth.npy"] = specimens.npy(1.2 + 0.5 * specimens.picture_pair()[0][:, :, 0])
    return commands[chosen][1]


def _with_camera(name: str, rng: random.Random) -> Case:
    which = rng.choice(sorted(specimens.CAMERAS))
    suffix = which[-5:]
    files = {f"camera{suffix}": spoil(specimens.CAMERAS[which], suffix, rng, _others())}
    arguments = ["camera", f"camera{suffix}", *rng.choice(([], ["-o", "out.toml"], ["-o", "out.json"], ["--json"]))]
    if rng.random() < 0.15:
        files |= {key: _good()[key] for key in ("first.png", "second.png")}
        arguments = ["calibrate", "first.png", "second.png", "-c", f"camera{suffix}", "--distance", "1.4"]
    return Case(name, arguments, files, f"{which} spoilt")


@cache
def _commands() -> dict[str, Any]:
    from typer.main import get_command

    from relblur.apps.cli.app import app

    commands: dict[str, Any] = {}
    for name, each in get_command(app).commands.items():  # type: ignore[attr-defined]
        inner = getattr(each, "commands", {})
        commands |= {f"{name} {last}": one for last, one in inner.items()} or {name: each}
    left_out = option_sets.ENDLESS
    return {name: each for name, each in commands.items() if not each.hidden and name not in left_out}


def _with_options(name: str, rng: random.Random) -> Case:
    commands = _commands()
    long = rng.random() < 0.01
    known = [each for each in sorted(commands) if (each in option_sets.LONG) == long]
    chosen = rng.choice(known)
    arguments = option_sets.draw(chosen, commands[chosen], rng)
    about = "options"
    if rng.random() < 0.02:
        arguments, about = rng.choice(([], ["--version"], ["--help"], ["--debug"], ["nonsense"], ["--"])), "no command"
    outputs = frozenset(after for before, after in pairwise(arguments) if before[:1] == "-")
    return Case(name, arguments, _good(), about, 120.0 if long else 10.0, outputs=outputs)
