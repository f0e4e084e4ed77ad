"""Rule scan-of-batch-unroll: a Scan of opset 8, written step by step for each entry of its batch.

Scan-8 of ONNX: states and sequences have a batch axis, which the body does not see; sequences have
the steps as their second axis.
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
    from atc_py.frontend.rewriting.graph_body import GraphBody

__all__: list[str] = []

_WITHOUT_BATCH = 9
"""Opset since which a Scan has no batch axis of its own."""

_BODY = CaseGraph(
    {"state": Fed((2,)), "slice": Fed((2,))},
    ("next", "out"),
    (("Add", ("state", "slice"), ("next",), {}), ("Identity", ("next",), ("out",), {})),
)


@fix_rule(
    "scan-of-batch-unroll",
    ("Scan",),
    Exactness.EQUAL,
    RuleText(
        before=Words("Scan of opset 8", "opset 8 的 Scan"),
        after=Words(
            "for each entry of the batch Gather of each slice, the body; Unsqueeze and Concat",
            "对批内每项逐步 Gather 切片、展开循环体；Unsqueeze 与 Concat",
        ),
        condition=Words(
            f"batch times steps are known and at most {MOST_STEPS}; sequence_lens is absent; "
            f"the model has at most {MOST_NODES} nodes then",
            f"批大小与步数之积已知且不超过 {MOST_STEPS}；无 sequence_lens；"
            f"展开后模型不超过 {MOST_NODES} 个节点",
        ),
    ),
    example=RuleCase(
        "Scan",
        (None, Fed((2, 2)), Fed((2, 3, 2))),
        {"body": _BODY, "num_scan_inputs": 1},
        opset=8,
        outputs=2,
    ),
    near_miss=RuleCase(
        "Scan",
        (None, Fed((300, 2)), Fed((300, 2, 2))),
        {"body": _BODY, "num_scan_inputs": 1},
        opset=8,
        outputs=2,
    ),
    last=True,
)
def scan_of_batch_unroll(site: Site) -> Sequence[str]:
    """Write the steps of each entry one after the other."""
    require(site.node.opset < _WITHOUT_BATCH, "the opset is 8", "opset 为 8")
    require(site.tensor(0) is None, "sequence_lens is absent", "无 sequence_lens")
    body, scanned = body_of(site, "body"), site.integer("num_scan_inputs", 0)
    first = len(site.node.inputs) - scanned
    dims = [site.shape(position)[:2] for position in range(first, len(site.node.inputs))]
    require(len(set(dims)) == 1 and len(dims[0]) > 1, "sequences are of one length", "各序列等长")
    batch, total = dims[0]
    require(0 < batch * total <= MOST_STEPS, "1 to 512 steps", "1 至 512 步")
    check_room(site, body, batch * total)
    rows = [_entry(site, body, entry, first, total) for entry in range(batch)]
    return [stack(site, list(each), 0) for each in zip(*rows, strict=True)]


def _entry(site: Site, body: GraphBody, entry: int, first: int, total: int) -> list[str]:
    """Return the results of one entry of the batch.

    Args:
        site: the Scan.
        body: its body.
        entry: the place in the batch.
        first: position of the first sequence among the inputs.
        total: number of steps.
    """
    own = site.const(entry, label="entry")
    names = [site.name(position) for position in range(1, len(site.node.inputs))]
    values = [site.op("Gather", [name, own], axis=0) for name in names]
    states, sequences = values[: first - 1], values[first - 1 :]
    backward = site.integers("directions", [0] * len(sequences))
    stacked: list[list[str]] = []
    for step in range(total):
        slices = []
        for sequence, back in zip(sequences, backward, strict=True):
            place = site.const(total - 1 - step if back else step, label="step")
            slices.append(site.op("Gather", [sequence, place], axis=0))
        results = site.inline(body, [*states, *slices])
        states = list(results[: first - 1])
        stacked.append(list(results[first - 1 :]))
    return [*states, *(stack(site, list(each), 0) for each in zip(*stacked, strict=True))]
