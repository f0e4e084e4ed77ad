"""A file whose nodes compute what CANN makes of them, in place of what ONNX defines.

Every node that meets a deviation of the release is replaced by nodes of ONNX that compute what
CANN's parser and kernels compute of it; the rest of the file stays as it is, to the byte.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from atc_py.check.bound_node import BoundNode, Conditions
from atc_py.check.deviations import Met, certainty_on, deviation_findings, met_deviations
from atc_py.check.evaluate import check_view
from atc_py.check.parser_rules import model_findings, refusals
from atc_py.check.reading import State
from atc_py.diag import NO_CANN_ARITHMETIC, REFUSED_BY_PARSER, AtcError, Diagnostic, Place
from atc_py.fix.cann import FORMS
from atc_py.fix.context import RuleContext, splice
from atc_py.fix.deviating import bound_node, nodes_before
from atc_py.fix.facts import Surroundings
from atc_py.fix.ranges import Ranges
from atc_py.fix.unfit import UnfitError
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.folding.folded import fold_with_branches
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.contents import sort_nodes
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.parser_breaks import broken_rules, wires
from atc_py.onnx_graph.rewriting.parser_form import with_names
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import Broken, SourceModel, SourceNode
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.spec import Library
from atc_py.spec.deviations import Certainty
from atc_py.spec.lists import ParserRule, find_release, parser_rules
from atc_py.spec.rule import Bilingual
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape
from atc_py.text import Text, Words

_OF_WHOLE_GRAPHS = frozenset({"parser/no-inputs", "parser/output-without-input"})
"""Rules that do not keep from following what nodes compute: more of a network has inputs."""

_MOST_ROUNDS = 8
"""Deviations that one node meets one after another; a GRU has six."""


class WrittenOut(NamedTuple):
    """A deviation that was written out."""

    node: SourceNode
    # its operator, by the name of its specification; `parser` for a rule of the parser about whole
    # models
    operator: str
    name: str  # the name of the deviation, or of the rule
    effect: Bilingual
    certainty: Certainty  # how certain the generation has it


def file_as_cann(
    file: OnnxFile,
    conditions: Conditions,
    library: Library,
    shapes: Mapping[str, Shape],
    *,
    as_written: bool = True,
) -> tuple[OnnxFile, tuple[WrittenOut, ...]]:
    """`file` with every deviation of a release of CANN written out, and these.

    Where no node deviates it is `file` itself. `library` has the deviations; without `as_written`
    rules may have written nodes, which have the parser's form once they are in a file.

    REFUSED_BY_PARSER is raised for each node that the parser refuses, or for the model,
    NO_CANN_ARITHMETIC for each whose result on CANN is not defined.

    Raises:
        AtcError: REFUSED_BY_PARSER for each node that the parser refuses, or for the model, NO_CANN_ARITHMETIC for
            each whose result on CANN is not defined; BAD_INPUT_SHAPE for shapes that fit no input.
    """
    return _Rewriter(file, conditions, library, as_written=as_written).run(shapes)


class _Rewriter:
    def __init__(
        self, file: OnnxFile, conditions: Conditions, library: Library, *, as_written: bool
    ) -> None:
        self._file = file
        self._as_written = as_written
        self._conditions = conditions
        self._library = library
        self._written: list[WrittenOut] = []
        self._bound: dict[SourceNode, BoundNode] = {}
        self._settled: dict[str, frozenset[str]] = {}
        """Deviations that nodes of forms are free of, by output: a form is not written twice."""
        self._written_out: set[str] = set()
        """Outputs of nodes of other operators that forms have: they mean what ONNX does."""
        self._replaced: set[str] = set()

    def run(self, shapes: Mapping[str, Shape]) -> tuple[OnnxFile, tuple[WrittenOut, ...]]:
        file, cann = self._file, self._conditions.cann
        found = (
            model_findings(broken_rules(file), str(file.path), cann)
            if self._as_written and not file.faults
            else ()
        )
        refused = [each for each in refusals(found) if each.rule not in _OF_WHOLE_GRAPHS]
        if refused:
            raise AtcError(*(each.diagnostic() for each in refused))
        convention = file.bias_convention(None)
        graph = file.graph(observe_inputs(file.path, file.inputs, shapes), convention)
        self._join_omitted(graph)
        quantized = import_quantized(graph, file.tensors, FOLD_LIMIT)
        for _ in range(_MOST_ROUNDS):
            graph.runs = 0
            folded = fold_with_branches(graph, file.tensors, FOLD_LIMIT)
            model = file.translated(folded, quantized, convention).source
            self._bound = self._bindings(model)
            if not self._round(graph, model):
                break
        if not self._written:
            return file, ()
        result = replace(
            file,
            nodes=tuple(graph.nodes),
            contents=replace(file.contents, weights=dict(graph.consts)),
            opsets=graph.opsets,
            # CANN's results may have another dtype or shape than the file says of them.
            declared={n: known for n, known in file.declared.items() if n not in self._replaced},
        )
        return result, tuple(self._written)

    def _join_omitted(self, graph: OnnxGraph) -> None:
        """Join omitted inputs to the omitted output that the parser takes for their values."""
        rule = parser_rules()["omitted-output-as-input"]
        certainty = certainty_on(rule, find_release(self._conditions.cann))
        nodes = sorted(graph.nodes, key=lambda node: node.index)
        joined = (wires(nodes) or ()) if certainty else ()
        if not certainty:
            return
        within = broken_rules(self._file) if self._as_written else ()
        problems = [
            _no_wire(each, rule, str(self._file.path))
            for each in within
            if each.rule == rule.name and each.scope
        ]
        if problems:
            raise AtcError(*problems)
        if not joined:
            return
        source, at = joined[0].source, joined[0].output
        name = Writer(graph).fresh(f"{source.name or source.op_type}/output_{at}")
        ends = {source: with_names(source, outputs={at: name})}
        for wire in joined:
            node = ends.get(wire.node, wire.node)
            ends[wire.node] = with_names(node, inputs={wire.input: name})
        graph.nodes = sort_nodes([ends.get(node, node) for node in graph.nodes])
        for node in dict.fromkeys(wire.node for wire in joined):
            self._written.append(WrittenOut(node, "parser", rule.name, rule.effect, certainty))
            self._replaced.update(node.output_names)

    def _round(self, graph: OnnxGraph, model: SourceModel) -> bool:
        met = {node: found for node in model.all_nodes if (found := self._first(node))}
        problems = [refusal for node in model.all_nodes for refusal in self._refusals(node)]
        undefined = (node for node, deviation in met.items() if deviation.row.undefined)
        problems += [_no_form(node, met[node], str(model.path)) for node in undefined]
        within = [node for node in met if node not in set(model.nodes)]
        problems += [_no_form(node, met[node], str(model.path)) for node in within]
        if problems:
            raise AtcError(*dict.fromkeys(problems))
        writer = Writer(graph)
        around = Surroundings(graph, self._file.tensors, Ranges(graph, {}))
        for node in graph.nodes:
            if node in met:
                self._replace(writer, around, node, met[node])
            else:
                writer.keep(node)
        writer.finish()
        return bool(met)

    def _first(self, node: SourceNode) -> Met | None:
        """The first deviation to write out; None if the node means the same on CANN."""
        bound = self._bound.get(node)
        if bound is None:
            return None
        if any(tensor and tensor.name in self._written_out for tensor in node.outputs):
            return None
        settled = {
            row for tensor in node.outputs if tensor for row in self._settled.get(tensor.name, ())
        }
        for met in met_deviations(bound):
            # Of a node that may have values for which CANN's result is ONNX's: for other values it
            # is not defined, so there is nothing else that could be computed.
            as_is = met.row.undefined and met.answer.state is State.UNKNOWN
            if met.row.name not in settled and not as_is:
                return met
        return None

    def _bindings(self, model: SourceModel) -> dict[SourceNode, BoundNode]:
        before = nodes_before(model, self._library)
        checked = check_view(model, self._conditions, self._library, history())
        placed = (placement for placement in checked.placements if placement is not None)
        return {place.node: bound_node(place, self._conditions, before) for place in placed}

    def _refusals(self, node: SourceNode) -> Iterator[Diagnostic]:
        bound = self._bound.get(node)
        found = () if bound is None else deviation_findings(bound, node, str(self._file.path))
        for finding in found:
            if finding.code is REFUSED_BY_PARSER:
                yield finding.diagnostic()

    def _replace(self, writer: Writer, around: Surroundings, node: OnnxNode, met: Met) -> None:
        form = FORMS.get((node.op_type, met.row.name))
        ctx = RuleContext(node, writer.graph.opsets.get("", 0), writer.fresh, around)
        if form is None:
            raise AtcError(_no_form(node, met, str(self._file.path)))
        try:
            ctx.results = form(ctx)
        except UnfitError as error:
            raise AtcError(_no_form(node, met, str(self._file.path), error.reason)) from error
        earlier = (self._settled.get(name, frozenset()) for name in node.output_names)
        settled = frozenset({met.row.name}).union(*earlier)
        for made in splice(writer, node, ctx):
            if made.op_type == node.op_type:
                self._settled.update(dict.fromkeys(made.output_names, settled))
            else:
                self._written_out.update(made.output_names)
        spec = self._library.find(node.op_type, node.domain)
        operator = node.op_type if spec is None else spec.op
        row = met.row
        self._written.append(WrittenOut(node, operator, row.name, row.effect, met.certainty))
        self._replaced.update(node.output_names)


def _no_wire(broken: Broken, rule: ParserRule, path: str) -> Diagnostic:
    node = broken.node
    return NO_CANN_ARITHMETIC.diagnostic(
        Text(
            "what CANN computes for {op} cannot be reproduced: {effect}{why}",
            op="" if node is None else node.op_type,
            effect=Words(rule.effect.en, rule.effect.zh),
            why=Text(" (") + broken.observed + Text(")"),
        ),
        place=Place(path) if node is None else Place(path, node.index, node.name, node.op_type),
        help=_WITHOUT,
    )


_WITHOUT = Text("leave --semantics out, or rewrite the node with `atc-py fix --for cann`")


def _no_form(node: SourceNode, met: Met, path: str, needs: Text | None = None) -> Diagnostic:
    why = Text("; it could if {needs}", needs=needs) if needs else Text("")
    if met.row.undefined and met.answer.observed:
        why = Text(" ({reason})", reason=met.answer.observed)
    if met.certainty is Certainty.INFERRED:
        why += Text(" (inferred)")
    return NO_CANN_ARITHMETIC.diagnostic(
        Text(
            "what CANN computes for {op} cannot be reproduced: {effect}{why}",
            op=node.op_type,
            effect=Words(met.row.effect.en, met.row.effect.zh),
            why=why,
        ),
        place=Place(path, node.index, node.name, node.op_type),
        help=_WITHOUT,
    )
