"""The reference of every public name, written from ``relblur.__all__``: a new name appears by itself."""

from __future__ import annotations

import inspect
from types import ModuleType

import relblur

__all__ = ["GROUPS", "pages"]

#: Headings in their order, and what stands below them before the alphabet takes over.
GROUPS = {
    "Measure blur": ["estimate_blur", "prepare_pair", "Stream", "evaluate_pair", "resynthesize"],
    "Depth": ["estimate_depth", "calibrate", "blur_to_depth", "depth_to_blur", "in_depth_range"],
    "Pictures": ["all_in_focus", "refocus"],
    "Photographs": ["align", "match_exposure", "estimate_noise", "imread", "read_photograph", "save", "load"],
}
OTHERS, CLASSES, ERRORS, MODULES = "More functions", "Results and settings", "Errors", "Modules"


def pages() -> dict[str, str]:
    """Return the reStructuredText of each page by its name."""
    grouped = _grouped()
    modules = grouped.pop(MODULES, [])
    lines = ["Names in Python", "===============", "", "All that ``import relblur`` brings.", ""]
    for heading, names in grouped.items():
        lines += [heading, "-" * len(heading), "", ".. currentmodule:: relblur", "", ".. autosummary::"]
        lines += ["   :toctree: names", "", *(f"   {name}" for name in names), ""]
    lines += [MODULES, "-" * len(MODULES), "", ".. toctree::", "   :maxdepth: 1", "", *(f"   {m}" for m in modules), ""]
    found = {"index": "\n".join(lines)}
    for module in modules:
        title = f"relblur.{module}"
        found[module] = "\n".join([title, "=" * len(title), "", f".. automodule:: {title}", "   :members:", ""])
    return found


def _grouped() -> dict[str, list[str]]:
    left = [name for name in relblur.__all__ if not name.startswith("__")]
    grouped: dict[str, list[str]] = {}
    for heading, wanted in GROUPS.items():
        grouped[heading] = [name for name in wanted if name in left]
        left = [name for name in left if name not in wanted]
    for name in sorted(left, key=str.lower):
        thing = getattr(relblur, name)
        if isinstance(thing, ModuleType):
            heading = MODULES
        elif inspect.isclass(thing):
            heading = ERRORS if issubclass(thing, Exception) else CLASSES
        else:
            heading = OTHERS
        grouped.setdefault(heading, []).append(name)
    order = [*GROUPS, OTHERS, CLASSES, ERRORS, MODULES]
    return {heading: grouped[heading] for heading in order if grouped.get(heading)}
