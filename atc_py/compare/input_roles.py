"""Roles of the inputs of an ONNX model, inferred from their readers, and random data that fit them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import onnx

from atc_py.compare.reference import ReferenceModel
from atc_py.onnx_graph.reading.nodes import nodes_within
from atc_py.pipeline.running.feeds import random_array, require_feeds
from atc_py.pipeline.running.model import Port
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import closed_shape

Array = npt.NDArray[np.generic]

_THROUGH = frozenset(
    {"Cast", "Expand", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Tile"}
    | {"Transpose", "Unsqueeze"}
)
"""Operators that pass on the values of their first input."""

_RECURRENT = frozenset({"GRU", "LSTM", "RNN"})
_LENGTHS_AT = 4

_SMALL = 1024
"""Elements of a constant up to which shapes may follow from its numbers."""


@dataclass(frozen=True, slots=True)
class Role:
    """Role of an input: data, indices, lengths and the like."""

    # end of the numbers with which it selects from the smallest of its tables; None where it
    # selects nothing
    ids: int | None = None
    lengths_of: str = ""  # name of the sequence whose lengths it holds; "" where it holds none
    first: int = 0  # the least of these numbers


@dataclass(frozen=True, slots=True)
class _Use:
    """A node that reads `factor` times an input plus `term`, at a position."""

    node: onnx.NodeProto
    at: int
    factor: int = 1
    term: int = 0


def input_roles(model: ReferenceModel, ports: Sequence[Port] = ()) -> dict[str, Role]:
    """The role of each input that has one; dims of `ports` tell those of computed tables."""
    roles = _Roles(model, ports)
    known = {name: roles.role_of(name) for name in model.inputs}
    return {name: role for name, role in known.items() if role != Role()}


class _Roles:
    """The readers of a model's values, and the dims of what they read."""

    def __init__(self, model: ReferenceModel, ports: Sequence[Port]) -> None:
        self._model, self._ports = model, ports
        self._readers: dict[str, list[tuple[onnx.NodeProto, int]]] = {}
        for node in nodes_within(node.proto for node in model.nodes):
            for at, name in enumerate(node.input):
                self._readers.setdefault(name, []).append((node, at))

    def role_of(self, name: str) -> Role:
        uses = list(self._uses_of(name))
        first, end = 0, None
        for use in uses:
            rows = self._rows(use)
            if rows is not None:
                last = (max(rows, 1) - 1 - use.term) // use.factor
                first = max(first, -(use.term // use.factor))
                end = last + 1 if end is None else min(end, last + 1)
        lengths = [
            use.node.input[0]
            for use in uses
            if use.node.op_type in _RECURRENT and use.at == _LENGTHS_AT
        ]
        return Role(end, lengths[0] if lengths else "", 0 if end is None else first)

    def _uses_of(self, name: str) -> Iterator[_Use]:
        """Yield all that read `name`, also through nodes that pass it on or move it by constants."""
        waiting, seen = [(name, 1, 0)], {name}
        while waiting:
            value, factor, term = waiting.pop()
            for node, at in self._readers.get(value, ()):
                yield _Use(node, at, factor, term)
                moved = self._moved(node, at, factor, term)
                if moved is not None and node.output[0] not in seen:
                    seen.add(node.output[0])
                    waiting.append((node.output[0], *moved))

    def _moved(
        self, node: onnx.NodeProto, at: int, factor: int, term: int
    ) -> tuple[int, int] | None:
        """Factor and term after a node; None where the values are others."""
        if node.op_type in _THROUGH:
            return (factor, term) if at == 0 else None
        if node.op_type not in {"Add", "Mul", "Sub"} or len(node.input) != 2:  # noqa: PLR2004
            return None
        constant = self._model.constant(node.input[1 - at])
        if constant is None or constant.size != 1 or constant.dtype.kind not in "iu":
            return None
        number = int(constant.reshape(()))
        if node.op_type == "Mul":
            return (factor * number, term * number) if number > 0 else None
        if node.op_type == "Sub":
            return (factor, term - number) if at == 0 else None
        return factor, term + number

    def _rows(self, use: _Use) -> int | None:
        """The rows that a node selects among by what it reads; None for other inputs."""
        selecting = _SELECTING.get(use.node.op_type)
        if selecting is None or use.at not in selecting:
            return None
        table, rows_of = selecting[use.at]
        if len(use.node.input) <= table:
            return None
        name = use.node.input[table]
        if use.node.op_type == "OneHot":
            depth = self._model.constant(name)
            return None if depth is None or depth.size != 1 else int(depth.reshape(()))
        shape = self._model.constant_shape(name) or self._shapes.get(name)
        return None if not shape else rows_of(use.node, shape)

    @cached_property
    def _shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Closed dims of computed values by name, as far as ONNX's inference finds them."""
        model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
        model.opset_import.extend(self._model.file.proto.opset_import)
        model.graph.node.extend(node.proto for node in self._model.graph.nodes)
        for port in self._ports:
            element = onnx.helper.np_dtype_to_tensor_dtype(port.dtype.numpy)
            dims = list(port.shape)
            model.graph.input.append(onnx.helper.make_tensor_value_info(port.name, element, dims))
        for tensor in self._model.constants.values():
            if np.prod(tensor.dims, dtype=np.float64) <= _SMALL and not tensor.external_data:
                model.graph.initializer.append(tensor)
            else:
                info = onnx.helper.make_tensor_value_info(
                    tensor.name, tensor.data_type, tensor.dims
                )
                model.graph.input.append(info)
        try:
            inferred = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
        except Exception:  # noqa: BLE001  (inference raises anything; tables are then not known)
            return {}
        known = {
            value.name: value.type.tensor_type for value in (*inferred.value_info, *inferred.input)
        }
        return {
            name: tuple(dim.dim_value for dim in type_.shape.dim)
            for name, type_ in known.items()
            if type_.HasField("shape") and all(dim.HasField("dim_value") for dim in type_.shape.dim)
        }


def _along_axis(node: onnx.NodeProto, shape: tuple[int, ...]) -> int | None:
    axis = next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)
    return shape[axis] if -len(shape) <= axis < len(shape) else None


def _of_all_axes(node: onnx.NodeProto, shape: tuple[int, ...]) -> int | None:
    """The smallest of the dims that tuples of indices select among."""
    batch = next((attribute.i for attribute in node.attribute if attribute.name == "batch_dims"), 0)
    return min(shape[batch:], default=None)


def _classes(_node: onnx.NodeProto, shape: tuple[int, ...]) -> int | None:
    return shape[1] if len(shape) > 1 else None


def _rows_of_table(_node: onnx.NodeProto, shape: tuple[int, ...]) -> int | None:
    return shape[0]


_RowsOf = Callable[[onnx.NodeProto, tuple[int, ...]], "int | None"]

_ALONG_AXIS, _OF_ALL, _OF_CLASSES = ({1: (0, e)} for e in (_along_axis, _of_all_axes, _classes))

_SELECTING: Mapping[str, Mapping[int, tuple[int, _RowsOf]]] = {
    "EmbedLayerNormalization": {0: (2, _rows_of_table), 1: (4, _rows_of_table)},
    "Gather": _ALONG_AXIS,
    "GatherBlockQuantized": _ALONG_AXIS,
    "GatherElements": _ALONG_AXIS,
    "GatherND": _OF_ALL,
    "NegativeLogLikelihoodLoss": _OF_CLASSES,
    "OneHot": {0: (1, _rows_of_table)},
    "RotaryEmbedding": {1: (2, _rows_of_table)},
    "Scatter": _ALONG_AXIS,
    "ScatterElements": _ALONG_AXIS,
    "ScatterND": _OF_ALL,
    "SoftmaxCrossEntropyLoss": _OF_CLASSES,
}
"""By operator, the inputs that select: the position of what they select from, and its rows."""


def fitting_feeds(ports: Sequence[Port], roles: Mapping[str, Role], seed: int) -> dict[str, Array]:
    """Random arrays for all ports; the same seed gives the same arrays.

    Indices are within the table that they select from and include its last row; lengths are between 1 and
    that of their sequence. Inputs with `mask` in their
    names are ones, then zeros from some place in the second half of the last axis on. Others are
    as `random_feeds` makes them.
    """
    require_feeds(ports)
    shapes = {port.name: port.shape for port in ports}
    found = {}
    for position, port in enumerate(ports):
        role = roles.get(port.name, Role())
        generator = np.random.default_rng([seed, position])
        shape = closed_shape(port.shape)
        if role.ids is not None:
            found[port.name] = _ids(generator, shape, role).astype(port.dtype.numpy)
        elif role.lengths_of:
            longest = shapes.get(role.lengths_of, (1,))[0] or 1
            found[port.name] = generator.integers(1, longest + 1, shape).astype(port.dtype.numpy)
        elif _is_mask(port):
            found[port.name] = _mask(generator, shape).astype(port.dtype.numpy)
        else:
            found[port.name] = random_array(port.dtype, shape, [seed, position])
    return found


def _is_mask(port: Port) -> bool:
    return "mask" in port.name.lower() or (
        port.dtype is DType.BOOL and "valid" in port.name.lower()
    )


def _ids(generator: np.random.Generator, shape: Sequence[int], role: Role) -> npt.NDArray[np.int64]:
    """Indices from the first to the last one, which is among them."""
    end = max(role.ids or 0, role.first + 1)
    ids = generator.integers(role.first, end, tuple(shape))
    if ids.size > 1:
        ids.flat[0] = end - 1
    return ids


def _mask(generator: np.random.Generator, shape: Sequence[int]) -> npt.NDArray[np.int64]:
    """Ones up to some position in the second half of the last axis, zeros after it."""
    if not shape:
        return np.ones((), np.int64)
    length = shape[-1]
    ends = generator.integers(length // 2, length + 1, (*shape[:-1], 1))
    return (np.arange(length) < np.maximum(ends, 1)).astype(np.int64)
