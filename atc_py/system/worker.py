"""A supervised process: a fresh Python that answers messages, bounded in time and memory.

A fork would have the locks of this process's threads and none of the threads. Processes of
multiprocessing are forbidden to workers of Dask.

A message is a list of byte strings. Its number of parts comes first, then each part, numbers and
parts alike with eight bytes of length. A message without parts says that the work begins now.
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO, Literal, NamedTuple, cast

from atc_py.diag import AtcError, Code, Diagnostic, Place, find_code
from atc_py.text import Text
from atc_py.text.packed import packed

Part = bytes | bytearray | memoryview

BEGUN: tuple[Part, ...] = ()
"""The message by which a process says that what the work needs is loaded: its time begins."""

ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Environment of a process whose neighbors have the other cores."""

_START = (
    "import sys; entry, sys.path[:] = sys.argv[1], sys.argv[2:]; "
    "from atc_py.system.worker import run_entry; run_entry(entry)"
)
"""Code that the process runs. `python -m` would import modules from the current folder, and that
may be one with hostile files."""

_LENGTH = 8

_CLOSING = 5.0
"""Seconds for a process that has closed its pipes to end, and for a thread to see that it has."""

_PERIOD = 0.05
"""Seconds between two looks at the memory of a process at work."""

_LONGEST = 3600.0
"""Seconds that one wait may take: queues do not take all times that users may give."""

_OWN = 256 * 1024**2
"""Bytes that Python and its libraries may take beside the data of the work."""


class Bounds(NamedTuple):
    """Bounds of one answer at which the process is killed."""

    seconds: float | None = None  # of time; None for any
    # seconds until it says BEGUN, which starts `seconds`; None where it never says so
    loading: float | None = None
    # bytes, beside those that Python and its libraries take; None for any
    memory: int | None = None
    answer: int | None = None  # bytes of one part of the answer; None for any


UNBOUNDED = Bounds()


class NoAnswerError(Exception):
    """A process gave no answer, and is no more.

    Attributes:
        why: `ended` by itself or by a stranger, or ended here: `late`, at `memory`.
        status: as `subprocess` has it: below 0 for a signal.
        begun: it had said BEGUN.
    """

    def __init__(
        self, why: Literal["ended", "late", "memory"], status: int, *, begun: bool = False
    ) -> None:
        super().__init__(why, status)
        self.why, self.status, self.begun = why, status, begun


class Worker:
    """A process that answers one message at a time."""

    def __init__(
        self, entry: str, env: Mapping[str, str] | None = None, *, quiet: bool = False
    ) -> None:
        """Prepare a process that is not started yet; `entry` is `module:function`, which serves."""
        self._entry, self._env, self._quiet = entry, env, quiet
        self._process: subprocess.Popen[bytes] | None = None
        self._asking: threading.Thread | None = None
        self._lock = threading.Lock()
        self.closed = False

    def start(self) -> None:
        """Start the process where none is running.

        Raises:
            OSError: the system does not.
        """
        with self._lock:
            if self.closed or (self._process is not None and self._process.poll() is None):
                return
            paths = [path or os.getcwd() for path in sys.path]  # noqa: PTH109
            self._process = subprocess.Popen(  # noqa: S603  (this Python, this package)
                [sys.executable, "-I", "-c", _START, self._entry, *paths],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL if self._quiet else None,
                env={**os.environ, **(self._env or {})},
            )

    def ask(self, message: Sequence[Part], bounds: Bounds = UNBOUNDED) -> list[bytearray]:
        """The answer to a message.

        Raises:
            NoAnswerError: the process ended, or was ended at a bound.
        """
        process = self._process
        if process is None:
            raise NoAnswerError("ended", 0)
        answers: SimpleQueue[list[bytearray] | None] = SimpleQueue()
        # Writing waits, too: for a process that does not read.
        asking = threading.Thread(
            target=_exchange, args=(process, message, answers, bounds.answer), daemon=True
        )
        asking.start()
        self._asking = asking
        try:
            return self._wait(process, answers, bounds)
        except BaseException:  # the rest of its answer would be taken for the next one
            self._end(process)
            raise

    def close(self) -> None:
        """End the process for good; an answer that is waited for will not come."""
        with self._lock:
            self.closed = True
            process = self._process
        if process is not None:
            self._end(process)

    def _wait(
        self,
        process: subprocess.Popen[bytes],
        answers: SimpleQueue[list[bytearray] | None],
        bounds: Bounds,
    ) -> list[bytearray]:
        seconds = bounds.seconds if bounds.loading is None else bounds.loading
        begun, since = False, time.monotonic()
        period = _LONGEST if bounds.memory is None else _PERIOD
        while True:
            left = _LONGEST if seconds is None else since + seconds - time.monotonic()
            try:
                answer = answers.get(timeout=max(0.0, min(left, period)))
            except Empty:
                if bounds.memory is not None and private_bytes(process.pid) > bounds.memory + _OWN:
                    raise NoAnswerError("memory", self._end(process), begun=begun) from None
                if seconds is not None and time.monotonic() >= since + seconds:
                    raise NoAnswerError("late", self._end(process), begun=begun) from None
                continue
            if answer is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_CLOSING)
                raise NoAnswerError("ended", self._end(process), begun=begun)
            if answer:
                return answer
            begun, since, seconds = True, time.monotonic(), bounds.seconds

    def _end(self, process: subprocess.Popen[bytes]) -> int:
        """Kill a process that still runs, and reap it; its status."""
        process.kill()
        status = process.wait()
        if self._asking is not None:
            self._asking.join(_CLOSING)  # closing a pipe waits for a thread that waits at it
            if self._asking.is_alive():
                return status
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was still to be written
                cast("BinaryIO", pipe).close()
        return status


def _exchange(
    process: subprocess.Popen[bytes],
    message: Sequence[Part],
    answers: SimpleQueue[list[bytearray] | None],
    most: int | None,
) -> None:
    """Send a message and put what comes into the queue, None where nothing more will."""
    try:
        send_message(cast("BinaryIO", process.stdin), message)
        while True:
            answer = receive_message(cast("BinaryIO", process.stdout), most)
            answers.put(answer)
            if answer:
                return
    except (EOFError, OSError):
        answers.put(None)
    except (ValueError, MemoryError, OverflowError):  # larger than it may be, or its pipe is closed
        process.kill()
        answers.put(None)


def private_bytes(pid: int) -> int:
    """Bytes in memory that are the process's own, without mapped files; 0 if unknown.

    Systems without /proc do not say.
    """
    with suppress(OSError, ValueError, IndexError):
        fields = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    return 0


def describe_end(status: int) -> Text:
    if status >= 0:
        return Text("ended with status {status}", status=status)
    try:
        name: str = signal.Signals(-status).name
    except ValueError:
        name = Text("signal {number}", number=-status)
    return Text("was ended by {name}", name=name)


def send_message(stream: BinaryIO, message: Sequence[Part]) -> None:
    """Send a message."""
    stream.write(len(message).to_bytes(_LENGTH, "little"))
    for part in message:
        stream.write(len(part).to_bytes(_LENGTH, "little"))
        stream.write(part)
    stream.flush()


def receive_message(stream: BinaryIO, most: int | None = None) -> list[bytearray]:
    """The next message.

    Raises:
        EOFError: the other side has ended, perhaps in the middle of it.
        OSError: the stream cannot be read.
        ValueError: a part has more than `most` bytes.
    """
    return [_read(stream, _read_number(stream), most) for _ in range(_read_number(stream))]


def _read_number(stream: BinaryIO) -> int:
    return int.from_bytes(_read(stream, _LENGTH), "little")


def _read(stream: BinaryIO, length: int, most: int | None = None) -> bytearray:
    if most is not None and length > most:
        raise ValueError
    data = bytearray(length)
    if cast("Any", stream).readinto(data) != length:
        raise EOFError
    return data


def run_entry(entry: str) -> None:
    """Call a `module:function`, as the first thing that a process does."""
    module, function = entry.split(":")
    getattr(import_module(module), function)()


def serve(handle: Callable[[list[bytearray]], Iterable[Sequence[Part]]]) -> None:
    """Answer the messages that come on standard input, on standard output; never return.

    What the work prints goes to standard error. The process ends when its input does, also in the
    middle of its work: one whose parent was killed is of no use to anybody.

    Args:
        handle: yields the answer to a message, and may yield BEGUN before it.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that asks ends this process, too
    messages, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  (a device)
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    waiting: SimpleQueue[list[bytearray]] = SimpleQueue()
    threading.Thread(target=_listen, args=(messages, waiting), daemon=True).start()
    while True:
        for answer in handle(waiting.get()):
            send_message(answers, answer)


def _listen(messages: BinaryIO, waiting: SimpleQueue[list[bytearray]]) -> None:
    """Put what comes into the queue; end the process when nothing more can come."""
    try:
        while True:
            waiting.put(receive_message(messages))
    except (EOFError, OSError):
        os._exit(0)


def leave_no_core() -> None:
    """Let this process write no image of its memory when it crashes; many would fill the disk."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def error_fields(error: AtcError) -> list[dict[str, Any]]:
    return [
        {
            "code": diagnostic.code.id,
            "message": packed(diagnostic.message),
            "place": packed(diagnostic.place._asdict()) if diagnostic.place else None,
            "help": packed(diagnostic.help),
            "rule": diagnostic.rule,
        }
        for diagnostic in error.diagnostics
    ]


def as_error(diagnostics: list[dict[str, Any]], otherwise: Code) -> AtcError:
    """The error of which `error_fields` made `diagnostics`; a code unknown here is `otherwise`."""
    return AtcError(
        *(
            Diagnostic(
                find_code(fields["code"]) or otherwise,
                fields["message"],
                None if fields["place"] is None else Place(**fields["place"]),
                fields["help"],
                fields["rule"],
            )
            for fields in diagnostics
        )
    )
