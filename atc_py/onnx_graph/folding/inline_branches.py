"""If nodes whose condition is known: the branch taken replaces the node."""

from collections import Counter
from collections.abc import Collection

import onnx
from onnx import GraphProto

from atc_py.diag import Sink
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.attributes import broken_nodes
from atc_py.onnx_graph.reading.contents import sort_nodes
from atc_py.onnx_graph.reading.nodes import inner_names, inner_nodes, text_of
from atc_py.onnx_graph.reading.tensors import TensorReader
from atc_py.onnx_graph.rewriting.graph_body import renamed_graph


def inline_branches(graph: OnnxGraph, tensors: TensorReader) -> bool:
    """Replace the If nodes whose condition is a constant; return True if there were any.

    An AtcError tells damaged constants of a branch, and BAD_MODEL its nodes that ONNX does not
    define so.
    """
    if not any(node.op_type == "If" for node in graph.nodes):
        return False
    taken = {name for node in graph.nodes for name in (*node.reads, *node.writes)}
    taken |= {*graph.inputs, *graph.consts, *graph.foreign}
    within = Counter(name for node in graph.nodes for name in set(inner_names(node.proto)))
    nodes: list[OnnxNode] = []
    sink = Sink()
    for node in graph.nodes:
        branch = _branch(graph, node)
        if branch is None or not _is_sound(branch):
            nodes.append(node)
            continue
        shared = any(within[name] > 1 for name in set(inner_names(node.proto)))
        branch = _apart(branch, taken, within if shared else ())
        for tensor in branch.initializer:
            graph.consts[text_of(tensor.name, node.place)] = tensors.const(tensor, node.place)
        inner = inner_nodes(branch, node, graph.opsets)
        for faults in broken_nodes(inner).values():
            sink.extend(faults)
        nodes += inner
        nodes += _return_results(branch, node, graph)
    sink.raise_errors()
    if nodes == graph.nodes:
        return False
    graph.nodes = sort_nodes(nodes)
    return True


def _branch(graph: OnnxGraph, node: OnnxNode) -> GraphProto | None:
    """The branch that `node` takes where that is known."""
    condition = graph.consts.get(node.input_names[0]) if node.input_names else None
    if node.op_type != "If" or node.domain or condition is None:
        return None
    array = condition.numpy()
    if array.size != 1:
        return None
    wanted = "then_branch" if array.reshape(-1)[0] else "else_branch"
    branch = node.graphs.get(wanted)
    fits = branch is not None and len(branch.output) == len(node.output_names) and not branch.input
    return branch if fits else None


def _defined_names(branch: GraphProto) -> list[str]:
    names = [tensor.name for tensor in branch.initializer]
    return names + [name for node in branch.node for name in node.output if name]


def _is_sound(branch: GraphProto) -> bool:
    """True if the branch defines each of its names once."""
    names = _defined_names(branch)
    return len(set(names)) == len(names)


def _apart(branch: GraphProto, taken: set[str], elsewhere: Collection[str]) -> GraphProto:
    """A branch whose names are its own, which are `taken` then.

    Branches of different nodes may share names; so may copies of one node. A graph inside of a node
    must not define names of the graph around it. Graphs inside of nodes have the names `elsewhere`
    if the branch shares some with other nodes.
    """
    if not taken.isdisjoint(_defined_names(branch)) or elsewhere:

        def fresh(base: str) -> str:
            name, count = base, 1
            while name in taken or name in elsewhere:
                count += 1
                name = f"{base}_{count}"
            taken.add(name)
            return name

        return renamed_graph(branch, {}, fresh)
    taken |= set(_defined_names(branch))
    return branch


def _return_results(branch: GraphProto, node: OnnxNode, graph: OnnxGraph) -> list[OnnxNode]:
    """Nodes that rename the branch's outputs to those of the If node."""
    copies = onnx.GraphProto()
    for result, name in zip(branch.output, node.output_names, strict=True):
        if name:
            copies.node.add(op_type="Identity", input=[result.name], output=[name])
    return inner_nodes(copies, node, graph.opsets)
