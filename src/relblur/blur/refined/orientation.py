"""The orientation in which a pair is worked on, so that it does not show in the answer.

Grids begin in a corner, sums are made in an order, decisions are taken one after the other: an estimate of the mirror
image of a pair would differ.  So the pair itself sets the orientation: more change along rows than along columns, the
half with more detail on top and to the left.  Mirroring or turning the images then mirrors or turns the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...base._typing import AnyArray, FloatArray
from ...base.inputs import RawPair
from ..request import Answer, Request

__all__ = ["Orientation", "orientation_of"]


@dataclass(frozen=True)
class Orientation:
    """Whether a pair is worked on with columns as rows, upside down, left on the right."""

    transposed: bool
    rows: slice
    columns: slice

    def _oriented(self, plane: AnyArray) -> AnyArray:
        return (plane.swapaxes(0, 1) if self.transposed else plane)[self.rows, self.columns]

    def _undone(self, plane: AnyArray) -> AnyArray:
        plane = plane[self.rows, self.columns]
        return np.ascontiguousarray(plane.swapaxes(0, 1) if self.transposed else plane)

    def _oriented_if_any(self, plane: AnyArray | None) -> AnyArray | None:
        return None if plane is None else self._oriented(plane)

    def apply(self, raw: RawPair, request: Request) -> tuple[RawPair, Request]:
        """Return the pair and the request in this orientation."""
        oriented = replace(
            raw,
            first=self._oriented(raw.first),
            second=self._oriented(raw.second),
            finite=self._oriented_if_any(raw.finite),
            clipped=self._oriented_if_any(raw.clipped),
        )
        return oriented, replace(request, relative_variance=self._oriented_if_any(request.relative_variance))

    def undo(self, answer: Answer, steps: dict[str, FloatArray] | None) -> Answer:
        """Return the answer, and the steps on the way to it, in the orientation of the input."""
        if steps is not None:
            for name, values in steps.items():
                steps[name] = self._undone(values)
        planes = (answer.s, answer.stderr, answer.flags, answer.sharper)
        s, stderr, flags, sharper = (self._undone(plane) for plane in planes)
        return replace(answer, s=s, stderr=stderr, flags=flags, sharper=sharper)


def orientation_of(raw: RawPair) -> Orientation:
    """Return the orientation in which a pair is worked on."""
    images = [_sample(image) for image in (raw.first, raw.second)]
    along, across = (sum(float(_detail(image, axis).sum()) for image in images) for axis in (1, 0))
    transposed = across > along
    first, second = (_detail(image.swapaxes(0, 1) if transposed else image, 1) for image in images)
    rows, columns = ((first + second).sum(axis=axis) for axis in (1, 0))
    return Orientation(transposed, _more_first(rows), _more_first(columns))


def _sample(image: AnyArray) -> FloatArray:
    """Return enough pixels of an image to tell."""
    few = image.shape[0] * image.shape[1] < 1_000_000
    return np.asarray(image if few else image[: image.shape[0] // 2 * 2 : 2, : image.shape[1] // 2 * 2 : 2], np.float64)


def _detail(image: FloatArray, axis: int) -> FloatArray:
    """Return the power of the steps between neighbours along an axis."""
    with np.errstate(all="ignore"):  # of pixels that are not numbers nothing is asked
        return np.asarray(np.nansum(np.square(np.diff(image, axis=axis)), axis=2))


def _more_first(power: FloatArray) -> slice:
    half = len(power) // 2
    return slice(None, None, -1) if power[:half].sum() < power[len(power) - half :].sum() else slice(None)
