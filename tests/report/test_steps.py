"""Pictures of the stages of an estimate."""

from __future__ import annotations

import numpy as np

from relblur import ComparablePair, estimate_blur, synth
from relblur.paper import compare_sharpness
from relblur.report import steps


def test_candidates_are_taken_from_the_sharper_image_of_each_pixel(texture, tmp_path, monkeypatch):
    drawn = {}
    monkeypatch.setattr(steps, "panels_picture", lambda path, panels, **_: drawn.update({path.name: panels}))
    field = synth.ramp(texture.shape, -2.0, 2.0, axis=1)
    first, second = synth.pair(texture, field)
    pair = ComparablePair(first, second)
    steps.write_steps(tmp_path, pair, estimate_blur(pair, method="window"))
    count, sigma = (panel.image for panel in drawn["4_candidates.png"])
    assert np.nanmedian(sigma[:, :20]) < -1.3
    assert np.nanmedian(sigma[:, -20:]) > 1.3
    sharper = compare_sharpness(first, second)
    assert (np.isfinite(count) == (sharper != 0)).mean() > 0.999
