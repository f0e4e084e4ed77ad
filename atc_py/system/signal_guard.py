"""Moments in which a signal must not raise: something is made that no handler can clean up yet."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class _Moment:
    """Blocks that the main thread is in, and what waits for the end of the outermost one."""

    depth = 0
    waiting: Callable[[], None] | None = None


_MOMENT = _Moment()


@contextmanager
def undisturbed() -> Iterator[None]:
    """Defer signal handlers during a block of one or two system calls.

    Postponed signals are raised at its end, where the new object is known.
    Handlers run in the main thread alone; in others this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _MOMENT.depth += 1
    try:
        yield
    finally:
        _MOMENT.depth -= 1
        action = _MOMENT.waiting
        if action is not None and _MOMENT.depth == 0:
            _MOMENT.waiting = None
            action()


def put_off(action: Callable[[], None]) -> bool:
    """True if `action` waits for the end of an `undisturbed` block, which will call it.

    For handlers of signals that raise.
    """
    if _MOMENT.depth == 0:
        return False
    _MOMENT.waiting = action
    return True
