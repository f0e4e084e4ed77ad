"""Bytes between device memory, L2 and the cores."""

from collections.abc import Iterable

import msgspec

from atc_py.cost.factors import Cache, Case
from atc_py.cost.operation import LaunchGroup, Source, Transfer
from atc_py.target import Soc
from atc_py.target.rates import rates_of

_KIB = 1024


class Memory(msgspec.Struct, frozen=True):
    """Bytes that a kernel moves, and the time device memory needs for them.

    Attributes:
        read: bytes that the kernel reads once, at least.
        written: bytes that it writes.
        gm_read: seconds of device memory for what L2 does not hold.
        gm_write: seconds of device memory for what it writes.
        port_in: bytes a second into one core.
        port_out: bytes a second out of one core.
    """

    read: int
    written: int
    gm_read: float
    gm_write: float
    port_in: float
    port_out: float


def memory_of(launch: LaunchGroup, soc: Soc, case: Case) -> Memory:
    """The transfers of a kernel in one case."""
    rates, hertz = rates_of(soc), soc.mhz * 1e6 * case.factors.bandwidth
    everything = sum(each.nbytes for each in (*launch.reads, *launch.writes))
    read = _from_memory(launch.reads, soc, case.cache, everything)
    written = _from_memory(launch.writes, soc, case.cache, everything)
    return Memory(
        read=sum(each.nbytes for each in launch.reads),
        written=sum(each.nbytes for each in launch.writes),
        gm_read=read / (soc.gm_read * soc.aicores * hertz),
        gm_write=written / (soc.gm_write * soc.aicores * hertz),
        port_in=(rates.l2_read or soc.gm_read) * hertz,
        port_out=(max(rates.l2_write, rates.ub_out) if case.ideal else rates.ub_out) * hertz,
    )


def _from_memory(transfers: Iterable[Transfer], soc: Soc, cache: Cache, everything: int) -> int:
    """Bytes of `transfers` that device memory must give or take."""
    size = soc.l2_kib * _KIB
    total = 0
    for each in transfers:
        is_result = each.source is Source.RESULT and size > 0
        if cache is Cache.ALL:
            held = is_result or everything <= size
        else:
            held = cache is Cache.RESULTS and is_result and 2 * each.nbytes <= size
        total += 0 if held else each.nbytes
    return total
