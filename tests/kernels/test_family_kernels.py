"""Kernels that one SoC family alone has are written, and compile on the host."""

import json
from pathlib import Path

import pytest

from atc_py.compare.kernels.toolchain import find_compiler
from atc_py.ir import Engine, Graph, Phase, TensorType
from atc_py.kernels.kernels import INDEX, emit_kernels, write_kernels
from atc_py.target import Soc, TargetOp, find_soc, operators
from atc_py.target.row import Column
from atc_py.tensor.dtypes import Format
from tests.kernels.conftest import AddNode

SOCS = ("Ascend310", "Ascend310P3", "Ascend310B1", "Ascend610", "Ascend910A", "Ascend910B3")
PARTS = 12
MATMUL = [(48, 80), (80, 100), (100,)]
CONV = [(2, 32, 10, 12), (32, 32, 3, 3), (32,)]


def columns_of(soc: Soc) -> list[tuple[TargetOp, Column]]:
    """Return the columns of `soc` that the generic device has not."""
    found = []
    for row in operators():
        known = {(column.inputs, column.outputs) for column in row.columns}
        if row.launches_kernel and row.name != "Cast":
            columns = row.columns_on(soc)
            found += [(row, each) for each in columns if (each.inputs, each.outputs) not in known]
    return found


def graph_of(add_node: AddNode, columns: list[tuple[TargetOp, Column]]) -> Graph:
    """Return a graph with a node for each column."""
    graph = Graph("columns", Phase.TYPED)
    for row, column in columns:
        count = 3 if row.inputs[-1].variadic else len(row.inputs)
        shapes = {"matmul": MATMUL, "conv": CONV}.get(row.family, [(2, 32, 10, 12)] * count)
        result = (48, 100) if row.family == "matmul" else (2, 32, 10, 12)
        inputs = [type_of(column.inputs, at, shape) for at, shape in enumerate(shapes[:count])]
        outputs = [
            type_of(column.outputs, at, result)
            for at, operand in enumerate(row.outputs)
            if not operand.optional
        ]
        add_node(graph, row.name, inputs, outputs, dict(column.attributes), Engine.AICORE)
    return graph


def type_of(dtypes: tuple[object, ...], at: int, shape: tuple[int, ...]) -> TensorType:
    """Return a tensor of the dtype at a position; the last one is repeated."""
    format_ = Format.NCHW if len(shape) == len("NCHW") else Format.ND
    return TensorType(dtypes[min(at, len(dtypes) - 1)], shape, format_)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SOCS)
def test_kernel_of_every_column_is_written(add_node: AddNode, name: str) -> None:
    soc = find_soc(name)
    for row, column in columns_of(soc):
        kernels = emit_kernels(graph_of(add_node, [(row, column)]), soc)
        (listed,) = json.loads(kernels.files[INDEX])["kernels"]
        assert listed["op"] == row.name, column


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(at, marks=pytest.mark.sweep) for at in range(1, PARTS))]
)
def test_kernels_of_every_column_compile(add_node: AddNode, tmp_path: Path, part: int) -> None:
    soc = find_soc("Ascend910B3")
    others = [each for name in SOCS for each in columns_of(find_soc(name))]
    chosen = list(dict.fromkeys((row.name, column) for row, column in others))[part::PARTS]
    rows = {row.name: row for row in operators()}
    graph = graph_of(add_node, [(rows[op], column) for op, column in chosen])
    kernels = emit_kernels(graph, soc)
    write_kernels(kernels.files, tmp_path)
    listed = json.loads(kernels.files[INDEX])
    said = find_compiler().build(tmp_path, listed["kernels"], listed["buffers"], "columns")
    assert said is None
