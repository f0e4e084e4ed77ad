"""Start of the `atc-py` command, before any large import."""

from __future__ import annotations

import gc
import signal

__all__ = ["main"]

_NEW_OBJECTS = 200_000
"""Objects that are made before Python looks for cycles among them; its own choice is 700.

Modules and graphs stay until the process ends, so looking at them finds nothing: start-up alone
would have it look 145 times.
"""


def main() -> None:
    """Run the command line and exit.

    Ctrl-C during the imports ends the process in silence, as it ends other commands; Python's own
    answer is a traceback. From then on `atc_py.cli.main` handles signals.

    Python looks for cycles among all objects three times as it ends, and nothing of them is needed
    any more: modules and graphs are frozen, so it finds none to go through.
    """
    gc.set_threshold(_NEW_OBJECTS)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from atc_py.cli.main import main as command

    try:
        command()
    finally:
        gc.freeze()
