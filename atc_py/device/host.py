"""`python -m atc_py.device.host`: a process that has a device and carries out requests.

It reads requests from its standard input and answers to its standard output, see `messages`; what
the back end itself prints goes to standard error. It ends when its input does.
"""

import os
import queue
import signal
import sys
import threading
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from numpy.typing import NDArray

from atc_py.device.backend import DeviceBackend, DeviceModel, load_stored
from atc_py.device.guarded import find_guarded
from atc_py.device.messages import as_fields, receive, send
from atc_py.diag import AtcError
from atc_py.package.reader import OfflineModel, open_model
from atc_py.system.memory_limit import limited_memory

_Request = tuple[dict[str, Any], "dict[str, NDArray[Any]]"]


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more.

    Reading is another thread's work: where the one that asks is gone, this process ends even
    while the back end is busy.
    """
    waiting: queue.Queue[_Request] = queue.Queue()
    threading.Thread(target=_read, args=(requests, waiting), daemon=True).start()
    with ExitStack() as stack:
        device = _Device(stack)
        while True:
            fields, arrays = waiting.get()
            try:
                answer, made = device.answer(fields, arrays)
            except AtcError as error:
                answer, made = {"diagnostics": as_fields(error)}, {}
            send(answers, answer, made)


def _read(requests: BinaryIO, waiting: queue.Queue[_Request]) -> None:
    """Put what comes into the queue; end the process when nothing more can come."""
    try:
        while True:
            waiting.put(receive(requests))
    except (EOFError, OSError, ValueError):
        os._exit(0)


class _Device:
    """The back end and the one model on it."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._backend: DeviceBackend | None = None
        self._handle: DeviceModel | None = None

    def answer(
        self, fields: dict[str, Any], arrays: dict[str, NDArray[Any]]
    ) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Do what a request asks for; fields and arrays of the answer.

        Raises:
            AtcError: what the device and the reader of the model raise.
        """
        if fields["ask"] == "open":
            self._stack.enter_context(limited_memory(fields["limit"]))
            self._backend = find_guarded(fields["device"])
            self._backend.open()
        elif self._backend is not None and fields["ask"] == "load":
            package: OfflineModel = self._stack.enter_context(open_model(Path(fields["path"])))
            if fields["gear"] is not None:
                package = package.at_gear(fields["gear"])
            self._handle = load_stored(self._backend, package, fields["storage"])
        elif self._backend is not None and self._handle is not None:
            if fields["ask"] == "run":
                return {}, self._backend.run(self._handle, arrays)
            return {"rows": [asdict(row) for row in self._backend.profile(self._handle)]}, {}
        return {}, {}


def _main() -> None:
    """Serve on the standard streams; the back end has standard error for its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one that asks ends this process, too
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    _main()
