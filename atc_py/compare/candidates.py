"""Candidates to keep in float32: their lines in a file, and their ranking by expected gain.

A --keep-dtype file names nodes as the ONNX file does. A node without a name, or with one that such
a file cannot hold, is reached by its operator alone: the line `OpType::T` keeps all nodes of
operator T. Nodes that compilation inserted (casts, changes of format) have no line; what is lost in
a cast is put down to the nodes that read it, because keeping those takes the cast away.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass

from atc_py.package.schema import OmModel, OmNode
from atc_py.package.stored_types import TRANS_DATA
from atc_py.results.layer_comparison import LayerComparison
from atc_py.target import find_operator, find_soc
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

TYPE_LINE = "OpType::"
NARROW = frozenset({DType.FLOAT16.value, DType.BFLOAT16.value})
"""The 16-bit floats, as a compiled model names them."""

ITS_OWN_DTYPES = Text("the model's own dtypes keep it in 16 bits")
"""Why a line to keep may change nothing: nodes are kept as the model has them."""

_WIDE = DType.FLOAT32.value

_UNTOUCHED = frozenset({"Cast", TRANS_DATA})
"""Operators whose dtypes follow from others'."""

_NO_KERNEL = "local"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A line of a --keep-dtype file."""

    line: str  # a node's name, or `OpType::T`
    op: str  # operator of the node on the device
    nodes: int  # how many nodes of the compiled model it keeps


def find_candidates(model: OmModel) -> dict[str, Candidate]:
    """Lines for all nodes of `model` that touch narrow floats, in the order of execution."""
    found: dict[str, Candidate] = {}
    for node in model.nodes:
        line = line_of(node)
        tensors = (model.tensors[at] for at in (*node.inputs, *node.outputs) if at >= 0)
        if line is not None and any(tensor.dtype in NARROW for tensor in tensors):
            known = found.get(line, Candidate(line, node.op, 0))
            found[line] = Candidate(line, known.op, known.nodes + 1)
    return found


def line_of(node: OmNode) -> str | None:
    """The line that keeps `node`; None for one whose dtypes follow from others'."""
    if not node.origins or node.op in _UNTOUCHED or node.engine == _NO_KERNEL:
        return None
    name = node.origins[-1].name
    return name if _fits_a_line(name) else f"{TYPE_LINE}{node.op}"


def stay_narrow(model: OmModel, lines: Collection[str]) -> set[str]:
    """Those of `lines` whose nodes make 16-bit floats, and none of them wider ones."""
    made: dict[str, set[str]] = {}
    for node in model.nodes:
        line = line_of(node)
        if line is not None and line in lines:
            made.setdefault(line, set()).update(model.tensors[at].dtype for at in node.outputs)
    return {line for line, dtypes in made.items() if dtypes & NARROW and _WIDE not in dtypes}


def has_float32_kernel(op: str, soc: str) -> bool:
    row = find_operator(op)
    if row is None:
        return False
    on_aicpu = any(DType.FLOAT32 in column.inputs[:1] for column in row.aicpu)
    return on_aicpu or row.takes_on(find_soc(soc), DType.FLOAT32)


def ranked_lines(
    model: OmModel, done: LayerComparison, missed: Collection[int], lines: Collection[str]
) -> list[str]:
    """The `lines` that bear on the tensors `missed`, those that add the most error first.

    A node adds its error less the largest error among its inputs, casts left out; lost
    values count as infinite errors. The order of execution decides between equals.
    """
    errors = {layer.tensor: layer.error for layer in done.layers}
    before: dict[int, float] = {}
    added: dict[str, float] = {}
    bearing = _bearing_on(model, missed)
    for at, node in enumerate(model.nodes):
        reached = max((before.get(tensor, 0.0) for tensor in node.inputs), default=0.0)
        through = node.op in _UNTOUCHED
        before |= {t: reached if through else errors.get(t, reached) for t in node.outputs}
        line = line_of(node)
        if line in lines and line is not None and at in bearing:
            here = max((before[tensor] for tensor in node.outputs), default=0.0)
            added[line] = max(added.get(line, 0.0), _added_error(here, reached))
    return sorted(added, key=lambda line: -added[line])


def _bearing_on(model: OmModel, missed: Collection[int]) -> set[int]:
    """Positions of the nodes that lead to the tensors `missed`; all where there are none."""
    if not missed:
        return set(range(len(model.nodes)))
    wanted, found = set(missed), set()
    for at in reversed(range(len(model.nodes))):
        if not wanted.isdisjoint(model.nodes[at].outputs):
            found.add(at)
            wanted.update(model.nodes[at].inputs)
    return found


def _added_error(here: float, reached: float) -> float:
    """Error beyond the one before; infinite ones cannot grow."""
    return 0.0 if math.isinf(reached) else max(here - reached, 0.0)


def _fits_a_line(name: str) -> bool:
    """True if a file with one name a line can hold the name, and gives it back as it is."""
    plain = name.isprintable() and name == name.strip()
    return plain and name != "" and not name.startswith(("#", TYPE_LINE))
