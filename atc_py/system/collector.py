"""Python's collector of cycles, held back while many objects are made that stay."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 20_000_000
"""Objects that are made before the collector looks for cycles: none looks at 100,000 nodes.

It goes through all that is there and finds a few percent: nodes that went and their results.
"""


@contextmanager
def few_collections() -> Iterator[None]:
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
