"""The cost of a form that a rule would write: seconds, from the figures of the SoC's row alone.

The cost model proper looks at kernels, which a form has only once the whole model is compiled. Here
each node is a launch that reads its operands and writes its results once, and computes its products
on the cube; shares of the peak rates and the time of a launch are the expected ones of the cost
model. Views move nothing, and nodes whose operands are all constant are folded. It is good enough to
put forms in order; a report has the estimate of the compiled model.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from atc_py.cost.factors import EXPECTED
from atc_py.frontend.folding.graph import ValueType, WorkGraph
from atc_py.frontend.reading.tensors import dtype_of_element, element_of_dtype
from atc_py.frontend.rewriting.qdq.writer import Writer
from atc_py.frontend.typing.infer import infer_what_can_be
from atc_py.tensor.dtypes import DType

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from atc_py.fix.site import Site
    from atc_py.frontend.folding.graph import WorkNode
    from atc_py.target import Soc

__all__ = ["form_seconds"]

_VIEWS = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
_CUBE_CYCLE = 16**3
"""Multiplications of float16 in a cycle of one core's cube."""

_FLOAT_BYTES = 2
"""Bytes of a float on the device, which computes in float16 unless told otherwise."""


def form_seconds(site: Site, origin: WorkNode, graph: WorkGraph, soc: Soc) -> float:
    """Return the time of the nodes that a rule wrote, on one SoC.

    Args:
        site: the new nodes.
        origin: the node that they replace.
        graph: the graph of that node.
        soc: whose figures count.
    """
    form = _graph_of(site, origin, graph)
    infer_what_can_be(form)
    constant = set(form.consts)
    seconds = 0.0
    for node in form.nodes:
        if constant.issuperset(node.reads):
            constant.update(node.writes)
        elif node.op_type not in _VIEWS:
            seconds += _node_seconds(form, node, soc)
    return seconds


def _graph_of(site: Site, origin: WorkNode, graph: WorkGraph) -> WorkGraph:
    """Return the new nodes as a graph of their own."""
    made = {name for node in site.made for name in node.outputs}
    read = dict.fromkeys(name for node in site.made for name in node.inputs if name)
    around = [name for name in read if name not in made and name not in site.consts]
    inputs = {name: graph.types.get(name) or graph.inputs.get(name) for name in around}
    inputs.update(
        (each.name, ValueType(element_of_dtype(each.dtype), each.dims))
        for each in site.node.inputs
        if each is not None and each.dtype is not None and each.name in inputs
    )
    consts = {name: graph.consts[name] for name in around if name in graph.consts}
    form = WorkGraph(
        path=graph.path,
        opsets=graph.opsets,
        nodes=[],
        inputs={
            name: known
            for name, known in inputs.items()
            if known is not None and name not in consts
        },
        outputs=(),
        consts={**consts, **site.consts},
    )
    writer = Writer(form)
    for node in site.made:
        writer.again(origin, node.op_type, node.inputs, node.outputs, **node.plain)
    writer.finish()
    return form


def _node_seconds(form: WorkGraph, node: WorkNode, soc: Soc) -> float:
    """Return the time of one launch."""
    factors = EXPECTED.factors
    hertz = soc.mhz * 1e6
    moved = sum(_nbytes(form, name) for name in (*node.reads, *node.writes))
    memory = moved / (soc.gm_read * soc.aicores * hertz * factors.bandwidth)
    cube = _products(form, node) / (_CUBE_CYCLE * soc.aicores * hertz * factors.cube)
    return factors.launch + max(memory, cube)


def _nbytes(form: WorkGraph, name: str) -> int:
    """Return the bytes of a value on the device; 0 where its dims are open."""
    if name in form.consts:
        const = form.consts[name]
        return prod(const.shape) * _itemsize(const.dtype)
    known = form.types.get(name) or form.inputs.get(name)
    if known is None or known.shape is None:
        return 0
    return prod(known.shape) * _itemsize(dtype_of_element(known.element))


def _itemsize(dtype: DType | None) -> int:
    """Return the bytes of an element on the device."""
    return _FLOAT_BYTES if dtype in {None, DType.FLOAT32, DType.FLOAT64} else dtype.itemsize


def _products(form: WorkGraph, node: WorkNode) -> int:
    """Return the multiplications of a convolution or a matrix product; 0 for others."""
    shapes = list(_shapes(form, node.inputs[:2]))
    result = form.static_shape(node.outputs[0])
    if len(shapes) < 2 or result is None:  # noqa: PLR2004  (two operands)
        return 0
    if node.op_type == "Conv":
        return prod(result) * prod(shapes[1][1:])
    if node.op_type == "ConvTranspose":
        return prod(shapes[0]) * prod(shapes[1][1:])
    if node.op_type in {"Gemm", "MatMul"}:
        return prod(result) * (shapes[0][-1] if shapes[0] else 1)
    return 0


def _shapes(form: WorkGraph, names: Sequence[str]) -> Iterator[tuple[int, ...]]:
    """Yield the dims of values that are known."""
    for name in names:
        shape = form.static_shape(name)
        if shape is not None:
            yield shape
