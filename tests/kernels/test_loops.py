"""The solver's loops in C++ give what the readable ones give, at every level of x86-64 and on images of any size."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relblur import Camera, estimate_blur, estimate_depth, estimate_stack, synth
from relblur.field import AsinhAxis, CompiledLoops, Loops, Noise
from relblur.field.loops import Reading
from relblur.field.multigrid import Grid
from relblur.field.noise import Tables
from relblur.kernels import compiled

#: Largest difference of a loop, over its largest value: the rounding of float32 in sums of some thousand numbers.
TOLERANCE = 1e-5
SHAPES = [(1, 1), (1, 9), (9, 1), (2, 2), (3, 5), (1, 33), (40, 1), (17, 31), (66, 70), (140, 9)]
LEVELS = 21
AXIS = AsinhAxis(-8.0, 0.3, 0.2)


@pytest.fixture(params=compiled.levels())
def level(request, monkeypatch):
    monkeypatch.setattr(compiled, "level", request.param)
    return request.param


class Inputs:
    """Random inputs of the loops."""

    def __init__(self, shape, channels):
        self.rng = np.random.default_rng(0)
        self.shape = shape
        self.gain = 1 + self.rng.random(LEVELS)
        factors = self.rng.standard_normal((LEVELS, LEVELS))
        noise = Noise(self.rng.random(LEVELS), self.rng.random(LEVELS), 0.001 * factors @ factors.T, self.gain)
        self.residuals = self.normal(channels, LEVELS, *shape)
        # Beyond both ends of the axis too.
        at = self.uniform(-1, LEVELS, *shape)
        relative = self.uniform(0.5, 1.5, *shape) if channels == 2 else None
        self.reading = Reading(self.residuals, at, self.uniform(0.1, 1, *shape), relative, Tables(noise, AXIS))
        self.weight = self.uniform(0.01, 1, *shape)
        self.z, self.slope = self.normal(*shape), 0.1 * self.normal(2, *shape)

    def normal(self, *shape):
        return self.rng.standard_normal(shape).astype(np.float32)

    def uniform(self, low, high, *shape):
        return self.rng.uniform(low, high, shape).astype(np.float32)

    def grid(self, *components):
        height, width = self.shape
        weight = self.uniform(0.01, 1, *components, height, width)
        right = self.uniform(0, 10, *components, height, width - 1)
        down = self.uniform(0, 10, *components, height - 1, width)
        if not components:
            return Grid(weight, right, down), self.normal(height, width), None
        ties = self.uniform(0, 0.1, height - 1, width), self.uniform(0, 0.1, height, width - 1)
        return Grid(weight, right, down, ties, 2.0), self.normal(3, height, width), self.normal(3, height, width)


def results(loops, made):
    """Yield the results of all loops that have a compiled form."""
    cells = [-(-n // 2) for n in made.shape]
    cost = made.uniform(0, 10, LEVELS, *cells)
    yield "best_fit", loops.best_fit(made.residuals, made.gain)
    yield "scan", loops.scan(cost, 1.0, 6.0)
    yield "cost", loops.cost(made.reading, made.weight)
    for name, found in zip(("w", "g", "power"), loops.evidence(made.reading, made.z, made.weight), strict=True):
        yield name, found
    for name, found in zip(("value", "slope"), loops.read(made.residuals, made.reading.level), strict=True):
        yield name, found
    # In logarithms: some windows contain a million times as much as others.
    w, mu = 10 ** made.uniform(-2, 4, *made.shape), 10 ** made.uniform(2, 6, *made.shape)
    yield "posterior_variance", np.log(loops.posterior_variance(w, mu))
    for components in ((), (3,)):
        grid, b, guess = made.grid(*components)
        yield "solve", loops.solve(grid, b, 5, guess)


@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_loop_agrees_with_the_readable_one(shape, channels, level):
    pairs = zip(
        results(Loops(), Inputs(shape, channels)), results(CompiledLoops(), Inputs(shape, channels)), strict=True
    )
    for (name, wanted), (_, found) in pairs:
        largest = np.abs(wanted).max(initial=0)
        assert_allclose(found, wanted, rtol=0, atol=TOLERANCE * largest, err_msg=name)


def test_arrays_of_other_sizes_are_refused():
    loops, made = CompiledLoops(), Inputs((9, 7), 1)
    with pytest.raises(ValueError, match="another size"):
        loops.cost(made.reading, made.weight[:-1])
    with pytest.raises(ValueError, match="another size"):
        loops.evidence(made.reading, made.z[:, :-1], made.weight)
    grid, b, _ = made.grid()
    with pytest.raises(ValueError, match="another size"):
        loops.solve(grid, b[:-1].copy(), 3)


def differing(found, wanted, tolerance):
    """Return the share of pixels that differ by more than a share of ``sqrt(s^2 + 0.3^2)``."""
    scale = np.hypot(wanted, 0.3)
    return float(np.mean(~(np.abs(found - wanted) <= tolerance * scale)))


@pytest.mark.parametrize("sharper", ["auto", "first"])
def test_maps_agree(texture, sharper):
    truth = synth.ramp(texture.shape, -1.5 if sharper == "auto" else 0.3, 1.5, axis=1)
    rng = np.random.default_rng(3)
    blurs = np.maximum(-truth, 0), np.maximum(truth, 0)
    pair = [synth.degrade(synth.blur_with_map(texture, blur), noise=0.003, bits=8, rng=rng) / 255.0 for blur in blurs]
    wanted, found = (estimate_blur(*pair, sharper=sharper, engine=engine) for engine in ("opencv", "compiled"))
    assert found.settings["engine"] == "compiled"
    assert differing(found.variance_difference, wanted.variance_difference, 1e-4) < 1e-2
    assert_allclose(np.median(found.variance_stderr), np.median(wanted.variance_stderr), rtol=1e-3)
    assert np.mean(found.flags != wanted.flags) < 1e-3


def test_depths_and_stacks_agree(texture):
    image = texture[:64, :72]
    camera = Camera(coc_constant_px_m=14, focus_first_m=1, focus_second_m=2)
    pair = image, synth.blur_with_map(image, 1.5)
    depths = [estimate_depth(*pair, camera, psf="disc", engine=engine).depth_m for engine in ("opencv", "compiled")]
    assert np.mean(~np.isclose(*depths, rtol=1e-3)) < 1e-2
    place = synth.ramp(image.shape, 2, 6, axis=1)
    frames = [synth.blur_with_map(image, 0.6 * np.abs(place - number)) for number in range(9)]
    stacks = [estimate_stack(frames, align="off", engine=engine).index for engine in ("opencv", "compiled")]
    assert np.mean(~np.isclose(*stacks, rtol=0, atol=1e-2)) < 2e-2
