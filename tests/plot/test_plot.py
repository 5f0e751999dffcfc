"""Figures: what is drawn, in which units, and that nothing else happens."""

from __future__ import annotations

import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import relblur
from relblur import BlurMap, Camera, ComparablePair, DepthMap, Flag, plot, synth
from relblur.blur.pixel_curve import pixel_curve
from relblur.plot.colours import NO_ANSWER, scale_for
from relblur.plot.trust import coverage


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


@pytest.fixture
def ax():
    return Figure().add_subplot()


def _blur_map(s, stderr=0.1, flags=0, dtype=np.float64):
    s = np.asarray(s, dtype=dtype)
    return BlurMap(s, np.full_like(s, stderr), np.full(s.shape, flags, np.uint8), np.sign(np.nan_to_num(s)))


@pytest.fixture
def signed():
    s = np.linspace(-1, 9, 600).reshape(20, 30)
    s[3, 4] = np.nan
    return _blur_map(s)


@pytest.fixture
def depth_map():
    depth = np.geomspace(0.5, 50, 600).reshape(20, 30)
    camera = Camera(coc_constant_px_m=20, focus_first_m=1, focus_second_m=2)
    return DepthMap(depth, 0.01 * depth, np.full(depth.shape, Flag.FILLED), camera)


def test_a_signed_map_has_white_zero_at_the_centre_and_no_answer_is_grey(signed, ax):
    image = signed.plot(ax=ax)
    low, high = image.get_clim()
    assert low == -high < 0
    assert image.cmap(image.norm(0.0))[:3] == pytest.approx((0.97, 0.97, 0.97), abs=0.02)
    red, _, blue, _ = image.cmap(image.norm(high))
    assert red > blue  # second is blurrier
    assert image.colorbar.ax.get_ylabel() == "relative blur (px), positive: second is blurrier"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column (px)", "row (px)")
    np.testing.assert_array_equal(np.ma.getdata(image.get_array())[0], signed.sigma[0])
    assert np.argwhere(image.get_array().mask).tolist() == [[3, 4]]
    assert image.cmap.get_bad()[:3] == pytest.approx(to_rgb(NO_ANSWER))


def test_units_limits_and_flags(depth_map, signed, ax):
    assert plot.blur(signed, ax=Figure().add_subplot(), limit=4, colour_bar=False).get_clim() == (-4, 4)
    assert depth_map.plot(ax=ax).colorbar.ax.get_ylabel() == "depth (m)"
    assert plot.depth(depth_map, ax=Figure().add_subplot(), limit=5).get_clim()[1] == 5
    for result, unit in ((depth_map, "m"), (signed, "px")):
        image = plot.stderr(result, ax=Figure().add_subplot())
        assert image.colorbar.ax.get_ylabel() == f"standard error ({unit})"
    other = Figure().add_subplot()
    plot.flags(depth_map, ax=other)
    assert [text.get_text() for text in other.get_legend().get_texts()] == ["filled 100.0 %"]


def test_distances_and_errors_are_coloured_by_ratio(depth_map, ax):
    depth = depth_map.depth_m
    for image, values, kind in (
        (plot.depth(depth_map, ax=ax), depth, "depth"),
        (plot.stderr(depth_map, ax=Figure().add_subplot()), 0.01 * depth, "stderr"),
    ):
        drawn = 255 * image.cmap(image.norm(values))[:, :, :3]
        assert np.abs(drawn - scale_for(values, kind).apply(values)).max() < 6
    assert len(ax.figure.axes[-1].get_yticks()) >= 3
    exact = plot.stderr(_blur_map(np.ones((4, 5)), stderr=np.zeros((4, 5))), ax=Figure().add_subplot())
    assert not np.ma.getmaskarray(exact.get_array()).any()  # a standard error of zero is known


def test_pyplot_is_used_without_axes_and_left_alone_with_them(signed, ax, monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda *_a, **_k: pytest.fail("shown"))
    plot.blur(signed, ax=ax)
    plot.profile(signed, (0, 0), (19, 29), ax=Figure().add_subplot())
    assert pyplot.get_fignums() == []
    figure, axes = pyplot.subplots()
    assert plot.blur(signed).axes is axes
    assert pyplot.get_fignums() == [figure.number]


def test_a_profile_reads_the_pixels_of_its_line(signed, ax):
    line = plot.profile(signed, (3, 0), (3, 29), ax=ax, truth=signed.sigma)
    np.testing.assert_array_equal(line.get_ydata(), signed.sigma[3])
    np.testing.assert_allclose(line.get_xdata(), np.arange(30))
    assert len(ax.collections[0].get_paths()) == 2  # the band ends where there is no answer, and begins again
    slanted = plot.profile(signed, (0, 0), (19, 29), ax=ax)
    assert slanted.get_xdata()[-1] == pytest.approx(np.hypot(19, 29))
    assert slanted.get_ydata()[-1] == signed.sigma[19, 29]
    assert len(plot.profile(signed, (2, 2), (2, 2), ax=ax).get_xdata()) == 2


def test_the_curve_of_a_pixel_shows_roots_choice_and_error_bar(texture, ax):
    first, second = synth.pair(texture, np.full(texture.shape, -1.3))
    blur = relblur.estimate_blur(first, second, method="window")
    curve = pixel_curve(first, second, 40, 50, blur_map=blur)
    assert plot.pixel_curve(curve, ax=ax) is ax
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert f"chosen: {curve.chosen:+.3f} ± {curve.chosen_stderr:.2g} px" in labels
    roots = next(line for line in ax.lines if line.get_label().startswith("candidate root"))
    np.testing.assert_array_equal(roots.get_xdata(), curve.roots)
    assert set(roots.get_ydata()[curve.roots < 0]) == {first[40, 50]}  # what second blurred is compared with
    assert ax.containers[0].lines[0].get_ydata()[0] == first[40, 50]
    left = next(line for line in ax.lines if line.get_label().startswith("second blurred"))
    assert (left.get_xdata() <= 0).all()
    assert left.get_ydata()[-1] == second[40, 50]
    for call in ((first, second, 40, 50), (ComparablePair(first, second), 40, 50)):
        direct = Figure().add_subplot()
        plot.pixel_curve(*call, blur_map=blur, ax=direct)
        assert [text.get_text() for text in direct.get_legend().get_texts()] == labels


def test_honest_error_bars_lie_on_the_diagonal(ax):
    rng = np.random.default_rng(0)
    truth = np.full((200, 200), 2.0)
    stderr = rng.uniform(0.05, 0.4, truth.shape)
    s = truth**2 + stderr * rng.normal(size=truth.shape)
    line = plot.reliability(BlurMap(s, stderr, 0 * s, np.sign(s)), truth, ax=ax)
    np.testing.assert_allclose(line.get_ydata(), line.get_xdata(), atol=0.02)
    small = plot.reliability(BlurMap(s, stderr / 2, 0 * s, np.sign(s)), truth, ax=ax)
    assert (small.get_ydata()[20:80] < small.get_xdata()[20:80] - 0.05).all()
    assert "38 % (nominal 68 %)" in small.get_label()
    nominal, observed = coverage(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    assert observed[0] == 0.25  # the exact one
    assert observed[np.searchsorted(nominal, 0.69)] == 0.5


@pytest.mark.parametrize("shape", [(2, 300), (300, 2), (1, 1)])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_any_shape_has_a_figure(shape, value, ax):
    blur = _blur_map(value * np.random.default_rng(0).normal(size=shape), dtype=np.float32)
    for draw in (plot.blur, plot.stderr, plot.flags):
        draw(blur, ax=ax)
    plot.profile(blur, (0, 0), (shape[0] - 1, shape[1] - 1), ax=Figure().add_subplot())
    ax.figure.canvas.draw()


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda blur, ax: plot.depth(blur, ax=ax), "a DepthMap is needed for this figure, got BlurMap"),
        (lambda blur, ax: plot.blur(blur, ax=3), "ax must be axes of matplotlib, got int"),
        (lambda blur, ax: plot.blur(blur, ax=ax, limit=-1), "limit must be finite and > 0"),
        (lambda blur, ax: plot.profile(blur, (0, 0), (0, 30), ax=ax), "rows 0 to 19"),
        (lambda blur, ax: plot.reliability(blur, np.zeros((2, 2)), ax=ax), "pass the truth of the whole map"),
        (lambda blur, ax: plot.reliability(blur, np.full((20, 30), np.nan), ax=ax), "no pixel has both"),
    ],
)
def test_what_cannot_be_drawn_is_refused(signed, ax, draw, message):
    with pytest.raises(relblur.InputError, match=message):
        draw(signed, ax)


def test_without_matplotlib_one_line_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import numpy as np, relblur\n"
        "from relblur.errors import MissingDependencyError\n"
        "s = np.ones((3, 3))\n"
        "try: relblur.BlurMap(s, s, s, s).plot()\n"
        "except MissingDependencyError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "figures need matplotlib: pip install 'relblur[plot]'"
