"""Programs that need no input: ``demo`` (a pair with known blur) and ``bench`` (speed on this machine)."""
