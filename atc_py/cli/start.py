"""Start of the `atc-py` command, before any large import."""

import atexit
import gc
import os
import signal
import sys

from atc_py.system.late_modules import prepare_imports

_NEW_OBJECTS = 200_000
"""Objects that are made before Python looks for cycles among them; its own choice is 700.

Modules and graphs stay until the process ends, so looking at them finds nothing: start-up alone
would have it look 145 times.
"""


def main() -> None:
    """Run the command line and exit.

    Ctrl-C during the imports ends the process in silence, as it ends other commands; Python's own
    answer is a traceback. From then on `atc_py.cli.main` handles signals.
    """
    gc.set_threshold(_NEW_OBJECTS)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    prepare_imports()
    ended: list[int] = []
    atexit.register(_end_at_once, ended)  # the first one that is registered is called last
    from atc_py.cli.main import main as command

    try:
        command()
    except SystemExit as end:
        if isinstance(end.code, int):
            ended.append(end.code)
        raise


def _end_at_once(ended: list[int]) -> None:
    """End the process with the status in `ended`, if the command has ended with one.

    What was registered since is done by then. Python would go on to take a thousand modules apart
    with all they hold, which is a tenth of the time of a small command; the system takes the memory
    back anyway.
    """
    if not ended:
        return
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:  # a stream that was closed before the start
                stream.flush()
    except (OSError, ValueError):
        return  # Python reports it
    os._exit(ended[0])
