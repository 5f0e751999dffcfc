"""Clips made by PyAV for the tests of video."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from relblur.apps.video.clip import import_av
from relblur.apps.video.side_by_side import add_stream, encode, finish


def texture(shape: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Detail of all sizes, 0..1."""
    rng = np.random.default_rng(seed)
    y, x = np.fft.fftfreq(shape[0])[:, None], np.fft.rfftfreq(shape[1])[None, :]
    frequency = np.hypot(y, x)
    frequency[0, 0] = 1
    field = np.fft.irfft2(np.fft.rfft2(rng.normal(size=shape)) / frequency**0.7, shape)
    return np.asarray((field - field.min()) / np.ptp(field))


def write_clip(
    path: Path,
    pictures: list[np.ndarray],
    *,
    codec: str = "ffv1",
    pixel_format: str = "gray",
    layout: str = "gray",
    options: dict[str, str] | None = None,
    times: tuple[float, ...] | None = None,
    rate: float = 25,
    trc: int | None = None,
    rotation: float | None = None,
) -> Path:
    """Write pictures as a clip; ``times`` are their stamps in s."""
    container = import_av().open(str(path), "w")
    stream = add_stream(container, codec, pictures[0].shape[:2], rate, options or {})
    stream.pix_fmt = pixel_format
    if trc is not None:
        stream.codec_context.color_trc = trc
    if rotation is not None:
        stream.set_display_rotation(rotation)
    for number, picture in enumerate(pictures):
        encode(container, stream, picture, number / rate if times is None else times[number], layout)
    finish(container, stream)
    return path
