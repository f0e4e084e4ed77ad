"""Sums in float16 that fall so near a tie that the order of their terms decides how they are rounded.

Neither the definition of an operator nor CANN says in which order products are added up in float32.
A quantized network makes one of its codes, and then many, out of a value that was rounded the other
way. What may be either is known exactly: n exact products, added up in float32 in any order, are off by
at most `n * u / (1 - n * u)` of the sum of their magnitudes, u being 2^-24, and rounding is monotonic.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from atc_py.device.backend import LoadedModel
from atc_py.device.ort.backend import OrtModel
from atc_py.device.sim.execution.session import SimModel
from atc_py.package.schema import OmNode
from tests.device.models import ModelBuilder

Array = NDArray[Any]

_SUMS = {
    "BatchMatMulV2", "Conv2D", "Conv2DTransposeD", "Conv3D", "Conv3DTransposeD",
    "DepthwiseConv2D", "MatMulV2",
}  # fmt: skip
"""Operators whose results are sums of products of operands, and of a bias."""

_UNIT = 2.0**-24


def run_at_ties(model: LoadedModel, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """Return the simulator's outputs where sums at a tie are rounded as onnxruntime rounds them."""
    description, tensors = model.description, model.description.tensors
    made_by = {
        node.outputs[0]: node
        for node in description.nodes
        if node.op in _SUMS
        and {tensors[at].dtype for at in (*node.inputs, node.outputs[0]) if at >= 0} == {"float16"}
    }
    theirs = OrtModel(model, onnxruntime, made_by).observe(inputs) if made_by else {}
    read = {at for node in made_by.values() for at in node.inputs if at >= 0}
    known = {port.tensor: inputs[port.name] for port in description.inputs}
    known |= {at: model.array(file) for at in read if (file := tensors[at].member) is not None}

    def observe(tensor: int, result: Array) -> None:
        if tensor in theirs:
            node, other = made_by[tensor], theirs[tensor].reshape(result.shape)
            operands = [known[at] if at >= 0 else None for at in node.inputs]
            low, high = (each.astype(result.dtype) for each in float16_sums(node, operands, result))
            at_tie = (low <= result) & (result <= high) & (low <= other) & (other <= high)
            np.copyto(result, other, where=at_tie, casting="unsafe")
        if tensor in read:
            known[tensor] = result.copy()

    simulated = SimModel(model, merged=False)
    try:
        return simulated.run(inputs, observe)
    finally:
        simulated.close()


def float16_sums(node: OmNode, operands: list[Array | None], result: Array) -> tuple[Array, Array]:
    """Return the least and the largest float16 that sums in float32 in some order may give.

    The sums themselves are added up in float64, whose errors are 2^-29 of the bound.

    Args:
        node: an operator of sums of products.
        operands: its inputs; None where absent.
        result: any array of the shape of its result.
    """
    wide = [None if each is None else each.astype(np.float64) for each in operands]
    exact = _summed(node, wide, result.shape)
    magnitude = _summed(node, [None if each is None else abs(each) for each in wide], result.shape)
    ones = [None if each is None else np.ones_like(each) for each in wide]
    terms = _summed(node, ones, result.shape) * _UNIT
    error = terms / (1 - terms) * magnitude
    return (exact - error).astype(np.float16), (exact + error).astype(np.float16)


def _summed(node: OmNode, operands: list[Array | None], shape: tuple[int, ...]) -> Array:
    """Return the result of a node in float64."""
    builder, feeds, positions = ModelBuilder(), {}, []
    for at, array in enumerate(operands):
        if array is None:
            positions.append(-1)
        else:
            positions.append(builder.input(f"x{at}", "float64", array.shape))
            feeds[f"x{at}"] = array
    (total,) = builder.node(node.op, positions, [("float64", shape)], node.attributes)
    builder.output("y", total)
    return SimModel(builder.build()).run(feeds)["y"]
