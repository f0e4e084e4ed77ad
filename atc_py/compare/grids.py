"""Grids of the layers that hold quantized values.

Codes are what QuantizeLinear and operators such as QLinearConv make: integers that stand for real
numbers, a step of the scale each, counted from a zero point. What DequantizeLinear makes of them are
floats on that grid, and so is what moves, selects or casts such floats. A difference between two
such layers is a number of steps: codes that the two sides rounded to different neighbors.
"""

from collections.abc import Mapping, Sequence

from atc_py.compare.floors import is_float
from atc_py.compare.reference import ReferenceModel
from atc_py.onnx_graph.rewriting.qdq.importing import result_scale_at
from atc_py.package.schema import OmModel, OmNode
from atc_py.results.judgment import QuantizedGrid
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType

UNSIGNED_SHIFT = 128
"""The device holds codes in int8; those of a uint8 file are less this much there."""


def grids_of(
    model: OmModel, values: Mapping[int, str], reference: ReferenceModel
) -> dict[int, QuantizedGrid]:
    """Find the tensors that hold quantized values, by position; `values` are what they mean."""
    grids: dict[int, QuantizedGrid] = {}
    computed = {port.tensor for port in model.inputs}
    for node in model.nodes:
        for tensor in node.outputs:
            grid = _grid_of_maker(model, tensor, values.get(tensor), reference)
            grid = grid or _handed_on(model, node, grids, computed)
            if grid is not None and grid.codes is not is_float(model, tensor):
                grids[tensor] = grid
        computed.update(node.outputs)
    return grids


def _grid_of_maker(
    model: OmModel, tensor: int, value: str | None, reference: ReferenceModel
) -> QuantizedGrid | None:
    maker = reference.graph.producer(value or "")
    if maker is None:
        return None
    if maker.op_type == "DequantizeLinear" and is_float(model, tensor):
        return QuantizedGrid(*_parameters(reference, maker.input_names[1:3]), codes=False)
    at = result_scale_at(maker.domain, maker.op_type)
    if at is None or DType(model.tensors[tensor].dtype) is not DType.INT8:
        return None
    return QuantizedGrid(*_parameters(reference, maker.input_names[at : at + 2]), codes=True)


def _parameters(reference: ReferenceModel, names: Sequence[str]) -> tuple[float | None, int]:
    """The scale, None unless it is a single constant, and the zero point in int8.

    Where channels differ or it is not a constant, the zero point is 0.
    """
    arrays = [reference.constant(name) if name else None for name in names]
    scale, zero = (*arrays, None, None)[:2]
    step = float(scale.reshape(-1)[0]) if scale is not None and scale.size == 1 else None
    if len(names) < 2:  # noqa: PLR2004
        return step, -UNSIGNED_SHIFT
    if zero is None or zero.size != 1:
        return step, 0
    shift = UNSIGNED_SHIFT if zero.dtype.kind == "u" else 0
    return step, int(zero.reshape(-1)[0]) - shift


def _handed_on(
    model: OmModel, node: OmNode, known: Mapping[int, QuantizedGrid], computed: set[int]
) -> QuantizedGrid | None:
    """The grid of all floats that a node reads, where it only moves or selects them."""
    row = find_operator(node.op)
    if row is None or (row.rounds and node.op != "Cast"):
        return None
    read = {known.get(at) for at in node.inputs if at in computed and is_float(model, at)}
    return read.pop() if len(read) == 1 else None
