"""Raising the opset of a graph whose nodes mean the same at a newer one.

DequantizeLinear has its axis since opset 13. A model of an older opset can import that one instead
where ONNX's definitions of all its operators agree but for the dtypes that they admit, and for inputs
and attributes that came later and may be left out.
"""

from collections.abc import Collection, Sequence

import numpy as np
from onnx import defs

from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, schema_at
from atc_py.onnx_graph.reading.nodes import all_inner_nodes, subgraphs
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.typing.rules.quantized import is_ascend

_MEAN_OTHERWISE = frozenset({"Hardmax", "LogSoftmax", "Softmax"})
"""Operators whose meaning changed at opset 13, with the same inputs and attributes."""

_INPUTS = {"ReduceSum": "axes", "Split": "split", "Squeeze": "axes", "Unsqueeze": "axes"}
"""Attributes that are inputs since opset 13, by operator."""

_PAIR = frozenset({"DequantizeLinear", "QuantizeLinear"})
"""Without axis they have their meaning from before they had one."""


def changed_operators(graph: OnnxGraph, opset: int) -> list[str]:
    """ONNX's own operators in the graph that `opset` defines otherwise, ordered by name."""
    own = graph.opsets.get("", 0)
    operators = {
        node.op_type
        for outer in graph.nodes
        for node in (outer, *all_inner_nodes(outer, graph.opsets))
        if not node.domain and not is_ascend(node) and _is_changed(node.op_type, own, opset)
    }
    return sorted(operators)


def move_to_inputs(graph: OnnxGraph, changed: Collection[str]) -> bool:
    """Write attributes that are inputs at opset 13 as those; False if more than that differs.

    `graph` has an opset below 13, and goes on importing it; `changed` are its operators that are
    others at opset 13.
    """
    within = {
        inner.op_type for node in graph.nodes for inner in all_inner_nodes(node, graph.opsets)
    }
    if not _INPUTS.keys() >= set(changed) or not within.isdisjoint(changed):
        return False
    writer = Writer(graph)
    for node in graph.nodes:
        name = _INPUTS[node.op_type] if not node.domain and node.op_type in changed else ""
        if name in node.plain_attributes:
            numbers = np.array(node.integers(name), np.int64)
            inputs = [node.input_names[0], writer.const(f"{node.output_names[0]}/{name}", numbers)]
            writer.again(
                node, node.op_type, inputs, node.output_names, without=[name], with_own=True
            )
        else:
            writer.keep(node)
    writer.finish()
    return True


def means_the_same(node: OnnxNode, opset: int) -> bool:
    """True if a node is one of `opset`, too, and computes the same there; none with a graph is."""
    if node.domain:
        return True
    old, new = (schema_at(node.op_type, version) for version in (node.opset, opset))
    if old is None or new is None or new.deprecated or any(subgraphs(node.proto)):
        return False
    stated = {attribute.name for attribute in node.proto.attribute}
    return old.since_version == new.since_version or (
        node.op_type not in _MEAN_OTHERWISE
        and len(node.input_names) <= len(new.inputs)
        and stated <= new.attributes.keys()
    )


def takes_element(node: OnnxNode, graph: OnnxGraph, names: Collection[str], element: str) -> bool:
    """True if ONNX defines a node for `element` where it reads `names`, at the graph's opset.

    Operators of other domains are taken to.
    """
    if node.domain:
        return True
    schema = schema_at(node.op_type, graph.opsets.get("", 0))
    if schema is None or schema.deprecated:
        return False
    last = len(schema.inputs) - 1
    return all(
        f"tensor({element})" in schema.inputs[min(at, last)].types
        for at, name in enumerate(node.input_names)
        if name in names
    )


def _is_changed(op_type: str, own: int, opset: int) -> bool:
    old, new = (schema_at(op_type, version) for version in (own, opset))
    if old is None or op_type in _PAIR:
        return False
    if new is None or new.deprecated:
        return True
    if old.since_version == new.since_version:
        return False
    return op_type in _MEAN_OTHERWISE or not _extends(new, old)


def _extends(new: defs.OpSchema, old: defs.OpSchema) -> bool:
    """True if a node of the old definition is one of the new, and means the same."""
    ports = ((new.inputs, old.inputs), (new.outputs, old.outputs))
    if not all(_takes_ports(*pair) for pair in ports):
        return False
    after, before = (_attributes(schema) for schema in (new, old))
    if any(name not in after for name in before):
        return False
    if any(attribute.required for name, attribute in new.attributes.items() if name not in before):
        return False
    return all(after[name] == item for name, item in before.items())


def _takes_ports(
    new: Sequence[defs.OpSchema.FormalParameter], old: Sequence[defs.OpSchema.FormalParameter]
) -> bool:
    """True if what was there has its place still, and what came after it may be left out."""
    optional = defs.OpSchema.FormalParameterOption.Optional
    same = all(
        ours.name == theirs.name and ours.option in {theirs.option, optional}
        for ours, theirs in zip(new, old, strict=False)
    )
    return (
        same and len(new) >= len(old) and all(port.option == optional for port in new[len(old) :])
    )


def _attributes(schema: defs.OpSchema) -> dict[str, tuple[object, ...]]:
    return {
        name: (row.type, row.required, row.default_value.SerializeToString())
        for name, row in schema.attributes.items()
    }
