"""Two cameras behind one beam splitter, focused at different distances: blur in real time.

The rig is calibrated once, on one pair of frames: how the second camera is displaced against the first, and by how
much it is brighter. The stream undoes both in every frame. Replace ``grab`` by your cameras:

    python examples/two_cameras.py
"""

from __future__ import annotations

import numpy as np

import relblur

SHAPE = (240, 320)
FRAMES = 5
#: What the calibration has to find: (row, column, 1) of the first camera to the second.
DISPLACED = np.array([[1.001, -0.002, 1.3], [0.002, 1.001, -2.4], [0.0, 0.0, 1.0]])
DARKER = 0.8


def grab(number: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a pair of 8-bit frames taken at once: here a drifting texture, from -1.5 px on the left to +1.5."""
    from relblur.filters.resampling import resample

    noise = np.random.default_rng(0).random(SHAPE)
    texture = np.roll(relblur.paper.gaussian_bank(noise, [0.8, 4.0]), 2 * number, axis=2)
    scene = 0.5 + texture[0] - 0.5 + 4 * (texture[1] - 0.5)
    first, second = relblur.synth.pair(scene.clip(0.05, 0.95), relblur.synth.ramp(SHAPE, -1.5, 1.5, axis=1))
    seen = DARKER * resample(second[None], np.linalg.inv(DISPLACED))[0]
    rng = np.random.default_rng(number)
    return tuple(relblur.synth.degrade(image, noise=0.002, bits=8, rng=rng) for image in (first, seen))


def main() -> None:
    """Calibrate once, then measure frame after frame."""
    first, second = grab(0)
    aligned = relblur.align(first, second)
    matched = relblur.match_exposure(aligned.first, aligned.second, valid=aligned.valid)
    print(aligned)
    print(matched.exposure)
    with relblur.Stream(SHAPE, calibration=(aligned, matched)) as stream:
        for number in range(1, FRAMES + 1):
            blur = stream.process(*grab(number))
            left, right = (np.nanmedian(part.sigma) for part in (blur[:, 20:60], blur[:, -60:-20]))
            print(f"frame {number}: {left:+.2f} px on the left, {right:+.2f} px on the right")
    print("the second image is the blurrier where the number is positive")


if __name__ == "__main__":
    main()
