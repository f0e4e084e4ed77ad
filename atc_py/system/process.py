"""This process: its collector of cycles, and memory that it has freed."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec

_NEW_OBJECTS = 20_000_000
"""Objects that are made before the collector looks for cycles: none looks at 100,000 nodes.

It goes through all that is there and finds a few percent: nodes that went and their results.
"""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Let the collector run rarely inside the block; it stays off where it is.

    What was made counts as old afterwards, as if it had been looked at: or the next new object would
    have the collector go through all of it.
    """
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], _NEW_OBJECTS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        if not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()


MANY_NODES = 5_000
"""Nodes of a graph from which on memory that a stage took and freed is given back."""


def release_to_system() -> None:
    """Give freed memory back to the system where the C library would keep it, as glibc does.

    What is freed below something that lives on is kept for later, but Python's small objects are
    stored elsewhere and never use it. It takes a millisecond for some 50 MB.
    """
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


_THREADS = "OPENBLAS_NUM_THREADS"

_given: ContextVar[int | None] = ContextVar("threads", default=None)


def usable_cores() -> int:
    """The cores that this process may use, or what `limited_threads` says."""
    given = granted_threads()
    if given:
        return given
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def usable_threads() -> int:
    """The threads that this work may use: one for each core, or fewer where the user says so."""
    given = (os.environ.get(name, "") for name in (_THREADS, "OMP_NUM_THREADS"))
    return min(
        [usable_cores(), *(int(count) for count in given if count.isdecimal() and int(count))]
    )


def granted_threads() -> int:
    """The threads that `limited_threads` allows; 0 outside of it, which libraries read as their choice."""
    return _given.get() or 0


@contextmanager
def limited_threads(count: int) -> Iterator[None]:
    """Let what begins in the block use so many threads."""
    token = _given.set(count)
    try:
        yield
    finally:
        _given.reset(token)


_PARTS = ("onnx_cpp2py_export", "onnx_ml_pb2", "onnx_pb")


def import_onnx_parts() -> None:
    """Import the modules of onnx that a sound model takes, without all that `import onnx` adds.

    That is a tenth of the time of a small command. A later `import onnx` takes these modules over,
    but does not have them as attributes: this is for processes that run a command and end.
    """
    package = None if "onnx" in sys.modules else find_spec("onnx")
    folders = None if package is None else package.submodule_search_locations
    for part in _PARTS if folders else ():
        spec = PathFinder.find_spec(f"onnx.{part}", folders)
        if spec is None or spec.loader is None:
            return
        module = sys.modules[spec.name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[spec.name]
            raise
