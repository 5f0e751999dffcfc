"""Small data sets in the layouts of the published ones: I_F is sharp at the left, I_B at the right."""

from __future__ import annotations

import csv

import numpy as np

from relblur import synth
from relblur.images.disk import write_image

#: Files of I_F and I_B; {0} counts pairs from 1, {1} and {2} from 1 over both images.
LAYOUTS = {
    "realmff": ("imageA/{0:03}_A.png", "imageB/{0:03}_B.png"),
    "dpdd": ("test_c/source/1P0A{1:04}.png", "test_c/target/1P0A{2:04}.png"),
    "realmff flat": ("{0:03}_a.png", "{0:03}_b.png"),
    "dpdd flat": ("{0:02}_f4.png", "{0:02}_f22.png"),
    "list": ("files/{0}_near.png", "files/{0}_far.png"),
}


def make_data_set(folder, layout, *, pairs=1, shape=(64, 80)):
    """Write pairs; a list has one of each data set."""
    listed = []
    for number in range(1, (2 if layout == "list" else pairs) + 1):
        sharp = synth.blur_with_map(np.random.default_rng(number).random((*shape, 3)), 0.7, channel_axis=-1)
        names = [name.format(number, 2 * number - 1, 2 * number) for name in LAYOUTS[layout]]
        blur = synth.ramp(shape, -2.0, 2.0, axis=1)  # positive: I_F is the blurrier
        for name, image in zip(names, reversed(synth.pair(sharp, blur, channel_axis=-1)), strict=True):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            write_image(folder / name, synth.degrade(image.clip(0, 1), bits=8))
        listed.append((("realmff", "dpdd")[number % 2 - 1], f"{number:03}", *names))
    if layout == "list":
        with open(folder / "pairs.csv", "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows([("data_set", "name", "foreground", "background"), *listed])
