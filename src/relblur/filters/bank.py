"""Whole images blurred with many Gaussians: M(x, sigma) of equation 16 by separable filters.

The paper's framework (:mod:`relblur.blur.paper.framework`) repeats each of its M filters N times and sums the copies
with weights F. The bank gives the same numbers, except for the tails of kernels beyond 5 sigma (4e-6) and the sum of F
(0.99979 as printed, instead of 1). It needs about 20 sigma additions per pixel and level instead of 5000 x 2601
multiplications.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..base._typing import AnyArray, ArrayLike
from ..base.arguments import as_choice, as_sigmas
from ..base.errors import InputError
from ..kernels.separable import MODES, filter_separable
from ..kernels.threads import count_workers
from .kernels import sampled_kernel

__all__ = ["gaussian_bank"]


def gaussian_bank(
    image: ArrayLike,
    sigmas: ArrayLike | Sequence[float],
    *,
    mode: str = "reflect",
    workers: int | None = None,
) -> AnyArray:
    """Blur one image with each of several Gaussians.

    Parameters
    ----------
    image : (H, W) array
        Floats keep their type (float32 or float64) and their values, NaN included;
        integers become float64 with their values unchanged.
    sigmas : sequence of M floats
        Standard deviations in px, positive and increasing. Below 0.35 px a sampled
        Gaussian is the identity.
    mode : str
        Extension of the image beyond its border, named as in :mod:`scipy.ndimage`: ``"reflect"``
        (d c b a | a b c d), ``"mirror"``, ``"nearest"``, ``"wrap"`` or ``"constant"`` (zero).
    workers : int, optional
        Threads; all cores by default. The result does not depend on it.

    Returns
    -------
    (M, H, W) array
        ``bank[m]`` is the image blurred by ``sigmas[m]``.

    Examples
    --------
    >>> import numpy as np
    >>> impulse = np.zeros((21, 21))
    >>> impulse[10, 10] = 1
    >>> bank = gaussian_bank(impulse, [1.0, 2.0])
    >>> bank.shape, bool(np.allclose(bank.sum(axis=(1, 2)), 1, atol=1e-5))
    ((2, 21, 21), True)
    """
    levels = as_sigmas(sigmas)
    as_choice(mode, "mode", MODES)
    array = np.asarray(image)
    if array.ndim != 2 or array.size == 0:
        raise InputError(f"image must be two-dimensional and not empty, got shape {array.shape}")
    if np.iscomplexobj(array) or not np.issubdtype(array.dtype, np.number):
        raise InputError(f"image has dtype {array.dtype}; pass real numbers")
    if array.dtype != np.float32:
        array = array.astype(np.float64)
    array = np.ascontiguousarray(array)
    out = np.empty((levels.size, *array.shape), dtype=array.dtype)

    def blur(m: int) -> None:
        out[m] = filter_separable(array, sampled_kernel(float(levels[m])), mode)

    threads = count_workers(workers)
    with ThreadPoolExecutor(threads) as pool:
        # The longest kernels are filtered first, to balance the threads.
        list(pool.map(blur, range(levels.size - 1, -1, -1)))
    return out
