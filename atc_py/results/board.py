"""What a board computed, beside the simulator and the original: layers, nodes, times, checks."""

from enum import Enum

from atc_py.diag import Diagnostic
from atc_py.results.board_times import BoardTimes
from atc_py.results.layer import Figures
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.model_diff import ModelDiff
from atc_py.system.json_text import json_values, plain_values
from atc_py.system.structs import Result

AGREEING_ROUNDINGS = 16.0
"""Units of rounding of a layer's dtype up to which board and simulator agree: sums in another order."""

AGREEING_FACTOR = 2.0
"""Multiple of the simulator's own error up to which they agree: two roundings of one value differ so."""


class LayerState(Enum):
    """The outcome of a result of the board; `statistics` are compared where nothing else was dumped."""

    COMPARED = "compared"
    STATISTICS = "statistics"
    CONVERSION = "conversion"
    STEP = "step"
    UNREAD = "unread"


class LayerVerdict(Enum):
    """The sides on which a layer is off.

    `board` is off on the board alone: a fault of the simulator, of CANN or of the device. `both` is
    off on both in the same way: the price of dtypes. `simulator` is off on the simulator alone.
    """

    GOOD = "good"
    BOARD = "board"
    BOTH = "both"
    SIMULATOR = "simulator"
    UNKNOWN = "unknown"


class BoardLayer(Result, frozen=True):
    """A result of an op on the board.

    Attributes:
        op: name of the op.
        type: its operator.
        output: which of its results.
        nodes: of the network that it computes; none of an inserted conversion.
        value: of the original that it stands for; empty where it stands for none.
        dtype: on the board.
        layout: storage format on the board.
        shape: in the network.
        state: whether it was compared.
        reason: why not, or what the op is there for.
        board: how far the board is from the original.
        simulator: how far the simulator is from it; None where it has no such result.
        between: how far the board is from the simulator.
        verdict: where it is off.
        introduced: whether the difference of board and simulator, or with none their common error,
            began here.
        root: position of the layer where the difference of board and simulator began; None without.
    """

    op: str
    type: str
    output: int
    nodes: tuple[str, ...]
    value: str
    dtype: str
    layout: str
    shape: tuple[int, ...]
    state: LayerState
    reason: str = ""
    board: Figures | None = None
    simulator: Figures | None = None
    between: Figures | None = None
    verdict: LayerVerdict = LayerVerdict.UNKNOWN
    introduced: bool = False
    root: int | None = None

    @property
    def label(self) -> str:
        """Names of its nodes; atc joins these without a mark in the op's own name."""
        return ", ".join(self.nodes) or self.op

    @property
    def is_float(self) -> bool:
        """True for floats."""
        return "float" in self.dtype

    def error(self, figures: Figures | None) -> float:
        """One figure to judge by; 0 without figures."""
        if figures is None:
            return 0.0
        return figures.error_of(figures.distance if self.is_float else figures.differing)


class NodeFate(Enum):
    """The outcome of a node of the network on the board."""

    COMPARED = "compared"
    FUSED = "fused"
    NO_TASK = "no task"
    REMOVED = "removed"
    NOT_DUMPED = "not dumped"
    UNREAD = "unread"


class BoardNode(Result, frozen=True):
    """A node of the network.

    Attributes:
        name: its name.
        op: its ONNX operator.
        fate: what became of it.
        where: op of the board that has it; empty for none.
        reason: more about it.
    """

    name: str
    op: str
    fate: NodeFate
    where: str = ""
    reason: str = ""


class BoardOutput(Result, frozen=True):
    """An output of the model as the run without dump gave it.

    Attributes:
        name: its name.
        board: how far the board is from the original; None where it could not be compared.
        simulator: how far the simulator is from it.
        between: how far the board is from the simulator.
        reason: why it was not compared.
    """

    name: str
    board: Figures | None = None
    simulator: Figures | None = None
    between: Figures | None = None
    reason: str = ""


class CheckState(Enum):
    """Result of a check of consistency."""

    HOLDS = "holds"
    FAILS = "fails"
    OPEN = "not known"


class BoardCheck(Result, frozen=True):
    """A check that what came back belongs together.

    Attributes:
        name: what is checked, in words.
        state: whether it holds.
        detail: what was found.
    """

    name: str
    state: CheckState
    detail: str = ""


class BoardComparison(Result, frozen=True):
    """A board beside the simulator and the original.

    Attributes:
        variant: how the model was compiled, by the kit's name; empty without a kit.
        sample: what was fed.
        simulator: the simulator beside the original.
        layers: results of the board in the order of execution.
        nodes: of the network.
        outputs: of the run without dump.
        checks: whether all belongs together.
        diff: launches of atc-py (first) and of the board (second); None without the JSON of the model.
        times: None without tables of msprof.
        findings: what was noticed.
        without_json: whether the JSON of the model was missing, so that nodes have no known place.
    """

    variant: str
    sample: str
    simulator: LayerComparison
    layers: tuple[BoardLayer, ...]
    nodes: tuple[BoardNode, ...]
    outputs: tuple[BoardOutput, ...]
    checks: tuple[BoardCheck, ...] = ()
    diff: ModelDiff | None = None
    times: BoardTimes | None = None
    findings: tuple[Diagnostic, ...] = ()
    without_json: bool = False

    def layers_off(self, verdict: LayerVerdict) -> list[int]:
        """Positions of the layers where an error of that verdict began, in order."""
        found = enumerate(self.layers)
        return [at for at, layer in found if layer.introduced and layer.verdict is verdict]

    @property
    def first(self) -> BoardLayer | None:
        """The first op whose error jumps on the board alone."""
        found = self.layers_off(LayerVerdict.BOARD)
        return self.layers[found[0]] if found else None

    def as_json(self) -> dict[str, object]:
        """The whole as JSON values; texts are in English."""
        first = self.first
        return {
            "variant": self.variant or None,
            "sample": self.sample or None,
            "first_on_the_board": None if first is None else first.op,
            "first_on_both": self._op(LayerVerdict.BOTH),
            "first_on_the_simulator": self._op(LayerVerdict.SIMULATOR),
            "checks": plain_values(self.checks),
            "outputs": plain_values(self.outputs),
            "layers": plain_values(self.layers),
            "nodes": plain_values(self.nodes),
            "diff": None if self.diff is None else self.diff.as_json(),
            "times": plain_values(self.times),
            "findings": json_values(self.findings),
            "simulator": self.simulator.as_json(),
        }

    def _op(self, verdict: LayerVerdict) -> str | None:
        found = self.layers_off(verdict)
        return self.layers[found[0]].op if found else None


class BoardReport(Result, frozen=True):
    """All comparisons of what came back from a board.

    Attributes:
        kit: path of the kit; empty for dumps alone.
        results: path of the results.
        soc: that the kit is for.
        cann: release of CANN on the host; empty where it is not known.
        comparisons: by variant and sample.
        findings: what was noticed beside the comparisons.
    """

    kit: str
    results: str
    soc: str
    cann: str
    comparisons: tuple[BoardComparison, ...]
    findings: tuple[Diagnostic, ...] = ()

    @property
    def all_findings(self) -> tuple[Diagnostic, ...]:
        """The findings of the whole and of each comparison."""
        inner = (each for done in self.comparisons for each in done.findings)
        return (*self.findings, *inner)

    def as_json(self) -> dict[str, object]:
        """The whole as JSON values; texts are in English."""
        return {
            "kit": self.kit or None,
            "results": self.results,
            "soc": self.soc,
            "cann": self.cann or None,
            "comparisons": [each.as_json() for each in self.comparisons],
            "findings": json_values(self.findings),
        }
