"""Short, fair implementations of rival methods; they are not part of the package."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np

from relblur.base.settings import WINDOW_WINDOW, paper_sigmas
from relblur.blur.blur_map import signed_sigma
from relblur.kernels.separable import box_mean
from relblur.paper import gaussian_bank


def box_on_grid(first: np.ndarray, second: np.ndarray, size: int = 9) -> np.ndarray:
    """Grid sigma of least squared misfit over a ``size`` x ``size`` box, first as the sharper; 50 levels."""
    sigmas = np.array(paper_sigmas())
    best = np.full(first.shape, np.inf)
    sigma = np.zeros(first.shape)
    for level, blurred in zip(sigmas, gaussian_bank(first, sigmas, workers=1), strict=True):
        cost = box_mean((blurred - second) ** 2, size)
        sigma = np.where(cost < best, level, sigma)
        best = np.minimum(cost, best)
    return sigma


def signed_box_on_grid(first: np.ndarray, second: np.ndarray, size: int = 9) -> np.ndarray:
    """Signed grid sigma: both directions, the lower cost wins."""
    sigmas = np.array(paper_sigmas())
    best = np.full(first.shape, np.inf)
    sigma = np.zeros(first.shape)
    for sign, sharp, blurry in ((1, first, second), (-1, second, first)):
        for level, blurred in zip(sigmas, gaussian_bank(sharp, sigmas, workers=1), strict=True):
            cost = box_mean((blurred - blurry) ** 2, size)
            sigma = np.where(cost < best, sign * level, sigma)
            best = np.minimum(cost, best)
    return sigma


class TunedBank:
    """The paper's grid search, tuned.

    Kernels have 2 ceil(3 sigma) + 1 taps, fewer than OpenCV's own choice for floats; threads share the levels, which
    is faster; all memory is allocated beforehand.
    """

    def __init__(self, shape: tuple[int, int], threads: int, truncate: float = 3.0) -> None:
        self._sigmas = paper_sigmas()
        self._truncate = truncate
        self._pool = ThreadPoolExecutor(threads)
        self._parts = [
            (np.empty(shape, np.float32), np.empty(shape, np.float32), np.empty(shape, np.uint8), np.empty(shape, bool))
            for _ in range(threads)
        ]

    def __call__(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return sigma, px."""
        list(self._pool.map(lambda part: self._levels(part, first, second), range(len(self._parts))))
        _, best, index, better = self._parts[0]
        for _, other, other_index, _ in self._parts[1:]:
            np.less(other, best, out=better)
            np.copyto(index, other_index, where=better)
            np.minimum(other, best, out=best)
        return np.array(self._sigmas, dtype=np.float32)[index]

    def _levels(self, part: int, first: np.ndarray, second: np.ndarray) -> None:
        blurred, best, index, better = self._parts[part]
        best.fill(np.inf)
        for m in range(part, len(self._sigmas), len(self._parts)):
            size = 2 * math.ceil(self._truncate * self._sigmas[m]) + 1
            cv2.GaussianBlur(first, (size, size), self._sigmas[m], dst=blurred)
            cv2.absdiff(blurred, second, dst=blurred)
            np.less(blurred, best, out=better)
            cv2.min(blurred, best, dst=best)
            np.copyto(index, m, where=better)


def opencv_bank(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return sigma, px, by a plain grid search (method Y1)."""
    best = np.full(first.shape, np.inf, dtype=np.float32)
    sigma = np.zeros(first.shape, dtype=np.float32)
    for level in paper_sigmas():
        difference = cv2.absdiff(cv2.GaussianBlur(first, (0, 0), level), second)
        better = difference < best
        sigma[better] = level
        best[better] = difference[better]
    return sigma


def s_transform(first: np.ndarray, second: np.ndarray, window: int = WINDOW_WINDOW) -> np.ndarray:
    """Return signed sigma, px, by the S-transform (method S)."""
    one, two = (cv2.GaussianBlur(image, (0, 0), 1.5) for image in (first, second))
    laplacian = cv2.Laplacian(one + two, cv2.CV_32F) * 0.25
    top = cv2.boxFilter((two - one) * laplacian, -1, (window, window))
    bottom = cv2.boxFilter(laplacian * laplacian, -1, (window, window))
    s = np.asarray(top / np.maximum(bottom, 1e-20))
    return signed_sigma(s)
