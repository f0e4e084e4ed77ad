"""Dims that only the run knows: null in the description of an offline model."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT
from atc_py.ir import DenseConst, Engine, Graph, TensorType
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model
from atc_py.tensor.dtypes import DType
from tests.package.conftest import Seal

NOTHING = PackageContents(producer="test", soc="sim")


@pytest.fixture
def graph() -> Graph:
    """Return an input, a constant, and what a node makes of both; the node's result is open."""
    graph = Graph("net")
    x = graph.add_input("x", TensorType(DType.FLOAT16, (2, 3)))
    weight = graph.constant("w", DenseConst(np.array([[1], [2]], np.float16)))
    node = graph.add_node("Add", [x, weight], [("y", TensorType(DType.FLOAT16, (None, 3, None)))])
    node.engine = Engine.AICORE
    graph.add_output(node.output)
    return graph


def tensors(om: Path) -> list[dict[str, Any]]:
    """Return the tensors of the description as plain data."""
    with open_model(om) as model:
        described: dict[str, Any] = msgspec.json.decode(model.text("model.json"))
    found: list[dict[str, Any]] = described["tensors"]
    return found


def test_open_dims_are_null_and_come_back(graph: Graph, tmp_path: Path) -> None:
    om = write_model(graph, tmp_path / "model.om", NOTHING).path
    assert [tensor["shape"] for tensor in tensors(om)] == [[2, 3], [2, 1], [None, 3, None]]
    with open_model(om) as model:
        assert [tensor.shape for tensor in model.description.tensors][-1] == [None, 3, None]


@pytest.mark.parametrize(
    ("at", "message"),
    [(0, "an input must have known dims"), (1, "a constant must have known dims")],
)
def test_open_input_or_constant_is_refused(om: Path, seal: Seal, at: int, message: str) -> None:
    """Check the description that the fixtures make, with one tensor of each kind opened."""
    given = tensors(om)
    with open_model(om) as model:
        fed = model.description.inputs[0].tensor
    opened = fed if at == 0 else next(n for n, t in enumerate(given) if t.get("member"))
    given[opened]["shape"] = [None, *given[opened]["shape"][1:]]
    with pytest.raises(AtcError, match=message) as caught:
        open_model(seal({"tensors": given}))
    assert {found.code for found in caught.value.diagnostics} == {OM_CONTENT}


@pytest.mark.parametrize("dim", [-1, "n", 1.5, True])
def test_nothing_else_stands_for_an_open_dim(om: Path, seal: Seal, dim: object) -> None:
    given = tensors(om)
    given[-1]["shape"] = [dim, 3]
    with pytest.raises(AtcError):
        open_model(seal({"tensors": given}))


def test_known_dims_beside_open_ones_are_bounded(om: Path, seal: Seal) -> None:
    given = tensors(om)
    given[-1]["shape"] = [None, 2**40, 2**40]
    with pytest.raises(AtcError, match=r"no tensor can have the shape \?x"):
        open_model(seal({"tensors": given}))
