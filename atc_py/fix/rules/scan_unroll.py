"""Rule scan-unroll: a Scan over a known number of steps, written step by step.

Scan-9 of ONNX: states come first, then one slice a step of each scanned input; scanned outputs are
stacked along a new axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import Words
from atc_py.fix.case import CaseGraph, Fed, RuleCase
from atc_py.fix.parts.bodies import body_of
from atc_py.fix.parts.steps import MOST_STEPS, check_room, stack
from atc_py.fix.registry import fix_rule
from atc_py.fix.rule import Exactness, RuleText
from atc_py.fix.surroundings import MOST_NODES
from atc_py.fix.unfit import require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.fix.site import Site

__all__: list[str] = []

_WITHOUT_BATCH = 9
"""Opset since which a Scan has no batch axis of its own."""

_BODY = CaseGraph(
    {"state": Fed((2,)), "slice": Fed((2,))},
    ("next", "out"),
    (("Add", ("state", "slice"), ("next",), {}), ("Identity", ("next",), ("out",), {})),
)


@fix_rule(
    "scan-unroll",
    ("Scan",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Scan", "Scan"),
        after=Words(
            "Gather of each slice, the body, Unsqueeze and Concat of what it returns",
            "逐步 Gather 切片、展开循环体，结果经 Unsqueeze 与 Concat 堆叠",
        ),
        condition=Words(
            f"the dim that is scanned is known and at most {MOST_STEPS}; "
            f"the model has at most {MOST_NODES} nodes then",
            f"扫描轴大小已知且不超过 {MOST_STEPS}；展开后模型不超过 {MOST_NODES} 个节点",
        ),
    ),
    example=RuleCase(
        "Scan",
        (Fed((2,)), Fed((3, 2))),
        {"body": _BODY, "num_scan_inputs": 1},
        outputs=2,
    ),
    near_miss=RuleCase(
        "Scan",
        (Fed((2,)), Fed((600, 2))),
        {"body": _BODY, "num_scan_inputs": 1},
        outputs=2,
    ),
    last=True,
)
def scan_unroll(site: Site) -> Sequence[str]:
    """Write the steps one after the other."""
    require(site.node.opset >= _WITHOUT_BATCH, "the opset is 9 or more", "opset 不低于 9")
    body, scanned = body_of(site, "body"), site.integer("num_scan_inputs", 0)
    count = len(site.node.inputs) - scanned
    states = [site.name(position) for position in range(count)]
    axes = _axes(site, "scan_input_axes", scanned)
    backward = site.integers("scan_input_directions", [0] * scanned)
    steps = {
        site.shape(count + at)[axis % len(site.shape(count + at))] for at, axis in enumerate(axes)
    }
    require(len(steps) == 1 and max(steps) <= MOST_STEPS, "at most 512 steps", "不超过 512 步")
    require(min(steps) > 0, "at least one step", "至少一步")
    (total,) = steps
    check_room(site, body, total)
    stacked: list[list[str]] = []
    for step in range(total):
        slices = []
        for at, axis in enumerate(axes):
            place = total - 1 - step if backward[at] else step
            index = site.const(place, label="step")
            slices.append(site.op("Gather", [site.name(count + at), index], axis=axis))
        results = site.inline(body, [*states, *slices])
        states = list(results[:count])
        stacked.append(list(results[count:]))
    outputs = len(body.outputs) - count
    into = _axes(site, "scan_output_axes", outputs)
    reverse = site.integers("scan_output_directions", [0] * outputs)
    return [*states, *(
        stack(site, [each[at] for each in stacked], into[at], backward=reverse[at] != 0)
        for at in range(outputs)
    )]  # fmt: skip


def _axes(site: Site, name: str, count: int) -> tuple[int, ...]:
    """Return one axis for each scanned tensor; 0 by default."""
    return site.integers(name, [0] * count)
