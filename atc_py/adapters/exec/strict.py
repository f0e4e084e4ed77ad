"""End of a program under `--strict`: of this process here, of all others by the launcher."""

import os
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

from atc_py.adapters.exec.recorder import Recorder

_PATIENCE = 10.0
"""Seconds after which the process ends by itself, the launcher being gone."""


def end_program(
    recorder: Recorder, finding: dict[str, Any], status: int, more: list[dict[str, Any]]
) -> NoReturn:
    """Have the launcher end the program, this process included, from whichever thread.

    SystemExit would end a thread alone, and a program may catch it. What the program has printed is
    written first. The process lives until the launcher ends it, which finds others by it.
    """
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    recorder.say(finding, status, more)
    time.sleep(_PATIENCE)
    os._exit(status)
