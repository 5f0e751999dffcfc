"""Programs about the method: ``demo``, ``reproduce`` (the paper's experiments), ``bench`` (speed on this machine)."""
