"""Operators of the cube that multiply float32 rounded to HF32, on SoCs whose cube can.

Sources: the lists that ATC reads for `--allow_hf32`, and by default, in CANN 8.1: convolutions in
HF32, matrix products in float32; the order of controls is that of the ATC guide. What the other
modes of `--op_precision_mode` make of a product is read off the kernels of CANN 8.1 (inferred: those
for fixed shapes).
"""

from atc_py.diag import Place
from atc_py.diag.codes import NO_SUCH_IMPLEMENTATION
from atc_py.ir import Engine, Graph, Node
from atc_py.passes.base import PassContext
from atc_py.passes.precision.controls import Controls
from atc_py.target import find_operator
from atc_py.target.hf32 import HF32_PRODUCTS, PRODUCTS
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

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
    by_name = controls.implementation_by_name(node)
    if by_name is not None:
        return by_name in modes, Text("op-precision-mode of the node, {by_name}", by_name=by_name)
    if controls.allow_hf32 is not None:
        return controls.allow_hf32, "allow-hf32"
    by_type = controls.implementation_by_type(node)
    if by_type is not None:
        return by_type in modes, Text(
            "op-precision-mode of the operator, {by_type}", by_type=by_type
        )
    return convolves, "default of " + ("convolutions" if convolves else "matrix products")
