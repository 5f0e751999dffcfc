"""State of the page: images, settings and results, and their description as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from ... import __version__
from ...blur.blur_map import BlurMap
from ...blur.comparable_pair import ComparablePair
from ...depth.camera import Camera
from ...depth.depth_map import DepthMap
from ...stacks.stack_map import StackMap
from . import planes as shown
from .choices import Choices, DepthChoices, commands
from .files import Images
from .retouch import Painting
from .tasks import Aligned

__all__ = ["Content"]

_ORDER = ("first", "second", "fused", "index", "index_stderr", "height", "height_stderr", "sigma", "stderr", "depth",
          "depth_stderr", "flags", "remade")  # fmt: skip


@dataclass
class Content:
    """State of the page: images, settings and results."""

    images: Images | None = None
    result_name: str = ""  #: of a saved result
    choices: Choices = field(default_factory=Choices)
    camera: Camera | None = None
    depth_choices: DepthChoices = field(default_factory=DepthChoices)
    pair: ComparablePair | None = None
    aligned: Aligned | None = None
    blur_map: BlurMap | None = None
    stack: StackMap | None = None
    depth_map: DepthMap | None = None
    painting: Painting | None = None
    planes: dict[str, shown.Plane] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)  #: of the values that workers keep
    prepared_with: Choices = field(default_factory=Choices)
    is_final: bool = False
    depth_is_measured: bool = False
    has_labels: bool = False  #: the picture is fused by labels of the user
    patch: dict[str, Any] | None = None  #: the box of the fused picture changed by the last stroke
    legend: list[dict[str, Any]] = field(default_factory=shown.flag_legend)

    def copy(self) -> Content:
        """Return a copy with its own dictionaries."""
        return replace(self, planes=dict(self.planes), versions=dict(self.versions), keys=dict(self.keys))

    @property
    def measured(self) -> BlurMap | StackMap | None:
        """The blur map or stack map."""
        return self.blur_map if self.stack is None else self.stack

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of the maps, or of the preview until there is a map."""
        if self.pair is not None:
            return self.pair.shape
        if self.aligned is not None:
            return self.aligned.frames.frames[0].small.shape[:2]
        known = next((each for each in (self.measured, self.depth_map) if each is not None), None)
        if known is not None:
            return known.shape
        return next((plane.data.shape[:2] for plane in self.planes.values() if plane.data is not None), (0, 0))

    @property
    def factor(self) -> int:
        """Decimation factor: pixels of the images per pixel of the map, on each axis."""
        if self.pair is not None:
            return self.pair.factor
        return self.aligned.frames.factor if self.aligned is not None else 1

    @property
    def notes(self) -> list[str]:
        """Notes of the preparation and the measurement."""
        if self.stack is not None:
            return [*self.stack.settings.get("notes", ()), *self.stack.settings.get("model_warnings", ())]
        if self.pair is not None:
            return list(self.pair.notes)
        return list(self.aligned.frames.notes) if self.aligned is not None else []

    def quantities(self) -> dict[str, shown.Quantity]:
        """Return the maps for statistics of boxes and lines."""
        return shown.quantities_of(self.blur_map, self.depth_map, self.stack)

    def put(self, plane: shown.Plane, version: int) -> None:
        """Add or replace a plane; planes stay in the order of the page's list."""
        self.planes[plane.name] = plane
        self.versions[plane.name] = version
        if plane.name == "flags":
            self.legend = shown.flag_legend(plane.data)
        known = sorted(self.planes, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
        self.planes = {name: self.planes[name] for name in known}

    def about(self) -> dict[str, Any]:
        """Return the state without the pixels, for JSON."""
        maker = next((each for each in (self.stack, self.blur_map, self.depth_map) if each is not None), None)
        height, width = self.shape
        depth, images = self.depth_map, self.images
        planes = [plane.about(self.versions[name]) for name, plane in self.planes.items()]
        return {
            "relblur": __version__,
            "name": self.result_name or (images.title if images is not None else ""),
            "source": "result" if self.result_name else images.kind if images is not None else "",
            "is_stack": self.stack is not None or (images is not None and not images.is_pair),
            "width": width,
            "height": height,
            "notes": self.notes,
            "factor": self.factor,
            "choices": vars(self.choices),
            "planes": [about for about in planes if about["name"] != shown.OPACITY],
            "opacity": next((about for about in planes if about["name"] == shown.OPACITY), None),
            "frames": self._frames(),
            "painting": self._painting(),
            "flags": self.legend,
            "final": self.is_final,
            "made_by": shown.summary_line(maker.settings) if maker is not None else "",
            "depth_made_by": shown.summary_line(depth.settings) if depth is not None else "",
            "depth_measured": self.depth_is_measured,
            "focal_px": depth.camera.focal_length_px if depth is not None else None,
            "camera": _finite(self.camera.as_dict()) if self.camera is not None else None,
            "depth_choices": vars(self.depth_choices),
            "commands": self._commands(),
        }

    def _frames(self) -> dict[str, Any] | None:
        if self.aligned is None:
            return None
        height, width = self.aligned.frames.shape
        places = [frame.position for frame in self.aligned.frames.frames]
        key, names = self.keys["aligned"], self.aligned.names
        return {"key": key, "names": names, "places": places, "width": width, "height": height}

    def _painting(self) -> dict[str, Any] | None:
        if self.painting is None:
            return None
        return {"strokes": len(self.painting.strokes), "labels": self.has_labels, "patch": self.patch}

    def _commands(self) -> dict[str, str]:
        if self.images is None:
            return {}
        choices = self.choices
        if self.pair is not None and choices.max_sigma != self.prepared_with.max_sigma:
            choices = replace(choices, decimate=self.pair.factor)  # the pair keeps its resolution
        before = "relblur demo && " if self.images.kind == "example" else ""
        depth = self.depth_choices if self.camera is not None else None
        lines = commands(self.images.in_commands, choices, depth)
        return {name: before + text for name, text in lines.items()}


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace infinity, which JSON lacks, by "inf", which :class:`Camera` accepts."""
    return {name: "inf" if value == float("inf") else value for name, value in values.items()}
