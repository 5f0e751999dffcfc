"""xarray in, xarray out: a map gets the dimensions and coordinates of the image that it was made from."""

from __future__ import annotations

from typing import Any

from .blur_map import BlurMap

__all__ = ["labelled"]

#: Name and unit of each array of a map.
_MEANING = {
    "variance_difference": {"long_name": "sigma_second^2 - sigma_first^2", "units": "px^2"},
    "variance_stderr": {"long_name": "standard error of variance_difference", "units": "px^2"},
    "flags": {"long_name": "bits of relblur.Flag"},
    "sharper": {"long_name": "+1 where first is the sharper, -1 where second is"},
}


def labelled(blur_map: BlurMap, image: Any, channel_axis: int | None) -> BlurMap:
    """Return the map with an image's labels; as it is if the image has none."""
    if not (hasattr(image, "dims") and hasattr(image, "isel")):
        return blur_map
    if channel_axis is not None:
        image = image.isel({image.dims[channel_axis]: 0}, drop=True)
    arrays = []
    for name, attributes in _MEANING.items():
        array = image.copy(data=getattr(blur_map, name))
        array.name, array.attrs = name, dict(attributes)
        arrays.append(array)
    return BlurMap.of_views(arrays[0], arrays[1], arrays[2], arrays[3], blur_map.settings)
