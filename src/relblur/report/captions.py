"""What stands above a picture: which files, which method, which settings, and what a pixel is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..blur.comparable_pair import ComparablePair

__all__ = ["caption", "photo_titles"]

#: Settings that are told where they are not nothing, and how.
_TOLD = {
    "window": "window {} px",
    "prefilter": "prefilter {:g} px",
    "engine": "engine {}",
}


def caption(pair: ComparablePair, settings: Mapping[str, Any], what: str = "") -> str:
    """Return two lines about a map: the files, and how it was made; ``what`` stands before the method's settings."""
    one, two = pair.names
    same = "first and second" if pair.names == ("first", "second") else f"first: {one}    second: {two}"
    method = what or f"method {settings.get('method', '?')}"
    parts = [method, *_settings(settings), _resolution(pair, settings), f"relblur {settings.get('relblur', '')}"]
    return f"{same}\n{', '.join(part.strip() for part in parts if part.strip())}"


def photo_titles(pair: ComparablePair) -> tuple[str, str]:
    """Return the titles of the two photographs."""
    if pair.names == ("first", "second"):
        return pair.names
    return f"first: {pair.names[0]}", f"second: {pair.names[1]}"


def _settings(settings: Mapping[str, Any]) -> list[str]:
    return [form.format(settings[name]) for name, form in _TOLD.items() if settings.get(name)]


def _resolution(pair: ComparablePair, settings: Mapping[str, Any]) -> str:
    factor = int(settings.get("decimate", 1))
    if factor == 1:
        return f"{pair.size} px"
    return f"{pair.size} px, decimated by {factor} from {settings.get('full_size')}: 1 px here is {factor} px there"
