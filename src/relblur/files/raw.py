"""Camera raw files through LibRaw (the extra ``raw``), as light and nothing but light."""

from __future__ import annotations

import io
from typing import Any

from ..base._typing import AnyArray
from ..base.errors import FileError, MissingDependencyError, RelblurError
from .quiet import quietly
from .reading import Source

__all__ = ["read_raw"]


def read_raw(source: Source) -> tuple[AnyArray, tuple[str, ...]]:
    """Return a raw file as 16-bit linear light in the camera's own colours, and what was done.

    The black level is subtracted, the white balance of the shot applied (all channels then
    clip at the same top), the mosaic interpolated, the picture turned upright. No
    brightening, no tone curve, no colour matrix: these would move noise and clipping between
    channels, and blur is the same in any linear mixture of them.
    """
    try:
        import rawpy
    except ImportError:
        raise MissingDependencyError(
            f"{source.path} is camera raw, which needs rawpy: pip install 'relblur[raw]'"
        ) from None
    content = source.whole()
    try:
        with quietly(), rawpy.imread(io.BytesIO(content)) as raw:
            _check(raw, source)
            black = [int(level) for level in raw.black_level_per_channel]
            white = int(raw.white_level)
            balance = [float(gain) for gain in raw.camera_whitebalance[:3]]
            values = raw.postprocess(
                gamma=(1, 1),
                no_auto_bright=True,
                adjust_maximum_thr=0.0,  # or it brightens by what it takes for the maximum
                output_bps=16,
                use_camera_wb=balance[0] > 0,
                output_color=rawpy.ColorSpace.raw,
            )
    except RelblurError:
        raise
    except Exception as error:  # LibRaw's own family, OSError, MemoryError: an unusable file
        detail = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise FileError(f"{source.path} is not a raw file that LibRaw can read: {detail.strip(chr(39))}") from None
    green = balance[1] or 1.0
    shown = "/".join(f"{gain / green:.2f}" for gain in balance) if balance[0] > 0 else "LibRaw's daylight"
    changes = (
        f"black level {'/'.join(map(str, sorted(set(black))))} subtracted, white level {white}",
        f"white balance {shown}",
        "mosaic interpolated, no brightening",
    )
    return values, changes


def _check(raw: Any, source: Source) -> None:
    """Refuse a file whose header claims too much; the mosaic is unpacked after this."""
    height, width = int(raw.sizes.raw_height), int(raw.sizes.raw_width)
    source.budget.check_pixels(height, width)
    source.budget.check_expansion(2 * height * width, source.size)
