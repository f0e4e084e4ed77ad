"""Workers of the simulator: threads that share the work of one kernel.

numpy lets go of the interpreter while it computes, so threads run at once. BLAS is held to one
thread meanwhile: its own threads wait for each other in a loop, which costs ten times the work
where another process has one of the cores. Here a kernel has a part for each worker, as large as
can be: between two calls of numpy a thread takes the interpreter's lock, and may have to wait. One
that wakes up when all parts are taken is not waited for at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from queue import SimpleQueue
from threading import Lock, Thread
from typing import TYPE_CHECKING

import numpy as np

from atc_py.system.process import usable_threads

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController


ELEMENTS_AT_ONCE = 128 * 1024
"""Elements of an array that one call of numpy goes through, where work is cut into blocks.

A thread takes the interpreter's lock between two calls. If another one has it just then, it is put
to sleep, and to wake it up takes some 50 us: of calls of 5 us on two threads half are waiting. A
pass over so many elements takes 15 us. They are too many for the L2 cache of a core beside what
else the pass reads and writes, but the last one is no slower for passes that go straight ahead.
"""

PRODUCTS_AT_ONCE = 8 * 1024 * 1024
"""Multiplications of a matrix product below which a part is not worth a worker of its own.

They take some 100 us, and what follows as long again; to wake a thread up takes 20 us, and much
longer where cores are busy or asleep.
"""

ROWS_TOGETHER = 12
"""Rows of a matrix product that stay together, so that it is the same in every bit however it is cut.

BLAS multiplies so many at once; fewer, and columns at an end, it may add up in another order. A
part must not be so small that BLAS takes another way for it: 10^6 multiplications or fewer.
"""

_BUFFER = 1024
"""Elements of numpy's buffers.

numpy copies strided or broadcast rows into these buffers; rows longer than a buffer are read in
place, which is faster from some 320 elements on. Sums of strided views over several axes depend on
the buffer in the last bits, so kernels reduce contiguous arrays.
"""


@contextmanager
def computing() -> Iterator[None]:
    """Have numpy take overflow and NaN for values, and buffers that are short, on this thread."""
    with np.errstate(all="ignore"):  # which gives the buffers back as well
        np.setbufsize(_BUFFER)
        yield


def rows_of(rows: int, first: int, last: int, together: int = ROWS_TOGETHER) -> slice:
    """Rows of pieces `first` to `last` of a product; the last piece has what is left over, too."""
    start, stop = first * together, last * together
    return slice(start, stop if rows - stop >= together else rows)


class Workers:
    """A pool of threads, as many as this process may use.

    Which part a worker takes depends on timing; results do not, because parts write to places of
    their own and are cut the same way in every run. Overflow and NaN are values, not warnings.
    """

    def __init__(self, size: int | None = None) -> None:
        self.size = usable_threads() if size is None else size
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._threads = [
            Thread(target=_serve, args=(self._jobs,), name=f"sim_{index}", daemon=True)
            for index in range(self.size - 1)
        ]
        for thread in self._threads:
            thread.start()

    @cached_property
    def _blas(self) -> ThreadpoolController:
        """The libraries of BLAS that are loaded; a model that only loads needs none of them."""
        from threadpoolctl import ThreadpoolController

        return ThreadpoolController().select(user_api="blas")

    @contextmanager
    def running(self) -> Iterator[None]:
        """Limit BLAS to one thread for the block, which computes; calls of `split` belong inside."""
        with self._blas.limit(limits=1), computing():
            yield

    def split(self, total: int, action: Callable[[int, int], None], least: int = 1) -> None:
        """Call `action(start, stop)` on ranges that cover 0 to `total`, on all workers.

        Args:
            total: how many items there are.
            action: does the items from start to stop; must not touch those of other ranges.
            least: items below which a range is not worth sharing.

        Raises:
            BaseException: what `action` raised first, once no range is being worked on any more.
        """
        parts = self._parts(total, least)
        if parts == 1:
            action(0, total)
            return
        job = _Job(action, total, parts)
        for _ in range(min(len(self._threads), parts - 1)):
            self._jobs.put(job)
        job.work()
        job.wait()

    def shares(self, total: int, least: int = 1) -> bool:
        """True if `split` makes more than one range; the same for the pool's lifetime."""
        return self._parts(total, least) > 1

    def _parts(self, total: int, least: int) -> int:
        return max(1, min(self.size, total // max(least, 1))) if self.size > 1 else 1

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


class _Job:
    """Ranges of one `split`; whoever comes takes the next one until none is left."""

    def __init__(self, action: Callable[[int, int], None], total: int, parts: int) -> None:
        self._action = action
        self._bounds = [total * part // parts for part in range(parts + 1)]
        self._parts = parts
        # Counters are advanced and read in one step that no other thread comes between.
        self._taken, self._finished = count(), count(1)
        self._all_finished = Lock()
        self._all_finished.acquire()
        self._error: BaseException | None = None

    def work(self) -> None:
        """Do ranges until none is left; after an error the others are taken but not done."""
        with computing():  # a new thread does not have the caller's settings
            while (part := next(self._taken)) < self._parts:
                try:
                    if self._error is None:
                        self._action(self._bounds[part], self._bounds[part + 1])
                except BaseException as error:  # noqa: BLE001  (raised again by `wait`)
                    self._error = self._error or error
                if next(self._finished) == self._parts:
                    self._all_finished.release()

    def wait(self) -> None:
        """After all ranges are done; raises the first error.

        A thread may wake up for the job only later: what the action holds on to is let go of now.
        """
        self._all_finished.acquire()
        self._action = _nothing
        if self._error is not None:
            raise self._error


def _nothing(_start: int, _stop: int) -> None:
    """Do nothing: the action of a job that is done."""


def _serve(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        job.work()
