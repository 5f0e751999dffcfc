"""Resampling of images by an affine or bent motion, almost without the blur of interpolation.

A pure displacement is a product in the Fourier domain, the ideal band-limited interpolation. For other motions the
resolution is doubled in the Fourier domain and the result interpolated by cubic splines, which is nearly as good. The
filter from values to spline coefficients is a product in the same domain.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from ..base._typing import AnyArray, FloatArray
from ..kernels.threads import count_workers

__all__ = ["DEGREE", "Bend", "positions", "powers", "resample", "resample_nearest"]

#: Images with more pixels are resampled by quintic splines, because doubling would take too much memory.
DOUBLE_BELOW = 16_000_000

#: Mirrored margin around the image, px: the Fourier transform is periodic.
_PAD = 16

#: Rows interpolated at a time; their coefficients stay in the cache.
_BAND = 32


#: Degree of the polynomial of a bend: distortion by a lens is cubic in the distance from its axis, perspective square.
DEGREE = 3


@dataclass(frozen=True, eq=False)
class Bend:
    """Displacements down and right at the positions (row, column) of a frame.

    Attributes
    ----------
    coefficients : (2, 4, 4) array
        Coefficients of ``v^i u^j`` for the displacement down and right, px; ``v`` and ``u`` are the row and column
        relative to the middle, divided by the radius.
    middle : (float, float)
        Row and column.
    radius : float
        In px.
    """

    coefficients: FloatArray
    middle: tuple[float, float]
    radius: float

    def at(self, rows: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the displacements down and right on the grid of these rows and columns, px."""
        v, u = (powers((np.ravel(n) - m) / self.radius) for n, m in zip((rows, columns), self.middle, strict=True))
        down, right = (v @ of @ u.T for of in self.coefficients)
        return down, right

    def enlarged(self, factor: float) -> Bend:
        """Return this bend converted from decimated images (every ``factor``-th pixel) to full-size images."""
        middle = (factor * self.middle[0], factor * self.middle[1])
        return replace(self, coefficients=factor * self.coefficients, middle=middle, radius=factor * self.radius)

    def enlarged_from_means(self, factor: int) -> Bend:
        """Return this bend converted from block means to full-size images."""
        half = (factor - 1) / 2
        large = self.enlarged(factor)
        return replace(large, middle=(large.middle[0] + half, large.middle[1] + half))


def powers(values: FloatArray) -> FloatArray:
    """Return the powers 0 to 3 of n numbers, (n, 4)."""
    return np.asarray(values, np.float64)[:, None] ** np.arange(DEGREE + 1)


def resample(planes: AnyArray, transform: FloatArray, bend: Bend | None = None) -> AnyArray:
    """Interpolate (C, H, W) planes at :func:`positions`, in their own precision."""
    shape = (planes.shape[1], planes.shape[2])
    out = np.empty(planes.shape, planes.dtype)
    bands = [slice(top, min(top + _BAND, shape[0])) for top in range(0, shape[0], _BAND)]

    def places(rows: slice) -> tuple[FloatArray, FloatArray]:
        return positions(transform, shape, rows, bend)

    if shape[0] * shape[1] > DOUBLE_BELOW:
        _read_quintic(planes, places, bands, out)
        return out
    with ThreadPoolExecutor(count_workers(None)) as pool:
        if bend is None and np.array_equal(transform[:2, :2], np.eye(2)):
            list(pool.map(lambda plane, into: _displace(plane, transform[:2, 2], into), planes, out))
            return out
        coefficients = list(pool.map(_spline_of_double, planes))
        list(pool.map(lambda rows: _read(coefficients, places(rows), out[:, rows]), bands))
    return out


def resample_nearest(image: AnyArray, transform: FloatArray, bend: Bend | None = None) -> AnyArray:
    """Return the values of an (H, W) array at the nearest pixels, or at the border for positions beyond it."""
    places = positions(transform, (image.shape[0], image.shape[1]), bend=bend)
    row, column = (
        np.floor(place + 0.5).clip(0, n - 1).astype(np.intp) for place, n in zip(places, image.shape, strict=True)
    )
    return np.asarray(image[row, column])


def positions(
    transform: FloatArray, shape: tuple[int, int], rows: slice = slice(None), bend: Bend | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the rows and columns to which a motion maps the pixels of a frame, or of some of its rows.

    A position is the 3 x 3 ``transform`` of (row, column, 1) plus the displacement of the pixel by ``bend``.
    """
    row = np.arange(shape[0], dtype=np.float64)[rows, None]
    column = np.arange(shape[1], dtype=np.float64)[None, :]
    down = transform[0, 0] * row + transform[0, 1] * column + transform[0, 2]
    right = transform[1, 0] * row + transform[1, 1] * column + transform[1, 2]
    if bend is None:
        return down, right
    more = bend.at(row, column)
    return down + more[0], right + more[1]


def _displace(plane: AnyArray, by: FloatArray, out: AnyArray) -> None:
    """Shift a plane by ``by`` pixels (down, right): whole pixels by index, the fraction by phase."""
    whole = np.floor(by + 0.5)
    padded = _padded(plane)
    spectrum = np.fft.rfft2(padded)
    frequencies = (np.fft.fftfreq(padded.shape[0]), np.fft.rfftfreq(padded.shape[1]))
    phases = [_phase(cycles, rest) for cycles, rest in zip(frequencies, by - whole, strict=True)]
    spectrum *= (phases[0][:, None] * phases[1]).astype(spectrum.dtype)
    moved = np.fft.irfft2(spectrum, padded.shape)
    down, right = (
        _mirrored_at_last(np.arange(n) + int(step), n) + _PAD for n, step in zip(plane.shape, whole, strict=True)
    )
    out[:] = moved[down[:, None], right]


def _phase(cycles: AnyArray, by: float) -> AnyArray:
    """Return the phase factors of a displacement; the factor of the highest frequency is real."""
    return np.where(np.abs(cycles) == 0.5, np.cos(np.pi * by), np.exp(2j * np.pi * cycles * by))


def _padded(plane: AnyArray) -> AnyArray:
    """Pad a plane by its mirror image to a size that suits the Fourier transform."""
    import cv2

    sides = [cv2.getOptimalDFTSize(n + 2 * _PAD) for n in plane.shape]
    around = [(_PAD, side - n - _PAD) for side, n in zip(sides, plane.shape, strict=True)]
    return np.pad(plane, around, mode="symmetric")


def _spline_of_double(plane: AnyArray) -> AnyArray:
    """Double the resolution of a plane in the Fourier domain; return the padded coefficients of its cubic spline."""
    padded = _padded(plane)
    rows, columns = padded.shape
    spectrum = np.fft.rfft2(padded)
    # Inverse of the transform of a cubic B-spline sampled on the finer grid.
    along_rows = 3 / (2 + np.cos(np.pi * np.fft.fftfreq(rows)))
    along_columns = 3 / (2 + np.cos(np.pi * np.fft.rfftfreq(columns)))
    spectrum *= (4 * along_rows[:, None] * along_columns).astype(plane.dtype)
    half = (rows + 1) // 2
    tall = np.zeros((2 * rows, spectrum.shape[1]), spectrum.dtype)
    tall[:half], tall[half - rows :] = spectrum[:half], spectrum[half:]
    # The highest frequency of an even side represents two frequencies of opposite sign; each gets one half.
    if rows % 2 == 0:
        tall[-half] = tall[half] = spectrum[half] / 2
    if columns % 2 == 0:
        tall[:, -1] /= 2
    return np.fft.irfft(np.fft.ifft(tall, axis=0), 2 * columns, axis=1).astype(plane.dtype, copy=False)


def _read_quintic(
    planes: AnyArray, places: Callable[[slice], tuple[FloatArray, FloatArray]], bands: list[slice], out: AnyArray
) -> None:
    """Interpolate planes by splines of degree five at their own resolution, one plane at a time."""
    from scipy import ndimage

    for plane, into in zip(planes, out, strict=True):
        coefficients = ndimage.spline_filter(plane, order=5, mode="mirror", output=np.float64)
        for rows in bands:
            into[rows] = ndimage.map_coordinates(coefficients, places(rows), order=5, mode="mirror", prefilter=False)


def _read(coefficients: list[AnyArray], places: tuple[FloatArray, FloatArray], out: AnyArray) -> None:
    """Interpolate some rows of all planes from their spline coefficients."""
    height, width = coefficients[0].shape
    dtype = out.dtype
    first, weights = [], []
    for place in places:
        fine = 2 * (place + _PAD)
        whole = np.floor(fine)
        t = (fine - whole).astype(dtype)
        rest = 1 - t
        outer = (rest**3 / 6, t**3 / 6)
        inner = (4 - 6 * t * t + 3 * t**3) / 6
        first.append(whole.astype(np.intp) - 1)
        weights.append((outer[0], inner, 1 - outer[0] - inner - outer[1], outer[1]))
    top, left = first
    if top.min() >= 0 and left.min() >= 0 and top.max() + 3 < height and left.max() + 3 < width:
        corner = top * width + left
        taps = [[corner + (j * width + i) for i in range(4)] for j in range(4)]
    else:
        down = [_mirrored_at_last(top + j, height) * width for j in range(4)]
        across = [_mirrored_at_last(left + i, width) for i in range(4)]
        taps = [[down[j] + across[i] for i in range(4)] for j in range(4)]
    for plane, coefficient in enumerate(coefficients):
        flat = coefficient.reshape(-1)
        total = np.zeros(top.shape, dtype)
        for j in range(4):
            line = weights[1][0] * flat.take(taps[j][0], mode="clip")  # always inside: no check needed
            for i in (1, 2, 3):
                line += weights[1][i] * flat.take(taps[j][i], mode="clip")
            line *= weights[0][j]
            total += line
        out[plane] = total


def _mirrored_at_last(index: AnyArray, length: int) -> AnyArray:
    """Map any index to a pixel of a line, mirrored at the centres of its end pixels: d c b | a b c d."""
    period = 2 * (length - 1)
    inside = np.abs(index) % period
    return np.asarray(np.minimum(inside, period - inside))
