"""Stacks of two images: the map of a pair as a stack, and pictures refocused by a depth map."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..base._typing import AnyArray, Progress
from ..base.options import Stack
from ..base.pixels import without_gaps
from ..base.settings import MAX_SIGMA
from ..blur.comparable_pair import ComparablePair
from ..blur.estimate import estimate_blur
from ..depth.camera import Camera
from ..depth.depth_map import DepthMap
from ..depth.estimate import estimate_depth
from ..depth.refocus import refocus
from ..filters.decimation import keeps_light
from ..filters.guided import guided_enlarge
from ..photo.pipeline import prepare_pair
from .frames import Frames, frames_of_pair
from .images import StackImages, noise_models
from .stack_map import StackMap

__all__ = ["refocus_frames", "stack_of_two"]


def stack_of_two(
    images: StackImages, camera: Camera | None, options: Stack, progress: Progress
) -> tuple[StackMap, Frames]:
    """Return the relative blur of two images as a stack, with depth if the camera is known, and their frames."""
    pair = _pair_of(images, MAX_SIGMA if options.max_sigma is None else options.max_sigma)
    running: dict[str, Any] = {"engine": options.engine, "workers": options.workers}
    noise = None if options.noise is None else noise_models(options.noise, pair.factor)
    blur_map = estimate_blur(pair, max_sigma=options.max_sigma, noise=noise, progress=progress, **running)
    nothing = np.full(blur_map.shape, np.nan)
    settings = {**blur_map.settings, "images": list(images.names), "notes": [*images.notes, *pair.notes]}
    stack = StackMap(
        nothing, nothing.copy(), None, None, blur_map.flags, None, pair.factor, (0, 1), (), np.array([0.0, 1.0]),
        float("nan"), nothing.copy(), blur_map, settings, None, images.step_um, images.pixel_um,
    )  # fmt: skip
    if camera is not None:
        if images.focus_m is not None:
            camera = replace(camera, focus_first_m=images.focus_m[0], focus_second_m=images.focus_m[1])
        depth = estimate_depth(pair, camera, psf=options.psf, **running)
        places = np.array(camera.focus_per_m)
        place, span = 1 / depth.depth_m, places[1] - places[0]
        stack = replace(
            stack,
            index=np.clip((place - places[0]) / span, 0, 1),
            index_stderr=depth.depth_stderr_m * np.square(place) / abs(span),
            depth_m=depth.depth_m.copy(),
            depth_stderr_m=depth.depth_stderr_m.copy(),
            flags=depth.flags,
            places=places,
            place=place,
            growth_px=float(depth.camera.blur_constants_px_m[0]),
        )
    return stack, frames_of_pair(images, images.preparing, pair)


def _pair_of(images: StackImages, max_sigma: float) -> ComparablePair:
    """Return two images as a pair of equal exposure, aligned to each other."""
    valid = [mask for mask in (images.mask("valid", 0), images.mask("valid", 1)) if mask is not None]
    pair = prepare_pair(
        *images.sources,
        **images.preparing.arguments(),
        valid=np.logical_and.reduce(valid) if valid else None,
        channel_axis=images.channel_axis,
        max_sigma=max_sigma,
    )
    if images.clipped is None:
        return pair
    found = pair.clipped or (np.zeros(pair.shape, bool), np.zeros(pair.shape, bool))
    at_top = (~keeps_light(~np.asarray(images.mask("clipped", number)), pair.factor) for number in (0, 1))
    one, two = (a | b for a, b in zip(found, at_top, strict=True))
    return replace(pair, clipped=(one, two))


def refocus_frames(frames: Frames, depth_map: DepthMap, focus_m: float, *, aperture: float = 1.0) -> AnyArray:
    """Return two frames at full size as the camera would have taken them focused at ``focus_m``.

    ``depth_map`` holds every ``factor``-th of their pixels, and the camera of that resolution.
    """
    first, second = (frames.full(frame)[0] for frame in frames.frames)
    if frames.factor > 1:
        grey = np.sqrt(np.maximum((first + second).mean(axis=2), 0)).astype(np.float32)
        u = 1 / depth_map.depth_m
        u, error = guided_enlarge(u, depth_map.depth_stderr_m * np.square(u), grey, frames.factor)
        known = np.isfinite(u) & (u > 0)
        depth = 1 / (without_gaps(u, known) if not known.all() else u)
        full = depth_map.camera.at_full_resolution(frames.factor)
        depth_map = DepthMap(depth, error * np.square(depth), np.zeros(depth.shape, np.uint8), full)
    return np.asarray(refocus(first, second, depth_map, focus_m, aperture=aperture, channel_axis=-1), np.float32)
