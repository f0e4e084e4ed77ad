"""The biggest wins of a compiled model in words: where its time goes for no arithmetic."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from atc_py.report.overview.fusions import NearMiss, near_misses, reason_words, record_of
from atc_py.report.overview.words import Both, both, in_both

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from atc_py.cost.network import KernelCost, NetworkCost

__all__ = ["Win", "biggest_wins"]

_SHOWN = 3
_LEAST = 0.005
"""Least share of the time that is worth a sentence."""

_FUSING = (
    "fuse-",
    "merge-conv",
    "merge-matmul",
    "merge-elemwise",
    "merge-dequant",
    "merge-requant",
)
"""Beginnings of the names of passes that make one kernel of several nodes."""

_WHOLE = {"fuse-conv-batch-norm", "fuse-pad-conv", "fuse-pad-pool"}
"""Passes that take a kernel away whose operator begins the pattern, so that it alone is a near miss."""

_CONVERSIONS = {"Cast", "TransData"}
"""Kernels between two others that only convert what the first gives."""

_BOUNDS = {
    "memory": "内存带宽", "launch": "启动开销", "cube": " Cube ", "vector": " Vector ",
    "onchip": "片上搬运", "on-chip": "片上搬运", "aicpu": "AI CPU",
}  # fmt: skip


class Win(NamedTuple):
    """A place where time goes.

    Attributes:
        share: its share of the expected time.
        text: what it is and why.
        node: name of a compiled node that it is about; "" for none.
        pass_name: the pass that nearly applied; "" for none.
        helps: True if it says what can be done.
    """

    share: float
    text: Both
    node: str
    pass_name: str = ""
    helps: bool = True


def biggest_wins(cost: NetworkCost, report: Mapping[str, Any]) -> list[Win]:
    """Return the places that take most time among those that could take less.

    Args:
        cost: the estimate.
        report: the record of the compilation.
    """
    found = [*_not_fused(cost, report), *_moves(cost, report), *_on_aicpu(cost)]
    ops = {kernel.name: kernel.op for kernel in cost.kernels}
    known = {ops.get(win.node) for win in found}
    found += [win for win in _slow_operators(cost) if ops.get(win.node) not in known]
    ranked = sorted((win for win in found if win.share >= _LEAST), key=lambda win: -win.share)
    return ranked[:_SHOWN]


def _share(cost: NetworkCost, kernels: list[KernelCost]) -> float:
    """Return the share of the expected time that kernels take together."""
    whole = cost.time.expected
    return sum(kernel.cost.expected for kernel in kernels) / whole if whole else 0.0


def _not_fused(cost: NetworkCost, report: Mapping[str, Any]) -> Iterator[Win]:
    """Yield kernels of one operator that a fusion pass nearly took into their neighbors.

    A kernel of several operators is fused already, so its pass is not the reason for its time.
    """
    kernels = {kernel.name: kernel for kernel in cost.kernels if "+" not in kernel.op}
    nearest: dict[str, NearMiss] = {}
    for miss in near_misses(report):
        known = nearest.get(miss.node)
        is_near = miss.depth > 1 or miss.name in _WHOLE
        fuses = miss.name.startswith(_FUSING) and is_near and miss.node in kernels
        if fuses and (known is None or miss.depth > known.depth):
            nearest[miss.node] = miss
    for miss in nearest.values():
        kernel = kernels[miss.node]
        before = _before(cost, kernel)
        alike = [
            each
            for each in cost.kernels
            if each.op == kernel.op and _before(cost, each) == before and each is not kernel
        ]
        share, every = _share(cost, [kernel]), _share(cost, [kernel, *alike])
        after = (f" after {before}", f"{before} 之后的 ") if before else ("", "")
        count = len(alike) + 1
        more = (
            (f" ({count} such kernels: {every:.1%})", f"（此类核 {count} 个，共 {every:.1%}）")
            if alike
            else ("", "")
        )
        reason = reason_words(miss.reason)
        text = both(
            f"{kernel.op}{after[0]} takes {share:.1%}{more[0]}: not fused by {miss.name}, because "
            f"{reason[0]}",
            f"{after[1]}{kernel.op} 占 {share:.1%}{more[1]}：{miss.name} 未将其融合，原因：{reason[1]}",
        )
        yield Win(every, text, kernel.name, miss.name, helps=miss.name not in _WHOLE)


def _before(cost: NetworkCost, kernel: KernelCost) -> str:
    """Return the operators of the kernel before a kernel, conversions left aside; "" for none."""
    while kernel.after:
        kernel = cost.kernels[kernel.after[0]]
        if kernel.op not in _CONVERSIONS:
            return kernel.op
    return ""


def _moves(cost: NetworkCost, report: Mapping[str, Any]) -> Iterator[Win]:
    """Yield kernels that only change dtypes or storage, by what they do."""
    reasons = {
        str(row.get("name")): str(row.get("reason", ""))
        for rows in (
            record_of(report, "layout", "trans_data"),
            record_of(report, "precision", "casts"),
        )
        for row in rows or ()
    }
    for op, chinese in (("TransData", "转换存储格式"), ("Cast", "转换数据类型")):
        kernels = [kernel for kernel in cost.kernels if kernel.op == op]
        if not kernels:
            continue
        slowest = max(kernels, key=lambda kernel: kernel.cost.expected)
        share = _share(cost, kernels)
        reason = in_both(reasons.get(slowest.name, ""))
        why = f"; the slowest: {reason[0]}" if reason[0] else ""
        what = "storage formats" if op == "TransData" else "dtypes"
        text = both(
            f"{len(kernels)} {op} kernels take {share:.1%}: they only convert {what}{why}",
            f"{len(kernels)} 个 {op} 核占 {share:.1%}：仅{chinese}"
            + (f"；最慢者：{reason[1]}" if reason[1] else ""),
        )
        yield Win(share, text, slowest.name)


def _on_aicpu(cost: NetworkCost) -> Iterator[Win]:
    """Yield the kernels that run on the AI CPU, together."""
    kernels = [kernel for kernel in cost.kernels if kernel.engine == "aicpu"]
    if kernels:
        share = _share(cost, kernels)
        ops = ", ".join(dict.fromkeys(kernel.op for kernel in kernels))
        slowest = max(kernels, key=lambda kernel: kernel.cost.expected)
        text = both(
            f"{len(kernels)} kernels take {share:.1%} on the AI CPU, which is slow: {ops}",
            f"{len(kernels)} 个核在较慢的 AI CPU 上运行，占 {share:.1%}：{ops}",
        )
        yield Win(share, text, slowest.name)


def _slow_operators(cost: NetworkCost) -> Iterator[Win]:
    """Yield kinds of kernels by the share of the time that they are above their physical limit."""
    groups: dict[tuple[str, str], list[KernelCost]] = defaultdict(list)
    for kernel in cost.kernels:
        groups[kernel.op, kernel.cost.bound].append(kernel)
    for (op, bound), kernels in groups.items():
        seconds = sum(kernel.cost.expected for kernel in kernels)
        use = sum(kernel.cost.limit for kernel in kernels) / seconds if seconds else 0.0
        share = _share(cost, kernels)
        slowest = max(kernels, key=lambda kernel: kernel.cost.expected)
        why = {
            "launch": (
                "their launches take longer than their work: fusing them, or a larger batch, helps",
                "启动开销大于计算：融合或增大批量可改善",
            ),
            "memory": (
                "they wait for memory: fewer or smaller results between kernels help",
                "受内存带宽限制：减少核间中间结果可改善",
            ),
        }.get(bound, (f"they reach {use:.0%} of the peak rate", f"达到峰值的 {use:.0%}"))
        text = both(
            f"{len(kernels)} {op} kernels bound by {bound} take {share:.1%}: {why[0]}",
            f"{len(kernels)} 个 {op} 核受{_BOUNDS.get(bound, bound)}限制，占 {share:.1%}：{why[1]}",
        )
        helps = bound in {"launch", "memory"}
        yield Win(share * (1 - min(use, 1.0)), text, slowest.name, helps=helps)
