"""Sets of options for a command, found by asking the command itself: legal, borderline and wrong values of each.

An option that is added to a command is covered without a change here, because its kind decides what it is given.
"""

from __future__ import annotations

import inspect
import random
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

#: Names of arguments that stand for something to be written.
OUTPUTS = ("output", "plot", "save_index")
#: Commands whose work has one size whatever is asked: seldom run, and allowed more time.
LONG = ("demo", "paper reproduce", "tools bench")
#: Commands that serve until somebody stops them.
ENDLESS = ("view",)

#: Values by kind: the first so many of each are legal in most places.
WHOLE = (
    *("1", "2", "3", "4", "5", "7", "0", "-1", "8", "16", "9", "31", "1000", "65536", "2147483648", "9" * 30),
    *("x", "", "1.5", "１", "0x10", "1e3", "nan"),
)
REAL = (
    *("1", "0.5", "2", "1.5", "0.1", "0.2", "0.05", "5", "35", "2.8", "0", "-0.0", "-1", "1e-9", "1e-320", "49"),
    *("1e5", "999", "1e39", "1e308", "1e400", "inf", "-inf", "nan", "x", "", "1,5", "１"),
)
TEXTS = (
    *("auto", "1", "2", "1,2", "1,2,4", "0.8,3", "1,inf", "2.8,8", "4", "3,4,1.5", "8,10,1.2", "12,3,1.1", "disc"),
    *("gaussian", "blur_constant", "blur_constant,focus_first_m", "focus_second_m", "psf.png", "0", "-1", "1,", ","),
    *("", "nan,nan", "inf", "1e400,1", "1,2,3,4,5,6", "x", "[/b]", "[bold]x", "9" * 400, "９", "\udcff", "a\nb"),
    *("1e-320,1e-320", "3,4", "1e9,1e9,1e9", "nan,1,1", "-5,-5,1", "16x20", "16x16"),
)
INPUTS = (
    *("first.png", "second.png", "first.npy", "second.npy", "first.jpg", "lens.toml", "apertures.toml", "depth.npy"),
    *("depth.npz", "near", "near/*.png", "missing.png", "", ".", "..", "/dev/null", "a[/b].png", "n\udcff.png"),
    *("x" * 300, "second.png/x", "*", "near/*"),
)
RESULTS = (
    *(
        "out",
        "out.png",
        "out.npy",
        "out.tif",
        "out.toml",
        "out.json",
        "out[/b]",
        "[bold]out.png",
        "o\udcffut",
        "deep/o",
    ),
    *("neu\nzeile.png", "first.png", "lens.toml", "near", "", ".", "..", "-", "y" * 250, "z" * 244 + ".png"),
    *("/dev/full", "/dev/null", "/nowhere/at/all", "first.png/x", "out.xyz"),
)


def draw(name: str, command: Any, rng: random.Random) -> list[str]:
    """Return the arguments of one run of a click command, its name first."""
    arguments, words = [], []
    kinds = get_type_hints(inspect.unwrap(command.callback, stop=lambda each: hasattr(each, "__signature__")))
    share = rng.choice((0.05, 0.15, 0.5))  # of the options that need not be given
    spoil = rng.random() < 0.6  # the others are made of what is likely to be legal
    pair = rng.choice((".png", ".png", ".npy", ".jpg", ""))
    for parameter in command.params:
        if parameter.name == "help":
            continue
        positional = parameter.param_type_name == "argument"
        if not (parameter.required or rng.random() < (0.6 if positional else share)):
            continue
        if parameter.required and spoil and rng.random() < 0.02:
            continue
        for _ in range(rng.choice((1, 2, 3)) if parameter.multiple else 1):
            value = _value(parameter.name, _plain(kinds[parameter.name]), rng, spoil, pair)
            if positional:
                words.append(value)
            elif getattr(parameter, "is_flag", False):
                arguments.append(rng.choice([*parameter.opts, *parameter.secondary_opts]))
            else:
                arguments += [rng.choice(parameter.opts), value]
    if rng.random() < 0.03:
        arguments.append(rng.choice(("--nonsense", "-Z", "--help", "--", "-", "\udcff")))
    mixed = [*arguments, *words] if rng.random() < 0.5 else [*words, *arguments]
    return [*name.split(), *(word.replace("\0", "") for word in mixed)]


def _plain(kind: Any) -> Any:
    """Return ``float`` of ``float | None``, ``str`` of ``list[str] | None``; choices stay as they are."""
    if get_origin(kind) is Literal:
        return kind
    inner = [part for part in get_args(kind) if part is not type(None)]
    return _plain(inner[0]) if inner else kind


def _value(name: str, kind: Any, rng: random.Random, spoil: bool, pair: str) -> str:
    wild = spoil and rng.random() < 0.35
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    if choices:
        return str(rng.choice(("", "x", "AUTO", "\udcff") if wild and rng.random() < 0.3 else choices))
    if name == "repeats":  # a legal number of runs takes as long as it takes
        return rng.choice(("1", "0", "x"))
    if issubclass(kind, int):
        return rng.choice(WHOLE if wild else WHOLE[:5])
    if issubclass(kind, float):
        return rng.choice(REAL if wild else REAL[:10])
    if issubclass(kind, Path):
        if name in OUTPUTS:
            return rng.choice(RESULTS if wild else RESULTS[:10])
        return rng.choice(INPUTS) if wild else _input(name, rng, pair)
    return rng.choice(TEXTS if wild else TEXTS[:18])


def _input(name: str, rng: random.Random, pair: str) -> str:
    """Return a file that suits an argument of this name; ``pair`` is the suffix of both images, "" for two folders."""
    suiting = {
        "first": (f"first{pair}" if pair else "near",),
        "second": (f"second{pair}" if pair else "far",),
        "image": ("first.png", "first.npy"),
        "camera": ("lens.toml", "apertures.toml", "constant.toml"),
        "file": ("lens.toml", "apertures.toml", "lens.json"),
        "exif": ("first.jpg", "second.jpg"),
        "depth_file": ("depth.npy",),
        "data": (".", "near"),
        "results": ("depth.npz", "depth.npz", "near", "."),
    }
    return rng.choice(suiting.get(name, INPUTS))
