"""ICC profiles made of tone curves alone."""

from __future__ import annotations

import struct


def icc(trc, names=(b"rTRC", b"gTRC", b"bTRC")):
    """Return a profile that has nothing but tone curves; ``trc`` is one element or one for each name."""
    elements = trc if isinstance(trc, list) else [trc] * len(names)
    offset = 132 + 12 * len(names)
    table, body = b"", b""
    for name, element in zip(names, elements, strict=True):
        table += struct.pack(">4sII", name, offset + len(body), len(element))
        body += element
    return bytes(128) + struct.pack(">I", len(names)) + table + body


def gamma_element(gamma):
    return b"curv" + bytes(4) + struct.pack(">IH", 1, round(gamma * 256))
