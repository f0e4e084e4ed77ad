"""The base class of passes, and the record of fusions."""

from abc import ABC, abstractmethod
from collections import defaultdict
from typing import ClassVar

import msgspec

from atc_py.diag import Diagnostic, Place, Sink
from atc_py.ir import Graph, Node
from atc_py.options.compile_options import PrecisionMode, QuantBias
from atc_py.passes.pipeline import ROWS_BY_CLASS, PassRow
from atc_py.passes.precision.controls import Controls
from atc_py.passes.precision.decisions import Decisions
from atc_py.target import Soc


class Miss(msgspec.Struct, frozen=True):
    """A place where a rule almost applied."""

    reason: str  # why it does not, with what was found
    node: str  # the target node that is not what the pattern wants, or does not meet its condition
    origins: tuple[str, ...]  # names of the source nodes that it came from
    depth: int  # how many nodes of the pattern were there
    anchor: str = ""  # the target node that the pattern begins at; empty for `node` itself

    @classmethod
    def at(cls, node: Node, reason: str, depth: int = 1, anchor: str = "") -> "Miss":
        return cls(reason, node.name, tuple(each.name for each in node.origins), depth, anchor)


class PassFusions(msgspec.Struct):
    """The fusions of one pass."""

    matched: int = 0  # places where the pattern was
    effective: int = 0  # places that were rewritten
    nearest: Miss | None = None  # the miss that had most of the pattern; of equals the first
    # effects that have another of ATC's names than the first that the pass has
    rules: dict[str, int] = msgspec.field(default_factory=dict)

    def missed(self, miss: Miss, *, matched: bool) -> None:
        """Note a place that was left alone; `matched` says whether the whole pattern was there."""
        self.matched += matched
        if self.is_nearest(miss.depth):
            self.nearest = miss

    def is_nearest(self, depth: int) -> bool:
        """True if a miss with so many nodes of the pattern has more than those before."""
        return self.nearest is None or depth > self.nearest.depth

    def applied(self, count: int = 1, rule: str = "") -> None:
        """Note places that were rewritten, with ATC's name of the rule if it is not the pass's first."""
        self.matched += count
        self.effective += count
        if rule:
            self.rules[rule] = self.rules.get(rule, 0) + count


class PassContext(msgspec.Struct, frozen=True, eq=False):
    """The facts that passes may know besides the graph."""

    soc: Soc
    precision_mode: PrecisionMode  # how dtypes may change
    file: str  # the source model's path, for diagnostics
    # takes findings that do not stop the compilation
    sink: Sink = msgspec.field(default_factory=Sink)
    # what the user wants of single nodes beside the mode
    controls: Controls = msgspec.field(default_factory=Controls)
    # takes what was decided about precision
    decisions: Decisions = msgspec.field(default_factory=Decisions)
    # takes what rules of fusion found, by the name of the pass
    fusions: defaultdict[str, PassFusions] = msgspec.field(
        default_factory=lambda: defaultdict(PassFusions)
    )
    reuse_memory: bool = True  # whether values may share addresses
    quant_bias: QuantBias = QuantBias.UNFOLDED  # the convention of biases of int8 layers
    only_atc_passes: bool = False  # whether rewrites that no pass of ATC does are left out

    def place(self, node: Node) -> Place:
        """The place of a finding about `node`: its first source node."""
        if not node.origins:
            return Place(self.file, op_type=node.op)
        origin = node.origins[0]
        return Place(self.file, origin.index, origin.name, origin.op_type)


class Switches(msgspec.Struct, frozen=True):
    """The contents of a switch file."""

    disabled: frozenset[str] = frozenset()  # our names of the passes that do not run
    warnings: tuple[Diagnostic, ...] = ()  # names that switch nothing, each with its reason


class Pass(ABC):
    """One step of compilation; `pipeline` has its row."""

    row: ClassVar[PassRow]

    def __init_subclass__(cls) -> None:
        if cls.__name__ in ROWS_BY_CLASS:
            cls.row = ROWS_BY_CLASS[cls.__name__]

    @abstractmethod
    def run(self, graph: Graph, context: PassContext) -> int:
        """Change `graph` in place; the number of changes, 0 when there was nothing to do.

        Nodes may be appended anywhere: the manager puts producers before consumers afterwards.
        What the model returns is used by `graph.result`: `uses`, `consumers` and `is_used` of a
        value include it, and `replace_by` changes it, too.

        Raises:
            AtcError: the model cannot be compiled with these options.
        """
