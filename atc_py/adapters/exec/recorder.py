"""The recorder of a process: its record goes to a file of the run, and is current when it dies."""

import atexit
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

from atc_py.adapters.exec.counters import RunCounters
from atc_py.adapters.exec.records import ModelRecord, ProcessRecord
from atc_py.adapters.exec.settings import COUNTS, NOTICES, PROCESSES, ExecSettings, read_settings
from atc_py.text.packed import packed

_SHARE = 20
"""Seconds of work for each second of writing records, at least."""

_BLOCK = 1 << 20


class Recorder:
    """The record of this process; a fork starts one of its own."""

    def __init__(self, run: Path) -> None:
        """Begin.

        Raises:
            OSError: the run is over.
        """
        self.settings: ExecSettings = read_settings(run)
        self._run = run
        self._digests: dict[tuple[object, ...], str] = {}
        self._begin()
        atexit.register(self.write)
        _call_first(self.write)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._models: dict[tuple[str, str], ModelRecord] = {}
        self._file = self._run / f"{PROCESSES}{os.getpid()}-{time.time_ns()}.json"
        self._counters: RunCounters | None = None
        self._rows: dict[tuple[str, str], int] = {}
        self._notices = 0
        self._dirty = False
        self._wait_until = 0.0

    @contextmanager
    def change(self, key: tuple[str, str], *, now: bool = False) -> Iterator[ModelRecord]:
        """Give the record of a model to change; write it out if `now`, or if it was not just done."""
        with self._lock:
            record = self._models.setdefault(key, ModelRecord(*key))
            yield record
            self._dirty = True
            if now or time.monotonic() >= self._wait_until:
                self.write()

    def count(self, key: tuple[str, str], place: str, seconds: float) -> None:
        """Count a run of a model on `npu`, in `onnxruntime` or in its `shadow`."""
        with self._lock:
            record = self._models.setdefault(key, ModelRecord(*key))
            getattr(record, place).add(seconds)
            is_first = key not in self._rows  # since the start or a fork
            row = self._rows.setdefault(key, list(self._models).index(key))
            if self._counters is None and is_first:
                with suppress(OSError):
                    self._counters = RunCounters(self._file.with_suffix(COUNTS))
            is_kept = self._counters is not None and self._counters.put(row, record)
            if is_first or not is_kept:
                self._dirty = True
                if is_first or time.monotonic() >= self._wait_until:
                    self.write()

    def write(self) -> None:
        """Write the record of this process, if it has changed."""
        with self._lock:
            if not self._dirty:
                return
            self._dirty = False
            start = time.monotonic()
            self._put(self._file, asdict(self._record()))
            end = time.monotonic()
            self._wait_until = end + _SHARE * (end - start)

    def _record(self) -> ProcessRecord:
        command = [*getattr(sys, "orig_argv", sys.argv)]
        version = ".".join(map(str, sys.version_info[:3]))
        return ProcessRecord(
            os.getpid(), os.getppid(), command, version, list(self._models.values())
        )

    def say(
        self, finding: dict[str, Any], status: int | None = None, more: Sequence[object] = ()
    ) -> None:
        """Have the launcher print a finding now, with its reasons; a status ends the program."""
        with self._lock:
            self._notices += 1
            name = f"{NOTICES}{time.time_ns()}-{os.getpid()}-{self._notices}.json"
            self._put(self._run / name, {"finding": finding, "status": status, "more": [*more]})
            with suppress(OSError):
                os.kill(self.settings.launcher, signal.SIGCHLD)

    def _put(self, file: Path, value: dict[str, Any]) -> None:
        """Write a file of the run at once; after the end of the run there is no folder for it."""
        part = file.with_suffix(".part")
        with suppress(OSError):
            part.write_text(json.dumps(packed(value)), encoding="utf-8", errors="backslashreplace")
            part.replace(file)

    def digest(self, model: str | bytes) -> tuple[str, int]:
        """The digest of a model and its bytes; of a file that cannot be read, none."""
        if isinstance(model, bytes):
            return sha256(model).hexdigest(), len(model)
        try:
            facts = os.stat(model)  # noqa: PTH116  (a path of any form)
            key = (model, facts.st_ino, facts.st_size, facts.st_mtime_ns)
            if key not in self._digests:
                self._digests[key] = _file_digest(model)
        except (OSError, ValueError):  # onnxruntime says what is wrong with it
            return "", 0
        return self._digests[key], facts.st_size


def _file_digest(path: str) -> str:
    digest = sha256()
    with Path(path).open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _call_first(action: Callable[[], None]) -> None:
    """Call `action` before the process ends without Python's own ending, or becomes another program."""
    for name in ("_exit", "execv", "execve"):
        function: Any = getattr(os, name)

        def called(*args: Any, _function: Any = function, **options: Any) -> Any:
            with suppress(Exception):
                action()
            return _function(*args, **options)

        called.__name__, called.__doc__ = name, function.__doc__
        setattr(os, name, called)
