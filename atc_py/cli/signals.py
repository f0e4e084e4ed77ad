"""Signals that end the command, raised as exceptions so that unfinished output is removed."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from atc_py.system.signal_guard import put_off

_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


class SignalledError(BaseException):
    """The system, or the user, wants the command to end.

    It does not derive from Exception, so that handlers of errors do not catch it.

    Attributes:
        number: the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def status(self) -> int:
        """The exit status that shells give to commands that the signal ended."""
        return 128 + self.number

    def __str__(self) -> str:
        return {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}.get(
            signal.Signals(self.number), "ended by the terminal"
        )


@contextmanager
def signals_as_exceptions() -> Iterator[None]:
    """Raise SignalledError in the block for the first signal; a second one ends it at once.

    A signal that the parent process wants ignored (`nohup`) stays ignored. Signals are left alone
    outside the main thread, where Python handles none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {}
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, _frame: FrameType | None) -> None:
    """Raise the exception, now or soon; after it every signal has the system's effect."""
    if put_off(lambda: _raise(number, None)):
        return
    for name in _ENDING:
        each = getattr(signal, name, None)
        if each is not None and signal.getsignal(each) is _raise:
            signal.signal(each, signal.SIG_DFL)
    raise SignalledError(number)
