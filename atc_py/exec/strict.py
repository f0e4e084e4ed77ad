"""End of a program under `--strict`: of this process here, of all others by the launcher."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from atc_py.exec.recorder import Recorder

__all__ = ["end_program"]


def end_program(
    recorder: Recorder, finding: dict[str, Any], status: int, more: list[dict[str, Any]]
) -> NoReturn:
    """End this process at once, from whichever thread, and have the launcher end the program.

    SystemExit would end a thread alone, and a program may catch it. What the program has printed is
    written first.
    """
    recorder.say(finding, status, more)
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(status)
