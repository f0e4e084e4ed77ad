"""The time part of the page: kernels of each SoC, roofs, memory over time, and the biggest wins."""

from atc_py.cost.network import KernelCost
from atc_py.cost.pipes import PIPES
from atc_py.report.overview.roofs import roofs_of
from atc_py.report.overview.words import in_both, name_text, table_json
from atc_py.report.profile.text import bound_text, calibration_tables, format_time
from atc_py.results.profile import GearCost, Profile, SocProfile


def time_json(done: Profile) -> dict[str, object]:
    """Return the estimates as the page shows them."""
    tables = [] if done.calibration is None else calibration_tables(done.calibration)
    return {
        "pipes": list(PIPES),
        "socs": [_soc(each) for each in done.socs],
        "calibration": [*map(table_json, tables)],
    }


def _soc(each: SocProfile) -> dict[str, object]:
    """Return one SoC."""
    cost = each.cost
    found: dict[str, object] = {"soc": each.soc, "verdict": in_both(each.verdict)}
    if cost is None:
        return found
    memory = cost.footprint
    return found | {
        "fits": cost.fits,
        "time": [cost.time.low, cost.time.expected, cost.time.high],
        "nodes": cost.nodes,
        "busy": cost.busy,
        "assumes": [*map(in_both, cost.assumptions())],
        "memory": {
            "total": memory.total,
            "weights": memory.weights,
            "ports": memory.ports,
            "arena": memory.arena,
            "workspace": memory.workspace,
            "planned": memory.planned,
            "device": cost.soc.memory,
            "results": list(memory.results),
        },
        "roofs": roofs_of(cost.soc),
        "kernels": [_kernel(kernel) for kernel in cost.kernels],
        "gears": [_gear(gear) for gear in each.gears],
    }


def _kernel(kernel: KernelCost) -> list[object]:
    """Return a kernel.

    It is [name of its first node, operators, engine, dtype, dims, formats, start, expected time,
    low, high, bottleneck, next bottleneck, use of the peak, cores, multiplications, vector
    elements, bytes read, bytes written, launch, seconds of each pipe, positions in the file].
    """
    span = kernel.cost
    return [
        name_text(kernel.name),
        kernel.op,
        kernel.engine,
        kernel.dtype,
        kernel.shapes,
        kernel.formats if kernel.has_blocks else "",
        *(_seconds(each) for each in (kernel.start, span.expected, span.low, span.high)),
        span.bound,
        in_both(bound_text(span)),
        round(span.utilization, 4),
        span.cores,
        span.macs,
        span.vector_elements,
        span.read,
        span.written,
        _seconds(span.overhead),
        [_seconds(getattr(span.pipes, pipe)) for pipe in PIPES],
        list(kernel.positions),
    ]


def _seconds(value: float) -> float:
    """Return a time to the nearest picosecond, which is short as text."""
    return round(value, 12)


def _gear(gear: GearCost) -> dict[str, object]:
    """Return the cost of one gear."""
    return {
        "values": list(gear.values),
        "time": format_time(gear.cost.time.expected),
        "memory": gear.cost.footprint.total,
    }
