"""The implementation that each node gets by `--op-precision-mode`, and modes without effect.

Some vector kernels of float16 keep intermediate results in float32, others compute steps
in float16. Those are the rows with the attribute `impl_mode`. The generic device takes the first
where nobody says otherwise; SoCs have ATC's default, and what their kernels make of it.
"""

from atc_py.diag import IMPLEMENTATION_NOT_MODELED, NO_SUCH_IMPLEMENTATION, Code, Place
from atc_py.ir import Engine, Graph, Node
from atc_py.passes.base import PassContext
from atc_py.passes.precision.controls import Controls
from atc_py.passes.precision.mix_lists import CUBE_LIST
from atc_py.target import TargetOp, Unit, find_operator
from atc_py.target.row import FLOAT32_PRODUCTS, HF32_PRODUCTS, PRODUCTS
from atc_py.target.rows.parts import IMPL_MODE
from atc_py.target.soc import SocFamily
from atc_py.tensor.dtypes import DType
from atc_py.text import SEMICOLON, Text

# Sources: the lists that ATC reads for `--allow_hf32`, and by default, in CANN 8.1: convolutions in
# HF32, matrix products in float32; the order of controls is that of the ATC guide. What the other
# modes of `--op_precision_mode` make of a product is read off the kernels of CANN 8.1 (inferred: those
# for fixed shapes).

_CONVOLUTIONS = frozenset({"Conv2D", "Conv2DTransposeD", "DepthwiseConv2D", "Conv3D"})

_FAST = "high_performance"
"""Beside HF32's own name, the mode by which matrix products use it; convolutions do not."""


def multiplies_float32(node: Node) -> bool:
    """True if a typed node multiplies float32 on the AI Core's cube."""
    row = find_operator(node.op)
    if row is None or row.attribute(PRODUCTS.name) is not PRODUCTS:
        return False
    dtype = node.present_inputs[0].type.dtype
    return node.engine is Engine.AICORE and dtype is DType.FLOAT32


def assign_products(graph: Graph, context: PassContext) -> None:
    """Give nodes that round to HF32 the attribute that says so, and put all choices on record."""
    if not context.soc.cube_hf32:
        if context.controls.allow_hf32:
            message = Text(
                "--allow-hf32 true changes nothing: {soc} has no HF32", soc=context.soc.name
            )
            place = Place(field="--allow-hf32")
            context.sink.add(NO_SUCH_IMPLEMENTATION.diagnostic(message, place=place))
        return
    for node in graph.nodes:
        if not multiplies_float32(node):
            continue
        hf32, why = _choice(node, context.controls)
        if hf32:
            node.attributes[PRODUCTS.name] = HF32_PRODUCTS
        products = "HF32" if hf32 else "float32"
        context.decisions.remark(
            node.name, Text("products of {products}: {why}", products=products, why=why)
        )


def _choice(node: Node, controls: Controls) -> tuple[bool, str]:
    """True if a node rounds to HF32, and what decided: the strongest control first."""
    convolves = node.op in _CONVOLUTIONS
    modes = {HF32_PRODUCTS} if convolves else {HF32_PRODUCTS, _FAST}
    by_name = controls.implementations.by_node(node)
    if by_name is not None:
        return by_name in modes, Text("op-precision-mode of the node, {by_name}", by_name=by_name)
    if controls.allow_hf32 is not None:
        return controls.allow_hf32, "allow-hf32"
    by_type = controls.implementations.by_type(node)
    if by_type is not None:
        return by_type in modes, Text(
            "op-precision-mode of the operator, {by_type}", by_type=by_type
        )
    return convolves, "default of " + ("convolutions" if convolves else "matrix products")


# Sources: the lists of implementation modes of CANN 8.1 (all that there are, and the default file),
# and its kernels, which say what a mode does in float16 on a SoC family. That Ascend950, of which
# 8.1 has no kernels, rounds no step is inferred. Of all lists only operators with rows stand here.

PRECISE, FAST = "high_precision", "high_performance"
"""ATC's two modes, and of the simulated kernels that round no step to float16, or each."""

_DIFFERENCE, _EXPONENTIAL = "float16_difference", "float16_exponential"

_BOTH = frozenset({PRECISE, FAST})
_PRODUCTS = _BOTH | {"enable_float_32_execution", "enable_hi_float_32_execution"}

_TWO_MODES = """
AvgPoolV2 BatchMultiClassNonMaxSuppression Exp FloorMod GeluV2 LRN LogSoftmaxV2 ROIAlign RealDiv
ReduceLogSumExp ReduceMeanD Sigmoid SoftmaxV2 Sqrt SquareSumV1 Tanh Threshold
"""

ATC_MODES = {
    **dict.fromkeys(_TWO_MODES.split(), _BOTH),
    **dict.fromkeys(sorted(CUBE_LIST), _PRODUCTS),
    "LayerNorm": _BOTH | {"keep_fp16"},
}
"""The modes that ATC has of an operator; no others. ReduceMeanD is its ReduceMean."""

DEFAULTS = {"LogSoftmaxV2": FAST, "Sigmoid": PRECISE, "SoftmaxV2": FAST}
"""The mode in ATC's default file, of operators whose arithmetic is modeled.

A file of the user's replaces that file. Operators that it does not name then take the default of
their kernel, which is the same mode for all of these.
"""

_310, _310B, _310P = SocFamily.ASCEND310, SocFamily.ASCEND310B, SocFamily.ASCEND310P
_610, _910, _CS = SocFamily.ASCEND610, SocFamily.ASCEND910, SocFamily.HI3796CV300CS
_A2, _A3 = SocFamily.ASCEND910B, SocFamily.ASCEND910_93

_NARROW_EXP = dict.fromkeys((_310, _CS), FAST)
"""Vector units without an exponential in float32: all steps are in float16."""

_SOFTMAX = {
    **dict.fromkeys((_310B, _310P, _610, _910, _A2, _A3), _DIFFERENCE),
    _310: _EXPONENTIAL,
    _CS: FAST,
}
_SIGMOID = dict.fromkeys((_310, _310B, _610, _910, _CS), FAST)

_ROUNDED = {
    "LogSoftmaxV2": {PRECISE: _NARROW_EXP, FAST: _NARROW_EXP},
    "Sigmoid": {PRECISE: _SIGMOID, FAST: _SIGMOID | dict.fromkeys((_A2, _A3), FAST)},
    "SoftmaxV2": {PRECISE: _SOFTMAX, FAST: _SOFTMAX},
    "Softplus": {PRECISE: _NARROW_EXP},
    "Softsign": {PRECISE: {_CS: FAST}},
}
"""The steps that the kernel of an operator and mode rounds to float16, if it rounds any.

Softplus and Softsign have no mode; that they have stands here as PRECISE.
"""

NOT_MODELED = {("Sigmoid", FAST): frozenset({_310P})}
"""Kernels that compute something else: Ascend310P's Sigmoid for high_performance is a polynomial
of degree 5 held between 0 and 1."""


def has_kernels(family: SocFamily) -> bool:
    """True if the kernels of `family` are those of CANN, not of the generic device."""
    return family is not SocFamily.SIM


def arithmetic(op: str, family: SocFamily, mode: str) -> str:
    """Name in `impl_mode` of the steps that the kernel of a mode rounds to float16."""
    return _ROUNDED[op][mode].get(family, PRECISE)


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
        mode = context.controls.implementations.of(node)
        reason = None if mode is None else _why_idle(node, row, mode, context)
        if mode is not None and reason is not None:
            idle.setdefault((node.op, mode, reason), []).append(node)
        if _has_several(node, row):
            _implement(node, mode if reason is None else None, context)
    for (op, named, (code, why)), nodes in idle.items():
        message = Text("{named} changes nothing for {op}: {why}", named=named, op=op, why=why)
        if len(nodes) > 1:
            message += SEMICOLON + Text("{n} nodes", n=len(nodes))
        context.sink.add(code.diagnostic(message, place=context.place(nodes[0])))


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
