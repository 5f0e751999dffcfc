"""``relblur`` and ``python -m relblur``: the command line."""

import signal

__all__ = ["main"]


def main() -> None:
    """Load the program and run it; Ctrl-C while it is loaded ends it without a traceback."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # not where it is ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from .apps.cli.app import main as run

    signal.signal(signal.SIGINT, before)
    run()


if __name__ == "__main__":
    main()
