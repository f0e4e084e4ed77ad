"""The rehearsal: what the device would refuse at load is refused at conversion, with its node."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag import AtcError

CASES: list[tuple[str, dict[str, tuple[int, ...]], dict[str, Any]]] = [
    ("Conv", {"w": (3, 3, 3, 3), "b": (2,)}, {}),
    ("BatchNormalization", {"s": (3,), "b": (2,), "m": (3,), "v": (3,)}, {}),
    ("Clip", {"low": (3,)}, {}),
]


@pytest.mark.parametrize(("op_type", "constants", "attributes"), CASES, ids=str)
def test_operands_that_do_not_fit_are_refused_at_their_node(
    op_type: str,
    constants: dict[str, tuple[int, ...]],
    attributes: dict[str, Any],
    tmp_path: Path,
) -> None:
    nodes = [
        helper.make_node("Relu", ["x"], ["r"], name="first"),
        helper.make_node(op_type, ["r", *constants], ["y"], name="second", **attributes),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            numpy_helper.from_array(np.ones(shape, np.float32), name)
            for name, shape in constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om")
    assert caught.value.exit_code == 1
    places = [found.place for found in caught.value.diagnostics]
    assert [(place.node, place.node_name) for place in places if place] == [(1, "second")]
    assert not (tmp_path / "m.om").exists()
