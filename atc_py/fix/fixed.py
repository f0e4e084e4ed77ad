"""A model before and after fixing: its new form, the rules that were applied, and those that did not fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

from atc_py.check.evaluate import Checked
from atc_py.diag import FIX_NOT_SETTLED
from atc_py.fix.range_rules import Range
from atc_py.fix.ranges import Ranges
from atc_py.fix.rule import FixRule
from atc_py.fix.tidy.tidying import Tidied
from atc_py.ir import ConstData
from atc_py.onnx_graph.folding.folded import FoldedModel
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.tensors import known_type
from atc_py.onnx_graph.source import SourceModel, SourceNode
from atc_py.text import Text

# Nodes before a node that a rule may look through; patterns have fewer.
_MOST_LOOKED_THROUGH = 16


@dataclass(frozen=True, slots=True)
class Applied:
    """A rule that was applied, with what it takes to run the node and what replaced it."""

    rule: FixRule
    node: OnnxNode
    made: tuple[OnnxNode, ...]  # the new nodes without copies of values, moved ones among them
    written: tuple[OnnxNode, ...]  # the nodes that replaced the node, producers first
    opsets: Mapping[str, int]  # imported version of each domain
    # types of the values that either side reads, and of the results, as far as known
    types: Mapping[str, ValueType]
    ranges: Mapping[str, Range]  # bounds of the integers among the node's inputs and outputs
    consts: Mapping[str, ConstData]  # the constants that either side reads
    # nodes before the node that the rule looked through, producers first
    given: tuple[OnnxNode, ...]
    # further nodes that it stood for, or that the new nodes compute again, producers first
    chain: tuple[OnnxNode, ...]

    @property
    def nodes(self) -> tuple[OnnxNode, ...]:
        """The node, between those that the rule looked through and those of the chain."""
        return (*self.given, self.node, *self.chain)

    @property
    def reads(self) -> tuple[str, ...]:
        """The values that the nodes take from around them."""
        made = {name for node in self.nodes for name in node.writes}
        return tuple(dict.fromkeys(n for node in self.nodes for n in node.reads if n not in made))

    @property
    def writes(self) -> tuple[str, ...]:
        """The results that others read: those of the last node."""
        return tuple(self.nodes[-1].writes)

    def with_moved(self, moved: Mapping[str, OnnxNode]) -> Applied:
        """The same with those of its nodes that tidying has moved, by former results."""
        new = (moved[name] for node in self.made for name in node.output_names if name in moved)
        return replace(self, made=(*self.made, *new))


def application_of(
    rule: FixRule,
    graph: OnnxGraph,
    nodes: Sequence[OnnxNode],
    made: Sequence[OnnxNode],
    written: Sequence[OnnxNode],
    ranges: Ranges,
) -> Applied:
    """The rule that put `written` in place of `nodes`, the node and those of its chain.

    `graph` has the constants of the new nodes.
    """
    given = () if nodes[1:] else nodes_looked_through(graph, nodes[0], written)
    reads = dict.fromkeys(name for value in (*given, *nodes, *written) for name in value.reads)
    names = (*reads, *(name for node in nodes for name in node.writes))
    types = {name: known for name in names if (known := known_type(graph, name)) is not None}
    tensors = (value for value in (*nodes[0].inputs, *nodes[0].outputs) if value is not None)
    return Applied(
        rule=rule,
        node=nodes[0],
        made=tuple(made),
        written=tuple(written),
        opsets=dict(graph.opsets),
        types=types,
        ranges={t.name: found for t in tensors if (found := ranges.of(t)) is not None},
        consts={name: graph.consts[name] for name in reads if name in graph.consts},
        given=tuple(given),
        chain=tuple(nodes[1:]),
    )


def nodes_looked_through(
    graph: OnnxGraph, origin: OnnxNode, written: Sequence[OnnxNode]
) -> list[OnnxNode]:
    """The nodes before `origin` back to what `written`, in its place, reads; producers first."""
    read = {name for node in written for name in node.reads if name not in graph.consts}
    own = {name for node in written for name in node.writes}
    if read <= {*origin.reads, *own}:
        return []
    results: dict[OnnxNode, None] = {}

    def visit(names: Iterable[str]) -> None:
        for name in names:
            node = None if name in read else graph.producer(name)
            if node is None or node in results or len(results) >= _MOST_LOOKED_THROUGH:
                continue
            visit(node.reads)
            results[node] = None

    visit(origin.reads)
    return [*results]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A rule that did not fit a refused node."""

    rule: FixRule
    node: SourceNode
    reason: Text  # the condition that does not hold
    unbounded: tuple[str, ...] = ()  # inputs of the model whose bounds could make it hold
    # the number of conditions that hold before it; by default as many as a rule can have
    held: int = 1 << 16
    # what the list has against the nodes that the rule would make, where it fits
    refused: Text | None = None


def closest_first(misfits: Iterable[Unfit]) -> dict[int, list[Unfit]]:
    """Misfits by the position of their node, those of which the most conditions hold first."""
    by_node: dict[int, list[Unfit]] = {}
    for misfit in sorted(misfits, key=attrgetter("held"), reverse=True):
        by_node.setdefault(misfit.node.index, []).append(misfit)
    return by_node


def unshown(measured: Iterable[Applied]) -> tuple[Unfit, ...]:
    """Measured rules as misfits, whose condition no run shows."""
    return tuple(
        Unfit(
            applied.rule,
            applied.node,
            Text(
                "runs of the model show that values differ by at most {limit} of their range; "
                "--allow-approximate applies the rule all the same",
                limit=f"{applied.rule.limit:.3g}",
            ),
        )
        for applied in measured
    )


def beyond(output: str, error: float, limit: float) -> Text:
    """The condition of measured rules where runs show more; numbers are parts of a range."""
    return Text(
        "{output} differs by at most {limit} of its range on the data, found {error}; "
        "--allow-approximate applies the rule all the same",
        output=output,
        limit=f"{limit:.3g}",
        error=f"{error:.3g}",
    )


class UnmeasuredError(Exception):
    """Rules that were applied for what runs of the model show change more, or are not shown."""

    def __init__(self, unfit: Sequence[Unfit]) -> None:
        super().__init__()
        self.unfit = tuple(unfit)


@dataclass(slots=True)
class Fixed:
    """A model after fixing."""

    file: OnnxFile
    graph: OnnxGraph  # the graph in its new form
    before: Checked
    after: Checked  # the check of the new form
    applied: tuple[Applied, ...] = ()
    unfit: tuple[Unfit, ...] = ()  # the rules that did not fit nodes that are still refused
    # whether the last round changed nothing; False if a bound ended the rounds
    settled: bool = True
    # folds and checks the graph once more; None if it is not settled
    look: Callable[[], tuple[FoldedModel, Checked]] | None = None
    # the graph with its branches and as a source model; None if it is not settled
    folded: FoldedModel | None = None
    tidied: Tidied = field(default_factory=Tidied)  # changes of tidying, after the last rule
    # nodes that stand for quantized layers of the file, as the compiler takes them
    imported: frozenset[OnnxNode] = frozenset()

    @property
    def model(self) -> SourceModel | None:
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
            Text("rules undo each other or never terminate: {rules}", rules=rules),
            help=Text("leave one of them out with --skip"),
        )


MOST_RETURNS = 8
"""Times that one rule may take part in what replaces one node of the file, beside once for each level of
graphs in graphs, which a rule opens one by one."""

MOST_NEW_NODES = 300_000
"""Nodes that rules may write in one model."""


class Lineage:
    """The rules by which each value of the model has come to be.

    Rules that undo each other return on the way to one node again and again; a rule that writes its
    own operator several times doubles the model each round. Both end here, long before memory does.
    """

    def __init__(self, levels: int = 0) -> None:
        """Know nothing yet; `levels` are those of graphs in the graphs of the file's nodes."""
        self.endless = False  # whether a bound was reached; what has been written is then of no use
        self._most = MOST_RETURNS + levels
        self._rules: dict[str, tuple[str, ...]] = {}
        self._written = 0

    def of(self, names: Iterable[str]) -> tuple[str, ...]:
        """The names of the rules that wrote a node, the first one first, given its results."""
        return next((self._rules[name] for name in names if name in self._rules), ())

    def note(self, before: tuple[str, ...], rule: FixRule, made: Iterable[str]) -> None:
        """Note the results that a rule wrote in place of a node with the lineage `before`."""
        after = (*before, rule.name)
        names = tuple(made)
        self._rules.update(dict.fromkeys(names, after))
        self._written += len(names)
        if after.count(rule.name) > self._most or self._written > MOST_NEW_NODES:
            self.endless = True
