"""The numbers that the paper states."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["CAMERAS", "PAPER_FIG1", "PAPER_TABLE", "REMADE_CLAIM", "PaperCamera", "PaperRow"]


@dataclass(frozen=True)
class PaperRow:
    """A row of Table I."""

    data_set: str
    resolution: str
    b_sharper: float
    f_sharper: float
    e_b: float
    e_f: float

    @property
    def equal(self) -> float:
        """Share of the points that are of equal sharpness and left out."""
        return max(0.0, round(1 - self.b_sharper - self.f_sharper, 9))


PAPER_TABLE = (
    PaperRow("Real MFF", "625x433", 0.50, 0.27, 0.021, 0.025),
    PaperRow("Real MFF", "313x217", 0.43, 0.39, 0.016, 0.012),
    PaperRow("Real MFF", "157x109", 0.44, 0.46, 0.014, 0.009),
    PaperRow("DPDD", "420x280", 0.76, 0.24, 0.023, 0.014),
    PaperRow("DPDD", "210x140", 0.67, 0.33, 0.018, 0.010),
    PaperRow("DPDD", "105x70", 0.58, 0.42, 0.017, 0.016),
)

#: "MAE" of sigma in Fig. 1, by the direction of the ramp.
PAPER_FIG1 = {"top to bottom": "1.4 %", "left to right": "1.47 % (caption), 1.7 % (text)"}

#: Error of re-estimating the blurred image of Fig. 1, on a scale of one (conclusions).
REMADE_CLAIM = 0.0002


@dataclass(frozen=True)
class PaperCamera:
    """A camera of section 6 and what it makes of equation 8."""

    name: str
    focal_length_mm: float
    f_number: float
    foreground_mm: float
    pixel_pitch_um: float
    sensor_mm: float  #: width
    width_px: int  #: of the image for which the pitch holds
    table_width_px: int  #: of the largest image of Table I
    stated_px: float


CAMERAS = (
    PaperCamera("Lytro Illum", 17, 2, 1000, 4.5, 10.82, 2450, 625, 32),
    PaperCamera("Canon 5D Mark IV", 67, 4, 1100, 21.43, 36.0, 1680, 420, 48),
)
