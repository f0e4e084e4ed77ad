"""The implementation that each node gets by `--op-precision-mode`, and modes without effect.

Some vector kernels of float16 keep intermediate results in float32, others compute steps
in float16. Those are the rows with the attribute `impl_mode`. The generic device takes the first
where nobody says otherwise; SoCs have ATC's default, and what their kernels make of it.
"""

from atc_py.diag import Code
from atc_py.diag.codes import IMPLEMENTATION_NOT_MODELED, NO_SUCH_IMPLEMENTATION
from atc_py.ir import Engine, Graph, Node
from atc_py.passes.base import PassContext
from atc_py.passes.precision.implementation_tables import (
    ATC_MODES,
    DEFAULTS,
    FAST,
    NOT_MODELED,
    PRECISE,
    arithmetic,
    has_kernels,
)
from atc_py.passes.precision.products import multiplies_float32
from atc_py.target import TargetOp, Unit, find_operator
from atc_py.target.hf32 import FLOAT32_PRODUCTS, HF32_PRODUCTS
from atc_py.target.rows.parts import IMPL_MODE
from atc_py.tensor.dtypes import DType
from atc_py.text import SEMICOLON, Text

_GENERIC = {PRECISE: PRECISE, FAST: FAST, "super_performance": FAST, "keep_fp16": FAST}
"""The generic device's implementation by mode; nothing is faster than float16 throughout."""

_AS_IT_IS = {
    FLOAT32_PRODUCTS: "float32 is multiplied as float32 here",
    HF32_PRODUCTS: "it is not a product of float32 on a cube that has HF32",
    "support_out_of_bound_index": "indices are always checked here",
}
"""Why a mode changes nothing, for those that are about something else than float16."""

IMPLEMENTATIONS = (*_GENERIC, *_AS_IT_IS)
"""The modes of `--op-precision-mode`."""

_Idle = tuple["Code", str]


def assign_implementations(graph: Graph, context: PassContext) -> None:
    """Give typed nodes their implementations; report what has no effect once for each operator."""
    idle: dict[tuple[str, str, _Idle], list[Node]] = {}
    for node in graph.nodes:
        row = find_operator(node.op)
        if row is None or row.unit is Unit.LOCAL or node.op == "Cast":
            continue
        mode = context.controls.implementation_of(node)
        reason = None if mode is None else _why_idle(node, row, mode, context)
        if mode is not None and reason is not None:
            idle.setdefault((node.op, mode, reason), []).append(node)
        if _has_several(node, row):
            _implement(node, mode if reason is None else None, context)
    for (op, named, (code, why)), nodes in idle.items():
        _report(
            context,
            nodes,
            code,
            Text("{named} changes nothing for {op}: {why}", named=named, op=op, why=why),
        )


def _implement(node: Node, mode: str | None, context: PassContext) -> None:
    """Give a node of float16 the implementation of a mode, None for the default."""
    family = context.soc.family
    if not has_kernels(family):
        if mode is not None:
            node.attributes[IMPL_MODE.name] = _GENERIC[mode]
            context.decisions.remark(
                node.name, Text("op-precision-mode: {mode}", mode=_GENERIC[mode])
            )
        return
    default = DEFAULTS.get(node.op, PRECISE)
    steps = arithmetic(node.op, family, mode or default)
    if steps != PRECISE and node.output.type.dtype is DType.FLOAT16:
        node.attributes[IMPL_MODE.name] = steps
    if mode is not None:
        context.decisions.remark(node.name, Text("op-precision-mode: {mode}", mode=mode))
    elif node.op in DEFAULTS:
        context.decisions.remark(node.name, Text("default mode: {default}", default=default))


def _has_several(node: Node, row: TargetOp) -> bool:
    """True if the node's operator and dtype have several implementations."""
    if row.attribute(IMPL_MODE.name) is not IMPL_MODE:
        return False
    dtype = node.present_inputs[0].type.dtype
    return node.engine is Engine.AICORE and dtype is DType.FLOAT16


def _why_idle(node: Node, row: TargetOp, mode: str, context: PassContext) -> _Idle | None:
    """The reason why the mode has no effect on the node, and its diagnostic; None where it has."""
    if context.soc.cube_hf32 and multiplies_float32(node):
        return None
    if mode in _AS_IT_IS:
        return NO_SUCH_IMPLEMENTATION, _AS_IT_IS[mode]
    family = context.soc.family
    several = row.attribute(IMPL_MODE.name) is IMPL_MODE
    if several and (mode in ATC_MODES.get(node.op, ()) or not has_kernels(family)):
        if family in NOT_MODELED.get((node.op, mode), ()):
            return IMPLEMENTATION_NOT_MODELED, "its approximation by a polynomial is not simulated"
        return None if _has_several(node, row) else (NO_SUCH_IMPLEMENTATION, _other_dtype(node))
    return _why_one(node.op, mode, several=several)


def _why_one(op: str, mode: str, *, several: bool) -> _Idle:
    """The reason why a mode has no effect on an operator that is simulated in one way alone."""
    if mode in ATC_MODES.get(op, ()):
        return IMPLEMENTATION_NOT_MODELED, Text(
            "ATC has the mode, but one implementation is simulated"
        )
    if several or op in ATC_MODES:
        return NO_SUCH_IMPLEMENTATION, Text("ATC does not have this mode for it")
    return NO_SUCH_IMPLEMENTATION, Text("it has one implementation")


def _other_dtype(node: Node) -> Text:
    dtype = node.present_inputs[0].type.dtype
    engine = node.engine.value if node.engine else Text("no engine")
    text = Text("there are two for float16 on the AI Core, and it computes {dtype} on {engine}")
    return text.with_values(dtype=dtype.value, engine=engine)


def _report(context: PassContext, nodes: list[Node], code: Code, message: Text) -> None:
    """Report once for all nodes of one operator."""
    count = SEMICOLON + Text("{n} nodes", n=len(nodes)) if len(nodes) > 1 else ""
    place = context.place(nodes[0])
    context.sink.add(code.diagnostic(message + count, place=place))
