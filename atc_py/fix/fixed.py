"""A model after fixing: its new form, the rules that were applied, and those that did not fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from atc_py.check.evaluate import Checked
from atc_py.diag.codes import FIX_NOT_SETTLED
from atc_py.fix.new_node import NewNode
from atc_py.fix.rule import FixRule
from atc_py.fix.step import RuleStep
from atc_py.fix.tidy.tidying import Tidied
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.folding.graph import WorkGraph, WorkNode
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.text import Text


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule that was applied.

    Attributes:
        rule: the rule.
        node: the node that it replaced.
        made: the nodes that replaced it.
        step: both, so that they can be run.
    """

    rule: FixRule
    node: SourceNode
    made: tuple[NewNode, ...]
    step: RuleStep

    def with_moved(self, moved: Mapping[str, NewNode]) -> Applied:
        """The same with those of its nodes that tidying has moved, by former results."""
        new = (moved[name] for node in self.made for name in node.outputs if name in moved)
        return replace(self, made=(*self.made, *new))


@dataclass(frozen=True, slots=True)
class Unfit:
    """A rule that did not fit a refused node, and the condition that does not hold."""

    rule: FixRule
    node: SourceNode
    reason: Text


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
        settled: whether the last round changed nothing; False if a bound ended the rounds.
        look: folds and checks the graph once more; None if it is not settled.
        folded: the graph with its branches and as a source model; None if it is not settled.
        tidied: changes of tidying, after the last rule.
        imported: nodes that stand for quantized layers of the file, as the compiler takes them.
    """

    file: OnnxFile
    graph: WorkGraph
    before: Checked
    after: Checked
    applied: tuple[Applied, ...] = ()
    unfit: tuple[Unfit, ...] = ()
    settled: bool = True
    look: Callable[[], tuple[FoldedModel, Checked]] | None = None
    folded: FoldedModel | None = None
    tidied: Tidied = field(default_factory=Tidied)
    imported: frozenset[WorkNode] = frozenset()

    @property
    def model(self) -> SourceModel | None:
        """The graph as a source model; None if it is not settled."""
        return None if self.folded is None else self.folded.source

    def require_settled(self) -> None:
        """Refuse a form that rules would go on changing.

        Raises:
            AtcError: FIX_NOT_SETTLED, with the rules that were applied last.
        """
        if self.settled:
            return
        rules = ", ".join(
            dict.fromkeys(applied_rule.rule.name for applied_rule in self.applied[-8:])
        )
        raise FIX_NOT_SETTLED.error(
            Text("rules undo each other, or never end: {rules}", rules=rules),
            help=Text("leave one of them out with --skip"),
        )
