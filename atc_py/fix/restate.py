"""Stating a model at another opset: each node in the form of the version in force there.

A part that moved from an attribute to an input, or back, moves; Softmax and its kin, whose axis means
another thing before opset 13, get the axis as the last one. What has no form at the opset stays a
finding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.check.restating import restated_at
from atc_py.diag import Words
from atc_py.fix.old_forms import is_old_form, new_form
from atc_py.fix.site import Site
from atc_py.fix.splice import splice
from atc_py.fix.unfit import UnfitError
from atc_py.frontend.reading.history import history
from atc_py.frontend.rewriting.qdq.writer import Writer
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.source import OperatorSchema, SourceModel, SourceNode
    from atc_py.spec import Library

__all__ = ["PREFERRED", "NotStated", "best_opset", "changed_operators", "restate_graph"]

NotStated = tuple["SourceNode", Words]
"""A node without a form at the opset, and why."""

PREFERRED = 12
"""Opset at which every operator of the list `base` is listed."""

_AXIS_CHANGED = 13
_COERCED = frozenset({"Hardmax", "LogSoftmax", "Softmax"})
"""Operators that, before opset 13, work on all axes from `axis` on as one."""


def best_opset(model: SourceModel, library: Library, preferred: int) -> int:
    """Return the opset at which every listed operator of `model` is on the list, nearest its own.

    It is `preferred` if the operators have none in common.
    """
    own = model.opsets.get("", preferred)
    specs = {node.op_type: library.find(node.op_type, node.domain) for node in model.all_nodes}
    sets = [set(spec.opsets) for spec in specs.values() if spec is not None and not spec.custom]
    common = set.intersection(*sets) if sets else {own}
    return min(common, key=lambda each: (abs(each - own), -each), default=preferred)


def changed_operators(names: Collection[str], before: int, after: int) -> frozenset[str]:
    """Return the operators whose versions in force at two opsets differ."""
    known = history()
    pairs = ((name, known.at(name, before), known.at(name, after)) for name in set(names))
    return frozenset(
        name
        for name, old, new in pairs
        if old is None or new is None or old.since_version != new.since_version
    )


def restate_graph(
    graph: WorkGraph, model: SourceModel, library: Library, opset: int
) -> list[NotStated]:
    """Write every node of `graph` in its form at `opset`; return those that have none.

    The graph is as before if there is such a node.

    Args:
        graph: the graph, folded.
        model: the same as a source model; its nodes are those of the graph, in order.
        library: the operator list.
        opset: the version of ONNX's operators that the graph imports afterwards.
    """
    own = graph.opsets.get("", opset)
    if own == opset:
        return []
    writer = Writer(graph)
    failed: list[NotStated] = []
    for work, node in zip(graph.nodes, model.nodes, strict=True):
        restate = _restate_old if is_old_form(node, opset) else _restate
        try:
            reason = restate(writer, work, node, library, opset)
        except UnfitError as error:  # a rank that its form needs is open
            reason = error.reason
        if reason is not None:
            failed.append((node, reason))
    if failed:
        return failed
    writer.finish()
    graph.opsets = {**graph.opsets, "": opset}
    for each in graph.nodes:
        if not each.domain:
            each.opset = opset
    return []


def _restate(  # noqa: PLR0911  (one return a reason)
    writer: Writer, work: WorkNode, node: SourceNode, library: Library, opset: int
) -> Words | None:
    """Write one node in its form at `opset`; return why it has none."""
    spec = library.find(node.op_type, node.domain)
    if work.holds_graphs:
        return Words(
            f"{node.op_type} holds graphs, whose nodes are not restated",
            f"{node.op_type} 含子图，其中的节点不改写",
        )
    if node.domain or (spec is not None and spec.custom):
        writer.keep(work)
        return None
    before, after = (history().at(node.op_type, each) for each in (node.opset, opset))
    if before is None or after is None or after.deprecated:
        return Words(
            f"ONNX does not define {node.op_type} at opset {opset}",
            f"ONNX 在 opset {opset} 没有定义 {node.op_type}",
        )
    if before.since_version == after.since_version:
        writer.keep(work)
        return None
    if spec is None:
        return Words(f"{node.op_type} is not on the list", f"{node.op_type} 不在清单中")
    site = Site(node, opset, writer.fresh)
    if node.op_type in _COERCED and opset < _AXIS_CHANGED <= node.opset:
        results = _along_last_axis(site, before)
    else:
        moved = _attributes_as_inputs(site, after)
        found = restated_at(node, spec, history(), opset, moved)
        if isinstance(found, Words):
            return found
        attributes: dict[str, Any] = {**found.attributes}
        names = [tensor.name if tensor is not None else "" for tensor in found.inputs]
        names += [""] * (max(moved, default=-1) + 1 - len(names))
        for position, name in moved.items():
            names[position] = name
        _fill_required(site, after, names)
        results = site.ops(node.op_type, names, len(node.outputs), **attributes)
    splice(writer, work, site, results)
    return None


def _restate_old(
    writer: Writer, work: WorkNode, node: SourceNode, _library: Library, opset: int
) -> None:
    """Write one node whose form means another thing at `opset`."""
    site = Site(node, opset, writer.fresh)
    splice(writer, work, site, new_form(site))


def _along_last_axis(site: Site, before: OperatorSchema) -> Sequence[str]:
    """Return the operator over the last axis, which means the same at every opset."""
    rank = len(site.dims(0))
    default = before.attributes["axis"].default
    axis = site.axis(default if isinstance(default, int) else -1, rank)
    order = [*(each for each in range(rank) if each != axis), axis]
    x = site.transpose(site.name(0), order)
    y = site.op(site.node.op_type, [x], axis=rank - 1)
    return [site.transpose(y, [int(each) for each in np.argsort(order)])]


def _attributes_as_inputs(site: Site, after: OperatorSchema) -> Mapping[int, str]:
    """Return new constants, by position, for the attributes that became inputs."""
    names = [each.name for each in after.inputs]
    moved: dict[int, str] = {}
    value: Any
    for name, value in site.node.attributes.items():
        if name in names and name not in after.attributes:
            position = names.index(name)
            moved[position] = site.const(value, _dtype(site, after, position, value), name)
    return moved


def _fill_required(site: Site, after: OperatorSchema, names: list[str]) -> None:
    """Give absent inputs that `after` requires as empty constants: ROI and scales of Resize."""
    for position, (name, formal) in enumerate(zip(names, after.inputs, strict=False)):
        if not name and not formal.optional:
            element = DType.FLOAT32 if "float32" in formal.elements else DType.INT64
            names[position] = site.const([], element, formal.name)


def _dtype(site: Site, after: OperatorSchema, position: int, value: Any) -> DType:
    """Return the dtype of an attribute that became an input."""
    elements: Collection[str] = after.inputs[position].elements
    if isinstance(value, float) or (
        isinstance(value, tuple) and value and isinstance(value[0], float)
    ):
        return site.element if site.element.value in elements else DType.FLOAT32
    return DType.INT64
