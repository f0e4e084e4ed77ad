"""The forms of a profile by name."""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from atc_py.cost.calibration import Calibration, OperatorError
from atc_py.cost.factors import PIPES
from atc_py.cost.network import KernelCost, NetworkCost
from atc_py.onnx_graph.source import FileGraph
from atc_py.report.profile.text import PIPE_NAMES, profile_tables
from atc_py.report.tables import csv_cell, plain_lines
from atc_py.results.cann_nodes import semantics_json
from atc_py.results.compiled_model import CompiledModel
from atc_py.results.profile import Profile, SocProfile
from atc_py.results.summary import ModelSummary
from atc_py.system.json_text import json_values

_HEAD = (
    "soc", "kernel", "name", "op", "engine", "dtype", "shapes", "start_us", "time_us", "low_us",
    "high_us", "share", "bound", "limiter", "utilization", "cores", "macs", "bytes_read",
    "bytes_written", "origins",
)  # fmt: skip


def profile_json(done: Profile) -> str:
    """The profile as a JSON document; times are seconds."""
    document = {
        "model": str(done.model),
        "calibration": None if done.calibration is None else calibration_json(done.calibration),
        **semantics_json(done.semantics),
        "newer": done.newer,
        "socs": [_soc(soc) for soc in done.socs],
        "gears": [row for profile in done.socs for row in _gears(profile)],
        **({} if done.measured is None else {"measured": json_values(done.measured)}),
    }
    return json.dumps(document, indent=2) + "\n"


def _gears(profile: SocProfile) -> list[dict[str, object]]:
    return [
        {
            "soc": profile.soc,
            "gear": list(gear.values),
            "inputs": json_values(gear.shapes),
            "time": gear.cost.time.as_json(),
            "samples_per_second": gear.throughput if gear.samples else None,
            "best": gear is profile.best,
            "memory": gear.cost.footprint.total,
            "kernels": len(gear.cost.kernels),
        }
        for gear in profile.gears
    ]


def calibration_json(done: Calibration) -> dict[str, object]:
    """Refitted factors and their errors; errors are natural logarithms."""
    return {
        "soc": done.soc,
        "measurements": done.count,
        "factors": done.fit.factors.as_json(),
        "error_before": done.before,
        "error_after": done.fit.spread,
        "operators": _errors(done.operators),
        "files": _errors(done.files),
        "left_out": [{"op": op, "why": why, "kernels": n} for (op, why), n in done.left_out],
    }


def _errors(errors: Sequence[OperatorError]) -> dict[str, object]:
    return {
        each.op: {"count": each.count, "before": each.before, "after": each.after}
        for each in errors
    }


def _soc(profile: SocProfile) -> dict[str, object]:
    cost = profile.cost
    head = {"soc": profile.soc, "compiles": cost is not None, "verdict": profile.verdict}
    if cost is None:
        return {**head, "refusals": json_values(profile.refusals)}
    memory = cost.footprint
    return {
        **head,
        "fits": cost.fits,
        "bound": cost.bound,
        "run": cost.run,
        "evidence": cost.evidence,
        "time": cost.time.as_json(),
        "assumptions": cost.assumptions(),
        "nodes": cost.nodes,
        "pipes_busy": cost.busy,
        "memory": {
            "total": memory.total,
            "weights": memory.weights,
            "inputs_and_outputs": memory.ports,
            "results": memory.arena,
            "workspace": memory.workspace,
            "planned": memory.planned,
            "device": cost.soc.memory,
            "over_time": list(memory.results),
        },
        "operators": [_operator(cost, op, kernels) for op, kernels in cost.by_operator().items()],
        "kernels": [_kernel(cost, kernel) for kernel in cost.kernels],
    }


def _operator(cost: NetworkCost, op: str, kernels: list[KernelCost]) -> dict[str, object]:
    seconds = sum(kernel.cost.expected for kernel in kernels)
    return {
        "op": op,
        "kernels": len(kernels),
        "time": seconds,
        "share": seconds / cost.in_kernels,
        "utilization": sum(kernel.cost.limit for kernel in kernels) / seconds,
        "bytes": sum(kernel.cost.read + kernel.cost.written for kernel in kernels),
    }


def _kernel(cost: NetworkCost, kernel: KernelCost) -> dict[str, object]:
    span = kernel.cost
    return {
        "name": kernel.name,
        "op": kernel.op,
        "engine": kernel.engine,
        "dtype": kernel.dtype,
        "shapes": kernel.shapes,
        "formats": kernel.formats,
        "origins": list(kernel.origins),
        "positions": list(kernel.positions),
        "start": kernel.start,
        "time": {"low": span.low, "expected": span.expected, "high": span.high},
        "share": span.expected / cost.in_kernels,
        "bound": span.bound,
        "limiter": span.limiter,
        "compute_bound": span.is_compute_bound,
        "utilization": span.utilization,
        "cores": span.cores,
        "launch": span.overhead,
        "pipes": span.pipes.as_json(),
        "macs": span.macs,
        "bytes_read": span.read,
        "bytes_written": span.written,
        "open_extents": kernel.has_open,
    }


def profile_csv(done: Profile) -> str:
    """The kernels of all SoCs as CSV; times are microseconds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_HEAD)
    for cost in done.costs:
        whole = cost.in_kernels
        for at, kernel in enumerate(cost.kernels):
            span = kernel.cost
            times = (kernel.start, span.expected, span.low, span.high)
            writer.writerow([
                cost.soc.name, at, csv_cell(kernel.name), kernel.op, kernel.engine, kernel.dtype,
                kernel.shapes, *(f"{seconds * 1e6:.3f}" for seconds in times),
                f"{span.expected / whole:.4f}", span.bound, span.limiter,
                f"{span.utilization:.4f}", span.cores,
                span.macs, span.read, span.written, csv_cell(";".join(kernel.origins)),
            ])  # fmt: skip
    return text.getvalue()


def _text(done: Profile) -> str:
    return "\n\n".join("\n".join(plain_lines(table)) for table in profile_tables(done)) + "\n"


def profile_html(
    done: Profile, file_graph: FileGraph | None = None, compiled: CompiledModel | None = None
) -> str:
    from atc_py.report.page.html_page import summary_html  # jinja2 takes long to import

    return summary_html(
        ModelSummary(done.model, file_graph=file_graph, compiled=compiled, profile=done)
    )


PROFILE_FORMATS: dict[str, Callable[[Profile], str]] = {
    "text": _text,
    "json": profile_json,
    "csv": profile_csv,
    "html": profile_html,
}


_MICRO = 1e6
_CORES, _PIPES, _TRANSFERS, _MEMORY = 1, 2, 3, 4
_AICPU = 1000
_READ, _WRITE = 0, 1


def trace_json(cost: NetworkCost) -> str:
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
