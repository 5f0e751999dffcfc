"""Pairs of images in files, made once for all tests of commands."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import Camera, save, synth
from relblur.depth.defocus import defocused_pair

CAMERA = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2, blur_constant=0.27)


@pytest.fixture(scope="session")
def grey_pair(tmp_path_factory, texture):
    """16-bit files, 112 x 96 px; the blur rises from -2 to 2 px along the rows."""
    folder = tmp_path_factory.mktemp("grey")
    for name, image in zip("ab", synth.pair(texture, synth.ramp(texture.shape, -2, 2, axis=1)), strict=True):
        save(folder / f"{name}.png", synth.degrade(image, bits=16))
    return folder / "a.png", folder / "b.png"


@pytest.fixture(scope="session")
def colour_pair(tmp_path_factory, colour):
    """8-bit files, 88 x 72 px, 1.5 px of blur."""
    folder = tmp_path_factory.mktemp("colour")
    for name, image in zip("ab", synth.pair(colour, 1.5, channel_axis=-1), strict=True):
        save(folder / f"{name}.png", synth.degrade(image, bits=8))
    return folder / "a.png", folder / "b.png"


@pytest.fixture(scope="session")
def scene(tmp_path_factory, texture):
    """A folder with near.png, far.png, cam.toml and depth.png of a scene at 0.8 to 3 m, and its depth."""
    folder = tmp_path_factory.mktemp("scene")
    depth = 1 / synth.ramp(texture.shape, 1 / 0.8, 1 / 3, axis=1)
    for name, image in zip(("near", "far"), defocused_pair(texture, depth, CAMERA, psf="gaussian"), strict=True):
        save(folder / f"{name}.png", synth.degrade(image, bits=16))
    save(folder / "depth.png", np.rint(1000 * depth).astype(np.uint16))
    CAMERA.save(folder / "cam.toml")
    return folder, depth
