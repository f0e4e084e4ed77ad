"""A fixed model as a file: at the opset that suits the list, with layers of the file, or in memory alone."""

from collections.abc import Callable, Collection, Mapping
from functools import partial

from atc_py.check.bound_node import Conditions
from atc_py.diag import AtcError
from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import Applied, Fixed
from atc_py.fix.measured import fix_measured
from atc_py.fix.restate import state_at_best
from atc_py.fix.start import with_input_ranges
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.rewriting.qdq.raising import means_the_same
from atc_py.onnx_graph.rewriting.qdq.to_qdq import is_deploy_form, to_qdq
from atc_py.onnx_graph.rewriting.qdq.wider_numbers import takes_operands
from atc_py.options.fix_rules import FixRules
from atc_py.spec import Library
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape


def with_original_layers(fixed: Fixed) -> OnnxGraph | None:
    """The graph in which quantized layers that no rule rewrote stand as in the file.

    The import of a quantized model, which lets rules see it as the compiler does, keeps the names
    of values. A node of the import gives way to the node of the file that makes the value of one
    name. None where there is no such node, or where the file's would mean another thing or have no
    such dtype: at another opset, or where it chooses a graph.
    """
    graph, file = fixed.graph, fixed.file
    imported = {name for node in fixed.imported for name in node.writes}
    new = (node for applied in fixed.applied for node in applied.written)
    imported -= {name for node in new for name in node.writes}
    if not any(map(graph.producer, imported)):
        return None
    own = {name: node for node in file.nodes for name in node.writes}
    nodes = _nodes_for(graph.outputs, partial(_maker, graph, own, imported))
    taken = set(file.nodes).difference(graph.nodes).intersection(nodes)
    opset = graph.opsets.get("", 0)
    if not taken or not all(
        means_the_same(node, opset) and takes_operands(node, graph) for node in taken
    ):
        return None
    domains = {
        domain: file.opsets[domain] for domain in {n.domain for n in taken} if domain in file.opsets
    }
    known = file.contents.weights
    weights = {name: known[name] for node in taken for name in node.reads if name in known}
    return replace(
        graph,
        nodes=nodes,
        consts={**weights, **graph.consts},
        opsets={**domains, **graph.opsets},
    )


def in_qdq(graph: OnnxGraph, file: OnnxFile, *, strict: bool) -> OnnxGraph | None:
    """The graph with int8 layers between QuantizeLinear and DequantizeLinear, as ONNX runtimes open it.

    A layer without that form is an error if `strict`; else there is no such graph.

    Raises:
        AtcError: NO_QDQ_FORM.
    """
    if not is_deploy_form(node.op_type for node in graph.nodes):
        return graph
    copy = graph.copied()
    try:
        to_qdq(copy, file.tensors)
    except AtcError:
        if strict:
            raise
        return None
    return copy


def _maker(
    graph: OnnxGraph, own: Mapping[str, OnnxNode], imported: Collection[str], name: str
) -> OnnxNode | None:
    """The node that makes a value, among `own` of the file if it may; None for consts and inputs."""
    node = graph.producer(name)
    if node is not None and name not in imported:
        return node
    if node is None and (name in graph.consts or name in graph.inputs):
        return None
    return own.get(name, node)


def _nodes_for(
    names: Collection[str], maker_of: Callable[[str], OnnxNode | None]
) -> list[OnnxNode]:
    """The nodes that make `names`, producers first."""
    done: dict[OnnxNode, None] = {}
    opened: set[OnnxNode] = set()
    waiting = [(name, False) for name in reversed([*names])]
    while waiting:
        name, is_ready = waiting.pop()
        node = maker_of(name)
        if node is None or node in done:
            continue
        if is_ready:
            done[node] = None
        elif node not in opened:
            opened.add(node)
            waiting.append((name, True))
            waiting += [(read, False) for read in reversed(node.reads)]
    return [*done]


def state_at_listed_opset(fixed: Fixed, library: Library, cann: str | None = None) -> int:
    """State the graph at the opset that suits the list, check it there, and return the opset."""
    if fixed.folded is None or fixed.look is None:
        return 0
    seen = fixed.folded, fixed.after
    fixed.folded, fixed.after = state_at_best(fixed.graph, seen, fixed.look, library, cann)
    return fixed.graph.opsets.get("", 0)


def fixed_file(
    file: OnnxFile,
    conditions: Conditions,
    library: Library,
    rules: FixRules,
    shapes: Mapping[str, Shape],
) -> tuple[OnnxFile, tuple[Applied, ...]]:
    """`file`, read leniently, with its refused nodes replaced, and the rules that did so.

    New nodes have the places of the old ones. FIX_NOT_SETTLED is raised for rules without end.

    Raises:
        AtcError: BAD_INPUT_SHAPE for shapes that fit no input; BAD_OPTION for an unknown rule, and
            for a value that an input cannot be bound to; FIX_NOT_SETTLED for rules without end.
    """
    rules = with_input_ranges(file, rules)
    result = fix_measured(lambda: Fixer(file, conditions, library, rules), shapes, rules)
    result.require_settled()
    if rules.for_cann:
        state_at_listed_opset(result, library, conditions.cann)
    if not result.applied and not rules.bind and result.graph.opsets == file.opsets:
        return file, ()
    graph = result.graph
    fixed = replace(
        file,
        nodes=tuple(graph.nodes),
        inputs=tuple(tensor for tensor in file.inputs if tensor.name not in rules.bind),
        contents=replace(file.contents, weights=dict(graph.consts)),
        opsets=graph.opsets,
        held=graph.held,
    )
    return fixed, result.applied
