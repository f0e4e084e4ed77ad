"""The list of kernels and the results of their verification, as tables, JSON and findings."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from atc_py.compare.kernels.listing import KernelList
from atc_py.compare.kernels.verify import KernelVerdict, Verdict
from atc_py.diag import KERNEL_DIFFERS, KERNEL_FAULT, KERNEL_NOT_BUILT, Diagnostic, Place
from atc_py.report.tables import Table, format_bytes
from atc_py.text import COMMA, Text, plural, verbatim
from atc_py.text.language import spoken

_CODES = {
    Verdict.NOT_BUILT: KERNEL_NOT_BUILT,
    Verdict.FAULT: KERNEL_FAULT,
    Verdict.DIFFERS: KERNEL_DIFFERS,
}


def summary(listed: KernelList) -> str:
    """`24 kernels for sim, 18 complete, computing 312 nodes`."""
    complete = sum(kernel["complete"] for kernel in listed.kernels)
    nodes = sum(len(row["nodes"]) for kernel in listed.kernels for row in kernel["rows"])
    head = Text("{kernels} for {soc}, {complete} complete, computing {nodes}")
    return spoken(
        head.with_values(
            kernels=plural(len(listed.kernels), "{n} kernel", "{n} kernels"),
            soc=listed.soc,
            complete=complete,
            nodes=plural(nodes, "{n} node", "{n} nodes"),
        )
    )


def kernel_tables(listed: KernelList) -> list[Table]:
    if not listed.kernels:
        return []
    head = ("kernel", "operator", "state", "nodes>", "lines>")
    lines = tuple(
        (
            kernel["name"],
            kernel["op"],
            spoken(_state(kernel)),
            str(sum(len(row["nodes"]) for row in kernel["rows"])),
            str(kernel["lines"]),
        )
        for kernel in listed.kernels
    )
    plans = ("kernel", "shapes", "nodes>", "cores>", "moved>", "buffers used", "tile plan")
    rows = tuple(
        (
            kernel["name"],
            _shapes(row["shapes"]),
            str(len(row["nodes"])),
            str(row["cores"]),
            format_bytes(row["read_bytes"] + row["written_bytes"]),
            _buffers(row["buffers"], listed.buffers),
            ", ".join(f"{name} {row['tiling'][name]}" for name in _CUTS if name in row["tiling"]),
        )
        for kernel in listed.kernels
        for row in kernel["rows"]
    )
    return [Table("Kernels", head, lines), Table("Plans", plans, rows)]


def _state(kernel: Mapping[str, Any]) -> str:
    """`complete`, or `complete, by rows` where blocked operands are not addressed."""
    state = "complete" if kernel["complete"] else "skeleton"
    return Text(f"{state}, by rows") if kernel.get("addresses") == "origin" else state


def _shapes(shapes: Sequence[Sequence[int | None]]) -> str:
    """`2x3, 3 -> 2x3` without names: the operands in the kernel's order."""
    return ", ".join(
        "x".join("?" if dim is None else str(dim) for dim in shape) or spoken("scalar")
        for shape in shapes
    )


_CUTS = ("tile_count", "tile_rows", "tile_length", "chunk_length", "tile_m", "tile_n", "tile_k")
"""Numbers of a tiling that say how the work is cut."""


def _buffers(used: Sequence[Mapping[str, Any]], sizes: Mapping[str, int]) -> str:
    """`l1 3%, ub 7%`."""
    total: Counter[str] = Counter()
    for buffer in used:
        total[buffer["storage"]] += buffer["bytes"]
    return ", ".join(
        f"{name} {max(count / sizes[name], 0.01):.0%}" for name, count in total.items() if count
    )


def verified_tables(checked: Sequence[KernelVerdict]) -> list[Table]:
    head = ("kernel", "shapes", "result", "ulps>", "")
    rows = tuple(
        (
            result.kernel["name"],
            _shapes(result.kernel["rows"][result.row]["shapes"]),
            spoken(result.verdict.value),
            f"{result.ulps:.2g}" if result.verdict in {Verdict.CLOSE, Verdict.DIFFERS} else "",
            result.text if result.verdict is Verdict.SKIPPED else "",
        )
        for result in checked
    )
    return (
        [Table("Kernels on the host and in the simulator", head, rows, said=(4,))] if rows else []
    )


def verified_summary(checked: Sequence[KernelVerdict]) -> str:
    """`21 equal, 2 close, 4 skeleton`."""
    counts = Counter(result.verdict for result in checked)
    listed = [
        Text(f"{{n}} {verdict.value}", n=counts[verdict]) for verdict in Verdict if counts[verdict]
    ]
    return spoken(COMMA.join(listed) if listed else Text("the model has no kernels"))


def verified_json(
    checked: Sequence[KernelVerdict], diagnostics: Iterable[Diagnostic] = ()
) -> dict[str, Any]:
    return {
        "kernels": [
            {
                "name": result.kernel["name"],
                "op": result.kernel["op"],
                "shapes": result.kernel["rows"][result.row]["shapes"],
                "result": result.verdict.value,
                "ulps": result.ulps if result.ulps < float("inf") else None,
                "text": result.text,
            }
            for result in checked
        ],
        "diagnostics": [diagnostic.as_json() for diagnostic in diagnostics],
    }


def findings(checked: Sequence[KernelVerdict]) -> list[Diagnostic]:
    return [
        _CODES[result.verdict].diagnostic(
            verbatim(f"{result.kernel['name']}: ") + Text(result.text),
            place=Place(
                node_name=result.kernel["rows"][result.row]["nodes"][0], op_type=result.kernel["op"]
            ),
        )
        for result in checked
        if result.verdict.is_wrong
    ]
