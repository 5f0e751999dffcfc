"""A stack of two images: what the estimators of pairs find."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..base._typing import Progress
from ..base.settings import MAX_SIGMA
from ..blur.comparable_pair import ComparablePair
from ..blur.estimate import estimate_blur
from ..depth.estimate import estimate_depth
from ..filters.decimation import keeps_light
from ..photo.photograph import Source
from ..photo.pipeline import prepare_pair
from .frames import Frames, Masked, Reading, frames_of_pair, name_of
from .fuse import fuse_by_detail
from .stack_map import StackMap
from .task import Measuring, noise_models

__all__ = ["stack_of_two"]


def stack_of_two(
    sources: list[Source | Masked],
    reading: Reading,
    distances: list[float] | None,
    asked: Measuring,
    fuse: bool,
    progress: Progress,
    steps: dict[str, Frames],
) -> StackMap:
    """Return what the estimators of pairs say, as a stack of two."""
    camera = asked.camera
    pair = _pair_of(sources, reading, asked.max_sigma)
    told: dict[str, Any] = {} if asked.max_sigma is None else {"max_sigma": asked.max_sigma}
    if asked.noise is not None:
        told["noise"] = noise_models(asked.noise, pair.factor)
    blur_map = estimate_blur(pair, progress=lambda share: progress(0.7 * share), **told, **asked.running)
    nothing = np.full(blur_map.shape, np.nan)
    names = [name_of(sources, number) for number in (0, 1)]
    settings: dict[str, Any] = {**blur_map.settings, "images": names, "notes": list(pair.notes)}
    stack = StackMap(
        nothing, nothing.copy(), None, None, blur_map.flags, None, pair.factor, (0, 1), (), np.array([0.0, 1.0]),
        float("nan"), nothing.copy(), blur_map, settings,
    )  # fmt: skip
    if camera is not None:
        if distances is not None:
            camera = replace(camera, focus_first_m=distances[0], focus_second_m=distances[1])
        depth = estimate_depth(pair, camera, psf=asked.psf, **asked.running)
        u_first, u_second = places = np.array(camera.focus_per_m)
        place, span = 1 / depth.depth_m, u_second - u_first
        error = depth.depth_stderr_m * np.square(place)
        stack = replace(
            stack,
            index=np.clip((place - u_first) / span, 0, 1),
            index_stderr=error / abs(span),
            depth_m=depth.depth_m.copy(),
            depth_stderr_m=depth.depth_stderr_m.copy(),
            flags=depth.flags,
            places=places,
            place=place,
            growth_px=float(depth.camera.blur_constants_px_m[0]),
        )
    steps["frames"] = frames = frames_of_pair(sources, replace(reading, decimate=pair.factor), pair)
    if not fuse:
        return stack
    # The map lies on the first image: so must the picture.
    picture = fuse_by_detail(frames, lambda share: progress(0.7 + 0.3 * share))
    return stack.with_picture(picture, frames.form)


def _pair_of(sources: list[Source | Masked], reading: Reading, max_sigma: float | None) -> ComparablePair:
    """Return two images as a pair of equal exposure that lie on each other."""
    masks = [each if isinstance(each, Masked) else Masked(each, None, None) for each in sources]
    valid = [each.valid for each in masks if each.valid is not None]
    pair = prepare_pair(
        masks[0].source,
        masks[1].source,
        align=reading.align,
        exposure=reading.exposure,
        linear=reading.linear,
        gamma=reading.gamma,
        decimate=reading.decimate,
        valid=np.logical_and.reduce(valid) if valid else None,
        channel_axis=reading.channel_axis,
        max_sigma=MAX_SIGMA if max_sigma is None else max_sigma,
    )
    at_top = [None if each.clipped is None else ~keeps_light(~each.clipped, pair.factor) for each in masks]
    if at_top[0] is None and at_top[1] is None:
        return pair
    found = pair.clipped or (np.zeros(pair.shape, bool), np.zeros(pair.shape, bool))
    one, two = (a if b is None else a | b for a, b in zip(found, at_top, strict=True))
    return replace(pair, clipped=(one, two))
