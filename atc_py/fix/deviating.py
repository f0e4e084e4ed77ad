"""Nodes that mean another thing on a release of CANN than in ONNX, or that its parser does not have."""

from collections.abc import Iterable, Mapping

from atc_py.check.bound_node import BoundNode, Conditions
from atc_py.check.conditions import NodesBefore
from atc_py.check.deviations import met_deviations, parser_opsets
from atc_py.check.evaluate import Checked
from atc_py.check.restating import OpsetPlacement
from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.spec import ONNX_DOMAINS, Library
from atc_py.spec.lists import find_release


def bound_node(placed: OpsetPlacement, conditions: Conditions, before: NodesBefore) -> BoundNode:
    """A node, as the check has placed it, bound to the specification that took it."""
    node, spec, view = placed.node, placed.spec, placed.view
    earlier, fed = before(node), before.fed(node, spec)
    return BoundNode(spec, view, placed.opset, conditions, node.opset, before=earlier, fed=fed)


def nodes_before(model: SourceModel, library: Library) -> NodesBefore:
    return NodesBefore(
        model.all_nodes, lambda node: library.find(node.op_type, node.domain), model.inputs
    )


def deviating_nodes(
    model: SourceModel, checked: Checked, library: Library, conditions: Conditions
) -> Mapping[SourceNode, frozenset[str]]:
    """The deviations, as `GRU/clip-ignored`, of the nodes that meet any, or may meet them."""
    before = nodes_before(model, library)
    results = {}
    top = set(model.nodes)
    for placed in checked.placements:
        if placed is None or placed.node not in top:
            continue
        bound = bound_node(placed, conditions, before)
        if met := tuple(met_deviations(bound)):
            results[placed.node] = frozenset(
                f"{bound.spec.op}/{deviation.row.name}" for deviation in met
            )
    return results


def are_read_elsewhere(met: Iterable[str], library: Library) -> bool:
    """True if one of some deviations, as `GRU/clip-ignored`, is none at another opset of the model."""
    return any(
        row.restated and row.name == name
        for op_type, _, name in (deviation.partition("/") for deviation in met)
        if (spec := library.find(op_type, "")) is not None
        for row in spec.deviations
    )


def is_unknown_to_parser(node: SourceNode, library: Library, conditions: Conditions) -> bool:
    """True if the release's parser has a listed operator at no opset."""
    spec = library.find(node.op_type, node.domain)
    if spec is None or (spec.custom and node.domain not in ONNX_DOMAINS):
        return False
    return not parser_opsets(spec, find_release(conditions.cann))
