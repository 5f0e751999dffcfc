"""One camera whose focus goes up and down (a liquid lens): every two frames in a row are a pair.

Going up, the lens takes the near and then the far frame; going down the far and then the near. The image grows a little
as the focus moves (breathing): the same every time, so it is calibrated once, and undone in every far frame.
Replace ``grab`` by your camera:

    python examples/focus_sweep.py
"""

from __future__ import annotations

import numpy as np

import relblur

SHAPE = (240, 320)
FRAMES = 6
#: The far frame shows everything larger by this factor, about the middle of the image.
BREATHING = 1.006


def grab(number: int) -> np.ndarray:
    """Return frame ``number``: even ones are focused near, odd ones far; here a surface that leans backwards."""
    from relblur.filters.resampling import resample

    noise = np.random.default_rng(0).random(SHAPE)
    texture = relblur.paper.gaussian_bank(noise, [0.8, 4.0])
    scene = (0.5 + texture[0] - 0.5 + 4 * (texture[1] - 0.5)).clip(0.05, 0.95)
    near, far = relblur.synth.pair(scene, relblur.synth.ramp(SHAPE, -1.4, 1.4, axis=0))
    image = near
    if number % 2:
        middle = (np.array(SHAPE) - 1) / 2
        grown = np.eye(3)
        grown[:2, :2] /= BREATHING
        grown[:2, 2] = middle - grown[:2, :2] @ middle
        image = resample(far[None], grown)[0]
    return relblur.synth.degrade(image, noise=0.002, bits=8, rng=number)


def main() -> None:
    """Calibrate on the first two frames, then use every frame twice: as the end of a pair and the start of the next."""
    calibration = relblur.align(grab(0), grab(1), model="similarity")
    print(calibration)
    near, far = grab(0), grab(1)
    with relblur.Stream(SHAPE, calibration=calibration) as stream:
        for number in range(2, FRAMES):
            if number % 2:
                far = grab(number)
            else:
                near = grab(number)
            blur = stream.process(near, far)
            top, bottom = (np.nanmedian(part.sigma) for part in (blur[20:50], blur[-50:-20]))
            print(f"frames {number - 1} and {number}: {top:+.2f} px at the top, {bottom:+.2f} px at the bottom")
    print("positive: sharper in the near frame")


if __name__ == "__main__":
    main()
