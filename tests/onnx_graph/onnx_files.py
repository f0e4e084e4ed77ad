"""Small ONNX files for tests, built in a line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.diag import AtcError, Code
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel
from atc_py.onnx_graph.typing.type_rules import RULES, times_of
from atc_py.tensor.shapes import Shape

FLOAT = TensorProto.FLOAT
INT64 = TensorProto.INT64
Ports: TypeAlias = "Mapping[str, tuple[int, Sequence[int | str | None] | None]]"

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
SHARED = Path(__file__).resolve().parents[2] / ".." / "shared"


def model(
    nodes: Sequence[onnx.NodeProto],
    inputs: Ports,
    outputs: Sequence[str],
    weights: Mapping[str, npt.NDArray[np.generic]] | None = None,
    opsets: Mapping[str, int] | None = None,
    ir_version: int = 8,
) -> onnx.ModelProto:
    """Return a model whose outputs are declared without type."""
    graph = helper.make_graph(
        list(nodes),
        "graph",
        [helper.make_tensor_value_info(name, *type_) for name, type_ in inputs.items()],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(np.asarray(a), name) for name, a in (weights or {}).items()],
    )
    imports = [helper.make_opsetid(d, v) for d, v in (opsets or {"": 13}).items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version)


def save(proto: onnx.ModelProto, folder: Path) -> Path:
    """Return `proto` in a file of `folder`."""
    path = folder / "model.onnx"
    path.write_bytes(proto.SerializeToString())
    return path


def source(
    proto: onnx.ModelProto, folder: Path, shapes: Mapping[str, Shape] | None = None
) -> SourceModel:
    """Return `proto` by way of a file."""
    return read_model(save(proto, folder)).fold(shapes or {}).to_source()


def fails(call: Callable[[], object], *codes: Code) -> AtcError:
    """Return the error that `call` raises, with findings of exactly `codes`, in that order."""
    with pytest.raises(AtcError) as caught:
        call()
    assert [finding.code.name for finding in caught.value.diagnostics] == [c.name for c in codes]
    return caught.value


@contextmanager
def without_rules(operator: str) -> Iterator[None]:
    """Take out the type rules that are added in the block for an operator that has none."""
    assert not RULES.named(operator)
    try:
        yield
    finally:
        for key in RULES.named(operator):
            del RULES._rows[key], RULES._places[key]
        RULES._known.clear()
        times_of.cache_clear()
