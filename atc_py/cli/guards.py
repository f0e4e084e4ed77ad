"""Guards of a command: standard streams that are closed, full or not read, and ending signals.

Signals are raised as exceptions, so that unfinished output is removed.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from atc_py.system.signal_guard import put_off
from atc_py.text import Text

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class StdoutError(OSError):
    """The system's refusal of something printed to standard output."""


@contextmanager
def guarded_streams() -> Iterator[None]:
    """Make both streams accept any text in the block, also if they are no longer read.

    Output printed after the reader has left (`| head`), or to a stream that was closed before the
    start (`>&-`), is lost; the command goes on and ends with the status that it would have had.
    Any other refusal of standard output is a StdoutError, once; standard error refuses nothing.
    Characters that a stream's encoding lacks are written as escapes. A stream that is not a file of
    the system belongs to a program that calls `main`, and is left alone.
    """
    _open_descriptors()
    before = sys.stdout, sys.stderr
    sys.stdout = _guard_stream(before[0], _Stdout, 1)
    sys.stderr = _guard_stream(before[1], _Guard, 2)
    try:
        yield
    finally:
        with suppress(StdoutError):
            sys.stdout.flush()
        sys.stdout, sys.stderr = before


class _Guard(io.FileIO):
    """A standard stream that discards its data once a write has failed.

    Of standard error that cannot be reported anywhere.
    """

    def write(self, data: ReadableBuffer, /) -> int:
        """Write some of `data` and return how many bytes that were."""
        try:
            while (written := super().write(data)) is None:
                # Another process has made the stream non-blocking, and its reader is slow.
                select.select((), (self,), ())
        except OSError as error:
            with suppress(OSError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123
                os.dup2(nowhere.fileno(), self.fileno())
            self._refused(error)
            return memoryview(data).nbytes
        return written

    def _refused(self, error: OSError) -> None:
        """Raise the system's error, unless it is to be ignored."""


class _Stdout(_Guard):
    def _refused(self, error: OSError) -> None:
        """Raise the error unless the reader closed the pipe."""
        if not isinstance(error, BrokenPipeError):
            raise StdoutError(error.errno, error.strerror) from error


def _open_descriptors() -> None:
    """Open those of the three standard descriptors that are closed.

    The system gives a file that is opened the lowest number that is free. An output that got the
    number of a closed stream would have in it what libraries print.
    """
    while (handle := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004  (the standard ones)
        os.set_inheritable(handle, True)  # noqa: FBT003  (positional only)
    os.close(handle)


def _guard_stream(stream: TextIO | None, guard: type[_Guard], descriptor: int) -> TextIO:
    """Put a guard before the descriptor of `stream`; make a stream where it is None, closed."""
    if stream is not None:
        buffer = getattr(stream, "buffer", None)
        raw = getattr(buffer, "raw", buffer)  # there is no buffer where Python runs with -u
        if type(raw) is not io.FileIO or raw.fileno() != descriptor:
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
            return stream
        stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(guard(descriptor, "wb", closefd=False)),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace",
        line_buffering=stream is not None and bool(stream.line_buffering),
    )


_ENDING = ("SIGINT", "SIGTERM", "SIGHUP")


class SignalledError(BaseException):
    """The system, or the user, wants the command to end.

    It does not derive from Exception, so that handlers of errors do not catch it.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number

    @property
    def status(self) -> int:
        """The exit status that shells give to commands that the signal ended."""
        return 128 + self.number

    def __str__(self) -> str:
        return self.reason

    @property
    def reason(self) -> Text:
        """The end that the signal made, for messages."""
        if self.number == signal.SIGINT:
            return Text("interrupted")
        return Text("terminated" if self.number == signal.SIGTERM else "ended by the terminal")


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
