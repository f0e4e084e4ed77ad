"""Memory that has been freed and that the C library keeps."""

import sys

MANY_NODES = 5_000
"""Nodes of a graph from which on memory that a stage took and freed is given back."""


def give_back() -> None:
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
