"""Constant folding to a fixed point, with a bound on what it may allocate."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from atc_py.diag import FOLD_TOO_LARGE, AtcError, Diagnostic, Sink
from atc_py.ir import ConstData, DenseConst, SplatConst
from atc_py.onnx_graph.folding.evaluate import (
    SLOW,
    SLOW_LIMIT,
    SmallResults,
    can_evaluate,
    evaluate,
)
from atc_py.onnx_graph.folding.fold_views import VIEW_FOLDS, ints_of
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.attributes import constant_of
from atc_py.onnx_graph.reading.tensors import TensorReader, dtype_of_element
from atc_py.onnx_graph.typing.infer import infer_node, infer_types
from atc_py.system.memory_limit import RAISE_IT, format_size, memory_limit
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import MAX_RANK, Shape, element_count, format_shape
from atc_py.text import Text

if TYPE_CHECKING:
    from atc_py.onnx_graph.folding.evaluate import FoldMemo

SPLAT_LIMIT = 4 * 2**30
"""Bytes of a constant that repeats one value; it takes no memory before the device has it.

As with FOLD_LIMIT, --max-memory may allow less. The results of all nodes together are limited, too.
"""

_MAX_INT64 = 2**63 - 1

_MAX_ROUNDS = 100
"""Folding and inference in turn; real models need three or four."""

_UNSIZED_LIMIT = 2**20
"""Bytes that a node may read whose result's size depends on values (NonZero, for instance)."""

_COPIES, _COPIES_OF = 2, {"TopK": 8}
"""Copies of what a node reads and makes that the reference holds at a time, and those of orders."""

_OF_UNKNOWN = frozenset({"Shape", "Size", "Where"})
"""Operators that may fold although not all data of their inputs is known."""

UNSIZED = frozenset({"Compress", "NonMaxSuppression", "NonZero", "Unique"})
"""Operators whose results are as large as values say, about as large as their inputs at most."""


def fold_graph(
    graph: OnnxGraph,
    tensors: TensorReader,
    limit: int,
    held: Collection[str] = (),
    memo: FoldMemo | None = None,
    *,
    strict: bool = False,
) -> list[Diagnostic]:
    """Turn what `graph` computes from constants into constants, and work out all types.

    Both are done in turn until nothing changes: known shapes make more to fold. Nodes that no
    output depends on are taken out. Folding one node may make `limit` bytes, and more, up to
    SPLAT_LIMIT, where it repeats one value; operators in `held` are not folded.

    The faults are those of branches that are taken; BAD_MODEL and BAD_NODE from inference;
    FOLD_TOO_LARGE for nodes whose constant, or all constants with it, would be larger than allowed.
    If `strict`, the first are raised.
    """
    folder = _Folder(graph, tensors, limit, held, memo)
    graph.drop_dead_nodes()
    branches: list[Diagnostic] = []

    def fold() -> bool:
        before = len(graph.consts), len(graph.nodes)
        branches.clear()
        try:
            return folder.fold()
        except AtcError as error:  # of branches that would be taken
            if strict:
                raise
            branches.extend(error.diagnostics)
        return before != (len(graph.consts), len(graph.nodes))

    fold()
    faults = infer_types(graph, fold, strict=strict)
    for _ in range(_MAX_ROUNDS):
        if not fold() or not graph.may_run:
            break
        faults = infer_types(graph, fold, strict=strict)
    if strict and folder.errors:
        raise AtcError(*folder.errors)
    return [*branches, *faults, *folder.errors]


class _SizeUnknownError(Exception):
    """The type of a node's result is not known yet; the next inference may tell it."""


class _Folder:
    """Folds one graph; nodes that did not fold with all inputs known are not tried again."""

    def __init__(
        self,
        graph: OnnxGraph,
        tensors: TensorReader,
        limit: int,
        held: Collection[str] = (),
        memo: FoldMemo | None = None,
    ) -> None:
        self._held = held
        self._memo = memo
        self._small = SmallResults()
        self._graph = graph
        self._tensors = tensors
        self._room = memory_limit()
        self._limit = min(limit, self._room)
        self._read = frozenset(map(id, graph.consts.values()))
        self._made = 0
        self._given_up: set[OnnxNode] = set()
        self._too_large: dict[OnnxNode, AtcError] = {}

    def fold(self) -> bool:
        """One walk over the nodes; whether anything folded. AtcErrors are of a branch taken."""
        graph = self._graph
        changed = False
        is_const = graph.consts.__contains__
        for node in graph.nodes:
            if node.op_type not in _OF_UNKNOWN and not all(map(is_const, node.reads)):
                continue
            results = self._try(node) if self._may_fold(node) else None
            if results is not None:
                graph.consts.update(results)
                changed = True
        inlined = self._inline_branches()
        if changed or inlined:
            graph.drop_dead_nodes()
        return changed or inlined

    def _inline_branches(self) -> bool:
        if not any(node.is_if for node in self._graph.nodes):
            return False
        from atc_py.onnx_graph.folding.inline_branches import inline_branches  # few models have any

        return inline_branches(self._graph, self._tensors)

    @property
    def errors(self) -> list[Diagnostic]:
        """Errors for constants too large to fold, except those that proved not to be needed."""
        sink = Sink()
        for node in self._graph.nodes if self._too_large else ():
            if node in self._too_large:
                sink.extend(self._too_large[node].diagnostics)
        return sink.errors

    def _may_fold(self, node: OnnxNode) -> bool:
        if node.domain or node.op_type in self._held:
            return False
        return node not in self._given_up and node not in self._graph.unsound

    def _try(self, node: OnnxNode) -> dict[str, ConstData] | None:
        if node.op_type in {"Shape", "Size"}:
            return self._fold_shape(node)
        if node.op_type == "Where" and not all(name in self._graph.consts for name in node.reads):
            return self._masked(node)
        try:
            results = self._remembered(node)
            self._count(node, results)
        except _SizeUnknownError:
            return None
        except AtcError as error:
            if any(finding.code is FOLD_TOO_LARGE for finding in error.diagnostics):
                self._too_large[node] = error
            results = None
        if results is None:
            self._given_up.add(node)
        return results

    def _remembered(self, node: OnnxNode) -> dict[str, ConstData] | None:
        """The outputs of a node, from an earlier graph where that had the same inputs."""
        if self._memo is None:
            return self._fold(node)
        read = [self._graph.consts[name] for name in node.reads]
        results = self._memo.get(node, read)
        if results is None:
            results = self._fold(node)
            if results is not None:
                self._memo.put(node, read, results)
        return results

    def _masked(self, node: OnnxNode) -> dict[str, ConstData] | None:
        """The result of a Where whose condition chooses no undefined element."""
        if node.input_names[0] not in self._graph.consts or not node.output_names:
            return None
        from atc_py.onnx_graph.folding.masked_where import fold_masked_where  # few models need it

        data = fold_masked_where(self._graph, node, self._held)
        return None if data is None else {node.output_names[0]: DenseConst(data)}

    def _fold(self, node: OnnxNode) -> dict[str, ConstData] | None:
        name = next(iter(node.writes), "")
        if node.op_type == "Constant":
            const = constant_of(node, self._tensors)
        elif node.op_type == "ConstantOfShape":
            const = self._constant_of_shape(node)
        elif node.op_type in VIEW_FOLDS:
            inputs = [self._graph.consts[name] if name else None for name in node.input_names]
            while inputs and inputs[-1] is None:
                inputs.pop()
            const = VIEW_FOLDS[node.op_type](inputs, node.plain_attributes) if inputs else None
        else:
            return self._by_reference(node)
        return None if const is None else {name: const}

    def _count(self, node: OnnxNode, results: Mapping[str, ConstData] | None) -> None:
        """Refuse a constant with which all that were made and still are there take too much."""
        size = sum(map(_bytes_held, (results or {}).values()))
        self._made += size
        if self._made <= self._room:
            return
        there = self._graph.consts.values()
        self._made = size + sum(
            _bytes_held(const) for const in there if id(const) not in self._read
        )
        if self._made > self._room:
            raise FOLD_TOO_LARGE.error(
                Text(
                    "with its result of {size}, constants take {size_2}; the limit is {size_3}",
                    size=format_size(size),
                    size_2=format_size(self._made),
                    size_3=format_size(self._room),
                ),
                place=node.place,
                help=RAISE_IT,
            )

    def _fold_shape(self, node: OnnxNode) -> dict[str, ConstData] | None:
        """Shape or Size of a value whose shape is known, whether or not its data is."""
        shape = self._graph.static_shape(node.input_names[0]) if node.input_names else None
        if shape is None:
            return None
        start, end = node.plain_attributes.get("start", 0), node.plain_attributes.get("end")
        if node.op_type == "Size":
            if element_count(shape) > _MAX_INT64:
                return None
            numbers = np.array(element_count(shape), np.int64)
        elif isinstance(start, int) and (end is None or isinstance(end, int)):
            numbers = np.array(shape[start:end], np.int64)
        else:
            return None
        return {next(iter(node.writes), ""): DenseConst(numbers)}

    def _constant_of_shape(self, node: OnnxNode) -> ConstData | None:
        """One value over the shape that the input gives, however large."""
        shape = ints_of(self._graph.consts.get(node.input_names[0]) if node.input_names else None)
        if shape is None or len(shape) > MAX_RANK or any(dim < 0 for dim in shape):
            return None
        value: float = 0.0
        dtype = DType.FLOAT32
        for attribute in node.proto.attribute:
            array = self._tensors.const(attribute.t, node.place).numpy()
            if attribute.name != "value" or array.size != 1:
                return None
            dtype = DType.from_numpy(array.dtype)
            single = array.reshape(-1)[0]
            value = float(single) if dtype.is_float else int(single)
        self._check_size(node, dtype, shape, min(SPLAT_LIMIT, self._room))
        return SplatConst(bool(value) if dtype is DType.BOOL else value, dtype, shape)

    def _by_reference(self, node: OnnxNode) -> dict[str, ConstData] | None:
        consts = {name: self._graph.consts[name] for name in node.reads}
        size = sum(element_count(c.shape) * c.dtype.itemsize for c in consts.values())
        if size > self._limit or not can_evaluate(node):
            return None
        key = self._small.key(node, consts, size)
        known = self._small.get(key, node)
        if known is not None:
            return known
        types = infer_node(self._graph, node)
        self._check_results(node, types, size)
        self._check_work(node, size + _bytes_of(types))
        if node.op_type in SLOW and max(size, _bytes_of(types)) > SLOW_LIMIT:
            return None
        arrays = {name: const.numpy() for name, const in consts.items()}
        results = evaluate(node, arrays, self._graph.opsets)
        for const in consts.values():
            const.release()
        if results is None or any(array.ndim > MAX_RANK for array in results.values()):
            return None
        folded = {
            name: DenseConst(_in_promised_half(array, types.get(name)))
            for name, array in results.items()
        }
        if not all(_has_promised_type(const, types.get(name)) for name, const in folded.items()):
            return None
        self._small.put(key, folded)
        return dict(folded)

    def _check_results(self, node: OnnxNode, types: Mapping[str, ValueType], size: int) -> None:
        """Refuse results that are large, or may be, before any of them is made."""
        for name in node.writes:
            known = types.get(name)
            dtype = dtype_of_element(known.element) if known else None
            if known is None or dtype is None:
                raise _SizeUnknownError
            if known.shape is not None:
                self._check_size(node, dtype, known.shape, self._limit)
            elif node.op_type not in UNSIZED or size > _UNSIZED_LIMIT:
                raise _SizeUnknownError

    def _check_work(self, node: OnnxNode, size: int) -> None:
        """Refuse to read and make `size` bytes where the copies of these take too much memory."""
        work = _COPIES_OF.get(node.op_type, _COPIES) * size
        if work > self._room:
            raise FOLD_TOO_LARGE.error(
                Text(
                    "computing it takes about {work}; the limit is {limit}",
                    work=format_size(work),
                    limit=format_size(self._room),
                ),
                place=node.place,
                help=RAISE_IT,
            )

    def _check_size(self, node: OnnxNode, dtype: DType, shape: Shape, limit: int) -> None:
        size = element_count(shape) * dtype.itemsize
        if size > limit:
            raise FOLD_TOO_LARGE.error(
                Text(
                    "its constant result {dtype} {shape} has {size} bytes; the limit is {limit}",
                    dtype=dtype.value,
                    shape=format_shape(shape),
                    size=size,
                    limit=limit,
                ),
                place=node.place,
                help=RAISE_IT if limit == self._room else None,
            )


def _bytes_of(types: Mapping[str, ValueType]) -> int:
    """Bytes of the largest of some values, as far as their types are known."""
    known = ((dtype_of_element(type_.element), type_.shape) for type_ in types.values())
    return max(
        (element_count(shape) * dtype.itemsize for dtype, shape in known if dtype and shape),
        default=0,
    )


def _bytes_held(const: ConstData) -> int:
    """Bytes that a constant takes; those that stay in a file take none."""
    if not isinstance(const, DenseConst | SplatConst):
        return 0
    return element_count(const.shape) * const.dtype.itemsize


def _in_promised_half(array: npt.NDArray[Any], known: ValueType | None) -> npt.NDArray[Any]:
    """A result computed in float32, in the narrower dtype that inference promised."""
    dtype = dtype_of_element(known.element) if known else None
    if dtype not in {DType.FLOAT16, DType.BFLOAT16} or array.dtype != np.float32:
        return array
    with np.errstate(over="ignore"):
        return array.astype(dtype.numpy)


def _has_promised_type(const: ConstData, known: ValueType | None) -> bool:
    if known is None or dtype_of_element(known.element) is not const.dtype:
        return False
    return known.shape is None or known.shape == const.shape
