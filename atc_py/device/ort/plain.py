"""A compiled graph as the network that it computes: one float dtype, no Casts, no roundings."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from onnx import ValueInfoProto, helper

from atc_py.device.backend import LoadedModel
from atc_py.device.ort.body import Body, Write, find_emulation
from atc_py.device.ort.elements import Initializer, element_type
from atc_py.device.ort.model import Emulated, Emulator
from atc_py.device.ort.node import CompiledNode
from atc_py.device.ort.sliding import SlidingPool
from atc_py.package.schema import OmNode
from atc_py.package.stored_types import TRANS_DATA
from atc_py.tensor.dtypes import DType
from atc_py.tensor.resampling import RESIZES_TO_SIZE, resize_modes

_FLOATS = frozenset({DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32})
_SCALES, _SIZES = 2, 3


def plain_model(model: LoadedModel, *, wide: bool) -> Emulated:
    """The network of a verified package, flat, in ONNX's operators.

    Floats of 16 and 32 bits all have one dtype, those of the inputs and outputs too; what is stored
    in another format or dtype on the way is not seen.

    Args:
        model: the package.
        wide: that dtype is float32, not float16.

    Raises:
        AtcError: NO_ONNX_FORM for each node that has no form in ONNX's operators.
    """
    return _PlainEmulator(model, DType.FLOAT32 if wide else DType.FLOAT16).emulated()


class _PlainBody(Body):
    """A body in which every float has one dtype."""

    def __init__(self, float_: DType, *given: Any) -> None:
        super().__init__(*given)
        self._float = float_

    def x(self, position: int = 0) -> str:
        return self.own(position)

    def wide(self, value: str) -> str:
        return value

    def rounded(self, value: str, dtype: DType) -> str:
        return value

    def cast(self, value: str, dtype: DType) -> str:
        if dtype in _FLOATS and self.node.dtype() in _FLOATS:
            return value
        return super().cast(value, self._float if dtype in _FLOATS else dtype)

    def const(self, values: ArrayLike, dtype: DType = DType.FLOAT32) -> str:
        return super().const(values, self._float if dtype in _FLOATS else dtype)

    def inner(self) -> Body:
        inner = _PlainBody(self._float, self.node, self.inputs, (), self._prefix, self._others)
        inner._taken, inner._counts = self._taken, self._counts
        return inner

    def finish(self, results: Sequence[str], *, rounds: bool) -> None:
        super().finish(results, rounds=False)


class _PlainEmulator(Emulator):
    """A model in one float dtype."""

    def __init__(self, model: LoadedModel, float_: DType) -> None:
        self._float = float_
        self._prefixes: set[str] = set()
        super().__init__(model, flat=True)

    def is_move(self, node: OmNode) -> bool:
        """True also of conversions between floats."""
        tensors = self._description.tensors
        if node.op == TRANS_DATA or node.op != "Cast":
            return node.op == TRANS_DATA
        ends = (DType(tensors[at].dtype) for at in (node.inputs[0], node.outputs[0]))
        return all(dtype in _FLOATS for dtype in ends)

    def write(self, op: str) -> tuple[Write, bool] | None:
        found = find_emulation(op)
        known = _PLAIN.get(op, None if found is None else found.write)
        return None if known is None else (known, True)

    def make_body(self, facts: CompiledNode, inputs: dict[int, str], writes: Sequence[str]) -> Body:
        names = [origin.name for origin in facts.source.origins]
        prefix = f"{names[-1] if names else facts.name}/"
        if prefix in self._prefixes:
            prefix = f"{facts.name}/"
        self._prefixes.add(prefix)
        return _PlainBody(self._float, facts, inputs, writes, prefix, self._taken)

    def initializer(
        self, name: str, dtype: DType, shape: Sequence[int], read: Callable[[], NDArray[Any]]
    ) -> Initializer:
        return super().initializer(name, self._own(dtype), shape, read)

    def converted(self, made: NDArray[Any]) -> NDArray[Any]:
        dtype = DType.from_numpy(made.dtype)
        return made.astype(self._own(dtype).numpy, copy=False)

    def _own(self, dtype: DType) -> DType:
        return self._float if dtype in _FLOATS else dtype

    def _info(self, name: str, tensor: int) -> ValueInfoProto:
        facts = self._types[tensor]
        return helper.make_tensor_value_info(
            name, element_type(self._own(facts.dtype)), list(facts.dims)
        )


def _max_pool(body: Body) -> str:
    """MaxPool, whose NaN is lost."""
    if body.node.flag("global_pooling"):
        return body.add("GlobalMaxPool", body.x())
    pool = SlidingPool.of(body)
    value = body.x()
    if not pool.is_plain:
        pool, value = pool.padded(value, -np.inf)
    return pool.add("MaxPool", value)


def _resize(body: Body) -> str:
    node = body.node
    if node.text("coordinate_transformation_mode") == "tf_crop_and_resize":
        found = find_emulation("Resize")
        return str(found.write(body)) if found else ""
    at = _SIZES if node.has(_SIZES) else _SCALES
    numbers = node.data(at)
    held = Body.const(body, numbers.astype(np.int64), DType.INT64) if at == _SIZES else None
    # Resize wants scales in float32, whatever dtype the network has.
    scales = Body.const(body, numbers.astype(np.float32)) if held is None else ""
    return body.add(
        "Resize",
        body.x(),
        "",
        scales,
        *([held] if held else []),
        mode=node.text("mode"),
        coordinate_transformation_mode=node.text("coordinate_transformation_mode"),
        nearest_mode=node.text("nearest_mode"),
    )


def _resize_to_size(body: Body) -> str:
    """Resize of rows and columns to `size`, with the modes that the flags of the node stand for."""
    node = body.node
    size = Body.const(body, node.data(1).astype(np.int64), DType.INT64)
    return body.add(
        "Resize", body.x(), "", "", size, axes=[2, 3], **resize_modes(node.op, node.attributes)
    )


_PLAIN: dict[str, Write] = {
    "MaxPoolV3": _max_pool,
    "Resize": _resize,
    **dict.fromkeys(RESIZES_TO_SIZE, _resize_to_size),
}
"""Operators whose emulation says more than the network does."""
