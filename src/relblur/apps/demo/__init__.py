"""Programs about the method: ``demo``, ``paper`` (its figures and tables), ``bench`` (speed on this machine)."""
