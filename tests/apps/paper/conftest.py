"""Small inputs of the paper's figures."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def small_ramps():
    """The pairs of Fig. 1, 96 x 80 px of them."""
    from relblur.apps.paper import ramps

    whole = ramps.photograph
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ramps, "photograph", lambda name: whole(name)[250:330, 200:296])
        return ramps.load_ramps()
