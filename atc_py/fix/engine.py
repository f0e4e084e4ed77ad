"""The engine: rules are applied to refused nodes, round by round, until none is left or none fits.

Over 400 lines: the rounds share the state of one fix.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeAlias

from atc_py.check.bound_node import Conditions
from atc_py.check.evaluate import Checked, check_view
from atc_py.check.findings import Finding, Standing
from atc_py.check.findings_builder import amended
from atc_py.diag import OPERATOR_RESTATED
from atc_py.fix.choosing import cheapest, fitting_forms
from atc_py.fix.context import RuleContext, splice
from atc_py.fix.deviating import are_read_elsewhere, deviating_nodes, is_unknown_to_parser
from atc_py.fix.facts import Surroundings
from atc_py.fix.fixed import Applied, Fixed, Lineage, Unfit, application_of
from atc_py.fix.range_rules import Range
from atc_py.fix.ranges import Ranges
from atc_py.fix.restate import PREFERRED, Look, restate_graph, state_at_best
from atc_py.fix.rule import Exactness, FixRule, Purpose, check_rules, rules_of_operator
from atc_py.fix.start import Start, bind_inputs
from atc_py.fix.tidy.tidying import Tidied, tidy_graph
from atc_py.onnx_graph.folding.bind import observe_inputs
from atc_py.onnx_graph.folding.folded import FoldedModel, fold_with_branches
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.rewriting.graph_body import levels_of
from atc_py.onnx_graph.rewriting.qdq import import_quantized
from atc_py.onnx_graph.rewriting.qdq.writer import Writer
from atc_py.onnx_graph.source import QuantizedNode, SourceModel, SourceNode, SourceTensor
from atc_py.onnx_graph.source.model import FOLD_LIMIT
from atc_py.options.compile_options import PrecisionMode
from atc_py.options.fix_rules import FixRules
from atc_py.spec import Library
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

# Rounds of rules, beside one for each level of graphs in graphs; a form takes few.
_MOST_ROUNDS = 60

# Times that other forms are tried for nodes whose first forms are refused in the end.
_MOST_CHOICES = 8

# Opset from which on a refused model stays at its own while rules apply.
_OLDEST = 11

# Times that a form is tidied, each with more nodes left out; beyond, it stays as rules wrote it.
_MOST_TIDYINGS = 3

# A node of the file, and the rules by which a part of what replaces it has come to be.
_Choice = tuple[int, tuple[str, ...]]

Trial: TypeAlias = Callable[[FoldedModel, Checked], Sequence[Finding]]
"""Further findings: errors of nodes that the list takes and for which a SoC has no kernel."""


class Fixer:
    """Applies rules to one file."""

    def __init__(
        self,
        file: OnnxFile,
        conditions: Conditions,
        library: Library,
        rules: FixRules,
        start: Start | None = None,
        trial: Trial | None = None,
    ) -> None:
        """Take a file.

        `start` is the file folded and checked with these conditions and that list, without inputs
        that are bound; `trial` finds listed nodes that would not compile, else the list alone
        decides.
        """
        self.looked_around = False  # whether a rule that was tried has looked at more than its node
        self._file = file
        self.start = start  # the file folded and checked; None until `fix` where it was not given
        self._trial = trial
        self._measures = False
        self._conditions = conditions
        self._library = library
        self._rules = rules
        check_rules(rules.only | rules.skip)
        self._applied: list[Applied] = []
        self._hopeless: dict[int, list[Unfit]] = {}
        self._levels = max((levels_of(node.proto) for node in file.nodes), default=0)
        self._lineage = Lineage()
        self._around: Surroundings | None = None
        self._choices: dict[int, _Choice] = {}
        self._barred: set[_Choice] = set()
        self._deviations: Mapping[SourceNode, frozenset[str]] = {}
        self._known_rules: dict[tuple[str, Purpose, frozenset[str]], tuple[FixRule, ...]] = {}

    def fix(
        self, shapes: Mapping[str, Shape], *, tidy: bool = True, measures: bool = False
    ) -> Fixed:
        """The model in its new form; tidying it changes no verdict.

        A node of the file whose new form is still refused gets another one where several rules
        fitted, and else stays as it was. With `measures` runs of the model are to show what rules
        change that have a bound for it.

        Raises:
            AtcError: BAD_INPUT_SHAPE for shapes that fit no input; BAD_OPTION for a value of an
                input that the model does not have, or whose dims are open.
        """
        self._measures, choices = measures, 0
        while True:
            result = self._fix(shapes)
            refused = set()
            if result.model is not None:
                refused = {node.index for node in self._refused(result.model, result.after)}
                refused &= {step.node.index for step in result.applied}
            if not refused:
                if tidy:
                    self._tidy(result)
                return result
            choices += 1
            for index in refused:
                if index in self._choices and choices <= _MOST_CHOICES:
                    self._barred.add(self._choices[index])
                else:
                    self._hopeless[index] = _misfits_of(index, result)
            self._applied.clear()

    def _fix(self, shapes: Mapping[str, Shape]) -> Fixed:
        """The model with every rule applied that fits; hopeless nodes are left out."""
        self._lineage, self._choices, self._around = Lineage(self._levels), {}, None
        file, start = self._file, self.start
        if start is None:
            inputs = observe_inputs(file.path, file.inputs, shapes)
            graph = file.graph(inputs, file.bias_convention(None))
            bind_inputs(graph, self._rules.bind)
            quantized = import_quantized(graph, file.tensors, FOLD_LIMIT)
        else:
            graph, quantized = start.graph, start.quantized
        imported = frozenset(graph.nodes).difference(file.nodes)
        look = self._looking(graph, quantized)
        model, before = look() if start is None else (start.model, start.checked)
        self.start = start or Start.of(model, before)
        after = before
        known = [misfit for misfits in self._hopeless.values() for misfit in misfits]
        if self._is_modernized(graph, model, after):
            model, after = look()
        precise = self._rules.for_precision
        if precise is None:
            precise = self._conditions.mode is PrecisionMode.FORCE_FP16
        settled, unfit = False, list[Unfit]()
        for _ in range(_MOST_ROUNDS + self._levels):
            changed, unfit, after = self._listing_round(graph, model, after)
            if not changed and self._rules.for_cann:
                model, after = self._read_as_onnx(graph, look, (model, after))
                self._deviations = self._deviating(model.source, after)
                changed, misfits = self._round(graph, model.source, self._deviations, Purpose.CANN)
                unfit += misfits
            if not changed and precise:
                refused = set(self._refused(model.source, after))
                precise, listed = False, set(model.source.nodes) - refused
                changed, _misfits = self._round(graph, model.source, listed, Purpose.PRECISION)
            settled = not changed and not self._lineage.endless
            if settled or self._lineage.endless:
                break
            model, after = look()
        fixed = Fixed(file, graph, before, after, tuple(self._applied), settled=settled)
        if settled:
            fixed.unfit, fixed.look = (*known, *unfit), look
            fixed.folded, fixed.imported = model, imported
        return fixed

    def _looking(self, graph: OnnxGraph, quantized: tuple[QuantizedNode, ...]) -> Look:
        file = self._file

        def look() -> tuple[FoldedModel, Checked]:
            graph.runs = 0
            graph.pinned.clear()  # Results of If nodes: other nodes may make them by now.
            folded = fold_with_branches(graph, file.tensors, FOLD_LIMIT)
            model = file.translated(folded, quantized, file.bias_convention(None))
            return model, check_view(model.source, self._conditions, self._library, history())

        return look

    def _tidy(self, fixed: Fixed) -> None:
        if fixed.model is None or fixed.look is None or not fixed.applied:
            return
        graph = fixed.graph
        own = {n for step in fixed.applied for new in step.made for n in new.output_names}
        nodes, consts = graph.nodes, dict(graph.consts)
        refused = {node.index for node in self._refused(fixed.model, fixed.after)}
        barred: set[int] = set()
        for _ in range(_MOST_TIDYINGS):
            fixed.tidied = tidied = tidy_graph(graph, own, barred)
            if graph.nodes == nodes and graph.consts.keys() == consts.keys() and graph.may_run:
                return  # the last look was on the same graph, and finds nothing more
            folded, after = fixed.look()
            new = {node.index for node in self._refused(folded.source, after)} - refused
            if not new:
                fixed.folded, fixed.after = folded, after
                fixed.applied = tuple(step.with_moved(tidied.moved) for step in fixed.applied)
                return
            barred |= new
            graph.nodes, graph.consts, fixed.tidied = nodes, dict(consts), Tidied()
            fixed.folded, fixed.after = fixed.look()

    def _is_modernized(self, graph: OnnxGraph, model: FoldedModel, checked: Checked) -> bool:
        """State a refused model of an old opset at the preferred one; return True if it has changed.

        Rules write in the forms of the model's opset, and lists have few of the oldest.
        """
        old = 0 < graph.opsets.get("", 0) < _OLDEST
        if not old or not any(self._refused(model.source, checked)):
            return False
        return restate_graph(graph, model, self._library, PREFERRED)

    def _read_as_onnx(
        self, graph: OnnxGraph, look: Look, seen: tuple[FoldedModel, Checked]
    ) -> tuple[FoldedModel, Checked]:
        """State a model at an opset at which CANN reads it; the model as it is without such an opset."""
        model, checked = seen
        met = chain.from_iterable(self._deviating(model.source, checked).values())
        if not are_read_elsewhere(met, self._library):
            return seen
        return state_at_best(graph, seen, look, self._library, self._conditions.cann)

    def _deviating(
        self, source: SourceModel, checked: Checked
    ) -> Mapping[SourceNode, frozenset[str]]:
        return deviating_nodes(source, checked, self._library, self._conditions)

    def _round(
        self,
        graph: OnnxGraph,
        model: SourceModel,
        todo: Collection[SourceNode],
        purpose: Purpose = Purpose.LISTS,
    ) -> tuple[bool, list[Unfit]]:
        """Replace every node of `todo` that a rule fits; return True if one was, and misfits."""
        writer = Writer(graph)
        unfit: list[Unfit] = []
        changed = False
        given = {name: Range(*bound) for name, bound in self._rules.ranges.items()}
        made_bytes = 0 if self._around is None else self._around.made_bytes
        ranges = Ranges(graph, given)
        around = Surroundings(graph, self._file.tensors, ranges, writer.nodes, made_bytes)
        self._around = around
        self._pending: dict[OnnxNode, tuple[RuleContext, FixRule]] = {}
        for node in graph.nodes:
            if node in around.taken:
                if node in self._pending:
                    self._write(writer, around, *self._pending.pop(node))
                continue
            hit = any(inner in todo for inner in node.with_inner)
            tried = hit and node.index not in self._hopeless and not self._lineage.endless
            done = tried and self._replace(writer, around, node, unfit, purpose)
            changed = changed or done
            if not done:
                writer.keep(node)
        writer.finish()
        return changed, unfit

    def _listing_round(
        self, graph: OnnxGraph, model: FoldedModel, checked: Checked
    ) -> tuple[bool, list[Unfit], Checked]:
        """A round on what the list refuses, then on what it takes and would not compile, with the check."""
        changed, unfit = self._round(graph, model.source, set(self._refused(model.source, checked)))
        if changed or self._trial is None:
            return changed, unfit, checked
        found = self._trial(model, checked)
        errors = [finding for finding in found if finding.standing is Standing.ERROR]
        check = amended(checked.check, model.source, errors)
        if check is not checked.check:
            checked = replace(checked, check=check)
            refused = set(self._refused(model.source, checked))
            changed, unfit = self._round(graph, model.source, refused)
        return changed, unfit, checked

    def _refused(self, model: SourceModel, checked: Checked) -> Iterator[SourceNode]:
        """Yield the nodes with a finding that is to be removed.

        Findings on the opset are not: the model is stated at another one in the end. Where the list
        has no Cast of float64, no region of it is entered or left, so its listed nodes count, too.
        """
        rewritten = {
            (
                finding.place.node,
                finding.place.node_name or "",
                finding.place.op_type,
                finding.scope,
            )
            for finding in (checked.check.findings if self._rules.all_findings else ())
            if finding.standing.reaches(Standing.REWRITE) and finding.code is not OPERATOR_RESTATED
        }
        pairs = [*zip(model.all_nodes, checked.check.rows, strict=True)]
        closed = any(
            row.standing is Standing.ERROR
            and node.op_type == "Cast"
            and _have_double((*node.inputs, *node.outputs))
            for node, row in pairs
        )
        for node, row in pairs:
            label = node.index, node.name, node.op_type, node.scope
            listed = row.standing is not Standing.ERROR and label not in rewritten
            unknown = self._rules.for_cann and is_unknown_to_parser(
                node, self._library, self._conditions
            )
            if not listed or unknown or (closed and _have_double(node.inputs)):
                yield node

    def _rules_of(
        self, label: str, purpose: Purpose, deviations: frozenset[str]
    ) -> tuple[FixRule, ...]:
        key = label, purpose, deviations
        if key not in self._known_rules:
            rules = rules_of_operator(*key)
            allowed = map(self._allowed, rules)
            self._known_rules[key] = tuple(rule for rule in allowed if rule is not None)
        return self._known_rules[key]

    def _allowed(self, rule: FixRule) -> FixRule | None:
        chosen = self._rules
        if rule.name in chosen.skip or (chosen.only and rule.name not in chosen.only):
            return None
        if chosen.approximate or rule.exactness is not Exactness.APPROXIMATE:
            return rule
        return rule.as_measured if self._measures else None

    def _replace(
        self,
        writer: Writer,
        around: Surroundings,
        node: OnnxNode,
        unfit: list[Unfit],
        purpose: Purpose,
    ) -> bool:
        """Write the cheapest form that rules have for `node`; return True if there is one."""
        if any(attribute.ref_attr_name for attribute in node.proto.attribute):
            return False  # an attribute of a function, outside of which it has no value
        label = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        before = self._lineage.of(node.writes)
        # A rule that has left a deviation once would leave it again.
        done = before if purpose is Purpose.CANN else ()
        rules = [
            rule
            for rule in self._rules_of(label, purpose, self._deviations.get(node, frozenset()))
            if rule.name not in done and (node.index, (*before, rule.name)) not in self._barred
        ]
        opset = writer.graph.opsets.get("", 0)
        contexts: list[RuleContext] = []

        def open_context() -> RuleContext:
            contexts.append(RuleContext(node, opset, writer.fresh, around))
            return contexts[-1]

        forms = fitting_forms(node, rules, open_context, unfit)
        self.looked_around = self.looked_around or any(ctx.looked_around for ctx in contexts)
        if not forms:
            return False
        ctx = cheapest([*forms], writer.graph, self._conditions.soc)
        rule = forms[ctx]
        if len(forms) > 1 or purpose is not Purpose.LISTS:
            self._choices[node.index] = (node.index, (*before, rule.name))
        if ctx.absorbed:
            around.taken.update(ctx.absorbed)
            self._pending[ctx.absorbed[-1]] = ctx, rule
        else:
            self._write(writer, around, ctx, rule)
        return True

    def _write(self, writer: Writer, around: Surroundings, ctx: RuleContext, rule: FixRule) -> None:
        """Write a form in the place of a node, or of the last of the nodes that go along with it."""
        node, chain, start = ctx.node, ctx.absorbed, len(writer.nodes)
        origin = replace(node, output_names=chain[-1].output_names) if chain else node
        made = splice(writer, origin, ctx)
        around.made_bytes += ctx.made_bytes
        chain = (*chain[:-1], *ctx.beside, *chain[-1:])
        new = writer.nodes[start:]
        step = application_of(rule, writer.graph, (node, *chain), made, new, around.ranges)
        before = self._lineage.of(node.writes)
        names = (*origin.writes, *(name for new_node in made for name in new_node.output_names))
        self._lineage.note(before, rule, names)
        self._applied.append(step)


def _have_double(tensors: Iterable[SourceTensor | None]) -> bool:
    return any(tensor is not None and tensor.dtype is DType.FLOAT64 for tensor in tensors)


def _misfits_of(index: int, fixed: Fixed) -> list[Unfit]:
    """The rule whose form of a node of the file is refused, and those that do not fit this form."""
    applied = next(step for step in fixed.applied if step.node.index == index)
    findings = (each for each in fixed.after.check.findings if each.standing is Standing.ERROR)
    error = next((each for each in findings if each.place.node == index), None)
    own = [misfit for misfit in fixed.unfit if misfit.node.index == index]
    if error is None:
        return own
    reason = Text("its new nodes are listed: {finding}", finding=error.message)
    refused = Unfit(applied.rule, applied.node, reason, refused=error.message)
    return [refused, *own]
