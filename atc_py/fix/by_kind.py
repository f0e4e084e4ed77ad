"""Fixing one node of each kind of a model, where that tells of all.

Rules give alike nodes alike forms as long as they look at nothing but the node. So the deviating
nodes of a model are grouped by likeness, and a model of the first of each group is fixed as the
whole one would be. What it says holds for the whole model because

- the list refuses no node, so that only deviating ones are replaced;
- no rule that was tried has looked around (`RuleContext.looked_around`), and no deviation of these
  operators depends on the nodes before it;
- each form reads what its node read, and its results have the types that the node's had, so nothing
  changes for the nodes before and after it;
- one rule was enough for each node, and what it wrote is all there, so no bound on rounds or folded
  constants is near; the bound on new nodes is compared with what all nodes would take.

Where one of these is not so, the whole model is to be fixed.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence

import msgspec

from atc_py.check.alike import node_signature
from atc_py.check.bound_node import Conditions
from atc_py.check.conditions import asked_of_nodes_before
from atc_py.check.evaluate import Checked, check_view
from atc_py.check.findings import Finding, Standing
from atc_py.fix.deviating import are_read_elsewhere, is_unknown_to_parser
from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import MOST_NEW_NODES, Fixed
from atc_py.fix.start import Start
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.graph import FoldedGraph, OnnxGraph
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.options.fix_rules import FixRules
from atc_py.spec import Library
from atc_py.system.structs import replace


class OneOfEachKind(msgspec.Struct, frozen=True):
    """One node of each kind after fixing."""

    # by the position of a node in the file that of the node that was fixed in its place
    first: Mapping[int, int]
    found: Fixed  # the model of these nodes in its new form


def fix_one_of_each_kind(
    file: OnnxFile,
    conditions: Conditions,
    library: Library,
    rules: FixRules,
    known: tuple[FoldedModel, Checked],
) -> OneOfEachKind | None:
    """The deviating nodes of a file fixed, one of each kind; None where it takes the whole.

    `rules` replace deviating nodes; `known` is the file folded and checked with `conditions`.
    """
    model, checked = known
    if _is_refused(model.source, checked, conditions, library) or _is_open(model.source):
        return None
    findings = (found for found in checked.check.findings if found.certainty)
    if are_read_elsewhere({found.rule.replace("/cann/", "/") for found in findings}, library):
        return None  # the opset, which all nodes have a say in, may remove a deviation
    kinds = _kinds(model, checked)
    if kinds is None:
        return None
    firsts = [positions[0] for positions in kinds]
    one_of_each = _model_of(file, model, firsts)
    nodes = one_of_each.source.nodes
    before = check_view(one_of_each.source, conditions, library, history())
    if not _is_sampled(one_of_each, before, [model.source.nodes[at] for at in firsts], checked):
        return None
    start = Start.of(one_of_each, before)
    fixer = Fixer(file, conditions, library, rules, start)
    result = fixer.fix({}, tidy=False)
    counts = {node.index: len(kind) for node, kind in zip(nodes, kinds, strict=True)}
    if fixer.looked_around or not _tells_of_all(result, nodes, counts, library):
        return None
    indices = [node.index for node in model.source.nodes]
    first = {indices[at]: indices[positions[0]] for positions in kinds for at in positions}
    return OneOfEachKind(first, result)


def _is_refused(
    model: SourceModel, checked: Checked, conditions: Conditions, library: Library
) -> bool:
    """True if rules may replace other nodes of a model than deviating ones."""
    if any(row.standing is Standing.ERROR for row in checked.check.rows):
        return True
    one_of_each = {(node.domain, node.op_type): node for node in model.nodes}.values()
    return any(is_unknown_to_parser(node, library, conditions) for node in one_of_each)


def _is_open(model: SourceModel) -> bool:
    """True if more may become known of a model, or nodes of it stand in branches."""
    found = model.faults or model.doubts or model.branch_faults or model.quantized
    if found or any(tensor.is_open for tensor in model.inputs):
        return True
    return any(node.branches for node in model.nodes)


def _kinds(model: FoldedModel, checked: Checked) -> list[list[int]] | None:
    """The positions of the deviating nodes, alike ones together.

    None where a node has no position in the file to itself, or takes values into graphs of its own.
    """
    results: dict[Hashable, list[int]] = {}
    deviating = {finding.place.node for finding in checked.check.findings if finding.certainty}
    graph, nodes = model.graph, model.graph.nodes
    if len({node.index for node in nodes}) < len(nodes):
        return None
    pairs = zip(nodes, checked.kinds, strict=True)  # no node has branches
    for position, (node, kind) in enumerate(pairs):
        if node.index not in deviating:
            continue
        if node.captured or node.holds_graphs or not graph.pinned.keys().isdisjoint(node.writes):
            return None
        # The rest: alike nodes share it if rules that look at nothing else write the same.
        names: dict[str, int] = {}
        pattern = tuple([names.setdefault(name, len(names)) for name in node.input_names])
        key = kind, pattern, len(node.output_names), node.replaces
        results.setdefault(key, []).append(position)
    return list(results.values())


def _model_of(file: OnnxFile, model: FoldedModel, positions: Sequence[int]) -> FoldedModel:
    """The nodes at `positions` as a model of their own, with what is known of them."""
    graph, source = model.graph, model.source
    nodes = [graph.nodes[position] for position in positions]
    asked = (
        tensor for at in positions for tensor in source.nodes[at].outputs if tensor is not None
    )
    written = {name for node in nodes for name in node.writes}
    read = [name for node in nodes for name in node.reads]
    names = {*read, *written}
    types = {name: found for name in names if (found := known_type(graph, name)) is not None}
    own: OnnxGraph = replace(
        graph,
        nodes=nodes,
        inputs={n: types[n] for n in dict.fromkeys(read) if n not in written and n in types},
        outputs=tuple(dict.fromkeys(want.name for want in asked)),
        consts={name: graph.consts[name] for name in names if name in graph.consts},
        foreign={name: graph.foreign[name] for name in names if name in graph.foreign},
        declared={name: graph.declared[name] for name in names if name in graph.declared},
        types=types,
        kinds={name: graph.kinds[name] for name in names if name in graph.kinds},
        pinned={},
        unsound=graph.unsound.intersection(nodes),
    )
    return file.translated(FoldedGraph(own), (), source.bias_convention)


def _is_sampled(
    model: FoldedModel, checked: Checked, nodes: Sequence[SourceNode], whole: Checked
) -> bool:
    """True if the model of some nodes has the same of them as the whole model."""
    if model.source.faults or model.graph.unsound or model.graph.kinds or model.graph.foreign:
        return False
    pairs = zip(model.source.nodes, nodes, strict=True)
    alike = all(
        node_signature(one, weights=True) == node_signature(other, weights=True)
        for one, other in pairs
    )
    firsts = {node.index for node in nodes}
    said = [finding for finding in whole.check.findings if finding.place.node in firsts]
    return alike and _deviations(said) == _deviations(checked.check.findings)


def _deviations(findings: Sequence[Finding]) -> Mapping[int | None, list[Finding]]:
    result: dict[int | None, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.certainty:
            result[finding.place.node].append(finding)
    return result


def _tells_of_all(
    fixed: Fixed, nodes: Sequence[SourceNode], counts: Mapping[int, int], library: Library
) -> bool:
    """True if the new form of some nodes is that of all nodes of their kinds.

    `counts` has how many nodes of the whole model are like each, by its position in the file.
    """
    model = fixed.model
    if not fixed.settled or model is None or model.faults:
        return False
    if any(row.standing is Standing.ERROR for row in fixed.after.check.rows):
        return False
    times = Counter(step.node.index for step in fixed.applied)
    if max(times.values(), default=0) > 1:
        return False
    written = sum(
        counts[step.node.index]
        * (len(step.node.outputs) + sum(len(new.output_names) for new in step.made))
        for step in fixed.applied
    )
    specs = (library.find(node.op_type, node.domain) for node in (*nodes, *model.nodes))
    if written > MOST_NEW_NODES or any(map(asked_of_nodes_before, specs)):
        return False
    there = {name for node in fixed.graph.nodes for name in node.writes}
    made = {name for step in fixed.applied for new in step.made for name in new.output_names}
    return made <= there and _fits_in(fixed.graph, model, nodes)


def _fits_in(graph: OnnxGraph, model: SourceModel, nodes: Sequence[SourceNode]) -> bool:
    """True if each node's new form reads what it read and has results of the same types."""
    reads: dict[int, set[str]] = defaultdict(set)
    for work in graph.nodes:
        reads[work.index].update(work.reads)
    results = {
        tensor.name: tensor for node in model.nodes for tensor in node.outputs if tensor is not None
    }
    for node in nodes:
        if any(
            read.const is None and read.name not in reads[node.index] for read in node.tensors_read
        ):
            return False
        for tensor in filter(None, node.outputs):
            new = results.get(tensor.name)
            if new is None or new.const is not None:
                return False
            if (new.element, new.dims, new.is_open) != (tensor.element, tensor.dims, False):
                return False
    return True
