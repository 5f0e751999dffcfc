"""Strokes of the brush: where they are, what they replace, how they are undone; labels with them."""

from __future__ import annotations

import numpy as np
import pytest

from relblur import InputError
from relblur.apps.view import retouch
from relblur.apps.view.retouch import Painting, Stroke, labels_with, painted

SHAPE = (60, 80)


def test_a_stroke_covers_a_disc_with_a_soft_edge():
    box, weight = Stroke(0, 10.0, ((40.0, 30.0),)).weight(SHAPE)
    full = np.zeros(SHAPE)
    full[box[1] : box[3], box[0] : box[2]] = weight
    rows, columns = np.mgrid[: SHAPE[0], : SHAPE[1]] + 0.5
    away = np.hypot(rows - 30, columns - 40)
    assert full[away < 4].min() > 0.98
    assert full[away > 17].max() < 0.02
    assert 0.3 < full[np.abs(away - 10) < 0.7].mean() < 0.7
    assert (full >= 0.5).sum() == pytest.approx(np.pi * 100, rel=0.12)


def test_a_stroke_beyond_the_image_changes_nothing():
    assert Stroke(0, 3.0, ((500.0, 500.0),)).weight(SHAPE) is None
    box, _ = Stroke(0, 30.0, ((-5.0, 10.0), (200.0, 10.0))).weight(SHAPE)
    assert box[0] == 0
    assert box[2] == SHAPE[1]


def test_what_is_shown_is_what_is_written_and_undo_returns_to_the_start():
    rng = np.random.default_rng(0)
    light = rng.random((*SHAPE, 3)).astype(np.float32)
    frames = {place: rng.random((*SHAPE, 3)).astype(np.float32) for place in (0, 2)}
    shown = np.rint(255 * light).astype(np.uint8)
    painting = Painting(light, shown)
    strokes = [Stroke(0, 6.0, ((10.0, 10.0), (50.0, 40.0))), Stroke(2, 9.0, ((45.0, 40.0), (60.0, 20.0)))]
    for stroke in strokes:
        painting.paint(stroke, np.rint(255 * frames[stroke.frame]).astype(np.uint8))
    written = painted(light, painting.strokes, frames.__getitem__, lambda share: None)
    assert np.abs(255 * written - painting.shown).max() < 2
    assert (written != light).any()
    for _ in strokes:
        painting.undo()
    np.testing.assert_array_equal(painting.shown, shown)
    with pytest.raises(InputError, match="no stroke"):
        painting.undo()


def test_undo_keeps_within_its_memory(monkeypatch):
    monkeypatch.setattr(retouch, "_UNDO_BYTES", 2000)
    painting = Painting(np.zeros((*SHAPE, 3)), np.zeros((*SHAPE, 3), np.uint8))
    for _ in range(5):
        painting.paint(Stroke(0, 5.0, ((30.0, 30.0),)), np.full((*SHAPE, 3), 9, np.uint8))
    painting.undo()
    assert not painting._before
    with pytest.raises(InputError, match="one by one"):
        painting.undo()


def test_labels_have_the_strokes():
    labels = np.full(SHAPE, 3, np.uint8)
    found = labels_with(labels, [Stroke(1, 8.0, ((20.0, 20.0),))])
    assert (found[20, 20], found[50, 70]) == (1, 3)
    assert (labels == 3).all()


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ({"frame": 9, "radius": 5, "points": [[1, 1]]}, "frame must be one of 0 to 2"),
        ({"frame": "0", "radius": 5, "points": [[1, 1]]}, "frame must be"),
        ({"frame": 0, "radius": 1e9, "points": [[1, 1]]}, "radius"),
        ({"frame": 0, "radius": float("nan"), "points": [[1, 1]]}, "radius"),
        ({"frame": 0, "radius": 5, "points": []}, "points"),
        ({"frame": 0, "radius": 5, "points": [[1]] * 3}, "pair of numbers"),
        ({"frame": 0, "radius": 5, "points": [[1, 10**400]]}, "pair of numbers"),
        ({"frame": 0, "radius": 5, "points": [[0, 0]] * 6000}, "1 to 5000"),
    ],
)
def test_strokes_that_make_no_sense_are_refused(form, text):
    with pytest.raises(InputError, match=text):
        Stroke.from_form(form, [0, 1, 2])
