"""The biggest wins of a compiled model in words, and fusions that nearly were."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from atc_py.cost.network import KernelCost, NetworkCost
from atc_py.report.model.records import recorded_text
from atc_py.report.page.words import in_both, name_text
from atc_py.text import Text


class NearMiss(NamedTuple):
    """The place where a pass nearly applied."""

    name: str
    node: str  # the compiled node that the pass would have taken into another
    reason: str  # why it does not apply
    depth: int  # nodes of the pattern that were there


def _record_of(report: Mapping[str, Any], *keys: str) -> Any:
    """A part of the record of a compilation; an empty dict where there is none."""
    part: Any = report
    for key in keys:
        part = part.get(key, {}) if isinstance(part, dict) else {}
    return part


def _passes(report: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for section in ("graph_fusion", "ub_fusion"):
        found = _record_of(report, "fusion_result", section)
        for name, effect in found.items() if isinstance(found, dict) else ():
            if isinstance(effect, dict):  # an offline model may say anything here
                yield name, effect


def _miss_of(effect: Mapping[str, Any]) -> dict[str, Any]:
    miss = effect.get("nearest_miss")
    return miss if isinstance(miss, dict) else {}


def _reason(miss: Mapping[str, Any]) -> Text:
    return recorded_text(str(miss.get("reason", "")))


def near_misses(report: Mapping[str, Any]) -> Iterator[NearMiss]:
    """Yield the nearest miss of each pass that has one, as `convert --why-not` tells it."""
    for name, effect in _passes(report):
        miss = _miss_of(effect)
        if miss.get("node"):
            depth = miss.get("depth", 0)
            joins = name.startswith("merge-")  # what follows joins the launch of the anchor
            node = miss["node"] if joins else miss.get("anchor") or miss["node"]
            yield NearMiss(name, str(node), _reason(miss), depth if isinstance(depth, int) else 0)


def fusions_json(report: Mapping[str, Any]) -> list[list[object]]:
    """The passes that found something.

    A row is [pass, ATC's names, places matched, places rewritten, node of the nearest miss, why].
    """
    rows: list[list[object]] = []
    for name, effect in _passes(report):
        miss = _miss_of(effect)
        if not miss and not effect.get("match_times"):
            continue
        names = effect.get("atc_names")
        rows.append([
            name_text(name),
            name_text(", ".join(map(str, names if isinstance(names, list) else ()))),
            effect.get("match_times", 0),
            effect.get("effect_times", 0),
            name_text(str(miss.get("node", ""))) if miss else "",
            in_both(_reason(miss)) if miss else "",
        ])  # fmt: skip
    return rows


_SHOWN = 3
_LEAST = 0.005
"""Least share of the time that is worth a sentence."""

_FUSING = (
    "fuse-",
    "merge-conv",
    "merge-matmul",
    "merge-branches",
    "merge-groups",
    "merge-elemwise",
    "merge-dequant",
    "merge-requant",
)
"""Beginnings of the names of passes that make one kernel of several nodes."""

_WHOLE = {"fuse-conv-batch-norm", "fuse-pad-conv", "fuse-pad-pool"}
"""Passes that take a kernel away whose operator begins the pattern, so that it alone is a near miss."""

_CONVERSIONS = {"Cast", "TransData"}
"""Kernels between two others that only convert what the first gives."""

_REMEDIES = {
    "launch": Text(
        "their launches take longer than their computation: fuse them or use a larger batch"
    ),
    "memory": Text("they wait for memory: have fewer or smaller intermediate results"),
}


class Win(NamedTuple):
    """A place where time goes."""

    share: float  # its share of the expected time
    text: Text  # what it is and why
    node: str  # name of a compiled node that it is about; "" for none
    pass_name: str = ""  # the pass that nearly applied; "" for none
    helps: bool = True  # True if it says what can be done


def biggest_wins(cost: NetworkCost, report: Mapping[str, Any]) -> list[Win]:
    found = [*_not_fused(cost, report), *_moves(cost, report), *_on_aicpu(cost)]
    ops = {kernel.name: kernel.op for kernel in cost.kernels}
    known = {ops.get(win.node) for win in found}
    found += [win for win in _slow_operators(cost) if ops.get(win.node) not in known]
    ranked = sorted((win for win in found if win.share >= _LEAST), key=lambda win: -win.share)
    return ranked[:_SHOWN]


def _share(cost: NetworkCost, kernels: list[KernelCost]) -> float:
    whole = cost.in_kernels
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
        what = Text("{op} after {before}", op=kernel.op, before=before) if before else kernel.op
        more = Text(" ({count} such kernels: {every})", count=len(alike) + 1, every=f"{every:.1%}")
        text = Text(
            "{what} takes {share}{more}: not fused by {name}, because {reason}",
            what=what,
            share=f"{share:.1%}",
            more=more if alike else "",
            name=miss.name,
            reason=Text(miss.reason),
        )
        yield Win(every, text, kernel.name, miss.name, helps=miss.name not in _WHOLE)


def _before(cost: NetworkCost, kernel: KernelCost) -> str:
    """The operators of the kernel before a kernel, conversions left aside; "" for none."""
    while kernel.after:
        kernel = cost.kernels[kernel.after[0]]
        if kernel.op not in _CONVERSIONS:
            return kernel.op
    return ""


def _moves(cost: NetworkCost, report: Mapping[str, Any]) -> Iterator[Win]:
    reasons = {
        str(row.get("name")): str(row.get("reason", ""))
        for rows in (
            _record_of(report, "layout", "trans_data"),
            _record_of(report, "precision", "casts"),
        )
        if isinstance(rows, list)  # an offline model may say anything here
        for row in rows
        if isinstance(row, dict)
    }
    for op, template in (
        ("TransData", "{n} TransData kernels take {share}: they only convert storage formats{why}"),
        ("Cast", "{n} Cast kernels take {share}: they only convert dtypes{why}"),
    ):
        kernels = [kernel for kernel in cost.kernels if kernel.op == op]
        if not kernels:
            continue
        slowest = max(kernels, key=lambda kernel: kernel.cost.expected)
        share = _share(cost, kernels)
        reason = reasons.get(slowest.name, "")
        why = Text("; the slowest: {reason}", reason=recorded_text(reason)) if reason else ""
        text = Text(template, n=len(kernels), share=f"{share:.1%}", why=why)
        yield Win(share, text, slowest.name)


def _on_aicpu(cost: NetworkCost) -> Iterator[Win]:
    kernels = [kernel for kernel in cost.kernels if kernel.engine == "aicpu"]
    if kernels:
        share = _share(cost, kernels)
        ops = ", ".join(dict.fromkeys(kernel.op for kernel in kernels))
        slowest = max(kernels, key=lambda kernel: kernel.cost.expected)
        text = Text(
            "{n} kernels take {share} on the AI CPU, which is slow: {ops}",
            n=len(kernels),
            share=f"{share:.1%}",
            ops=ops,
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
        why = _REMEDIES.get(bound, Text("they reach {use} of the peak rate", use=f"{use:.0%}"))
        text = Text(
            "{n} {op} kernels bound by {bound} take {share}: {why}",
            n=len(kernels),
            op=op,
            bound=Text(bound, context="bound"),
            share=f"{share:.1%}",
            why=why,
        )
        helps = bound in {"launch", "memory"}
        yield Win(share * (1 - min(use, 1.0)), text, slowest.name, helps=helps)
