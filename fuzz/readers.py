"""Fuzz target for the readers: any bytes must give an image or one of our errors.

    pip install atheris
    python fuzz/readers.py -max_total_time=60 [corpus folder]

Without a folder the maker of malformed files (tests/support/malformed.py) gives the first inputs.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import atheris

with atheris.instrument_imports(include=["relblur", "PIL"]):
    from relblur.base.children import ChildError
    from relblur.base.errors import RelblurError
    from relblur.blur.blur_map import read_blur_map
    from relblur.images import reading
    from relblur.images.depth_formats import read_pfm
    from relblur.images.images import read_exif, read_stored
    from relblur.photo.photograph import read_photograph

warnings.simplefilter("ignore")
FOLDER = Path(tempfile.mkdtemp(prefix="relblur_fuzz_"))


def run_here(function: str, *arguments: Any, limits: object) -> Any:
    """Call a function that otherwise runs in a child process, where the fuzzer would not see it."""
    module, _, name = function.partition(":")
    try:
        return getattr(importlib.import_module(module), name)(*arguments, progress=lambda share: None)
    except RelblurError:
        raise
    except Exception as error:
        raise ChildError(" ".join(str(error).split())) from error


reading.run_limited = run_here


def read_bytes_as_everything(content: bytes) -> None:
    """Read one input as every kind of file there is."""
    path = FOLDER / "input"
    path.write_bytes(content)
    for read in (read_stored, read_photograph, read_blur_map, read_exif, lambda path: read_pfm(path.read_bytes())):
        refusal = ""
        try:
            read(path)
        except RelblurError as error:
            refusal = str(error)
        if "\n" in refusal:
            raise AssertionError(f"an error message of more than one line: {refusal}")


def main() -> None:
    """Collect the first inputs and start."""
    arguments = list(sys.argv)
    if not any(not argument.startswith("-") for argument in arguments[1:]):
        sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
        from hostile import hostile_files
        from malformed import _files

        corpus = FOLDER / "corpus"
        corpus.mkdir()
        for number, (_, content) in enumerate((*_files(), *hostile_files())):
            if len(content) < 4000:
                (corpus / str(number)).write_bytes(content)
        arguments.append(str(corpus))
    if not any(argument.startswith("-max_total_time") for argument in arguments):
        arguments.append("-max_total_time=60")
    atheris.Setup([*arguments, "-rss_limit_mb=1500", "-timeout=10"], read_bytes_as_everything)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
