"""Start of the `atc-py` command, before any large import."""

from __future__ import annotations

import signal

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit.

    Ctrl-C during the imports ends the process in silence, as it ends other commands; Python's own
    answer is a traceback. From then on `atc_py.cli.main` handles signals.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from atc_py.cli.main import main as command

    command()
