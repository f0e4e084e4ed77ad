"""The tools of fusion rules: a walk over a pattern, conditions, and the rewrite.

A rule starts at its anchor and asks a `Match` for the producers and consumers that its pattern
has. Each question that the graph answers otherwise raises a `MissError` with what was found, so
a rule reads as the pattern itself. The nodes that were found are kept; conditions that all rules
share, and the rewrite, work on them.

Over 400 lines: a match and what it may be asked are one thing.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from atc_py.ir import AttrValue, DenseConst, Graph, Node, Origin, Return, Value
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Miss, Pass, PassContext, PassFusions
from atc_py.target import Column, find_operator, is_view
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.text import Text, made_text

_TOLERANCE = 1e-3
"""Relative; float16 holds constants of formulas to 5e-4."""


class MissError(Exception):
    """A rule does not apply.

    Attributes:
        reason: why, with what was found; it is said when it is asked for. `{node}` and `{op}` in a
            template stand for the node to blame.
        matched: the pattern is there, but a condition is not met.
    """

    matched = False

    def __init__(self, template: str | Callable[[], Text], node: Node, /, **values: object) -> None:
        super().__init__()
        self.node = node
        self._said = template, values

    @property
    def reason(self) -> Text:
        template, values = self._said
        if callable(template):
            return template()
        blamed = {"node": repr(self.node), "op": self.node.op}
        shown = {name: text for name, text in blamed.items() if f"{{{name}}}" in template}
        return made_text(template, "", shown | values)

    def __str__(self) -> str:
        return self.reason


def is_close(found: float | None, wanted: float) -> bool:
    """True if a constant is the one of a formula, up to what float16 holds of it."""
    return found is not None and abs(found - wanted) <= _TOLERANCE * abs(wanted)


class Match:
    """The nodes of one place in a graph that a rule has found so far.

    Attributes:
        anchor: the node at which the rule started.
        nodes: what was found, the anchor first.
        borrowed: nodes that the pattern has and others may read as well.
        dead: nodes that the rewrite left without use; the pass removes them.
        rule: ATC's name for what the rewrite did, where it is not the first of the pass's.
    """

    def __init__(self, graph: Graph, context: PassContext, anchor: Node) -> None:
        self.graph = graph
        self.anchor = anchor
        self.nodes = [anchor]
        self.borrowed: list[Node] = []
        self.dead: list[Node] = []
        self.rule = ""
        self.context = context

    def producer(self, value: Value | None, *ops: str) -> Node:
        """The node that computes `value`, which must be one of `ops`; it is kept."""
        node = None if value is None else value.producer
        if value is None or node is None:
            either = _either(ops)
            message = Text("{either} must compute an absent input, found nothing", either=either)
            if value is not None:
                message = Text(
                    "{either} must compute %{value}, found nothing", either=either, value=value.name
                )
            raise MissError(message, self.nodes[-1])
        if node.op not in ops:
            raise MissError(
                "{either} must compute %{value}, found {op}",
                node,
                either=_either(ops),
                value=value.name,
            )
        return self.keep(node)

    def consumer(self, node: Node, *ops: str) -> Node:
        """Keep the one node that reads the result of `node`, which must be one of `ops`.

        Where the graph returns the result as well, `become` refuses the match.
        """
        readers = node.output.readers
        if len(readers) != 1:
            found = listed_readers(readers)
            raise MissError(
                "one {either} must read the result of {op}, found {actual}",
                node,
                either=_either(ops),
                actual=found,
            )
        if readers[0].op not in ops:
            raise MissError(
                "{either} must read the result of {op}, found {op_2}",
                readers[0],
                either=_either(ops),
                op=node.op,
                op_2=readers[0].op,
            )
        return self.keep(readers[0])

    def follows(self, node: Node, *ops: str) -> Node | None:
        """The only reader of the result of `node` if it is one of `ops`; do not keep it."""
        readers = node.output.consumers
        return readers[0] if len(readers) == 1 and readers[0].op in ops else None

    def keep(self, node: Node) -> Node:
        if node not in self.nodes:
            self.nodes.append(node)
        return node

    def borrow(self, node: Node) -> Node:
        """`node`, which goes only if nothing else reads it after the rewrite."""
        if node not in self.borrowed:
            self.borrowed.append(node)
        return node

    def other(self, node: Node, value: Value) -> Value:
        """The operand of `node`, which has two, that is not `value`."""
        first, second = node.input(0), node.input(1)
        found = second if first is value else first if second is value else None
        if found is None:
            raise MissError(
                "{op} must read %{value} and one more, found {node}", node, value=value.name
            )
        return found

    def source_of(self, value: Value | None) -> Value | None:
        """The source of a `value` that repeats or casts it; the nodes are kept."""
        while value is not None and value.producer is not None and _only_dresses(value.producer):
            value = self.keep(value.producer).input(0)
        return value

    def ahead(self, node: Node) -> Node:
        """The last of the nodes that only dress up the result of `node`; they are kept."""
        while (reader := self.follows(node, "Cast", "ExpandD")) and _only_dresses(reader):
            node = self.keep(reader)
        return node

    def scaled(self, node: Node, value: Value) -> float:
        """The constant by which `node` multiplies or divides `value`, as a factor."""
        if node.op == "Muls":
            return float(node.attributes["value"])  # type: ignore[arg-type]  # verified: a float
        number = scalar(self.other(node, value))
        if number is None:
            raise MissError("{op} must have a constant of one element, found {node}", node)
        if node.op == "RealDiv" and (number == 0 or node.input(0) is not value):
            raise MissError("RealDiv must divide by a constant, found {node}", node)
        return 1 / number if node.op == "RealDiv" else number

    def require(
        self, condition: object, template: str, node: Node | None = None, /, **values: object
    ) -> None:
        if not condition:
            miss = MissError(template, node or self.anchor, **values)
            miss.matched = True
            raise miss

    def require_type_of(self, x: Value | None, last: Node) -> None:
        """Require the result of `last` to be floats with the dtype and dims of `x`.

        A constant of one element may have more axes than `x`, and so give the result more of them;
        division of integers rounds each quotient.
        """
        found, wanted = last.output.type, None if x is None else x.type
        same = wanted is not None and (found.dtype, found.dims) == (wanted.dtype, wanted.dims)
        self.require(
            same,
            "the result must be {wanted}, found {actual}",
            last,
            wanted=wanted or Text("there"),
            actual=found,
        )
        self.require(
            found.dtype.is_float, "floats must be computed, found {actual}", last, actual=found
        )

    def require_closed(self, last: Node) -> None:
        """Require that only the result of `last` is read or returned outside the match."""
        inside = set(self.nodes)
        for node in self.nodes:
            if node is last:
                continue
            for value in node.outputs:
                readers = [reader for reader in value.consumers if reader not in inside]
                if readers:
                    self.require(
                        not readers,
                        "nothing else may read %{value}, found {listed_readers}",
                        node,
                        value=value.name,
                        listed_readers=listed_readers(readers),
                    )

    def require_one_precision(self) -> None:
        """Require controls of precision to treat all nodes of the match alike."""
        controls = self.context.controls
        if not (controls.concern_nodes or controls.lists):
            return
        nodes = [*self.nodes, *self.borrowed]
        kept = [node for node in nodes if controls.keeps(node)]
        others = [node for node in nodes if node not in kept]
        if kept and others:
            self.require(
                not others,
                "{op} keeps its dtype (keep-dtype), but {op_2} does not",
                kept[0],
                op_2=others[0].op,
            )
        for node in nodes:
            given = controls.custom.of(node) is not None
            self.require(not given, "customize-dtypes gives the dtypes of {op}", node)
            moved = node.op in controls.lists
            self.require(not moved, "modify-mixlist moves {op} to another list", node)

    def columns_of(self, op: str) -> tuple[Column, ...]:
        row = find_operator(op)
        return () if row is None else row.columns_on(self.context.soc)

    def require_kernel(self, op: str, last: Node) -> None:
        """Require the SoC to have an AI Core kernel of `op` for the result of `last`.

        Where the mode keeps all dtypes the kernel must have the result's, or a wider one.
        """
        soc, columns = self.context.soc.name, self.columns_of(op)
        self.require(columns, "{op} has no AI Core kernel on {soc}", last, op=op, soc=soc)
        if self.context.precision_mode is PrecisionMode.MUST_KEEP_ORIGIN_DTYPE:
            dtype = last.outputs[0].type.dtype
            kept = any(column.outputs[0] in {dtype, DType.FLOAT32} for column in columns)
            self.require(
                kept,
                "{op} does not produce {dtype}, which the mode keeps, on {soc}",
                last,
                op=op,
                dtype=dtype.value,
                soc=soc,
            )

    def forces_float16(self) -> bool:
        """True if the mode computes all nodes of the match in float16, whatever they were."""
        forced = self.context.precision_mode is PrecisionMode.FORCE_FP16
        return forced and not any(self.context.controls.keeps(node) for node in self.nodes)

    def become(
        self,
        last: Node,
        op: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, AttrValue] | None = None,
        survivors: Sequence[Node] = (),
    ) -> Node:
        """Make `last` the node that computes the result of the whole match, or miss.

        All others go but `survivors`, which come from all origins of the match as `last` does.
        """
        if op not in {node.op for node in self.nodes} and not is_view(op):
            self.require_kernel(op, last)
        self.require_closed(last)
        self.require_one_precision()
        self.graph.restate(last, op, inputs, attributes)
        for node in (last, *survivors):
            node.origins = merged_origins(*self.nodes, *self.borrowed)
        for node in survivors:
            node.output.stands_for = ()  # it computes a step on the way to the last result
        self.dead = [node for node in self.nodes if node not in {last, *survivors}]
        for node in self.dead:
            node.drop_inputs()
        self._bury_idle(self.borrowed, last)
        return last

    def redirect(
        self, op: str, inputs: Sequence[Value | None], attributes: Mapping[str, AttrValue]
    ) -> None:
        """Make the anchor compute its result as `op` of `inputs`; remove unread nodes."""
        self.require_one_precision()
        node = self.anchor
        if node.op != op:
            node.name = self.graph.fresh_name(f"{op}:{node.output.name}")
        node.op, node.attributes = op, dict(attributes)
        node.set_inputs(inputs)
        self._bury_idle(self.nodes[1:], self.anchor)

    def pass_through(self, source: Value) -> None:
        """Make all readers of the anchor's result read `source`; remove unread nodes."""
        node = self.anchor
        kept = node.output.is_output
        self.require(not kept, "%{output} is an output of the model", output=node.output.name)
        self.require_one_precision()
        node.output.replace_by(source)
        node.drop_inputs()
        self.dead.append(node)
        self._bury_idle(self.nodes[1:], self.anchor)

    def dims(self) -> Value:
        """The dims of the anchor's result as a constant; its own where it has one."""
        node = self.anchor
        given = node.input(1) if node.op == "Reshape" else None
        if given is not None and given.const is not None:
            return given
        data = DenseConst(np.array(node.output.type.shape, np.int64))
        return self.graph.constant(f"{node.output.name}.shape", data)

    def _bury_idle(self, nodes: Sequence[Node], heir: Node) -> None:
        for node in nodes:
            if any(value.is_used for value in node.outputs):
                continue
            heir.origins = merged_origins(heir, node)
            node.drop_inputs()
            self.dead.append(node)

    def require_known_dims(self, *values: Value) -> None:
        for value in values:
            if value.type.is_open:
                raise MissError("dims must be known, found {x}", self.anchor, x=value.type)


def listed_readers(readers: Sequence[Node]) -> str:
    """List consumers for messages: `Mul, 3 Add`, `nobody`; an output of the model comes last."""
    counts = Counter(reader.op for reader in readers if not isinstance(reader, Return))
    parts: list[str] = [op if count == 1 else f"{count} {op}" for op, count in counts.items()]
    if any(isinstance(reader, Return) for reader in readers):
        parts.append(Text("an output of the model"))
    return Text(", ").join(parts) if parts else Text("no node")


def merged_origins(*nodes: Node) -> tuple[Origin, ...]:
    """The source nodes that any of `nodes` came from, oldest first."""
    origins = {origin for node in nodes for origin in node.origins}
    return tuple(sorted(origins, key=lambda origin: origin.index))


def scalar(value: Value | None) -> float | None:
    """The number in a constant of one element, or None."""
    if value is None or value.const is None or element_count(value.const.shape) != 1:
        return None
    return float(value.const.numpy().reshape(-1)[0].astype(np.float64))


class RewritePass(Pass):
    """A pass of one rule, tried at every node of the anchors in its row."""

    @abstractmethod
    def rewrite(self, match: Match) -> None:
        """Find the pattern around the anchor, check the rule's conditions, and rewrite it.

        Raises:
            MissError: the rule does not apply; the graph is then as it was.
        """

    def run(self, graph: Graph, context: PassContext) -> int:
        record = context.fusions[self.row.name]
        anchors = self.row.anchors or ()
        before, gone = record.effective, set[object]()
        for node in list(graph.nodes):
            if node.op not in anchors or node in gone:
                continue
            match = Match(graph, context, node)
            if self._applied(match, record):
                gone.update(match.dead)
        graph.remove_nodes([node for node in graph.nodes if node in gone])
        return record.effective - before

    def _applied(self, match: Match, record: PassFusions) -> bool:
        try:
            self.rewrite(match)
        except MissError as miss:
            depth = len(match.nodes)
            record.matched += miss.matched
            if record.is_nearest(depth):  # to say why takes longer than to find out
                record.nearest = Miss.at(miss.node, miss.reason, depth, match.anchor.name)
            return False
        record.applied(rule=match.rule)
        return True


def _only_dresses(node: Node) -> bool:
    """True if a node repeats its input along axes, or casts between floats."""
    if node.op == "ExpandD":
        return True
    x = node.input(0)
    floats = x is not None and x.type.dtype.is_float and node.output.type.dtype.is_float
    return node.op == "Cast" and floats


def _either(ops: Sequence[str]) -> str:
    *rest, last = ops
    return Text(" or ").join([", ".join(rest), last]) if rest else last
