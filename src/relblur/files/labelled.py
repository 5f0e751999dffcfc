"""Maps as datasets of xarray (the extra ``xarray``): named axes, units, and how they were made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..base._typing import AnyArray
from ..base.errors import MissingDependencyError

__all__ = ["Labelled", "labelled"]

AXES = ("row", "column")

#: An (H, W) array and its attributes.
Labelled: TypeAlias = tuple[AnyArray, dict[str, Any]]


def labelled(variables: Mapping[str, Labelled], about: Mapping[str, Any]) -> Any:
    """Return (H, W) arrays with their attributes as an ``xarray.Dataset``; what is no plain value becomes JSON."""
    try:
        import xarray
    except ImportError:
        raise MissingDependencyError("to_xarray needs the xarray package: pip install 'relblur[xarray]'") from None
    attributes = {
        name: value if isinstance(value, (str, int, float)) else json.dumps(value) for name, value in about.items()
    }
    return xarray.Dataset({name: (AXES, array, each) for name, (array, each) in variables.items()}, attrs=attributes)
