"""Render a macro stack with bright bristles and lights in front of a background that no frame has in focus.

Layers are blurred by discs and composed in linear light. The truth is the sharp foreground over the background of the
first frame, which is its sharpest.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

import relblur
from relblur.base.tone import SRGB, encode_srgb

SHAPE = 480, 640
FRAMES, STEP_PX, BACKGROUND = 12, 1.3, -9  #: radius of the blur a frame away from focus; frame of the background


@dataclass(frozen=True)
class Scene:
    """Frames on disk, the truth (sRGB, 0 to 1), and masks of halo zone, foreground and background."""

    files: list[Path]
    truth: np.ndarray
    zones: dict[str, np.ndarray]


def make_scene(folder: Path, back: np.ndarray, front: np.ndarray, seed: int = 5) -> Scene:
    """Write twelve JPEG frames made from two 8-bit colour photographs."""
    rng = np.random.default_rng(seed)
    back, front = 0.25 * _light(back), 0.15 + 0.85 * _light(front)
    layers = _layers(front, rng)
    files = []
    for number in range(FRAMES):
        light = _composite(back, layers, number)
        noise = np.sqrt(1e-6 + 2e-4 * np.clip(light, 0, 1))
        files.append(folder / f"{number:02d}.jpg")
        relblur.save(files[-1], np.clip(light + noise * rng.standard_normal(light.shape), 0, 1))
    alpha = np.max([mask for _, mask, _ in layers], axis=0)
    near = cv2.dilate((alpha > 0.02).astype(np.uint8), np.ones((41, 41), np.uint8)) > 0
    zones = {"halo": near & (alpha < 0.02), "foreground": alpha > 0.98, "background": ~near}
    return Scene(files, encode_srgb(np.clip(_composite(back, layers, None), 0, 1)), zones)


def _light(photograph: np.ndarray) -> np.ndarray:
    rows, columns = SHAPE
    size = max(columns, photograph.shape[1]), max(rows, photograph.shape[0])
    return SRGB.undo(cv2.resize(photograph[..., :3], size), np.float32)[:rows, :columns]


def _layers(front: np.ndarray, rng: np.random.Generator) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """Return frame in focus, coverage and light of a body, fourteen bristles and twelve lights."""

    def drawn(draw, *arguments) -> np.ndarray:
        mask = np.zeros(SHAPE, np.float32)
        draw(mask, *arguments)
        return mask

    body = drawn(cv2.ellipse, (320, 330), (190, 120), 0, 0, 360, 1, -1, cv2.LINE_AA)
    layers = [(6.0, body, front)]
    bristle = np.full((*SHAPE, 3), [0.8, 0.72, 0.56], np.float32)
    for number, angle in enumerate(np.linspace(np.pi, 2 * np.pi, 14)):
        root = np.array([320 + 170 * np.cos(angle), 330 + 100 * np.sin(angle)])
        tip = root + np.array([140 * np.cos(angle), 150 * np.sin(angle) - 20])
        ends = [tuple(map(int, place)) for place in (root, tip)]
        layers.append((4.0 + 2 * (number % 3), drawn(cv2.line, *ends, 1, 2, cv2.LINE_AA), bristle))
    lights = np.zeros(SHAPE, np.float32)
    for _ in range(12):
        cv2.circle(lights, (int(rng.uniform(150, 490)), int(rng.uniform(230, 420))), 3, 1, -1, cv2.LINE_AA)
    return [*layers, (7.0, lights, np.full((*SHAPE, 3), 4.0, np.float32))]


def _composite(back: np.ndarray, layers: list[tuple[float, np.ndarray, np.ndarray]], frame: int | None) -> np.ndarray:
    """Return the light of a frame; None: the truth."""
    light = _defocused(back, STEP_PX * abs((frame or 0) - BACKGROUND))
    for focus, mask, colour in layers:
        radius = 0.0 if frame is None else STEP_PX * abs(frame - focus)
        light = light * (1 - _defocused(mask, radius)[..., None]) + _defocused(colour * mask[..., None], radius)
    return light


def _defocused(image: np.ndarray, radius: float) -> np.ndarray:
    if radius < 0.3:
        return image
    reach = int(np.ceil(radius)) + 1
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disc = np.clip(radius + 0.5 - np.hypot(y, x), 0, 1)
    return cv2.filter2D(image, -1, (disc / disc.sum()).astype(np.float32), borderType=cv2.BORDER_REFLECT)
