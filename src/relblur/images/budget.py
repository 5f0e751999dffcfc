"""What reading one file may cost: bytes, pixels and seconds, the same for every format.

A file is data of somebody else. What its header claims is checked before memory is taken for it. Decoders that cannot
be stopped run in a child process, where the system enforces the limits (:mod:`relblur.base.children`).
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field

from ..base.children import Limits
from ..base.errors import FileError

__all__ = ["Budget"]

#: The largest cameras have 150 megapixels.
MOST_PIXELS = 250_000_000

#: As much as so many pixels of three colours in double precision, and some room for what is said about them.
MOST_FILE_BYTES = 24 * MOST_PIXELS + 100_000_000

#: PNG, JPEG, WebP, HDR and raw files go to their decoders as a whole; a raw file of 150 megapixels has 300 MB.
MOST_WHOLE_BYTES = 1_600_000_000

#: What unpacks to no more than this is harmless: the light in it takes five times as much.
FREE_BYTES = 50_000_000

#: Beyond that, so many bytes for each packed one. Noise keeps photographs from shrinking by more than 10 without loss;
#: JPEG ends at 170 for a blank wall. Deflate reaches 1000, LZMA 7000: with nothing in the picture.
MOST_EXPANSION, MOST_LOSSY_EXPANSION = 50, 200

#: Maps are used as they are loaded, and shrink by 230 where there is no answer at all.
FREE_RESULT_BYTES = 300_000_000

#: Seconds of work (of the thread, so that a busy machine or a slow disk refuses nothing) for any file, and bytes per
#: second beyond: the slowest decoders in use, LZW and PNG's, make 20 MB a second.
FREE_SECONDS, SLOWEST_BYTES = 5.0, 2_000_000

#: Memory of a child for the program and its libraries, and for each byte of the file.
CHILD_BYTES, CHILD_BYTES_PER_BYTE = 1_000_000_000, 3

#: A picture that is read in parts: as much as a list of its tiles, and of its pieces, takes some hundred megabytes for.
MOST_PARTED_VALUES, MOST_PARTED_PIECES = 1000 * MOST_PIXELS, 1_000_000


@dataclass(frozen=True)
class Budget:
    """The allowance of one file. Every ``check`` raises a one-line :class:`~relblur.base.errors.FileError`."""

    path: str | os.PathLike[str]
    file_bytes: int
    started: float = field(default_factory=time.thread_time)
    most_pixels: int = field(default_factory=lambda: MOST_PIXELS)

    def check_file(self, most: int = MOST_FILE_BYTES) -> None:
        """Refuse a file that is larger than an image can be."""
        if self.file_bytes > most:
            size = f"{self.file_bytes / 1e6:.0f} MB"
            raise FileError(f"{self.path} has {size}; relblur reads files of this kind up to {most / 1e6:.0f} MB")

    def check_pixels(self, height: int, width: int) -> None:
        """Refuse more pixels than any camera has."""
        if height * width > self.most_pixels:
            raise FileError(
                f"{self.path} claims to hold {width} x {height} pixels; relblur reads up to "
                f"{self.most_pixels // 10**6} megapixels, decimate or crop it first"
            )

    def check_expansion(
        self, unpacked_bytes: int, packed_bytes: int, *, lossy: bool = False, free: int | None = None
    ) -> None:
        """Refuse data that unpack to far more than a photograph's do."""
        most = MOST_LOSSY_EXPANSION if lossy else MOST_EXPANSION
        free = FREE_BYTES if free is None else free
        if unpacked_bytes > free and unpacked_bytes > most * packed_bytes:
            raise FileError(
                f"{self.path} unpacks to {unpacked_bytes / 1e6:.0f} MB from {packed_bytes} bytes, more than {most} "
                f"times as much: it is blank, damaged or hostile; if it is sound, store it uncompressed"
            )

    def check_parts(self, values: int, pieces: int) -> None:
        """Refuse more than is read in parts: the limits of one picture do not hold there, those of lists do."""
        if values > MOST_PARTED_VALUES or pieces > MOST_PARTED_PIECES:
            claimed = f"{min(values, 10**99):.2g} values in {min(pieces, 10**99):.2g} pieces"
            most = f"{MOST_PARTED_VALUES:.2g} in {MOST_PARTED_PIECES:.2g}"
            raise FileError(f"{self.path} claims {claimed}; relblur reads up to {most}, cut larger pieces")

    @property
    def seconds(self) -> float:
        """Time that a sound file takes at the most."""
        return FREE_SECONDS + self.file_bytes / SLOWEST_BYTES

    @property
    def child_limits(self) -> Limits:
        """What decoding the file in a child may use."""
        pixels = min(MOST_LOSSY_EXPANSION * self.file_bytes, 24 * self.most_pixels)
        return Limits(CHILD_BYTES + pixels + CHILD_BYTES_PER_BYTE * self.file_bytes, self.seconds)

    def check_time(self) -> None:
        """Refuse to go on for longer than a sound file takes."""
        if time.thread_time() - self.started > self.seconds:
            raise self.too_slow()

    def too_slow(self) -> FileError:
        """Return the error of a file that takes too long."""
        return FileError(f"{self.path} takes more than {self.seconds:.0f} s to unpack; it is damaged or hostile")
