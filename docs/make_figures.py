"""Make the pictures in docs/images with the program itself: ``make figures``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from relblur.demo import run_demo
from relblur.report import STEP_FILES

IMAGES = Path(__file__).parent / "images"


def main() -> None:
    """Run the demonstration and keep its pictures, with fewer colours to keep the repository small."""
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        run_demo(Path(folder), force=True)
        for name in ("comparison.png", "profile.png", "refined/overview.png", *(f"steps/{s}" for s in STEP_FILES)):
            _shrink(Path(folder) / name, IMAGES / Path(name).name)
    print(*sorted(IMAGES.glob("*.png")), sep="\n")


def _shrink(source: Path, target: Path) -> None:
    from PIL import Image

    with Image.open(source) as picture:
        picture.convert("RGB").quantize(192, method=Image.Quantize.MEDIANCUT).save(target, optimize=True)
    if target.stat().st_size > source.stat().st_size:
        shutil.copy(source, target)


if __name__ == "__main__":
    main()
