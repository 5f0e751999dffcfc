"""Simple rivals, written to be fair and short; none of them is part of the package."""

from __future__ import annotations

import numpy as np

from relblur import gaussian_bank
from relblur.base.settings import paper_sigmas
from relblur.engines import choose_engine


def box_on_grid(first: np.ndarray, second: np.ndarray, size: int = 9) -> np.ndarray:
    """Grid sigma of least squared misfit over a ``size`` x ``size`` box, first as the sharper; 50 levels."""
    sigmas = np.array(paper_sigmas())
    box = choose_engine().box_mean
    best = np.full(first.shape, np.inf)
    sigma = np.zeros(first.shape)
    for level, blurred in zip(sigmas, gaussian_bank(first, sigmas, workers=1), strict=True):
        cost = box((blurred - second) ** 2, size)
        sigma = np.where(cost < best, level, sigma)
        best = np.minimum(cost, best)
    return sigma


def signed_box_on_grid(first: np.ndarray, second: np.ndarray, size: int = 9) -> np.ndarray:
    """Signed grid sigma: both directions, the lower cost wins."""
    sigmas = np.array(paper_sigmas())
    box = choose_engine().box_mean
    best = np.full(first.shape, np.inf)
    sigma = np.zeros(first.shape)
    for sign, sharp, blurry in ((1, first, second), (-1, second, first)):
        for level, blurred in zip(sigmas, gaussian_bank(sharp, sigmas, workers=1), strict=True):
            cost = box((blurred - blurry) ** 2, size)
            sigma = np.where(cost < best, sign * level, sigma)
            best = np.minimum(cost, best)
    return sigma
