"""Dense, regularised relative blur: see :func:`refine`."""

from .refine import Refined, refine

__all__ = ["Refined", "refine"]
