"""Kernel stubs for nodes whose dims only the run knows: the source is that of known ones."""

import re

from atc_py.ir import Engine, Graph, Phase, TensorType
from atc_py.kernels.kernels import INDEX, emit_kernels
from atc_py.target import TargetOp, find_operator, find_soc, operators
from atc_py.tensor.dtypes import Format
from tests.failures import in_one_item
from tests.kernels.conftest import AddNode

SIM = find_soc("sim")
LAUNCHING = [row for row in operators() if row.launches_kernel and row.name != "Cast"]
KNOWN_WEIGHTS = {"conv"}
"""Families whose second operand is never open: lowering needs the filter's dims."""


def engines(row: TargetOp) -> list[Engine]:
    """Return the engines that run a row."""
    return [Engine.AICORE] * bool(row.columns) + [Engine.AICPU] * bool(row.aicpu)


def opened(graph: Graph, row: TargetOp) -> Graph:
    """Return `graph` with all dims of operands open but those of filters."""
    (node,) = graph.nodes
    for position, value in enumerate((*node.present_inputs, *node.outputs)):
        if not (row.family in KNOWN_WEIGHTS and position == 1):
            dims = (None,) * value.type.rank
            value.type = TensorType(value.type.dtype, dims, value.type.format)
    return graph


@in_one_item(("op", "engine"), [(row.name, engine) for row in LAUNCHING for engine in engines(row)])
def test_stub_is_that_of_known_dims(op: str, engine: Engine, add_node: AddNode) -> None:
    """Check that only the tiling table differs, and in it only the row's numbers and comment."""
    graph, row = Graph("test", Phase.TYPED), find_operator(op)
    assert row is not None
    add_node(graph, op, engine=engine)
    closed = emit_kernels(graph, SIM)
    found = emit_kernels(opened(graph, row), SIM)
    assert found.kernel_of == closed.kernel_of
    assert sorted(found.files) == sorted(closed.files)
    for path, text in found.files.items():
        if path == INDEX:
            continue
        if path.endswith("_tiling.h"):
            _check_table(text, closed.files[path])
        else:
            assert text == closed.files[path], path


def _check_table(text: str, closed: str) -> None:
    """Check for as many numbers as with known dims, no `?` outside comments, none negative."""
    table, other = (re.sub(r"//[^\n]*", "", each) for each in (text, closed))
    assert "?" not in table
    assert "??" not in text
    assert "is known to the run alone" in text
    assert _shape_of(table) == _shape_of(other)
    assert "None" not in text
    assert not re.search(r"[ \t]\n|\t|\r", text)


def _shape_of(table: str) -> str:
    """Return the table without its numbers; arrays are as long as the axes that are not merged."""
    return re.sub(r"\b1(, 1\b)+", "1", re.sub(r"\d+", "1", table))


def test_row_of_open_dims_comes_first_and_names_its_nodes(add_node: AddNode) -> None:
    graph = Graph("test", Phase.TYPED)
    for shape in ((4, 5), (2, 3)):
        add_node(graph, "Add", [shape] * 2, [shape])
    late = add_node(graph, "Add", [(2, 3)] * 2, [(2, 3)])
    for value in (*late.present_inputs, *late.outputs):
        value.type = TensorType(value.type.dtype, (None, 3), Format.ND)
    kernels = emit_kernels(graph, SIM)
    (name,) = set(kernels.kernel_of.values())
    rows = re.findall(r"// (x1 .*)", kernels.files[f"{name}/{name}_tiling.h"])
    assert [row.split(",")[0] for row in rows] == ["x1 ?x3", "x1 2x3", "x1 4x5"]
