"""The engine: rules are applied to refused nodes, round by round, until none is left or none fits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from atc_py.check.evaluate import check_view
from atc_py.check.findings import Standing
from atc_py.diag import Words
from atc_py.diag.codes import BAD_OPTION
from atc_py.fix.neighbors import Neighbors
from atc_py.fix.ranges import Range, Ranges
from atc_py.fix.registry import check_rules, rules_of_operator
from atc_py.fix.rule import Exactness
from atc_py.fix.site import Site
from atc_py.fix.splice import splice
from atc_py.fix.unfit import UnfitError
from atc_py.frontend.folding.bind import observe_inputs
from atc_py.frontend.folding.if_branches import fold_with_branches
from atc_py.frontend.reading.history import history
from atc_py.frontend.reading.tensors import dtype_of_element
from atc_py.frontend.rewriting.qdq.importing import import_quantized
from atc_py.frontend.rewriting.qdq.writer import Writer
from atc_py.ir import DenseConst
from atc_py.source.limits import FOLD_LIMIT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from atc_py.check.bound_node import Conditions
    from atc_py.check.evaluate import Checked
    from atc_py.fix.new_node import NewNode
    from atc_py.fix.rule import FixRule
    from atc_py.frontend.folding.folded import FoldedModel
    from atc_py.frontend.folding.graph import WorkGraph, WorkNode
    from atc_py.frontend.reading.onnx_file import OnnxFile
    from atc_py.options.fix_rules import FixRules
    from atc_py.source import SourceModel, SourceNode
    from atc_py.spec import Library
    from atc_py.tensor.shapes import Shape

__all__ = ["Applied", "Fixed", "Fixer", "Unfit"]

_NOT_SOUND = Words("the node keeps to ONNX's definition", "节点符合 ONNX 定义")

_MOST_ROUNDS = 60
"""Rounds of rules; a form takes few, and rules that undo each other would take any number."""


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule that was applied.

    Attributes:
        rule: the rule.
        node: the node that it replaced.
        made: the nodes that replaced it.
    """

    rule: FixRule
    node: SourceNode
    made: tuple[NewNode, ...]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A rule that did not fit a refused node, and the condition that does not hold."""

    rule: FixRule
    node: SourceNode
    reason: Words


@dataclass(slots=True)
class Fixed:
    """A model after fixing.

    Attributes:
        file: the file as it was read.
        graph: the graph in its new form.
        before: the check of the file.
        after: the check of the new form.
        applied: the rules that were applied, in order.
        unfit: the rules that did not fit nodes that are still refused.
        settled: whether the last round changed nothing; False if the rounds ran out.
    """

    file: OnnxFile
    graph: WorkGraph
    before: Checked
    after: Checked
    applied: tuple[Applied, ...] = ()
    unfit: tuple[Unfit, ...] = ()
    settled: bool = True
    model: SourceModel | None = field(default=None)


@dataclass(frozen=True, slots=True)
class _Pending:
    """A rule that fits a node, and what it wrote.

    Attributes:
        rule: the rule.
        node: the node.
        work: the node in the graph.
        site: what the rule wrote.
        results: names of the values that become the outputs.
    """

    rule: FixRule
    node: SourceNode
    work: WorkNode
    site: Site
    results: Sequence[str]


class Fixer:
    """Applies rules to one file."""

    def __init__(
        self, file: OnnxFile, conditions: Conditions, library: Library, rules: FixRules
    ) -> None:
        self._file = file
        self._conditions = conditions
        self._library = library
        self._rules = rules
        check_rules(rules.only | rules.skip)
        self._applied: list[Applied] = []
        self._hopeless: dict[int, list[Unfit]] = {}

    def fix(self, shapes: Mapping[str, Shape]) -> Fixed:
        """Return the model in its new form.

        A node of the file whose new form is still refused stays as it was.

        Args:
            shapes: dims of inputs that the model leaves open, by name.

        Raises:
            AtcError: BAD_INPUT_SHAPE for shapes that fit no input; BAD_OPTION for a value of an
                input that the model does not have, or whose dims are open.
        """
        while True:
            found = self._fix(shapes)
            hopeless = self._still_refused(found)
            if not hopeless:
                return found
            for index in hopeless:
                self._hopeless[index] = [each for each in found.unfit if each.node.index == index]
            self._applied.clear()

    def _still_refused(self, found: Fixed) -> set[int]:
        """Return the positions in the file of nodes that were replaced, in vain."""
        if found.model is None:
            return set()
        refused = {node.index for node in self._refused(found.model, found.after)}
        return refused & {each.node.index for each in found.applied}

    def _fix(self, shapes: Mapping[str, Shape]) -> Fixed:
        """Return the model with every rule applied that fits; hopeless nodes are left out."""
        file = self._file
        convention = file.bias_convention(None)
        graph = file.graph(observe_inputs(file.path, file.inputs, shapes), convention)
        _bind(graph, self._rules.bind)
        quantized = import_quantized(graph, file.tensors, FOLD_LIMIT)

        def look() -> tuple[FoldedModel, Checked]:
            graph.runs = 0
            folded = fold_with_branches(graph, file.tensors, FOLD_LIMIT)
            model = file.translated(folded, quantized, convention)
            return model, check_view(model.source, self._conditions, self._library, history())

        model, before = look()
        after = before
        known = [each for found in self._hopeless.values() for each in found]
        for _ in range(_MOST_ROUNDS):
            changed, unfit = self._round(graph, model.source, after)
            if not changed:
                break
            model, after = look()
        else:
            return Fixed(file, graph, before, after, tuple(self._applied), settled=False)
        return Fixed(
            file, graph, before, after, tuple(self._applied), (*known, *unfit), model=model.source
        )

    def _round(
        self, graph: WorkGraph, model: SourceModel, checked: Checked
    ) -> tuple[bool, list[Unfit]]:
        """Replace every refused node that a rule fits; return True if one was, and misfits."""
        writer = Writer(graph)
        unfit: list[Unfit] = []
        changed = False
        refused = set(self._refused(model, checked))
        self._ranges = Ranges(
            model, {name: Range(*each) for name, each in self._rules.ranges.items()}
        )
        self._neighbors = Neighbors(model)
        self._pending: dict[SourceNode, _Pending] = {}
        for work, node in zip(graph.nodes, model.nodes, strict=True):
            if node in self._neighbors.taken:
                self._finish(writer, work, node)
                continue
            tried = node in refused and node.index not in self._hopeless
            done = tried and self._replace(writer, work, node, unfit)
            changed = changed or done
            if not done:
                writer.keep(work)
        writer.finish()
        return changed, unfit

    def _refused(self, model: SourceModel, checked: Checked) -> Iterator[SourceNode]:
        """Yield the nodes with a finding that is to be removed."""
        limit = Standing.REWRITE if self._rules.all_findings else Standing.ERROR
        for node, row in zip(model.all_nodes, checked.check.rows, strict=True):
            if row.standing.reaches(limit):
                yield node

    def _allows(self, rule: FixRule) -> bool:
        """Return True if the user lets `rule` apply."""
        chosen = self._rules
        if rule.name in chosen.skip or (chosen.only and rule.name not in chosen.only):
            return False
        return chosen.approximate or rule.exactness is not Exactness.APPROXIMATE

    def _replace(
        self, writer: Writer, work: WorkNode, node: SourceNode, unfit: list[Unfit]
    ) -> bool:
        """Write the form of the first rule that fits `node`; return True if there is one."""
        label = f"{node.domain}::{node.op_type}" if node.domain else node.op_type
        for rule in rules_of_operator(label):
            if not self._allows(rule):
                continue
            opset = writer.graph.opsets.get("", 0)
            site = Site(
                node,
                opset,
                writer.fresh,
                self._ranges,
                work,
                partial(_known, writer.graph),
                self._neighbors,
            )
            try:
                results = rule.apply(site)
            except UnfitError as error:
                if error.reason.en:
                    unfit.append(Unfit(rule, node, error.reason))
                continue
            except (LookupError, ValueError, ZeroDivisionError):
                # Lists of other lengths than the axes, strides of 0: the check has findings on them.
                unfit.append(Unfit(rule, node, _NOT_SOUND))
                continue
            pending = _Pending(rule, node, work, site, results)
            if site.absorbed:
                self._neighbors.taken.update(site.absorbed)
                self._pending[site.absorbed[-1]] = pending
            else:
                self._splice(writer, pending, work)
            return True
        return False

    def _finish(self, writer: Writer, work: WorkNode, node: SourceNode) -> None:
        """Write what a rule left for the place of the last node of a chain."""
        pending = self._pending.pop(node, None)
        if pending is not None:
            self._splice(writer, pending, replace(pending.work, outputs=work.outputs))

    def _splice(self, writer: Writer, pending: _Pending, origin: WorkNode) -> None:
        """Write what a rule wrote, and note the rule."""
        made = splice(writer, origin, pending.site, pending.results)
        self._applied.append(Applied(pending.rule, pending.node, made))


def _known(graph: WorkGraph, name: str) -> NDArray[Any] | None:
    """Return the data of a constant."""
    found = graph.consts.get(name)
    return None if found is None else found.numpy()


def _bind(graph: WorkGraph, values: Mapping[str, float]) -> None:
    """Make inputs constants that are filled with one value."""
    for name, value in values.items():
        if name not in graph.inputs:
            raise BAD_OPTION.error(
                f"the model has no input {name!r} to bind",
                help=f"its inputs are {', '.join(graph.inputs)}",
            )
        known = graph.inputs[name]
        dtype, shape = dtype_of_element(known.element), known.shape
        if dtype is None or shape is None:
            raise BAD_OPTION.error(
                f"input {name!r} cannot be bound: its dims are open",
                help=f"give them with --input-shape {name}:...",
            )
        graph.consts[name] = DenseConst(np.full(shape, value, dtype.numpy))
