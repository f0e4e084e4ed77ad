"""A profile as a trace in Chrome's format, which Perfetto opens.

Times are those that are expected; a pipe's slice says how long it is busy, from the start of the
kernel on, not when within the kernel.
"""

import json
from collections.abc import Iterator
from typing import Any

from atc_py.cost.factors import PIPES
from atc_py.cost.network import KernelCost, NetworkCost
from atc_py.report.profile.text import PIPE_NAMES

_MICRO = 1e6
_CORES, _PIPES, _TRANSFERS, _MEMORY = 1, 2, 3, 4
_AICPU = 1000
_READ, _WRITE = 0, 1


def trace_json(cost: NetworkCost) -> str:
    """The trace of one run: cores, pipes of the busiest core, transfers, and memory."""
    events = [*_names(cost), *(event for kernel in cost.kernels for event in _slices(kernel))]
    events += _counters(cost)
    document = {
        "displayTimeUnit": "ns",
        "otherData": {
            "model": cost.model, "soc": cost.soc.name, "times": "expected",
            "assumptions": cost.assumptions(),
        },
        "traceEvents": events,
    }  # fmt: skip
    return json.dumps(document) + "\n"


def _names(cost: NetworkCost) -> Iterator[dict[str, Any]]:
    processes = {
        _CORES: f"{cost.soc.name}: cores",
        _PIPES: "pipes of the busiest core",
        _TRANSFERS: "transfers",
        _MEMORY: "device memory",
    }
    for pid, name in processes.items():
        yield _name_event("process_name", pid, 0, name)
        order = {"sort_index": pid}
        yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": order}
    for core in range(max((kernel.cost.cores for kernel in cost.kernels), default=0)):
        yield _name_event("thread_name", _CORES, core, f"core {core}")
    if any(kernel.engine == "aicpu" for kernel in cost.kernels):
        yield _name_event("thread_name", _CORES, _AICPU, "AI CPU")
    for tid, pipe in enumerate(PIPES):
        yield _name_event("thread_name", _PIPES, tid, PIPE_NAMES[pipe])
    yield _name_event("thread_name", _TRANSFERS, _READ, "read")
    yield _name_event("thread_name", _TRANSFERS, _WRITE, "written")


def _name_event(what: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def _slices(kernel: KernelCost) -> Iterator[dict[str, Any]]:
    """Yield a kernel on its cores, its pipes and its transfers; its launch comes first."""
    cost = kernel.cost
    start = kernel.start + cost.overhead
    about = {
        "name": kernel.name, "computes": list(kernel.origins), "shapes": kernel.shapes,
        "formats": kernel.formats,
        "dtype": kernel.dtype, "bound": cost.bound, "utilization": cost.utilization,
        "low_us": cost.low * _MICRO, "high_us": cost.high * _MICRO,
    }  # fmt: skip
    tracks = range(cost.cores) if kernel.engine == "aicore" else (_AICPU,)
    busy = cost.expected - cost.overhead
    for core in tracks:
        yield _slice(kernel.op, (_CORES, core), (start, busy), about)
    for tid, pipe in enumerate(PIPES):
        seconds = getattr(cost.pipes, pipe)
        if seconds:
            yield _slice(kernel.op, (_PIPES, tid), (start, min(seconds, busy)), {})
    for tid, seconds, count in (
        (_READ, cost.pipes.mte2, cost.read),
        (_WRITE, cost.pipes.mte3, cost.written),
    ):
        if seconds and count:
            rate = {"bytes": count, "bytes_per_second": count / seconds}
            yield _slice(kernel.op, (_TRANSFERS, tid), (start, min(seconds, busy)), rate)


def _slice(
    name: str, track: tuple[int, int], when: tuple[float, float], about: dict[str, Any]
) -> dict[str, Any]:
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": track[0], "tid": track[1],
        "ts": when[0] * _MICRO, "dur": when[1] * _MICRO, "args": about,
    }  # fmt: skip


def _counters(cost: NetworkCost) -> Iterator[dict[str, Any]]:
    """Yield memory as a counter: at the start of each kernel, and at the end of the run."""
    memory = cost.footprint
    fixed = memory.weights + memory.ports
    points = [
        (kernel.start, held)
        for kernel, held in zip(cost.kernels, memory.results, strict=True)
    ]  # fmt: skip
    for when, held in (*points, (cost.time.expected, 0)):
        yield {
            "ph": "C", "name": "bytes", "pid": _MEMORY, "tid": 0, "ts": when * _MICRO,
            "args": {"results": held, "weights, inputs and outputs": fixed},
        }  # fmt: skip
