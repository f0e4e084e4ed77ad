"""The biggest wins of a compiled model in words: where its time goes for no arithmetic."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from atc_py.report.overview.words import Both, both

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from atc_py.cost.network import KernelCost, NetworkCost

__all__ = ["Win", "biggest_wins"]

_SHOWN = 3
_LEAST = 0.005
"""Least share of the time that is worth a sentence."""

_BOUNDS = {
    "memory": "内存带宽", "launch": "启动开销", "cube": "矩阵单元", "vector": "向量单元",
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
    known = {win.node for win in found}
    found += [win for win in _slow_operators(cost) if win.node not in known]
    ranked = sorted((win for win in found if win.share >= _LEAST), key=lambda win: -win.share)
    return ranked[:_SHOWN]


def _share(cost: NetworkCost, kernels: list[KernelCost]) -> float:
    """Return the share of the expected time that kernels take together."""
    whole = cost.time.expected
    return sum(kernel.cost.expected for kernel in kernels) / whole if whole else 0.0


def _rows(report: Mapping[str, Any], *keys: str) -> Any:
    """Return a part of the report; an empty dict where there is none."""
    found: Any = report
    for key in keys:
        found = found.get(key, {}) if isinstance(found, dict) else {}
    return found


def _not_fused(cost: NetworkCost, report: Mapping[str, Any]) -> Iterator[Win]:
    """Yield kernels that a fusion pass nearly took into their neighbors."""
    kernels = {kernel.name: kernel for kernel in cost.kernels}
    for section in ("graph_fusion", "ub_fusion"):
        for name, effect in _rows(report, "fusion_result", section).items():
            miss = _rows(effect, "nearest_miss")
            kernel = kernels.get(str(miss.get("node", "")))
            if kernel is None:
                continue
            alike = [each for each in cost.kernels if each.op == kernel.op]
            share = _share(cost, [kernel])
            after = _after(cost, kernel)
            text = both(
                f"{kernel.op}{after[0]} takes {share:.1%} ({len(alike)} such kernels "
                f"{_share(cost, alike):.1%}): {name} did not apply because {miss.get('reason', '')}",
                f"{after[1]}{kernel.op} 占 {share:.1%}（同类 {len(alike)} 个核共 "
                f"{_share(cost, alike):.1%}）：{name} 未生效，原因：{miss.get('reason', '')}",
            )
            yield Win(share, text, kernel.name, name)


def _after(cost: NetworkCost, kernel: KernelCost) -> tuple[str, str]:
    """Return ` after Concat` in both languages; empty where nothing comes before."""
    if not kernel.after:
        return "", ""
    op = cost.kernels[kernel.after[0]].op
    return f" after {op}", f"{op} 之后的 "


def _moves(cost: NetworkCost, report: Mapping[str, Any]) -> Iterator[Win]:
    """Yield kernels that only change dtypes or storage, by what they do."""
    reasons = {
        str(row.get("name")): str(row.get("reason", ""))
        for rows in (_rows(report, "layout", "trans_data"), _rows(report, "precision", "casts"))
        for row in rows or ()
    }
    for op, chinese in (("TransData", "转换存储格式"), ("Cast", "转换数据类型")):
        kernels = [kernel for kernel in cost.kernels if kernel.op == op]
        if not kernels:
            continue
        slowest = max(kernels, key=lambda kernel: kernel.cost.expected)
        share = _share(cost, kernels)
        reason = reasons.get(slowest.name, "")
        why = f"; the slowest: {reason}" if reason else ""
        what = "storage formats" if op == "TransData" else "dtypes"
        text = both(
            f"{len(kernels)} {op} kernels take {share:.1%}: they only convert {what}{why}",
            f"{len(kernels)} 个 {op} 核占 {share:.1%}：仅{chinese}"
            + (f"；最慢者：{reason}" if reason else ""),
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
