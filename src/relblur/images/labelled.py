"""Maps as datasets of xarray (the extra ``xarray``): named axes, units, and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ..base.errors import MissingDependencyError

__all__ = ["Labelled", "labelled"]

AXES = ("row", "column")

#: An (H, W) array, of xarray or not, and its attributes.
Labelled: TypeAlias = tuple[Any, dict[str, Any]]


def labelled(variables: Mapping[str, Labelled], about: Mapping[str, Any]) -> Any:
    """Return (H, W) arrays with their attributes as an ``xarray.Dataset``.

    Attributes that are neither text nor numbers become JSON. Arrays of xarray keep their dimensions and coordinates.
    ``row`` and ``column`` count the pixels from 0.
    """
    try:
        import xarray
    except ImportError:
        raise MissingDependencyError("to_xarray needs the xarray package: pip install 'relblur[xarray]'") from None
    attributes = {
        name: value if isinstance(value, (str, int, float)) else json.dumps(value) for name, value in about.items()
    }
    made: dict[str, Any] = {}
    for name, (array, each) in variables.items():
        if hasattr(array, "dims"):
            made[name] = array.copy(deep=False)
            made[name].attrs = dict(each)
        else:
            made[name] = (AXES, array, each)
    dataset = xarray.Dataset(made, attrs=attributes)
    first = next(iter(dataset.data_vars.values()))
    pixels = {axis: (dim, np.arange(dataset.sizes[dim])) for axis, dim in zip(AXES, first.dims, strict=True)}
    return dataset.assign_coords({axis: each for axis, each in pixels.items() if axis not in dataset.coords})
