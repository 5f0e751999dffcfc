"""Check the packages in dist/: contents, sizes, versions, and the README's lines in clean environments.

python .ci/check_dist.py                     # without extras, and with all of them
python .ci/check_dist.py raw exr heif ...    # each of these extras in an environment of its own
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Largest packages, bytes: pictures and compiled kernels are most of them.
MOST_WHEEL, MOST_SDIST = 2_500_000, 9_000_000
IN_SDIST = ("README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "SECURITY.md", "Makefile")
IN_SDIST += ("CMakeLists.txt", "pyproject.toml", "src/kernels/module.cpp", "docs/conf.py", "tests/conftest.py")
IN_WHEEL = ("relblur/py.typed", "relblur/plot/napari.yaml", "relblur/apps/view/static/index.html")
#: What the lines of the README need beside the package.
FOR_TESTS = ("pytest", "pytest-timeout", "numpy")


def main() -> None:
    """Check what `make dist` has built."""
    (wheel,), (sdist,) = (list((ROOT / "dist").glob(pattern)) for pattern in ("*.whl", "*.tar.gz"))
    version = re.search(r'__version__ = "(.+)"', (ROOT / "src/relblur/__init__.py").read_text())[1]  # type: ignore[index]
    for path in (wheel, sdist):
        assert f"-{version}" in path.name, f"{path.name} is not version {version}"
    assert f"version: {version}\n" in (ROOT / "CITATION.cff").read_text(), f"CITATION.cff is not of {version}"
    check_wheel(wheel)
    with tempfile.TemporaryDirectory() as folder:
        source = check_sdist(sdist, Path(folder))
        extras = sys.argv[1:] or ["", "all"]
        for extra in extras:
            check_installed(wheel, extra, source, Path(folder) / f"with_{extra or 'nothing'}")
            print(f"{wheel.name}[{extra}]: the README's lines run")


def check_wheel(wheel: Path) -> None:
    """Check the contents and the size of the wheel."""
    names = zipfile.ZipFile(wheel).namelist()
    missing = [name for name in IN_WHEEL if name not in names]
    assert not missing, f"{wheel.name} lacks {missing}"
    assert any(name.startswith("relblur/_kernels.") for name in names), f"{wheel.name} has no compiled kernels"
    others = {name.split("/")[0] for name in names} - {"relblur"}
    assert all(name.endswith(".dist-info") for name in others), f"{wheel.name} also has {others}"
    assert wheel.stat().st_size <= MOST_WHEEL, f"{wheel.name} has {wheel.stat().st_size} bytes"


def check_sdist(sdist: Path, folder: Path) -> Path:
    """Check the source package, unpack it and return its folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source = folder / sdist.name.removesuffix(".tar.gz")
    missing = [name for name in IN_SDIST if not (source / name).exists()]
    assert not missing, f"{sdist.name} lacks {missing}"
    assert sdist.stat().st_size <= MOST_SDIST, f"{sdist.name} has {sdist.stat().st_size} bytes"
    return source


def check_installed(wheel: Path, extra: str, source: Path, folder: Path) -> None:
    """Install the wheel where there is no compiler and run the README's lines with the tests of the source package."""
    run = lambda *command, **keywords: subprocess.run([*map(str, command)], check=True, **keywords)  # noqa: E731
    uv, python = (sys.executable, "-m", "uv"), folder / "bin" / "python"
    run(*uv, "venv", "--quiet", "--python", sys.executable, folder)
    run(*uv, "pip", "install", "--quiet", "--python", python, f"{wheel}[{extra}]" if extra else wheel, *FOR_TESTS)
    alone = {"PATH": str(python.parent), "HOME": str(folder), "PYTHONPATH": ""}
    alone |= {name: value for name, value in os.environ.items() if name.startswith("SSL_CERT")}
    tests = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--import-mode=importlib")
    run(python, *tests, "tests/house/test_readme.py", cwd=source, env=alone)


if __name__ == "__main__":
    main()
