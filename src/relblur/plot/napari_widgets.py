"""Widgets and sample data for napari: measure a pair or a stack of image layers.

napari builds a form from each typed function. This module does not import napari: annotations are strings, and layers
are returned as tuples (data, keywords, kind).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Protocol

import numpy as np

from .. import synth
from ..base._typing import AnyArray, FloatArray
from ..base.errors import InputError
from ..base.settings import Align, Method
from ..blur.estimate import estimate_blur
from ..filters.bank import gaussian_bank
from ..photo.pipeline import prepare_pair
from ..stacks.estimate import estimate_stack
from .colours import to_look_at
from .napari_reader import Layer, map_layers

__all__ = ["measure_pair", "measure_stack", "sample_pair", "sample_stack"]


#: Rows and columns of the sample data.
SAMPLE_SHAPE = (192, 256)


class ImageLayer(Protocol):
    """The attributes of ``napari.layers.Image`` that the widgets use."""

    data: Any
    name: str
    scale: Any
    rgb: bool


def measure_pair(
    first: napari.layers.Image,  # type: ignore[name-defined]  # noqa: F821
    second: napari.layers.Image,  # type: ignore[name-defined]  # noqa: F821
    method: Method = "refined",
    align: Align = "auto",
    full_resolution: bool = False,
) -> list[napari.types.LayerDataTuple]:  # type: ignore[name-defined]  # noqa: F821
    """Measure how much blurrier the second image is than the first, with standard error and flags.

    Layers contain linear light, or sRGB if their type is uint8. Without ``full_resolution`` the images are decimated
    until their blur can be measured.
    """
    pair = prepare_pair(_picture(first), _picture(second), align=align, decimate=1 if full_resolution else "auto")
    layers = map_layers(estimate_blur(pair, method=method), f"{first.name}, {second.name}")
    return _placed(layers, first, pair.factor)


def measure_stack(
    frames: napari.layers.Image,  # type: ignore[name-defined]  # noqa: F821
    step_um: float = 0.0,
    prefer: Literal["any", "near", "far"] = "any",
    align: Align = "auto",
    in_order: bool = True,
) -> list[napari.types.LayerDataTuple]:  # type: ignore[name-defined]  # noqa: F821
    """Find the frame in focus at every pixel of a focal stack, and make the all-in-focus picture.

    The first axis of ``frames`` is the focus. With ``step_um``, the distance between two frames, heights are in µm.
    Without ``in_order`` the order of focus is estimated from the detail of the frames.
    """
    planes = np.asarray(frames.data)
    if planes.ndim != (4 if frames.rgb else 3) or len(planes) < 3:
        raise InputError(f"frames has shape {planes.shape}; a stack is (frames, rows, columns) of three frames or more")
    step = step_um or (1.0 if in_order else None)  # with a step, estimate_stack keeps the order
    stack = estimate_stack(
        list(planes), channel_axis=-1 if frames.rgb else None, align=align, prefer=prefer, step_um=step
    )
    layers = map_layers(replace(stack, step_um=step_um or None), frames.name)
    picture = to_look_at(np.asarray(stack.fused), is_light=True).astype(np.float32)
    fused: Layer = (picture, {"name": f"{frames.name}: sharp everywhere", "rgb": picture.ndim == 3}, "image")
    return [*_placed(layers, frames, stack.factor), *_placed([fused], frames, 1)]


def _picture(layer: ImageLayer) -> AnyArray:
    data = np.asarray(layer.data)
    if data.ndim != (3 if layer.rgb else 2):
        raise InputError(f"{layer.name} has shape {data.shape}; a pair takes two pictures, a stack one layer of frames")
    return data[..., :3] if layer.rgb else data


def _placed(layers: list[Layer], source: ImageLayer, factor: int) -> list[Layer]:
    """Return layers aligned with their source image; each of their pixels covers ``factor`` pixels of the source."""
    side = np.asarray(source.scale, np.float64)[-2:]
    keywords = {"scale": tuple(factor * side), "translate": tuple((factor - 1) / 2 * side)}
    return [(data, {**about, **keywords}, kind) for data, about, kind in layers]


def sample_pair() -> list[Layer]:
    """Return two images with a relative blur from -2 px at the left to 2 px at the right."""
    images = synth.pair(_texture(), synth.ramp(SAMPLE_SHAPE, -2.0, 2.0, axis=1))
    return [(image, {"name": name}, "image") for image, name in zip(images, ("first", "second"), strict=True)]


def sample_stack() -> list[Layer]:
    """Return nine frames of a tilted surface: the second is in focus at the left, the eighth at the right."""
    sharp, best = _texture(), synth.ramp(SAMPLE_SHAPE, 1.0, 7.0, axis=1)
    frames = [synth.blur_with_map(sharp, 0.5 * np.abs(number - best)) for number in range(9)]
    return [(np.stack(frames), {"name": "tilted surface"}, "image")]


def _texture() -> FloatArray:
    """Return a random texture with detail at several scales, values 0.1..0.9."""
    widths = np.array([1.0, 2.0, 4.0, 8.0])
    noise = np.random.default_rng(0).standard_normal(SAMPLE_SHAPE)
    total = np.tensordot(widths, gaussian_bank(noise, widths), 1)
    return np.asarray(0.1 + 0.8 * (total - total.min()) / np.ptp(total))
