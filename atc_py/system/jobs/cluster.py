"""Tasks on a Dask cluster: each worker gives them to processes of its own, as this machine would.

A task that crashes, hangs or takes too much memory so ends a process of the worker, not the worker.
Where a worker dies, the scheduler gives its tasks to others.
"""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from importlib import metadata
from typing import TYPE_CHECKING, Any, TypeVar

from atc_py import __version__
from atc_py.diag import CLUSTER_FAILED, NO_DISTRIBUTED, WORKER_VERSION, AtcError
from atc_py.system.jobs.lane import Lane, TaskAnswer, TaskFailure, TaskFailureKind
from atc_py.system.jobs.sent_files import FileBundle, forget_files, has_files, store_files
from atc_py.system.jobs.task_executor import TaskExecutor
from atc_py.system.memory_limit import memory_limit
from atc_py.system.worker import Bounds
from atc_py.text import Text

if TYPE_CHECKING:
    from distributed import Client


T = TypeVar("T")

_PERIOD = 1.0
"""Seconds for which the number of workers is believed."""

_PATIENCE = 5.0
"""Seconds in which a scheduler must answer."""

_GATHERING = 10.0
"""Seconds in which it must have a worker; one that died is started again meanwhile."""


def open_cluster(address: str, memory: int | None) -> TaskExecutor:
    """The executor of a cluster, whose workers have this version of atc-py."""
    try:
        from distributed import Client
    except ImportError:
        raise NO_DISTRIBUTED.error(
            Text("--dask needs `distributed`, which is not installed")
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # it prints what is raised anyway
    client = Client.__new__(Client)
    try:
        client.__init__(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        # Without this the collector would close it, maybe while distributed holds the lock that
        # closing takes, and this process would wait for itself.
        with suppress(Exception):
            client.close(timeout=_PATIENCE)
        raise _failed(address, Text("does not answer: {reason}", reason=_reason(error))) from error
    try:
        client.wait_for_workers(1, timeout=_GATHERING)
        _check_versions(client)
    except BaseException as error:
        client.close(timeout=_PATIENCE)
        if isinstance(error, AtcError) or not isinstance(error, Exception):
            raise
        raise _failed(address, Text("has no workers")) from error
    return _Cluster(client, address, memory)


class _Cluster(TaskExecutor):
    elsewhere = True

    def __init__(self, client: Client, address: str, memory: int | None) -> None:
        self._client = client
        self._address = address
        self._memory = memory
        self._executor = client.get_executor(pure=False)
        self._sent: set[str] = set()
        self._threads, self._asked = 1, float("-inf")

    @property
    def jobs(self) -> int:  # type: ignore[override]  # workers come and go
        """Tasks that the workers can run at once.

        Raises:
            AtcError: CLUSTER_FAILED; the scheduler is gone.
        """
        if time.monotonic() >= self._asked + _PERIOD:
            try:
                self._threads = sum(self._client.nthreads().values()) or 1
            except OSError as error:
                raise self._lost(error) from error
            self._asked = time.monotonic()
        return self._threads

    def share(self, bundles: Iterable[FileBundle]) -> set[str]:
        """Send files to workers that do not have them by the same path, and to those that come.

        Raises:
            AtcError: a file cannot be read, or a worker cannot keep it.
        """
        for bundle in bundles:
            if bundle.digest in self._sent or self._is_shared(bundle):
                continue
            names = zip(bundle.names(), bundle.files, strict=True)
            contents = {name: path.read_bytes() for name, path in names if path.is_file()}
            self._client.register_plugin(_sending(bundle.digest, contents), name=bundle.digest)
            self._sent.add(bundle.digest)
        return self._sent

    def _is_shared(self, bundle: FileBundle) -> bool:
        """True if each worker finds the files of a bundle by their paths."""
        try:
            facts = [(str(path.absolute()), path.stat()) for path in bundle.files]
        except OSError:
            return True  # it cannot be read here, which its tasks will say
        known = [(path, stat.st_size, stat.st_mtime_ns) for path, stat in facts]
        return all(self._client.run(has_files, known).values())

    def close(self) -> None:
        with suppress(Exception):  # a cluster that is gone has no processes
            for digest in self._sent:
                self._client.unregister_worker_plugin(digest)
            self._client.run(_release, on_error="ignore", wait=True)
        with suppress(Exception):
            self._executor.shutdown(wait=False)
            self._client.close(timeout=_PATIENCE)

    def _submit(
        self, function: Callable[[T], Any], task: T, seconds: float | None
    ) -> Future[TaskAnswer]:
        call, limits = pickle.dumps((function, task)), Bounds(seconds, memory=self._memory)
        future: Future[TaskAnswer] = self._executor.submit(_run, call, limits, __version__)
        return future

    def _abandon(self, futures: Iterable[Future[TaskAnswer]]) -> None:
        """Cancel tasks that nobody waits for any more; a cluster that is gone has none."""
        with suppress(Exception):
            super()._abandon(futures)

    def _answer(self, future: Future[TaskAnswer]) -> TaskAnswer:
        from distributed import KilledWorker

        try:
            return future.result()
        except AtcError:
            raise
        except KilledWorker:
            text = Text("the workers that it was assigned to have ended")
            return TaskAnswer(failure=TaskFailure(TaskFailureKind.CRASHED, text))
        except (Exception, CancelledError) as error:
            raise self._lost(error) from error

    def _lost(self, error: BaseException) -> AtcError:
        return _failed(self._address, Text("was lost: {reason}", reason=_reason(error)))


def _sending(digest: str, contents: dict[str, bytes]) -> Any:
    from distributed import WorkerPlugin

    class Sent(WorkerPlugin):  # type: ignore[misc]  # a library without types
        """Files that each worker keeps."""

        def setup(self, worker: object) -> None:
            store_files(digest, contents)

        def teardown(self, worker: object) -> None:
            forget_files([digest])

    return Sent()


_LANES = threading.local()
"""The process of each thread of a worker."""

_ALL: list[Lane] = []


def _run(call: bytes, limits: Bounds, version: str) -> TaskAnswer:
    if version != __version__:
        raise _other_version({_here(): __version__}, version)
    lane = getattr(_LANES, "lane", None)
    if lane is None or lane.closed:
        lane = _LANES.lane = Lane()
        _ALL.append(lane)
    answer: TaskAnswer = lane.run(call, limits.memory or _share(), limits)
    return answer


def _share() -> int:
    """Bytes that a task of this worker may take, as far as it knows of others."""
    from distributed import get_worker

    worker = get_worker()
    own = worker.memory_manager.memory_limit or memory_limit()
    return int(min(own, memory_limit()) // worker.state.nthreads)


def _release() -> None:
    while _ALL:
        _ALL.pop().stop()


def _here() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _version() -> str:
    return __version__


def _check_versions(client: Client) -> None:
    versions: Mapping[str, Any] = client.run(_version, on_error="return")
    unfit = {}
    for worker, version in versions.items():
        if version == __version__:
            continue
        known = version
        if not isinstance(version, str):  # this function came with a later version than its
            asked = client.run(metadata.version, "atc-py", workers=[worker], on_error="return")
            known = asked[worker] if isinstance(asked[worker], str) else "none"
        unfit[worker] = known
    if unfit:
        raise _other_version(unfit, __version__)


def _other_version(unfit: Mapping[str, str], own: str) -> AtcError:
    text = Text("worker {name} has atc-py {version}, this machine has atc-py {own}")
    texts = (
        text.with_values(name=name, version=version, own=own)
        for name, version in sorted(unfit.items())
    )
    return AtcError(*map(WORKER_VERSION.diagnostic, texts))


def _failed(address: str, what: str) -> AtcError:
    return CLUSTER_FAILED.error(
        Text("the Dask scheduler at {address} {what}", address=address, what=what)
    )


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:200]
