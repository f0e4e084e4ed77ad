"""Graphs for the tests of kernel emission: built from rows of the operator table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from atc_py.ir import AttrValue, Engine, Graph, Node, Phase, TensorType
from atc_py.target import TargetOp, find_operator
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from tests.sampling import mark_other_tests, mark_others

F16 = DType.FLOAT16

OF_TESTS = 8
"""Of the tests in a file that build kernels, one in so many is tried always; `make kernels` tries the rest."""

OF_CASES = 16
"""Of the cases of such a test, one in so many."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the sweep most tests of families that run a compiler, which takes seconds for each."""
    families = Path(__file__).parent / "families"
    built = [item for item in items if "verified" in getattr(item, "fixturenames", ())]
    mark_others(built, families, OF_CASES)
    mark_other_tests(built, families, OF_TESTS)


class AddNode(Protocol):
    """Adds a node with inputs of its own to a graph."""

    def __call__(
        self,
        graph: Graph,
        op: str,
        inputs: Sequence[Shape | TensorType | None] | None = None,
        outputs: Sequence[Shape | TensorType] | None = None,
        attributes: Mapping[str, AttrValue] | None = None,
        engine: Engine | None = Engine.AICORE,
    ) -> Node: ...


_REQUIRED: dict[str, AttrValue] = {
    "int": 1,
    "float": 0.5,
    "bool": True,
    "string": "text",
    "ints": (1, 1, 1, 1),
    "floats": (0.5, 0.25),
    "dtype": F16,
}

_NAMED: dict[str, AttrValue] = {"paddings": (0, 1) * 4}
"""Attributes whose length follows from that of the shapes."""

_VOLUMES: dict[str, AttrValue] = {
    "strides": (1,) * 5,
    "pads": (1,) * 6,
    "input_size": (2, 32, 4, 10, 12),
}
"""Attributes of convolutions of volumes."""


@pytest.fixture
def graph() -> Graph:
    return Graph("test", Phase.TYPED)


@pytest.fixture
def add_node() -> AddNode:
    """Return an adder of nodes; the operator's row gives shapes and attributes not given."""
    return _add_node


def _add_node(
    graph: Graph,
    op: str,
    inputs: Sequence[Shape | TensorType | None] | None = None,
    outputs: Sequence[Shape | TensorType] | None = None,
    attributes: Mapping[str, AttrValue] | None = None,
    engine: Engine | None = Engine.AICORE,
) -> Node:
    row = find_operator(op)
    assert row is not None
    dtypes = _dtypes(row, engine)
    given = _shapes(row) if inputs is None else inputs
    values = [
        None if item is None else graph.add_input("in", _type(item, dtypes[0], position))
        for position, item in enumerate(given)
    ]
    needed = max(1, sum(not operand.optional for operand in row.outputs))
    results = [_result(row)] * needed if outputs is None else outputs
    types = [("out", _type(item, dtypes[1], position)) for position, item in enumerate(results)]
    deep = _VOLUMES if row.family == "conv" and "3D" in op else {}
    required = {
        attribute.name: {**_NAMED, **deep}.get(attribute.name, _REQUIRED[attribute.type])
        for attribute in row.attributes
        if attribute.default is None
    }
    node = graph.add_node(op, values, types, {**required, **(attributes or {})})
    node.engine = engine
    return node


def _dtypes(row: TargetOp, engine: Engine | None) -> tuple[tuple[DType, ...], tuple[DType, ...]]:
    """Return the first column of the engine that is asked for; Cast has none."""
    if engine is Engine.AICPU and row.aicpu:
        return row.aicpu[0].inputs, row.aicpu[0].outputs
    if row.columns:
        return row.columns[0].inputs, row.columns[0].outputs
    return (F16,), (DType.FLOAT32,)


def _shapes(row: TargetOp) -> Sequence[Shape]:
    if row.family == "matmul":
        return [(48, 80), (80, 100), (100,)][: len(row.inputs)]
    if row.family == "conv" and "3D" in row.name:
        return [(2, 32, 4, 10, 12), (32, 32, 3, 3, 3), (32,)]
    if row.family == "conv":
        return [(2, 32, 10, 12), (32, 32, 3, 3), (32,)][: len(row.inputs)]
    count = 3 if row.inputs[-1].variadic else len(row.inputs)
    return [(2, 32, 10, 12)] * count


def _result(row: TargetOp) -> Shape:
    if row.family == "conv" and "3D" in row.name:
        return (2, 32, 4, 10, 12)
    return (48, 100) if row.family == "matmul" else (2, 32, 10, 12)


def _type(item: Shape | TensorType, dtypes: Sequence[DType], position: int) -> TensorType:
    if isinstance(item, TensorType):
        return item
    fmt = {4: Format.NCHW, 5: Format.NCDHW}.get(len(item), Format.ND)
    return TensorType(dtypes[min(position, len(dtypes) - 1)], item, fmt)
