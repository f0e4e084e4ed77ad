"""Functions that tests run as tasks: some return, others fail in all ways."""

import os
import signal
import time
from pathlib import Path

import numpy as np

from atc_py.diag.codes import BAD_OPTION
from atc_py.system.memory_limit import memory_limit, require_memory
from atc_py.system.process import usable_cores
from atc_py.text import Text


def square(number: int) -> int:
    """Return the square of a number."""
    return number * number


def ends(how: str) -> object:
    """End in the way that is called so."""
    if how == "refuses":
        raise BAD_OPTION.error(Text("no such thing"), help=Text("give another"))
    if how == "raises":
        raise ValueError("wrong")
    if how == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "exits":
        os._exit(3)
    if how == "hangs":
        time.sleep(600)
    if how == "takes":
        return float(np.ones(1 << 27).sum())
    if how == "asks":
        require_memory(1 << 60, "a tensor")
    if how == "unsendable":
        return lambda: None
    if how == "prints":
        print("on standard output")  # noqa: T201  (it must not get among the answers)
    return (memory_limit(), usable_cores())


def logged(task: tuple[str, int, float]) -> int:
    """Write a line with the process into a file, then sleep; return the number."""
    path, number, seconds = task
    with Path(path).open("a") as file:
        file.write(f"{number} {os.getpid()}\n")
    time.sleep(seconds)
    return number


def logged_until(task: tuple[str, int, str]) -> int:
    """Write a line with the process into a file, wait until another exists; return the number."""
    path, number, opens = task
    logged((path, number, 0.0))
    while not Path(opens).exists():
        time.sleep(0.01)
    return number
