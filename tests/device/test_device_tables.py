"""Tables of functions of one float16 hold, bit by bit, what the kernels compute."""

import numpy as np
import pytest

from atc_py.device.sim.execution.chain import looking_up, table_of
from atc_py.device.sim.execution.parallel import Workers
from atc_py.device.sim.kernel import Call, Rounding, Workspace, find_kernel
from atc_py.device.sim.numerics.rounding import round_to_grid
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.target import TargetOp, operators
from atc_py.tensor.dtypes import DType

WORKER = Workers(1)
SIZES = (20001, 17, 1)
"""Elements of parts; odd ones, because vector units do the rest of a division otherwise."""


def _of_one_float(row: TargetOp) -> bool:
    """Return True if an operator is a function of one float16 whose results are rounded."""
    kernel = find_kernel(row.name)
    takes = any(column.inputs == (DType.FLOAT16,) for column in row.columns)
    rounded = kernel is not None and kernel.rounding is Rounding.BOUNDARY
    return row.family == "unary" and takes and rounded


FUNCTIONS = [row for row in operators() if _of_one_float(row)]


def _node(row: TargetOp, size: int) -> NodeView:
    """Return a node of an operator; attributes without a default are 1.5."""
    attributes = {
        each.name: 1.5 if each.default is None else each.default for each in row.attributes
    }
    facts = TensorFacts(DType.FLOAT16, (size,))
    return NodeView(row.name, "node", "aicore", (facts,), (facts,), attributes)


@pytest.mark.parametrize("row", FUNCTIONS, ids=lambda row: str(row.name))
def test_table_gives_the_bits_of_the_kernel(row: TargetOp) -> None:
    kernel = find_kernel(row.name)
    assert kernel is not None
    table = table_of(_node(row, SIZES[0]), kernel, WORKER)
    assert table is not None
    made = np.random.default_rng(6)
    for size in SIZES:
        x = (made.normal(size=size) * 3).astype(np.float16).astype(np.float32)
        x[: size // 10] = made.integers(0, 1 << 16, size // 10).astype(np.uint16).view(np.float16)
        wanted = np.empty_like(x)
        with np.errstate(all="ignore"):
            kernel.run(Call(_node(row, size), (x.copy(),), (wanted,), Workspace(), WORKER))
        round_to_grid(wanted, DType.FLOAT16, wanted)
        found = x.copy()
        looking_up(table, found, found, Workspace())()
        numbers = ~np.isnan(wanted)
        np.testing.assert_array_equal(found[numbers].view("u4"), wanted[numbers].view("u4"))
        assert np.isnan(found[~numbers]).all()


def test_table_is_shared_by_nodes_of_one_operator_and_attributes() -> None:
    by_name = {row.name: row for row in FUNCTIONS}
    tables = []
    for name, size in (("Swish", 20000), ("Swish", 30000), ("Sigmoid", 20000)):
        kernel = find_kernel(name)
        assert kernel is not None
        tables.append(table_of(_node(by_name[name], size), kernel, WORKER))
    assert tables[0] is tables[1]
    assert tables[0] is not tables[2]


def test_small_results_and_other_dtypes_have_no_table() -> None:
    by_name = {row.name: row for row in FUNCTIONS}
    kernel = find_kernel("Swish")
    assert kernel is not None
    assert table_of(_node(by_name["Swish"], 100), kernel, WORKER) is None
    wide = TensorFacts(DType.FLOAT32, (20000,))
    node = NodeView("Swish", "node", "aicore", (wide,), (wide,), {"scale": 1.0})
    assert table_of(node, kernel, WORKER) is None
